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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import numpy as np

from tensorlayout.cuda.engine.launch import SECTOR
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.layout import Axis, Loop
from tensorlayout.layout.digits import Bound, TiledLoop

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


# ---- Walks of threads

Numbers = np.ndarray[Any, np.dtype[np.int64]]
SHARED_BANKS = 128  # bytes that one wavefront brings
_SOME_WARPS, _MORE_WARPS = 6, 32  # on which pitches are tried, and the best of these again
_BEST = 8

# Rows get whole warps where at least this part of the threads has an element.
_WHOLE_WARPS = 0.93


@dataclass(frozen=True)
class TileAccess:
    """One memory, inside boxes of these extents.

    Attributes:
        order: the box's axes (numbers into `SharedTile.axes`), the fastest in this memory first.
        run: how many of them are contiguous.
        unit: bytes of an access.
        grain: what divides the addresses of rows, in bytes; at most a sector.
        sector: accesses in a sector, or 1 if threads are not shifted to where sectors begin.
        single: whether each row is shifted on its own.
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
    single: bool = False
    remainder: int = 0
    slack: int = 0

    def row(self, accesses: int) -> int:
        """Threads for a row of so many accesses: whole warps, if that leaves few of them idle."""
        needed = max(2, accesses + (self.slack if self.single else 0))
        threads = needed + (self.remainder - needed) % self.sector
        warps = rounded_up(threads, 32)
        whole = self.remainder == 0 and accesses >= _WHOLE_WARPS * warps
        return warps if whole else threads

    def plane(self, rows: int, accesses: int) -> int:
        """Threads for a plane of so many rows."""
        if self.single:
            return self.row(accesses)
        return rounded_up(rows * self.row(accesses) + self.slack, self.sector)

    def touched(
        self, extents: Sequence[int], per: int, width: int, turns: Sequence[int], most: int
    ) -> Numbers:
        """What some warps touch in shared memory, at most so many: (accesses, axes, lanes).

        `per`: elements of an access. `turns`: where in a pack each quarter of a warp begins. Lanes:
        as many as a wavefront serves, of elements of `width` bytes.
        """
        lanes = min(32, SHARED_BANKS // width)
        order, run = self.order, self.run
        length = prod([extents[k] for k in order[:run]]) // per
        given = self.row(length)
        rows = extents[order[run]] if run < len(order) else 1
        planes = prod([extents[k] for k in order[run + 1 :]])
        if self.single:
            rows, planes = 1, rows * planes
        plane_threads = self.plane(rows, length)
        warps = -(-planes * plane_threads // 32)
        some = np.unique(np.linspace(0, warps - 1, most).astype(np.int64))
        threads = (some[:, None] * 32 + np.arange(32)).reshape(-1, lanes)
        plane, rest = np.divmod(threads, plane_threads)
        row, lane = np.divmod(rest, given)
        # Idle threads are as their neighbours.
        row, lane = np.minimum(row, rows - 1), np.minimum(lane, length - 1)
        row += plane * rows
        # Of a pack, two elements are enough to look at.
        first = np.asarray(turns)[threads % 32 // 8] if turns else 0
        along = np.concatenate([lane * per + (first + j) % per for j in range(min(per, 2))])
        rows_of = np.concatenate([row] * min(per, 2))
        index = np.empty((len(along), len(extents), lanes), np.int64)
        for numbers, rest in ((order[:run], along), (order[run:], rows_of)):
            for k in numbers:
                rest, index[:, k] = np.divmod(rest, extents[k])
        return index


# ---- Bank conflicts


def fewest_conflicts(
    touched: Callable[[int], Numbers], pitches: Numbers, width: int
) -> tuple[tuple[int, ...], float]:
    """The pitches of a tile that take the fewest wavefronts in shared memory, and how many.

    `touched`: elements that so many warps touch at once, (accesses, axes, lanes), each of `width`
    bytes. `pitches`: (choices, axes). All are tried on a few warps, and the best of them on more.
    """
    some, more = touched(_SOME_WARPS), touched(_MORE_WARPS)
    tried = []
    for start in range(0, len(pitches), 32):
        tried.append(_wavefronts(some, pitches[start : start + 32], width))
        if tried[-1].min() == len(some):
            first = start + int(tried[-1].argmin())
            if _wavefronts(more, pitches[first : first + 1], width)[0] == len(more):
                return tuple(pitches[first].tolist()), 1.0
    best = np.sort(np.argsort(np.concatenate(tried), kind="stable")[:_BEST])
    found = _wavefronts(more, pitches[best], width)
    return tuple(pitches[best[found.argmin()]].tolist()), int(found.min()) / len(more)


def _wavefronts(indices: Numbers, pitches: Numbers, width: int) -> Numbers:
    """For each of the pitches, the wavefronts of all accesses together.

    A wavefront brings one word of each of 32 banks to all lanes that want it; elements wider than a
    word go by halves or quarters of a warp, through as many pairs or quadruples of banks.
    """
    banks = indices.shape[2]
    # In floating point, where products are fast; places are far below 2**24.
    places = np.tensordot(pitches.astype(np.float32), indices.astype(np.float32), axes=(1, 1))
    words = places.astype(np.int32) * width // max(width, 4)  # (pitches, accesses, lanes)
    by_bank = np.sort((words % banks << 20) | words, axis=-1)
    fresh = np.ones(by_bank.shape, bool)
    np.not_equal(by_bank[..., 1:], by_bank[..., :-1], out=fresh[..., 1:])
    row = np.arange(fresh[..., 0].size).reshape(*fresh.shape[:-1], 1) * banks
    found = np.bincount((row + (by_bank >> 20))[fresh], minlength=row.size * banks)
    total: Numbers = found.reshape(*fresh.shape[:-1], banks).max(axis=-1).sum(axis=-1)
    return total
