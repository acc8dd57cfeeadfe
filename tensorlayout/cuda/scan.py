"""Running sums and products along a dimension on CUDA: choice of kernel and of pieces.

*Columns*: threads of a warp scan 32 neighbouring lines. *Lines*: long contiguous lines. *Rows*: all
others, in tiles of consecutive elements. Few long lines are cut into chunks. Of *lines*, each chunk
is a tile, and blocks hand totals on to later ones. Otherwise a first launch computes the total of
each chunk, and a second one adds the totals before a chunk to its results.
"""

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
    divisor32_struct,
    kernel_with_macros,
)
from tensorlayout.cuda.fill import bind_fill_value, plan_fill
from tensorlayout.layout import Axis, Layout, merge_axes, narrowest_index_type
from tensorlayout.plan import ScanPlan

FILE = "scan.cu"

# As in kernels/scan.cu.
TILE = 9 * THREADS
# Threads of a warp: scan_columns gives each of them a line.
_LANES = 32
_STEP = 64  # positions that a block of `scan_columns` holds at once
_MANY_LINES = 2**15  # from which on a thread scans a line of up to _STEP positions alone

# Elements of a tile: threads may be shifted by up to 32, to begin where a sector begins.
CAPACITY = TILE - 32

# Blocks that keep a GPU busy: eight on each of 128 multiprocessors. With fewer than half of them,
# a second read pays for lines of at least _LONG tiles.
_BLOCKS = 1024
_LONG = 8
_LONG_LINE = 4  # of `scan_lines`, whose tiles are larger

# Indices in a kernel may exceed the last element by up to this.
_BEYOND = 2**16


class _ScanLines(NamedTuple):
    """Scanned dimension and the axes around it (slowest first), strided in source and result."""

    outer_axes: tuple[Axis, ...]
    inner_axes: tuple[Axis, ...]
    line_length: int  # positions of a line
    source_step: int  # elements of the source from one position to the next
    result_step: int  # elements of the result
    initial_positions: int  # 1 if the result begins with the initial value, else 0

    @property
    def outer_count(self) -> int:
        return prod([axis.size for axis in self.outer_axes])

    @property
    def inner_count(self) -> int:
        return prod([axis.size for axis in self.inner_axes])

    @property
    def all_axes(self) -> tuple[Axis, ...]:
        """All axes, slowest first."""
        return (
            *self.outer_axes,
            Axis(self.line_length, (self.source_step, self.result_step)),
            *self.inner_axes,
        )


# Work of a kernel: members of its struct, groups of lines, and number of chunks of a line.
_ScanWork = tuple[dict[str, Any], int, int]


def plan_scan(plan: ScanPlan, alignments: tuple[int, ...] = ()) -> Launches | None:
    """Plan running sums or products; None for an empty result.

    `alignments` do not matter. Elements are visited in the order of the source.
    """
    source, result = plan.source, plan.result
    if result.layout.size == 0:
        return None
    lines = _make_scan_lines(plan)
    functor = {"prod": "multiply", "sum": "add"}[plan.operation.function_name]
    scaled = functor == "multiply" and dtypes.is_in_category(result.dtype, "floating-point")
    kinds = (("SOURCE", c_type(source.dtype)), ("RESULT", c_type(result.dtype)))
    types = (*kinds, ("SCALED", "1")) if scaled else kinds
    whole, itemsize = result.dtype.kind in "iu", result.dtype.itemsize
    # Bytes of a running total: floats are accumulated in float64, and products of floats have a
    # separate exponent (`scaled`), so that they neither overflow nor underflow on the way.
    total_bytes = max(itemsize, 4) if whole else 16 if result.dtype.kind == "c" else 8
    total_bytes += 8 * scaled
    # A thread of `scan_lines` holds 64 bytes of the wider type, and 16 elements at most.
    tile_elements = min(16, 64 // max(source.dtype.itemsize, itemsize)) * THREADS
    if lines.inner_count >= _LANES:  # a warp has lines of its own
        case, (members, groups, chunks) = "columns", _plan_column_scan(lines)
    elif _are_lines_contiguous_and_long(lines, tile_elements):
        case, (members, groups, chunks) = "lines", _plan_line_scan(lines, tile_elements)
    else:
        case, (members, groups, chunks) = "rows", _plan_scan_of_contiguous_tiles(lines, total_bytes)
    firsts = tuple([spec.layout.offset * spec.dtype.itemsize for spec in (result, source)])
    read, written = (sum((n - 1) * abs(s[m]) for n, s, _ in lines.all_axes) for m in (0, 1))
    reach = max(read + abs(lines.source_step), written) + _BEYOND
    # The last chunk may end far behind the last element.
    furthest = max(result.layout.size, chunks * members.get("chunk", 0)) + _BEYOND
    index = narrowest_index_type(furthest, reach)
    shape = {"RANK": max(len(members["walk"]), 1), "INDEX": index}

    def launch(task: str, scratch_count: int) -> Launch:
        shape[case.upper()] = task
        chosen = kernel_with_macros(FILE, f"scan_{case}", types, functor, **shape)
        places = (*firsts, *[0] * scratch_count)
        return Launch.from_members(chosen, groups * chunks, places, **members)

    if case == "lines":
        members["tiles"] = divisor32_struct(chunks)
        if chunks == 1:
            return Launches((launch("whole_lines", 0),))
        # Totals of the tiles and of groups of THREADS tiles; a flag of 4 bytes for each of them.
        totals = groups * (chunks + -(-chunks // THREADS))
        flags = Layout.row_major((1 + totals,))
        fill = bind_fill_value(plan_fill(flags, 4), bytes(4)).launches[0].with_memories([3])
        scratch = (totals * total_bytes, flags.size * 4)
        return Launches((fill, launch("linked_tiles", 2)), scratch=scratch)
    members["chunks"] = divisor32_struct(chunks)
    if case == "columns" and _are_columns_short(lines):
        groups = -(-groups * _LANES // THREADS)
        return Launches((launch("whole_columns", 0),))
    if chunks == 1:
        return Launches((launch("results", 0),))
    totals = lines.outer_count * lines.inner_count * chunks * total_bytes
    return Launches((launch("totals", 1), launch("results", 1)), scratch=(totals,))


def _make_scan_lines(plan: ScanPlan) -> _ScanLines:
    source, result = plan.source.layout, plan.result.layout
    order = tuple(reversed(source.minor_to_major))
    dim_position = order.index(plan.dim)
    length = result.shape[plan.dim]

    def read_write_axes(dims: Iterable[int]) -> tuple[Axis, ...]:
        return tuple(Axis(result.shape[d], (source.strides[d], result.strides[d])) for d in dims)

    step = source.strides[plan.dim] if source.shape[plan.dim] > 1 else 0
    outer = read_write_axes(order[:dim_position])
    inner = read_write_axes(order[dim_position + 1 :])
    pace = result.strides[plan.dim]
    return _ScanLines(outer, inner, length, step, pace, int(plan.initial))


# ---- Lines in one piece


def _are_lines_contiguous_and_long(lines: _ScanLines, tile_elements: int) -> bool:
    """Return whether lines are contiguous in both memories and long enough for `scan_lines`.

    Lines that follow each other in memory may be as short as the elements of one thread.
    """
    if (
        lines.inner_count > 1
        or lines.initial_positions
        or (lines.source_step, lines.result_step) != (1, 1)
    ):
        return False
    return lines.line_length >= tile_elements // (
        2 if len(merge_axes(lines.all_axes)) > 1 else THREADS
    )


def _plan_line_scan(lines: _ScanLines, tile_elements: int) -> _ScanWork:
    length = lines.line_length
    room = tile_elements - tile_elements // THREADS  # a tile may be shifted by a thread's elements
    follow = len(merge_axes(lines.all_axes)) <= 1
    outers = min(max(room // length, 1), lines.outer_count) if follow else 1
    groups = -(-lines.outer_count // outers)
    # A tile may be shifted.
    tiles = -(-(length + tile_elements // THREADS) // tile_elements)
    chunks = tiles if groups <= _BLOCKS // 2 and tiles >= _LONG_LINE else 1
    # A divisor has 31 bits. Lines that are longer share no tile, and a place in a tile divided by
    # any longer period is 0.
    members = {
        "walk": merge_axes(lines.outer_axes),
        "lines": lines.outer_count,
        "length": length,
        "period": divisor32_struct(min(length, 2**31 - 1)),
        "outers": outers,
    }
    return members, groups, chunks


# ---- Rows


def _plan_scan_of_contiguous_tiles(lines: _ScanLines, total_bytes: int) -> _ScanWork:
    """Plan tiles of whole lines, or of parts of lines; `total_bytes`: of a running total."""
    inner, length = lines.inner_count, lines.line_length
    period = length * inner
    # Totals of complex products, 24 bytes each, leave room for 5 elements per thread, not 9.
    most = CAPACITY if total_bytes <= 16 else 5 * THREADS - _LANES
    room, outers = (most + _LANES) // inner, 1  # positions that fit; groups of lines per tile
    if period <= most:  # whole lines
        tile, room = length, min(length + _LANES, room)
    else:  # whole sectors, so that tiles begin and end at sectors if the memory does
        tile = most if inner == 1 else most // inner // _LANES * _LANES
    pitch = (
        tile
        if inner == 1
        else _shared_memory_pitch(range(tile, room + 1), tile, inner, total_bytes)
    )
    if period <= most:
        outers = min(most // period, (most + _LANES) // (pitch * inner), lines.outer_count)
    tiles = -(-length // tile)
    groups = -(-lines.outer_count // outers)
    per_chunk, chunks = _tiles_per_chunk_and_chunk_count(tiles, groups)
    members = {
        "walk": merge_axes(lines.all_axes),
        "elements": lines.outer_count * period,
        "length": length,
        "group": outers * period,
        "chunk": per_chunk * tile,
        "back": lines.initial_positions * lines.source_step,
        "period": divisor32_struct(min(period, 2**31 - 1)),
        "inner": divisor32_struct(inner),
        "pitch": divisor32_struct(pitch),
        "tile": tile,
        "outers": outers,
        "initial": lines.initial_positions,
    }
    return members, groups, chunks


def _shared_memory_pitch(
    candidates: Iterable[int], length: int, inner: int, bytes_per_total: int
) -> int:
    """Return the pitch of lines in shared memory with the fewest bank conflicts."""
    lanes, words = min(32, 128 // bytes_per_total), bytes_per_total // 4

    def count_wavefronts(pitch: int) -> int:
        """Return the wavefronts that the first warps need to store consecutive elements."""
        total = 0
        for first in range(0, 4 * 32, lanes):
            banks = [0] * 32
            for element in range(first, first + lanes):
                outer, rest = divmod(element, length * inner)
                position, line = divmod(rest, inner)
                place = (outer * inner + line) * pitch + position
                for word in range(words):
                    banks[(place * words + word) % 32] += 1
            total += max(banks)
        return total

    return min(candidates, key=lambda pitch: (count_wavefronts(pitch), pitch))


def _tiles_per_chunk_and_chunk_count(tiles: int, groups: int) -> tuple[int, int]:
    """Return the tiles of a chunk, and the chunks of a line."""
    if groups > _BLOCKS // 2 or tiles < _LONG:
        return tiles, 1
    tiles_per_chunk = -(-tiles // (_BLOCKS // groups))
    return tiles_per_chunk, -(-tiles // tiles_per_chunk)


# ---- Columns


def _are_columns_short(lines: _ScanLines) -> bool:
    """Return whether each thread scans a line alone: the warps of a block would have few positions.

    Longer lines need many of them, so that enough reads are under way.
    """
    count, length = lines.outer_count * lines.inner_count, lines.line_length
    return length <= _STEP // 8 or (length <= _STEP and count >= _MANY_LINES)


def _plan_column_scan(lines: _ScanLines) -> _ScanWork:
    """Plan a scan in which each thread of a warp has one of 32 neighbouring lines."""
    count = lines.outer_count * lines.inner_count
    groups = -(-count // _LANES)
    steps, chunks = _tiles_per_chunk_and_chunk_count(-(-lines.line_length // _STEP), groups)
    members = {
        "walk": merge_axes((*lines.outer_axes, *lines.inner_axes)),
        "lines": count,
        "length": lines.line_length,
        "chunk": steps * _STEP,
        "along": lines.source_step,
        "back": lines.initial_positions * lines.source_step,
        "pace": lines.result_step,
        "initial": lines.initial_positions,
    }
    return members, groups, chunks
