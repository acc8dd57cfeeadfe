"""Sorts of lines: which launches, over which memory. Integers only."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from tensorlayout.cuda import radix_plan
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, divisor32, index_type, walk_type
from tensorlayout.cuda.radix_plan import BLOCKS, DIGIT, MEMORIES, plan_radix, tile
from tensorlayout.cuda.scan_plan import CAPACITY, TILE, merged, packed_walk
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.tensor import TensorSpec

FILE = "sort.cu"

# What `by_digits` compares, in bytes.
_LAUNCH, _PASS, _TILE, _MERGE = 4 * 10**6, 17, 105, 15

# Room for what an index may go beyond the last element.
_BEYOND = 2**16


@dataclass(frozen=True, slots=True)
class SortPlan:
    """A sort that is ready to run.

    Attributes:
        source: what the first pass reads: the operand's layout, or, if its lines do not follow
            each other in memory, one with its lines in one piece, to which it is copied before.
        result: what the last pass writes, which then is copied to the planned layout if that is
            another.
        passes: the launches of each, of which the last writes what the next pass reads.
        first: bytes from the begin of the source to its first element.
        values: bytes of all elements.
        positions: bytes of all positions in between; 0 if elements are sorted.
        scratch: bytes of what launches of a pass leave to others of it.

    """

    source: Layout
    result: Layout
    passes: tuple[tuple[Launch, ...], ...]
    first: int = 0
    values: int = 0
    positions: int = 0
    scratch: int = 0


def plan_sort(
    source: TensorSpec, result: TensorSpec, dim: int, *, positions: bool, down: bool
) -> SortPlan:
    """How to sort the lines along `dim`; `positions`: to write these, as int64.

    `result` is packed in the source's order; `down`: descending. ValueError for a tiled source.
    """
    layout, read = result.layout, source.layout
    if layout.size == 0:
        return SortPlan(read, layout, ())
    faster = layout.minor_to_major[: layout.minor_to_major.index(dim)]
    if prod([layout.shape[d] for d in faster]) > 1:
        order = (dim, *[d for d in layout.minor_to_major if d != dim])
        layout = read = Layout.packed(layout.shape, order)
    walked = merged([(layout.shape[d], read.strides[d]) for d in reversed(layout.minor_to_major)])
    reach = sum((n - 1) * abs(stride) for n, stride in walked)
    index = index_type(layout.size + _BEYOND, reach + _BEYOND)
    length, itemsize = layout.shape[dim], source.dtype.itemsize
    size = (layout.size // length, length)
    bits = 8 * itemsize
    kind = {"positions": positions, "down": down}
    passes, scratch = _passes(size, source.dtype, walked, index, bits=bits, **kind)
    octets = 4 if index == "int32_t" else 8
    return SortPlan(
        read,
        layout,
        passes,
        first=read.offset * itemsize,
        values=layout.size * itemsize,
        positions=layout.size * octets if positions else 0,
        scratch=scratch,
    )


def plan_pairs(count: int, dtype: DType, index: str, bits: int) -> SortPlan:
    """How to sort `count` keys below ``2**bits`` in one run, and their numbers with them."""
    line = Layout.row_major((count,))
    passes, scratch = _passes(
        (1, count), dtype, [(count, 1)], index, positions=True, down=False, bits=bits
    )
    octets = 4 if index == "int32_t" else 8
    return SortPlan(line, line, passes, 0, count * dtype.itemsize, count * octets, scratch)


def _passes(
    size: tuple[int, int],
    dtype: DType,
    walked: Sequence[tuple[int, ...]],
    index: str,
    *,
    positions: bool,
    down: bool,
    bits: int,
) -> tuple[tuple[tuple[Launch, ...], ...], int]:
    """The launches, and bytes of their scratch."""
    length = size[1]
    if length > TILE and by_digits(size, dtype.itemsize, index, positions=positions, bits=bits):
        return plan_radix(size, dtype, walked, index, positions=positions, down=down, bits=bits)
    wanted = "positions" if positions else "values"
    types = (("ELEMENT", c_type(dtype)),)
    rank = len(walked) if len(walked) in (1, 2) else 0
    tiles, made = _tiles(size, index, walked, down)
    first = Launch(_tile_kernel(rank, index, wanted, types), tiles, bytes(made), ())
    doublings = _doublings(length, tiles, index, wanted, types, down)
    octets = 4 if index == "int32_t" else 8
    return ((first,), *doublings), tiles * octets if doublings else 0


def _doublings(
    length: int, tiles: int, index: str, wanted: str, types: tuple[tuple[str, str], ...], down: bool
) -> list[tuple[Launch, Launch]]:
    """The launches that merge sorted tiles; `tiles`: of all lines together."""
    launches = []
    run = TILE
    while run < length:
        of_line = divisor32(-(-length // TILE))
        sizes = {"length": length, "run": run, "tiles": of_line, "descending": int(down)}
        split = split_type(index)(count=tiles, **sizes)
        merge = merge_type(index)(**sizes)
        launches.append(
            (
                Launch(
                    _merge_kernel("split_runs", index, wanted, types),
                    -(-tiles // THREADS),
                    bytes(split),
                    (),
                ),
                Launch(_merge_kernel("merge_tiles", index, wanted, types), tiles, bytes(merge), ()),
            )
        )
        run *= 2
    return launches


def _tiles(
    size: tuple[int, int], index: str, walked: Sequence[tuple[int, ...]], down: bool
) -> tuple[int, Any]:
    """How many tiles there are, and the struct."""
    lines, length = size
    together = min(CAPACITY // length, lines) if length <= CAPACITY else 1
    tiles = -(-length // TILE)
    made = tiles_type(len(walked) if len(walked) in (1, 2) else 0, index)(
        elements=lines * length,
        group=together * length,
        walk=packed_walk(index, walked),
        tiles=divisor32(tiles),
        line=divisor32(min(length, TILE)),
        descending=int(down),
    )
    return -(-lines // together) * tiles, made


def by_digits(
    size: tuple[int, int], itemsize: int, index: str, *, positions: bool, bits: int
) -> bool:
    """Whether passes by digits cost less than merges, for lines longer than a tile.

    In bytes moved. Of an element of w bytes, and a position of o where these are wanted: a pass by
    a digit of 8 bits 3w + 2o, a tile or a merge 2w + 2o. What issues more instructions counts as
    the bytes that an H100 moves meanwhile, 8.5 instructions a byte: 17 of a pass, 105 of a tile, 15
    of a merge. A launch counts as 4 MB, some 2 us. So lines of elements of 1 byte always go by
    digits; one line of 2 bytes from 9217 elements on, of 4 from 36865, of 8 from 589825.
    """
    lines, length = size
    octets = 4 if index == "int32_t" else 8
    beside = octets if positions else 0
    passes = -(-bits // DIGIT)
    each = tile(itemsize, index, positions=positions)
    filled = lines * -(-length // each) * each
    chunks = 3 if lines * 2 <= BLOCKS else 2  # launches
    digits = passes * (chunks * _LAUNCH + filled * max(3 * itemsize + 2 * beside, _PASS))
    doublings = (-(-length // TILE) - 1).bit_length()
    moved = 2 * (itemsize + beside)
    merges = max(moved, _TILE) + doublings * max(moved, _MERGE)
    return digits <= (1 + 2 * doublings) * _LAUNCH + lines * length * merges


# ---- Structs and kernels


@once
def tiles_type(rank: int, index: str) -> Any:
    """``SortTiles<rank, index>`` of kernels/sort.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "SortTiles",
        **MEMORIES,
        elements=number,
        group=number,
        walk=walk_type(rank, index, 1),
        tiles=Divisor32,
        line=Divisor32,
        descending=ctypes.c_int32,
    )


@once
def split_type(index: str) -> Any:
    """``SplitRuns<index>``."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "SplitRuns",
        **MEMORIES,
        count=number,
        length=number,
        run=number,
        tiles=Divisor32,
        descending=ctypes.c_int32,
    )


@once
def merge_type(index: str) -> Any:
    """``MergeTiles<index>``."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "MergeTiles",
        **MEMORIES,
        length=number,
        run=number,
        tiles=Divisor32,
        descending=ctypes.c_int32,
    )


def _tile_kernel(rank: int, index: str, wanted: str, types: tuple[tuple[str, str], ...]) -> Kernel:
    shape = (("RANK", str(rank)), ("INDEX", index), ("GIVES", wanted))
    return Kernel(FILE, "sort_tiles", types, shape)


def _merge_kernel(name: str, index: str, wanted: str, types: tuple[tuple[str, str], ...]) -> Kernel:
    return Kernel(FILE, name, types, (("INDEX", index), ("GIVES", wanted)))


def kernels(dtype: DType) -> tuple[Kernel, ...]:
    """All that a plan may ask for, of one dtype."""
    types = (("ELEMENT", c_type(dtype)),)
    shapes = list(product(("int32_t", "int64_t"), ("values", "positions")))
    return (
        *[_tile_kernel(rank, *shape, types) for rank in (1, 2, 0) for shape in shapes],
        *[
            _merge_kernel(name, *shape, types)
            for name in ("split_runs", "merge_tiles")
            for shape in shapes
        ],
        *radix_plan.kernels(dtype),
    )


def pair_kernels(dtype: DType, index: str) -> tuple[Kernel, ...]:
    """Those that `plan_pairs` may ask for."""
    wanted = {"RANK": "1", "INDEX": index, "GIVES": "positions"}
    return tuple(
        kernel
        for kernel in kernels(dtype)
        if all(wanted[name] == value for name, value in kernel.shape)
    )
