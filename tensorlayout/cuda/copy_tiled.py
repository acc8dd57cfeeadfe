"""Copies from and to tiled layouts: without tails strided ones, with tails walks in bounds."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from itertools import product
from math import gcd
from operator import add
from typing import Any

from tensorlayout.cuda import copy_plan
from tensorlayout.cuda.bounded import (
    MOST_BOUNDS,
    BoundsStruct,
    bounded_walk_type,
    fits_a_walk,
    set_bounds,
    walk_struct,
)
from tensorlayout.cuda.copy_plan import TUNING, CopyPlan, Tuning
from tensorlayout.cuda.engine.boxes import (
    DEEPEST,
    READ,
    ROOMS,
    WRITE,
    Box,
    Nest,
    choose_box,
    narrowness,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import Launch, blocks_for, struct_type
from tensorlayout.cuda.engine.padding import (
    PaddingStruct,
    Regions,
    bits_of,
    padding_regions,
    padding_struct,
)
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST, in_order_cost
from tensorlayout.cuda.engine.tiles import boxes_struct, boxes_type, side_struct, side_type
from tensorlayout.cuda.fill_plan import FillPlan, plan_fill, plan_padding
from tensorlayout.layout import Layout
from tensorlayout.layout.digits import TiledLoop, is_tiled, tiled_loop, without_tails, written_sizes
from tensorlayout.layout.once import once
from tensorlayout.tensor import TensorSpec

FILE = "bounded.cu"

# Conversions that read so many bytes for each are made before the copy: which moves as many again.
_READ_APART = 2.5


def plan_copy(
    destination: Layout,
    source: Layout,
    itemsize: int,
    alignments: tuple[int, int] = (SECTOR, SECTOR),
    padding: bytes | None = None,
    tuning: Tuning = TUNING,
) -> CopyPlan | None:
    """The cheapest way to copy all elements between two layouts of one shape, tiled or not.

    As `copy_plan.plan_copy`, with two cases more, for tiles with tails: ``bounded`` in the order of
    the destination, and ``bounded boxes``. None where tiles do not divide each other, so that no
    launch takes both.
    """
    if not is_tiled(destination, source):
        return copy_plan.plan_copy(destination, source, itemsize, alignments, padding, tuning)
    if destination.size == 0:
        fill = plan_fill(destination, itemsize, alignments[0], padding) if padding else None
        return CopyPlan("empty", (), fill)
    given = ((destination, source), (itemsize,) * 2, alignments)
    digits = tiled_loop(*given, written_sizes(destination, padding))
    if digits is None and tiled_loop(*given, destination.shape) is None:
        return None
    regions, apart = None, None
    if padding is not None and not destination.is_tiled:
        regions = padding_regions(destination)
        # Kernels count regions from where digits begin, which may be below a flipped destination.
        if not regions.fit_a_launch or (digits is not None and digits.firsts[0]):
            regions, apart = None, plan_padding(destination, itemsize, alignments[0], padding)
    inside = regions, padding or b""
    if digits is None or (digits.bounds and not fits_a_walk(digits)):
        return _in_pieces(destination, source, itemsize, alignments, padding, tuning)
    if not digits.bounds:
        case, launch = copy_plan.cheapest(digits.fitted(WIDEST), itemsize, inside, tuning)
    else:
        case, launch = _cheapest(digits, inside, tuning)
    return CopyPlan(case, (launch,), apart)


def between(source: TensorSpec, result: TensorSpec, padding: bytes | None) -> TensorSpec | None:
    """What one launch copies to, and another from, where there is none from `source` to `result`.

    For tiles that do not divide each other; and for conversions where tails keep a kernel from
    reading the source along its memory.
    """
    layouts = (result.layout, source.layout)
    if not is_tiled(*layouts):
        return None
    plain = Layout.row_major(result.layout.shape)
    given = (layouts, (result.dtype.itemsize, source.dtype.itemsize), (SECTOR, SECTOR))
    digits = tiled_loop(*given, written_sizes(result.layout, padding))
    if tiled_loop(*given, result.layout.shape) is None:
        return TensorSpec(result.dtype, plain, result.device)
    if source.dtype == result.dtype:
        return None
    if digits is None:  # there are copies, and no conversions
        return TensorSpec(result.dtype, plain, result.device)
    if not digits.bounds:
        return None
    if not fits_a_walk(digits):
        dtype = source.dtype if source.layout.is_tiled else result.dtype
        return TensorSpec(dtype, plain, result.device)
    if digits.count * source.dtype.itemsize < TUNING.small_bytes:
        return None
    read = in_order_cost(digits, READ)
    return (
        TensorSpec(result.dtype, source.layout.form, result.device) if read > _READ_APART else None
    )


def _in_pieces(
    destination: Layout,
    source: Layout,
    itemsize: int,
    alignments: tuple[int, int],
    padding: bytes | None,
    tuning: Tuning,
) -> CopyPlan:
    """A launch for each piece without tails, behind one that writes all of a padded block."""
    launches: list[Launch] = []
    for pieces in without_tails((destination, source)):
        shifts = [piece.lowest * itemsize for piece in pieces]
        aligned = [gcd(a, shift, SECTOR) for a, shift in zip(alignments, shifts, strict=True)]
        to, from_ = (piece.at_origin for piece in pieces)
        part = plan_copy(to, from_, itemsize, (aligned[0], aligned[1]), None, tuning)
        assert part is not None, "pieces of tiles that divide each other"
        for each in part.launches:
            firsts = tuple(map(add, each.firsts, shifts))
            launches.append(replace(each, firsts=firsts))
    before = None
    if padding is not None:
        block = plan_fill(Layout((destination.required_size,)), itemsize, alignments[0])
        before = FillPlan("flat", tuple([replace(e, value=padding) for e in block.launches]))
    return CopyPlan("pieces", tuple(launches), before)


def _cheapest(
    loop: TiledLoop, padding: tuple[Regions | None, bytes], tuning: Tuning
) -> tuple[str, Launch]:
    if min(loop.alignments) < loop.width:
        msg = f"copy: tiled memory must begin at a multiple of its {loop.width} bytes an element"
        raise ValueError(msg)
    pack = loop.pack(WIDEST) if loop.contiguous else 1
    cost = 2 * narrowness(loop.width * pack)
    cost += sum([in_order_cost(loop, m, pack, written=m == WRITE) for m in (WRITE, READ)])
    box = None
    if loop.count * loop.width >= tuning.small_bytes and cost > 2 + tuning.through_tile:
        box = choose_box(_nest(loop))
        if box is not None and len(loop.axes) - len(box.axes) > DEEPEST:
            box = None
    # Both work out indices, so that the way through shared memory costs less than elsewhere.
    if box is not None and box.cost() + tuning.through_tile / 2 < cost:
        return "bounded boxes", _boxes(loop, box, padding)
    return "bounded", _walk(loop, pack, padding)


def _nest(loop: TiledLoop) -> Nest:
    pack, shifted = max(1, 4 // loop.width), []
    for first, alignment, strides in zip(loop.firsts, loop.alignments, loop.strides, strict=True):
        steps = [(n - 1) * s for n, s in zip(loop.sizes, strides, strict=True)]
        lowest = first + sum([s for s in steps if s < 0]) * loop.width
        shifted.append(gcd(SECTOR, alignment, lowest))
    memories = (loop.axes, loop.widths, tuple(shifted), (READ,), ())
    return Nest(*memories, pack, DEEPEST, loop.bounds, loop.weights)


# ---- Launches


def _walk(loop: TiledLoop, pack: int, padding: tuple[Regions | None, bytes]) -> Launch:
    count, index = loop.count // pack, loop.index
    blocks = blocks_for(count)
    padded, more = padding_struct(*padding, blocks, loop.alignments[WRITE])
    made = walk_type(index)(padding=padded, count=count)
    made.bits[:] = bits_of(padding[1])
    made.walk = walk_struct(loop, (WRITE, READ), pack)
    shape = (("INDEX", index), ("WIDTH", str(loop.width * pack)))
    kernel = Kernel(FILE, "copy_bounded", shape=shape)
    return Launch(kernel, blocks + more, bytes(made), loop.firsts)


def _boxes(loop: TiledLoop, box: Box, padding: tuple[Regions | None, bytes]) -> Launch:
    padded, more = padding_struct(*padding, box.blocks, loop.alignments[WRITE])
    pitches = box.pitches[READ]
    made = boxes_of_copy_type()(padding=padded)
    boxes_struct(box, made.boxes)
    made.bits[:] = bits_of(padding[1])
    made.write, made.read = (side_struct(box, side, pitches) for side in (WRITE, READ))
    made.pitch[: len(pitches)] = pitches
    set_bounds(made.bounds, loop.bounds)
    kernel = _boxes_kernel(loop.width, box.sides[READ].unit, box.sides[WRITE].unit, box.room)
    return Launch(kernel, box.blocks + more, bytes(made), loop.firsts)


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    indices = ("int32_t", "int64_t")
    walks = product(indices, [str(1 << k) for k in range(5)])
    found = [Kernel(FILE, "copy_bounded", shape=(("INDEX", i), ("WIDTH", w))) for i, w in walks]
    same = [(1 << k, 1 << k, 1 << k) for k in range(5)]
    packed = [(1, 1, 4), (1, 4, 1), (1, 4, 4), (2, 2, 4), (2, 4, 2), (2, 4, 4)]
    boxes = product([*same, *packed], ROOMS)
    return (*found, *[_boxes_kernel(*widths, room) for widths, room in boxes])


def _boxes_kernel(element: int, read: int, write: int, room: int) -> Kernel:
    values = {"ELEMENT": element, "READ": read, "WRITE": write, "ROOM": room}
    shape = tuple((k, str(v)) for k, v in values.items())
    return Kernel(FILE, "copy_bounded_boxes", shape=shape)


@once
def walk_type(index: str) -> Any:
    """``BoundedCopy<index>`` of kernels/bounded.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "BoundedCopy",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        bits=ctypes.c_uint64 * 2,
        padding=PaddingStruct,
        walk=bounded_walk_type(index, 2),
        count=number,
    )


@once
def boxes_of_copy_type() -> Any:
    """``BoundedBoxes`` of kernels/bounded.cu."""
    return struct_type(
        "BoundedBoxes",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        bits=ctypes.c_uint64 * 2,
        padding=PaddingStruct,
        write=side_type(DEEPEST),
        read=side_type(DEEPEST),
        boxes=boxes_type(2 + MOST_BOUNDS, DEEPEST, DEEPEST),
        bounds=BoundsStruct,
        pitch=ctypes.c_int32 * DEEPEST,
    )
