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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import gcd, inf, lcm, log2, prod, sqrt
from typing import Any

import numpy as np

from tensorlayout.cuda.engine.launch import BLOCK
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.layout.digits import Bound
from tensorlayout.layout.loop import Axis, Loop
from tensorlayout.layout.once import cached_property

# Bytes of shared memory that a box may take: with the first, eight blocks of 256 threads share a
# multiprocessor of 228 KB; the second is all that a block gets without asking.
ROOMS = (24 * 1024, 48 * 1024)

WRITE, READ = 0, 1

# Axes of a box; and of a deep one.
_USUAL = 3
DEEPEST = constant("tiles.cuh", "MOST_AXES")

# For some memories, two bytes of shared memory where tables begin.
_Tables = dict[int, tuple[int, int]]

Numbers = np.ndarray[Any, np.dtype[np.int64]]

# Costs are in bytes per byte of the box: 1 for each memory at best. They are of the same kind as
# the counts of the simulator; none of the numbers here has met a GPU yet.

# Bytes of boxes: the most that are liked have enough loads under way. A block issues some 350
# instructions for each thread before the first load, then 36 for each 4 bytes; but where blocks are
# few, most of the time is waited for memory. So boxes grow with the root of the tensor's bytes: of
# 4 MiB there are 256 with 16 KiB each, of 256 KiB there are 64 with 4.
_LIKED_BYTES, _LIKED_ROOT = 16 * 1024, 64
_SIZE = 0.02  # what twice or half as many cost
_NARROWEST = 4  # bytes of an access, where rows allow it
_SHARED_BANKS = 128  # bytes that one wavefront brings
_PADS, _DEEP_PADS = 160, 64  # pitches to choose from, for each order of the axes
_SOME_WARPS, _MORE_WARPS = 6, 32  # on which pitches are tried, and the best of these again
_BEST = 8

# What each access of shared memory costs that takes twice as long; and how many boxes' pitches are
# looked for, until there is one without conflicts.
_CONFLICT = 0.15
_TRIED = 2

# What a deep box costs more: its runs have several axes, and its tables take longer.
_DEEP = 0.1

# Nothing is gained by a deep box where another costs no more than this above the best.
_GOOD = 0.2

# What the worse of both sides costs once more: they are under way together, and it holds them up.
_WORSE_SIDE = 0.25

# Threads are not shifted if that would leave fewer than this busy, as in rows of a few elements.
_LEAST_BUSY = 0.7

# More for rows of threads that do not fill warps: two rows in a warp fall into the same banks. Rows
# get whole warps where at least this part of the threads has an element.
_SHARED_WARP = 0.05
_WHOLE_WARPS = 0.93


@dataclass(frozen=True, slots=True)
class Nest:
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
    deepest: int = _USUAL
    bounds: tuple[Bound, ...] = ()
    weights: tuple[tuple[int, ...], ...] = ()
    followers: tuple[int, ...] = ()
    across: int = 0

    @property
    def walked(self) -> tuple[int, ...]:
        """Numbers of the memories whose places in a box are worked out."""
        return (WRITE, *self.staged, *self.beside)

    def unit(self, memory: int) -> int:
        """Bytes of an access, if rows allow it."""
        width = self.widths[memory]
        return self.pack * width if memory == WRITE else max(width, _NARROWEST)

    def tile_width(self, memory: int) -> int:
        """Bytes of an element in the memory's tile."""
        return self.widths[WRITE if self.across else memory]

    @property
    def staged_bytes(self) -> int:
        """Of an element, in shared memory."""
        return sum([self.tile_width(memory) for memory in self.staged])


def box_of_copy(loop: Loop) -> Box | None:
    """The box of a loop over a destination and a source: of squares, where all is aligned."""
    pack = max(1, _NARROWEST // loop.width)
    squares = _squares(loop, pack)
    found = choose_box(squares) if squares is not None else None
    if found is not None and found.cost() <= 2 + _GOOD:
        return found
    plain = choose_box(Nest(loop.axes, loop.widths, loop.alignments, (READ,), (), pack, DEEPEST))
    return min([box for box in (found, plain) if box is not None], key=Box.cost, default=None)


def _squares(loop: Loop, pack: int) -> Nest | None:
    """The nest over words of the destination."""
    *slower, last = loop.axes
    along, across = last.strides
    steps = [axis.strides[WRITE] for axis in slower]
    whole = gcd(loop.alignments[WRITE], loop.width * gcd(last.size, *steps)) % _NARROWEST == 0
    sectors = gcd(loop.alignments[READ], across * loop.width) % SECTOR == 0
    rows = any(abs(axis.strides[READ]) == 1 for axis in slower)
    if pack == 1 or along != 1 or not (across and whole and sectors and rows):
        return None
    words = loop.in_packs(pack, (WRITE,))
    axes = words.axes if last.size > pack else words.axes[:-1]
    return Nest(axes, words.widths, loop.alignments, (READ,), (), 1, DEEPEST, across=across)


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
    """A box of a nest.

    Attributes:
        nest: what is boxed.
        axes: numbers of the nest's axes in the box, the fastest of the destination first.
        extents: of the box along them.

    """

    nest: Nest
    axes: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def is_deep(self) -> bool:
        """Whether it has more than three axes."""
        return len(self.axes) > _USUAL

    @property
    def elements(self) -> int:
        """How many elements a whole box has."""
        return prod(self.extents)

    @property
    def has_words(self) -> bool:
        """Whether rows of squares are words."""
        return not self.nest.across or self.sides[READ].unit == _NARROWEST

    @property
    def padded_bytes(self) -> float:
        """Bytes of shared memory, with room for pitches without bank conflicts."""
        return self._beside + sum([self._padded_bytes(memory) for memory in self.nest.staged])

    @property
    def _beside(self) -> int:
        """Bytes of tables, and those that are left free: all begin at multiples of 16."""
        tables = sum([sum(self._table_bytes(memory)) for memory in self.sides])
        tables += len(self.nest.followers) * sum(self._follower_bytes)
        return WIDEST * len(self.nest.staged) + tables

    def _table_bytes(self, memory: int) -> tuple[int, int]:
        """Of the rows of a side; and of places along its run."""
        side, period = self.sides[memory], self.period(memory)
        run = prod([self.extents[k] for k in side.order[: side.run]])
        places = 2 * period if period > 1 else 0
        rows = self.elements // run + self.spare_rows(memory)
        return _rounded_up(8 * rows, WIDEST), _rounded_up(places, WIDEST)

    def is_together(self, memory: int) -> bool:
        """Whether no rows but those along one dimension are shifted."""
        side = self.sides[memory]
        groups = prod([self.extents[k] for k in side.order[side.run + 1 :]])
        return groups == 1 and side.slack <= self._shortest_row(memory)

    @property
    def _follower_bytes(self) -> tuple[int, int]:
        """As `_table_bytes`, of a memory that has tables along the destination."""
        order, run = self.sides[WRITE].order, self.sides[WRITE].run
        rows = self.elements // prod([self.extents[k] for k in order[:run]])
        return _rounded_up(4 * rows, WIDEST), _rounded_up(4 * self.period(WRITE), WIDEST)

    @property
    def turns(self) -> tuple[int, ...]:
        """With which column of a square each quarter of a warp begins, for other banks than others.

        Columns are one bank apart, and so are the rows of a warp that has several.
        """
        lanes, columns = self._shortest_row(READ), _NARROWEST // self.nest.widths[READ]
        row = lanes if 32 % lanes == 0 else 32
        return tuple([(lane * columns // 32 - lane // row) % columns for lane in range(0, 32, 8)])

    def spare_rows(self, memory: int) -> int:
        """Rows of the last threads' turn that the box may not have, in the table of a side."""
        return 2 + BLOCK // self._shortest_row(memory)

    def _shortest_row(self, memory: int) -> int:
        """Threads of a row, in a box that ends early."""
        side, width = self.sides[memory], self.nest.widths[memory]
        return side.row(min(side.lengths) * width // side.unit)

    def period(self, memory: int) -> int:
        """After how many elements of a run, in whole accesses, places in the tile repeat."""
        side = self.sides[memory]
        inner = self.inner(side.order, side.run)
        return lcm(inner, side.unit // self.nest.widths[memory]) if inner > 1 else 1

    def _padded_bytes(self, memory: int) -> float:
        """Of one tile: an odd pitch takes an element more; of narrow elements, up to three."""
        width = self.nest.tile_width(memory)
        spare = 1 if width >= 4 else 3
        side = self.sides[memory]
        run = self.inner(side.order, side.run + 1 if self.is_deep else 2)
        return self.elements * (1 + spare / run) * width

    @property
    def counts(self) -> tuple[int, ...]:
        """How many boxes there are along each axis."""
        pairs = zip(self._members, self.extents, strict=True)
        return tuple([-(-axis.size // extent) for axis, extent in pairs])

    @property
    def blocks(self) -> int:
        """How many boxes there are."""
        others = [a.size for k, a in enumerate(self.nest.axes) if k not in self.axes]
        return prod(self.counts) * prod(others)

    @property
    def _members(self) -> list[Axis]:
        return [self.nest.axes[k] for k in self.axes]

    @cached_property
    def sides(self) -> dict[int, Side]:
        """How the destination and the staged memories are walked."""
        return {memory: self._side(memory) for memory in (WRITE, *self.nest.staged)}

    def _side(self, memory: int) -> Side:
        members, width = self._members, self.nest.widths[memory]
        steps = [axis.strides[memory] for axis in members]
        order = tuple(sorted(range(len(members)), key=lambda k: (steps[k] == 0, abs(steps[k]))))
        if abs(steps[order[0]]) != 1:
            return Side(order, 1, width, self._lengths(memory, order, 1))
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
        unit = self.nest.unit(memory)
        lengths = self._lengths(memory, order, run)
        fits = gcd(grain, inner * self.extents[last], lengths[1] * width) % unit == 0
        if not fits or (memory == WRITE and not self._fit_beside(order, run)):
            unit = width
        if unit > width and not self._whole_packs(order, unit // width):
            unit = width
        sector = max(1, SECTOR // unit)
        length = lengths[0] * width // unit
        walked = (order, run, unit, lengths, grain, sector)
        alone = Side(*walked, single=True, slack=(SECTOR - grain) // unit)
        remainder, slack = step // unit % sector, (SECTOR - first_rows) // unit
        together = Side(*walked, remainder=remainder, slack=slack)
        shifted = alone if unit >= 4 or self._busier(alone, together, length) else together
        if length >= _LEAST_BUSY * shifted.row(length):
            return shifted
        return Side(order, run, unit, lengths, grain)

    def _lengths(self, memory: int, order: Sequence[int], run: int) -> tuple[int, int]:
        """Elements of a run; and of one in the last box along its last axis.

        If all axes of a bounded dimension are in the run, it is the slowest part of it, and it runs
        forwards, then the run ends where the dimension does.
        """
        last = order[run - 1]
        axis, extent = self._members[last], self.extents[last]
        inner = self.inner(order, run)
        ends = [inner * (axis.size % extent or extent)]
        for bound, weights in zip(self.nest.bounds, self.nest.weights, strict=True):
            bounded = [k for k in order[:run] if weights[self.axes[k]]]
            if any(self._members[k].strides[memory] < 0 for k in bounded):
                continue
            steps = [weights[self.axes[k]] for k in bounded]
            whole = len(bounded) == sum([weight != 0 for weight in weights])
            if not bounded or not whole or tuple(bounded) != tuple(order[run - len(bounded) : run]):
                continue
            sizes = [self.extents[k] for k in bounded]
            if steps != [steps[0] * prod(sizes[:k]) for k in range(len(steps))] or steps[0] < 0:
                continue
            start = (self.counts[last] - 1) * extent * steps[-1]
            left = (bound.written if memory == WRITE else bound.size) - start
            if left > 0:  # else all of the last box is padding
                faster = prod([self.extents[k] for k in order[: run - len(bounded)]])
                ends.append(faster * -(-left // steps[0]))
        early = min(ends)
        return inner * extent if self.counts[last] > 1 else early, early

    def _idle(self, memory: int) -> float:
        """By how much threads are more than elements, in runs with a part of a bounded dimension.

        Only of a dimension that is strided in this memory: in tiles, it is so in any box.
        """
        side, found = self.sides[memory], 1.0
        inside = {self.axes[k] for k in side.order[: side.run]}
        for bound, weights in zip(self.nest.bounds, self.nest.weights, strict=True):
            axes = [k for k, weight in enumerate(weights) if weight]
            steps = {self.nest.axes[k].strides[memory] / weights[k] for k in axes}
            if len(steps) == 1 and 0 < len(inside.intersection(axes)) < len(axes):
                reach = 1 + sum([(self.nest.axes[k].size - 1) * abs(weights[k]) for k in axes])
                found *= reach / bound.size
        return found

    def _whole_packs(self, order: Sequence[int], pack: int) -> bool:
        """Whether all of a pack is inside its bounds, or none."""
        if not self.nest.bounds:
            return True
        for k in order:
            taken = gcd(pack, self.extents[k], self._members[k].size)
            for bound, weights in zip(self.nest.bounds, self.nest.weights, strict=True):
                if bound.packs(weights[self.axes[k]]) % taken:
                    return False
            pack //= taken
            if pack == 1 or taken < self.extents[k]:
                break
        return pack == 1

    def _busier(self, alone: Side, together: Side, length: int) -> bool:
        """Whether rows on their own take no more threads: in deep boxes, planes may have few."""
        order, run = together.order, together.run
        rows = self.extents[order[run]] if run < len(order) else 1
        return self.is_deep and alone.row(length) * rows <= together.plane(rows, length)

    def _fit_beside(self, order: Sequence[int], run: int) -> bool:
        """Whether what is read beside the destination can be read in its packs."""
        return all(self._fits_beside(memory, order, run) for memory in self.nest.beside)

    def _fits_beside(self, memory: int, order: Sequence[int], run: int) -> bool:
        steps = [self._members[k].strides for k in order[: run + 1]]
        if not any(step[memory] for step in steps[:run]):
            return True  # one value for the whole run
        follows = all(step[memory] == step[WRITE] for step in steps[:run])
        width = self.nest.widths[memory]
        rows = steps[run][memory] * width if run < len(order) else 0
        return (
            follows and gcd(self._grain(memory, order, run), rows) % (self.nest.pack * width) == 0
        )

    def inner(self, order: Sequence[int], run: int) -> int:
        """Elements of a run along all its axes but the last."""
        return prod([self.extents[k] for k in order[: run - 1]])

    def _grain(self, memory: int, order: Sequence[int], run: int) -> int:
        """What divides the addresses, in bytes, at which the first rows of planes begin."""
        nest, members = self.nest, self._members
        within = {self.axes[k] for k in order[: run + 1]}
        steps = [a.strides[memory] for k, a in enumerate(nest.axes) if k not in within]
        for k in (order[run - 1], *order[run : run + 1]):
            step, extent, size = members[k].strides[memory], self.extents[k], members[k].size
            if extent < size:
                steps.append(extent * step)
                if step < 0:  # the first box, from the low end on, is the one that ends early
                    steps.append(size % extent * step)
        width = nest.widths[memory]
        return gcd(nest.alignments[memory], SECTOR, *[s * width for s in steps])

    def cost(self) -> float:
        """Bytes of threads per byte on all sides, and a little for boxes of an unusual size."""
        memories = (WRITE, *self.nest.staged)
        sides = [self.side_cost(memory) for memory in memories]
        widths = [self.nest.tile_width(memory) for memory in memories]
        mean = sum(widths) / len(widths)
        cost = sum([side * width / mean for side, width in zip(sides, widths, strict=True)])
        cost += _WORSE_SIDE * (max(sides) - 1)
        cost += _DEEP * self.is_deep
        nbytes = self.elements * self.nest.staged_bytes
        liked = min(_LIKED_BYTES, sqrt(_LIKED_ROOT * nbytes * self.blocks))
        return cost + _SIZE * abs(log2(nbytes / liked))

    def side_cost(self, memory: int) -> float:
        """Bytes that threads could move, and sectors begun by rows, per byte of the box."""
        side, width = self.sides[memory], self.nest.widths[memory]
        step = abs(self._members[side.order[0]].strides[memory])
        if step != 1:
            return min(SECTOR, step * width) / width
        last = side.order[side.run - 1]
        whole, early = side.lengths
        further = self.counts[last] - 1
        row = side.row(whole * width // side.unit)
        threads = further * row + side.row(early * width // side.unit)
        threads = int(threads * self._idle(memory))
        begun = 0
        if not side.single:
            # Each row may begin inside a sector; each access, if threads are not shifted.
            accesses = max(1, row // 32) if side.sector == 1 and side.unit < SECTOR else 1
            begun = (SECTOR - side.grain) * (further + 1) * accesses
        split = 0.0 if row % 32 == 0 else _SHARED_WARP * min(1.0, 32 / row)
        bytes_of_rows = (further * whole + early) * width
        return narrowness(side.unit) + split + (threads * side.unit + begun) / bytes_of_rows

    @property
    def pitches(self) -> dict[int, tuple[int, ...]]:
        """Strides of the box's axes in each tile, with as few bank conflicts as can be."""
        return {memory: pitches for memory, (pitches, _) in self._best_pitches.items()}

    @property
    def conflicts(self) -> float:
        """Wavefronts of an access to shared memory, in the worst tile; 1 at best."""
        return max([conflicts for _, conflicts in self._best_pitches.values()])

    @cached_property
    def _best_pitches(self) -> dict[int, tuple[tuple[int, ...], float]]:
        limit = next(room for room in ROOMS if room >= self.padded_bytes) - self._beside
        share = limit / (self.padded_bytes - self._beside)
        found = {}
        for memory in self.nest.staged:
            room = share * self._padded_bytes(memory) // self.nest.tile_width(memory)
            orders = self._tile_orders(memory)
            pitches = np.concatenate([self._pitched(*order, memory) for order in orders])
            reach = 1 + pitches @ (np.asarray(self.extents) - 1)
            found[memory] = fewest_conflicts(self, memory, pitches[reach <= room])
        return found

    def _tile_orders(self, memory: int) -> list[tuple[tuple[int, ...], int]]:
        """Orders that axes may have in a tile, fastest first; and behind which there is a pitch.

        In deep boxes that is the run of one memory, and all others follow as the other has them.
        The box then is a matrix, whose columns are as good as its rows if the pitch is odd; unless
        runs share axes, where pitches inside of the run may help.
        """
        read, write = self.sides[memory], self.sides[WRITE]
        if not self.is_deep:
            return [(read.order, 0), (write.order, 0)]
        found = []
        for one, two in ((read, write), (write, read)):
            run = one.order[: one.run]
            order = run + tuple([k for k in two.order if k not in run])
            places = [one.run - 1, *range(one.run - 2, -1, -1)][:3]
            found += [(order, behind) for behind in dict.fromkeys(places)]
        return found

    def _pitched(self, order: tuple[int, ...], behind: int, memory: int) -> Numbers:
        """Strides in this order, elements left free behind that axis and the next.

        (choices, axes).
        """
        sizes = [self.extents[k] for k in order[behind + 1 :]] + [1, 1]
        most = _SHARED_BANKS // self.nest.tile_width(memory)
        pads = _pads(most if prod(sizes) > 1 else 1, most if sizes[1] > 1 else 1)
        pads = pads[: _DEEP_PADS if self.is_deep else _PADS]
        pitches = np.empty((len(pads), len(order)), np.int64)
        step: Numbers = np.ones(len(pads), np.int64)
        for place, k in enumerate(order):
            pitches[:, k] = step
            step = step * self.extents[k]
            if behind <= place < behind + 2:
                step = step + pads[:, place - behind]
        return pitches

    def _reach(self, pitches: tuple[int, ...]) -> int:
        """Elements of shared memory that these pitches take."""
        return 1 + sum((n - 1) * p for n, p in zip(self.extents, pitches, strict=True))

    @property
    def tiles(self) -> dict[int, int]:
        """For each staged memory the byte of shared memory at which its tile begins."""
        return self._places[0]

    @property
    def tables(self) -> dict[int, tuple[int, int]]:
        """The same of its rows, and of places along its run, for the destination too."""
        return self._places[1]

    @property
    def followers(self) -> dict[int, tuple[int, int]]:
        """The same of the tables of `Nest.followers`."""
        return self._places[2]

    @property
    def room(self) -> int:
        """The bytes of shared memory that a block takes, one of `ROOMS`."""
        return next(room for room in ROOMS if room >= self._places[3])

    @cached_property
    def _places(self) -> tuple[dict[int, int], _Tables, _Tables, int]:
        tiles, tables, followers, end = {}, {}, {}, 0
        for memory, pitches in self.pitches.items():
            tiles[memory] = end
            end += _rounded_up(self._reach(pitches) * self.nest.tile_width(memory), WIDEST)
        for memory in self.sides:
            rows, places = self._table_bytes(memory)
            tables[memory] = end, end + rows
            end += rows + places
        rows, places = self._follower_bytes
        for memory in self.nest.followers:
            followers[memory] = end, end + rows
            end += rows + places
        return tiles, tables, followers, end


def narrowness(unit: int) -> float:
    """What accesses of less than 4 bytes cost more: a warp then moves less than 128 at a time."""
    return 0.1 * (4 / unit - 1) if unit < 4 else 0.0


def choose_box(nest: Nest) -> Box | None:
    """The box of the least cost, among those with long runs in all memories; None if none fits.

    A deep one only where three axes make no long runs.
    """
    usual = _cheapest(nest, _USUAL)
    if len(nest.axes) <= _USUAL or nest.deepest <= _USUAL:
        return usual
    if usual is not None and usual.cost() <= 1 + len(nest.staged) + _GOOD:
        return usual
    found = [box for box in (usual, _cheapest(nest, nest.deepest)) if box is not None]
    return min(found, key=Box.cost, default=None)


def _cheapest(nest: Nest, deepest: int) -> Box | None:
    boxes = [Box(nest, *found) for found in _candidates(nest, deepest)]
    fitting = [box for box in boxes if box.padded_bytes <= ROOMS[-1] and box.has_words]
    best, least = None, inf
    for box in sorted(fitting, key=lambda box: (box.cost(), box.extents))[:_TRIED]:
        if box.cost() >= least:
            break
        cost = box.cost() + _CONFLICT * (box.conflicts - 1)
        if cost < least:
            best, least = box, cost
    return best


# Sectors that a run may have, where the axes are long enough. Whole lines of 128 bytes.
_RUNS = (4, 8, 10, 11, 12, 13, 14, 16, 24, 32, 64, 128, 256, 512, 1024)

# Of deep boxes, whose runs often are products of whole sizes.
_DEEP_RUNS = (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 24, 32, 48, 64, 128, 1024)

# Bytes of others, if several tiles have to fit.
_SHORT_RUNS = (16, 32, 64, 96)


def _candidates(nest: Nest, deepest: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Axes and extents of boxes to look at; of a single tile, the smallest one always fits."""
    write_order = range(len(nest.axes) - 1, -1, -1)
    read_orders = [_order(nest, memory, write_order) for memory in nest.staged]
    most = ROOMS[-1] // nest.staged_bytes
    begun, found = set(), set()
    for read_runs in _runs_together(nest, deepest):
        extents: dict[int, int] = {}
        for read_order, read_run in zip(read_orders, read_runs, strict=True):
            _grow(extents, nest, read_order, read_run, deepest)
        begun.add(tuple(extents.items()))
    for read in begun:
        for write_run in _runs(nest, WRITE, deepest):
            extents = dict(read)
            _grow(extents, nest, write_order, write_run, deepest)
            axes = tuple(sorted(extents, reverse=True))
            even = tuple([_evened(nest.axes[k].size, extents[k]) for k in axes])
            if prod(even) > most:
                break  # longer runs are larger yet
            whole = tuple([extents[k] for k in axes])
            pairs = zip(whole, even, strict=True)
            some = product(*pairs) if len(axes) <= 2 else (whole, even)
            found |= {(axes, each) for each in some if prod(each) <= most}
    return {(axes, extents) for axes, extents in found if _is_near(nest, axes, extents)}


# Places inside a box have 32 bits, in bytes.
_FAR = 2**31


def _is_near(nest: Nest, axes: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    pairs = [(nest.axes[k].strides, n - 1) for k, n in zip(axes, extents, strict=True)]
    reach = [
        nest.widths[m] * sum([abs(strides[m]) * n for strides, n in pairs]) for m in nest.walked
    ]
    return max(reach) < _FAR


def _order(nest: Nest, memory: int, axes: Sequence[int]) -> list[int]:
    """The axes along which a memory moves, its fastest first."""
    moving = [k for k in axes if nest.axes[k].strides[memory]]
    return sorted(moving, key=lambda k: abs(nest.axes[k].strides[memory]))


def _runs_together(nest: Nest, deepest: int) -> list[tuple[int, ...]]:
    """Lengths of runs of all staged memories, of about as many bytes."""
    each = [_runs(nest, memory, deepest) for memory in nest.staged]
    return [
        tuple([runs[min(k, len(runs) - 1)] for runs in each]) for k in range(max(map(len, each)))
    ]


def _rounded_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _runs(nest: Nest, memory: int, deepest: int) -> list[int]:
    """Lengths of runs, in elements, for which rows have few idle threads."""
    width, alignment = nest.widths[memory], nest.alignments[memory]
    steps = [abs(a.strides[memory]) * width for a in nest.axes if a.strides[memory]]
    _, *others = sorted(steps or [width])
    if width < 4 and gcd(4, alignment, *others) < 4:
        inside = others[0] % SECTOR if others else 0
    else:
        inside = gcd(SECTOR, alignment, *others) % SECTOR
    sectors = _RUNS if deepest == _USUAL else _DEEP_RUNS
    runs = [(SECTOR * n - (SECTOR - inside if inside else 0)) // width for n in sectors]
    if len(nest.staged) > 1:
        runs = [*(nbytes // width for nbytes in _SHORT_RUNS), *runs]
    return [run for run in runs if 0 < run <= ROOMS[-1] // width]


def _grow(
    extents: dict[int, int], nest: Nest, order: Sequence[int], run: int, deepest: int
) -> None:
    """Lengthen the run along `order` to about `run` elements, of a box of so many axes at most."""
    done = 1
    for k in order:
        if k not in extents and len(extents) == deepest:
            return
        size = nest.axes[k].size
        strides, widths = nest.axes[k].strides, nest.widths
        furthest = max([abs(strides[m]) * widths[m] for m in nest.walked])
        near = max(1, _FAR // (2 * furthest))
        extents[k] = max(extents.get(k, 1), min(size, near, -(-run // done)))
        done *= extents[k]
        if extents[k] < size or done >= run:
            return


def _evened(size: int, extent: int) -> int:
    """The extent with which as many boxes have no small one left over; whole sectors still."""
    count = -(-size // extent)
    even = -(-size // count)
    grain = gcd(extent, SECTOR)
    return min(extent, -(-even // grain) * grain)


@cache
def _pads(inner: int, outer: int) -> Numbers:
    """Elements to leave free behind two axes, fewer than these, the fewest of both first."""
    found = sorted(product(range(inner), range(outer)), key=sum)
    return np.asarray(found, np.int64)


def fewest_conflicts(box: Box, memory: int, pitches: Numbers) -> tuple[tuple[int, ...], float]:
    """The pitches of a tile that take the fewest wavefronts in shared memory, and how many.

    `pitches`: (choices, axes). All are tried on a few warps, and the best of them on more.
    """
    width = box.nest.tile_width(memory)
    some, more = (
        np.concatenate([_indices(box, walked, warps, width) for walked in (WRITE, memory)])
        for warps in (_SOME_WARPS, _MORE_WARPS)
    )
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


def _indices(box: Box, memory: int, most: int, width: int) -> Numbers:
    """What some warps touch in shared memory, at most so many: (accesses, axes, lanes).

    `lanes`: as many as a wavefront serves, of elements of `width` bytes.
    """
    side, extents = box.sides[memory], box.extents
    lanes = min(32, _SHARED_BANKS // width)
    order, run = side.order, side.run
    per = side.unit // box.nest.widths[memory]
    length = prod([extents[k] for k in order[:run]]) // per
    given = side.row(length)
    rows = extents[order[run]] if run < len(order) else 1
    planes = prod([extents[k] for k in order[run + 1 :]])
    if side.single:
        rows, planes = 1, rows * planes
    plane_threads = side.plane(rows, length)
    warps = -(-planes * plane_threads // 32)
    some = np.unique(np.linspace(0, warps - 1, most).astype(np.int64))
    threads = (some[:, None] * 32 + np.arange(32)).reshape(-1, lanes)
    plane, rest = np.divmod(threads, plane_threads)
    row, lane = np.divmod(rest, given)
    row, lane = np.minimum(row, rows - 1), np.minimum(lane, length - 1)  # idle: as their neighbours
    row += plane * rows
    # Of a pack, two elements are enough to look at.
    first = np.asarray(box.turns)[threads % 32 // 8] if box.nest.across else 0
    along = np.concatenate([lane * per + (first + j) % per for j in range(min(per, 2))])
    rows_of = np.concatenate([row] * min(per, 2))
    index = np.empty((len(along), len(extents), lanes), np.int64)
    for numbers, rest in ((order[:run], along), (order[run:], rows_of)):
        for k in numbers:
            rest, index[:, k] = np.divmod(rest, extents[k])
    return index
