"""Writes at integer positions, and values combined with the elements there.

Positions out of bounds write nothing; `faults` raises the IndexError later.

If several values for one place can differ, the last one in index order wins, as on the CPU: a table
holds, for each place, the greatest number of a position that refers to it (the *winner*).
Combinations take values in index order and in runs (`plan.scatter.RUN`), so that float sums have
the same bits on both devices. They are atomic if their order cannot affect the result, or is
allowed to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from tensorlayout.cuda.engine import (
    NOTHING,
    PER_THREAD,
    THREADS,
    WIDEST,
    Launch,
    Launches,
    blocks_for_elements,
    c_type,
    divisor_struct,
    kernel_with_macros,
    make_writer,
    repeat_to_16_bytes,
    scalar_bytes,
)
from tensorlayout.cuda.engine.faults import MAX_POSITIONS
from tensorlayout.cuda.fill import bind_fill_value, plan_fill
from tensorlayout.cuda.gather import (
    OF_POSITIONS,
    IndexLoop,
    PositionTensor,
    combine_position_tensors,
    common_step_origin_and_count,
    kept_strides,
    loop_over_axes,
    make_index_launch,
    make_index_loop,
    make_position_tensor,
    make_positions_loop,
    widen_index_loop,
)
from tensorlayout.cuda.sort import BEYOND, SortMemories, plan_sort_keys_with_positions
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, merge_axes, narrowest_index_type
from tensorlayout.plan import (
    RUN,
    CopyPlan,
    CopyScatterPlan,
    Event,
    Run,
    ScatterPlan,
    ScatterReducePlan,
    Write,
    compile_copy_then_write,
    compile_plan,
    compile_traced_copy,
)
from tensorlayout.plan.gather import Shape
from tensorlayout.tensor import TensorSpec

FILE = "scatter/scatter.cu"

# Numbers of the memories of a loop; a call has the first two.
DESTINATION, VALUES, WINNERS = range(3)


def compile_scatter(plan: ScatterPlan) -> Write:
    """Compile ``write(out, value, *positions)``; operands do not overlap what is written."""
    number, name, dtype = plan.result.device.number, plan.name, plan.result.dtype
    if not isinstance(plan.value, TensorSpec):
        write_number = make_writer(
            number,
            partial(plan_scatter, plan),
            1 + len(plan.positions),
            lambda value: repeat_to_16_bytes(scalar_bytes(name, value, dtype)),
            aligned_count=1,
        )
        return lambda out, value, *positions: write_number(out, *positions, value)
    spec, convert = compile_dtype_cast(plan.value, dtype)
    write = make_writer(number, partial(plan_scatter, replace(plan, value=spec)), aligned_count=2)
    if convert is None:
        return write
    return lambda out, value, *positions: write(out, convert(value), *positions)


def compile_copy_scatter(plan: CopyScatterPlan) -> Write:
    """Compile one launch for few positions; otherwise a copy and then a scatter."""
    widest = (plan.result.dtype.itemsize,) * 3
    if plan_copy_scatter(plan, widest) is not None:
        return make_writer(
            plan.result.device.number, partial(plan_copy_scatter, plan), aligned_count=3
        )
    return compile_copy_then_write(plan, compile_scatter(plan.scatter))


def compile_dtype_cast(spec: TensorSpec, dtype: DType) -> tuple[TensorSpec, Run | None]:
    """Return the spec of values cast to `dtype`, and the function that casts them (or None)."""
    if spec.dtype == dtype:
        return spec, None
    # Without padding, whose content may have no equivalent in the other dtype.
    layout = Layout.packed(spec.layout.shape, spec.layout.minor_to_major)
    result = TensorSpec(dtype, layout, spec.device)
    return result, compile_plan(CopyPlan(spec, result))


# ---- Launches


def broadcast_values_layout(plan: ScatterPlan) -> Layout | None:
    """Return the values' layout broadcast to the shape of the write; None for a number."""
    return (
        broadcast_values_layout_to(plan.value.layout, plan.shape)
        if isinstance(plan.value, TensorSpec)
        else None
    )


def broadcast_values_layout_to(layout: Layout, shape: Shape) -> Layout:
    """Return a layout broadcast to `shape`, without surplus leading dimensions of size 1."""
    surplus = range(max(layout.ndim - len(shape), 0))
    return layout.squeeze(tuple(surplus)).broadcast_to(shape)


def plan_scatter(plan: ScatterPlan, alignments: tuple[int, ...]) -> Launches:
    """Plan the launches of a scatter.

    Memories of the call: the destination, the values if they are in memory, positions.
    `alignments`: of the destination and the values, at least an element. One launch if values for
    one place cannot differ, otherwise three; more for more than four tensors of positions.
    Positions are checked even if nothing is written.
    """
    layout, index_map, table = plan.result.layout, plan.index_map, WinnerTable(plan)
    steps = [
        (layout.strides[d], 0, step)
        for d, step in zip(index_map.dims, table.position_steps, strict=True)
    ]
    first = 1 + isinstance(plan.value, TensorSpec)
    combined_positions = combine_position_tensors(plan, layout, plan.shape, steps, first)
    if not combined_positions.remaining:
        return combined_positions.launches
    shift = combined_positions.memory_shifts[DESTINATION]
    direct_launch = plan_scatter_launch(plan, combined_positions.remaining, alignments, shift)
    values, dims = broadcast_values_layout(plan), index_map.index_dims
    # A number, or values repeated along all positions: every order of writes gives the same result.
    if values is None or not any(plan.shape[d] > 1 and values.strides[d] for d in dims):
        return combined_positions.launches_followed_by(direct_launch)
    marks = make_winner_loop(plan, table, combined_positions.remaining)
    # Index types are compared as text, in which "int64_t" is greater than "int32_t".
    index = max(dict(direct_launch.kernel.shape)["INDEX"], marks.index_c_type)
    itemsize = 4 if index == "int32_t" else 8
    number = first + len(plan.positions) + len(combined_positions.launches.scratch)
    winners = number, (table.first_entry + combined_positions.memory_shifts[WINNERS]) * itemsize
    mark = kernel_with_macros(FILE, "mark_positions", RANK=len(marks.loop.axes), INDEX=index)
    # The first launch writes 0 to the entries that positions reach, and the second one leaves the
    # greatest numbers there. Blocks cannot wait for each other inside one launch.
    mark_launches = [
        make_index_launch(mark, marks, [winners], plan.name, clears=clears) for clears in (1, 0)
    ]
    written = plan_scatter_launch(
        plan, combined_positions.remaining, alignments, shift, index, winners
    )
    return combined_positions.launches_followed_by(
        *mark_launches, written, scratch=(table.entry_count * itemsize,)
    )


def plan_scatter_launch(
    plan: ScatterPlan,
    positions: Sequence[PositionTensor],
    alignments: tuple[int, ...],
    shift: int = 0,
    index: str = "int32_t",
    winners: tuple[int, int] | None = None,
) -> Launch:
    """Plan the launch for `positions`; other arguments as in `plan_gather_launch`.

    `index`: narrowest index type allowed. `winners`: memory number and **bytes** to the table's
    first entry; None if the order of writes does not matter.
    """
    layout = plan.result.layout
    itemsize = plan.result.dtype.itemsize
    values = broadcast_values_layout(plan)
    to = kept_strides(plan.index_map.kept, layout, len(plan.shape))
    # A number has no strides that limit the width of accesses, so it gets the destination's.
    value_strides, from_ = (to, 0) if values is None else (values.strides, values.offset * itemsize)
    firsts = ((layout.offset + shift) * itemsize, from_)
    strides = [to, value_strides, WinnerTable(plan).kept_strides]
    full_loop = make_index_loop(plan.index_map, plan.shape, strides, positions, itemsize, firsts)
    loop = widen_index_loop(full_loop, (*alignments, WIDEST)[:2])
    index, nothing, begins = max(index, loop.index_c_type), (NOTHING, 0), loop.loop.firsts
    rank, width = len(loop.loop.axes), loop.loop.width
    chosen = kernel_with_macros(FILE, "scatter_elements", RANK=rank, INDEX=index, WIDTH=width)
    value = nothing if values is None else (VALUES, begins[VALUES])
    return make_index_launch(
        chosen,
        loop,
        [(DESTINATION, begins[DESTINATION]), value, winners or nothing],
        plan.name,
        inner=divisor_struct(index, 1 if plan.index_map.per_line else loop.inner_count),
        span=divisor_struct(index, prod(plan.index_map.positions_shape(plan.shape))),
        values_are=values is not None,
        ordered=winners is not None,
        fills=values is None,
    )


class WinnerTable:
    """Strides and size of the table that orders writes to one place (see the module)."""

    def __init__(self, plan: ScatterPlan) -> None:
        layout, index_map = plan.result.layout, plan.index_map
        self.kept_strides = [0] * len(plan.shape)
        self.slot_unit = (
            1  # slots of the destination from one entry to the next, but along a dimension
        )
        if index_map.per_line:  # an entry for each element
            packed = Layout.row_major(layout.shape)
            self.kept_strides = kept_strides(index_map.kept, packed, len(plan.shape))
            self.position_steps = tuple(packed.strides[d] for d in index_map.dims)
            self.first_entry, self.entry_count = 0, packed.size
            return
        # An entry for each slot that positions reach: the strides, without what they share.
        rows = [(layout.shape[d], layout.strides[d]) for d in index_map.dims]
        # Example: x[i] of a row-major (4, 6) tensor has stride 6. In units of 6 slots it is 1, and
        # 4 entries suffice where the slots from the first to the last row would take 19.
        self.slot_unit, self.position_steps, self.first_entry, self.entry_count = (
            common_step_origin_and_count(*zip(*rows, strict=True))
        )


def make_winner_loop(
    plan: ScatterPlan, table: WinnerTable, positions: Sequence[PositionTensor]
) -> IndexLoop:
    """Return the loop over positions alone, in the index order that numbers the winners."""
    table_positions = [replace(p, steps=p.steps[WINNERS:]) for p in positions]
    if plan.index_map.per_line:
        return make_index_loop(plan.index_map, plan.shape, [table.kept_strides], table_positions)
    spread = plan.index_map.positions_shape(plan.shape)
    return make_positions_loop(spread, [[0] * len(spread)], table_positions)


# ---- Copies with few elements replaced


# Numbers of the memories of a call. In loops, memory POSITIONS is the number of a place instead.
RESULT, SOURCE, COPIED, POSITIONS = range(4)

# Most positions with which each element is compared. An estimate, not measured: this many reads
# from a cache take about as long as an element takes from and to memory.
FEW = 32


def plan_copy_scatter(plan: CopyScatterPlan, alignments: tuple[int, ...]) -> Launch | None:
    """Plan one launch that copies the source, with the values at positions in place of its own.

    None for many positions, or if they are not equally spaced in memory. `alignments`: of the
    destination, the source and the values.
    """
    scatter, source = plan.scatter, plan.source.layout
    layout = plan.result.layout
    index_map = scatter.index_map
    values = broadcast_values_layout(scatter)
    spread, specs = index_map.positions_shape(scatter.shape), scatter.positions
    count = scatter.shape[index_map.index_dims[0]] if index_map.per_line else prod(spread)
    # Every element of the result is compared with all `count` positions of its line.
    few = 0 < count <= FEW and len(specs) <= MAX_POSITIONS
    if values is None or not few or 0 in layout.shape:
        return None
    weights = dict(zip(index_map.dims, WinnerTable(scatter).position_steps, strict=True))
    positions = [
        make_position_tensor(POSITIONS + k, spec, spread, layout.shape[d], (0, 0, 0, weights[d]))
        for k, (spec, d) in enumerate(zip(specs, index_map.dims, strict=True))
    ]
    paces = _strides_of_merged_position_axis(plan, values, positions)
    if paces is None:
        return None
    # The step through the values is stored with the first tensor of positions, because
    # `widen_index_loop` has to rescale it together with the others.
    positions[0] = replace(positions[0], steps=(0, 0, paces[0], positions[0].steps[-1]))
    by_dim = dict(index_map.kept)

    def make_copy_axis(d: int) -> Axis:
        values_dim = by_dim.get(d)
        steps = (
            layout.strides[d],
            source.strides[d],
            0 if values_dim is None else values.strides[values_dim],
        )
        lines = [0] * len(positions)
        if values_dim is not None and index_map.per_line:
            lines = [p.layout.strides[values_dim] for p in positions]
        return Axis(layout.shape[d], (*steps, weights.get(d, 0), *lines))

    axes = [make_copy_axis(d) for d in reversed(layout.minor_to_major)]
    itemsize = plan.result.dtype.itemsize
    firsts = tuple(operand_layout.offset * itemsize for operand_layout in (layout, source, values))
    loop = widen_index_loop(loop_over_axes(axes, 4, positions, itemsize, firsts), alignments)
    elements, across = loop.loop.element_count, paces[1:]
    furthest = loop.max_offset + count * max(map(abs, (loop.positions[0].steps[COPIED], *across)))
    index = narrowest_index_type(elements, furthest)
    rank, width = len(loop.loop.axes), loop.loop.width
    file = "scatter/copy_scatter.cu"
    chosen = kernel_with_macros(file, "replace_elements", RANK=rank, INDEX=index, WIDTH=width)
    memories = list(enumerate(loop.loop.firsts[:POSITIONS]))
    grid = blocks_for_elements(elements * PER_THREAD)
    return make_index_launch(
        chosen, loop, memories, scatter.name, grid=grid, pace=across, count=count
    )


def _strides_of_merged_position_axis(
    plan: CopyScatterPlan, values: Layout, positions: list[PositionTensor]
) -> tuple[int, ...] | None:
    """Return the strides of positions in the values and in each tensor; None if uneven."""
    index_map = plan.scatter.index_map
    dims = index_map.index_dims
    at = dims if index_map.per_line else range(len(dims))
    axes = merge_axes(
        Axis(plan.scatter.shape[d], (values.strides[d], *[p.layout.strides[k] for p in positions]))
        for d, k in zip(dims, at, strict=True)
    )
    if not axes:
        return (0,) * (1 + len(positions))
    return axes[0].strides if len(axes) == 1 else None


# ---- Values combined with the elements at positions

COMBINE = "scatter/scatter_reduce.cu"

_RUN_BITS = RUN.bit_length() - 1


def compile_scatter_reduce(plan: ScatterReducePlan) -> Write:
    """Compile a copy of the operand, with which the values are then combined."""
    return compile_copy_then_write(plan, compile_inplace_scatter_reduce(plan))


def compile_inplace_scatter_reduce(plan: ScatterReducePlan) -> Write:
    """Compile ``combine(out, value, *positions)``, with operands apart from `out`."""
    number, dtype = plan.result.device.number, plan.result.dtype
    # Integers have the same result in any order.
    if (dtype.kind in "iu" or not plan.deterministic) and dtype.itemsize >= 4:
        return _compile_atomic_combination(plan)
    scatter, take = _normalize_values(plan.scatter)
    combine = make_writer(
        number, lambda _: plan_scatter_reduce(scatter, plan.function), aligned_count=0
    )
    return lambda out, value, *positions: combine(out, take(value), *positions)


def _compile_atomic_combination(plan: ScatterReducePlan) -> Write:
    """Compile one launch that changes each element by atomic operations."""
    value, dtype = plan.scatter.value, plan.result.dtype
    assert isinstance(value, TensorSpec), "numbers are tensors by now"
    layout = value.layout if value.dtype == dtype else value.layout.form
    converted = TensorSpec(dtype, layout, value.device)
    scatter = replace(plan.scatter, value=converted)
    combine = make_writer(
        plan.result.device.number,
        lambda _: plan_atomic_combination(scatter, plan.function),
        aligned_count=0,
    )
    if converted == value:
        return combine
    convert = compile_traced_copy(Event(scatter.name, value, converted), CopyPlan(value, converted))
    return lambda out, value, *positions: combine(out, convert(value), *positions)


def plan_atomic_combination(plan: ScatterPlan, function: str) -> Launches:
    """Plan the launch; memories of the call: the destination, values, positions."""
    layout, dtype, index_map = plan.result.layout, plan.result.dtype, plan.index_map
    steps = [(layout.strides[d], 0) for d in index_map.dims]
    combined_positions = combine_position_tensors(plan, layout, plan.shape, steps, VALUES + 1)
    if not combined_positions.remaining:
        return combined_positions.launches
    values = broadcast_values_layout(plan)
    assert values is not None, "there is a value for each position"
    first = layout.offset + combined_positions.memory_shifts[DESTINATION]
    loop = make_index_loop(
        index_map,
        plan.shape,
        [kept_strides(index_map.kept, layout, len(plan.shape)), values.strides],
        combined_positions.remaining,
        dtype.itemsize,
        (first * dtype.itemsize, values.offset * dtype.itemsize),
    )
    chosen = kernel_with_macros(
        COMBINE,
        "change_elements",
        (("ELEMENT", c_type(dtype)),),
        function,
        RANK=len(loop.loop.axes),
        INDEX=loop.index_c_type,
    )
    memories = list(enumerate(loop.loop.firsts[: VALUES + 1]))
    return combined_positions.launches_followed_by(
        make_index_launch(chosen, loop, memories, plan.name)
    )


def _normalize_values(plan: ScatterPlan) -> tuple[ScatterPlan, Run]:
    """Return the plan with values in a layout that launches support, and a function to copy them.

    Values are kept if each position has the same ones; they are copied to the order of a gather's
    result otherwise.
    """
    value = plan.value
    assert isinstance(value, TensorSpec), "numbers are tensors by now"
    dtype, device = plan.result.dtype, value.device
    index_map, shape = plan.index_map, plan.shape
    spread = TensorSpec(value.dtype, broadcast_values_layout_to(value.layout, shape), device)
    values, dims = spread.layout, range(len(shape)) if index_map.per_line else index_map.index_dims
    can_keep_layout = not values.is_tiled and all(
        shape[d] == 1 or values.strides[d] == 0 for d in dims
    )
    target = TensorSpec(
        dtype, values if can_keep_layout else Layout.packed(shape, index_map.order), device
    )
    if spread == target:
        return replace(plan, value=target), lambda values: values
    source, result = spread, target
    if target.layout is values:  # convert the few values before they are broadcast
        source, result = value, TensorSpec(dtype, value.layout.form, device)
        target = TensorSpec(dtype, broadcast_values_layout_to(result.layout, shape), device)
    copy = compile_traced_copy(Event(plan.name, value, result), CopyPlan(source, result))
    return replace(plan, value=target), copy


def plan_scatter_reduce(plan: ScatterPlan, function: str) -> Launches:
    """Plan the launches for values from `_normalize_values`.

    Memories of the call: the destination, values, positions. Integers with one value for all
    positions only need the number of positions at each place. Otherwise positions are sorted by
    place, values are folded in runs level by level, and the results are combined with the elements.
    """
    layout, index_map, table = plan.result.layout, plan.index_map, WinnerTable(plan)
    steps = [(0, 0, step) for step in table.position_steps]
    combined_positions = combine_position_tensors(plan, layout, plan.shape, steps, VALUES + 1)
    if not combined_positions.remaining:
        return combined_positions.launches
    first = VALUES + 1 + len(plan.positions) + len(combined_positions.launches.scratch)
    scratch_memories = _ScratchMemories(*range(first, first + len(_ScratchMemories._fields)))
    combination = _CombineLaunches(plan, function, table, scratch_memories)
    marks = make_winner_loop(plan, table, combined_positions.remaining)
    first = table.first_entry + combined_positions.memory_shifts[-1]
    count, size = prod(index_map.positions_shape(plan.shape)), table.entry_count
    if combination.value_step == 0 and plan.result.dtype.kind in "iu":
        chosen = kernel_with_macros(
            COMBINE, "tally_positions", RANK=len(marks.loop.axes), INDEX=marks.index_c_type
        )
        tally = make_index_launch(
            chosen, marks, [(scratch_memories.segments, 8 * first)], plan.name
        )
        combined = combination.plan_combine_with_values(0, 0, combination.loop.index_c_type)
        return combined_positions.launches_followed_by(
            combination.clear_segments_launch(size, 8), tally, combined, scratch=(8 * size,)
        )
    # The highest level for which a run of RUN**level values can exist.
    levels = (count.bit_length() - 1) // _RUN_BITS
    elements = [combination.loop_over_runs_of_level(count, k) for k in range(1, levels + 1)]
    loops = [marks, combination.loop, *elements]
    index = max(
        narrowest_index_type(max(count, size) + BEYOND, 0),
        *[index_loop.index_c_type for index_loop in loops],
    )
    octets = 4 if index == "int32_t" else 8
    chosen = kernel_with_macros(COMBINE, "list_places", RANK=len(marks.loop.axes), INDEX=index)
    listing = make_index_launch(
        chosen, marks, [(scratch_memories.keys, 0)], plan.name, first=first, places=size
    )
    pairs = SortMemories(scratch_memories.ordered, scratch_memories.numbers, NOTHING)
    # The key of a position out of bounds is `size`, which sorts it behind all places, and which
    # size.bit_length() bits can hold.
    key = np.dtype(np.uint32 if index == "int32_t" else np.uint64)
    sort = plan_sort_keys_with_positions(
        count,
        key,
        index,
        size.bit_length(),
        scratch_memories.keys,
        pairs,
        scratch_memories.runs + 1,
    )
    find = kernel_with_macros(COMBINE, "find_segments", INDEX=index)
    memories = (scratch_memories.segments, scratch_memories.ordered)
    finding = Launch.from_members(
        find, -(-count // THREADS), (0, 0), memories, count=count, places=size
    )
    folds, byte_offset = [], 0
    for level, loop in enumerate(elements, 1):
        folds.append(combination.fold_runs_launch(loop, index, count, level, byte_offset))
        byte_offset += loop.loop.element_count * loop.loop.width
    every = (
        *(listing, *sort.launches, combination.clear_segments_launch(size, 2 * octets)),
        *(finding, *folds, combination.plan_combine_with_values(count, levels, index)),
    )
    # In the order of `_ScratchMemories`.
    own = (2 * octets * size, *[octets * count] * 3, byte_offset)
    return combined_positions.launches_followed_by(*every, scratch=(*own, *sort.scratch))


class _ScratchMemories(NamedTuple):
    """Numbers of scratch memories."""

    segments: int  # begin and end of each place among the sorted positions; or their count
    numbers: int  # numbers of the sorted positions
    keys: int  # place of each position
    ordered: int  # sorted keys
    runs: int  # folded runs


class _CombineLaunches:
    """Builder of the launches of a scatter with combination, which share strides and memories."""

    def __init__(
        self, plan: ScatterPlan, function: str, table: WinnerTable, scratch: _ScratchMemories
    ) -> None:
        values, index_map, dtype = broadcast_values_layout(plan), plan.index_map, plan.result.dtype
        assert values is not None, "there is a value for each position"
        self.plan, self.table, self.scratch, self.values = plan, table, scratch, values
        self.first_value = VALUES, values.offset * dtype.itemsize
        self.kernel_types = (("ELEMENT", c_type(dtype)),), function
        if index_map.per_line:
            kept_dims: set[int] = set()
            steps = [int(any(values.strides[d] for d, n in enumerate(plan.shape) if n > 1))]
        else:
            kept_dims = {at for _, at in index_map.kept}
            steps = [values.strides[d] for d in index_map.index_dims if plan.shape[d] > 1]
        # Elements from the values of a position to those of the next.
        self.value_step = min(steps, default=0)
        # The dimensions of the values that are those of one position, slowest first.
        self.whole_dims = [at for at in reversed(index_map.order) if at in kept_dims]
        self.packed_layout = Layout.row_major(tuple(plan.shape[at] for at in self.whole_dims))
        self.loop = self._loop_over_places()

    def _loop_over_places(self) -> IndexLoop:
        """Return the loop over all places and whole dimensions.

        Its memories are the destination, values, table entries and runs.
        """
        plan, table, index_map = self.plan, self.table, self.plan.index_map
        layout, itemsize = plan.result.layout, plan.result.dtype.itemsize
        kept = {at: d for d, at in index_map.kept}
        packed = dict(zip(self.whole_dims, self.packed_layout.strides, strict=True))
        # All indexed dimensions together are one axis over the entries of the table, in place of
        # the first of them. An entry that is no place, such as a gap between rows, has no
        # positions.
        places = Axis(table.entry_count, (table.slot_unit, 0, 1, 0), OF_POSITIONS)
        axes: list[Axis] = []
        for at in reversed(index_map.order):
            if at in kept:
                d, step = kept[at], 0 if index_map.per_line else self.values.strides[at]
                steps = (layout.strides[d], step, table.kept_strides[at], packed.get(at, 0))
                axes.append(Axis(layout.shape[d], steps))
            elif index_map.per_line:
                d = index_map.dims[0]
                steps = (layout.strides[d], 0, table.position_steps[0], 0)
                axes.append(Axis(layout.shape[d], steps, OF_POSITIONS))
            elif at == index_map.index_dims[0]:
                axes.append(places)
        if not index_map.index_dims:  # positions of rank 0
            axes.append(places)
        first = layout.offset - (0 if index_map.per_line else table.first_entry * table.slot_unit)
        return loop_over_axes(
            axes, 4, (), itemsize, (first * itemsize, self.values.offset * itemsize)
        )

    def loop_over_runs_of_level(self, count: int, level: int) -> IndexLoop:
        """Return the loop over the runs of a level and their elements: results, values, runs."""
        shape, packed = self.plan.shape, self.packed_layout
        runs = ((count - 1) >> (_RUN_BITS * level)) + 1
        axes = [Axis(runs, (packed.size, 0, 1), OF_POSITIONS)]
        for at, stride in zip(self.whole_dims, packed.strides, strict=True):
            axes.append(Axis(shape[at], (stride, self.values.strides[at], 0)))
        return loop_over_axes(axes, 3, (), self.plan.result.dtype.itemsize, (0, 0))

    def clear_segments_launch(self, count: int, segment_bytes: int) -> Launch:
        """Plan a fill of `count` segments with zeros."""
        fill = bind_fill_value(
            plan_fill(Layout.row_major((count,)), segment_bytes), bytes(segment_bytes)
        )
        return fill.launches[0].with_memories([self.scratch.segments])

    def fold_runs_launch(
        self, loop: IndexLoop, index: str, count: int, level: int, byte_offset: int
    ) -> Launch:
        """Plan one level of folding, whose results begin at `byte_offset` of the runs' memory."""
        itemsize, kept = self.plan.result.dtype.itemsize, self.packed_layout.size
        # Results of all levels follow each other: those of the level below end where these begin.
        below = (((count - 1) >> (_RUN_BITS * (level - 1))) + 1) * kept * itemsize
        source = (self.scratch.runs, byte_offset - below) if level > 1 else self.first_value
        memories = self.scratch.segments, self.scratch.ordered, self.scratch.numbers
        return make_index_launch(
            kernel_with_macros(COMBINE, "fold_runs", *self.kernel_types, INDEX=index),
            loop,
            [(self.scratch.runs, byte_offset), source, *((m, 0) for m in memories)],
            step=self.value_step,
            places=self.table.entry_count,
            kept=kept,
            level=level,
        )

    def plan_combine_with_values(self, count: int, levels: int, index: str) -> Launch:
        """Plan the combination of elements with their values; `count`: of sorted positions."""
        loop = self.loop
        rank, (scratch, _, *_) = len(loop.loop.axes), loop.loop.firsts
        runs = self.scratch.runs if levels else NOTHING
        memories = self.scratch.segments, self.scratch.numbers if count else NOTHING, runs
        return make_index_launch(
            kernel_with_macros(
                COMBINE, "combine_elements", *self.kernel_types, RANK=rank, INDEX=index
            ),
            loop,
            [(DESTINATION, scratch), self.first_value, *((m, 0) for m in memories)],
            step=self.value_step,
            count=count,
            kept=self.packed_layout.size,
            levels=levels,
        )
