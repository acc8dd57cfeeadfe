"""Boxes of a loop that go through shared memory: their extents, and how each memory walks them.

A box has up to three axes, or is *deep*. In each memory its *run* is the axes that are contiguous
as far as the box reaches, the next axis has its *rows*, and those after that its *planes*. Memory
moves in sectors of 32 bytes, so threads are shifted such that accesses of a warp begin where one
begins:

- each row on its own, which leaves threads idle at its ends; or
- all rows of a plane together: a row gets as many threads as leave, in sectors, the remainder that
  the distance of two rows in memory leaves. No thread need be idle then, but a warp may have parts
  of two rows, which fall into the same banks of shared memory.

The second is for accesses of less than 4 bytes in boxes of one plane, where it is threads that are
short. Rows that begin inside a sector cost part of one more either way, so runs are best long.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tensorlayout.cuda.engine.memory import SECTOR
from tensorlayout.cuda.engine.structs import constant_value
from tensorlayout.layout import Axis, Loop
from tensorlayout.layout.digits import Bound, TiledLoop

# Bytes of shared memory that a box may take: with the first, eight blocks of 256 threads share a
# multiprocessor of 228 KB; the second is all that a block gets without asking.
ROOMS = (24 * 1024, 48 * 1024)

WRITE, READ = 0, 1
# Axes of a box; and of a deep one.
USUAL = 3

DEEPEST = constant_value("include/tiles.cuh", "MOST_AXES")
NARROWEST = 4  # bytes of an access, where rows allow it

# Below so many bytes no tiles: a launch takes longer than the bytes, in whatever order.
SMALL_BYTES = 32 * 1024
# What the way through shared memory costs, where each memory costs at least 1; and what an operand
# costs in the result's order from which on it is staged.
THROUGH_TILE, STAGED_FROM = 0.1, 1.1


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
    unstaged: tuple[int, ...]
    pack: int
    bounds: tuple[Bound, ...] = ()
    weights: tuple[tuple[int, ...], ...] = ()
    followers: tuple[int, ...] = ()
    across: int = 0

    @classmethod
    def from_loop(
        cls,
        loop: Loop,
        staged: tuple[int, ...],
        unstaged: tuple[int, ...],
        pack: int,
        followers: tuple[int, ...] = (),
    ) -> TileProblem:
        """Return the problem of all axes of a loop."""
        alignments = []
        for first, alignment, width, strides in zip(
            loop.firsts, loop.alignments, loop.widths, loop.strides, strict=True
        ):
            steps = [(n - 1) * s for n, s in zip(loop.sizes, strides, strict=True) if s < 0]
            alignments.append(gcd(SECTOR, alignment, first + sum(steps) * width))
        tails = (loop.bounds, loop.weights) if isinstance(loop, TiledLoop) else ((), ())
        memories = (loop.axes, loop.widths, tuple(alignments), staged, unstaged)
        return cls(*memories, pack, *tails, followers)

    def access_bytes(self, memory: int) -> int:
        """Return bytes of an access, if rows allow it."""
        width = self.widths[memory]
        return self.pack * width if memory == WRITE else max(width, NARROWEST)

    def tile_element_bytes(self, memory: int) -> int:
        """Return bytes of an element in the memory's tile."""
        return self.widths[WRITE if self.across else memory]

    @property
    def staged_bytes_per_element(self) -> int:
        """Bytes of shared memory that an element takes, in all tiles together."""
        return sum([self.tile_element_bytes(memory) for memory in self.staged])


def round_up_to_multiple(number: int, step: int) -> int:
    """Return the least multiple of `step` that is not below a number."""
    return -(-number // step) * step


@dataclass(frozen=True)
class TileAccess:
    """One memory, inside boxes of these extents.

    Attributes:
        order: the box's axes (numbers into `SharedTile.axes`), the fastest in this memory first.
        run: how many of them are contiguous.
        unit: bytes of an access.
        grain: what divides the addresses of rows, in bytes; at most a sector.
        sector: accesses in a sector, or 1 if threads are not shifted to where sectors begin.
        together: whether all rows are shifted by as much; else each is on its own.
        remainder: that of the threads of a row, divided by `sector`.
        slack: how far threads are shifted at most.
        lengths: elements of a run; and of one that ends early, at the end of its last axis.

    """

    order: tuple[int, ...]
    run: int
    unit: int
    lengths: tuple[int, int]
    grain: int = 1
    sector: int = 1
    together: bool = False
    remainder: int = 0
    slack: int = 0

    def threads_per_row(self, accesses: int) -> int:
        """Threads for a row of so many accesses."""
        needed = max(2, accesses + (0 if self.together else self.slack))
        return needed + (self.remainder - needed) % self.sector
