"""Filling a layout with one value: which kernel, decided once. Integers only.

The value is data: a plan serves every value of its size. That of the padding is part of the plan.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from itertools import product
from math import gcd
from typing import Any

from tensorlayout.cuda.bounded import bounded_walk_type, fits_a_walk, walk_struct
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import Launch, blocks_for, struct_type
from tensorlayout.cuda.engine.padding import (
    PaddingStruct,
    Regions,
    bits_of,
    padding_regions,
    padding_struct,
)
from tensorlayout.cuda.engine.parameters import RANKS, index_type, rank_macro, walk, walk_type
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.layout.digits import TiledLoop, tiled_loop, without_tails, written_sizes
from tensorlayout.layout.loop import Axis, Loop
from tensorlayout.layout.once import once
from tensorlayout.words import cut

FILE, BOUNDED_FILE = "fill.cu", "bounded.cu"


@dataclass(frozen=True, slots=True)
class FillLaunch:
    """A launch that writes a value, or the bytes `part` of it, over and over."""

    launch: Launch
    part: slice | None = None
    value: bytes | None = None  # what to write instead of the caller's value


@dataclass(frozen=True, slots=True)
class FillPlan:
    """A fill that is ready to run.

    Attributes:
        case: the kind of fill, one of the names in `plan_fill`.
        launches: what to launch, in any order.

    """

    case: str
    launches: tuple[FillLaunch, ...]


def plan_fill(
    layout: Layout, itemsize: int, alignment: int = SECTOR, padding: bytes | None = None
) -> FillPlan:
    """How to write one value to all elements, and `padding` to the padding that the layout owns.

    `layout` has its lowest slot at 0 and no two elements in one slot; `alignment` is a power of two
    that divides the address of that slot. `padding` is the content of one element, None to leave it
    alone, unless the layout says that it may hold anything. The cases, in the order of their cost:

    1. ``empty``: no element, nor padding to write.
    2. ``padding``: no element.
    3. ``flat``: one run of slots.
    4. ``strided``: any strides.
    5. ``bounded``: tiled, with tails.
    6. ``pieces``: the same, with more of them than a launch can take.
    """
    if layout.is_tiled:
        return _tiled(layout, itemsize, alignment, padding)
    regions = padding_regions(layout) if padding is not None else None
    if regions is not None and not (regions.fit_a_launch and alignment >= itemsize):
        elements = plan_fill(layout, itemsize, alignment)
        apart = plan_padding(layout, itemsize, alignment, padding or b"")
        return FillPlan(elements.case, elements.launches + apart.launches)
    inside = (regions, padding or b"")
    if layout.size == 0:
        if regions is None or not regions.regions:
            return FillPlan("empty", ())
        nothing = Loop((Axis(1, (1,)),), (itemsize,), (0,), (alignment,))
        return FillPlan("padding", (FillLaunch(_strided(nothing, 0, inside)),))
    return _of_loop(Loop.over((layout,), (itemsize,), (alignment,)), itemsize, inside)


def _of_loop(loop: Loop, itemsize: int, inside: tuple[Regions | None, bytes]) -> FillPlan:
    loop = loop.fitted(WIDEST)
    if loop.contiguous and len(loop.axes) == 1:
        return FillPlan("flat", (FillLaunch(_flat(loop, inside)),))
    return FillPlan("strided", _in_parts(loop, itemsize, inside))


def _tiled(layout: Layout, itemsize: int, alignment: int, padding: bytes | None) -> FillPlan:
    anything = layout.covers_block and layout.padding_value is PaddingValue.UNSPECIFIED
    if anything and padding is None and layout.size:
        return plan_fill(Layout((layout.required_size,)), itemsize, alignment)
    if layout.size == 0 and padding is None:
        return FillPlan("empty", ())
    loop = tiled_loop((layout,), (itemsize,), (alignment,), written_sizes(layout, padding))
    if loop is not None and loop.count == 0:
        return FillPlan("empty", ())
    if loop is not None and not loop.bounds:
        return _of_loop(loop, itemsize, (None, b""))
    if loop is not None and fits_a_walk(loop):
        launch = _bounded(loop, padding or b"", elements=True)
        return FillPlan("bounded", (FillLaunch(launch),))
    launches: list[FillLaunch] = []
    if padding is not None:  # all of the block first, and then the elements
        block = plan_fill(Layout((layout.required_size,)), itemsize, alignment)
        launches += [replace(each, value=padding) for each in block.launches]
    for (piece,) in without_tails((layout,)):
        shift = piece.lowest * itemsize
        part = plan_fill(piece.at_origin, itemsize, gcd(alignment, shift, SECTOR))
        launches += [_moved(each, shift) for each in part.launches]
    return FillPlan("pieces", tuple(launches))


def _moved(given: FillLaunch, shift: int) -> FillLaunch:
    """The launch for a layout whose lowest slot is so many **bytes** on."""
    launch = replace(given.launch, firsts=(given.launch.firsts[0] + shift,))
    return replace(given, launch=launch)


def plan_padding(layout: Layout, itemsize: int, alignment: int, padding: bytes) -> FillPlan:
    """How to write the padding alone, by a launch for each of its regions; of tiles, by one.

    NotImplementedError for tiles with tails in more dimensions than a launch can take.
    """
    if layout.is_tiled:
        return _tiled_padding(layout, itemsize, alignment, padding)
    launches = []
    for shape, strides, start in _boxes(padding_regions(layout)):
        box = plan_fill(Layout(shape, strides), itemsize, gcd(alignment, start * itemsize, SECTOR))
        for each in box.launches:
            launches.append(replace(_moved(each, start * itemsize), value=padding))
    return FillPlan("padding", tuple(launches))


def _tiled_padding(layout: Layout, itemsize: int, alignment: int, padding: bytes) -> FillPlan:
    loop = tiled_loop((layout,), (itemsize,), (alignment,), written_sizes(layout, padding))
    if loop is not None and not loop.bounds:
        return FillPlan("empty", ())
    if loop is None or not fits_a_walk(loop):
        msg = f"padding: layout {cut(layout)} has tails in more dimensions than a kernel takes"
        raise NotImplementedError(msg)
    launch = _bounded(loop, padding, elements=False)
    return FillPlan("padding", (FillLaunch(launch),))


def plan_padding_alone(layout: Layout, itemsize: int, alignment: int, padding: bytes) -> FillPlan:
    """How to write `padding` to the padding that a layout owns: a fill of no elements, one launch.

    As in `plan_fill`; several launches for more regions than a launch can take.
    """
    if layout.is_tiled:
        return _tiled_padding(layout, itemsize, alignment, padding)
    regions = padding_regions(layout)
    if not regions.regions:
        return FillPlan("empty", ())
    if not regions.fit_a_launch or alignment < itemsize:
        return plan_padding(layout, itemsize, alignment, padding)
    nothing = Loop((Axis(1, (1,)),), (itemsize,), (0,), (alignment,))
    return FillPlan("padding", (FillLaunch(_strided(nothing, 0, (regions, padding))),))


def _boxes(regions: Regions) -> list[tuple[list[int], list[int], int]]:
    """Each region as a shape, strides, and the slot where it starts."""
    found = []
    for region in regions.regions:
        leading = regions.dims[: region.depth]
        shape = [*[size for size, _ in leading], region.run]
        found.append((shape, [*[stride for _, stride in leading], 1], region.start))
    return found


def _in_parts(
    loop: Loop, itemsize: int, padding: tuple[Regions | None, bytes]
) -> tuple[FillLaunch, ...]:
    """One launch; or one for each part of an element that memory is not aligned for."""
    last = loop.axes[-1]
    if loop.width >= itemsize:
        return (FillLaunch(_strided(loop, loop.count, padding)),)
    # The parts of an element stand side by side, alone or in a run of elements.
    parts = itemsize // loop.width
    axes = (*loop.axes[:-1], Axis(last.size // parts, (parts,)))
    launches = []
    for k in range(parts):
        first = (loop.firsts[0] + k * loop.width,)
        one = Loop(axes, loop.widths, first, loop.alignments)
        part = slice(k * loop.width, (k + 1) * loop.width)
        launches.append(FillLaunch(_strided(one, one.count, (None, b"")), part))
    return tuple(launches)


def _flat(loop: Loop, padding: tuple[Regions | None, bytes]) -> Launch:
    nbytes = loop.count * loop.width
    blocks = max(1, blocks_for(nbytes // WIDEST))
    padded, more = padding_struct(*padding, blocks, loop.alignments[0])
    made = flat_type()(padding=padded, bytes=nbytes)
    return Launch(Kernel(FILE, "fill_flat"), blocks + more, bytes(made), loop.firsts)


def _strided(loop: Loop, count: int, padding: tuple[Regions | None, bytes]) -> Launch:
    index = index_type(count, loop.furthest)
    blocks = blocks_for(count)
    padded, more = padding_struct(*padding, blocks, loop.alignments[0])
    made = strided_type(len(loop.axes), index)(padding=padded, count=count)
    made.walk = walk(index, loop.sizes, loop.strides)
    kernel = _strided_kernel(len(loop.axes), index, loop.width)
    return Launch(kernel, blocks + more, bytes(made), loop.firsts)


def _bounded(loop: TiledLoop, padding: bytes, *, elements: bool) -> Launch:
    """Elements, if they are to be written, and padding, if the digits reach into it."""
    if loop.alignments[0] < loop.width:
        msg = (
            f"fill: tiled memory begins at an address that is no multiple of its {loop.width} bytes"
            " an element; copy it first"
        )
        raise ValueError(msg)
    pack = loop.pack(WIDEST)
    count = loop.count // pack
    made = bounded_type(loop.index)(count=count, elements=elements)
    made.padding[:] = bits_of(padding)
    made.walk = walk_struct(loop, (0,), pack)
    kernel = _bounded_kernel(loop.index, loop.width * pack)
    return Launch(kernel, blocks_for(count), bytes(made), loop.firsts)


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    widths = [1 << k for k in range(5)]
    indices = ("int32_t", "int64_t")
    strided = [_strided_kernel(*shape) for shape in product((*RANKS, 0), indices, widths)]
    bounded = [_bounded_kernel(*shape) for shape in product(indices, widths)]
    return (Kernel(FILE, "fill_flat"), *strided, *bounded)


def _bounded_kernel(index: str, width: int) -> Kernel:
    return Kernel(BOUNDED_FILE, "fill_bounded", shape=(("INDEX", index), ("FILL", str(width))))


def _strided_kernel(rank: int, index: str, width: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)))
    return Kernel(FILE, "fill_strided", shape=shape)


@once
def flat_type() -> Any:
    """``FlatFill`` of kernels/fill.cu."""
    return struct_type(
        "FlatFill",
        to=ctypes.c_uint64,
        bits=ctypes.c_uint64 * 2,
        padding=PaddingStruct,
        bytes=ctypes.c_int64,
    )


@once
def strided_type(rank: int, index: str) -> Any:
    """``StridedFill<rank, index>``; a rank without a kernel of its own is any rank."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "StridedFill",
        to=ctypes.c_uint64,
        bits=ctypes.c_uint64 * 2,
        padding=PaddingStruct,
        count=number,
        walk=walk_type(int(rank_macro(rank)[1]), index, 1),
    )


@once
def bounded_type(index: str) -> Any:
    """``BoundedFill<index>`` of kernels/bounded.cu."""
    return struct_type(
        "BoundedFill",
        to=ctypes.c_uint64,
        bits=ctypes.c_uint64 * 2,
        padding=ctypes.c_uint64 * 2,
        walk=bounded_walk_type(index, 1),
        count=ctypes.c_int32 if index == "int32_t" else ctypes.c_int64,
        elements=ctypes.c_int32,
    )
