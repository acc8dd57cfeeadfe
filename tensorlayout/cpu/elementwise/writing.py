"""Elementwise plans on the CPU: quiet NumPy calls that write into the planned layout."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import starmap
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.elementwise.functions import (
    Fix,
    elementwise_function,
    has_same_result_in_all_loops,
)
from tensorlayout.cpu.elementwise.staging import make_call_reordering_operands
from tensorlayout.cpu.engine.casting import (
    WHOLE,
    decode_narrow,
    directly_converted_range,
    make_scalar_converter,
    normalize_bools,
)
from tensorlayout.cpu.engine.memory import (
    UNALIGNED,
    Array,
    byte_strides,
    call_quietly,
    make_array_allocator,
    make_padding_filler,
    padded_slots,
    padding_value_array,
    quiet,
    storage_and_slot,
    tensor_allocator,
    unbuffered,
)
from tensorlayout.cpu.engine.sharing import (
    Call,
    axis_slices,
    is_large_call,
    make_converting_call,
    make_shared_call,
    share_pieces,
)
from tensorlayout.layout import Layout, boxes, coalesce
from tensorlayout.plan import ElementwisePlan, Run, Write, allocate_then_write
from tensorlayout.tensor import Tensor, TensorSpec


def compile_allocating(plan: ElementwisePlan) -> Run | None:
    """Compile a fast path that allocates its result or writes into an operand; else None.

    For small calls NumPy allocates the result, so that they cost nothing but NumPy's call. Padded
    results are computed over whole blocks, so that padding is written while it is in the cache.
    """
    if plan.destinations:
        return _compile_inplace_ufunc(plan) if _is_plain_binary_ufunc(plan) else None
    usual, fix = _test_for_scalar_needing_no_fix(plan), _required_fix(plan)
    common = _compile_allocating_with_fix(plan, None if usual else fix)
    if common is None or usual is None:
        return common
    return _choose_by_last_scalar(
        usual,
        common,
        allocate_then_write(tensor_allocator(plan.result), _compile_with_fix(plan, fix)),
    )


def compile_elementwise(plan: ElementwisePlan) -> Write:
    """Compile ``write(out, *operands)``; each operand is disjoint from `out` or exactly there."""
    usual = _test_for_scalar_needing_no_fix(plan)
    with_fix = _compile_with_fix(plan, _required_fix(plan))
    return (
        with_fix
        if usual is None
        else _choose_by_last_scalar(usual, _compile_with_fix(plan, None), with_fix)
    )


def _test_for_scalar_needing_no_fix(plan: ElementwisePlan) -> Callable[[Any], bool] | None:
    """Return a test of whether a Python scalar as last operand needs no fix; None if unneeded."""
    scalar = isinstance(plan.operands[-1], type)
    return (
        elementwise_function(plan.operation.function_name).is_usual_scalar
        if scalar and _required_fix(plan)
        else None
    )


def _choose_by_last_scalar(
    is_common: Callable[[Any], bool], common: Write, rare: Write
) -> Callable[..., Any]:
    return lambda *operands: (common if is_common(operands[-1]) else rare)(*operands)


def _compile_allocating_with_fix(plan: ElementwisePlan, fix: Fix | None) -> Run | None:
    if plan.result.layout.is_tiled:
        return None
    aligned = plan.result.layout.nbytes(plan.result.dtype) > UNALIGNED
    if _numpy_returns_planned_array(plan, fix) and not aligned:
        return _compile_allocating_ufunc(plan, fix)
    few = elementwise_function(plan.operation.function_name).small_function
    if few is not None and plan.result.layout.size <= _FEW and _is_packed_in_one_order(plan):
        return _compile_small_ternary(
            plan,
            few,
            allocate_then_write(tensor_allocator(plan.result), _compile_with_fix(plan, fix)),
        )
    if plan.is_contiguous_loop and plan.result.layout.is_padded and plan.result.layout.size:
        return _compile_flat_call(
            plan.result, _make_call(plan, fix), _make_operand_reader(plan, padded_slots)
        )
    return None


def _compile_with_fix(plan: ElementwisePlan, fix: Fix | None) -> Write:
    if plan.result.layout.is_tiled:
        return _compile_tiled_call_on_slot_vectors(plan, fix)
    if fix is None and _is_plain_binary_ufunc(plan):
        return _compile_inplace_ufunc(plan)
    return _compile_call(plan, fix)


def _compile_call(plan: ElementwisePlan, fix: Fix | None) -> Write:
    """Compile ``write(out, *operands)`` for strided tensors and Python scalars."""
    alone = _make_call(plan, fix)
    call, read = make_call_reordering_operands(plan, alone), _make_operand_reader(plan)
    if call is alone:
        layout, itemsize = plan.result.layout, plan.result.dtype.itemsize
        exact = has_same_result_in_all_loops(plan.operation.function_name, plan.inputs)
        call = make_shared_call(alone, layout, itemsize, _traffic_bytes(plan), exact)

    def compute_into_out(out: Tensor, *operands: Any) -> None:
        call(read(operands), out.memory)

    return compute_into_out


def _numpy_returns_planned_array(plan: ElementwisePlan, fix: Fix | None) -> bool:
    """Return whether NumPy without `out` returns an array of the planned dtype and layout."""
    return (
        isinstance(_numpy_function(plan), np.ufunc)
        and not is_large_call(_traffic_bytes(plan))
        and (
            fix is None
            or elementwise_function(plan.operation.function_name).is_right_when_allocating
        )
        and _is_packed_in_one_order(plan)
        and _is_numpy_promotion(plan)
    )


def _is_packed_in_one_order(plan: ElementwisePlan) -> bool:
    """Return whether the operands are row-major, or all packed in the order of the result."""
    layout = plan.result.layout
    tensors = [o.layout for o in plan.operands if isinstance(o, TensorSpec)]
    return (
        layout.ndim > 0
        and layout.size > 0
        and (
            (layout.is_row_major and all(o.is_row_major for o in tensors))
            or (layout.is_packed and all(o.same_placement(layout) for o in tensors))
        )
    )


def _required_fix(plan: ElementwisePlan) -> Fix | None:
    """Return the fix for NumPy's function in the planned dtypes, if it needs one."""
    fixes = elementwise_function(plan.operation.function_name).fixes
    if not fixes:
        return None
    name = plan.inputs[-1].name
    fix = fixes.get(name) or (
        fixes.get(f"{name}*") if _can_last_operand_value_repeat(plan) else None
    )
    return fix or (fixes.get(f"{name}<") if _may_use_complex_scalar_loop(plan) else None)


def _numpy_function(plan: ElementwisePlan) -> Any:
    return elementwise_function(plan.operation.function_name).numpy_function


def _can_last_operand_value_repeat(plan: ElementwisePlan) -> bool:
    """Return whether the last operand may be one value for many elements of the result."""
    last = plan.operands[-1]
    if isinstance(last, type) or last.layout.size <= 1:
        return True
    return last.layout.shape != plan.result.layout.shape or last.layout.is_overlapping


# NumPy's vector loops handle strides up to this many elements; their limit is somewhat higher.
_FAR = 1 << 24


def _may_use_complex_scalar_loop(plan: ElementwisePlan) -> bool:
    """Return whether NumPy may use its scalar complex loop (see `_make_row_major_fix`)."""
    tensors = [o.layout for o in plan.operands if isinstance(o, TensorSpec)]
    layout = plan.result.layout
    ranks = {len(o.shape) for o in (layout, *tensors)} - {0}
    if layout.size == 1 and (plan.destinations or len(ranks) > 1):
        return True
    strided = [o for o in (layout, *tensors) if not o.is_tiled]
    return any(not 0 <= stride < _FAR for o in strided for stride in o.strides)


def _is_numpy_promotion(plan: ElementwisePlan) -> bool:
    """Return whether NumPy's own promotion of these operands is the planned one."""
    if _bool_and_narrow_decoders(plan):
        return False
    if not _has_only_tensors(plan):
        if any(dtypes.is_bfloat16(d) for d in plan.inputs):
            return False  # NumPy converts Python scalars to float32 if the other is bfloat16
        if plan.result.dtype == dtypes.bool and plan.inputs[0].kind in "iu":
            return False  # NumPy accepts Python integers that do not fit the dtype
    return _numpy_picks_planned_dtypes(
        plan, [o if isinstance(o, type) else o.dtype for o in plan.operands]
    )


def _numpy_picks_planned_dtypes(plan: ElementwisePlan, operand_types: Sequence[Any]) -> bool:
    """Return whether NumPy picks the planned dtypes for operands of these dtypes or scalar types.

    Its integer division has loops that convert: 16 MB of int32 6.3 ms, through a buffer 13.6.
    """
    try:
        *inputs, result = _numpy_function(plan).resolve_dtypes((*operand_types, None))
    except TypeError:
        return False
    if result != plan.result.dtype:
        return False
    if plan.operation.converts_integers_to_float and all(
        o.kind in "iu" for o in _operand_dtypes(plan)
    ):
        return all(d.kind in "iuf" for d in inputs)
    return tuple(inputs) == plan.inputs


def _operand_dtypes(plan: ElementwisePlan) -> list[dtypes.DType]:
    """Return the dtypes of the operands; for scalars, those they are converted to."""
    pairs = zip(plan.operands, plan.inputs, strict=True)
    return [i if isinstance(o, type) else o.dtype for o, i in pairs]


def _operands_need_conversion(plan: ElementwisePlan) -> bool:
    """Return whether some operand's dtype differs from the function's input dtype."""
    return _operand_dtypes(plan) != [*plan.inputs]


def _has_only_tensors(plan: ElementwisePlan) -> bool:
    return {*map(type, plan.operands)} == {TensorSpec}


# Runs of fewer elements are faster through NumPy's buffer. x + column of 16 MB of float32 in runs
# of 8, 32, 64, 128, 256 elements takes 13.2, 4.9, 2.6, 1.4, 1.0 ms without the buffer, and 2.8,
# 1.7, 1.4, 1.6, 1.6 through it.
_RUN = 128


def _traffic_bytes(plan: ElementwisePlan) -> int:
    """Return the bytes that a call reads and writes."""
    tensors = [plan.result, *[o for o in plan.operands if isinstance(o, TensorSpec)]]
    return sum([t.layout.size * t.dtype.itemsize for t in tensors])


def _copier_of_ufunc_buffer_context(plan: ElementwisePlan) -> Any:
    """Return the ``copy`` of the context whose ufunc buffer suits the plan.

    16 MB of int32 + float64 take 7.5 ms with a large buffer, and 14.7 with the smallest.
    """
    return (
        quiet.copy if _operands_need_conversion(plan) or _has_short_runs(plan) else unbuffered.copy
    )


def _has_short_runs(plan: ElementwisePlan) -> bool:
    """Return whether operands and result have only short runs in common."""
    result = plan.result.layout
    if result.ndim < 2 or (plan.is_contiguous_loop and not plan.destinations):
        return False
    tensors = [
        o.layout.broadcast_to(result.shape) for o in plan.operands if isinstance(o, TensorSpec)
    ]
    together, *_ = coalesce(result, *tensors)
    return together.ndim > 1 and together.shape[-1] < _RUN


def _compile_allocating_ufunc(plan: ElementwisePlan, fix: Fix | None) -> Run:
    """Compile the fastest path: a small, packed result that NumPy allocates."""
    function, spec = _numpy_function(plan), plan.result
    copy = _copier_of_ufunc_buffer_context(plan)
    new = object.__new__
    narrow = _rounds_python_int_twice(plan)

    def call_unary_ufunc(x: Tensor) -> Tensor:
        result = new(Tensor)
        result.memory = copy().run(function, x.memory)
        result.spec, result.home = spec, None
        return result

    def call_on_two_tensors(x: Tensor, y: Tensor) -> Tensor:
        result = new(Tensor)
        result.memory = copy().run(function, x.memory, y.memory)
        result.spec, result.home = spec, None
        return result

    def call_with_scalar(x: Any, y: Any) -> Tensor:
        result, number = new(Tensor), y if type(x) is Tensor else x
        try:
            if narrow and not -WHOLE <= number <= WHOLE:
                raise OverflowError
            if number is y:
                result.memory = copy().run(function, x.memory, y)
            else:
                result.memory = copy().run(function, x, y.memory)
        except OverflowError:  # the general path rounds once, or raises the error
            return allocate_then_write(tensor_allocator(spec), _compile_call(plan, fix))(x, y)
        result.spec, result.home = spec, None
        return result

    if len(plan.operands) == 1:
        return call_unary_ufunc
    return call_on_two_tensors if _has_only_tensors(plan) else call_with_scalar


# Up to this size the overhead of a call dominates.
_FEW = 1024


def _compile_small_ternary(plan: ElementwisePlan, function: Any, fallback: Run) -> Run | None:
    """Compile a ternary function of few elements; `fallback` handles scalars out of range."""
    pairs = enumerate(zip(plan.operands, plan.inputs, strict=True))
    ranges = [(i, *directly_converted_range(d, o)) for i, (o, d) in pairs if isinstance(o, type)]
    odd = plan.result.dtype.kind == "V"  # NumPy's functions have no loop for bfloat16
    if odd or _operands_need_conversion(plan) or any(least > most for _, least, most in ranges):
        return None
    spec, new = plan.result, object.__new__

    def compute_small_ternary(x: Any, y: Any, z: Any) -> Tensor:
        for i, least, most in ranges:
            if not least <= (x, y, z)[i] <= most:
                return fallback(x, y, z)
        result = new(Tensor)
        result.memory = function(
            x.memory if type(x) is Tensor else x,
            y.memory if type(y) is Tensor else y,
            z.memory if type(z) is Tensor else z,
        )
        result.spec, result.home = spec, None
        return result

    return compute_small_ternary


def _rounds_python_int_twice(plan: ElementwisePlan) -> bool:
    """Return whether NumPy would round a Python integer twice, first to float64."""
    return int in plan.operands and plan.inputs[-1] in (dtypes.float32, dtypes.complex64)


Reader = Callable[[tuple[Any, ...]], list[Array]]


def _make_operand_reader(
    plan: ElementwisePlan, read_tensor: Callable[[Tensor], Array] | None = None
) -> Reader:
    """Return a function that reads operands as arrays, scalars converted."""
    if read_tensor is None and _has_only_tensors(plan):
        return lambda operands: [o.memory for o in operands]
    get = [
        make_scalar_converter(plan.operation.name, dtype, o)
        if isinstance(o, type)
        else read_tensor or attrgetter("memory")
        for o, dtype in zip(plan.operands, plan.inputs, strict=True)
    ]
    return lambda operands: [g(o) for g, o in zip(get, operands, strict=True)]


def _bool_and_narrow_decoders(plan: ElementwisePlan) -> dict[int, Callable[[Array], Array]]:
    """Return decoders of bool and narrow operands, which ml_dtypes converts differently."""
    decoders: dict[int, Callable[[Array], Array]] = {}
    for i, (o, d) in enumerate(zip(plan.operands, plan.inputs, strict=True)):
        if isinstance(o, TensorSpec) and o.dtype != d:
            if o.dtype == dtypes.bool and dtypes.is_bfloat16(d):
                decoders[i] = normalize_bools
            elif dtypes.is_narrow_dtype(o.dtype):
                decoders[i] = decode_narrow
    return decoders


def _make_call(plan: ElementwisePlan, fix: Fix | None) -> Call:
    """Return ``call(arrays, out)``: the operation in the planned dtypes, quietly."""
    call, odd = _make_call_without_decoding(plan, fix), _bool_and_narrow_decoders(plan)
    if not odd:
        return call
    return lambda arrays, out: call(
        [odd[i](a) if i in odd else a for i, a in enumerate(arrays)], out
    )


def _make_call_without_decoding(plan: ElementwisePlan, fix: Fix | None) -> Call:
    """Return ``call(arrays, out)`` for operands that need no decoding."""
    function = _numpy_function(plan)
    converts = _operands_need_conversion(plan)
    copy: Any = _copier_of_ufunc_buffer_context(plan)
    if fix is not None or (converts and not isinstance(_numpy_function(plan), np.ufunc)):
        nbytes = plan.result.layout.required_size * plan.result.dtype.itemsize
        if (
            not converts
            and elementwise_function(plan.operation.function_name).is_right_when_allocating
        ):
            nbytes = 0  # no blocks: such a fix passes over memory only once in most cases
        return make_converting_call(fix or function, plan.inputs, converts, nbytes)
    if not isinstance(_numpy_function(plan), np.ufunc):
        return lambda arrays, out: copy().run(function, *arrays, out)
    if _numpy_picks_planned_dtypes(plan, _operand_dtypes(plan)):
        return lambda arrays, out: copy().run(function, *arrays, out=out)
    signature = (*plan.inputs, plan.result.dtype)
    convert: Any = functools.partial(function, signature=signature, casting="unsafe")
    return lambda arrays, out: call_quietly(convert, *arrays, out=out)


def standalone_ufunc(plan: ElementwisePlan) -> Any:
    """Return the ufunc that alone gives the planned result, for scalars up to 2**53; or None."""
    fix = None if _test_for_scalar_needing_no_fix(plan) else _required_fix(plan)
    is_standalone = _test_for_scalar_needing_no_fix(plan) is None and _numpy_returns_planned_array(
        plan, fix
    )
    return _numpy_function(plan) if is_standalone and not plan.result.layout.is_tiled else None


class BlockCall(NamedTuple):
    """Functions of one plan on cache-sized blocks: ``function(*arrays, out=…)``."""

    common: Callable[..., object]
    rare: Callable[..., object]  # if the last operand, a scalar, fails `is_usual_scalar`
    is_usual_scalar: Callable[[Any], bool] | None
    may_overwrite: bool  # True if `out` may be one of the arrays


def make_block_call(plan: ElementwisePlan) -> BlockCall:
    """Return the call of a plan on blocks of its operands, of any broadcast shapes."""
    vector = Layout.row_major((1,))
    shrunk = replace(
        plan,
        operands=tuple(
            TensorSpec(o.dtype, vector, o.device) if isinstance(o, TensorSpec) else o
            for o in plan.operands
        ),
        result=TensorSpec(plan.result.dtype, vector, plan.result.device),
    )
    usual, fix = _test_for_scalar_needing_no_fix(plan), _required_fix(plan)
    rare = _accepting_out_keyword(_make_call(shrunk, fix))
    if usual is None and fix is not None:
        return BlockCall(rare, rare, None, False)
    exact = (
        isinstance(_numpy_function(plan), np.ufunc)
        and not _bool_and_narrow_decoders(plan)
        and _numpy_picks_planned_dtypes(plan, _operand_dtypes(plan))
    )
    common = _numpy_function(plan) if exact else _accepting_out_keyword(_make_call(shrunk, None))
    return BlockCall(
        common, rare, usual, exact and usual is None and not _operands_need_conversion(plan)
    )


def _accepting_out_keyword(call: Call) -> Callable[..., object]:
    return lambda *arrays, out: call(arrays, out)


def is_one_ufunc_call(plan: ElementwisePlan) -> bool:
    """Return whether a plan is one ufunc call, which buffers operands that overlap the result."""
    if (
        not isinstance(_numpy_function(plan), np.ufunc)
        or _required_fix(plan) is not None
        or plan.result.layout.is_tiled
    ):
        return False
    if is_large_call(_traffic_bytes(plan)):  # it may be split into several calls
        return False
    call = _make_call(plan, None)
    return make_call_reordering_operands(plan, call) is call


def _is_plain_binary_ufunc(plan: ElementwisePlan) -> bool:
    """Return whether one ufunc takes both operands as they are."""
    return len(plan.operands) == 2 and is_one_ufunc_call(plan) and _is_numpy_promotion(plan)


def _compile_inplace_ufunc(plan: ElementwisePlan) -> Run:
    """Compile ``x += y`` and the like to one NumPy ufunc call with `out`."""
    function = _numpy_function(plan)
    copy = _copier_of_ufunc_buffer_context(plan)
    narrow = _rounds_python_int_twice(plan)

    def compute_in_place(out: Tensor, x: Any, y: Any) -> Tensor:
        first = x.memory if type(x) is Tensor else x
        second = y.memory if type(y) is Tensor else y
        try:
            if narrow and not -WHOLE <= (y if type(x) is Tensor else x) <= WHOLE:
                raise OverflowError
            copy().run(function, first, second, out=out.memory)
        except OverflowError:
            _compile_call(plan, None)(out, x, y)
        return out

    return compute_in_place


# --- padded or tiled results: one run over all slots, then the padding ---------------------------

# Padding is written after each chunk of this size, while the chunk is in the cache. x + y of 16 MB
# in rows of 2048 float32 and 64 slots of padding takes 1.09 ms if all padding is written at the
# end, and 0.74 without padding.
CHUNK_BYTES = 1 << 20

_MOST_CHUNKS = 1024  # maximum number of chunks of a huge result

Region = tuple[slice, ...]


def _compile_flat_call(spec: TensorSpec, call: Call, read: Reader) -> Run:
    """Compile `call` on the slots of whole blocks, chunk by chunk, each followed by its padding."""
    layout, dtype = spec.layout, spec.dtype
    whole = Layout(layout.padded_shape, layout.strides)
    strides = byte_strides(whole, dtype.itemsize)
    elements = tuple(slice(0, n) for n in layout.shape)
    bits = padding_value_array(layout.padding_value, dtype)
    room = max(CHUNK_BYTES // dtype.itemsize, whole.size // _MOST_CHUNKS)
    chunks = list(_chunks_with_padding(layout, room))
    allocate = make_array_allocator(spec, (whole.required_size,))

    def compute_flat(*operands: Any) -> Tensor:
        storage = allocate()
        block: Array = np.ndarray(whole.shape, dtype, storage, 0, strides)
        arrays = read(operands)

        def compute_and_pad_chunk(chunk: tuple[slice, list[Region]]) -> None:
            cut, regions = chunk
            call([a[cut] if a.ndim else a for a in arrays], storage[cut])
            for region in regions if bits is not None else ():
                block[region] = bits

        share_pieces(chunks, compute_and_pad_chunk)
        return Tensor._from_memory(block[elements], spec, (storage, 0))

    return compute_flat


def _chunks_with_padding(layout: Layout, room: int) -> Iterator[tuple[slice, list[Region]]]:
    """Yield cuts of about `room` slots along the slowest dimension, with their padding."""
    slowest = layout.minor_to_major[-1]
    size, step = layout.padded_shape[slowest], layout.strides[slowest]
    for start, stop in [(cut.start, cut.stop) for cut in axis_slices(size, max(1, room // step))]:
        regions = []
        for ranges in boxes.padding_boxes(layout):
            low, high = ranges[slowest]
            ranges[slowest] = first, last = max(start, low), min(stop, high)
            if first < last:
                regions.append(tuple(starmap(slice, ranges)))
        yield slice(start * step, stop * step), regions


def _compile_tiled_call_on_slot_vectors(plan: ElementwisePlan, fix: Fix | None) -> Write:
    """Compile a call on tiled tensors of one placement as vectors of slots, then the padding."""
    spec, fill = plan.result, make_padding_filler(plan.result)
    tiled = [isinstance(o, TensorSpec) and o.layout.ndim > 0 for o in plan.operands]
    operands = tuple(
        _slot_vector_spec(o) if t else o for o, t in zip(plan.operands, tiled, strict=True)
    )
    result = _slot_vector_spec(spec)
    vectors: list[Any] = [result, *[o if t else None for o, t in zip(operands, tiled, strict=True)]]
    run = _compile_with_fix(replace(plan, operands=operands, result=result), fix)

    def call_on_slot_vectors(*tensors: Any) -> None:
        pairs = zip(tensors, vectors, strict=True)
        run(*[x if v is None else Tensor._from_memory(x.memory, v) for x, v in pairs])
        if fill is not None:
            fill(*storage_and_slot(tensors[0]))

    return call_on_slot_vectors


def _slot_vector_spec(operand: Any) -> TensorSpec:
    """Return the spec of all slots of a tiled tensor as a vector."""
    layout = Layout.row_major((operand.layout.required_size,))
    return TensorSpec(operand.dtype, layout, operand.device)
