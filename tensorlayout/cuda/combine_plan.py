"""Values added to what is at positions, or the least or greatest of both. Integers only.

Values of one place are taken in index order, and in runs, on both devices: `plan.combining.RUN`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.faults import owner_of
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import index_type
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
from tensorlayout.cuda.sort_plan import SortPlan, pair_kernels, plan_pairs
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.plan.combining import RUN
from tensorlayout.tensor import TensorSpec

FILE = "combine.cu"
OPERATIONS = ("add", "minimum", "maximum")

# The memories that launches take; segments may be counts.
DESTINATION, VALUES, SEGMENTS, NUMBERS, KEYS, SORTED, RUNS = range(7)

_INDICES = ("int32_t", "int64_t")
_RUN_BITS = RUN.bit_length() - 1

# Room for what an index may go beyond the last element.
_BEYOND = 2**16


@dataclass(frozen=True, slots=True)
class CombineLaunches:
    """Launches, in order.

    Attributes:
        placings: those that make positions fewer, or only check them.
        places: of each position, or how many positions each has; None where there is nothing.
        sort: of the places, where it matters which values they get; else None.
        segments: where places begin and end among the sorted; takes the addresses of both.
        folds: of runs of values for one place.
        combine: elements.
        table: bytes of the entries of all places, and of one.
        numbers: how many positions there are, if they are sorted.
        runs: bytes of the results of runs.

    """

    placings: tuple[ReachLaunch, ...]
    places: ReachLaunch | None = None
    sort: SortPlan | None = None
    segments: Launch | None = None
    folds: tuple[ReachLaunch, ...] = ()
    combine: ReachLaunch | None = None
    table: tuple[int, int] = (0, 0)
    numbers: int = 0
    runs: int = 0


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
    marks = mark_loop(what, table, left, spread)
    first = table.first + shifts[2]
    values, count = what.values, prod(spread)
    assert values is not None, "there is a value for each position"
    step = _step(what, values)
    if step == 0 and what.destination.dtype.kind in "iu":
        tally = _listing(what.name, "tally_positions", marks, index_of(marks), first)
        combine = _combine(what, operation, table, (step, 0, 0))
        return CombineLaunches(placings, tally, combine=combine, table=(8 * table.size, 8))
    levels = (count.bit_length() - 1) // _RUN_BITS
    elements = [_element_loop(what, table, k) for k in range(1, levels + 1)]
    loops = [marks, _loop(what, table), *elements]
    index = max(index_type(max(count, table.size) + _BEYOND, 0), *map(index_of, loops))
    octets = 4 if index == "int32_t" else 8
    listing = _listing(what.name, "list_places", marks, index, first, table.size)
    sort = plan_pairs(count, _key(index), index, table.size.bit_length())
    folds, bytes_before = [], 0
    for level, loop in enumerate(elements, 1):
        folds.append(_fold(what, operation, loop, index, step, table.size, level, bytes_before))
        bytes_before += loop.count * loop.width
    return CombineLaunches(
        placings,
        listing,
        sort,
        _finding(count, table.size, index),
        tuple(folds),
        _combine(what, operation, table, (step, count, levels), index),
        (2 * octets * table.size, 2 * octets),
        count,
        bytes_before,
    )


def _step(what: Written, values: Layout) -> int:
    """Elements from the values of a position to those of the next."""
    if what.reach.along:
        return int(any(values.strides[d] for d, n in enumerate(what.shape) if n > 1))
    return min([values.strides[d] for d in what.reach.span if what.shape[d] > 1], default=0)


def _listing(
    name: str, kernel: str, loop: ReachLoop, index: str, first: int, places: int | None = None
) -> ReachLaunch:
    """Over the positions: counted by place; or, of so many `places`, which are theirs."""
    rank, counts = len(loop.axes), places is None
    made = tally_type(rank, index)() if counts else listing_type(rank, index)()
    made.reach = reach_struct(loop, index, owner_of(name))
    if places is not None:
        made.first, made.places = first, places
    memory = (SEGMENTS, 8 * first) if counts else (KEYS, 0)
    shape = (rank_macro(rank), ("INDEX", index))
    kernel_of_shape = Kernel(FILE, kernel, shape=shape)
    return ReachLaunch(kernel_of_shape, blocks_of(loop), bytes(made), (memory,), operands_of(loop))


def _finding(count: int, places: int, index: str) -> Launch:
    made = bytes(finding_type(index)(count=count, places=places))
    return Launch(_find_kernel(index), -(-count // THREADS), made, ())


def _kept(what: Written) -> list[int]:
    """The dimensions of the values that are those of one position, slowest first."""
    if what.reach.along:
        return []
    kept = {at for _, at in what.reach.kept}
    return [at for at in reversed(what.reach.order) if at in kept]


def _element_loop(what: Written, table: Table, level: int) -> ReachLoop:
    """Over the runs of a level, and the elements of each: results, values, runs."""
    values, count = what.values, prod(spread_of(what.reach, what.shape))
    assert values is not None, "there is a value for each position"
    packed = Layout.row_major(tuple(what.shape[at] for at in _kept(what)))
    runs = ((count - 1) >> (_RUN_BITS * level)) + 1
    axes = [Axis(runs, (packed.size, 0, 1), (), of_positions=True)]
    for at, stride in zip(_kept(what), packed.strides, strict=True):
        axes.append(Axis(what.shape[at], (stride, values.strides[at], 0), (), of_positions=False))
    # One kernel has loops of any rank, which have more dimensions than those of the others.
    some = [Axis(1, (0, 0, 0), (), of_positions=True)] * len(RANKS)
    itemsize = what.destination.dtype.itemsize
    return ReachLoop((*some, *merged(axes, 3, 0)), itemsize, 2, (0, 0), ())


def _fold(
    what: Written,
    operation: str,
    loop: ReachLoop,
    index: str,
    step: int,
    places: int,
    level: int,
    before: int,
) -> ReachLaunch:
    """One level, whose results are behind so many bytes `before`."""
    values, itemsize = what.values, what.destination.dtype.itemsize
    assert values is not None, "there is a value for each position"
    kept = prod([what.shape[at] for at in _kept(what)])
    made = folding_type(len(loop.axes), index)(step=step, places=places, kept=kept, level=level)
    made.reach = reach_struct(loop, index, 0)
    count = prod(spread_of(what.reach, what.shape))
    below = (((count - 1) >> (_RUN_BITS * (level - 1))) + 1) * kept * itemsize
    source = (RUNS, before - below) if level > 1 else (VALUES, values.offset * itemsize)
    memories = ((RUNS, before), source, (SEGMENTS, 0), (SORTED, 0), (NUMBERS, 0))
    kernel = _fold_kernel(what.destination, operation, index)
    return ReachLaunch(kernel, -(-loop.count // THREADS), bytes(made), memories, ())


def _loop(what: Written, table: Table) -> ReachLoop:
    """Over all places, and the dimensions that stay whole."""
    layout, itemsize = what.destination.layout, what.destination.dtype.itemsize
    values, spread = what.values, spread_of(what.reach, what.shape)
    assert values is not None, "there is a value for each position"
    kept = {at: d for d, at in what.reach.kept}
    whole = _kept(what)
    strides = Layout.row_major(tuple(what.shape[at] for at in whole)).strides
    packed = dict(zip(whole, strides, strict=True))
    axes: list[Axis] = []
    for at in reversed(what.reach.order):
        if at in kept:
            d = kept[at]
            step = 0 if what.reach.along else values.strides[at]
            steps = (layout.strides[d], step, table.kept[at], packed.get(at, 0))
            axes.append(Axis(layout.shape[d], steps, (), of_positions=False))
        elif what.reach.along:
            d = what.reach.dims[0]
            steps = (layout.strides[d], 0, table.steps[0], 0)
            axes.append(Axis(layout.shape[d], steps, (), of_positions=True))
        elif at == what.reach.span[0]:
            steps = (table.unit, 0, 1, 0)
            axes.append(Axis(table.size, steps, (), of_positions=True))
    if not what.reach.along and not spread:  # positions of rank 0
        axes.append(Axis(table.size, (table.unit, 0, 1, 0), (), of_positions=True))
    first = layout.offset - (0 if what.reach.along else table.first * table.unit)
    firsts = (first * itemsize, values.offset * itemsize)
    return ReachLoop(tuple(merged(axes, 4, 0)), itemsize, 2, firsts, ())


def _combine(
    what: Written,
    operation: str,
    table: Table,
    runs: tuple[int, int, int],
    index: str | None = None,
) -> ReachLaunch:
    """`runs`: the step from a position to the next in the values, positions, and levels of runs."""
    loop, (step, count, levels) = _loop(what, table), runs
    rank, index = len(loop.axes), index or index_of(loop)
    kept = prod([what.shape[at] for at in _kept(what)])
    made = combining_type(rank, index)(step=step, count=count, kept=kept, levels=levels)
    made.reach = reach_struct(loop, index, 0)
    kernel = _combine_kernel(what.destination, operation, rank, index)
    memories = (*enumerate(loop.firsts), (SEGMENTS, 0), (NUMBERS, 0), (RUNS, 0))
    return ReachLaunch(kernel, blocks_of(loop), bytes(made), memories, ())


def kernels() -> tuple[Kernel, ...]:
    """All that do not depend on the dtype."""
    shapes = [
        (rank_macro(rank), ("INDEX", index)) for rank, index in product((*RANKS, 0), _INDICES)
    ]
    names = ("tally_positions", "list_places")
    return (
        *[_find_kernel(index) for index in _INDICES],
        *[Kernel(FILE, name, shape=shape) for name, shape in product(names, shapes)],
        *[kernel for index in _INDICES for kernel in pair_kernels(_key(index), index)],
    )


def _key(index: str) -> DType:
    """The dtype of places as they are sorted."""
    return np.dtype(np.uint32 if index == "int32_t" else np.uint64)


def combining_kernels(destination: TensorSpec, operation: str) -> tuple[Kernel, ...]:
    """Those of one dtype."""
    shapes = product((*RANKS, 0), _INDICES)
    return (
        *[_combine_kernel(destination, operation, *each) for each in shapes],
        *[_fold_kernel(destination, operation, index) for index in _INDICES],
    )


def _find_kernel(index: str) -> Kernel:
    return Kernel(FILE, "find_segments", shape=(("INDEX", index),))


def _fold_kernel(destination: TensorSpec, operation: str, index: str) -> Kernel:
    types = (("ELEMENT", c_type(destination.dtype)),)
    return Kernel(FILE, "fold_runs", types, (("INDEX", index),), operation)


def _combine_kernel(destination: TensorSpec, operation: str, rank: int, index: str) -> Kernel:
    types = (("ELEMENT", c_type(destination.dtype)),)
    shape = (rank_macro(rank), ("INDEX", index))
    return Kernel(FILE, "combine_elements", types, shape, operation)


def _members(
    pointers: str, index: str, *numbers: str, last: str = "", **others: Any
) -> dict[str, Any]:
    """Of a struct: pointers, `others`, numbers of the type of the index, and one of 32 bits."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    addresses = dict.fromkeys(pointers.split(), ctypes.c_uint64)
    ends = {last: ctypes.c_int32} if last else {}
    return addresses | others | dict.fromkeys(numbers, number) | ends


@once
def tally_type(rank: int, index: str) -> Any:
    """``Tally<rank, index>`` of kernels/combine.cu."""
    return struct_type("Tally", **_members("counts", index, reach=reach_type(rank, index, 1)))


@once
def listing_type(rank: int, index: str) -> Any:
    """``Listing<rank, index>``."""
    reach = reach_type(rank, index, 1)
    members = _members("keys", index, "first", "places", reach=reach)
    return struct_type("Listing", **members)


@once
def finding_type(index: str) -> Any:
    """``Finding<index>``."""
    return struct_type("Finding", **_members("segments keys", index, "count", "places"))


@once
def folding_type(rank: int, index: str) -> Any:
    """``Folding<index>``; `rank`: any above those of kernels of their own."""
    members = _members(
        "to from_ segments keys numbers",
        index,
        "places",
        "kept",
        last="level",
        reach=reach_type(rank, index, 3),
        step=ctypes.c_int64,
    )
    return struct_type("Folding", **members)


@once
def combining_type(rank: int, index: str) -> Any:
    """``Combining<rank, index>``."""
    members = _members(
        "to values segments numbers runs",
        index,
        "count",
        "kept",
        last="levels",
        reach=reach_type(rank, index, 4),
        step=ctypes.c_int64,
    )
    return struct_type("Combining", **members)
