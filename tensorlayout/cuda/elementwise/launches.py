"""What elementwise kernels take, and their launches.

Operands in other dimension orders go through boxes in shared memory. Costs are bytes that accesses
move, over bytes that are asked for; those of memories with wide elements weigh more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from tensorlayout.cuda.engine import (
    THREADS,
    WIDEST,
    WRITE,
    Launch,
    SharedTile,
    TileProblem,
    access_struct,
    choose_tile,
    constant,
    divisor,
    in_order_cost,
    kernel,
    narrowness,
    pack_axes,
    parameters,
    shared_tiles,
    tiles_struct,
    walk_struct,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.fill import Beside, bits_of, padding_struct
from tensorlayout.layout import Loop, index_type
from tensorlayout.layout.digits import TiledLoop


class TooManyAxesError(Exception):
    """No kernel of so many operands walks so many axes."""


def packs_of(widest: int) -> list[int]:
    """How many elements the packs of kernels have: 16 or 4 bytes of the widest type."""
    return [width // widest for width in (16, 4) if width > widest]


class Computed(NamedTuple):
    """What makes elements of the result."""

    name: str  # of the function, for errors
    kernels: str  # name of their file, and with what their names begin
    types: tuple[tuple[str, str], ...]  # macros that say what is computed from which types
    functor: str = ""  # of kernels/functions.cuh
    numbers: int = 0  # how many scalars it is given beside the operands


@dataclass(frozen=True, slots=True)
class Operands:
    """The result and the operands, as kernels see them."""

    computed: Computed  # what makes elements of the one from those of the others
    count: int  # how many operands there are
    widest: int  # bytes of the widest type, of scalars too
    alignment: int  # of the result: a power of two that divides the address of the lowest slot
    beside: Beside  # padding that is written in the same launch; of a tiled result, in its tails

    @property
    def counts(self) -> dict[str, int]:
        """What kernels are told of operands and numbers."""
        return {"OPERANDS": self.count, "NUMBERS": self.computed.numbers}

    def ready(
        self, name: str, blocks: int, steps: Sequence[int], **shape: Any
    ) -> tuple[Kernel, Any, int]:
        """A kernel, its struct, and how many blocks it takes; `steps`: of operands along a pack."""
        _, kernels, types, functor, _ = self.computed
        types = (*types, ("WIDEST", str(self.widest)))
        found = kernel(f"{kernels}.cu", f"{kernels}_{name}", types, functor, **shape)
        made = parameters(found, **self.counts)()
        made.memories.padding, more = padding_struct(self.beside, blocks, self.alignment)
        made.memories.step[:] = steps
        return found, made, blocks + more

    def blocks(self, threads: int, pack: int) -> int:
        """How many blocks have `threads` in all, each with several turns where packs are small."""
        return -(-threads // (THREADS * self.constant(f"PACKS<{pack}>")))

    def constant(self, name: str) -> int:
        """One of kernels/include/elementwise.cuh, for so many operands."""
        return constant("include/elementwise.cuh", name, **self.counts)


def flat(
    given: Operands, count: int, pack: int, steps: Sequence[int], firsts: tuple[int, ...]
) -> Launch:
    """One run."""
    blocks = given.blocks(count // pack + count % pack, pack)
    found, made, blocks = given.ready("flat", blocks, steps, PACK=pack)
    made.count = count
    return Launch(found, blocks, bytes(made), firsts)


def strided(given: Operands, loop: Loop, pack: int) -> Launch:
    """Rows of packs, where `pack` is more than 1; else elements one by one, with any strides."""
    *slower, last = loop.in_packs(pack, ()).axes
    packs, rest = last.size, loop.sizes[-1] % pack
    rows, rank = prod([axis.size for axis in slower]), len(loop.axes)
    count = rows * (packs + rest)
    blocks = given.blocks(count, pack)
    if rank > given.constant("MOST_WALKED"):
        raise TooManyAxesError
    index = index_type(count, loop.furthest)
    steps = loop.axes[-1].strides[1:] if pack > 1 else (0,) * given.count
    name = "rows" if pack > 1 else "strided"
    shape = {"RANK": rank, "INDEX": index} | ({"PACK": pack} if pack > 1 else {})
    found, made, blocks = given.ready(name, blocks, steps, **shape)
    made.threads, made.pack_threads, made.packs = count, rows * packs, packs
    made.rest = divisor(index, rest or 1)
    pack_axes(made.walk, [*slower, last])
    return Launch(found, blocks, bytes(made), loop.firsts)


def masked_tail(given: Operands, loop: TiledLoop) -> Launch:
    """Tiles with tails, in the result's order."""
    most = loop.pack(WIDEST)
    pack = max([pack for pack in packs_of(given.widest) if pack <= most], default=1)
    threads, moves = loop.count // pack, loop.axes[-1].strides[1:]
    steps, blocks = moves if pack > 1 else [0] * len(moves), given.blocks(threads, pack)
    shape = {"INDEX": loop.index, "BOUNDED": pack}
    found, made, blocks = given.ready("bounded", blocks, steps, **shape)
    made.threads, made.bits[:] = threads, bits_of(given.beside[1])
    made.walk = walk_struct(loop, (), pack)
    return Launch(found, blocks, bytes(made), loop.firsts)


# ---- Boxes in shared memory

# Axes of a box, at most.
_AXES = 3


def box_of(loop: Loop, given: Operands, pack: int) -> SharedTile | None:
    """The box in which operands of other orders are staged; None if that is worth nothing.

    `pack`: how many elements a thread would move at once without.
    An operand with the strides of the result never is, one that is where the result is among them:
    each thread reads such an element where it writes.
    """
    widths = loop.widths
    if loop.count * max(widths) < shared_tiles.SMALL_BYTES:
        return None
    tensors = [m for m in range(len(widths)) if widths[m]]  # the others are scalars
    sectors = {memory: in_order_cost(loop, memory, pack) for memory in tensors}
    staged = tuple([m for m in tensors if m and _is_staged(loop, m, sectors[m])])
    if not staged:
        return None
    beside = tuple(m for m in tensors if m and m not in staged)
    pack_in_box = max(1, 4 // given.widest)  # as `tiles_in` of kernels/include/elementwise.cuh
    followers = tuple(sorted((*staged, *beside)))
    problem = TileProblem.over(loop, staged, beside, pack_in_box, followers)
    box = choose_tile(problem, _AXES)
    if box is None or len(loop.axes) > given.constant("MOST_OUTER") + len(box.axes):
        return None
    before = sum([widths[m] * (sectors[m] + narrowness(widths[m] * pack)) for m in tensors])
    unit = box.sides[WRITE].unit // widths[WRITE]
    after = sum([widths[m] * shared_tiles.THROUGH_TILE for m in staged])
    for m in tensors:
        aside = m not in box.sides
        cost = sectors[m] + narrowness(widths[m] * unit) if aside else box.side_cost(m)
        after += widths[m] * cost
    return box if after < before else None


def _is_staged(loop: Loop, memory: int, sectors: float) -> bool:
    strides, width = loop.strides[memory], loop.widths[memory]
    if strides == loop.strides[WRITE]:
        return False
    if strides[-1] not in (0, 1):  # its elements do not follow each other as the result's do
        return sectors + narrowness(width) > shared_tiles.STAGED_FROM
    # One row for all, say, stays in the caches.
    distinct = prod([n for n, stride in zip(loop.sizes, strides, strict=True) if stride])
    return distinct * width >= shared_tiles.SMALL_BYTES and sectors > shared_tiles.STAGED_FROM


def tiles(given: Operands, loop: Loop, box: SharedTile) -> Launch:
    """One block for each box."""
    side = box.sides[WRITE]
    packed = side.unit > box.problem.widths[WRITE]
    moves = [box.problem.axes[box.axes[k]].strides[1:] for k in side.order[: side.run]]
    steps = [int(any(strides)) for strides in zip(*moves, strict=True)]
    shape = {"PACKED": int(packed), "ROOM": box.room}
    found, made, blocks = given.ready("tiles", box.blocks, steps, **shape)
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
