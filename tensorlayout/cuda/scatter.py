"""Writes at positions, and values combined with what is there. Integers only.

Positions outside write nothing; `faults` raises the IndexError later.

Where values for one place can differ, the last in index order is written, so that both devices
agree: a table with an entry for each place gets the greatest number of a position that goes there.
Values that are combined are taken in index order, and in runs: `plan.scatter.RUN`.
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
    blocks_for,
    c_type,
    divisor,
    kernel,
    octets,
    pattern,
    writer,
)
from tensorlayout.cuda.engine.faults import MAX_POSITIONS
from tensorlayout.cuda.fill import filled_with, plan_fill
from tensorlayout.cuda.gather import (
    OF_POSITIONS,
    IndexLoop,
    Positions,
    fitted,
    launch_of,
    linearized,
    loop_of,
    loop_of_positions,
    loop_over,
    packed_steps,
    positions_of,
    strides_of,
)
from tensorlayout.cuda.sort import BEYOND, Target, plan_pairs
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, index_type, merged
from tensorlayout.plan import (
    RUN,
    CopyPlan,
    CopyScatterPlan,
    Event,
    Run,
    ScatterPlan,
    ScatterReducePlan,
    Write,
    after_copy,
    carried_out,
    noted,
)
from tensorlayout.plan.gather import Shape
from tensorlayout.tensor import TensorSpec

FILE = "scatter/scatter.cu"

# The memories of loops, and the first two of a call.
DESTINATION, VALUES, WINNERS = range(3)


def write_scatter(plan: ScatterPlan) -> Write:
    """Write; value and positions lie apart from what is written."""
    number, name, dtype = plan.result.device.number, plan.name, plan.result.dtype
    if not isinstance(plan.value, TensorSpec):
        one = writer(
            number,
            partial(plan_scatter, plan),
            1 + len(plan.positions),
            lambda value: pattern(octets(name, value, dtype)),
            aligned=1,
        )
        return lambda out, value, *positions: one(out, *positions, value)
    spec, convert = in_dtype(plan.value, dtype)
    write = writer(number, partial(plan_scatter, replace(plan, value=spec)), aligned=2)
    if convert is None:
        return write
    return lambda out, value, *positions: write(out, convert(value), *positions)


def write_copy_scatter(plan: CopyScatterPlan) -> Write:
    """One launch for few positions; else a copy, and what writes at them."""
    widest = (plan.result.dtype.itemsize,) * 3
    if plan_copy_scatter(plan, widest) is not None:
        return writer(plan.result.device.number, partial(plan_copy_scatter, plan), aligned=3)
    return after_copy(plan, write_scatter(plan.scatter))


def in_dtype(spec: TensorSpec, dtype: DType) -> tuple[TensorSpec, Run | None]:
    """What values written to elements of `dtype` become, and what copies them if need be."""
    if spec.dtype == dtype:
        return spec, None
    # Packed in their order: padding may have no value in the other dtype.
    layout = Layout.packed(spec.layout.shape, spec.layout.minor_to_major)
    result = TensorSpec(dtype, layout, spec.device)
    return result, carried_out(CopyPlan(spec, result))


# ---- Launches


def values_of(plan: ScatterPlan) -> Layout | None:
    """The values broadcast to the shape of what is written; None for one number."""
    return values_in(plan.value.layout, plan.shape) if isinstance(plan.value, TensorSpec) else None


def values_in(layout: Layout, shape: Shape) -> Layout:
    """Values broadcast to `shape`; leading dimensions of size 1 that are too many go."""
    surplus = range(max(layout.ndim - len(shape), 0))
    return layout.squeeze(tuple(surplus)).broadcast_to(shape)


def plan_scatter(plan: ScatterPlan, alignments: tuple[int, ...]) -> Launches:
    """The launches; `alignments` of the destination and the values, no less than an element.

    Memories of the call: the destination, the values if they are in memory, positions. One launch
    where values of one place cannot differ, else three; more for more than four tensors of
    positions. Where nothing is written, positions are checked all the same.
    """
    layout, index_map, table = plan.result.layout, plan.index_map, Table(plan)
    steps = [
        (layout.strides[d], 0, step) for d, step in zip(index_map.dims, table.steps, strict=True)
    ]
    first = 1 + isinstance(plan.value, TensorSpec)
    found = linearized(plan, layout, plan.shape, steps, first)
    if not found.left:
        return found.made
    shift = found.shifts[DESTINATION]
    once = plan_write(plan, found.left, alignments, shift)
    values, dims = values_of(plan), index_map.index_dims
    if values is None or not any(plan.shape[d] > 1 and values.strides[d] for d in dims):
        return found.then(once)
    marks = mark_loop(plan, table, found.left)
    index = max(dict(once.kernel.shape)["INDEX"], marks.index)
    itemsize = 4 if index == "int32_t" else 8
    number = first + len(plan.positions) + len(found.made.scratch)
    winners = number, (table.first + found.shifts[WINNERS]) * itemsize
    mark = kernel(FILE, "mark_positions", RANK=len(marks.loop.axes), INDEX=index)
    both = [launch_of(mark, marks, [winners], plan.name, clears=clears) for clears in (1, 0)]
    written = plan_write(plan, found.left, alignments, shift, index, winners)
    return found.then(*both, written, scratch=(table.size * itemsize,))


def plan_write(
    plan: ScatterPlan,
    positions: Sequence[Positions],
    alignments: tuple[int, ...],
    shift: int = 0,
    index: str = "int32_t",
    winners: tuple[int, int] | None = None,
) -> Launch:
    """The launch for `positions`; `winners`: where the table is, if one place gets several values.

    `index`: the least type of indices; the other arguments as of `plan_read`.
    """
    layout, itemsize, values = plan.result.layout, plan.result.dtype.itemsize, values_of(plan)
    to = strides_of(plan.index_map.kept, layout, len(plan.shape))
    # One number fills elements of any width: it goes along with the destination.
    given, from_ = (to, 0) if values is None else (values.strides, values.offset * itemsize)
    firsts = ((layout.offset + shift) * itemsize, from_)
    strides = [to, given, Table(plan).kept]
    every = loop_of(plan.index_map, plan.shape, strides, positions, itemsize, firsts)
    loop = fitted(every, (*alignments, WIDEST)[:2])
    index, nothing, begins = max(index, loop.index), (NOTHING, 0), loop.loop.firsts
    rank, width = len(loop.loop.axes), loop.loop.width
    chosen = kernel(FILE, "scatter_elements", RANK=rank, INDEX=index, WIDTH=width)
    value = nothing if values is None else (VALUES, begins[VALUES])
    return launch_of(
        chosen,
        loop,
        [(DESTINATION, begins[DESTINATION]), value, winners or nothing],
        plan.name,
        inner=divisor(index, 1 if plan.index_map.per_line else loop.inner),
        span=divisor(index, prod(plan.index_map.spread(plan.shape))),
        values_are=values is not None,
        ordered=winners is not None,
        fills=values is None,
    )


class Table:
    """Where the entry of each place is in the table of winners: strides, and how many there are."""

    def __init__(self, plan: ScatterPlan) -> None:
        layout, index_map = plan.result.layout, plan.index_map
        self.kept = [0] * len(plan.shape)
        self.unit = 1  # slots of the destination from one entry to the next, but along a dimension
        if index_map.per_line:  # an entry for each element
            packed = Layout.row_major(layout.shape)
            self.kept = strides_of(index_map.kept, packed, len(plan.shape))
            self.steps = tuple(packed.strides[d] for d in index_map.dims)
            self.first, self.size = 0, packed.size
            return
        # An entry for each slot that positions reach: the strides, without what they share.
        rows = [(layout.shape[d], layout.strides[d]) for d in index_map.dims]
        self.unit, self.steps, self.first, self.size = packed_steps(*zip(*rows, strict=True))


def mark_loop(plan: ScatterPlan, table: Table, positions: Sequence[Positions]) -> IndexLoop:
    """Over the positions alone, in index order, as the elements of the other loop count them."""
    alone = [replace(p, steps=p.steps[WINNERS:]) for p in positions]
    if plan.index_map.per_line:
        return loop_of(plan.index_map, plan.shape, [table.kept], alone)
    spread = plan.index_map.spread(plan.shape)
    return loop_of_positions(spread, [[0] * len(spread)], alone)


# ---- Copies with few elements replaced


# The memories of a call, and of loops: behind them are positions, or the number of a place.
RESULT, SOURCE, COPIED, POSITIONS = range(4)

# Positions that an element is compared with, at most. An estimate, not measured: so many come from
# a cache in about the time in which an element goes to and from memory.
FEW = 32


def plan_copy_scatter(plan: CopyScatterPlan, alignments: tuple[int, ...]) -> Launch | None:
    """The launch that writes the source to the destination, but for the values at positions.

    None for many positions, or where these do not follow each other at one distance. `alignments`
    of the destination, the source and the values.
    """
    scatter, source = plan.scatter, plan.source.layout
    layout, index_map, values = plan.result.layout, scatter.index_map, values_of(scatter)
    spread, specs = index_map.spread(scatter.shape), scatter.positions
    count = scatter.shape[index_map.index_dims[0]] if index_map.per_line else prod(spread)
    few = 0 < count <= FEW and len(specs) <= MAX_POSITIONS
    if values is None or not few or 0 in layout.shape:
        return None
    weights = dict(zip(index_map.dims, Table(scatter).steps, strict=True))
    positions = [
        positions_of(POSITIONS + k, spec, spread, layout.shape[d], (0, 0, 0, weights[d]))
        for k, (spec, d) in enumerate(zip(specs, index_map.dims, strict=True))
    ]
    paces = _paces(plan, values, positions)
    if paces is None:
        return None
    # What goes through the values is kept with the first tensor of positions: widths change both.
    positions[0] = replace(positions[0], steps=(0, 0, paces[0], positions[0].steps[-1]))
    by_dim = dict(index_map.kept)

    def axis(d: int) -> Axis:
        at = by_dim.get(d)
        steps = (layout.strides[d], source.strides[d], 0 if at is None else values.strides[at])
        lines = [0] * len(positions)
        if at is not None and index_map.per_line:
            lines = [p.layout.strides[at] for p in positions]
        return Axis(layout.shape[d], (*steps, weights.get(d, 0), *lines))

    axes = [axis(d) for d in reversed(layout.minor_to_major)]
    itemsize = plan.result.dtype.itemsize
    firsts = tuple(each.offset * itemsize for each in (layout, source, values))
    loop = fitted(loop_over(axes, 4, positions, itemsize, firsts), alignments)
    elements, across = loop.loop.count, paces[1:]
    furthest = loop.furthest + count * max(map(abs, (loop.positions[0].steps[COPIED], *across)))
    index = index_type(elements, furthest)
    rank, width = len(loop.loop.axes), loop.loop.width
    file = "scatter/copy_scatter.cu"
    chosen = kernel(file, "replace_elements", RANK=rank, INDEX=index, WIDTH=width)
    memories = list(enumerate(loop.loop.firsts[:POSITIONS]))
    grid = blocks_for(elements * PER_THREAD)
    return launch_of(chosen, loop, memories, scatter.name, grid=grid, pace=across, count=count)


def _paces(
    plan: CopyScatterPlan, values: Layout, positions: list[Positions]
) -> tuple[int, ...] | None:
    """How far positions are apart in the values, and in each tensor of them; None if not evenly."""
    index_map = plan.scatter.index_map
    dims = index_map.index_dims
    at = dims if index_map.per_line else range(len(dims))
    axes = merged(
        Axis(plan.scatter.shape[d], (values.strides[d], *[p.layout.strides[k] for p in positions]))
        for d, k in zip(dims, at, strict=True)
    )
    if not axes:
        return (0,) * (1 + len(positions))
    return axes[0].strides if len(axes) == 1 else None


# ---- Values combined with what is at positions

COMBINE = "scatter/scatter_reduce.cu"

_RUN_BITS = RUN.bit_length() - 1


def write_scatter_reduce(plan: ScatterReducePlan) -> Write:
    """A copy, and the values combined with that."""
    return after_copy(plan, combiner(plan))


def combiner(plan: ScatterReducePlan) -> Write:
    """``combine(out, value, *positions)`` of values and positions that lie apart from `out`."""
    number, (scatter, take) = plan.result.device.number, _with_values(plan.scatter)
    combine = writer(number, lambda _: plan_scatter_reduce(scatter, plan.function), aligned=0)
    return lambda out, value, *positions: combine(out, take(value), *positions)


def _with_values(plan: ScatterPlan) -> tuple[ScatterPlan, Run]:
    """The plan with values as the launches take them, and what copies them if need be."""
    value = plan.value
    assert isinstance(value, TensorSpec), "numbers are tensors by now"
    dtype, device = plan.result.dtype, value.device
    index_map, shape = plan.index_map, plan.shape
    spread = TensorSpec(value.dtype, values_in(value.layout, shape), device)
    given, dims = spread.layout, range(len(shape)) if index_map.per_line else index_map.index_dims
    alike = not given.is_tiled and all(shape[d] == 1 or given.strides[d] == 0 for d in dims)
    # Else the layout of the result of a read at the positions.
    wanted = TensorSpec(dtype, given if alike else Layout.packed(shape, index_map.order), device)
    if spread == wanted:
        return replace(plan, value=wanted), lambda given: given
    source, result = spread, wanted
    if wanted.layout is given:  # few, of another dtype
        source, result = value, TensorSpec(dtype, value.layout.form, device)
        wanted = TensorSpec(dtype, values_in(result.layout, shape), device)
    copy = noted(Event(plan.name, value, result), CopyPlan(source, result))
    return replace(plan, value=wanted), copy


def plan_scatter_reduce(plan: ScatterPlan, function: str) -> Launches:
    """The launches; values as `_with_values` gives them.

    Memories of the call: the destination, values, positions. Positions outside are left out, and
    reported.
    """
    layout, index_map, table = plan.result.layout, plan.index_map, Table(plan)
    steps = [(0, 0, step) for step in table.steps]
    found = linearized(plan, layout, plan.shape, steps, VALUES + 1)
    if not found.left:
        return found.made
    first = VALUES + 1 + len(plan.positions) + len(found.made.scratch)
    to = _Between(*range(first, first + len(_Between._fields)))
    work = _Combining(plan, function, table, to)
    marks, first = mark_loop(plan, table, found.left), table.first + found.shifts[-1]
    count, size = prod(index_map.spread(plan.shape)), table.size
    if work.step == 0 and plan.result.dtype.kind in "iu":
        chosen = kernel(COMBINE, "tally_positions", RANK=len(marks.loop.axes), INDEX=marks.index)
        tally = launch_of(chosen, marks, [(to.segments, 8 * first)], plan.name)
        combined = work.combine(0, 0, work.loop.index)
        return found.then(work.clear(size, 8), tally, combined, scratch=(8 * size,))
    levels = (count.bit_length() - 1) // _RUN_BITS
    elements = [work.element_loop(count, k) for k in range(1, levels + 1)]
    loops = [marks, work.loop, *elements]
    index = max(index_type(max(count, size) + BEYOND, 0), *[each.index for each in loops])
    octets = 4 if index == "int32_t" else 8
    chosen = kernel(COMBINE, "list_places", RANK=len(marks.loop.axes), INDEX=index)
    listing = launch_of(chosen, marks, [(to.keys, 0)], plan.name, first=first, places=size)
    pairs = Target(to.ordered, to.numbers, NOTHING)
    key = np.dtype(np.uint32 if index == "int32_t" else np.uint64)
    sort = plan_pairs(count, key, index, size.bit_length(), to.keys, pairs, to.runs + 1)
    find = kernel(COMBINE, "find_segments", INDEX=index)
    memories = (to.segments, to.ordered)
    finding = Launch.of(find, -(-count // THREADS), (0, 0), memories, count=count, places=size)
    folds, before = [], 0
    for level, loop in enumerate(elements, 1):
        folds.append(work.fold(loop, index, count, level, before))
        before += loop.loop.count * loop.loop.width
    every = (
        *(listing, *sort.launches, work.clear(size, 2 * octets)),
        *(finding, *folds, work.combine(count, levels, index)),
    )
    own = (2 * octets * size, *[octets * count] * 3, before)
    return found.then(*every, scratch=(*own, *sort.scratch))


class _Between(NamedTuple):
    """Numbers of memories."""

    segments: int  # where places begin and end among the sorted; or counts
    numbers: int
    keys: int
    ordered: int
    runs: int


class _Combining:
    """State that the launches of a plan share."""

    def __init__(self, plan: ScatterPlan, function: str, table: Table, to: _Between) -> None:
        values, index_map, dtype = values_of(plan), plan.index_map, plan.result.dtype
        assert values is not None, "there is a value for each position"
        self.plan, self.table, self.to, self.values = plan, table, to, values
        self.first_value = VALUES, values.offset * dtype.itemsize
        self.types = (("ELEMENT", c_type(dtype)),), function
        if index_map.per_line:
            kept: set[int] = set()
            steps = [int(any(values.strides[d] for d, n in enumerate(plan.shape) if n > 1))]
        else:
            kept = {at for _, at in index_map.kept}
            steps = [values.strides[d] for d in index_map.index_dims if plan.shape[d] > 1]
        # Elements from the values of a position to those of the next.
        self.step = min(steps, default=0)
        # The dimensions of the values that are those of one position, slowest first.
        self.whole = [at for at in reversed(index_map.order) if at in kept]
        self.packed = Layout.row_major(tuple(plan.shape[at] for at in self.whole))
        self.loop = self._loop()

    def _loop(self) -> IndexLoop:
        """Over all places, and dimensions that stay whole: destination, values, entries, runs."""
        plan, table, index_map = self.plan, self.table, self.plan.index_map
        layout, itemsize = plan.result.layout, plan.result.dtype.itemsize
        kept = {at: d for d, at in index_map.kept}
        packed = dict(zip(self.whole, self.packed.strides, strict=True))
        places = Axis(table.size, (table.unit, 0, 1, 0), OF_POSITIONS)
        axes: list[Axis] = []
        for at in reversed(index_map.order):
            if at in kept:
                d, step = kept[at], 0 if index_map.per_line else self.values.strides[at]
                steps = (layout.strides[d], step, table.kept[at], packed.get(at, 0))
                axes.append(Axis(layout.shape[d], steps))
            elif index_map.per_line:
                d = index_map.dims[0]
                steps = (layout.strides[d], 0, table.steps[0], 0)
                axes.append(Axis(layout.shape[d], steps, OF_POSITIONS))
            elif at == index_map.index_dims[0]:
                axes.append(places)
        if not index_map.index_dims:  # positions of rank 0
            axes.append(places)
        first = layout.offset - (0 if index_map.per_line else table.first * table.unit)
        return loop_over(axes, 4, (), itemsize, (first * itemsize, self.values.offset * itemsize))

    def element_loop(self, count: int, level: int) -> IndexLoop:
        """Over the runs of a level, and the elements of each: results, values, runs."""
        shape, packed = self.plan.shape, self.packed
        runs = ((count - 1) >> (_RUN_BITS * level)) + 1
        axes = [Axis(runs, (packed.size, 0, 1), OF_POSITIONS)]
        for at, stride in zip(self.whole, packed.strides, strict=True):
            axes.append(Axis(shape[at], (stride, self.values.strides[at], 0)))
        return loop_over(axes, 3, (), self.plan.result.dtype.itemsize, (0, 0))

    def clear(self, count: int, octets: int) -> Launch:
        """Zeros in so many segments."""
        found = filled_with(plan_fill(Layout.row_major((count,)), octets), bytes(octets))
        return found.launches[0].placed([self.to.segments])

    def fold(self, loop: IndexLoop, index: str, count: int, level: int, before: int) -> Launch:
        """One level, whose results are behind so many bytes `before`."""
        itemsize, kept = self.plan.result.dtype.itemsize, self.packed.size
        below = (((count - 1) >> (_RUN_BITS * (level - 1))) + 1) * kept * itemsize
        source = (self.to.runs, before - below) if level > 1 else self.first_value
        memories = self.to.segments, self.to.ordered, self.to.numbers
        return launch_of(
            kernel(COMBINE, "fold_runs", *self.types, INDEX=index),
            loop,
            [(self.to.runs, before), source, *((m, 0) for m in memories)],
            step=self.step,
            places=self.table.size,
            kept=kept,
            level=level,
        )

    def combine(self, count: int, levels: int, index: str) -> Launch:
        """Each element with its values, of `count` positions that are sorted, and with runs."""
        loop = self.loop
        rank, (to, _, *_) = len(loop.loop.axes), loop.loop.firsts
        runs = self.to.runs if levels else NOTHING
        memories = self.to.segments, self.to.numbers if count else NOTHING, runs
        return launch_of(
            kernel(COMBINE, "combine_elements", *self.types, RANK=rank, INDEX=index),
            loop,
            [(DESTINATION, to), self.first_value, *((m, 0) for m in memories)],
            step=self.step,
            count=count,
            kept=self.packed.size,
            levels=levels,
        )
