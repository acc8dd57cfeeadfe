"""Sorts of lines: which launches, over which memory. Integers only."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from tensorlayout.cuda.driver import Kernel
from tensorlayout.cuda.launches import THREADS, Launch, struct_type
from tensorlayout.cuda.parameters import Divisor32, divisor32, index_type, walk_type
from tensorlayout.cuda.scan_plan import CAPACITY, TILE, element_type, merged, packed_walk
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once
from tensorlayout.tensor import Spec

FILE = "sort.cu"

# Room for what an index may go beyond the last element.
_BEYOND = 2**16


@dataclass(frozen=True, slots=True)
class SortPlan:
    """A sort that is ready to run.

    Attributes:
        source: what the first launch reads: the operand's layout, or, if its lines do not follow
            each other in memory, one with its lines in one piece, to which it is copied before.
        result: what the last launch writes, which then is copied to the planned layout if that is
            another.
        launches: `sort_tiles`, and for each time that runs double a `split_runs` and a
            `merge_tiles`. `firsts` have the source alone, and nothing of the others.
        values: bytes of all elements.
        positions: bytes of all positions in between; 0 if elements are sorted.
        splits: bytes of what `split_runs` finds.

    """

    source: Layout
    result: Layout
    launches: tuple[Launch, ...]
    values: int = 0
    positions: int = 0
    splits: int = 0


def plan_sort(source: Spec, result: Spec, dim: int, *, positions: bool, down: bool) -> SortPlan:
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
    wanted = "positions" if positions else "values"
    types = (("ELEMENT", element_type(source.dtype)),)
    first = read.offset * source.dtype.itemsize
    tiles, made = _tiles(layout, dim, index, walked, down)
    rank = len(walked) if len(walked) in (1, 2) else 0
    launches = [Launch(_tile_kernel(rank, index, wanted, types), tiles, bytes(made), (first,))]
    length = layout.shape[dim]
    launches += _doublings(length, tiles, index, wanted, types, down)
    octets = 4 if index == "int32_t" else 8
    return SortPlan(
        read,
        layout,
        tuple(launches),
        values=layout.size * source.dtype.itemsize,
        positions=layout.size * octets if positions else 0,
        splits=tiles * octets,
    )


def _doublings(
    length: int, tiles: int, index: str, wanted: str, types: tuple[tuple[str, str], ...], down: bool
) -> list[Launch]:
    """The launches that merge sorted tiles; `tiles`: of all lines together."""
    launches = []
    run = TILE
    while run < length:
        of_line = divisor32(-(-length // TILE))
        sizes = {"length": length, "run": run, "tiles": of_line, "descending": int(down)}
        split = split_type(index)(count=tiles, **sizes)
        merge = merge_type(index)(**sizes)
        for name, grid, made in (
            ("split_runs", -(-tiles // THREADS), split),
            ("merge_tiles", tiles, merge),
        ):
            launches.append(
                Launch(_merge_kernel(name, index, wanted, types), grid, bytes(made), ())
            )
        run *= 2
    return launches


def _tiles(layout: Layout, dim: int, index: str, walked: Any, down: bool) -> tuple[int, Any]:
    """How many tiles there are, and the struct."""
    length = layout.shape[dim]
    lines = layout.size // length
    together = min(CAPACITY // length, lines) if length <= CAPACITY else 1
    tiles = -(-length // TILE)
    made = tiles_type(len(walked) if len(walked) in (1, 2) else 0, index)(
        elements=layout.size,
        group=together * length,
        walk=packed_walk(index, walked),
        tiles=divisor32(tiles),
        line=divisor32(min(length, TILE)),
        descending=int(down),
    )
    return -(-lines // together) * tiles, made


# ---- Structs and kernels

_OUT = dict.fromkeys(("values", "positions", "result"), ctypes.c_uint64)


@once
def tiles_type(rank: int, index: str) -> Any:
    """``SortTiles<rank, index>`` of kernels/sort.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "SortTiles",
        **_OUT,
        from_=ctypes.c_uint64,
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
        splits=ctypes.c_uint64,
        values=ctypes.c_uint64,
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
        **_OUT,
        from_values=ctypes.c_uint64,
        from_positions=ctypes.c_uint64,
        splits=ctypes.c_uint64,
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
    types = (("ELEMENT", element_type(dtype)),)
    shapes = list(product(("int32_t", "int64_t"), ("values", "positions")))
    return (
        *[_tile_kernel(rank, *shape, types) for rank in (1, 2, 0) for shape in shapes],
        *[
            _merge_kernel(name, *shape, types)
            for name in ("split_runs", "merge_tiles")
            for shape in shapes
        ],
    )
