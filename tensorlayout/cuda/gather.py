"""Reads at positions, and loops over elements that are found by positions (``reach.cuh``).

Positions outside give 0; `faults` raises the IndexError later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from math import gcd, prod
from operator import add
from typing import Any

from tensorlayout.cuda.engine import (
    FAULTS,
    NOTHING,
    PER_THREAD,
    WIDEST,
    Launch,
    Launches,
    arguments,
    blocks_for,
    constant,
    divisor,
    kernel,
    writer,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.faults import MAX_POSITIONS, owner_of
from tensorlayout.layout import Axis, Layout, Loop, furthest, index_type, merged
from tensorlayout.plan import GatherPlan, IndexMap, ScatterPlan, Write
from tensorlayout.plan.gather import Shape
from tensorlayout.tensor import TensorSpec

# The memories of a call; behind them are those of positions.
RESULT, READ, POSITIONS = range(3)


def write_gather(plan: GatherPlan) -> Write:
    """The function of the result, the tensor and the positions."""
    return writer(plan.result.device.number, partial(plan_gather, plan), aligned=POSITIONS)


def plan_gather(plan: GatherPlan, alignments: tuple[int, ...]) -> Launches:
    """The launches, in order; `alignments` of the result and the source.

    One, unless there are more than four tensors of positions. Of an empty result, positions are
    checked all the same.
    """
    layout, shape = plan.source.layout, plan.result.layout.shape
    steps = [(0, layout.strides[d]) for d in plan.index_map.dims]
    found = linearized(plan, layout, shape, steps, POSITIONS)
    if not found.left:
        return found.made
    assert not (plan.clamps and found.made.launches), "DirectML clamps one tensor, never empty"
    return found.then(plan_read(plan, found.left, alignments, found.shifts[READ]))


def plan_read(
    plan: GatherPlan, positions: Sequence[Positions], alignments: tuple[int, ...], shift: int = 0
) -> Launch:
    """The launch for `positions`, few enough; `shift` moves the source, in elements."""
    source, layout, itemsize = plan.source.layout, plan.result.layout, plan.result.dtype.itemsize
    firsts = (layout.offset * itemsize, (source.offset + shift) * itemsize)
    index_map = replace(plan.index_map, order=layout.minor_to_major)
    strides = [layout.strides, strides_of(index_map.kept, source, layout.ndim)]
    every = loop_of(index_map, layout.shape, strides, positions, itemsize, firsts)
    found = fitted(every, alignments)
    rank, width = len(found.loop.axes), found.loop.width
    chosen = kernel("gather.cu", "gather_elements", RANK=rank, INDEX=found.index, WIDTH=width)
    memories = list(enumerate(found.loop.firsts[:2]))
    return launch_of(chosen, found, memories, plan.name, clamps=plan.clamps)


# ---- Loops

# The tag of axes that come from the dimensions of positions.
OF_POSITIONS = "positions"


@dataclass(frozen=True, slots=True)
class Positions:
    """A tensor of positions."""

    memory: int  # its number in the call
    kind: int  # of its integers, as in kernels/include/reach.cuh
    first: int  # **bytes** from its lowest slot to its first element
    extent: int  # size of the dimension that it indexes
    steps: tuple[int, ...]  # what one position adds to the offset in each memory
    layout: Layout  # its dimensions as those of the loop's positions


@dataclass(frozen=True, slots=True)
class IndexLoop:
    """A loop over memories, and behind them the tensors of positions that move its elements."""

    loop: Loop
    positions: tuple[Positions, ...] = ()

    @property
    def inner(self) -> int:
        """How many elements there are behind the dimensions of the positions."""
        behind = takewhile(lambda axis: axis.tag != OF_POSITIONS, reversed(self.loop.axes))
        return prod([axis.size for axis in behind])

    @property
    def furthest(self) -> int:
        """The largest distance that any memory or tensor of positions has, in its own units."""
        tables = (0,) * len(self.positions)
        moves = [Axis(max(p.extent, 1), (*p.steps, *tables)) for p in self.positions]
        return max([furthest((*self.loop.axes, *moves)), *[p.extent for p in self.positions]])

    @property
    def index(self) -> str:
        """The narrowest type of indices."""
        return index_type(self.loop.count, self.furthest)


def positions_of(
    memory: int, spec: TensorSpec, spread: Shape, extent: int, steps: tuple[int, ...]
) -> Positions:
    """The positions in a memory of a call, broadcast to the shape of all."""
    layout = spec.layout.broadcast_to(spread)
    kind = constant("include/reach.cuh", spec.dtype.name.upper())
    return Positions(memory, kind, layout.offset * spec.dtype.itemsize, extent, steps, layout)


def placed(memory: int, extent: int, steps: tuple[int, ...], layout: Layout) -> Positions:
    """Positions that a launch has made: int64, from 0 up, -1 where one was outside."""
    return Positions(memory, constant("include/reach.cuh", "PLACED"), 0, extent, steps, layout)


def strides_of(kept: tuple[tuple[int, int], ...], layout: Layout, rank: int) -> list[int]:
    """The strides of a tensor along the dimensions of the result, 0 along those of positions."""
    strides = {at: layout.strides[d] for d, at in kept}
    return [strides.get(at, 0) for at in range(rank)]


def packed_steps(
    extents: Sequence[int], steps: Sequence[int]
) -> tuple[int, tuple[int, ...], int, int]:
    """What steps share, the steps without it; of their offsets from 0 up the first, and all."""
    unit = gcd(*steps) or 1
    own = tuple([step // unit for step in steps])
    reached = [max(n - 1, 0) * step for n, step in zip(extents, own, strict=True)]
    first = -sum(min(r, 0) for r in reached)
    return unit, own, first, first + sum(max(r, 0) for r in reached) + 1


def loop_of(
    index_map: IndexMap,
    shape: Shape,
    strides: Sequence[Sequence[int]],
    positions: Sequence[Positions] = (),
    width: int = 1,
    firsts: tuple[int, ...] = (),
) -> IndexLoop:
    """The loop over a result in its order; `strides` of each memory, 0 along positions.

    `firsts`: **bytes** to the first elements of the first memories, those whose strides count
    elements of `width` bytes; others are tables.
    """

    def axis(d: int) -> Axis:
        across: Sequence[int] = [0] * len(positions)
        if index_map.per_line or d in index_map.index_dims:
            at = d if index_map.per_line else d - index_map.index_dims[0]
            across = [p.layout.strides[at] for p in positions]
        steps = (*[s[d] for s in strides], *across)
        return Axis(shape[d], steps, OF_POSITIONS if d in index_map.index_dims else None)

    axes = [axis(d) for d in reversed(index_map.order)]
    return loop_over(axes, len(strides), positions, width, firsts)


def loop_of_positions(
    shape: Shape, strides: Sequence[Sequence[int]], positions: Sequence[Positions]
) -> IndexLoop:
    """The loop over positions alone, in index order."""
    every = zip(*strides, *[p.layout.strides for p in positions], strict=True)
    axes = [Axis(n, steps, OF_POSITIONS) for n, steps in zip(shape, every, strict=True)]
    return loop_over(axes, len(strides), positions)


def loop_over(
    axes: Iterable[Axis],
    memories: int,
    positions: Sequence[Positions] = (),
    width: int = 1,
    firsts: tuple[int, ...] = (),
) -> IndexLoop:
    """The loop over axes, slowest first, which are merged; the rest as of `loop_of`."""
    count = memories + len(positions)
    tables = count - len(firsts)
    found = merged(axes) or [Axis(1, (0,) * count, OF_POSITIONS)]
    widths = (width,) * len(firsts) + (1,) * tables
    rest = (0,) * tables
    loop = Loop(tuple(found), widths, (*firsts, *rest), (WIDEST,) * count, tables)
    return IndexLoop(loop, tuple(positions))


def fitted(index_loop: IndexLoop, alignments: Sequence[int]) -> IndexLoop:
    """The loop over elements as wide as alignments of the memories that have elements allow."""
    loop, positions = index_loop.loop, index_loop.positions
    # Positions move elements by whole steps, which so are a part of how these are aligned.
    aligned = [
        gcd(alignment, *[p.steps[m] * loop.width for p in positions])
        for m, alignment in enumerate(alignments)
    ]
    tables = loop.alignments[len(aligned) :]
    found = replace(loop, alignments=(*aligned, *tables)).fitted(WIDEST)
    moved = []
    for each in positions:
        steps = [step * loop.width // found.width for step in each.steps[: len(aligned)]]
        moved.append(replace(each, steps=(*steps, *each.steps[len(aligned) :])))
    return IndexLoop(found, tuple(moved))


def launch_of(
    chosen: Kernel,
    index_loop: IndexLoop,
    memories: Sequence[tuple[int, int]],
    name: str = "",
    *,
    grid: int | None = None,
    clamps: bool = False,
    fills: bool = False,
    **members: Any,
) -> Launch:
    """The launch of a kernel whose struct has the loop as its member `reach`.

    `memories`: number and **bytes** to what the pointer points to, for each pointer. Positions
    outside are reported under `name`, or mean the nearest one inside where it `clamps`. `members`:
    others of the struct; where it `fills`, its `bits` are the one value of the call, else it takes
    no scalars.
    """
    loop, positions, shape = index_loop.loop, index_loop.positions, dict(chosen.shape)
    made, rank = arguments(chosen, **members), len(loop.axes)
    reach, index = made.reach, shape["INDEX"]
    reach.owner = owner_of(name) if positions else 0
    reach.count, reach.rank, reach.clamps = loop.count, rank, clamps
    for d, axis in enumerate(loop.axes):
        reach.size[d] = divisor(index, axis.size)
    for into, strides in zip([*reach.stride, *reach.across], loop.strides, strict=False):
        into[:rank] = strides
    reach.positions = len(positions)
    for k, each in enumerate(positions):
        reach.extent[k], reach.kind[k] = each.extent, each.kind
        reach.step[k][:] = each.steps
    pointers = [*memories, *[(p.memory, p.first) for p in positions]]
    pointers += [(NOTHING, 0)] * (MAX_POSITIONS - len(positions))
    pointers.append((FAULTS if positions else NOTHING, 0))
    numbers, firsts = zip(*pointers, strict=True)
    if grid is None:
        grid = blocks_for(loop.count * (1 if shape.get("RANK", "0") != "0" else PER_THREAD))
    at, takes = (type(made).bits.offset, None) if fills else (None, 0)
    return Launch(chosen, grid, bytes(made), firsts, numbers, at, (0, takes))


# ---- Fewer tensors of positions


@dataclass(frozen=True, slots=True)
class Linearized:
    """What is done to positions before elements are moved."""

    made: Launches  # make tensors of positions fewer, or only check them
    left: tuple[Positions, ...]  # for one launch; none where nothing is moved
    shifts: tuple[int, ...]  # what is to be added to the offset in each memory, in its units

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
    rows = zip(specs, plan.index_map.dims, steps, strict=True)
    alone = 0 in spread  # together they have no element: each is checked by itself
    left = tuple(
        positions_of(first + k, spec, spec.layout.shape if alone else spread, indexed.shape[d], own)
        for k, (spec, d, own) in enumerate(rows)
        if spec.layout.size or not alone
    )
    most = 1 if alone else MAX_POSITIONS
    found = Linearized(Launches(()), left, (0,) * len(steps[0]))
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
    loop = loop_of_positions(spread, [packed.strides, [0] * len(spread)], given)
    chosen = kernel("gather.cu", "place_positions", RANK=len(loop.loop.axes), INDEX=loop.index)
    p = next((p for p in group if p.steps[main]), None)
    ratios = [p.steps[m] * unit // p.steps[main] if p else 0 for m in memories]
    launch = launch_of(chosen, loop, [(number, 0)], name, base=base)
    one = placed(number, count, tuple(ratios), packed)
    return launch, one, [-base * ratio for ratio in ratios]
