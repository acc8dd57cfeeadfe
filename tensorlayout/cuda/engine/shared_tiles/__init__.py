"""Boxes of a loop that are staged in shared memory: their extents, and how each memory walks them.

A box has up to three axes; otherwise it is *deep*. In each memory, its *run* is the axes that are
contiguous inside the box, its *rows* are along the next axis, and its *planes* along the others.
Memory moves in sectors of 32 bytes, so threads are shifted such that accesses of a warp begin where
a sector begins:

- each row separately, which leaves threads idle at the ends of rows; or
- all rows of a plane *together*: the number of threads of a row equals the distance of two rows
  modulo a sector. No thread has to be idle then, but a warp may have parts of two rows,
  which can fall into the same banks of shared memory.

The second way is for accesses of less than 4 bytes in boxes of one plane, where threads are the
bottleneck. Either way, a row that begins inside a sector costs part of one more, so long runs are
best.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tensorlayout.cuda.engine.memory import SECTOR
from tensorlayout.cuda.engine.structs import constant_value
from tensorlayout.layout import Axis, Loop
from tensorlayout.layout.digits import Bound, TiledLoop

# Bytes of shared memory for a box: with the first size, eight blocks of 256 threads share a
# multiprocessor with 228 KB; the second is the limit of a block without opting in to more.
ROOMS = (24 * 1024, 48 * 1024)

WRITE, READ = 0, 1
# Most axes of a usual box, and of a deep one.
USUAL = 3

DEEPEST = constant_value("include/tiles.cuh", "MOST_AXES")
NARROWEST = 4  # least bytes of an access, if rows allow it

# No tiles below this many bytes: the launch itself takes longer than moving them in any order.
SMALL_BYTES = 32 * 1024
# Cost of shared memory, relative to the least cost of each memory, 1; and the cost of reads in the
# result's order from which on an operand is staged.
THROUGH_TILE, STAGED_FROM = 0.1, 1.1


@dataclass(frozen=True, slots=True)
class TileProblem:
    """Axes to split into boxes, and the memories along them; the first memory is written.

    Attributes:
        axes: from the slowest in the destination to the fastest; its strides are positive.
        widths: bytes of an element of each memory.
        alignments: for each memory the power of two, at most `SECTOR`, that divides the address of
            its lowest slot.
        staged: numbers of the memories that go through shared memory.
        unstaged: numbers of memories that are read directly where the destination is written.
        pack: most elements of an access to the destination.
        bounds: bounds of dimensions whose axes reach beyond the last index.
        weights: for each bound and axis, how far a step along the axis moves the bounded index.
        followers: numbers of memories with tables of their own along the destination.
        across: 0, or for *squares* of elements of less than 4 bytes, the distance of their rows in
            elements of the source: a word of the destination has one element of each row.

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
        """Return the problem with all axes of a loop."""
        alignments = []
        for first, alignment, width, strides in zip(
            loop.firsts, loop.alignments, loop.widths, loop.strides, strict=True
        ):
            steps = [(n - 1) * s for n, s in zip(loop.sizes, strides, strict=True) if s < 0]
            alignments.append(gcd(SECTOR, alignment, first + sum(steps) * width))
        tails = (loop.bounds, loop.weights) if isinstance(loop, TiledLoop) else ((), ())
        memories = (loop.axes, loop.widths, tuple(alignments), staged, unstaged)
        return cls(*memories, pack, *tails, followers)

    def wanted_access_bytes(self, memory: int) -> int:
        """Return the bytes of an access to a memory, if its rows allow it."""
        width = self.widths[memory]
        return self.pack * width if memory == WRITE else max(width, NARROWEST)

    def tile_element_bytes(self, memory: int) -> int:
        """Return the bytes of an element in a memory's tile."""
        return self.widths[WRITE if self.across else memory]

    @property
    def staged_bytes_per_element(self) -> int:
        """Bytes of shared memory that an element takes, in all tiles together."""
        return sum([self.tile_element_bytes(memory) for memory in self.staged])


def round_up_to_multiple(number: int, step: int) -> int:
    """Return `number` rounded up to a multiple of `step`."""
    return -(-number // step) * step


@dataclass(frozen=True)
class TileAccess:
    """Access pattern of one memory inside boxes.

    Attributes:
        order: the box's axes (indices into `SharedTile.axes`), the fastest in this memory first.
        run: number of contiguous axes.
        unit: bytes of an access.
        grain: common divisor of the addresses of rows, in bytes; at most a sector.
        sector: accesses per sector, or 1 if threads are not shifted to the start of sectors.
        together: True if all rows are shifted by the same amount; otherwise each row separately.
        remainder: number of threads of a row modulo `sector`.
        slack: largest shift of threads.
        lengths: elements of a run, and of a run that ends early, at the end of its last axis.

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
        """Return the threads for a row with this many accesses."""
        needed = max(2, accesses + (0 if self.together else self.slack))
        return needed + (self.remainder - needed) % self.sector
