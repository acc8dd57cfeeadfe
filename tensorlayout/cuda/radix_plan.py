"""Sorts of long lines by digits: the launches of each pass. Integers only."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import product
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, divisor32, walk_type
from tensorlayout.cuda.scan_plan import packed_walk
from tensorlayout.dtypes import DType
from tensorlayout.layout.once import once

FILE = "radix.cu"
DIGIT = 8  # bits
DIGITS = 256

_RANKS = (1, 2, 0)  # 0: any
_INDICES = ("int32_t", "int64_t")

# Blocks that keep a GPU busy: eight on each of 128 multiprocessors.
BLOCKS = 1024

# Elements by which threads are shifted, at most: a chunk is less than its tiles by so many.
_SHIFTED = 32

# Counts that a thread of `scan_digits` adds up, if there are few enough chunks.
_ROWS = 8

# What every launch of a sort begins with: ``Memories`` of kernels/sorted.cuh.
MEMORIES = dict.fromkeys(
    ("values", "positions", "result", "from_", "origins", "scratch"), ctypes.c_uint64
)

Types = tuple[tuple[str, str], ...]


def tile(itemsize: int, index: str, *, positions: bool) -> int:
    """Elements that a block sorts at once, as in kernels/radix.cu."""
    moved = 4 if index == "int32_t" else 8
    return (15 if max(itemsize, moved if positions else 0) == 8 else 19) * THREADS


def plan_radix(
    size: tuple[int, int],
    dtype: DType,
    walked: Sequence[tuple[int, ...]],
    index: str,
    *,
    positions: bool,
    down: bool,
    bits: int,
) -> tuple[tuple[tuple[Launch, ...], ...], int]:
    """The launches of each pass, and bytes of their scratch; `size`: lines, and elements of each.

    `walked`: the dimensions of the result's elements in the source, slowest first. `bits`: how many
    of an element say where it belongs, from the lowest on.
    """
    lines, length = size
    octets = 4 if index == "int32_t" else 8
    each = tile(dtype.itemsize, index, positions=positions)
    tiles = -(-(length + _SHIFTED) // each)
    together = -(-tiles // max(1, BLOCKS // lines))
    chunk = together * each - _SHIFTED
    chunks = -(-length // chunk)
    types = (("ELEMENT", c_type(dtype)),)
    wanted = "positions" if positions else "values"

    def pass_of(below: int) -> tuple[Launch, ...]:
        read = walked if below == 0 else [(lines * length, 1)]
        rank = len(read) if len(read) in _RANKS else 0
        made = pass_type(rank, index)(
            length=length,
            chunk=min(chunk, length),
            walk=packed_walk(index, read),
            chunks=divisor32(chunks),
            shift=below,
            first=int(below == 0),
            descending=int(down),
        )
        count, scatter = (
            Launch(_kernel(name, rank, index, wanted, types), lines * chunks, bytes(made), ())
            for name in ("count_digits", "scatter_digits")
        )
        if chunks == 1:
            return count, scatter
        shift = min((-(-chunks // _ROWS) - 1).bit_length(), 5)
        scan = bytes(scan_type()(chunks=chunks, shift=shift))
        grid = lines << shift
        return count, Launch(_scan_kernel(index, types), grid, scan, ()), scatter

    passes = tuple(pass_of(below) for below in range(0, bits, DIGIT))
    return passes, DIGITS * octets * (lines * chunks + (lines if chunks > 1 else 0))


@once
def pass_type(rank: int, index: str) -> Any:
    """``RadixPass<rank, index>`` of kernels/radix.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "RadixPass",
        **MEMORIES,
        length=number,
        chunk=number,
        walk=walk_type(rank, index, 1),
        chunks=Divisor32,
        **dict.fromkeys(("shift", "first", "descending"), ctypes.c_int32),
    )


@once
def scan_type() -> Any:
    """``DigitScan``."""
    return struct_type("DigitScan", **MEMORIES, chunks=ctypes.c_int32, shift=ctypes.c_int32)


def _kernel(name: str, rank: int, index: str, wanted: str, types: Types) -> Kernel:
    shape = (("RANK", str(rank)), ("INDEX", index), ("GIVES", wanted))
    return Kernel(FILE, name, types, shape)


def _scan_kernel(index: str, types: Types) -> Kernel:
    return Kernel(FILE, "scan_digits", types, (("INDEX", index),))


def kernels(dtype: DType) -> tuple[Kernel, ...]:
    """All that a plan may ask for, of one dtype."""
    types = (("ELEMENT", c_type(dtype)),)
    names = ("count_digits", "scatter_digits")
    shapes = product(names, _RANKS, _INDICES, ("values", "positions"))
    return (
        *[_kernel(*shape, types) for shape in shapes],
        *[_scan_kernel(index, types) for index in _INDICES],
    )
