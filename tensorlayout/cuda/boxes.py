"""Boxes of a loop that go through shared memory: their extents, and how each memory walks them.

A box has up to three axes. In each memory its *run* is the axes that are contiguous as far as the
box reaches, and its other axes are *rows*. Threads are given to a row so that those of one sector
of 32 bytes are of one access; where rows begin inside a sector, a row has a few idle threads at its
ends. So the cost of a side is the threads it is given, over those that have an element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import gcd, log2, prod

from tensorlayout.cuda.loops import SECTOR, Axis, Loop

# Bytes of shared memory that a box may take: with the first, eight blocks of 256 threads share a
# multiprocessor of 228 KB; the second is all that a block gets without asking.
ROOMS = (24 * 1024, 48 * 1024)

WRITE, READ = 0, 1

# What shared memory costs, in parts of the bytes of one memory. The estimates are of the same kind as
# the counts of the simulator; none has met a GPU yet.
THROUGH_TILE = 0.1

# Boxes of about this many bytes have enough loads under way, and are small enough to have many.
_LIKED_BYTES = 16 * 1024
_LIKED_BLOCKS = 264  # two for each multiprocessor of a large GPU
_SHARED_BANKS = 128  # bytes that one wavefront brings

# A side whose rows are not shifted to fit sectors if that would leave more threads idle than this.
_MOST_IDLE = 0.4


@dataclass(frozen=True)
class Side:
    """One memory, inside boxes of these extents.

    Attributes:
        order: the box's axes (numbers into `Box.axes`), the fastest in this memory first.
        run: how many of them are contiguous.
        unit: bytes of an access.
        shift: whether threads are shifted to where sectors begin.
        slack: idle threads that this needs at most.

    """

    order: tuple[int, ...]
    run: int
    unit: int
    shift: bool
    slack: int

    @property
    def per_sector(self) -> int:
        """Accesses in a sector, as threads are shifted by."""
        return max(1, SECTOR // self.unit) if self.shift else 1

    def lanes(self, accesses: int) -> int:
        """Threads for a row of so many accesses."""
        return -(-(accesses + self.slack) // self.per_sector) * self.per_sector


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
        order = sorted(range(len(members)), key=lambda k: (steps[k] == 0, abs(steps[k])))
        if abs(steps[order[0]]) != 1:
            return Side(tuple(order), 1, width, shift=False, slack=0)
        run = 1
        while run < len(order):
            last, following = order[run - 1], order[run]
            whole = self.extents[last] == members[last].size
            if not whole or abs(steps[following]) != abs(steps[last]) * members[last].size:
                break
            run += 1
        grain = self._grain(memory, order, run)
        last = order[run - 1]
        inner = prod([self.extents[k] for k in order[: run - 1]]) * width
        fits = gcd(grain, inner * self.extents[last], inner * members[last].size) % 4 == 0
        unit = 4 if width < 4 and fits else width
        slack = (SECTOR - min(grain, SECTOR)) // unit
        length = inner * self.extents[last] // unit
        shifted = Side(tuple(order), run, unit, shift=True, slack=slack)
        if length / shifted.lanes(length) >= 1 - _MOST_IDLE:
            return shifted
        return Side(tuple(order), run, unit, shift=False, slack=0)

    def _grain(self, memory: int, order: Sequence[int], run: int) -> int:
        """What divides the addresses, in bytes, at which runs begin."""
        loop, members = self.loop, self._members
        within = {self.axes[k] for k in order[:run]}
        steps = [a.strides[memory] for k, a in enumerate(loop.axes) if k not in within]
        last = order[run - 1]
        step, extent, size = members[last].strides[memory], self.extents[last], members[last].size
        if extent < size:
            steps.append(extent * step)
            if step < 0:  # the first box, from the low end on, is the one that ends early
                steps.append(size % extent * step)
        return gcd(loop.alignments[memory], SECTOR, *[s * loop.width for s in steps])

    def cost(self) -> float:
        """Threads per element on both sides, and a little for boxes of an unusual size."""
        cost = THROUGH_TILE + sum(self._side_cost(memory) for memory in (WRITE, READ))
        cost += 0.03 * abs(log2(self.elements * self.loop.width / _LIKED_BYTES))
        if self.blocks < _LIKED_BLOCKS:
            cost += 0.05 * log2(_LIKED_BLOCKS / self.blocks)
        return cost

    def _side_cost(self, memory: int) -> float:
        side, width = self.sides[memory], self.loop.width
        last = side.order[side.run - 1]
        axis, extent = self._members[last], self.extents[last]
        inner = prod([self.extents[k] for k in side.order[: side.run - 1]])
        if not side.shift:
            step = abs(self._members[side.order[0]].strides[memory])
            if step != 1:
                return min(SECTOR, step * width) / width
            run = inner * extent * width
            grain = self._grain(memory, side.order, side.run)
            return narrowness(side.unit) + (run + SECTOR - grain) / run
        per = side.unit // width
        whole, rest = divmod(axis.size, extent)
        lanes = whole * side.lanes(inner * extent // per)
        lanes += side.lanes(inner * rest // per) if rest else 0
        return narrowness(side.unit) + lanes * per / (inner * axis.size)

    @cached_property
    def pitches(self) -> tuple[int, ...]:
        """The strides of the box's axes in shared memory, with as few bank conflicts as can be."""
        taken = self.elements * self.loop.width
        room = next(r for r in ROOMS if _usable(r) >= taken) // self.loop.width
        accesses = [*_accesses(self, WRITE), *_accesses(self, READ)]
        best, fewest = self._pitched((0, 0)), float("inf")
        for pads in self._pads():
            pitches = self._pitched(pads)
            slowest = self.sides[READ].order[-1]
            if pitches[slowest] * self.extents[slowest] > room:
                continue
            conflicts = _conflicts(accesses, pitches, self.loop.width)
            if conflicts < fewest:
                best, fewest = pitches, conflicts
            if conflicts <= 1.03:
                break
        return best

    def _pads(self) -> Iterator[tuple[int, int]]:
        """Elements left free behind the fastest axis of the source and behind the next one."""
        order = self.sides[READ].order
        sizes = [self.extents[k] for k in order] + [1, 1]
        most = max(1, _SHARED_BANKS // self.loop.width)
        inner = range(most + 1) if sizes[1] > 1 else range(1)
        outer = range(most + 1) if sizes[2] > 1 else range(1)
        pairs = sorted(product(inner, outer), key=sum)
        return iter(pairs[:200])

    def _pitched(self, pads: tuple[int, int]) -> tuple[int, ...]:
        pitches = [0] * len(self.axes)
        step = 1
        for k, pad in zip(self.sides[READ].order, (*pads, 0), strict=False):
            pitches[k] = step
            step = step * self.extents[k] + pad
        return tuple(pitches)

    @property
    def room(self) -> int:
        """The bytes of shared memory that a block takes, one of `ROOMS`."""
        slowest = self.sides[READ].order[-1]
        taken = self.pitches[slowest] * self.extents[slowest] * self.loop.width
        return next(room for room in ROOMS if room >= taken)


def narrowness(unit: int) -> float:
    """What accesses of less than 4 bytes cost more: a warp then moves less than 128 at a time."""
    return 0.1 * (4 / unit - 1) if unit < 4 else 0.0


def choose_box(loop: Loop) -> Box:
    """The box of the least cost, among those with long runs in both memories."""
    found = {(box.axes, box.extents): box for box in _candidates(loop)}
    return min(found.values(), key=lambda box: (box.cost(), box.extents))


# Sectors that a run may have.
_RUNS = (1, 2, 4, 8, 10, 11, 12, 13, 14, 16, 24, 32, 64, 128, 256, 512, 1024)


def _candidates(loop: Loop) -> Iterator[Box]:
    write_order = range(len(loop.axes) - 1, -1, -1)
    moving = [k for k in write_order if loop.axes[k].strides[READ]]
    read_order = sorted(moving, key=lambda k: abs(loop.axes[k].strides[READ]))
    for write_run, read_run in product(_runs(loop, WRITE), _runs(loop, READ)):
        extents: dict[int, int] = {}
        _grow(extents, loop, read_order, read_run)
        _grow(extents, loop, write_order, write_run)
        for even in (False, True):
            made = {k: _evened(loop.axes[k].size, n) if even else n for k, n in extents.items()}
            if prod(made.values()) * loop.width <= _usable(ROOMS[-1]):
                axes = tuple(sorted(made, reverse=True))
                yield Box(loop, axes, tuple([made[k] for k in axes]))


def _usable(room: int) -> int:
    """What elements may take of a room; the rest is for pitches without bank conflicts."""
    return room * 15 // 16


def _runs(loop: Loop, memory: int) -> list[int]:
    """Lengths of runs, in elements, that make whole sectors of threads."""
    fastest = min(range(len(loop.axes)), key=lambda k: abs(loop.axes[k].strides[memory]) or 2**63)
    others = [a.strides[memory] * loop.width for k, a in enumerate(loop.axes) if k != fastest]
    grain = gcd(loop.alignments[memory], SECTOR, *others)
    runs = [(SECTOR * sectors - (SECTOR - grain)) // loop.width for sectors in _RUNS]
    return [run for run in runs if 0 < run <= ROOMS[-1] // loop.width]


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


def _accesses(box: Box, memory: int) -> Iterator[list[tuple[int, ...]]]:
    """What some warps touch in shared memory at a time: indices along the box's axes."""
    side, extents = box.sides[memory], box.extents
    order, run = side.order, side.run
    per = side.unit // box.loop.width
    length = prod([extents[k] for k in order[:run]]) // per
    lanes = side.lanes(length)
    rows = prod([extents[k] for k in order[run:]])
    warps = -(-rows * lanes // 32)
    for warp in sorted({0, 1, warps // 3, warps // 2, warps - 2}):
        if not 0 <= warp < warps:
            continue
        places = [divmod(thread, lanes) for thread in range(32 * warp, 32 * warp + 32)]
        for j in range(min(per, 2)):
            yield [
                _index(side, extents, row, lane * per + j)
                for row, lane in places
                if row < rows and lane < length
            ]


def _index(side: Side, extents: tuple[int, ...], row: int, along: int) -> tuple[int, ...]:
    index = [0] * len(extents)
    for numbers, value in ((side.order[: side.run], along), (side.order[side.run :], row)):
        rest = value
        for k in numbers:
            rest, index[k] = divmod(rest, extents[k])
    return tuple(index)


def _conflicts(
    accesses: Sequence[list[tuple[int, ...]]], pitches: tuple[int, ...], width: int
) -> float:
    """Wavefronts over the fewest possible ones. Wide elements go by halves or quarters of a warp."""
    lanes = min(32, _SHARED_BANKS // width)
    words = max(1, width // 4)
    taken = least = 0
    for access in accesses:
        for start in range(0, len(access), lanes):
            banks: dict[int, set[int]] = {}
            for index in access[start : start + lanes]:
                place = sum(i * p for i, p in zip(index, pitches, strict=True))
                first = place * width // 4
                banks.setdefault(first // words % (32 // words), set()).add(first)
            taken += max(map(len, banks.values()))
            least += 1
    return taken / least if least else 1.0
