"""Launches of elementwise kernels without tiles, and the structs that they take."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

from tensorlayout.cuda.elementwise_walk import Memories
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import Launch, blocks_of_packs, struct_type
from tensorlayout.cuda.engine.padding import PaddingStruct, padding_regions, padding_struct
from tensorlayout.cuda.engine.parameters import (
    Divisor32,
    Divisor64,
    divisor32,
    index_type,
    rank_macro,
    walk,
    walk_type,
)
from tensorlayout.layout.loop import Loop
from tensorlayout.layout.once import once

FILE = "elementwise.cu"


def common_struct(memories: Memories, blocks: int, steps: Sequence[int]) -> tuple[Any, int]:
    """The struct that all kernels have, and how many blocks write padding."""
    padding = memories.padding
    regions = None if padding is None else padding_regions(memories.result[0])
    padded, more = padding_struct(regions, padding or b"", blocks, memories.alignments[0])
    made = memories_type(len(memories.operands))(padding=padded)
    made.step[:] = steps
    return made, more


def flat(
    memories: Memories, count: int, pack: int, steps: Sequence[int], firsts: tuple[int, ...]
) -> Launch:
    """One run."""
    blocks = blocks_of_packs(count // pack + count % pack, pack)
    common, more = common_struct(memories, blocks, steps)
    made = flat_type(len(memories.operands))(memories=common, count=count)
    kernel = Kernel(
        FILE, "elementwise_flat", memories.types, (("PACK", str(pack)),), memories.functor
    )
    return Launch(kernel, blocks + more, bytes(made), firsts)


def strided(memories: Memories, loop: Loop, pack: int) -> Launch:
    """Rows of packs, where `pack` is more than 1; else elements one by one, with any strides."""
    *slower, last = loop.sizes
    rows, (packs, rest) = prod(slower), divmod(last, pack)
    sizes, operands = (*slower, packs), len(memories.operands)
    count = rows * (packs + rest)
    blocks = blocks_of_packs(count, pack)
    index = index_type(count, loop.furthest)
    steps = loop.axes[-1].strides[1:] if pack > 1 else (0,) * operands
    common, more = common_struct(memories, blocks, steps)
    made = strided_type(len(sizes), index, operands)(memories=common)
    made.threads, made.pack_threads, made.packs = count, rows * packs, packs
    made.rest = divisor32(rest or 1) if index == "int32_t" else Divisor64(rest or 1)
    made.walk = walk(index, sizes, loop.in_packs(pack, ()).strides)
    name = "elementwise_rows" if pack > 1 else "elementwise_strided"
    wide = (("PACK", str(pack)),) if pack > 1 else ()
    shape = (rank_macro(len(sizes)), ("INDEX", index), *wide)
    kernel = Kernel(FILE, name, memories.types, shape, memories.functor)
    return Launch(kernel, blocks + more, bytes(made), loop.firsts)


@once
def memories_type(operands: int) -> Any:
    """``Memories`` of kernels/elementwise.cu."""
    return struct_type(
        "Memories",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64 * operands,
        scalar=(ctypes.c_uint64 * 2) * operands,
        padding=PaddingStruct,
        step=ctypes.c_int32 * operands,
    )


@once
def flat_type(operands: int) -> Any:
    """``FlatElementwise``."""
    return struct_type("FlatElementwise", memories=memories_type(operands), count=ctypes.c_int64)


@once
def strided_type(rank: int, index: str, operands: int) -> Any:
    """``StridedElementwise<rank, index>``; a rank without a kernel of its own is any rank."""
    number, divisor = (
        (ctypes.c_int32, Divisor32) if index == "int32_t" else (ctypes.c_int64, Divisor64)
    )
    return struct_type(
        "StridedElementwise",
        memories=memories_type(operands),
        threads=number,
        pack_threads=number,
        packs=number,
        rest=divisor,
        walk=walk_type(int(rank_macro(rank)[1]), index, operands + 1),
    )
