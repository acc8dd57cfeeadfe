"""Writes at positions. Those outside write nothing; `faults` raises the IndexError later.

Where values for one place can differ, the last in index order is written, so that both devices
agree: a table with an entry for each place gets the greatest number of a position that goes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod

from tensorlayout.cuda.engine import (
    NOTHING,
    PER_THREAD,
    WIDEST,
    Launch,
    Launches,
    blocks_for,
    divisor,
    kernel,
    octets,
    pattern,
    writer,
)
from tensorlayout.cuda.engine.faults import MAX_POSITIONS
from tensorlayout.cuda.gather import (
    IndexLoop,
    Positions,
    fitted,
    in_index_order,
    launch_of,
    linearized,
    loop_of,
    loop_over,
    packed_steps,
    positions_of,
    strides_of,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Axis, Layout, index_type, merged
from tensorlayout.plan import (
    CopyPlan,
    CopyScatterPlan,
    Run,
    ScatterPlan,
    Write,
    after_copy,
    carried_out,
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
    return loop_of(in_index_order(len(spread)), spread, [[0] * len(spread)], alone)


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
