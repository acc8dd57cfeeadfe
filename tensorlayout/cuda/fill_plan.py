"""Filling a layout with one value: which kernel, decided once. Integers only.

The value is data: a plan serves every value of its size. That of the padding is part of the plan.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass, replace
from itertools import product
from math import gcd
from typing import Any

from tensorlayout.cuda.driver import Kernel
from tensorlayout.cuda.launches import Launch, blocks_for, struct_type
from tensorlayout.cuda.loops import SECTOR, WIDEST, Axis, Loop, loop_over
from tensorlayout.cuda.padding_plan import PaddingStruct, Regions, padding_regions, padding_struct
from tensorlayout.cuda.parameters import RANKS, index_type, rank_macro, walk, walk_type
from tensorlayout.layout import Layout

FILE = "fill.cu"


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
    alone. ValueError for tiled layouts. The cases, in the order of their cost:

    1. ``empty``: no element, nor padding to write.
    2. ``padding``: no element.
    3. ``flat``: one run of slots.
    4. ``strided``: everything else.
    """
    regions = padding_regions(layout) if padding is not None else None
    if regions is not None and not (regions.fit_a_launch and alignment >= itemsize):
        elements = plan_fill(layout, itemsize, alignment)
        apart = plan_padding(layout, itemsize, alignment, padding or b"")
        return FillPlan(elements.case, elements.launches + apart.launches)
    inside = (regions, padding or b"")
    if layout.size == 0:
        if regions is None or not regions.regions:
            return FillPlan("empty", ())
        nothing = Loop((Axis(1, (1,)),), itemsize, (0,), (alignment,))
        return FillPlan("padding", (FillLaunch(_strided(nothing, 0, inside)),))
    loop = loop_over((layout,), itemsize, (alignment,))
    if loop.contiguous and len(loop.axes) == 1:
        return FillPlan("flat", (FillLaunch(_flat(loop, inside)),))
    return FillPlan("strided", _in_parts(loop, itemsize, inside))


def plan_padding(layout: Layout, itemsize: int, alignment: int, padding: bytes) -> FillPlan:
    """How to write the padding alone, by a launch for each of its regions."""
    launches = []
    for shape, strides, start in _boxes(padding_regions(layout)):
        box = plan_fill(Layout(shape, strides), itemsize, gcd(alignment, start * itemsize, SECTOR))
        for each in box.launches:
            firsts = (each.launch.firsts[0] + start * itemsize,)
            moved = replace(each.launch, firsts=firsts)
            launches.append(FillLaunch(moved, each.part, padding))
    return FillPlan("padding", tuple(launches))


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
        one = Loop(axes, loop.width, first, loop.alignments)
        part = slice(k * loop.width, (k + 1) * loop.width)
        launches.append(FillLaunch(_strided(one, one.count, (None, b"")), part))
    return tuple(launches)


def _flat(loop: Loop, padding: tuple[Regions | None, bytes]) -> Launch:
    nbytes = loop.count * loop.width
    blocks = max(1, blocks_for(nbytes // WIDEST))
    padded, more = padding_struct(*padding, blocks)
    made = flat_type()(padding=padded, bytes=nbytes)
    return Launch(Kernel(FILE, "fill_flat"), blocks + more, bytes(made), loop.firsts)


def _strided(loop: Loop, count: int, padding: tuple[Regions | None, bytes]) -> Launch:
    index = index_type(count, loop.furthest)
    blocks = blocks_for(count)
    padded, more = padding_struct(*padding, blocks)
    made = strided_type(len(loop.axes), index)(padding=padded, count=count)
    made.walk = walk(index, [axis.size for axis in loop.axes], [loop.strides(0)])
    kernel = _strided_kernel(len(loop.axes), index, loop.width)
    return Launch(kernel, blocks + more, bytes(made), loop.firsts)


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    widths = [1 << k for k in range(5)]
    shapes = product((*RANKS, 0), ("int32_t", "int64_t"), widths)
    return (Kernel(FILE, "fill_flat"), *[_strided_kernel(*shape) for shape in shapes])


def _strided_kernel(rank: int, index: str, width: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)))
    return Kernel(FILE, "fill_strided", shape=shape)


@functools.cache
def flat_type() -> Any:
    """``FlatFill`` of kernels/fill.cu."""
    return struct_type(
        "FlatFill",
        to=ctypes.c_uint64,
        bits=ctypes.c_uint64 * 2,
        padding=PaddingStruct,
        bytes=ctypes.c_int64,
    )


@functools.cache
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
