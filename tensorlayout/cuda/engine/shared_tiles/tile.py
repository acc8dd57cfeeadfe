"""A tile in shared memory: access patterns of memories, cost, and offsets of tiles and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, inf, lcm, prod
from operator import mul
from typing import Any, NamedTuple

from tensorlayout.cuda.engine.access_cost import narrow_access_cost
from tensorlayout.cuda.engine.launch import BLOCK, THREADS, WIDEST
from tensorlayout.cuda.engine.memory import SECTOR
from tensorlayout.cuda.engine.shared_tiles import (
    DEEPEST,
    NARROWEST,
    READ,
    ROOMS,
    USUAL,
    WRITE,
    TileAccess,
    TileProblem,
    round_up_to_multiple,
)
from tensorlayout.cuda.engine.structs import divisor32_struct, struct_type
from tensorlayout.layout import Axis
from tensorlayout.support.interning import cached_property

# Threads are not shifted if less than this fraction would be busy, as in rows of a few elements.
_LEAST_BUSY = 0.7

# Additional cost of a deep box, whose runs have several axes and whose tables take longer. A box
# with a 4-byte access for only half of its threads costs as much more.
_DEEP = 0.1

_SHARED_BANKS = 128  # bytes of all banks of shared memory, which one wavefront accesses


class SharedMemoryOffsets(NamedTuple):
    """Offsets in shared memory, in bytes, by memory number.

    Attributes:
        tiles: tiles of the staged memories.
        tables: tables of rows and of places along the run, also for the destination.
        followers: the same tables for `TileProblem.followers`.
        end: bytes of everything together.

    """

    tiles: dict[int, int]
    tables: dict[int, tuple[int, int]]
    followers: dict[int, tuple[int, int]]
    end: int


@dataclass(frozen=True)
class SharedTile:
    """A tile of a problem in shared memory.

    Attributes:
        problem: axes and memories.
        axes: numbers of the problem's axes in the tile, the fastest of the destination first.
        extents: extents of the tile along these axes.

    """

    problem: TileProblem
    axes: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def element_count(self) -> int:
        """Number of elements of a whole box."""
        return prod(self.extents)

    @property
    def staged_bytes(self) -> int:
        """Bytes of a box's elements in all tiles."""
        return self.element_count * self.problem.staged_bytes_per_element

    @property
    def max_byte_distance(self) -> int:
        """Largest distance in bytes between elements of a box, in any memory."""
        pairs = list(zip(self._tiled_axes, self.extents, strict=True))
        return max(
            width * sum([abs(axis.strides[m]) * (n - 1) for axis, n in pairs])
            for m, width in enumerate(self.problem.widths)
        )

    def is_contiguous_along_fastest_axis(self, memory: int) -> bool:
        """Return whether a memory is contiguous along its fastest axis."""
        return min([abs(a.strides[memory]) for a in self._tiled_axes if a.strides[memory]]) == 1

    @property
    def quarter_warp_first_columns(self) -> tuple[int, ...]:
        """First column of a square for each quarter of a warp, so that their banks differ.

        Columns are one bank apart, and so are the rows of a warp that covers several.
        """
        lanes, columns = self._threads_of_shortest_row(READ), NARROWEST // self.problem.widths[READ]
        row = lanes if 32 % lanes == 0 else 32
        return tuple([(lane * columns // 32 - lane // row) % columns for lane in range(0, 32, 8)])

    def table_rows_for_overrun(self, memory: int) -> int:
        """Return the rows to add to a table because the last turn of threads may pass its end."""
        return 2 + BLOCK // self._threads_of_shortest_row(memory)

    def _threads_of_shortest_row(self, memory: int) -> int:
        """Return the threads of a row in a box that ends early."""
        side, width = self.access_by_memory[memory], self.problem.widths[memory]
        return side.threads_per_row(min(side.lengths) * width // side.unit)

    def run_period(self, memory: int) -> int:
        """Return the elements of a run, in whole accesses, after which places in a tile repeat."""
        side = self.access_by_memory[memory]
        inner = self.inner_run_elements(side.order, side.run)
        return lcm(inner, side.unit // self.problem.widths[memory]) if inner > 1 else 1

    @property
    def box_counts(self) -> tuple[int, ...]:
        """Number of boxes along each axis."""
        pairs = zip(self._tiled_axes, self.extents, strict=True)
        return tuple([-(-axis.size // extent) for axis, extent in pairs])

    @property
    def block_count(self) -> int:
        """The number of boxes, one per thread block."""
        others = [a.size for k, a in enumerate(self.problem.axes) if k not in self.axes]
        return prod(self.box_counts) * prod(others)

    @property
    def _tiled_axes(self) -> list[Axis]:
        return [self.problem.axes[k] for k in self.axes]

    @cached_property
    def access_by_memory(self) -> dict[int, TileAccess]:
        """Access patterns of the destination and the staged memories."""
        return {memory: self._access_of_memory(memory) for memory in (WRITE, *self.problem.staged)}

    def _access_of_memory(self, memory: int) -> TileAccess:
        members, width = self._tiled_axes, self.problem.widths[memory]
        steps = [axis.strides[memory] for axis in members]
        order = tuple(sorted(range(len(members)), key=lambda k: (steps[k] == 0, abs(steps[k]))))
        if abs(steps[order[0]]) != 1:
            return TileAccess(order, 1, width, self._run_lengths(memory, order, 1))
        # The run goes on while the box has all of an axis, and the next axis continues it.
        run = 1
        while run < len(order):
            last, following = order[run - 1], order[run]
            whole = self.extents[last] == members[last].size
            if not whole or abs(steps[following]) != abs(steps[last]) * members[last].size:
                break
            run += 1
        first_rows = self._row_alignment(memory, order, run)
        step = abs(steps[order[run]]) * width if run < len(order) else 0
        grain = gcd(first_rows, step)
        inner, last = self.inner_run_elements(order, run) * width, order[run - 1]
        unit = self.problem.wanted_access_bytes(memory)
        lengths = self._run_lengths(memory, order, run)
        # Rows, and the ends of runs in the last box, must be at multiples of an access.
        fits = gcd(grain, inner * self.extents[last], lengths[1] * width) % unit == 0
        unstaged = self.problem.unstaged if memory == WRITE else ()
        if not fits or not all(self._can_read_in_packs(other, order, run) for other in unstaged):
            unit = width
        if unit > width and not self._no_pack_crosses_bounds(order, unit // width):
            unit = width
        sector = max(1, SECTOR // unit)
        walked = (order, run, unit, lengths, grain, sector)
        shifted = TileAccess(*walked, slack=(SECTOR - grain) // unit)
        if unit < NARROWEST and len(order) == run + 1:
            slack = (SECTOR - first_rows) // unit
            together = TileAccess(*walked, True, step // unit % sector, slack)
            if slack <= together.threads_per_row(lengths[1] * width // unit):
                shifted = together
        length = lengths[0] * width // unit
        if length >= _LEAST_BUSY * shifted.threads_per_row(length):
            return shifted
        return TileAccess(order, run, unit, lengths, grain)

    def _run_lengths(self, memory: int, order: Sequence[int], run: int) -> tuple[int, int]:
        """Return the elements of a run, and of a run in the last box along its last axis.

        The run ends where a bounded dimension does if all axes of the dimension are in the run, as
        its slowest ones, and run forwards.
        """
        last = order[run - 1]
        axis, extent = self._tiled_axes[last], self.extents[last]
        inner = self.inner_run_elements(order, run)
        ends = [inner * (axis.size % extent or extent)]
        for bound, weights in zip(self.problem.bounds, self.problem.weights, strict=True):
            bounded = [k for k in order[:run] if weights[self.axes[k]]]
            # Backwards, the part beyond the bound would be at the start of the run.
            if any(self._tiled_axes[k].strides[memory] < 0 for k in bounded):
                continue
            steps = [weights[self.axes[k]] for k in bounded]
            whole = len(bounded) == sum([weight != 0 for weight in weights])
            if not bounded or not whole or tuple(bounded) != tuple(order[run - len(bounded) : run]):
                continue
            sizes = [self.extents[k] for k in bounded]
            # The axes must be the digits of one index, each weighing as much as all faster ones
            # together: only then do all elements behind the bound follow those before it.
            if steps != [steps[0] * prod(sizes[:k]) for k in range(len(steps))] or steps[0] < 0:
                continue
            start = (self.box_counts[last] - 1) * extent * steps[-1]
            left = (bound.written if memory == WRITE else bound.size) - start
            if left > 0:  # else all of the last box is padding
                faster = prod([self.extents[k] for k in order[: run - len(bounded)]])
                ends.append(faster * -(-left // steps[0]))
        early = min(ends)
        return inner * extent if self.box_counts[last] > 1 else early, early

    def _no_pack_crosses_bounds(self, order: Sequence[int], pack: int) -> bool:
        """Return whether each pack is entirely inside or outside bounds."""
        if not self.problem.bounds:
            return True
        for k in order:
            # A pack takes `common` elements along this axis, and the rest of it along slower ones.
            common = gcd(pack, self.extents[k], self._tiled_axes[k].size)
            for bound, weights in zip(self.problem.bounds, self.problem.weights, strict=True):
                if bound.pack_divisor(weights[self.axes[k]]) % common:
                    return False
            pack //= common
            if pack == 1 or common < self.extents[k]:
                break
        return pack == 1

    def _can_read_in_packs(self, memory: int, order: Sequence[int], run: int) -> bool:
        """Return whether a memory that is not staged can be read in the destination's packs."""
        steps = [self._tiled_axes[k].strides for k in order[: run + 1]]
        if not any(step[memory] for step in steps[:run]):
            return True  # one value for the whole run
        follows = all(step[memory] == step[WRITE] for step in steps[:run])
        width = self.problem.widths[memory]
        rows = steps[run][memory] * width if run < len(order) else 0
        return (
            follows
            and gcd(self._row_alignment(memory, order, run), rows) % (self.problem.pack * width)
            == 0
        )

    def inner_run_elements(self, order: Sequence[int], run_axis_count: int) -> int:
        """Return the elements of a run along all its axes but the last."""
        return prod([self.extents[k] for k in order[: run_axis_count - 1]])

    def _row_alignment(self, memory: int, order: Sequence[int], run: int) -> int:
        """Return the common alignment, in **bytes**, of the first rows of all planes."""
        problem, members = self.problem, self._tiled_axes
        # First rows of planes are apart by strides of all axes but those of the run and of rows,
        # and by whole boxes along the last axis of the run and the axis of rows, if they are cut.
        within = {self.axes[k] for k in order[: run + 1]}
        steps = [a.strides[memory] for k, a in enumerate(problem.axes) if k not in within]
        for k in (order[run - 1], *order[run : run + 1]):
            step, extent, size = members[k].strides[memory], self.extents[k], members[k].size
            if extent < size:
                steps.append(extent * step)
                if step < 0:  # from the low end, the first box is the one that ends early
                    steps.append(size % extent * step)
        width = problem.widths[memory]
        return gcd(problem.alignments[memory], SECTOR, *[s * width for s in steps])

    # ---- Shared memory, and the cost

    @property
    def min_shared_bytes(self) -> int:
        """Least bytes of shared memory, with an allowance for padding in tiles."""
        return self._table_offsets.end + self.staged_bytes + self.staged_bytes // 128

    @cached_property
    def _table_offsets(self) -> SharedMemoryOffsets:
        """Offsets of tables after the tiles, and their total bytes as `end`."""
        tables, followers, end = {}, {}, 0
        elements = {
            m: self.element_count // prod([self.extents[k] for k in side.order[: side.run]])
            for m, side in self.access_by_memory.items()
        }
        for memory, rows in elements.items():
            period = self.run_period(memory)
            at = end + round_up_to_multiple(
                8 * (rows + self.table_rows_for_overrun(memory)), WIDEST
            )
            tables[memory] = end, at
            end = at + round_up_to_multiple(2 * period if period > 1 else 0, WIDEST)
        for memory in self.problem.followers:
            at = end + round_up_to_multiple(4 * elements[WRITE], WIDEST)
            followers[memory] = end, at
            end = at + round_up_to_multiple(4 * self.run_period(WRITE), WIDEST)
        return SharedMemoryOffsets({}, tables, followers, end + WIDEST * len(self.problem.staged))

    def cost_per_byte(self) -> float:
        """Return the cost of a copied byte, with surcharges for deep and small boxes."""
        memories = (WRITE, *self.problem.staged)
        widths = [self.problem.tile_element_bytes(memory) for memory in memories]
        # A mean weighted by bytes, times the number of memories: ideal is 1 for each memory.
        costs = [self.cost_of_memory(m) * width for m, width in zip(memories, widths, strict=True)]
        idle = max(0.0, NARROWEST * THREADS / self.staged_bytes - 1)
        return sum(costs) * len(widths) / sum(widths) + _DEEP * ((len(self.axes) > USUAL) + idle)

    def cost_of_memory(self, memory: int) -> float:
        """Return the cost in one memory: bytes of threads and of partial sectors, per byte."""
        side, width = self.access_by_memory[memory], self.problem.widths[memory]
        step = abs(self._tiled_axes[side.order[0]].strides[memory])
        if step != 1:
            return min(SECTOR, step * width) / width
        whole, early = side.lengths
        further = self.box_counts[side.order[side.run - 1]] - 1
        row = side.threads_per_row(whole * width // side.unit)
        threads = further * row + side.threads_per_row(early * width // side.unit)
        begun = 0
        if side.together or side.sector == 1:
            # Each row may begin inside a sector; each access, if threads are not shifted.
            accesses = max(1, row // 32) if side.sector == 1 and side.unit < SECTOR else 1
            begun = (SECTOR - side.grain) * (further + 1) * accesses
        bytes_of_rows = (further * whole + early) * width
        return narrow_access_cost(side.unit) + (threads * side.unit + begun) / bytes_of_rows

    @cached_property
    def tile_strides(self) -> dict[int, tuple[int, ...]]:
        """Strides of the box's axes in each tile, with the fewest bank conflicts found."""
        limit = next(room for room in ROOMS if room >= self.min_shared_bytes)
        times = (limit - self._table_offsets.end) / self.staged_bytes  # by which tiles may grow
        return {
            memory: self._fewest_bank_conflict_strides(memory, times)
            for memory in self.problem.staged
        }

    def _fewest_bank_conflict_strides(
        self, memory: int, max_padding_factor: float
    ) -> tuple[int, ...]:
        """Return the strides of a tile with the fewest bank conflicts in the first warps.

        Elements are left free after the fastest axes of one of the two sides.
        """
        width = self.problem.tile_element_bytes(memory)
        best, least = tuple[int, ...](), inf
        wavefronts = [
            *self._indices_by_wavefront(memory, memory),
            *self._indices_by_wavefront(WRITE, memory),
        ]
        # A row of elements would often begin in the bank in which the row before began. The
        # candidates leave some elements free after the run, or after the fastest axis, of either
        # side; the threads that fill the tile and those that empty it count alike.
        sides = self.access_by_memory[memory], self.access_by_memory[WRITE]
        for side, other in (sides, sides[::-1]):
            for behind in dict.fromkeys((side.run, 1)):
                run = side.order[:behind]
                order = run + tuple([k for k in other.order if k not in run])
                for spare in _padding_candidates(
                    prod([self.extents[k] for k in order[:behind]]), width
                ):
                    pitches = self._padded_strides(order, behind, spare)
                    if (
                        spare
                        and self._tile_extent(pitches) > max_padding_factor * self.element_count
                    ):
                        break
                    conflicts = 0
                    for lanes in wavefronts:
                        conflicts += _count_bank_conflicts(lanes, pitches, width)
                        if conflicts >= least:
                            break
                    else:
                        best, least = pitches, conflicts
                    if least == 0:
                        return best
        return best

    def _padded_strides(
        self, order: Sequence[int], padded_axis_count: int, padding_elements: int
    ) -> tuple[int, ...]:
        """Return strides in this order, with padding after the first `padded_axis_count` axes."""
        pitches, step = [0] * len(order), 1
        for place, k in enumerate(order):
            if place == padded_axis_count:
                step += padding_elements
            pitches[k] = step
            step *= self.extents[k]
        return tuple(pitches)

    def _tile_extent(self, pitches: Sequence[int]) -> int:
        """Return the number of elements that a tile spans under these pitches, gaps included."""
        return 1 + sum([(n - 1) * step for n, step in zip(self.extents, pitches, strict=True)])

    def _indices_by_wavefront(self, side: int, memory: int) -> Iterator[list[list[int]]]:
        """Yield the box indices that lanes access at once, in the first two warps of a side."""
        # A wavefront serves the lanes whose elements fit one row of banks.
        access = self.access_by_memory[side]
        lanes = min(32, _SHARED_BANKS // self.problem.tile_element_bytes(memory))
        per = access.unit // self.problem.widths[side]
        turns = (
            self.quarter_warp_first_columns if self.problem.across and side == READ else (0,) * 4
        )
        # Two elements of an access are a sufficient sample.
        for begin, j in product(range(0, 64, lanes), range(min(per, 2))):
            touched = []
            for lane in range(begin, begin + lanes):
                rest = lane * per + (turns[lane % 32 // 8] + j) % per
                index = [0] * len(self.extents)
                for k in access.order:
                    rest, index[k] = divmod(rest, self.extents[k])
                touched.append(index)
            yield touched

    @property
    def allocated_shared_bytes(self) -> int:
        """Bytes of shared memory of a block, one of `ROOMS`."""
        return next(room for room in ROOMS if room >= self.memory_offsets.end)

    @cached_property
    def memory_offsets(self) -> SharedMemoryOffsets:
        """Offsets of all tiles and tables in shared memory."""
        tiles, end, behind = {}, 0, self._table_offsets
        for memory, pitches in self.tile_strides.items():
            tiles[memory] = end
            end += round_up_to_multiple(
                self._tile_extent(pitches) * self.problem.tile_element_bytes(memory), WIDEST
            )
        tables, followers = (
            {memory: (end + rows, end + places) for memory, (rows, places) in table.items()}
            for table in (behind.tables, behind.followers)
        )
        return SharedMemoryOffsets(tiles, tables, followers, end + behind.end)

    # ---- Structs of ``kernels/include/tiles.cuh``

    def fill_boxes_struct(self, boxes: Any) -> None:
        """Fill a struct ``Boxes``, from which each block finds its box.

        Indices of bounded dimensions are treated as further memories. The last box along an axis of
        such a dimension counts as one that ends early, because its rows may.
        """
        problem = self.problem
        boxes.rank = len(self.axes)
        for d, (k, extent, count) in enumerate(
            zip(self.axes, self.extents, self.box_counts, strict=True)
        ):
            axis = problem.axes[k]
            weights = [memory_weights[k] for memory_weights in problem.weights]
            boxes.boxes[d] = divisor32_struct(count)
            boxes.extent[0][d] = divisor32_struct(extent)
            boxes.extent[1][d] = divisor32_struct(axis.size % extent or extent)
            boxes.uneven |= (axis.size % extent != 0 or any(weights)) << d
            for memory, stride in enumerate((*axis.strides, *weights)):
                boxes.step[memory][d] = stride * extent
                # A stride along an extent of 1 is never taken, and may not fit 32 bits.
                boxes.stride[memory][d] = stride if extent > 1 and abs(stride) < 2**31 else 0
        outer = [k for k in range(len(problem.axes)) if k not in self.axes][::-1]
        boxes.outer_rank = len(outer)
        for d, k in enumerate(outer):
            boxes.outer_size[d] = divisor32_struct(problem.axes[k].size)
            strides = (
                *problem.axes[k].strides,
                *[memory_weights[k] for memory_weights in problem.weights],
            )
            for memory, stride in enumerate(strides):
                boxes.outer[memory][d] = stride

    def side_struct(self, memory: int, pitches: Sequence[int], axes: int = DEEPEST) -> Any:
        """Return the struct ``Side`` of one memory; `pitches`: strides of the tile."""
        side, width = self.access_by_memory[memory], self.problem.widths[memory]
        order, run = side.order, side.run
        strides = [self.problem.axes[k].strides[memory] for k in self.axes]
        period, last = self.run_period(memory), order[run - 1]
        structure = struct_type("include/tiles.cuh", f"Side<{axes}>")(run=run, linear=period == 1)
        structure.sector, structure.together = side.sector, side.together
        structure.dimension[: len(order)] = order
        # Bit d is set if the axis d runs backwards in this memory.
        structure.turned = sum([(stride < 0) << d for d, stride in enumerate(strides)])
        # Along a run of several dimensions, the first is contiguous.
        structure.step = abs(strides[order[0]]) * side.unit
        step = pitches[last] * max(1, period // self.inner_run_elements(order, run))
        structure.tile_step = -step if strides[last] < 0 else step
        structure.period = small_divisor_struct(max(2, period))
        structure.rows, structure.places = self.memory_offsets.tables[memory]
        structure.spare = self.table_rows_for_overrun(memory)
        for k, length in enumerate(side.lengths):
            structure.length[k] = accesses = length * width // side.unit
            structure.row[k] = small_divisor_struct(side.threads_per_row(accesses))
        return structure


def small_divisor_struct(number: int) -> Any:
    """Return the constants for ``n / number``, exact while ``n * number < 2**32``; 1 < number.

    >>> 100 * small_divisor_struct(7).magic >> 32
    14
    """
    return struct_type("include/tiles.cuh", "SmallDivisor")(2**32 - number, (1 << 32) // number + 1)


def _padding_candidates(size: int, width: int) -> list[int]:
    """Return candidate counts of padding elements after `size` elements, ascending.

    Rows then begin an odd multiple of 1, 2, 4, 8 or 16 accesses apart.
    """
    per = (1, max(1, NARROWEST // width))  # elements of a lane, whose accesses are wide or narrow
    spares = {(apart * n - size) % (2 * apart * n) for apart in (1, 2, 4, 8, 16) for n in per}
    return sorted({0, *spares})


def _count_bank_conflicts(indices: list[list[int]], pitches: Sequence[int], width: int) -> int:
    """Return the wavefronts of an access beyond the first; each serves one word per bank."""
    words = {sum(map(mul, index, pitches)) * width // max(width, NARROWEST) for index in indices}
    banks = [word % len(indices) for word in words]
    return max(map(banks.count, banks)) - 1
