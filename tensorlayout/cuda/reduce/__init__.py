"""Reductions on CUDA: choice of kernel, of threads per result, and of chunks.

A block reads a box of threads (see `box`). If there are too few blocks to keep a GPU busy, the rows
of each result are cut into chunks, whose partial results a second launch joins.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd, nan, prod
from typing import Any, NamedTuple

from tensorlayout import dtypes
from tensorlayout.cuda.engine import (
    THREADS,
    WIDEST,
    Launch,
    Launches,
    c_type,
    constant_value,
    divisor32_struct,
    fill_walk,
    kernel_with_macros,
    make_parameter_struct,
    make_writer,
    parameter_struct_type,
    struct_type,
)
from tensorlayout.cuda.reduce.box import (
    MOST_TURNS,
    ROWS,
    ReductionAxes,
    ThreadBox,
    choose_thread_box,
    lane_doublings_in_warp,
    merge_reduction_axes,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, max_offset_of_axes, narrowest_index_type
from tensorlayout.plan import (
    CONTINUOUS,
    AssignPlan,
    CopyPlan,
    ReducePlan,
    Run,
    Write,
    compile_plan,
    compile_traced_tensor_copy,
)
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import TensorSpec

FILE = "reduce/reduce.cu"

# This many blocks keep the largest GPU busy (132 multiprocessors with up to 8 blocks each). With
# fewer, rows are cut into chunks; each has enough turns per thread to be worth the second launch.
_BLOCKS = 1024
_LEAST_TURNS = 4

# Storage of results, and functions of a state, in kernels/include/reductions.cuh.
_STORED = {
    "float16": "AS_HALF",
    "bfloat16": "AS_BFLOAT16",
    **dict.fromkeys(("float32", "complex64"), "AS_FLOAT"),
    **dict.fromkeys(("float64", "complex128"), "AS_DOUBLE"),
}
_STORED_BYTES = {1: "AS_1_BYTE", 2: "AS_2_BYTES", 4: "AS_4_BYTES", 8: "AS_8_BYTES"}
_ANSWERS = {"std": "ROOT", "any": "WHETHER_ANY", "all": "WHETHER_ALL"}

# Functors in kernels/include/reductions.cuh for the functions of `Reduce`.
FUNCTORS = {
    "all": "nonzero",
    "any": "nonzero",
    "argmax": "first_greatest",
    "argmin": "first_least",
    "count_nonzero": "nonzero",
    "max": "greatest",
    "mean": "sum",
    "min": "least",
    "nanmax": "greatest_number",
    "nanmin": "least_number",
    "prod": "product",
    "std": "variance",
    "sum": "sum",
    "var": "variance",
}

# Results of reductions of no elements; 0 for others.
_EMPTY_RESULTS = {"all": 1, "prod": 1, "mean": nan, "quantile": nan, "var": nan, "std": nan}


def compile_reduce(plan: ReducePlan) -> Write:
    """Compile one launch or two; elements are first converted if their kind of number changes."""
    function, spec = plan.operation.function_name, plan.result
    if plan.source.layout.size == 0:
        value = _EMPTY_RESULTS.get(function, 0)
        fill = compile_plan(AssignPlan(plan.operation.name, type(value), spec))
        return lambda out, x: fill(out, value)
    if function == "quantile":
        return _compile_quantiles(plan)
    if _needs_conversion(plan):
        layout = Layout.packed(plan.source.layout.shape, plan.source.layout.minor_to_major)
        converted = TensorSpec(spec.dtype, layout, spec.device)
        convert = compile_plan(CopyPlan(plan.source, converted))
        reduce = compile_reduce(replace(plan, source=converted))
        return lambda out, x: reduce(out, convert(x))
    return make_writer(spec.device.number, lambda alignments: plan_reduce(plan, alignments[1]))


def _needs_conversion(plan: ReducePlan) -> bool:
    """Return whether elements must be converted before the reduction."""
    alike = all(
        dtypes.is_in_category(plan.source.dtype, kind)
        == dtypes.is_in_category(plan.result.dtype, kind)
        for kind in ("real floating", "complex floating")
    )
    # Other functions have a result dtype of their own (bool, positions) or that of the elements.
    return plan.operation.function_name in ("sum", "mean", "prod") and not alike


def _functor_name(plan: ReducePlan) -> str:
    functor = FUNCTORS[plan.operation.function_name]
    source, result = plan.source.dtype, plan.result.dtype
    # Any non-zero byte is True, so the bytes of bools are counted and not added.
    if functor == "sum" and source == dtypes.bool:
        return "nonzero"
    if (
        functor == "sum"
        and _has_float_parts_up_to_32_bits(source)
        and not _has_float_parts_up_to_32_bits(result)
    ):
        return "wide_sum"
    if not dtypes.is_in_category(source, "floating-point"):
        return {"least_number": "least", "greatest_number": "greatest"}.get(functor, functor)
    return functor


def _has_float_parts_up_to_32_bits(dtype: DType) -> bool:
    if dtypes.is_in_category(dtype, "complex floating"):
        return dtype.itemsize == 8
    return dtypes.is_in_category(dtype, "real floating") and dtype.itemsize <= 4


def state_size_in_8_byte_words(functor: str, dtype: DType) -> int:
    """Return the size of a reduction state in words of 8 bytes."""
    # A variance has a count, a mean and a sum of squared distances; an argmax has a value and its
    # position; a product of floats has an exponent beside its value.
    if functor == "variance":
        return 3
    if functor.startswith("first_"):
        return 2
    if functor == "nonzero":
        return 1
    scaled = functor == "product" and dtypes.is_in_category(dtype, "floating-point")
    return int(1 + dtypes.is_in_category(dtype, "complex floating") + scaled)


class FusedSource(NamedTuple):
    """A source whose elements are computed from several operands as they are read."""

    type_macros: tuple[tuple[str, str], ...] = ()  # macros that define the computation
    firsts: tuple[int, ...] = (0,)  # **bytes** from each operand's lowest slot to its first element
    scalar_count: int = 1
    place_axes: tuple[Axis, ...] = ()  # at most four axes of the source, with operands' strides


def is_done_by_plan_reduce(plan: ReducePlan) -> bool:
    """Return whether `plan_reduce` alone runs a plan, without a conversion, sort or fill."""
    is_sorted = plan.operation.function_name == "quantile"
    return plan.source.layout.size > 0 and not is_sorted and not _needs_conversion(plan)


def plan_reduce(
    plan: ReducePlan, alignment: int, fused_source: FusedSource | None = None
) -> Launches:
    """Plan a reduction of a non-empty source; `alignment`: of its lowest slot's address, in bytes.

    `fused_source`: computation of the source, which then is in no memory. If several blocks share a
    result, a second launch joins their partial results, which are in scratch memory.
    """
    itemsize, functor = plan.source.dtype.itemsize, _functor_name(plan)
    words = state_size_in_8_byte_words(functor, plan.source.dtype)
    reduction_axes = merge_reduction_axes(plan, functor.startswith("first_"))
    first = reduction_axes.source_offset * itemsize
    # States with positions or exponents take more registers than their words.
    wide = words == 2 and not dtypes.is_in_category(plan.source.dtype, "complex floating")
    box = choose_thread_box(reduction_axes, itemsize, gcd(alignment, first), 4 if wide else words)
    if functor == "sum" and box.name == "reduce_short" and box.length == 1:
        # A thread adds few elements: in double, sums of 16-bit floats are rounded once.
        is_float = dtypes.is_in_category(plan.source.dtype, "floating-point")
        functor = "wide_sum" if is_float and itemsize == 2 else functor
    per_block, chunks = _rows_per_chunk_and_chunk_count(box)
    types = (("ELEMENT", c_type(plan.source.dtype)), ("LONGEST", str(WIDEST // itemsize)))
    walked = max(len(box.groups), len(box.rows))
    rank = 2 if walked <= 2 else 4 if walked <= 4 else 0  # of the kernel; 0: any
    reach = max_offset_of_axes((*box.groups, *box.rows, box.x, box.w))
    # A thread counts up to ROWS * THREADS packs past the end before it compares with the end.
    index = narrowest_index_type(plan.source.layout.size + THREADS * ROWS, reach + WIDEST)
    shape = {"RANK": rank, "INDEX": index}
    if box.name != "reduce_columns":
        shape["LENGTH"] = box.length
    if box.name == "reduce_short":
        shape["SHORT"] = 1
    more, begins, numbers, places = fused_source or FusedSource()
    counts = {"OPERANDS": len(begins), "NUMBERS": numbers}
    chosen = kernel_with_macros(FILE, box.name, (*types, *more), functor, **shape)
    frame = _frame_struct(plan, reduction_axes, box, per_block, counts)
    fill_walk(frame.places, places)
    params = parameter_struct_type(chosen, **counts)(frame=frame)
    fill_walk(params.groups, box.groups)
    fill_walk(params.rows, box.rows)
    # Rows wider than a block cannot be folded inside it: each folded row leaves a part of its own.
    parts = chunks * (box.fold if box.row_spans_blocks else 1)
    grid = box.tiles * chunks
    firsts = (0, *[first + operand_first for operand_first in begins])
    scalars_at = type(frame).numbers.offset
    if parts == 1:
        return Launches((Launch(chosen, grid, bytes(params), firsts, scalars_at=scalars_at),))
    reduce = Launch(chosen, grid, bytes(params), (*firsts, 0), scalars_at=scalars_at)
    join = _join_partials_launch(plan, parts, types, functor)
    return Launches((reduce, join), scratch=(parts * plan.result.layout.size * words * 8,))


def _rows_per_chunk_and_chunk_count(box: ThreadBox) -> tuple[int, int]:
    """Return the rows of a chunk, and the number of chunks."""
    count, batch = box.row_count, box.size_y * ROWS
    # As many chunks as fill the GPU, but none so short that the second launch does not pay.
    # Accuracy has the last word: no thread takes more than MOST_TURNS turns, even if the GPU is
    # full.
    chunk_goal = -(-_BLOCKS // box.tiles)
    most = max(1, count // (batch * _LEAST_TURNS))
    chunks = max(min(chunk_goal, most), -(-count // (batch * MOST_TURNS)))
    if chunks == 1:
        return count, 1
    # Whole batches of rows, so that threads idle in the last chunk alone.
    rows = -(-count // (chunks * batch)) * batch
    return rows, -(-count // rows)


def _finish_struct(plan: ReducePlan) -> Any:
    function, dtype = plan.operation.function_name, plan.result.dtype
    count = prod([plan.source.layout.shape[d] for d in plan.dims])
    divisor = 1.0
    if function == "mean":
        divisor = float(count)
    elif function in ("var", "std"):
        divisor = float(count) - plan.static[0]
        divisor = divisor if divisor > 0 else nan
    return struct_type(FILE, "Finish")(
        divisor=divisor,
        count=count,
        stored=constant_value(FILE, _STORED.get(dtype.name) or _STORED_BYTES[dtype.itemsize]),
        answer=constant_value(FILE, _ANSWERS.get(function, "VALUE")),
    )


def _frame_struct(
    plan: ReducePlan,
    reduction_axes: ReductionAxes,
    box: ThreadBox,
    rows_per_chunk: int,
    count_macros: dict[str, int],
) -> Any:
    row = box.x.size if box.row_spans_blocks else box.size_x
    # The results that a block of columns has in one row before folding; a folded element finds its
    # column and row by this divisor.
    channels = row * box.length // box.fold if box.name == "reduce_columns" else 1
    # The rest of folded rows begins where the next folded row would.
    behind = box.rows[-1] if box.rest else box.w
    plain_names = ("run", "rest", "position_step", "size_z", "fold")
    divisors = ("tiles", "column_tiles", "size_x", "size_y")
    return struct_type(FILE, "Frame", **count_macros)(
        finish=_finish_struct(plan),
        results=plan.result.layout.size,
        first_result=reduction_axes.result_offset,
        first_position=reduction_axes.position_offset,
        groups=box.group_count,
        columns=box.x.size,
        rows=box.row_count,
        chunk=rows_per_chunk,
        x=box.x.strides,
        w=box.w.strides,
        rest_at=tuple([step * behind.size for step in behind.strides]),
        size_w=divisor32_struct(box.w.size),
        channels=divisor32_struct(channels),
        doublings_y=lane_doublings_in_warp(box.size_y, box.size_x * box.w.size),
        doublings_w=lane_doublings_in_warp(box.w.size, 1),
        **{name: getattr(box, name) for name in plain_names},
        **{name: divisor32_struct(getattr(box, name)) for name in divisors},
    )


def _join_partials_launch(
    plan: ReducePlan, chunks: int, types: tuple[tuple[str, str], ...], functor: str
) -> Launch:
    results = plan.result.layout.size
    # From 8 parts on, a block has at most 32 results, so 8 or more threads share each. They are
    # `size_x` threads apart: neighbouring threads still read neighbouring results.
    size_x = min(results, THREADS if chunks < 8 else 32)
    size_y = min(THREADS // size_x, chunks)
    chosen = kernel_with_macros(FILE, "reduce_partials", types, functor)
    members = {
        "results": results,
        "chunks": chunks,
        "size_x": divisor32_struct(size_x),
        "size_y": size_y,
        "doublings": lane_doublings_in_warp(size_y, size_x),
    }
    grid = -(-results // size_x)
    # Memory 1 is the source, which this launch does not read; 2 is the scratch memory.
    return Launch.from_members(chosen, grid, (0, 0), (0, 2), finish=_finish_struct(plan), **members)


# ---- Medians and quantiles: lines sorted, then read at fractional positions

QUANTILE_FILE = "reduce/quantile.cu"


def _compile_quantiles(plan: ReducePlan) -> Write:
    """Compile quantiles; the first dimension of the source repeats it for each fraction."""
    first, spec = plan.source.layout.slice((0,)), plan.result
    assert first is not None, "a dimension that repeats the others has no tiles"
    source = TensorSpec(plan.source.dtype, first, plan.source.device)
    copy_lines, lines = _compile_line_copy(
        plan.operation.name, source, tuple(d - 1 for d in plan.dims)
    )
    sort = import_lazily("tensorlayout.cuda.sort").compile_last_dim_sort(lines)
    launches = plan_quantiles(lines, spec.dtype, *plan.static)
    read = make_writer(spec.device.number, lambda _: launches)
    return lambda out, x: read(out, sort(copy_lines(x)))


def _compile_line_copy(
    operation_name: str, source: TensorSpec, dims: tuple[int, ...]
) -> tuple[Run, TensorSpec]:
    """Compile a copy whose last dimension holds all elements along `dims`; also return its spec.

    The other dimensions are in the order of the source, slowest first.
    """
    layout = source.layout
    slowest_first = layout.minor_to_major[::-1]
    kept_dims = tuple(d for d in slowest_first if d not in dims)
    order = (*kept_dims, *[d for d in slowest_first if d in dims])
    permuted = layout.permute(order)
    shape = (*(layout.shape[d] for d in kept_dims), prod(layout.shape[d] for d in dims))
    before, after = (
        [d for d in dim_order if layout.shape[d] > 1] for dim_order in (slowest_first, order)
    )
    # No copy is needed if the dimensions are in this order already, and merge.
    line_layout = permuted.reshape(shape) if before == after and not layout.is_tiled else None
    if line_layout is not None:
        return lambda x: x, TensorSpec(source.dtype, line_layout, source.device)
    permuted_spec = TensorSpec(source.dtype, permuted, source.device)
    packed = TensorSpec(source.dtype, Layout.row_major(permuted.shape), source.device)
    lines = TensorSpec(source.dtype, Layout.row_major(shape), source.device)
    return compile_traced_tensor_copy(operation_name, permuted_spec, packed), lines


def plan_quantiles(
    sorted_lines: TensorSpec,
    result_dtype: DType,
    fractions: tuple[float, ...],
    method: str,
    skip_nan: bool,
) -> Launches:
    """Plan a read of quantiles from sorted, non-empty lines along the last dimension.

    The result has all lines for the first fraction, then for the next. `skip_nan`: ignore NaN.
    """
    length = sorted_lines.layout.shape[-1]
    lines, most = sorted_lines.layout.size // length, constant_value(QUANTILE_FILE, "MOST")
    index = narrowest_index_type(lines * max(length, len(fractions)) + THREADS, 0)
    alpha, beta = CONTINUOUS.get(method, (0.0, 0.0))
    types = (("ELEMENT", c_type(sorted_lines.dtype)), ("RESULT", c_type(result_dtype)))
    chosen = kernel_with_macros(QUANTILE_FILE, "read_quantiles", types, INDEX=index)
    code = constant_value(QUANTILE_FILE, "continuous" if method in CONTINUOUS else method)
    launches = []
    # Fractions are parameters of the launch; those that do not fit get further launches, whose
    # results follow.
    for first in range(0, len(fractions), most):
        batch = fractions[first : first + most]
        params = make_parameter_struct(
            chosen, alpha=alpha, beta=beta, lines=lines, length=length, skip=skip_nan
        )
        params.method, params.count, params.fractions = code, len(batch), batch
        begin = first * lines * result_dtype.itemsize
        launches.append(Launch(chosen, -(-lines // THREADS), bytes(params), (begin, 0)))
    return Launches(tuple(launches))
