"""More tensors of positions than a launch takes, made fewer; and positions that are only checked.

Integers only, no device.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.faults import MAX_POSITIONS, owner_of
from tensorlayout.cuda.engine.launch import struct_type
from tensorlayout.cuda.reach_plan import (
    PLACED,
    RANKS,
    Positions,
    ReachLaunch,
    ReachLoop,
    axes_of,
    blocks_of,
    index_of,
    operands_of,
    positions_of,
    rank_macro,
    reach_struct,
    reach_type,
)
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.plan.gathering import Reach
from tensorlayout.tensor import TensorSpec

FILE = "gather.cu"


@dataclass(frozen=True, slots=True)
class _Placing:
    """A launch that makes several tensors of positions one of offsets: operand `number`."""

    loop: ReachLoop
    base: int
    number: int


def placed(
    positions: Sequence[Positions], spread: tuple[int, ...], name: str
) -> tuple[tuple[ReachLaunch, ...], list[Positions], tuple[int, ...]]:
    """Launches after which few enough tensors of positions are left for one; and these.

    And what is to be added to the offset in each memory, in its units.
    """
    launches: list[ReachLaunch] = []
    left = list(positions)
    shifts = [0] * len(positions[0].steps)
    number = 1 + max(p.number for p in positions)
    while len(left) > MAX_POSITIONS:
        group, left = left[:MAX_POSITIONS], left[MAX_POSITIONS:]
        placing, one, shift = _place(group, spread, number)
        launches.append(_launch(placing, name))
        left.append(one)
        shifts = [a + b for a, b in zip(shifts, shift, strict=True)]
        number += 1
    return tuple(launches), left, tuple(shifts)


def checked(
    positions: Sequence[Positions], spread: tuple[int, ...], name: str
) -> tuple[ReachLaunch, ...]:
    """Launches that check positions, and no more."""
    starts = range(0, len(positions), MAX_POSITIONS)
    groups = [list(positions[k : k + MAX_POSITIONS]) for k in starts]
    placings = [_place(each, spread, len(positions) + k)[0] for k, each in enumerate(groups)]
    return tuple(_launch(each, name) for each in placings)


def checked_apart(
    specs: Sequence[TensorSpec], extents: Sequence[int], name: str
) -> tuple[ReachLaunch, ...]:
    """Launches that check each tensor of positions by itself: together they have no element."""
    launches: list[ReachLaunch] = []
    for number, (spec, extent) in enumerate(zip(specs, extents, strict=True)):
        if spec.layout.size:
            alone = positions_of(number, spec, spec.layout.shape, extent, (1,))
            made = len(specs) + len(launches)
            launches.append(_launch(_place([alone], spec.layout.shape, made)[0], name))
    return tuple(launches)


def _place(
    group: list[Positions], spread: tuple[int, ...], number: int
) -> tuple[_Placing, Positions, list[int]]:
    # The first memory's steps say all: those of the others are proportional to them, or 0.
    memories = range(len(group[0].steps))
    main = next((m for m in memories if any(p.steps[m] for p in group)), 0)
    steps = [p.steps[main] for p in group]
    unit = gcd(*steps) or 1
    last = [max(p.extent - 1, 0) for p in group]
    reached = [n * (step // unit) for n, step in zip(last, steps, strict=True)]
    base, top = -sum(min(r, 0) for r in reached), sum(max(r, 0) for r in reached)
    packed = Layout.row_major(spread)
    reach = Reach((), tuple(range(len(spread))), (), tuple(reversed(range(len(spread)))))
    given = [replace(p, steps=(0, s // unit)) for p, s in zip(group, steps, strict=True)]
    axes = axes_of(reach, spread, [packed.strides, [0] * len(spread)], given)
    loop = ReachLoop(tuple(axes), 8, 0, (), tuple(given))
    ratios = [_ratio(group, main, m, unit) for m in memories]
    one = Positions(number, PLACED, 0, base + top + 1, tuple(ratios), packed)
    return _Placing(loop, base, number), one, [-base * ratio for ratio in ratios]


def _ratio(group: list[Positions], main: int, memory: int, unit: int) -> int:
    """What one unit of the offset in memory `main` is in another."""
    for p in group:
        if p.steps[main]:
            return p.steps[memory] * unit // p.steps[main]
    return 0


def _launch(placing: _Placing, name: str) -> ReachLaunch:
    loop = placing.loop
    rank, index = len(loop.axes), index_of(loop)
    made = placing_type(rank, index)(base=placing.base)
    made.reach = reach_struct(loop, index, owner_of(name))
    kernel = _place_kernel(rank, index)
    makes = (placing.number, 8 * loop.count)
    return ReachLaunch(kernel, blocks_of(loop), bytes(made), (), operands_of(loop), makes)


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    shapes = product((*RANKS, 0), ("int32_t", "int64_t"))
    return tuple(_place_kernel(*each) for each in shapes)


def _place_kernel(rank: int, index: str) -> Kernel:
    return Kernel(FILE, "place_positions", shape=(rank_macro(rank), ("INDEX", index)))


@once
def placing_type(rank: int, index: str) -> Any:
    """``Placing<rank, index>``."""
    return struct_type(
        "Placing", to=ctypes.c_uint64, reach=reach_type(rank, index, 2), base=ctypes.c_int64
    )
