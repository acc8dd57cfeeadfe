"""Running sums and products along a dimension: which kernel, in how many pieces. Integers only."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from tensorlayout import dtypes
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import (
    Divisor32,
    Divisor64,
    divisor32,
    index_type,
    walk_type,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.tensor import TensorSpec

FILE = "scan.cu"

# As in kernels/scan.cu.
TILE = 9 * THREADS
_LANES = 32
_STEP = 64  # positions that a block of `scan_columns` has at once

# Of `scan_lines`: bytes of a thread's elements in the wider type, of which it has 16 at most.
_THREAD_BYTES, _MOST_PER_THREAD = 64, 16

# Elements of a tile in memory, which leave room for threads that are shifted; whole sectors.
CAPACITY = TILE - 32

# From so many lines side by side on, a warp has lines of its own.
_SIDE_BY_SIDE = 32

# Blocks that keep a GPU busy: eight on each of 128 multiprocessors. Fewer than half as many are
# worth a second read of lines that are at least so many tiles long.
_BLOCKS = 1024
_LONG = 8
_LONG_LINE = 4  # of `scan_lines`, whose tiles are larger

# Room for what an index may go beyond the last element.
_BEYOND = 2**16

_RANKS = (1, 2, 0)  # 0: any
_INDICES = ("int32_t", "int64_t")


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """A scan that is ready to run.

    Attributes:
        case: ``empty``, ``lines``, ``rows`` or ``columns``.
        launches: one; or two, where lines are cut into chunks. `firsts` have result and source.
        totals: bytes of the memory in between, which the first launch fills; 0 without chunks.

    """

    case: str
    launches: tuple[Launch, ...]
    totals: int = 0


Dimension = tuple[int, ...]  # a size, and the stride in each memory: of scans, source and result


@dataclass(frozen=True, slots=True)
class _Lines:
    """The result, cut along the scanned dimension.

    `outer`, `inner`: dimensions around it, slowest first; `length`: positions of a line, `step`
    elements of the source from one to the next, `pace` of the result, `initial` positions without
    an element.
    """

    outer: tuple[Dimension, ...]
    inner: tuple[Dimension, ...]
    length: int
    step: int
    pace: int
    initial: int

    @property
    def groups(self) -> int:
        return prod([n for n, *_ in self.outer])

    @property
    def side_by_side(self) -> int:
        return prod([n for n, *_ in self.inner])

    @property
    def size(self) -> int:
        return self.groups * self.length * self.side_by_side

    @property
    def index(self) -> str:
        read, written = (sum((n - 1) * abs(s[m]) for n, *s in self.walked) for m in (0, 1))
        return index_type(self.size + _BEYOND, max(read + abs(self.step), written) + _BEYOND)

    @property
    def walked(self) -> tuple[Dimension, ...]:
        """All dimensions, slowest first."""
        return (*self.outer, (self.length, self.step, self.pace), *self.inner)


def plan_scan(
    operation: str,
    source: TensorSpec,
    result: TensorSpec,
    dim: int,
    *,
    initial: bool = False,
    to: Layout | None = None,
) -> ScanPlan:
    """How to write the running sums ("add") or products ("multiply") along `dim`.

    `result` is packed in the source's order, in which it is visited; it lies as that says, or where
    `to` says. With `initial`, its lines begin with one position that no element has. ValueError for
    a tiled source. The cases:

    1. ``empty``: nothing to write.
    2. ``columns``: at least 32 lines side by side in that order.
    3. ``lines``: none are, and a line's elements follow each other in both memories; lines that are
       shorter than half a tile follow each other, too, and are no shorter than a thread's elements.
    4. ``rows``: everything else.
    """
    if result.layout.size == 0:
        return ScanPlan("empty", ())
    to = result.layout if to is None else to
    lines = _lines(source.layout, to, result.layout.minor_to_major, dim, int(initial))
    types = _types(operation, source.dtype, result.dtype)
    firsts = (to.offset * result.dtype.itemsize, source.layout.offset * source.dtype.itemsize)
    slots = _slots(source.dtype, result.dtype)
    if lines.side_by_side >= _SIDE_BY_SIDE:
        case, shape = "columns", _column_scan(lines)
    elif _in_one_piece(lines, slots):
        case, shape = "lines", _line_scan(lines, slots)
    else:
        case, shape = "rows", _row_scan(lines, _total_bytes(operation, result.dtype))
    made, rank, groups, chunks = shape
    grid, packed = groups * chunks, bytes(made)
    launches = tuple(
        Launch(_kernel(case, rank, lines.index, task, types, operation), grid, packed, firsts)
        for task in (("totals", "results") if chunks > 1 else ("results",))
    )
    totals = lines.groups * lines.side_by_side * chunks * _total_bytes(operation, result.dtype)
    return ScanPlan(case, launches, totals if chunks > 1 else 0)


def _lines(
    source: Layout, result: Layout, minor_to_major: Sequence[int], dim: int, initial: int
) -> _Lines:
    order = tuple(reversed(minor_to_major))
    at = order.index(dim)

    def dimensions(dims: Iterable[int]) -> tuple[Dimension, ...]:
        return tuple((result.shape[d], source.strides[d], result.strides[d]) for d in dims)

    step = source.strides[dim] if source.shape[dim] > 1 else 0
    outer, inner = dimensions(order[:at]), dimensions(order[at + 1 :])
    return _Lines(outer, inner, result.shape[dim], step, result.strides[dim], initial)


def merged(dimensions: Iterable[Dimension]) -> list[Dimension]:
    """The fewest dimensions that visit the same elements in the same order; at least one.

    >>> merged([(2, 12), (3, 4), (1, 9), (4, 1)])
    [(24, 1)]
    """
    found: list[Dimension] = []
    one: Dimension = (1, 0)
    for size, *strides in dimensions:
        one = (1, *[0] * len(strides))
        if size == 1:
            continue
        if found and found[-1][1:] == tuple(size * s for s in strides):
            found[-1] = (found[-1][0] * size, *strides)
        else:
            found.append((size, *strides))
    return found or [one]


# ---- Lines in one piece


def _slots(source: DType, result: DType) -> int:
    """Elements of a tile of `scan_lines`."""
    wider = max(source.itemsize, result.itemsize)
    return min(_MOST_PER_THREAD, _THREAD_BYTES // wider) * THREADS


def _in_one_piece(lines: _Lines, slots: int) -> bool:
    contiguous = (lines.step, lines.pace) == (1, 1)
    if lines.side_by_side > 1 or lines.initial or not contiguous:
        return False
    return lines.length >= slots // (2 if len(merged(lines.walked)) > 1 else THREADS)


def _line_scan(lines: _Lines, slots: int) -> tuple[Any, int, int, int]:
    """The struct, its rank, how many tiles of lines there are, and chunks of each."""
    length, index = lines.length, lines.index
    room = slots - slots // THREADS  # what a tile may be shifted by
    follow = len(merged(lines.walked)) == 1
    outers = min(max(room // length, 1), lines.groups) if follow else 1
    groups = -(-lines.groups // outers)
    tiles, chunks = _chunks(-(-(length + slots // THREADS) // slots), groups, _LONG_LINE)
    walked = merged((*lines.outer, (1, 0, 0)))
    made = line_type(_rank(walked), index)(
        lines=lines.groups,
        length=length,
        chunk=tiles * slots,
        walk=packed_walk(index, walked),
        chunks=divisor32(chunks),
        period=divisor32(min(length, 2**31 - 1)),
        outers=outers,
    )
    return made, _rank(walked), groups, chunks


# ---- Rows


def _row_scan(lines: _Lines, octets: int) -> tuple[Any, int, int, int]:
    """The struct, its rank, how many groups of lines there are, and chunks of each."""
    inner, length = lines.side_by_side, lines.length
    period = length * inner
    fits = period <= _room(octets)
    whole = _tile_of_lines(length, inner, octets, lines.groups) if fits else None
    tile, pitch, outers = whole or _tile_of_positions(inner, octets)
    tiles = -(-length // tile)
    groups = -(-lines.groups // outers)
    per_chunk, chunks = _chunks(tiles, groups)
    index = lines.index
    walked = merged(lines.walked)
    made = row_type(_rank(walked), index)(
        elements=lines.size,
        length=length,
        group=outers * period,
        chunk=per_chunk * tile,
        back=lines.initial * lines.step,
        walk=packed_walk(index, walked),
        chunks=divisor32(chunks),
        period=divisor32(min(period, 2**31 - 1)),
        inner=divisor32(inner),
        pitch=divisor32(pitch),
        tile=tile,
        outers=outers,
        initial=lines.initial,
    )
    return made, _rank(walked), groups, chunks


def _room(octets: int) -> int:
    """`CAPACITY`, for totals of so many bytes: those of complex products are too many for 9."""
    return CAPACITY if octets <= 16 else 5 * THREADS - _LANES


def _tile_of_lines(
    length: int, inner: int, octets: int, groups: int
) -> tuple[int, int, int] | None:
    """A tile of whole lines, as (positions, pitch, groups of lines); None if lines are too long."""
    most = _room(octets)
    if inner == 1:
        return length, length, min(most // length, groups)
    room = (most + _LANES) // inner
    if length > room:
        return None
    pitch = _pitch(range(length, min(length + _LANES, room) + 1), length, inner, octets)
    period = length * inner
    return length, pitch, min(most // period, (most + _LANES) // (pitch * inner), groups)


def _tile_of_positions(inner: int, octets: int) -> tuple[int, int, int]:
    """A tile of one group of lines, which begins and ends where sectors do if memory does."""
    most = _room(octets)
    if inner == 1:
        return most, most, 1
    tile = most // inner // _LANES * _LANES
    return tile, _pitch(range(tile, (most + _LANES) // inner + 1), tile, inner, octets), 1


def _pitch(candidates: Iterable[int], length: int, inner: int, octets: int) -> int:
    """How far lines are apart in shared memory, so that a warp meets in the fewest banks."""
    return min(candidates, key=lambda pitch: (_wavefronts(pitch, length, inner, octets), pitch))


def _wavefronts(pitch: int, length: int, inner: int, octets: int) -> int:
    """How many a warp needs to store elements that follow each other in memory, over some warps."""
    lanes, words = min(32, 128 // octets), octets // 4
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


def _chunks(tiles: int, groups: int, long: int = _LONG) -> tuple[int, int]:
    """Tiles of a chunk, and how many chunks a line has."""
    if groups > _BLOCKS // 2 or tiles < long:
        return tiles, 1
    each = -(-tiles // (_BLOCKS // groups))
    return each, -(-tiles // each)


# ---- Columns


def _column_scan(lines: _Lines) -> tuple[Any, int, int, int]:
    """The struct, its rank, how many warps of lines there are, and chunks of each."""
    count = lines.groups * lines.side_by_side
    groups = -(-count // _LANES)
    steps, chunks = _chunks(-(-lines.length // _STEP), groups)
    index = lines.index
    walked = merged((*lines.outer, *lines.inner))
    made = column_type(_rank(walked), index)(
        lines=count,
        length=lines.length,
        chunk=steps * _STEP,
        along=lines.step,
        back=lines.initial * lines.step,
        pace=lines.pace,
        walk=packed_walk(index, walked),
        chunks=divisor32(chunks),
        initial=lines.initial,
    )
    return made, _rank(walked), groups, chunks


# ---- Structs and kernels


def _rank(walked: Sequence[Dimension]) -> int:
    return len(walked) if len(walked) in _RANKS else 0


def packed_walk(index: str, dimensions: Sequence[Dimension]) -> Any:
    """``Walk<rank, index, N>`` over these, slowest first; of rank 1 or 2, or of any."""
    rank = _rank(dimensions)
    made = walk_type(rank, index, len(dimensions[0]) - 1)()
    for d, (size, *strides) in enumerate(dimensions):
        made.size[d] = _divisor(index, size)
        for n, stride in enumerate(strides):
            made.stride[n][d] = stride
    if rank == 0:
        made.rank = len(dimensions)
    return made


def _divisor(index: str, number: int) -> Any:
    return divisor32(number) if index == "int32_t" else Divisor64(number)


def _numbers(index: str, *names: str) -> dict[str, Any]:
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return dict.fromkeys(names, number)


_POINTERS = dict.fromkeys(("to", "from_", "totals"), ctypes.c_uint64)


@once
def row_type(rank: int, index: str) -> Any:
    """``RowScan<rank, index>`` of kernels/scan.cu."""
    divisors = dict.fromkeys(("chunks", "period", "inner", "pitch"), Divisor32)
    return struct_type(
        "RowScan",
        **_POINTERS,
        **_numbers(index, "elements", "length", "group", "chunk", "back"),
        walk=walk_type(rank, index, 2),
        **divisors,
        **dict.fromkeys(("tile", "outers", "initial"), ctypes.c_int32),
    )


@once
def line_type(rank: int, index: str) -> Any:
    """``LineScan<rank, index>``."""
    return struct_type(
        "LineScan",
        **_POINTERS,
        **_numbers(index, "lines", "length", "chunk"),
        walk=walk_type(rank, index, 2),
        **dict.fromkeys(("chunks", "period"), Divisor32),
        outers=ctypes.c_int32,
    )


@once
def column_type(rank: int, index: str) -> Any:
    """``ColumnScan<rank, index>``."""
    return struct_type(
        "ColumnScan",
        **_POINTERS,
        **_numbers(index, "lines", "length", "chunk", "along", "back", "pace"),
        walk=walk_type(rank, index, 2),
        chunks=Divisor32,
        initial=ctypes.c_int32,
    )


def _kernel(
    case: str,
    rank: int,
    index: str,
    task: str,
    types: tuple[tuple[str, str], ...],
    operation: str,
) -> Kernel:
    shape = (("RANK", str(rank)), ("INDEX", index), (case.upper(), task))
    return Kernel(FILE, f"scan_{case}", types, shape, operation)


def _types(operation: str, source: DType, result: DType) -> tuple[tuple[str, str], ...]:
    """The macros that name the element types, and that products of floats are scaled."""
    types = (("SOURCE", c_type(source)), ("RESULT", c_type(result)))
    return (*types, ("SCALED", "1")) if _is_scaled(operation, result) else types


def _is_scaled(operation: str, dtype: DType) -> bool:
    return operation == "multiply" and dtypes.in_category(dtype, "floating-point")


def _total_bytes(operation: str, dtype: DType) -> int:
    """Of what is added up or multiplied for a result of this dtype."""
    if dtype.kind in "iu":
        return max(dtype.itemsize, 4)
    return (16 if dtype.kind == "c" else 8) + 8 * _is_scaled(operation, dtype)


def kernels(dtype: DType, operation: str = "add") -> tuple[Kernel, ...]:
    """All that a plan may ask for, from and to one dtype."""
    types = _types(operation, dtype, dtype)
    shapes = product(("lines", "rows", "columns"), _RANKS, _INDICES, ("totals", "results"))
    return tuple(_kernel(*shape, types, operation) for shape in shapes)
