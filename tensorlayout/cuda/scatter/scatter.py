"""Writes at positions: which launches, decided once. Integers only, no device.

Where values for one place can differ, the last in index order is written, so that both devices
agree: a table with an entry for each place gets the greatest number of a position that goes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import NOTHING, Launch, Launches
from tensorlayout.cuda.engine.parameters import divisor
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.cuda.gather.index_loop import (
    IndexLoop,
    Positions,
    fitted,
    in_index_order,
    launch_of,
    loop_of,
    packed_steps,
    strides_of,
)
from tensorlayout.cuda.gather.linearize_indices import linearized
from tensorlayout.layout import Layout
from tensorlayout.plan.gather import Shape
from tensorlayout.plan.scatter import ScatterPlan
from tensorlayout.tensor import TensorSpec

FILE = "scatter/scatter.cu"

# The memories of loops, and the first two of a call.
DESTINATION, VALUES, WINNERS = range(3)


def values_of(plan: ScatterPlan) -> Layout | None:
    """The values broadcast to the shape of what is written; None for one number."""
    return values_in(plan.value.layout, plan.shape) if isinstance(plan.value, TensorSpec) else None


def values_in(layout: Layout, shape: Shape) -> Layout:
    """Values broadcast to `shape`; leading dimensions of size 1 that are too many go."""
    surplus = max(layout.ndim - len(shape), 0)
    squeezed = layout.squeeze(tuple(range(surplus)))
    return squeezed.broadcast_to(shape)


def plan_scatter(plan: ScatterPlan, alignments: tuple[int, ...]) -> Launches:
    """The launches; `alignments` of the destination and the values, no less than an element.

    Memories of the call: the destination, the values if they are in memory, positions. One launch
    where values of one place cannot differ, else three; more for more than four tensors of
    positions. Where nothing is written, positions are checked all the same. Layouts have their
    lowest slots at 0, and are not tiled.
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
    if not _may_differ(plan):
        return found.then(plan_write(plan, found.left, alignments, shift))
    loop = _write_loop(plan, table, found.left, alignments, shift)
    marks = mark_loop(plan, table, found.left)
    index = max(loop.index, marks.index)
    itemsize = 4 if index == "int32_t" else 8
    number = first + len(plan.positions) + len(found.made.scratch)
    winners = number, (table.first + found.shifts[WINNERS]) * itemsize
    mark = kernel(FILE, "mark_positions", RANK=len(marks.loop.axes), INDEX=index)
    both = [launch_of(mark, marks, [winners], plan.name, clears=clears) for clears in (1, 0)]
    written = _write(plan, loop, index, winners)
    return found.then(*both, written, scratch=(table.size * itemsize,))


def plan_write(
    plan: ScatterPlan,
    positions: Sequence[Positions],
    alignments: tuple[int, ...],
    shift: int = 0,
) -> Launch:
    """The launch where no place gets different values; `shift` moves the destination, in elements.

    `positions`, few enough, in place of those of the plan.
    """
    loop = _write_loop(plan, Table(plan), positions, alignments, shift)
    return _write(plan, loop, loop.index)


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


def _may_differ(plan: ScatterPlan) -> bool:
    """Whether one place can get values that are not the same."""
    values, dims = values_of(plan), plan.index_map.index_dims
    return values is not None and any(plan.shape[d] > 1 and values.strides[d] for d in dims)


def _write_loop(
    plan: ScatterPlan,
    table: Table,
    positions: Sequence[Positions],
    alignments: tuple[int, ...],
    shift: int,
) -> IndexLoop:
    layout, itemsize = plan.result.layout, plan.result.dtype.itemsize
    assert min(alignments) >= itemsize, "memory is aligned to its elements"
    to, values = strides_of(plan.index_map.kept, layout, len(plan.shape)), values_of(plan)
    # One number fills elements of any width: it goes along with the destination.
    given = to if values is None else values.strides
    from_ = 0 if values is None else values.offset * itemsize
    firsts = ((layout.offset + shift) * itemsize, from_)
    strides = [to, given, table.kept]
    loop = loop_of(plan.index_map, plan.shape, strides, positions, itemsize, firsts)
    return fitted(loop, (*alignments, WIDEST)[:2])


def _write(
    plan: ScatterPlan, loop: IndexLoop, index: str, winners: tuple[int, int] | None = None
) -> Launch:
    rank, width, firsts = len(loop.loop.axes), loop.loop.width, loop.loop.firsts
    chosen = kernel(FILE, "scatter_elements", RANK=rank, INDEX=index, WIDTH=width)
    many = isinstance(plan.value, TensorSpec)
    launch = launch_of(
        chosen,
        loop,
        [
            (DESTINATION, firsts[DESTINATION]),
            (VALUES, firsts[VALUES]) if many else (NOTHING, 0),
            winners or (NOTHING, 0),
        ],
        plan.name,
        inner=divisor(index, 1 if plan.index_map.per_line else loop.inner),
        span=divisor(index, prod(plan.index_map.spread(plan.shape))),
        values_are=many,
        ordered=winners is not None,
    )
    return launch if many else with_bits(launch)


def with_bits(launch: Launch) -> Launch:
    """The launch with the one value of the call as the member `bits` of its struct."""
    at = parameters(launch.kernel).bits.offset
    return replace(launch, scalars_at=at, takes=(0, None))
