"""Concatenation and splitting on CUDA.

A join copies each input into its part of the result, and a split copies each part to its output.
Both use the same kernels, with the roles of source and destination exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import NamedTuple

from tensorlayout.cuda.copy import compile_move, plan_copy
from tensorlayout.cuda.engine import (
    PER_THREAD,
    SECTOR,
    THREADS,
    WIDEST,
    Launch,
    Launches,
    blocks_for_walk,
    constant_value,
    divisor_struct,
    kernel_with_macros,
    make_parameter_struct,
    make_writer,
)
from tensorlayout.layout import (
    Axis,
    Layout,
    Loop,
    Window,
    max_offset_of_axes,
    merge_axes,
    narrowest_index_type,
)
from tensorlayout.plan import JoinPlan, SplitPlan, Write, part_slices, slice_layout
from tensorlayout.tensor import Tensor, TensorSpec

FILE = "join.cu"

# Ranks whose kernels in join.cu have loops of known length.
RANKS = (1, 2, 3)


class _WholeTensor(NamedTuple):
    """The whole tensor whose parts along an axis are the inputs."""

    layout: Layout
    axis: int
    itemsize: int
    alignment: int
    memory_number: int  # 0 in a join, the last one in a split


class _JoinInput(NamedTuple):
    memory_number: int
    layout: Layout
    start_index: int  # of its part, along the axis
    start_slot: int  # the same in slots of the whole tensor
    alignment: int


def plan_join(
    result: Layout,
    sources: Sequence[Layout],
    starts: Sequence[int],
    axis: int,
    itemsize: int,
    alignments: Sequence[int],
    *,
    is_split: bool = False,
) -> Launches:
    """Plan copies of all inputs into their parts of the result, or back if `is_split`.

    With `is_split`, plan copies of the parts of `result` into `sources` instead. The result is the
    first memory of the call; in a split it is the last. Inputs with equal access widths share a
    launch, up to the number that its parameters hold. Inputs in another order are copied through
    tiles, one launch each. `alignments`: of the result and of each source, at least an element.
    """
    numbers = range(len(sources)) if is_split else range(1, 1 + len(sources))
    slots = [start * result.strides[axis] for start in starts]
    rows = zip(numbers, sources, starts, slots, alignments[1:], strict=True)
    inputs = [_JoinInput(*row) for row in rows if row[1].size]
    whole = _WholeTensor(result, axis, itemsize, alignments[0], len(sources) if is_split else 0)
    copies = [_plan_transposed_copy(whole, join_input) for join_input in inputs]
    direct_inputs = [
        join_input for join_input, copy in zip(inputs, copies, strict=True) if copy is None
    ]
    join_launches = [
        _plan_join_or_split_launch(whole, group) for group in _launch_groups(whole, direct_inputs)
    ]
    return Launches((*join_launches, *[copy for copy in copies if copy is not None]))


def _plan_transposed_copy(whole_tensor: _WholeTensor, join_input: _JoinInput) -> Launch | None:
    """Return the copy of an input through tiles; None if it need not go through tiles."""
    sizes, strides = join_input.layout.shape, join_input.layout.strides
    fastest = next((d for d in whole_tensor.layout.minor_to_major if sizes[d] > 1), None)
    if fastest is None or strides[fastest] == whole_tensor.layout.strides[fastest]:
        return None
    cut = slice(join_input.start_index, join_input.start_index + sizes[whole_tensor.axis])
    part = slice_layout(whole_tensor.layout, (*[slice(None)] * whole_tensor.axis, cut))
    shift = part.lowest * whole_tensor.itemsize
    ends = [(part.at_origin, gcd(whole_tensor.alignment, shift), whole_tensor.memory_number, shift)]
    # The destination first: the whole tensor in a join, the part in a split.
    ends.insert(
        1 - (whole_tensor.memory_number > 0),
        (join_input.layout, join_input.alignment, join_input.memory_number, 0),
    )
    (to, from_), alignments, numbers, shifts = zip(*ends, strict=True)
    copy = plan_copy(to, from_, whole_tensor.itemsize, alignments)
    return copy.launches[0].with_memories(numbers, *shifts) if copy.case == "tiles" else None


def _launch_groups(whole_tensor: _WholeTensor, inputs: list[_JoinInput]) -> list[list[_JoinInput]]:
    """Group inputs that share a launch: equal access widths, and no more than parameters hold."""
    by_width: dict[int, list[_JoinInput]] = {}
    for join_input in inputs:
        by_width.setdefault(
            _access_width(_joined_axes(whole_tensor, [join_input]), whole_tensor, [join_input]), []
        ).append(join_input)
    groups = []
    for _, members in sorted(by_width.items(), reverse=True):
        axes = _joined_axes(whole_tensor, members)
        index = narrowest_index_type(whole_tensor.layout.size, max_offset_of_axes(axes))
        rank = len(axes)
        # CUDA limits parameters to 4096 bytes; the kernel's MOST is the number of inputs that fit.
        most = constant_value(FILE, f"MOST<{rank if rank in RANKS else 0}, {index}>")
        groups += [members[k : k + most] for k in range(0, len(members), most)]
    return groups


def _joined_axes(whole_tensor: _WholeTensor, inputs: list[_JoinInput]) -> list[Axis]:
    """Return the axes of the result, slowest first, with strides of the result and each input.

    The joined axis has a window for each input. It merges only with faster axes: along it, the
    elements after an input's last index belong to the next input.
    """
    dims, result = [], whole_tensor.layout
    for d in reversed(result.minor_to_major):
        layouts = [result, *[join_input.layout for join_input in inputs]]
        parts = Window(tuple([layout.shape[d] for layout in layouts]))
        strides = tuple([layout.strides[d] for layout in layouts])
        joined = d == whole_tensor.axis and result.shape[d] > 1
        dims.append(Axis(result.shape[d], strides, parts if joined else None))
    ones = (1,) * (1 + len(inputs))
    merged_axes = merge_axes(
        dims, lambda slower, faster: faster.tag is None and slower.step_spans_axis(faster)
    )
    return merged_axes or [Axis(1, ones, Window(ones))]


def _access_width(axes: list[Axis], whole_tensor: _WholeTensor, inputs: list[_JoinInput]) -> int:
    """Return the widest possible access, in **bytes**."""
    *slower, last = axes
    counts = last.window_or_whole_axis.counts
    if any(n > 1 and step != 1 for n, step in zip(counts, last.strides, strict=True)):
        return whole_tensor.itemsize
    # No access may cross from one input to the next, so the inputs' counts along the fastest axis,
    # their starts and their offsets must be multiples of its width, as the strides of rows are.
    rows = [
        row for a in slower for row in zip(a.window_or_whole_axis.counts, a.strides, strict=True)
    ]
    steps = [step for n, step in rows if n > 1]
    steps += [
        *counts[1:],
        *[join_input.start_slot for join_input in inputs],
        whole_tensor.layout.offset,
    ]
    steps += [join_input.layout.offset for join_input in inputs]
    aligned = [whole_tensor.alignment, *[join_input.alignment for join_input in inputs]]
    return gcd(WIDEST, *aligned, *[step * whole_tensor.itemsize for step in steps])


def _row_thread_counts(
    axes: list[Axis], whole_tensor: _WholeTensor, inputs: list[_JoinInput], width: int
) -> list[int]:
    """Return the threads for a row of each input, for the kernel that aligns threads to sectors.

    Empty if rows begin at sectors anyway, if inputs are not contiguous, or if more than a tenth of
    the threads would be idle.
    """
    if len(axes) != 2 or width == WIDEST or axes[1].tag is None or axes[1].strides[0] != 1:
        return []
    rows, runs = axes
    sizes = runs.window_or_whole_axis.counts[1:]
    if rows.strides[1:] != sizes or set(runs.strides) != {1}:
        return []
    steps = [
        rows.strides[0],
        whole_tensor.layout.offset,
        *[join_input.start_slot for join_input in inputs],
    ]
    if not gcd(whole_tensor.alignment, *[step * whole_tensor.itemsize for step in steps]) % SECTOR:
        return []
    grain, times = SECTOR // width, width // whole_tensor.itemsize
    # A row that begins inside a sector needs up to `grain - 1` idle threads before its first one.
    threads = [-(-(size // times + grain - 1) // grain) * grain for size in sizes]
    count = rows.size * max(threads)
    fits = narrowest_index_type(count + THREADS * PER_THREAD, 0) == narrowest_index_type(
        whole_tensor.layout.size, 0
    )
    return threads if fits and sum(threads) * times * 9 <= sum(sizes) * 10 else []


def _plan_join_or_split_launch(whole_tensor: _WholeTensor, inputs: list[_JoinInput]) -> Launch:
    axes = _joined_axes(whole_tensor, inputs)
    result = whole_tensor.layout
    itemsize = whole_tensor.itemsize
    width, rank = _access_width(axes, whole_tensor, inputs), len(axes)
    index = narrowest_index_type(result.size, max_offset_of_axes(axes))
    splits = whole_tensor.memory_number > 0
    # The kernel of rows only joins; it does not split.
    threads = [] if splits else _row_thread_counts(axes, whole_tensor, inputs, width)
    shape = {"INDEX": index, "WIDTH": width} | ({} if threads else {"RANK": rank})
    chosen = kernel_with_macros(FILE, "join_rows" if threads else "join_parts", **shape)
    params = make_parameter_struct(chosen)
    shared, end, count = params.shared, 0, 1 + len(inputs)
    shared.parts, shared.rank, shared.axis, shared.splits = len(inputs), rank, -1, splits
    loop = Loop(tuple(axes), (itemsize,) * count, (0,) * count, (WIDEST,) * count)
    packs = loop.loop_over_packs(width // itemsize, range(count)).axes
    for d, item in enumerate(packs):
        shared.stride[d] = item.strides[0]
        if item.tag is not None:
            shared.axis = d
        else:
            shared.size[d] = divisor_struct(index, item.size)
    for k, join_input in enumerate(inputs, 1):
        part, sizes = params.parts[k - 1], [item.window_or_whole_axis.counts[k] for item in packs]
        part.count = prod(sizes)
        part.start = join_input.start_slot * itemsize // width
        for d, item in enumerate(packs):
            part.stride[d] = item.strides[k] if sizes[d] > 1 else 0
            if item.tag is not None:
                part.size = divisor_struct(index, sizes[d])
        if threads:
            part.count, part.size = sizes[0] * threads[k - 1], divisor_struct(index, threads[k - 1])
            part.stride[0] = sizes[1]
        # A block finds its input by bisection of these ends.
        end += blocks_for_walk(part.count, rank, RANKS)
        part.end_block = end
    firsts = tuple([item.offset * itemsize for item in (result, *[i.layout for i in inputs])])
    memories = (whole_tensor.memory_number, *[item.memory_number for item in inputs])
    return Launch(chosen, end, bytes(params), firsts, memories)


# ---- Writes


def compile_join(plan: JoinPlan) -> Write:
    """Compile a join: one launch, and one more for each input of another dtype, order or tiling."""
    spec, axis = plan.result, plan.axis
    layouts, starts = list[Layout](), list[int]()
    movers: dict[int, Write] = {}
    cuts = part_slices(plan.sources, axis)
    for k, (source, cut) in enumerate(zip(plan.sources, cuts, strict=True)):
        if source.dtype == spec.dtype and not source.layout.is_tiled:
            layouts.append(source.layout)
            starts.append(cut[axis].start)
        else:
            part = slice_layout(spec.layout, cut)
            shift = part.lowest * spec.dtype.itemsize if part.size else 0
            destination = TensorSpec(spec.dtype, part.at_origin, spec.device)
            movers[k] = compile_move(source, destination, result_byte_shift=shift)
    join = _make_join_writer(spec, axis, layouts, starts)
    if not movers:
        return join

    def join_into_out(out: Tensor, *operands: Tensor) -> None:
        join(out, *[x for k, x in enumerate(operands) if k not in movers])
        for k, move in movers.items():
            move(out, operands[k])

    return join_into_out


def compile_split(plan: SplitPlan) -> Write:
    """Compile a split: one launch for all results, and one for each in another order."""
    starts = [cut[plan.axis].start for cut in part_slices(plan.results, plan.axis)]
    layouts = [result.layout for result in plan.results]
    return _make_join_writer(plan.source, plan.axis, layouts, starts, is_split=True)


def _make_join_writer(
    spec: TensorSpec, axis: int, layouts: list[Layout], starts: list[int], *, is_split: bool = False
) -> Write:
    """Return a function that joins tensors with `layouts` into `spec`, or splits it into them."""
    part_slice = slice(0, -1) if is_split else slice(1, None)

    def plan_launches(alignments: tuple[int, ...]) -> Launches:
        ordered_alignments = alignments[-1 if is_split else 0], *alignments[part_slice]
        itemsize = spec.dtype.itemsize
        return plan_join(
            spec.layout, layouts, starts, axis, itemsize, ordered_alignments, is_split=is_split
        )

    # Each combination of alignments gets its own plan; with many inputs their least one decides.
    alike = part_slice if len(layouts) > 4 else None
    return make_writer(spec.device.number, plan_launches, same_alignment=alike)
