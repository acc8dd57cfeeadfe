"""Boxes of a loop that go through shared memory: their extents, and how each memory walks them.

A box has up to three axes, or is *deep*. In each memory its *run* is the axes that are contiguous
as far as the box reaches, the next axis has its *rows*, and those after that its *planes*. Memory
moves in sectors of 32 bytes, so threads are shifted such that accesses of a warp begin where one
begins:

- each row on its own, which leaves threads idle at its ends; or
- the rows of a plane together: a row gets as many threads as leave, in sectors, the remainder that
  the distance of two rows in memory leaves. No thread need be idle then, but a warp may have parts
  of two rows, which fall into the same banks of shared memory.

The first is for accesses of 4 bytes and more, the second for less, where it is threads that are
short. Rows that begin inside a sector cost part of one more either way, so runs are best long.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tensorlayout.cuda.engine.launch import SECTOR
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.layout.digits import Bound, TiledLoop
from tensorlayout.layout.loop import Axis, Loop

# Bytes of shared memory that a box may take: with the first, eight blocks of 256 threads share a
# multiprocessor of 228 KB; the second is all that a block gets without asking.
ROOMS = (24 * 1024, 48 * 1024)

WRITE, READ = 0, 1
# Axes of a box; and of a deep one.
USUAL = 3

DEEPEST = constant("include/tiles.cuh", "MOST_AXES")
NARROWEST = 4  # bytes of an access, where rows allow it


@dataclass(frozen=True, slots=True)
class TileTuning:
    """What a test may want to set.

    Attributes:
        small_bytes: below this, no tiles: a launch takes longer than the bytes, in whatever order.
        through_tile: what the way through shared memory costs, where each memory costs at least 1.
        staged_from: operands that cost this much in the result's order are staged.

    """

    small_bytes: int = 32 * 1024
    through_tile: float = 0.1
    staged_from: float = 1.1


TUNING = TileTuning()


@dataclass(frozen=True, slots=True)
class TileProblem:
    """Axes to be boxed, and the memories that are walked along them; the first one is written.

    Attributes:
        axes: from the slowest in the destination to the fastest; its strides are positive.
        widths: for each memory bytes of an element.
        alignments: for each memory the power of two, at most `SECTOR`, that divides the address of
            its lowest slot.
        staged: numbers of the memories that come through shared memory.
        beside: numbers of others that are read where the destination is written.
        pack: how many elements an access to the destination may have.
        deepest: how many axes a box may have.
        bounds: of dimensions whose axes reach beyond their last index.
        weights: for each bound and each axis, how far that index moves.
        followers: numbers of memories with tables of their own along the destination.
        across: 0, or what is between the rows of a *square*, in elements of the source, of less
            than 4 bytes: a word of the destination has one of each.

    """

    axes: tuple[Axis, ...]
    widths: tuple[int, ...]
    alignments: tuple[int, ...]
    staged: tuple[int, ...]
    beside: tuple[int, ...]
    pack: int
    deepest: int = USUAL
    bounds: tuple[Bound, ...] = ()
    weights: tuple[tuple[int, ...], ...] = ()
    followers: tuple[int, ...] = ()
    across: int = 0

    @classmethod
    def over(
        cls,
        loop: Loop,
        staged: tuple[int, ...],
        beside: tuple[int, ...],
        pack: int,
        deepest: int,
        followers: tuple[int, ...] = (),
    ) -> TileProblem:
        """The problem of all axes of a loop."""
        alignments = []
        for first, alignment, width, strides in zip(
            loop.firsts, loop.alignments, loop.widths, loop.strides, strict=True
        ):
            steps = [(n - 1) * s for n, s in zip(loop.sizes, strides, strict=True) if s < 0]
            alignments.append(gcd(SECTOR, alignment, first + sum(steps) * width))
        tails = (loop.bounds, loop.weights) if isinstance(loop, TiledLoop) else ((), ())
        memories = (loop.axes, loop.widths, tuple(alignments), staged, beside)
        return cls(*memories, pack, deepest, *tails, followers)

    @property
    def walked(self) -> tuple[int, ...]:
        """Numbers of the memories whose places in a box are worked out."""
        return (WRITE, *self.staged, *self.beside)

    def unit(self, memory: int) -> int:
        """Bytes of an access, if rows allow it."""
        width = self.widths[memory]
        return self.pack * width if memory == WRITE else max(width, NARROWEST)

    def tile_width(self, memory: int) -> int:
        """Bytes of an element in the memory's tile."""
        return self.widths[WRITE if self.across else memory]

    @property
    def staged_bytes(self) -> int:
        """Bytes of shared memory that an element takes, in all tiles together."""
        return sum([self.tile_width(memory) for memory in self.staged])


def rounded_up(number: int, step: int) -> int:
    """The least multiple of `step` that is not below a number."""
    return -(-number // step) * step
