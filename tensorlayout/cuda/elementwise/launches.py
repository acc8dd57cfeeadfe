"""Launches of elementwise kernels without tiles in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from tensorlayout.cuda.bounded import check_aligned, walk_struct
from tensorlayout.cuda.elementwise.operands import WIDTHS, Operands
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import Launch, blocks_of_packs
from tensorlayout.cuda.engine.padding import bits_of, padding_regions, padding_struct
from tensorlayout.cuda.engine.parameters import divisor, index_type, pack_walk
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.layout.digits import TiledLoop
from tensorlayout.layout.loop import Loop


def chosen(name: str, given: Operands, **shape: Any) -> tuple[Kernel, Any]:
    """A kernel, and the struct that it takes."""
    found = kernel("elementwise.cu", name, given.types, given.functor, **shape)
    return found, parameters(found, OPERANDS=given.count)()


def pack_memories(made: Any, given: Operands, blocks: int, steps: Sequence[int]) -> int:
    """Fill in what all kernels take; it says how many blocks write padding."""
    padding = given.padding
    regions = None if padding is None else padding_regions(given.result[0])
    made.padding, more = padding_struct(regions, padding or b"", blocks, given.alignments[0])
    made.step[:] = steps
    return more


def flat(
    given: Operands, count: int, pack: int, steps: Sequence[int], firsts: tuple[int, ...]
) -> Launch:
    """One run."""
    blocks = blocks_of_packs(count // pack + count % pack, pack)
    found, made = chosen("elementwise_flat", given, PACK=pack)
    more = pack_memories(made.memories, given, blocks, steps)
    made.count = count
    return Launch(found, blocks + more, bytes(made), firsts)


def strided(given: Operands, loop: Loop, pack: int) -> Launch:
    """Rows of packs, where `pack` is more than 1; else elements one by one, with any strides."""
    *slower, last = loop.sizes
    rows, (packs, rest) = prod(slower), divmod(last, pack)
    sizes, count = (*slower, packs), rows * (packs + rest)
    blocks = blocks_of_packs(count, pack)
    index = index_type(count, loop.furthest)
    steps = loop.axes[-1].strides[1:] if pack > 1 else (0,) * given.count
    name = "elementwise_rows" if pack > 1 else "elementwise_strided"
    wide = {"PACK": pack} if pack > 1 else {}
    found, made = chosen(name, given, RANK=len(sizes), INDEX=index, **wide)
    more = pack_memories(made.memories, given, blocks, steps)
    made.threads, made.pack_threads, made.packs = count, rows * packs, packs
    made.rest = divisor(index, rest or 1)
    pack_walk(made.walk, sizes, loop.in_packs(pack, ()).strides)
    return Launch(found, blocks + more, bytes(made), loop.firsts)


def masked_tail(given: Operands, loop: TiledLoop) -> Launch:
    """Tiles with tails, in the result's order; ValueError for elements that are not aligned."""
    check_aligned(given.functor, loop)
    # The most of the packs that there are kernels for.
    widest, most = given.widest, loop.pack(WIDEST)
    packs = [width // widest for width in WIDTHS if width > widest]
    pack = max([pack for pack in packs if pack <= most], default=1)
    threads, moves = loop.count // pack, loop.axes[-1].strides[1:]
    blocks = blocks_of_packs(threads, pack)
    # The tails of a tiled result have its padding; that of a strided one is apart.
    apart = replace(given, padding=None) if given.result[0].is_tiled else given
    found, made = chosen("elementwise_bounded", given, INDEX=loop.index, BOUNDED=pack)
    steps = moves if pack > 1 else [0] * len(moves)
    more = pack_memories(made.memories, apart, blocks, steps)
    made.threads, made.bits[:] = threads, bits_of(given.padding or b"")
    made.walk = walk_struct(loop, (), pack)
    return Launch(found, blocks + more, bytes(made), loop.firsts)
