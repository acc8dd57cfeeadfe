"""Boxes of a loop that go through shared memory: their extents, and how each memory walks them.

A box has up to three axes. In each memory its *run* is the axes that are contiguous as far as the
box reaches, the next axis has its *rows*, and the one after that its *planes*. Memory moves in
sectors of 32 bytes, so threads are shifted such that accesses of a warp begin where one begins:

- each row on its own, which leaves threads idle at its ends; or
- the rows of a plane together: a row gets as many threads as leave, in sectors, the remainder that
  the distance of two rows in memory leaves. No thread need be idle then, but a warp may have parts
  of two rows, which fall into the same banks of shared memory.

The first is for accesses of 4 bytes and more, the second for less, where it is threads that are
short. Rows that begin inside a sector cost part of one more either way, so runs are best long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import gcd, log2, prod
from typing import Any

import numpy as np

from tensorlayout.cuda.loops import SECTOR, Axis, Loop

# Bytes of shared memory that a box may take: with the first, eight blocks of 256 threads share a
# multiprocessor of 228 KB; the second is all that a block gets without asking.
ROOMS = (24 * 1024, 48 * 1024)

WRITE, READ = 0, 1

Numbers = np.ndarray[Any, np.dtype[np.int64]]

# Costs are in bytes per byte of the box: 1 for each memory at best. They are of the same kind as
# the counts of the simulator; none of the numbers here has met a GPU yet.

# Boxes of about this many bytes have enough loads under way, and are small enough to have many.
_LIKED_BYTES = 16 * 1024
_LIKED_BLOCKS = 264  # two for each multiprocessor of a large GPU
_SHARED_BANKS = 128  # bytes that one wavefront brings
_PADS = 160  # pitches to choose from

# What the worse of both sides costs once more: they are under way together, and it holds them up.
_WORSE_SIDE = 0.25

# Threads are not shifted if that would leave fewer than this busy, as in rows of a few elements.
_LEAST_BUSY = 0.7

# More for rows of threads that do not fill warps: two rows in a warp fall into the same banks. Rows
# get whole warps where at least this part of the threads has an element.
_SHARED_WARP = 0.05
_WHOLE_WARPS = 0.93


@dataclass(frozen=True)
class Side:
    """One memory, inside boxes of these extents.

    Attributes:
        order: the box's axes (numbers into `Box.axes`), the fastest in this memory first.
        run: how many of them are contiguous.
        unit: bytes of an access.
        grain: what divides the addresses of rows, in bytes; at most a sector.
        sector: accesses in a sector, or 1 if threads are not shifted to where sectors begin.
        single: whether each row is shifted on its own.
        remainder: that of the threads of a row, divided by `sector`.
        slack: how far threads are shifted at most.

    """

    order: tuple[int, ...]
    run: int
    unit: int
    grain: int = 1
    sector: int = 1
    single: bool = False
    remainder: int = 0
    slack: int = 0

    def row(self, accesses: int) -> int:
        """Threads for a row of so many accesses: whole warps, if that leaves few of them idle."""
        needed = accesses + (self.slack if self.single else 0)
        threads = needed + (self.remainder - needed) % self.sector
        warps = _rounded_up(threads, 32)
        whole = self.remainder == 0 and accesses >= _WHOLE_WARPS * warps
        return warps if whole else threads

    def plane(self, rows: int, accesses: int) -> int:
        """Threads for a plane of so many rows."""
        if self.single:
            return self.row(accesses)
        return _rounded_up(rows * self.row(accesses) + self.slack, self.sector)


@dataclass(frozen=True)
class Box:
    """A box of a loop.

    Attributes:
        loop: what is boxed.
        axes: numbers of the loop's axes in the box, at most three, the fastest of the destination
            first.
        extents: of the box along them.

    """

    loop: Loop
    axes: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def elements(self) -> int:
        """How many elements a whole box has."""
        return prod(self.extents)

    @property
    def padded_bytes(self) -> float:
        """Bytes of shared memory, with room for a pitch without bank conflicts.

        An odd pitch takes an element more; of elements narrower than a bank, up to three.
        """
        spare = 1 if self.loop.width >= 4 else 3
        fastest = self.sides[READ].order[0]
        return self.elements * (1 + spare / self.extents[fastest]) * self.loop.width

    @property
    def counts(self) -> tuple[int, ...]:
        """How many boxes there are along each axis."""
        pairs = zip(self._members, self.extents, strict=True)
        return tuple([-(-axis.size // extent) for axis, extent in pairs])

    @property
    def blocks(self) -> int:
        """How many boxes there are."""
        others = [a.size for k, a in enumerate(self.loop.axes) if k not in self.axes]
        return prod(self.counts) * prod(others)

    @property
    def _members(self) -> list[Axis]:
        return [self.loop.axes[k] for k in self.axes]

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """How the destination and the source are walked."""
        return self._side(WRITE), self._side(READ)

    def _side(self, memory: int) -> Side:
        members, width = self._members, self.loop.width
        steps = [axis.strides[memory] for axis in members]
        order = tuple(sorted(range(len(members)), key=lambda k: (steps[k] == 0, abs(steps[k]))))
        if abs(steps[order[0]]) != 1:
            return Side(order, 1, width)
        run = 1
        while run < len(order):
            last, following = order[run - 1], order[run]
            whole = self.extents[last] == members[last].size
            if not whole or abs(steps[following]) != abs(steps[last]) * members[last].size:
                break
            run += 1
        first_rows = self._grain(memory, order, run)
        step = abs(steps[order[run]]) * width if run < len(order) else 0
        grain = gcd(first_rows, step)
        inner, last = self.inner(order, run) * width, order[run - 1]
        fits = gcd(grain, inner * self.extents[last], inner * members[last].size) % 4 == 0
        unit = 4 if width < 4 and fits else width
        sector = max(1, SECTOR // unit)
        if unit >= 4:
            slack = (SECTOR - grain) // unit
            shifted = Side(order, run, unit, grain, sector, single=True, slack=slack)
        else:
            slack, remainder = (SECTOR - first_rows) // unit, step // unit % sector
            shifted = Side(order, run, unit, grain, sector, remainder=remainder, slack=slack)
        length = inner * self.extents[last] // unit
        if length >= _LEAST_BUSY * shifted.row(length):
            return shifted
        return Side(order, run, unit, grain)

    def inner(self, order: Sequence[int], run: int) -> int:
        """Elements of a run along all its axes but the last."""
        return prod([self.extents[k] for k in order[: run - 1]])

    def _grain(self, memory: int, order: Sequence[int], run: int) -> int:
        """What divides the addresses, in bytes, at which the first rows of planes begin."""
        loop, members = self.loop, self._members
        within = {self.axes[k] for k in order[: run + 1]}
        steps = [a.strides[memory] for k, a in enumerate(loop.axes) if k not in within]
        for k in (order[run - 1], *order[run : run + 1]):
            step, extent, size = members[k].strides[memory], self.extents[k], members[k].size
            if extent < size:
                steps.append(extent * step)
                if step < 0:  # the first box, from the low end on, is the one that ends early
                    steps.append(size % extent * step)
        return gcd(loop.alignments[memory], SECTOR, *[s * loop.width for s in steps])

    def cost(self) -> float:
        """Threads per element on both sides, and a little for boxes of an unusual size."""
        sides = [self._side_cost(memory) for memory in (WRITE, READ)]
        cost = sum(sides) + _WORSE_SIDE * (max(sides) - 1)
        cost += 0.015 * abs(log2(self.elements * self.loop.width / _LIKED_BYTES))
        if self.blocks < _LIKED_BLOCKS:
            cost += 0.05 * log2(_LIKED_BLOCKS / self.blocks)
        return cost

    def _side_cost(self, memory: int) -> float:
        """Bytes that threads could move, and sectors begun by rows, per byte of the box."""
        side, width = self.sides[memory], self.loop.width
        step = abs(self._members[side.order[0]].strides[memory])
        if step != 1:
            return min(SECTOR, step * width) / width
        last = side.order[side.run - 1]
        axis, extent = self._members[last], self.extents[last]
        inner = self.inner(side.order, side.run)
        whole, rest = divmod(axis.size, extent)
        row = side.row(inner * extent * width // side.unit)
        threads = whole * row + (side.row(inner * rest * width // side.unit) if rest else 0)
        begun = 0
        if not side.single:
            # Each row may begin inside a sector; each access, if threads are not shifted.
            accesses = max(1, row // 32) if side.sector == 1 and side.unit < SECTOR else 1
            begun = (SECTOR - side.grain) * (whole + (rest > 0)) * accesses
        split = 0.0 if row % 32 == 0 else _SHARED_WARP * min(1.0, 32 / row)
        bytes_of_rows = inner * axis.size * width
        return narrowness(side.unit) + split + (threads * side.unit + begun) / bytes_of_rows

    @cached_property
    def pitches(self) -> tuple[int, ...]:
        """The strides of the box's axes in shared memory, with as few bank conflicts as can be."""
        room = next(room for room in ROOMS if room >= self.padded_bytes) // self.loop.width
        pitches = [p for side in self.sides[::-1] for p in self._pitched(side.order)]
        return fewest_conflicts(self, [p for p in pitches if self._reach(p) <= room])

    def _pitched(self, order: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Strides in this order, with elements left free behind the first axis and the second."""
        sizes = [self.extents[k] for k in order] + [1, 1]
        most = _SHARED_BANKS // self.loop.width
        inner = range(most) if sizes[1] > 1 else range(1)
        outer = range(most) if sizes[2] > 1 else range(1)
        for pads in sorted(product(inner, outer), key=sum)[:_PADS]:
            pitches = [0] * len(self.axes)
            step = 1
            for k, pad in zip(order, (*pads, 0), strict=False):
                pitches[k] = step
                step = step * self.extents[k] + pad
            yield tuple(pitches)

    def _reach(self, pitches: tuple[int, ...]) -> int:
        """Elements of shared memory that these pitches take."""
        return 1 + sum((n - 1) * p for n, p in zip(self.extents, pitches, strict=True))

    @property
    def room(self) -> int:
        """The bytes of shared memory that a block takes, one of `ROOMS`."""
        taken = self._reach(self.pitches) * self.loop.width
        return next(room for room in ROOMS if room >= taken)


def narrowness(unit: int) -> float:
    """What accesses of less than 4 bytes cost more: a warp then moves less than 128 at a time."""
    return 0.1 * (4 / unit - 1) if unit < 4 else 0.0


def choose_box(loop: Loop) -> Box:
    """The box of the least cost, among those with long runs in both memories."""
    boxes = [Box(loop, *found) for found in _candidates(loop)]
    fitting = [box for box in boxes if box.padded_bytes <= ROOMS[-1]]
    return min(fitting, key=lambda box: (box.cost(), box.extents))


# Sectors that a run may have, where the axes are long enough. Whole lines of 128 bytes.
_RUNS = (4, 8, 10, 11, 12, 13, 14, 16, 24, 32, 64, 128, 256, 512, 1024)


def _candidates(loop: Loop) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Axes and extents of boxes to look at; the smallest one always fits."""
    write_order = range(len(loop.axes) - 1, -1, -1)
    moving = [k for k in write_order if loop.axes[k].strides[READ]]
    read_order = sorted(moving, key=lambda k: abs(loop.axes[k].strides[READ]))
    found = set()
    for write_run, read_run in product(_runs(loop, WRITE), _runs(loop, READ)):
        extents: dict[int, int] = {}
        _grow(extents, loop, read_order, read_run)
        _grow(extents, loop, write_order, write_run)
        axes = tuple(sorted(extents, reverse=True))
        for some in (
            [extents[k] for k in axes],
            [_evened(loop.axes[k].size, extents[k]) for k in axes],
        ):
            if prod(some) * loop.width < ROOMS[-1]:
                found.add((axes, tuple(some)))
    return found


def _rounded_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _runs(loop: Loop, memory: int) -> list[int]:
    """Lengths of runs, in elements, for which rows have few idle threads."""
    steps = [abs(a.strides[memory]) * loop.width for a in loop.axes if a.strides[memory]]
    _, *others = sorted(steps or [loop.width])
    if loop.width < 4 and gcd(4, loop.alignments[memory], *others) < 4:
        inside = others[0] % SECTOR if others else 0
    else:
        inside = gcd(SECTOR, loop.alignments[memory], *others) % SECTOR
    runs = [(SECTOR * n - (SECTOR - inside if inside else 0)) // loop.width for n in _RUNS]
    return [run for run in runs if run <= ROOMS[-1] // loop.width]


def _grow(extents: dict[int, int], loop: Loop, order: Sequence[int], run: int) -> None:
    """Lengthen the run along `order` to about `run` elements; no box has more than three axes."""
    done = 1
    for k in order:
        if k not in extents and len(extents) == 3:
            return
        size = loop.axes[k].size
        extents[k] = max(extents.get(k, 1), min(size, -(-run // done)))
        done *= extents[k]
        if extents[k] < size or done >= run:
            return


def _evened(size: int, extent: int) -> int:
    """The extent with which as many boxes have no small one left over; whole sectors still."""
    count = -(-size // extent)
    even = -(-size // count)
    grain = gcd(extent, SECTOR)
    return min(extent, -(-even // grain) * grain)


def fewest_conflicts(box: Box, pitches: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The pitches that take the fewest wavefronts in shared memory, the first of them."""
    lanes = min(32, _SHARED_BANKS // box.loop.width)
    indices = np.concatenate([_indices(box, memory, lanes) for memory in (WRITE, READ)])
    best, fewest = pitches[0], len(indices) * lanes
    for start in range(0, len(pitches), 16):
        some = pitches[start : start + 16]
        wavefronts = _wavefronts(indices, np.asarray(some), box.loop.width)
        if wavefronts.min() < fewest:
            best, fewest = some[int(wavefronts.argmin())], int(wavefronts.min())
        if fewest == len(indices):
            break
    return best


def _wavefronts(indices: Numbers, pitches: Numbers, width: int) -> Numbers:
    """For each of the pitches, the wavefronts of all accesses together.

    A wavefront brings one word of each of 32 banks to all lanes that want it; elements wider than a
    word go by halves or quarters of a warp, through as many pairs or quadruples of banks.
    """
    banks = indices.shape[2]
    places = np.tensordot(pitches, indices, axes=(1, 1))  # (pitches, accesses, lanes)
    words = places * width // max(width, 4)
    by_bank = np.sort(words % banks << 32 | words, axis=-1)
    fresh = np.ones(by_bank.shape, np.int64)
    fresh[..., 1:] = by_bank[..., 1:] != by_bank[..., :-1]
    row = np.arange(fresh[..., 0].size).reshape(*fresh.shape[:-1], 1) * banks
    found = np.bincount((row + (by_bank >> 32)).ravel(), fresh.ravel(), row.size * banks)
    total: Numbers = found.reshape(*fresh.shape[:-1], banks).max(axis=-1).sum(axis=-1)
    return total


def _indices(box: Box, memory: int, lanes: int) -> Numbers:
    """What some warps touch in shared memory, `lanes` at a time: (accesses, axes, lanes)."""
    side, extents = box.sides[memory], box.extents
    order, run = side.order, side.run
    per = side.unit // box.loop.width
    length = prod([extents[k] for k in order[:run]]) // per
    given = side.row(length)
    rows = extents[order[run]] if run < len(order) else 1
    planes = extents[order[run + 1]] if run + 1 < len(order) else 1
    if side.single:
        rows, planes = 1, rows * planes
    plane_threads = side.plane(rows, length)
    warps = -(-planes * plane_threads // 32)
    some = np.unique(np.linspace(0, warps - 1, 32).astype(np.int64))
    threads = (some[:, None] * 32 + np.arange(32)).reshape(-1, lanes)
    plane, rest = np.divmod(threads, plane_threads)
    row, lane = np.divmod(rest, given)
    row, lane = np.minimum(row, rows - 1), np.minimum(lane, length - 1)  # idle: as their neighbours
    row += plane * rows
    # Of a pack, two elements are enough to look at.
    along = np.concatenate([lane * per + j for j in range(min(per, 2))])
    rows_of = np.concatenate([row] * min(per, 2))
    index = np.empty((len(along), len(extents), lanes), np.int64)
    for numbers, rest in ((order[:run], along), (order[run:], rows_of)):
        for k in numbers:
            rest, index[:, k] = np.divmod(rest, extents[k])
    return index
