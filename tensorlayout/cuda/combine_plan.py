"""Values added to what is at positions, or the least or greatest of both. Integers only.

Values of one place are taken one after the other, in index order, on both devices.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from tensorlayout.cuda.driver import Kernel
from tensorlayout.cuda.elementwise import _type_of
from tensorlayout.cuda.faults import owner_of
from tensorlayout.cuda.launches import THREADS, struct_type
from tensorlayout.cuda.placing_plan import checked, checked_apart, placed
from tensorlayout.cuda.reach_plan import (
    RANKS,
    Axis,
    ReachLaunch,
    ReachLoop,
    blocks_of,
    index_of,
    merged,
    operands_of,
    positions_of,
    rank_macro,
    reach_struct,
    reach_type,
    spread_of,
)
from tensorlayout.cuda.scatter_plan import Table, Written, mark_loop
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.tensor import Spec

FILE = "combine.cu"
OPERATIONS = ("add", "minimum", "maximum")

# The memories that launches take.
DESTINATION, VALUES, COUNTS, NUMBERS = range(4)

SORT = Kernel(FILE, "sort_segments")


@dataclass(frozen=True, slots=True)
class CombineLaunches:
    """Launches, in order.

    Attributes:
        placings: those that make positions fewer, or only check them.
        count: positions of each place; None where there is nothing to combine.
        place: numbers of positions into segments; None where counts are all that matters.
        sort: how many blocks sort them; 0 where the order does not matter.
        combine: elements.
        places: how many entries the table of counts has.
        numbers: how many positions there are.

    """

    placings: tuple[ReachLaunch, ...]
    count: ReachLaunch | None = None
    place: ReachLaunch | None = None
    sort: int = 0
    combine: ReachLaunch | None = None
    places: int = 0
    numbers: int = 0


def values_layout(what: Written, given: Layout) -> Layout:
    """The layout in which values have to be: that of the result of a read at the positions.

    Or as they are `given`, if that is the same for all positions.
    """
    dims = range(len(what.shape)) if what.reach.along else what.reach.span
    if not given.is_tiled and all(what.shape[d] == 1 or given.strides[d] == 0 for d in dims):
        return given
    return Layout.packed(what.shape, what.reach.order)


def plan_combine(what: Written, operation: str) -> CombineLaunches:
    """The launches; the values of `what` are in what `values_layout` gives.

    Positions outside are left out, and reported. ValueError for tiled layouts.
    """
    layout, reach = what.destination.layout, what.reach
    spread = spread_of(reach, what.shape)
    if 0 in spread:
        sizes = [layout.shape[d] for d in reach.dims]
        return CombineLaunches(checked_apart(what.positions, sizes, what.name))
    table = Table(what)
    positions = [
        positions_of(number, spec, spread, layout.shape[d], (0, 0, step))
        for number, (spec, d, step) in enumerate(
            zip(what.positions, reach.dims, table.steps, strict=True)
        )
    ]
    if 0 in what.shape:
        return CombineLaunches(checked(positions, spread, what.name))
    placings, left, shifts = placed(positions, spread, what.name)
    loop = mark_loop(what, table, left, spread)
    first = table.first + shifts[2]
    count, place = (_tally(what.name, loop, first, places=k) for k in (0, 1))
    combine, step = _combine(what, operation, table, spread)
    if what.destination.dtype.kind not in "iu":
        sort = -(-table.size // THREADS)
        return CombineLaunches(placings, count, place, sort, combine, table.size, prod(spread))
    if step == 0:
        return CombineLaunches(placings, count, None, 0, combine, table.size)
    return CombineLaunches(placings, count, place, 0, combine, table.size, prod(spread))


def _tally(name: str, loop: ReachLoop, first: int, *, places: int) -> ReachLaunch:
    rank, index = len(loop.axes), index_of(loop)
    made = tally_type(rank, index)(places=places)
    made.reach = reach_struct(loop, index, owner_of(name))
    kernel = _tally_kernel(rank, index)
    memories = ((COUNTS, 8 * first), (NUMBERS, 0))
    return ReachLaunch(kernel, blocks_of(loop), bytes(made), memories, operands_of(loop))


def _combine(
    what: Written, operation: str, table: Table, spread: tuple[int, ...]
) -> tuple[ReachLaunch, int]:
    """Over all places, and the dimensions that stay whole; and the step of values."""
    layout, itemsize = what.destination.layout, what.destination.dtype.itemsize
    values = what.values
    assert values is not None, "there is a value for each position"
    kept = {at: d for d, at in what.reach.kept}
    axes: list[Axis] = []
    for at in reversed(what.reach.order):
        if at in kept:
            d = kept[at]
            step = 0 if what.reach.along else values.strides[at]
            steps = (layout.strides[d], step, table.kept[at])
            axes.append(Axis(layout.shape[d], steps, (), of_positions=False))
        elif what.reach.along:
            d = what.reach.dims[0]
            steps = (layout.strides[d], 0, table.steps[0])
            axes.append(Axis(layout.shape[d], steps, (), of_positions=True))
        elif at == what.reach.span[0]:
            steps = (table.unit, 0, 1)
            axes.append(Axis(table.size, steps, (), of_positions=True))
    if not what.reach.along and not spread:  # positions of rank 0
        axes.append(Axis(table.size, (table.unit, 0, 1), (), of_positions=True))
    first = layout.offset - (0 if what.reach.along else table.first * table.unit)
    firsts = (first * itemsize, values.offset * itemsize)
    loop = ReachLoop(tuple(merged(axes, 3, 0)), itemsize, 2, firsts, ())
    rank, index = len(loop.axes), index_of(loop)
    made = combining_type(rank, index)()
    made.reach = reach_struct(loop, index, 0)
    span = [values.strides[d] for d in what.reach.span if what.shape[d] > 1]
    if what.reach.along:
        made.step = int(any(values.strides[d] for d, n in enumerate(what.shape) if n > 1))
    else:
        made.step = min(span, default=0)
    kernel = _combine_kernel(what.destination, operation, rank, index)
    memories = (*enumerate(firsts), (COUNTS, 0), (NUMBERS, 0))
    return ReachLaunch(kernel, blocks_of(loop), bytes(made), memories, ()), made.step


def kernels() -> tuple[Kernel, ...]:
    """All that do not depend on the dtype."""
    shapes = product((*RANKS, 0), ("int32_t", "int64_t"))
    return (SORT, *[_tally_kernel(*each) for each in shapes])


def combining_kernels(destination: Spec, operation: str) -> tuple[Kernel, ...]:
    """Those of one dtype."""
    shapes = product((*RANKS, 0), ("int32_t", "int64_t"))
    return tuple(_combine_kernel(destination, operation, *each) for each in shapes)


def _tally_kernel(rank: int, index: str) -> Kernel:
    return Kernel(FILE, "tally_positions", shape=(rank_macro(rank), ("INDEX", index)))


def _combine_kernel(destination: Spec, operation: str, rank: int, index: str) -> Kernel:
    types = (("ELEMENT", _type_of(destination.dtype)),)
    shape = (rank_macro(rank), ("INDEX", index))
    return Kernel(FILE, "combine_elements", types, shape, operation)


@once
def tally_type(rank: int, index: str) -> Any:
    """``Tally<rank, index>`` of kernels/combine.cu."""
    return struct_type(
        "Tally",
        counts=ctypes.c_uint64,
        numbers=ctypes.c_uint64,
        reach=reach_type(rank, index, 1),
        places=ctypes.c_int32,
    )


@once
def combining_type(rank: int, index: str) -> Any:
    """``Combining<rank, index>``."""
    return struct_type(
        "Combining",
        to=ctypes.c_uint64,
        values=ctypes.c_uint64,
        ends=ctypes.c_uint64,
        numbers=ctypes.c_uint64,
        reach=reach_type(rank, index, 3),
        step=ctypes.c_int64,
    )
