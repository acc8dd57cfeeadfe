"""A tile in shared memory: what it costs, and where everything in it stands."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import log2, prod, sqrt

import numpy as np

from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST
from tensorlayout.cuda.engine.shared_tiles.conflicts import SHARED_BANKS, Numbers, fewest_conflicts
from tensorlayout.cuda.engine.shared_tiles.problem import ROOMS, WRITE, rounded_up
from tensorlayout.cuda.engine.shared_tiles.shape import TileShape
from tensorlayout.layout.once import cached_property

# For some memories, two bytes of shared memory where tables begin.
_Tables = dict[int, tuple[int, int]]

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

# More for rows of threads that do not fill warps: two rows in a warp fall into the same banks. Rows
# get whole warps where at least this part of the threads has an element.
_SHARED_WARP = 0.05


class SharedTile(TileShape):
    """A tile of a problem, in shared memory."""

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
        """Of the rows of a side; and of places along its run."""
        side, period = self.sides[memory], self.period(memory)
        run = prod([self.extents[k] for k in side.order[: side.run]])
        places = 2 * period if period > 1 else 0
        rows = self.elements // run + self.spare_rows(memory)
        return rounded_up(8 * rows, WIDEST), rounded_up(places, WIDEST)

    @property
    def _follower_bytes(self) -> tuple[int, int]:
        """As `_table_bytes`, of a memory that has tables along the destination."""
        order, run = self.sides[WRITE].order, self.sides[WRITE].run
        rows = self.elements // prod([self.extents[k] for k in order[:run]])
        return rounded_up(4 * rows, WIDEST), rounded_up(4 * self.period(WRITE), WIDEST)

    def _padded_bytes(self, memory: int) -> float:
        """Of one tile: an odd pitch takes an element more; of narrow elements, up to three."""
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
        """The same of the tables of `TileProblem.followers`."""
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
            end += rounded_up(self._reach(pitches) * self.problem.tile_width(memory), WIDEST)
        for memory in self.sides:
            rows, places = self._table_bytes(memory)
            tables[memory] = end, end + rows
            end += rows + places
        rows, places = self._follower_bytes
        for memory in self.problem.followers:
            followers[memory] = end, end + rows
            end += rows + places
        return tiles, tables, followers, end


def narrowness(unit: int) -> float:
    """What accesses of less than 4 bytes cost more: a warp then moves less than 128 at a time."""
    return 0.1 * (4 / unit - 1) if unit < 4 else 0.0


@cache
def _pads(inner: int, outer: int) -> Numbers:
    """Elements to leave free behind two axes, fewer than these, the fewest of both first."""
    found = sorted(product(range(inner), range(outer)), key=sum)
    return np.asarray(found, np.int64)
