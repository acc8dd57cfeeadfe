"""Elementwise operations whose operands are in other dimension orders: boxes in shared memory.

Costs are bytes that accesses move, over bytes that are asked for, as in `boxes` and `copy_plan`;
those of memories with wide elements weigh more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorlayout.cuda.elementwise.launches import Operands
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.engine.sectors import in_order_cost
from tensorlayout.cuda.engine.shared_tiles.choice import choose_tile
from tensorlayout.cuda.engine.shared_tiles.problem import WRITE, TileProblem, TileTuning
from tensorlayout.cuda.engine.shared_tiles.structs import access_struct, tiles_struct
from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile, narrowness
from tensorlayout.layout.loop import Loop

# Axes of a box, at most.
_AXES = 3


# ---- Which box, if any


def box_of(loop: Loop, given: Operands, pack: int, tuning: TileTuning) -> SharedTile | None:
    """The box in which operands of other orders are staged; None if that is worth nothing.

    `pack`: how many elements a thread would move at once without.

    An operand with the strides of the result never is, one that is where the result is among them:
    each thread reads such an element where it writes.
    """
    widths = loop.widths
    if loop.count * max(widths) < tuning.small_bytes:
        return None
    tensors = [m for m in range(len(widths)) if widths[m]]  # the others are scalars
    sectors = {memory: in_order_cost(loop, memory, pack) for memory in tensors}
    staged = tuple([m for m in tensors if m and _is_staged(loop, m, sectors[m], tuning)])
    if not staged:
        return None
    box = choose_tile(_nest(loop, given, staged))
    if box is None or len(loop.axes) > given.constant("MOST_OUTER") + len(box.axes):
        return None
    before = sum([widths[m] * (sectors[m] + narrowness(widths[m] * pack)) for m in tensors])
    unit = box.sides[WRITE].unit // widths[WRITE]
    after = sum([widths[m] * tuning.through_tile for m in staged])
    for memory in tensors:
        if memory in box.sides:
            after += widths[memory] * box.side_cost(memory)
        else:
            after += widths[memory] * (sectors[memory] + narrowness(widths[memory] * unit))
    return box if after < before else None


def _is_staged(loop: Loop, memory: int, sectors: float, tuning: TileTuning) -> bool:
    strides, width = loop.strides[memory], loop.widths[memory]
    if strides == loop.strides[WRITE]:
        return False
    if strides[-1] not in (0, 1):  # its elements do not follow each other as the result's do
        return sectors + narrowness(width) > tuning.staged_from
    # One row for all, say, stays in the caches.
    distinct = prod([n for n, stride in zip(loop.sizes, strides, strict=True) if stride])
    return distinct * width >= tuning.small_bytes and sectors > tuning.staged_from


def _nest(loop: Loop, given: Operands, staged: tuple[int, ...]) -> TileProblem:
    widths = loop.widths
    beside = tuple(m for m in range(1, len(widths)) if widths[m] and m not in staged)
    pack = max(1, 4 // given.widest)  # as `tiles_in` of kernels/include/elementwise.cuh
    followers = tuple(sorted((*staged, *beside)))
    return TileProblem.over(loop, staged, beside, pack, _AXES, followers)


# ---- The launch


def tiles(given: Operands, loop: Loop, box: SharedTile) -> Launch:
    """One block for each box."""
    side = box.sides[WRITE]
    packed = side.unit > box.problem.widths[WRITE]
    moves = [box.problem.axes[box.axes[k]].strides[1:] for k in side.order[: side.run]]
    steps = [int(any(strides)) for strides in zip(*moves, strict=True)]
    found, made = given.chosen("tiles", PACKED=int(packed), ROOM=box.room)
    blocks = given.pack_memories(made.memories, box.blocks, steps)
    tiles_struct(box, made.boxes)
    made.write = access_struct(box, WRITE, [0] * len(box.axes), _AXES)
    begins, period = box.places.tiles, box.period(WRITE)
    last = side.order[side.run - 1]
    periods = max(1, period // box.inner(side.order, side.run))
    for n in range(given.count):
        memory, follower = n + 1, made.followers[n]
        made.tile[n] = begins.get(memory, -1)
        strides: Sequence[int] = made.boxes.stride[memory]
        if memory in begins:
            strides = box.pitches[memory]
            made.read[n] = access_struct(box, memory, strides, _AXES)
            made.narrow[n] = box.sides[memory].unit < 4
        if memory in box.places.followers:
            follower.stride[: len(box.axes)] = strides[: len(box.axes)]
            follower.step = strides[last] * periods
            follower.rows, follower.places = box.places.followers[memory]
    return Launch(found, blocks, bytes(made), loop.firsts)
