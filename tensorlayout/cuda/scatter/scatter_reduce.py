"""Values added to what is at positions, or the least or greatest of both. Integers only.

Values of one place are taken in index order, and in runs, on both devices: `plan.scatter.RUN`.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from tensorlayout.cuda.engine import (
    NOTHING,
    THREADS,
    Launch,
    Launches,
    c_type,
    kernel,
    writer,
)
from tensorlayout.cuda.fill import filled_with, plan_fill
from tensorlayout.cuda.gather import OF_POSITIONS, IndexLoop, launch_of, linearized, loop_over
from tensorlayout.cuda.scatter import Table, mark_loop, values_in, values_of
from tensorlayout.cuda.sort import BEYOND, Target, plan_pairs
from tensorlayout.layout import Axis, Layout, index_type
from tensorlayout.plan import (
    RUN,
    CopyPlan,
    Event,
    Run,
    ScatterPlan,
    ScatterReducePlan,
    Write,
    after_copy,
    noted,
)
from tensorlayout.tensor import TensorSpec

FILE = "scatter/scatter_reduce.cu"

# The memories of a call; behind them are segments, or counts, and what sorts.
DESTINATION, VALUES, POSITIONS = range(3)

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
    found = linearized(plan, layout, plan.shape, steps, POSITIONS)
    if not found.left:
        return found.made
    first = POSITIONS + len(plan.positions) + len(found.made.scratch)
    to = _Between(*range(first, first + len(_Between._fields)))
    work = _Combining(plan, function, table, to)
    marks, first = mark_loop(plan, table, found.left), table.first + found.shifts[-1]
    count, size = prod(index_map.spread(plan.shape)), table.size
    if work.step == 0 and plan.result.dtype.kind in "iu":
        chosen = kernel(FILE, "tally_positions", RANK=len(marks.loop.axes), INDEX=marks.index)
        tally = launch_of(chosen, marks, [(to.segments, 8 * first)], plan.name)
        combined = work.combine(0, 0, work.loop.index)
        return found.then(work.clear(size, 8), tally, combined, scratch=(8 * size,))
    levels = (count.bit_length() - 1) // _RUN_BITS
    elements = [work.element_loop(count, k) for k in range(1, levels + 1)]
    loops = [marks, work.loop, *elements]
    index = max(index_type(max(count, size) + BEYOND, 0), *[each.index for each in loops])
    octets = 4 if index == "int32_t" else 8
    chosen = kernel(FILE, "list_places", RANK=len(marks.loop.axes), INDEX=index)
    listing = launch_of(chosen, marks, [(to.keys, 0)], plan.name, first=first, places=size)
    pairs = Target(to.ordered, to.numbers, NOTHING)
    key = np.dtype(np.uint32 if index == "int32_t" else np.uint64)
    sort = plan_pairs(count, key, index, size.bit_length(), to.keys, pairs, to.runs + 1)
    find = kernel(FILE, "find_segments", INDEX=index)
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
    """What the launches of a plan share."""

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
            kernel(FILE, "fold_runs", *self.types, INDEX=index),
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
            kernel(FILE, "combine_elements", *self.types, RANK=rank, INDEX=index),
            loop,
            [(DESTINATION, to), self.first_value, *((m, 0) for m in memories)],
            step=self.step,
            count=count,
            kept=self.packed.size,
            levels=levels,
        )
