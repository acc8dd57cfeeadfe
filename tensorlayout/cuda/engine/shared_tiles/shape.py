"""The shape of a shared tile: its extents, and how each memory is walked inside of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm, prod

from tensorlayout.cuda.engine.launch import BLOCK
from tensorlayout.cuda.engine.sectors import SECTOR
from tensorlayout.cuda.engine.shared_tiles.problem import (
    NARROWEST,
    READ,
    USUAL,
    WRITE,
    TileProblem,
    rounded_up,
)
from tensorlayout.layout.loop import Axis
from tensorlayout.layout.once import cached_property

# Threads are not shifted if that would leave fewer than this busy, as in rows of a few elements.
_LEAST_BUSY = 0.7

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


@dataclass(frozen=True)
class TileShape:
    """Extents of a problem's axes.

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
    def has_words(self) -> bool:
        """Whether rows of squares are words."""
        return not self.problem.across or self.sides[READ].unit == NARROWEST

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
        if not fits or (memory == WRITE and not self._fit_beside(order, run)):
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
        """Whether all of a pack is inside its bounds, or none."""
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

    def _fit_beside(self, order: Sequence[int], run: int) -> bool:
        """Whether what is read beside the destination can be read in its packs."""
        return all(self._fits_beside(memory, order, run) for memory in self.problem.beside)

    def _fits_beside(self, memory: int, order: Sequence[int], run: int) -> bool:
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
        """Whether no rows but those along one dimension are shifted."""
        side = self.sides[memory]
        groups = prod([self.extents[k] for k in side.order[side.run + 1 :]])
        return groups == 1 and side.slack <= self._shortest_row(memory)
