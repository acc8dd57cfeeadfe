"""More tensors of positions than a launch takes, made fewer; and positions that are only checked.

Integers only, no device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from tensorlayout.cuda.engine.faults import MAX_POSITIONS
from tensorlayout.cuda.engine.kernel_shapes import kernel
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.gather.index_loop import (
    Positions,
    in_index_order,
    launch_of,
    loop_of,
    placed,
    positions_of,
)
from tensorlayout.layout import Layout
from tensorlayout.plan.gather import IndexMap, Shape
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True)
class Linearized:
    """What is done to positions before elements are moved.

    Attributes:
        launches: those that make tensors of positions fewer, or only check them.
        scratch: **bytes** of what they make.
        left: the tensors of positions that are left for one launch; none where nothing is moved.
        shifts: what is to be added to the offset in each memory, in its units.

    """

    launches: tuple[Launch, ...] = ()
    scratch: tuple[int, ...] = ()
    left: tuple[Positions, ...] = ()
    shifts: tuple[int, ...] = ()


def linearized(
    name: str,
    index_map: IndexMap,
    indexed: Layout,
    shape: Shape,
    specs: Sequence[TensorSpec],
    steps: Sequence[tuple[int, ...]],
    first: int,
) -> Linearized:
    """The positions that index a layout, for what is read or written there, of `shape`.

    `steps`: for each tensor of positions, what one adds to the offset in each memory. They are
    memories of the call from number `first` on; what is made is numbered behind them.
    """
    spread, count = index_map.spread(shape), len(specs)
    extents = [indexed.shape[d] for d in index_map.dims]
    if 0 in spread:  # together they have no element: each is checked by itself
        alone = [
            [positions_of(first + k, spec, spec.layout.shape, extent, (1,))]
            for k, (spec, extent) in enumerate(zip(specs, extents, strict=True))
            if spec.layout.size
        ]
        return _checked(name, alone, first + count)
    left = [
        positions_of(first + k, spec, spread, extent, each)
        for k, (spec, extent, each) in enumerate(zip(specs, extents, steps, strict=True))
    ]
    if 0 in shape:
        starts = range(0, count, MAX_POSITIONS)
        return _checked(name, [left[k : k + MAX_POSITIONS] for k in starts], first + count)
    launches: list[Launch] = []
    scratch: list[int] = []
    shifts = [0] * len(steps[0])
    while len(left) > MAX_POSITIONS:
        group, left = left[:MAX_POSITIONS], left[MAX_POSITIONS:]
        launch, one, shift = _place(name, group, first + count + len(launches))
        launches.append(launch)
        scratch.append(8 * one.layout.size)
        left.append(one)
        shifts = [a + b for a, b in zip(shifts, shift, strict=True)]
    return Linearized(tuple(launches), tuple(scratch), tuple(left), tuple(shifts))


def _checked(name: str, groups: Sequence[list[Positions]], number: int) -> Linearized:
    """Launches that check positions, and no more."""
    made = [_place(name, group, number + k) for k, group in enumerate(groups)]
    scratch = tuple([8 * one.layout.size for _, one, _ in made])
    return Linearized(tuple([launch for launch, _, _ in made]), scratch)


def _place(
    name: str, group: Sequence[Positions], number: int
) -> tuple[Launch, Positions, list[int]]:
    """The launch that makes several tensors of positions one of offsets, in memory `number`."""
    # The first memory's steps say all: those of the others are proportional to them, or 0.
    memories, spread = range(len(group[0].steps)), group[0].layout.shape
    main = next((m for m in memories if any(p.steps[m] for p in group)), 0)
    steps = [p.steps[main] for p in group]
    unit = gcd(*steps) or 1
    last = [max(p.extent - 1, 0) for p in group]
    reached = [n * (step // unit) for n, step in zip(last, steps, strict=True)]
    base, top = -sum(min(r, 0) for r in reached), sum(max(r, 0) for r in reached)
    packed = Layout.row_major(spread)
    given = [replace(p, steps=(0, s // unit)) for p, s in zip(group, steps, strict=True)]
    strides = [packed.strides, [0] * len(spread)]
    loop = loop_of(in_index_order(len(spread)), spread, strides, given)
    chosen = kernel("gather.cu", "place_positions", RANK=len(loop.loop.axes), INDEX=loop.index)
    ratios = [_ratio(group, main, m, unit) for m in memories]
    return (
        launch_of(chosen, loop, [(number, 0)], name, base=base),
        placed(number, base + top + 1, tuple(ratios), packed),
        [-base * ratio for ratio in ratios],
    )


def _ratio(group: Sequence[Positions], main: int, memory: int, unit: int) -> int:
    """What one unit of the offset in memory `main` is in another."""
    for p in group:
        if p.steps[main]:
            return p.steps[memory] * unit // p.steps[main]
    return 0
