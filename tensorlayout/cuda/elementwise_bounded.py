"""Elementwise operations over tiled layouts: without tails strided ones, with tails a walk."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

from tensorlayout.cuda.bounded import bounded_walk_type, fits_a_walk, walk_struct
from tensorlayout.cuda.elementwise_launches import FILE, common_struct, memories_type
from tensorlayout.cuda.elementwise_walk import WIDTHS, Memories
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import Launch, blocks_of_packs, struct_type
from tensorlayout.cuda.engine.memory import padding_of
from tensorlayout.cuda.engine.padding import bits_of
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST, in_order_cost
from tensorlayout.layout.digits import TiledLoop, tiled_loop, written_sizes
from tensorlayout.layout.once import once
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.tensor import TensorSpec

# Of operands that cost more bytes for each in the result's order, copies do better.
_COSTLY = 2.5
_SMALL_BYTES = 32 * 1024


def takes_tiles(plan: ElementwisePlan) -> bool:
    """Whether one launch computes a plan of tiled tensors, and reads them all well enough.

    If not, the tensors are better copied out of their tiles before.
    """
    result, shape = plan.result.layout, plan.result.layout.shape
    operands = [o for o in plan.operands if isinstance(o, TensorSpec)]
    layouts = [result, *[o.layout.broadcast_to(shape) for o in operands]]
    padding = None if plan.given else padding_of(plan.result)
    widths = [plan.result.dtype.itemsize, *[o.dtype.itemsize for o in operands]]
    loop = tiled_loop(layouts, widths, [SECTOR] * len(widths), written_sizes(result, padding))
    if loop is None or not loop.bounds:
        return loop is not None
    if not fits_a_walk(loop):
        return False
    large = [m for m in range(1, len(widths)) if loop.count * widths[m] >= _SMALL_BYTES]
    return all(in_order_cost(loop, memory) <= _COSTLY for memory in large)


def loop_over_tiles(name: str, memories: Memories) -> TiledLoop:
    """The digits of the result and of the operands; NotImplementedError for none.

    `name`: of the function, for errors.
    """
    written = written_sizes(memories.result[0], memories.padding)
    loop = tiled_loop(memories.layouts, memories.widths, memories.alignments, written)
    if loop is None or (loop.bounds and not fits_a_walk(loop)):
        found = ", ".join([str(layout) for layout in memories.layouts if layout is not None])
        msg = f"{name}: no kernel walks tiles like those of {found} together; use to_layout() first"
        raise NotImplementedError(msg)
    return loop


def bounded(memories: Memories, loop: TiledLoop) -> Launch:
    """The walk in the result's order; ValueError for elements that are not aligned."""
    for width, alignment in zip(loop.widths, loop.alignments, strict=True):
        if width and alignment % width:
            msg = (
                f"{memories.functor}: tiled memory begins at an address that is no multiple of its"
                f" {width} bytes an element; copy it first"
            )
            raise ValueError(msg)
    # The most of the packs that there are kernels for.
    widest, most = memories.widest, loop.pack(WIDEST)
    packs = [width // widest for width in WIDTHS if width > widest]
    pack = max([pack for pack in packs if pack <= most], default=1)
    threads, moves = loop.count // pack, loop.axes[-1].strides[1:]
    blocks = blocks_of_packs(threads, pack)
    # The tails of a tiled result have its padding; that of a strided one is apart.
    apart = replace(memories, padding=None) if memories.result[0].is_tiled else memories
    common, more = common_struct(apart, blocks, moves if pack > 1 else [0] * len(moves))
    made = bounded_type(loop.index, len(memories.operands))(memories=common, threads=threads)
    made.bits[:] = bits_of(memories.padding or b"")
    made.walk = walk_struct(loop, (), pack)
    shape = (("INDEX", loop.index), ("BOUNDED", str(pack)))
    kernel = Kernel(FILE, "elementwise_bounded", memories.types, shape, memories.functor)
    return Launch(kernel, blocks + more, bytes(made), loop.firsts)


@once
def bounded_type(index: str, operands: int) -> Any:
    """``BoundedElementwise<index>`` of kernels/elementwise.cu."""
    return struct_type(
        "BoundedElementwise",
        memories=memories_type(operands),
        bits=ctypes.c_uint64 * 2,
        walk=bounded_walk_type(index, operands + 1),
        threads=ctypes.c_int32 if index == "int32_t" else ctypes.c_int64,
    )
