"""A tensor with few elements replaced: one launch, or None. Integers only, no device."""

from __future__ import annotations

import ctypes
from itertools import product
from math import prod
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.faults import MAX_POSITIONS, owner_of
from tensorlayout.cuda.engine.launch import PER_THREAD, blocks_for, struct_type
from tensorlayout.cuda.engine.parameters import index_type
from tensorlayout.cuda.reach_plan import (
    RANKS,
    Axis,
    Positions,
    ReachLaunch,
    ReachLoop,
    fitted,
    index_of,
    merged,
    operands_of,
    positions_of,
    rank_macro,
    reach_struct,
    reach_type,
    spread_of,
)
from tensorlayout.cuda.scan_plan import merged as merged_strides
from tensorlayout.cuda.scatter_plan import Written
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once

FILE = "replace.cu"

# The memories that a launch takes, and the number of a place.
RESULT, SOURCE, VALUES, PLACE = range(4)

# Positions that an element is compared with, at most. An estimate, not measured: so many come from
# a cache in about the time in which an element goes to and from memory.
FEW = 32


def plan_replace(
    what: Written, source: Layout, alignments: tuple[int, int, int]
) -> ReachLaunch | None:
    """The launch that writes `source` to the destination, but for the values at positions.

    None for many positions, or where these do not follow each other at one distance. `alignments`
    of the destination, the source and the values. Layouts have their lowest slots at 0, and are not
    tiled.
    """
    layout, reach, values = what.destination.layout, what.reach, what.values
    spread = spread_of(reach, what.shape)
    count = what.shape[reach.span[0]] if reach.along else prod(spread)
    few = 0 < count <= FEW and len(what.positions) <= MAX_POSITIONS
    if values is None or not few or 0 in layout.shape:
        return None
    places = Layout.row_major(tuple(layout.shape[d] for d in reach.dims)).strides
    weights = [0] * layout.ndim
    for d, weight in zip(reach.dims, places, strict=True):
        weights[d] = weight
    positions = [
        positions_of(number, spec, spread, layout.shape[d], (0, 0, 0, weight))
        for number, (spec, d, weight) in enumerate(
            zip(what.positions, reach.dims, places, strict=True)
        )
    ]
    paces = _paces(what, values, positions)
    if paces is None:
        return None
    pace, *across = paces
    positions[0] = _with_pace(positions[0], pace)
    by_dim = dict(reach.kept)

    def axis(d: int) -> Axis:
        at = by_dim.get(d)
        steps = (layout.strides[d], source.strides[d], 0 if at is None else values.strides[at])
        lines = [0 if at is None or not reach.along else p.layout.strides[at] for p in positions]
        return Axis(layout.shape[d], (*steps, weights[d]), tuple(lines), of_positions=False)

    axes = merged([axis(d) for d in reversed(layout.minor_to_major)], 4, len(positions))
    itemsize = what.destination.dtype.itemsize
    firsts = tuple(each.offset * itemsize for each in (layout, source, values))
    loop = ReachLoop(tuple(axes), itemsize, 3, firsts, tuple(positions))
    return _launch(what.name, fitted(loop, alignments), across, count)


def _paces(what: Written, values: Layout, positions: list[Positions]) -> list[int] | None:
    """How far positions are apart in the values, and in each tensor of them; None if not evenly."""
    span = what.reach.span
    at = span if what.reach.along else range(len(span))
    rows = [
        (what.shape[d], values.strides[d], *[p.layout.strides[k] for p in positions])
        for d, k in zip(span, at, strict=True)
    ]
    only = merged_strides(rows) if rows else [(1, 0, *[0] * len(positions))]
    return list(only[0][1:]) if len(only) == 1 else None


def _with_pace(first: Positions, pace: int) -> Positions:
    """What goes through the values, kept with the first tensor of positions: widths change both."""
    steps = (0, 0, pace, first.steps[PLACE])
    return Positions(first.number, first.kind, first.first, first.extent, steps, first.layout)


def _launch(name: str, loop: ReachLoop, paces: list[int], count: int) -> ReachLaunch:
    rank = len(loop.axes)
    furthest = loop.furthest + count * max(
        abs(p) for p in (*paces, loop.positions[0].steps[VALUES])
    )
    index = max(index_of(loop), index_type(loop.count, furthest))
    made = replace_type(rank, index)(count=count)
    made.reach = reach_struct(loop, index, owner_of(name))
    made.pace[: len(paces)] = paces
    kernel = _kernel(rank, index, loop.width)
    blocks = blocks_for(loop.count * PER_THREAD)
    memories = tuple(enumerate(loop.firsts))
    return ReachLaunch(kernel, blocks, bytes(made), memories, operands_of(loop))


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    shapes = product((*RANKS, 0), ("int32_t", "int64_t"))
    return tuple(_kernel(*each, 1 << k) for each in shapes for k in range(5))


def _kernel(rank: int, index: str, width: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)))
    return Kernel(FILE, "replace_elements", shape=shape)


@once
def replace_type(rank: int, index: str) -> Any:
    """``Replace<rank, index>`` of kernels/replace.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "Replace",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        values=ctypes.c_uint64,
        reach=reach_type(rank, index, 4),
        pace=number * MAX_POSITIONS,
        count=number,
    )
