"""Writes at positions: which launches, decided once. Integers only, no device.

Where values for one place can differ, the last in index order is written, so that both devices
agree: a table with an entry for each place gets the greatest number of a position that goes there.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.faults import owner_of
from tensorlayout.cuda.engine.launch import struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, Divisor64, divisor32
from tensorlayout.cuda.placing_plan import checked, checked_apart, placed
from tensorlayout.cuda.reach_plan import (
    RANKS,
    Positions,
    ReachLaunch,
    ReachLoop,
    axes_of,
    blocks_of,
    fitted,
    index_of,
    operands_of,
    positions_of,
    rank_macro,
    reach_struct,
    reach_type,
    spread_of,
    strides_of,
)
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.plan.gathering import Reach, ScatterPlan
from tensorlayout.tensor import TensorSpec

FILE = "scatter.cu"

# The memories that launches take.
DESTINATION, VALUES, WINNERS = range(3)


@dataclass(frozen=True, slots=True)
class ScatterLaunches:
    """A write that is ready to run.

    Attributes:
        launches: in order.
        table: **bytes** of the table of winners, 0 for none.
        bits: where the one value goes in the struct of the last launch; None for many values.

    """

    launches: tuple[ReachLaunch, ...]
    table: int = 0
    bits: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What is written, and where.

    Attributes:
        name: of the operation.
        destination: its spec.
        values: the layout of the values, of `shape`; None for one number.
        shape: of all that is written.
        reach: how positions reach into the destination.
        positions: their specs.

    """

    name: str
    destination: TensorSpec
    values: Layout | None
    shape: tuple[int, ...]
    reach: Reach
    positions: tuple[TensorSpec, ...]


def written(plan: ScatterPlan, positions: tuple[TensorSpec, ...]) -> Written:
    """What a plan writes at positions."""
    value = plan.value
    values = values_in(value.layout, plan.shape) if isinstance(value, TensorSpec) else None
    return Written(plan.name, plan.result, values, plan.shape, plan.reach, positions)


def values_in(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """Values broadcast to `shape`; leading dimensions of size 1 that are too many go."""
    surplus = max(layout.ndim - len(shape), 0)
    squeezed = layout.squeeze(tuple(range(surplus)))
    return squeezed.broadcast_to(shape)


def plan_scatter(what: Written, alignments: tuple[int, int]) -> ScatterLaunches:
    """The launches; `alignments` of the destination and the values, no less than an element.

    One where values of one place cannot differ, else three; more for more than four tensors of
    positions. Where nothing is written, positions are checked all the same. Layouts have their
    lowest slots at 0, and are not tiled.
    """
    layout, reach = what.destination.layout, what.reach
    spread = spread_of(reach, what.shape)
    if 0 in spread:
        sizes = [layout.shape[d] for d in reach.dims]
        return ScatterLaunches(checked_apart(what.positions, sizes, what.name))
    table = Table(what)
    positions = [
        positions_of(number, spec, spread, layout.shape[d], (layout.strides[d], 0, step))
        for number, (spec, d, step) in enumerate(
            zip(what.positions, reach.dims, table.steps, strict=True)
        )
    ]
    if 0 in what.shape:
        return ScatterLaunches(checked(positions, spread, what.name))
    launches, left, shifts = placed(positions, spread, what.name)
    if not _may_differ(what):
        one = plan_write(what, left, alignments, shifts[DESTINATION])
        return ScatterLaunches((*launches, *one.launches), bits=one.bits)
    loop = _write_loop(what, table, left, alignments, shifts[DESTINATION])
    marks = mark_loop(what, table, left, spread)
    index = max(index_of(loop), index_of(marks))
    itemsize = 4 if index == "int32_t" else 8
    first = (table.first + shifts[WINNERS]) * itemsize
    last, bits = _write(what, loop, spread, index, first)
    both = [_mark(what.name, marks, index, first, clears=clears) for clears in (1, 0)]
    return ScatterLaunches((*launches, *both, last), table.size * itemsize, bits)


def plan_write(
    what: Written, positions: list[Positions], alignments: tuple[int, int], shift: int = 0
) -> ScatterLaunches:
    """The launch where no place gets different values; `shift` moves the destination, in elements.

    `positions`, few enough, in place of those of `what`.
    """
    loop = _write_loop(what, Table(what), positions, alignments, shift)
    last, bits = _write(what, loop, spread_of(what.reach, what.shape), index_of(loop), None)
    return ScatterLaunches((last,), bits=bits)


class Table:
    """Where the entry of each place is in the table of winners: strides, and how many there are."""

    def __init__(self, what: Written) -> None:
        layout, reach = what.destination.layout, what.reach
        self.kept = [0] * len(what.shape)
        self.unit = 1  # slots of the destination from one entry to the next, but along a dimension
        if reach.along:  # an entry for each element
            packed = Layout.row_major(layout.shape)
            self.kept = strides_of(reach.kept, packed, len(what.shape))
            self.steps = tuple(packed.strides[d] for d in reach.dims)
            self.first, self.size = 0, packed.size
            return
        # An entry for each slot that positions reach: the strides, without what they share.
        strides = [layout.strides[d] for d in reach.dims]
        self.unit = gcd(*strides) or 1
        self.steps = tuple(stride // self.unit for stride in strides)
        last = [max(layout.shape[d] - 1, 0) for d in reach.dims]
        reached = [n * step for n, step in zip(last, self.steps, strict=True)]
        self.first = -sum(min(r, 0) for r in reached)
        self.size = self.first + sum(max(r, 0) for r in reached) + 1


def _may_differ(what: Written) -> bool:
    """Whether one place can get values that are not the same."""
    values = what.values
    if values is None:
        return False
    span = what.reach.span
    return any(what.shape[d] > 1 and values.strides[d] for d in span)


def _write_loop(
    what: Written,
    table: Table,
    positions: list[Positions],
    alignments: tuple[int, int],
    shift: int,
) -> ReachLoop:
    layout, itemsize = what.destination.layout, what.destination.dtype.itemsize
    assert min(alignments) >= itemsize, "memory is aligned to its elements"
    to = strides_of(what.reach.kept, layout, len(what.shape))
    # One number fills elements of any width: it goes along with the destination.
    values = to if what.values is None else what.values.strides
    axes = axes_of(what.reach, what.shape, [to, values, table.kept], positions)
    from_ = 0 if what.values is None else what.values.offset * itemsize
    firsts = ((layout.offset + shift) * itemsize, from_)
    return fitted(ReachLoop(tuple(axes), itemsize, 2, firsts, tuple(positions)), alignments)


def mark_loop(
    what: Written, table: Table, positions: list[Positions], spread: tuple[int, ...]
) -> ReachLoop:
    """Over the positions alone, in index order, as the elements of the other loop count them."""
    alone = [
        Positions(p.number, p.kind, p.first, p.extent, p.steps[WINNERS:], p.layout)
        for p in positions
    ]
    if what.reach.along:
        axes = axes_of(what.reach, what.shape, [table.kept], alone)
    else:
        dims = tuple(range(len(spread)))
        order = Reach((), dims, (), dims[::-1])
        axes = axes_of(order, spread, [[0] * len(spread)], alone)
    return ReachLoop(tuple(axes), 1, 0, (), tuple(alone))


def _mark(name: str, loop: ReachLoop, index: str, first: int, *, clears: int) -> ReachLaunch:
    rank = len(loop.axes)
    made = marking_type(rank, index)(clears=clears)
    made.reach = reach_struct(loop, index, owner_of(name))
    kernel = _mark_kernel(rank, index)
    memories = ((WINNERS, first),)
    return ReachLaunch(kernel, blocks_of(loop), bytes(made), memories, operands_of(loop))


def _write(
    what: Written, loop: ReachLoop, spread: tuple[int, ...], index: str, winners: int | None
) -> tuple[ReachLaunch, int | None]:
    """The launch, and where in its struct the bits of the one value are."""
    rank = len(loop.axes)
    kind = scatter_type(rank, index)
    made = kind(values_are=what.values is not None, ordered=winners is not None)
    made.reach = reach_struct(loop, index, owner_of(what.name))
    divisor = divisor32 if index == "int32_t" else Divisor64
    made.inner = divisor(1 if what.reach.along else loop.inner)
    made.span = divisor(prod(spread))
    firsts = (*loop.firsts, winners or 0)
    kernel = _scatter_kernel(rank, index, loop.width)
    memories = tuple(enumerate(firsts))
    launch = ReachLaunch(kernel, blocks_of(loop), bytes(made), memories, operands_of(loop))
    return launch, kind.bits.offset if what.values is None else None


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    shapes = list(product((*RANKS, 0), ("int32_t", "int64_t")))
    found = [_scatter_kernel(*each, 1 << k) for each in shapes for k in range(5)]
    return (*found, *[_mark_kernel(*each) for each in shapes])


def _scatter_kernel(rank: int, index: str, width: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)))
    return Kernel(FILE, "scatter_elements", shape=shape)


def _mark_kernel(rank: int, index: str) -> Kernel:
    return Kernel(FILE, "mark_positions", shape=(rank_macro(rank), ("INDEX", index)))


@once
def scatter_type(rank: int, index: str) -> Any:
    """``Scatter<rank, index>`` of kernels/scatter.cu."""
    divisor = Divisor32 if index == "int32_t" else Divisor64
    return struct_type(
        "Scatter",
        to=ctypes.c_uint64,
        values=ctypes.c_uint64,
        winners=ctypes.c_uint64,
        reach=reach_type(rank, index, 3),
        bits=ctypes.c_uint64 * 2,
        inner=divisor,
        span=divisor,
        values_are=ctypes.c_int32,
        ordered=ctypes.c_int32,
    )


@once
def marking_type(rank: int, index: str) -> Any:
    """``Marking<rank, index>``."""
    return struct_type(
        "Marking", winners=ctypes.c_uint64, reach=reach_type(rank, index, 1), clears=ctypes.c_int32
    )
