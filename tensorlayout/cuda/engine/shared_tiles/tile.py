"""A tile in shared memory: how memories are walked, what it costs, and where everything stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from math import gcd, lcm, log2, prod, sqrt
from typing import NamedTuple

import numpy as np

from tensorlayout.cuda.engine.launch import BLOCK, SECTOR, WIDEST
from tensorlayout.cuda.engine.sectors import narrowness
from tensorlayout.cuda.engine.shared_tiles import (
    NARROWEST,
    READ,
    ROOMS,
    SHARED_BANKS,
    USUAL,
    WRITE,
    Numbers,
    TileAccess,
    TileProblem,
    fewest_conflicts,
    rounded_up,
)
from tensorlayout.layout import Axis
from tensorlayout.support.interning import cached_property

# Threads are not shifted if that would leave fewer than this busy, as in rows of a few elements.
_LEAST_BUSY = 0.7

# Bytes of boxes: the most that are liked have enough loads under way. A block issues some 350
# instructions for each thread before the first load, then 36 for each 4 bytes; but where blocks are
# few, most of the time is waited for memory. So boxes grow with the root of the tensor's bytes: of
# 4 MiB there are 256 with 16 KiB each, of 256 KiB there are 64 with 4.
_LIKED_BYTES, _LIKED_ROOT = 16 * 1024, 64

_SIZE = 0.02  # what twice or half as many cost
_PADS, _DEEP_PADS = 160, 64  # pitches to choose from, for each order of the axes
# What a deep box costs more: its runs have several axes, and its tables take longer.
_DEEP = 0.1

# What the worse of both sides costs once more: they are under way together, and it holds them up.
_WORSE_SIDE = 0.25

# More for rows of threads that do not fill warps: two rows in a warp fall into the same banks.
_SHARED_WARP = 0.05


class Places(NamedTuple):
    """Where everything begins in shared memory, in bytes, by the numbers of memories.

    Attributes:
        tiles: of the staged memories.
        tables: of rows, and of places along the run; the destination has some, too.
        followers: the same of `TileProblem.followers`.
        end: how many bytes all takes.

    """

    tiles: dict[int, int]
    tables: dict[int, tuple[int, int]]
    followers: dict[int, tuple[int, int]]
    end: int


@dataclass(frozen=True)
class SharedTile:
    """A tile of a problem, in shared memory.

    Attributes:
        problem: what goes through shared memory.
        axes: numbers of the problem's axes in the tile, the fastest of the destination first.
        extents: of the tile along them.

    """

    problem: TileProblem
    axes: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def is_deep(self) -> bool:
        """Whether it has more than three axes."""
        return len(self.axes) > USUAL

    @property
    def elements(self) -> int:
        """How many elements a whole box has."""
        return prod(self.extents)

    @property
    def turns(self) -> tuple[int, ...]:
        """With which column of a square each quarter of a warp begins, for other banks than others.

        Columns are one bank apart, and so are the rows of a warp that has several.
        """
        lanes, columns = self._shortest_row(READ), NARROWEST // self.problem.widths[READ]
        row = lanes if 32 % lanes == 0 else 32
        return tuple([(lane * columns // 32 - lane // row) % columns for lane in range(0, 32, 8)])

    def spare_rows(self, memory: int) -> int:
        """Rows of the last threads' turn that the box may not have, in the table of a side."""
        return 2 + BLOCK // self._shortest_row(memory)

    def _shortest_row(self, memory: int) -> int:
        """Threads of a row, in a box that ends early."""
        side, width = self.sides[memory], self.problem.widths[memory]
        return side.row(min(side.lengths) * width // side.unit)

    def period(self, memory: int) -> int:
        """After how many elements of a run, in whole accesses, places in the tile repeat."""
        side = self.sides[memory]
        inner = self.inner(side.order, side.run)
        return lcm(inner, side.unit // self.problem.widths[memory]) if inner > 1 else 1

    @property
    def counts(self) -> tuple[int, ...]:
        """How many boxes there are along each axis."""
        pairs = zip(self._members, self.extents, strict=True)
        return tuple([-(-axis.size // extent) for axis, extent in pairs])

    @property
    def blocks(self) -> int:
        """How many boxes there are."""
        others = [a.size for k, a in enumerate(self.problem.axes) if k not in self.axes]
        return prod(self.counts) * prod(others)

    @property
    def _members(self) -> list[Axis]:
        return [self.problem.axes[k] for k in self.axes]

    @cached_property
    def sides(self) -> dict[int, TileAccess]:
        """How the destination and the staged memories are walked."""
        return {memory: self._side(memory) for memory in (WRITE, *self.problem.staged)}

    def _side(self, memory: int) -> TileAccess:
        members, width = self._members, self.problem.widths[memory]
        steps = [axis.strides[memory] for axis in members]
        order = tuple(sorted(range(len(members)), key=lambda k: (steps[k] == 0, abs(steps[k]))))
        if abs(steps[order[0]]) != 1:
            return TileAccess(order, 1, width, self._lengths(memory, order, 1))
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
        unit = self.problem.unit(memory)
        lengths = self._lengths(memory, order, run)
        fits = gcd(grain, inner * self.extents[last], lengths[1] * width) % unit == 0
        beside = self.problem.beside if memory == WRITE else ()
        if not fits or not all(self._fits_beside(each, order, run) for each in beside):
            unit = width
        if unit > width and not self._whole_packs(order, unit // width):
            unit = width
        sector = max(1, SECTOR // unit)
        length = lengths[0] * width // unit
        walked = (order, run, unit, lengths, grain, sector)
        alone = TileAccess(*walked, single=True, slack=(SECTOR - grain) // unit)
        remainder, slack = step // unit % sector, (SECTOR - first_rows) // unit
        together = TileAccess(*walked, remainder=remainder, slack=slack)
        shifted = alone if unit >= 4 or self._busier(alone, together, length) else together
        if length >= _LEAST_BUSY * shifted.row(length):
            return shifted
        return TileAccess(order, run, unit, lengths, grain)

    def _lengths(self, memory: int, order: Sequence[int], run: int) -> tuple[int, int]:
        """Elements of a run; and of one in the last box along its last axis.

        If all axes of a bounded dimension are in the run, it is the slowest part of it, and it runs
        forwards, then the run ends where the dimension does.
        """
        last = order[run - 1]
        axis, extent = self._members[last], self.extents[last]
        inner = self.inner(order, run)
        ends = [inner * (axis.size % extent or extent)]
        for bound, weights in zip(self.problem.bounds, self.problem.weights, strict=True):
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

    def _whole_packs(self, order: Sequence[int], pack: int) -> bool:
        """Return whether all of a pack is inside its bounds, or none."""
        if not self.problem.bounds:
            return True
        for k in order:
            taken = gcd(pack, self.extents[k], self._members[k].size)
            for bound, weights in zip(self.problem.bounds, self.problem.weights, strict=True):
                if bound.packs(weights[self.axes[k]]) % taken:
                    return False
            pack //= taken
            if pack == 1 or taken < self.extents[k]:
                break
        return pack == 1

    def _busier(self, alone: TileAccess, together: TileAccess, length: int) -> bool:
        """Whether rows on their own take no more threads: in deep boxes, planes may have few."""
        order, run = together.order, together.run
        rows = self.extents[order[run]] if run < len(order) else 1
        return self.is_deep and alone.row(length) * rows <= together.plane(rows, length)

    def _fits_beside(self, memory: int, order: Sequence[int], run: int) -> bool:
        """Return whether what is read beside the destination can be read in its packs."""
        steps = [self._members[k].strides for k in order[: run + 1]]
        if not any(step[memory] for step in steps[:run]):
            return True  # one value for the whole run
        follows = all(step[memory] == step[WRITE] for step in steps[:run])
        width = self.problem.widths[memory]
        rows = steps[run][memory] * width if run < len(order) else 0
        return (
            follows
            and gcd(self._grain(memory, order, run), rows) % (self.problem.pack * width) == 0
        )

    def inner(self, order: Sequence[int], run: int) -> int:
        """Elements of a run along all its axes but the last."""
        return prod([self.extents[k] for k in order[: run - 1]])

    def _grain(self, memory: int, order: Sequence[int], run: int) -> int:
        """What divides the addresses, in bytes, at which the first rows of planes begin."""
        problem, members = self.problem, self._members
        within = {self.axes[k] for k in order[: run + 1]}
        steps = [a.strides[memory] for k, a in enumerate(problem.axes) if k not in within]
        for k in (order[run - 1], *order[run : run + 1]):
            step, extent, size = members[k].strides[memory], self.extents[k], members[k].size
            if extent < size:
                steps.append(extent * step)
                if step < 0:  # the first box, from the low end on, is the one that ends early
                    steps.append(size % extent * step)
        width = problem.widths[memory]
        return gcd(problem.alignments[memory], SECTOR, *[s * width for s in steps])

    def is_together(self, memory: int) -> bool:
        """Return whether no rows but those along one dimension are shifted."""
        side = self.sides[memory]
        groups = prod([self.extents[k] for k in side.order[side.run + 1 :]])
        return groups == 1 and side.slack <= self._shortest_row(memory)

    # ---- Shared memory, and the cost

    @property
    def padded_bytes(self) -> float:
        """Bytes of shared memory, with room for pitches without bank conflicts."""
        return self._beside + sum([self._padded_bytes(memory) for memory in self.problem.staged])

    @property
    def _beside(self) -> int:
        """Bytes of tables, and those that are left free: all begin at multiples of 16."""
        tables = sum([sum(self._table_bytes(memory)) for memory in self.sides])
        tables += len(self.problem.followers) * sum(self._follower_bytes)
        return WIDEST * len(self.problem.staged) + tables

    def _table_bytes(self, memory: int) -> tuple[int, int]:
        """The tables of the rows of a side; and of places along its run."""
        side, period = self.sides[memory], self.period(memory)
        run = prod([self.extents[k] for k in side.order[: side.run]])
        places = 2 * period if period > 1 else 0
        rows = self.elements // run + self.spare_rows(memory)
        return rounded_up(8 * rows, WIDEST), rounded_up(places, WIDEST)

    @property
    def _follower_bytes(self) -> tuple[int, int]:
        """Bytes of the tables of rows and places, for a memory with some along the destination."""
        order, run = self.sides[WRITE].order, self.sides[WRITE].run
        rows = self.elements // prod([self.extents[k] for k in order[:run]])
        return rounded_up(4 * rows, WIDEST), rounded_up(4 * self.period(WRITE), WIDEST)

    def _padded_bytes(self, memory: int) -> float:
        """One tile: an odd pitch takes an element more; of narrow elements, up to three."""
        width = self.problem.tile_width(memory)
        spare = 1 if width >= 4 else 3
        side = self.sides[memory]
        run = self.inner(side.order, side.run + 1 if self.is_deep else 2)
        return self.elements * (1 + spare / run) * width

    def _idle(self, memory: int) -> float:
        """By how much threads are more than elements, in runs with a part of a bounded dimension.

        Only of a dimension that is strided in this memory: in tiles, it is so in any box.
        """
        side, found = self.sides[memory], 1.0
        inside = {self.axes[k] for k in side.order[: side.run]}
        for bound, weights in zip(self.problem.bounds, self.problem.weights, strict=True):
            axes = [k for k, weight in enumerate(weights) if weight]
            steps = {self.problem.axes[k].strides[memory] / weights[k] for k in axes}
            if len(steps) == 1 and 0 < len(inside.intersection(axes)) < len(axes):
                reach = 1 + sum([(self.problem.axes[k].size - 1) * abs(weights[k]) for k in axes])
                found *= reach / bound.size
        return found

    def cost(self) -> float:
        """Bytes of threads per byte on all sides, and a little for boxes of an unusual size."""
        memories = (WRITE, *self.problem.staged)
        sides = [self.side_cost(memory) for memory in memories]
        widths = [self.problem.tile_width(memory) for memory in memories]
        mean = sum(widths) / len(widths)
        cost = sum([side * width / mean for side, width in zip(sides, widths, strict=True)])
        cost += _WORSE_SIDE * (max(sides) - 1)
        cost += _DEEP * self.is_deep
        nbytes = self.elements * self.problem.staged_bytes
        liked = min(_LIKED_BYTES, sqrt(_LIKED_ROOT * nbytes * self.blocks))
        return cost + _SIZE * abs(log2(nbytes / liked))

    def side_cost(self, memory: int) -> float:
        """Bytes that threads could move, and sectors begun by rows, per byte of the box."""
        side, width = self.sides[memory], self.problem.widths[memory]
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
        for memory in self.problem.staged:
            room = share * self._padded_bytes(memory) // self.problem.tile_width(memory)
            orders = self._tile_orders(memory)
            pitches = np.concatenate([self._pitched(*order, memory) for order in orders])
            reach = 1 + pitches @ (np.asarray(self.extents) - 1)
            width = self.problem.tile_width(memory)
            touched = partial(self._touched, memory, width)
            found[memory] = fewest_conflicts(touched, pitches[reach <= room], width)
        return found

    def _touched(self, memory: int, width: int, warps: int) -> Numbers:
        """What warps touch of the tile of a memory, from both sides: `TileAccess.touched`."""
        turns = self.turns if self.problem.across else ()
        found = []
        for each in (WRITE, memory):
            per = self.sides[each].unit // self.problem.widths[each]
            found.append(self.sides[each].touched(self.extents, per, width, turns, warps))
        return np.concatenate(found)

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
        most = SHARED_BANKS // self.problem.tile_width(memory)
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

    @property
    def room(self) -> int:
        """The bytes of shared memory that a block takes, one of `ROOMS`."""
        return next(room for room in ROOMS if room >= self.places.end)

    @cached_property
    def places(self) -> Places:
        """Where everything begins in shared memory."""
        tiles, tables, followers, end = {}, {}, {}, 0
        for memory, pitches in self.pitches.items():
            tiles[memory] = end
            steps = zip(self.extents, pitches, strict=True)
            reach = 1 + sum((n - 1) * pitch for n, pitch in steps)
            end += rounded_up(reach * self.problem.tile_width(memory), WIDEST)
        for memory in self.sides:
            rows, places = self._table_bytes(memory)
            tables[memory] = end, end + rows
            end += rows + places
        rows, places = self._follower_bytes
        for memory in self.problem.followers:
            followers[memory] = end, end + rows
            end += rows + places
        return Places(tiles, tables, followers, end)


@cache
def _pads(inner: int, outer: int) -> Numbers:
    """Elements to leave free behind two axes, fewer than these, the fewest of both first."""
    found = sorted(product(range(inner), range(outer)), key=sum)
    return np.asarray(found, np.int64)
