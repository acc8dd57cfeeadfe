"""Running sums and products along a dimension: which kernel, in how many pieces."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, NamedTuple

from tensorlayout import dtypes
from tensorlayout.cuda.engine import (
    THREADS,
    Launch,
    Launches,
    c_type,
    divisor32,
    kernel,
)
from tensorlayout.layout import Axis, index_type, merged
from tensorlayout.plan import ScanPlan

FILE = "scan.cu"

# As in kernels/scan.cu.
TILE = 9 * THREADS
_LANES = 32
_STEP = 64  # positions that a block of `scan_columns` has at once

# Elements of a tile in memory, which leave room for threads that are shifted; whole sectors.
CAPACITY = TILE - 32

# Blocks that keep a GPU busy: eight on each of 128 multiprocessors. Fewer than half as many are
# worth a second read of lines that are at least so many tiles long.
_BLOCKS = 1024
_LONG = 8
_LONG_LINE = 4  # of `scan_lines`, whose tiles are larger

# Room for what an index may go beyond the last element.
_BEYOND = 2**16


class _Lines(NamedTuple):
    """The result, cut along the scanned dimension; axes with strides in the source and the result.

    `outer`, `inner`: what is around it, slowest first.
    """

    outer: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    length: int  # positions of a line
    step: int  # elements of the source from one to the next
    pace: int  # of the result
    initial: int  # positions without an element

    @property
    def groups(self) -> int:
        return prod([axis.size for axis in self.outer])

    @property
    def side_by_side(self) -> int:
        return prod([axis.size for axis in self.inner])

    @property
    def walked(self) -> tuple[Axis, ...]:
        """All axes, slowest first."""
        return (*self.outer, Axis(self.length, (self.step, self.pace)), *self.inner)


# A kernel's part of the work: members of its struct, blocks of a chunk, and how many chunks.
_Work = tuple[dict[str, Any], int, int]


def plan_scan(plan: ScanPlan, alignments: tuple[int, ...] = ()) -> Launches | None:
    """How to write the running sums or products; None where there is nothing to write.

    One way for all `alignments`. Elements are visited in the order of the source. Few and long
    lines are cut into chunks, whose totals a launch before leaves in scratch memory.
    """
    source, result = plan.source, plan.result
    if result.layout.size == 0:
        return None
    lines, functor = _lines(plan), {"prod": "multiply", "sum": "add"}[plan.operation.function]
    scaled = functor == "multiply" and dtypes.in_category(result.dtype, "floating-point")
    kinds = (("SOURCE", c_type(source.dtype)), ("RESULT", c_type(result.dtype)))
    types = (*kinds, ("SCALED", "1")) if scaled else kinds
    whole, itemsize = result.dtype.kind in "iu", result.dtype.itemsize
    # Bytes of a sum on its way to the result.
    octets = max(itemsize, 4) if whole else 16 if result.dtype.kind == "c" else 8
    octets += 8 * scaled
    # Of a tile of `scan_lines`: a thread has 64 bytes of the wider type, and 16 elements at most.
    slots = min(16, 64 // max(source.dtype.itemsize, itemsize)) * THREADS
    if lines.side_by_side >= _LANES:  # a warp has lines of its own
        case, (members, groups, chunks) = "columns", _column_scan(lines)
    elif _in_one_piece(lines, slots):
        case, (members, groups, chunks) = "lines", _line_scan(lines, slots)
    else:
        case, (members, groups, chunks) = "rows", _row_scan(lines, octets)
    several = chunks > 1
    firsts = [each.layout.offset * each.dtype.itemsize for each in (result, source)]
    firsts += [0] * several
    read, written = (sum((n - 1) * abs(s[m]) for n, s, _ in lines.walked) for m in (0, 1))
    reach = max(read + abs(lines.step), written) + _BEYOND
    index = index_type(result.layout.size + _BEYOND, reach)
    shape = {"RANK": max(len(members["walk"]), 1), "INDEX": index}
    members["chunks"] = divisor32(chunks)
    launches = []
    for task in ("totals", "results") if several else ("results",):
        shape[case.upper()] = task
        chosen = kernel(FILE, f"scan_{case}", types, functor, **shape)
        launches.append(Launch.of(chosen, groups * chunks, tuple(firsts), **members))
    totals = lines.groups * lines.side_by_side * chunks * octets
    return Launches(tuple(launches), scratch=(totals,) if several else ())


def _lines(plan: ScanPlan) -> _Lines:
    source, result = plan.source.layout, plan.result.layout
    order = tuple(reversed(source.minor_to_major))
    at = order.index(plan.dim)
    length = result.shape[plan.dim]

    def axes(dims: Iterable[int]) -> tuple[Axis, ...]:
        return tuple(Axis(result.shape[d], (source.strides[d], result.strides[d])) for d in dims)

    step = source.strides[plan.dim] if source.shape[plan.dim] > 1 else 0
    outer, inner, pace = axes(order[:at]), axes(order[at + 1 :]), result.strides[plan.dim]
    return _Lines(outer, inner, length, step, pace, int(plan.initial))


# ---- Lines in one piece


def _in_one_piece(lines: _Lines, slots: int) -> bool:
    """Return whether lines are runs in both memories, and long; or shorter, one behind the other.

    The shortest are no shorter than a thread's elements.
    """
    if lines.side_by_side > 1 or lines.initial or (lines.step, lines.pace) != (1, 1):
        return False
    return lines.length >= slots // (2 if len(merged(lines.walked)) > 1 else THREADS)


def _line_scan(lines: _Lines, slots: int) -> _Work:
    length = lines.length
    room = slots - slots // THREADS  # what a tile may be shifted by
    follow = len(merged(lines.walked)) <= 1
    outers = min(max(room // length, 1), lines.groups) if follow else 1
    groups = -(-lines.groups // outers)
    tiles, chunks = _chunks(-(-(length + slots // THREADS) // slots), groups, _LONG_LINE)
    members = {
        "walk": merged(lines.outer),
        "lines": lines.groups,
        "length": length,
        "chunk": tiles * slots,
        "period": divisor32(min(length, 2**31 - 1)),
        "outers": outers,
    }
    return members, groups, chunks


# ---- Rows


def _row_scan(lines: _Lines, octets: int) -> _Work:
    """Tiles of whole lines, or of positions; `octets`: of a total."""
    inner, length = lines.side_by_side, lines.length
    period = length * inner
    # Totals of complex products are too many bytes for 9 a thread.
    most = CAPACITY if octets <= 16 else 5 * THREADS - _LANES
    room, outers = (most + _LANES) // inner, 1  # of one group of lines
    if period <= most:  # whole lines
        tile, room = length, min(length + _LANES, room)
    else:  # which begins and ends where sectors do if memory does
        tile = most if inner == 1 else most // inner // _LANES * _LANES
    pitch = tile if inner == 1 else _pitch(range(tile, room + 1), tile, inner, octets)
    if period <= most:
        outers = min(most // period, (most + _LANES) // (pitch * inner), lines.groups)
    tiles = -(-length // tile)
    groups = -(-lines.groups // outers)
    per_chunk, chunks = _chunks(tiles, groups)
    members = {
        "walk": merged(lines.walked),
        "elements": lines.groups * period,
        "length": length,
        "group": outers * period,
        "chunk": per_chunk * tile,
        "back": lines.initial * lines.step,
        "period": divisor32(min(period, 2**31 - 1)),
        "inner": divisor32(inner),
        "pitch": divisor32(pitch),
        "tile": tile,
        "outers": outers,
        "initial": lines.initial,
    }
    return members, groups, chunks


def _pitch(candidates: Iterable[int], length: int, inner: int, octets: int) -> int:
    """How far lines are apart in shared memory, so that a warp meets in the fewest banks."""
    lanes, words = min(32, 128 // octets), octets // 4

    def wavefronts(pitch: int) -> int:
        """Those in which some warps store elements that follow each other in memory."""
        found = 0
        for first in range(0, 4 * 32, lanes):
            banks = [0] * 32
            for element in range(first, first + lanes):
                outer, rest = divmod(element, length * inner)
                position, line = divmod(rest, inner)
                place = (outer * inner + line) * pitch + position
                for word in range(words):
                    banks[(place * words + word) % 32] += 1
            found += max(banks)
        return found

    return min(candidates, key=lambda pitch: (wavefronts(pitch), pitch))


def _chunks(tiles: int, groups: int, long: int = _LONG) -> tuple[int, int]:
    """Tiles of a chunk, and how many chunks a line has."""
    if groups > _BLOCKS // 2 or tiles < long:
        return tiles, 1
    each = -(-tiles // (_BLOCKS // groups))
    return each, -(-tiles // each)


# ---- Columns


def _column_scan(lines: _Lines) -> _Work:
    """A warp has 32 lines side by side."""
    count = lines.groups * lines.side_by_side
    groups = -(-count // _LANES)
    steps, chunks = _chunks(-(-lines.length // _STEP), groups)
    members = {
        "walk": merged((*lines.outer, *lines.inner)),
        "lines": count,
        "length": lines.length,
        "chunk": steps * _STEP,
        "along": lines.step,
        "back": lines.initial * lines.step,
        "pace": lines.pace,
        "initial": lines.initial,
    }
    return members, groups, chunks
