"""Elementwise operations over tiled layouts: without tails strided ones, with tails a walk."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tensorlayout.cuda.bounded import (
    Digits,
    bounded_walk_type,
    digits_of,
    in_order_cost,
    walk_struct,
    written_sizes,
)
from tensorlayout.cuda.elementwise_launches import FILE, common_struct, memories_type
from tensorlayout.cuda.elementwise_walk import WIDTHS, Memories
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import Launch, blocks_of_packs, struct_type
from tensorlayout.cuda.engine.memory import padding_of
from tensorlayout.cuda.engine.padding import bits_of
from tensorlayout.cuda.loops import SECTOR, WIDEST
from tensorlayout.layout import Layout
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
    digits = digits_of(layouts, written_sizes(result, padding))
    if digits is None or not digits.bounds:
        return digits is not None
    if not digits.fit_a_walk:
        return False
    for memory, operand in enumerate(operands, 1):
        width = operand.dtype.itemsize
        if digits.count * width < _SMALL_BYTES:
            continue
        if in_order_cost(digits, memory, width, 1, SECTOR, written=False) > _COSTLY:
            return False
    return True


def tiled_digits(name: str, memories: Memories, layouts: Sequence[Layout]) -> Digits:
    """The digits of the result and of the operands that are tensors; NotImplementedError for none.

    `name`: of the function, for errors.
    """
    digits = digits_of(layouts, written_sizes(layouts[0], memories.padding))
    if digits is None or (digits.bounds and not digits.fit_a_walk):
        found = ", ".join(map(str, layouts))
        msg = f"{name}: no kernel walks tiles like those of {found} together; use to_layout() first"
        raise NotImplementedError(msg)
    return digits


def as_strided(memories: Memories, digits: Digits) -> Memories:
    """The same memories with strided layouts; nothing may be bounded."""
    result, *others = digits.layouts
    given = iter(others)
    operands = [None if o is None else (next(given), o[1]) for o in memories.operands]
    return replace(
        memories,
        result=(result, memories.result[1]),
        operands=tuple(operands),
        block=None if memories.result[0].is_tiled else memories.result[0],
    )


def bounded(memories: Memories, digits: Digits) -> Launch:
    """The walk in the result's order; ValueError for elements that are not aligned."""
    everything = (memories.result, *memories.operands)
    present = [n for n, each in enumerate(everything) if each is not None]
    widths = [0 if each is None else each[1] for each in everything]
    for width, alignment in zip(widths, memories.alignments, strict=True):
        if width and alignment % width:
            msg = (
                f"{memories.functor}: tiled memory begins at an address that is no multiple of its"
                f" {width} bytes an element; copy it first"
            )
            raise ValueError(msg)
    whole = _with_scalars(digits, present, len(everything))
    pack = _pack(memories, whole, widths)
    threads = whole.count // pack
    blocks = blocks_of_packs(threads, pack)
    moves = [axis.strides for axis in whole.axes][-1]
    # The tails of a tiled result have its padding; that of a strided one is apart.
    apart = replace(memories, padding=None) if memories.result[0].is_tiled else memories
    common, more = common_struct(apart, blocks, moves[1:] if pack > 1 else [0] * len(moves[1:]))
    made = bounded_type(whole.index, len(memories.operands))(memories=common, threads=threads)
    made.bits[:] = bits_of(memories.padding or b"")
    made.walk = walk_struct(whole, (), pack)
    shape = (("INDEX", whole.index), ("BOUNDED", str(pack)))
    kernel = Kernel(FILE, "elementwise_bounded", memories.types, shape, memories.functor)
    firsts = tuple([n * w for n, w in zip(whole.firsts, widths, strict=True)])
    return Launch(kernel, blocks + more, bytes(made), firsts)


def _with_scalars(digits: Digits, present: Sequence[int], count: int) -> Digits:
    """The same with a memory for each operand; the strides of scalars are 0."""
    places = {number: k for k, number in enumerate(present)}

    def spread(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([values[places[n]] if n in places else 0 for n in range(count)])

    axes = tuple([axis._replace(strides=spread(axis.strides)) for axis in digits.axes])
    return replace(digits, axes=axes, firsts=spread(digits.firsts))


def _pack(memories: Memories, digits: Digits, widths: Sequence[int]) -> int:
    """The most elements that may move at once, of the packs that there are kernels for."""
    widest = memories.widest
    found = digits.pack(widths, memories.alignments, WIDEST)
    packs = [width // widest for width in WIDTHS if width > widest]
    return max([pack for pack in packs if pack <= found], default=1)


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
