"""More tensors of positions than a launch takes, made fewer; and positions that are only checked.

Integers only, no device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import add

from tensorlayout.cuda.engine.faults import MAX_POSITIONS
from tensorlayout.cuda.engine.kernel_shapes import kernel
from tensorlayout.cuda.engine.launch import Launch, Launches
from tensorlayout.cuda.gather.index_loop import (
    Positions,
    in_index_order,
    launch_of,
    loop_of,
    packed_steps,
    placed,
    positions_of,
)
from tensorlayout.layout import Layout
from tensorlayout.plan.gather import GatherPlan, Shape
from tensorlayout.plan.scatter import ScatterPlan


@dataclass(frozen=True, slots=True)
class Linearized:
    """What is done to positions before elements are moved.

    Attributes:
        made: the launches that make tensors of positions fewer, or only check them.
        left: the tensors of positions that are left for one launch; none where nothing is moved.
        shifts: what is to be added to the offset in each memory, in its units.

    """

    made: Launches
    left: tuple[Positions, ...]
    shifts: tuple[int, ...]

    def then(self, *launches: Launch, scratch: tuple[int, ...] = ()) -> Launches:
        """These launches behind those."""
        made = self.made
        return Launches((*made.launches, *launches), scratch=(*made.scratch, *scratch))


def linearized(
    plan: GatherPlan | ScatterPlan,
    indexed: Layout,
    shape: Shape,
    steps: Sequence[tuple[int, ...]],
    first: int,
) -> Linearized:
    """The positions that index a layout, for what is read or written there, of `shape`.

    `steps`: for each tensor of positions, what one adds to the offset in each memory. They are
    memories of the call from number `first` on; what is made is numbered behind them.
    """
    specs, spread = plan.positions, plan.index_map.spread(shape)
    rows = [(indexed.shape[d], steps[k]) for k, d in enumerate(plan.index_map.dims)]
    alone = 0 in spread  # together they have no element: each is checked by itself
    left = tuple(
        positions_of(first + k, spec, spec.layout.shape if alone else spread, *row)
        for k, (spec, row) in enumerate(zip(specs, rows, strict=True))
        if spec.layout.size or not alone
    )
    most, found = (
        1 if alone else MAX_POSITIONS,
        Linearized(Launches(()), left, (0,) * len(steps[0])),
    )
    while len(found.left) > most or (found.left and 0 in shape):
        group, rest = found.left[:most], found.left[most:]
        number = first + len(specs) + len(found.made.launches)
        launch, one, shift = _place(plan.name, group, number)
        shifts = tuple(map(add, found.shifts, shift))
        made = found.then(launch, scratch=(8 * one.layout.size,))
        found = Linearized(made, rest if 0 in shape else (*rest, one), shifts)
    return found


def _place(
    name: str, group: Sequence[Positions], number: int
) -> tuple[Launch, Positions, list[int]]:
    """The launch that makes several tensors of positions one of offsets, in memory `number`."""
    # The first memory's steps say all: those of the others are proportional to them, or 0.
    memories, spread = range(len(group[0].steps)), group[0].layout.shape
    main = next((m for m in memories if any(p.steps[m] for p in group)), 0)
    steps = [p.steps[main] for p in group]
    unit, own, base, count = packed_steps([p.extent for p in group], steps)
    packed = Layout.row_major(spread)
    given = [replace(p, steps=(0, step)) for p, step in zip(group, own, strict=True)]
    strides = [packed.strides, [0] * len(spread)]
    loop = loop_of(in_index_order(len(spread)), spread, strides, given)
    chosen = kernel("gather.cu", "place_positions", RANK=len(loop.loop.axes), INDEX=loop.index)
    moves = next((p for p in group if p.steps[main]), None)
    ratios = [p.steps[m] * unit // p.steps[main] if (p := moves) else 0 for m in memories]
    return (
        launch_of(chosen, loop, [(number, 0)], name, base=base),
        placed(number, count, tuple(ratios), packed),
        [-base * ratio for ratio in ratios],
    )
