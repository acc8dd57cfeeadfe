"""Matrices that are zero outside a band of diagonals: which kernel, decided once. Integers only.

An element's distance is its column less its row. The band, and what is in it, are data.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import Any

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import Launch, blocks_of_packs, struct_type
from tensorlayout.cuda.engine.padding import PaddingStruct, Regions, padding_regions, padding_struct
from tensorlayout.cuda.engine.parameters import RANKS, index_type, rank_macro, walk, walk_type
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.layout import Layout, coalesce
from tensorlayout.layout.once import once

FILE = "band.cu"

# Rows of fewer packs are not worth the access that their last elements take.
_FULL_PACKS = 8


@dataclass(frozen=True, slots=True)
class BandPlan:
    """A band that is ready to run.

    Attributes:
        case: the kind of walk, one of the names in `plan_band`.
        launch: what to launch; None if there is nothing to do.
        first: the distance of the element that the kernel begins with.
        writes_padding: whether the launch writes the padding that it was asked to write; if not,
            that is another launch's work.

    """

    case: str
    launch: Launch | None
    first: int = 0
    writes_padding: bool = True


@dataclass(frozen=True, slots=True)
class _Memories:
    """The result and the source, if there is one, walked forwards along the result.

    Attributes:
        layouts: lowest slots at 0.
        itemsize: bytes of an element.
        alignments: powers of two that divide the addresses of the lowest slots.
        distances: column - row + rows - 1 as slots of a layout of the same shape.
        padding: where padding is to be written, and the content of one element.

    """

    layouts: tuple[Layout, ...]
    itemsize: int
    alignments: tuple[int, ...]
    distances: Layout
    padding: tuple[Regions | None, bytes]


def plan_band(
    result: Layout,
    source: Layout | None,
    itemsize: int,
    alignments: tuple[int, ...],
    padding: bytes | None = None,
) -> BandPlan:
    """How to write the elements of `source`, or one value, inside a band, and zeros outside.

    Layouts have one shape, of at least two dimensions, and their lowest slots at 0; no two elements
    of the result share a slot. `alignments`: powers of two that divide the addresses of those
    slots; `padding`: the content of one element of the padding that the result owns, None to leave
    it alone. ValueError for tiled layouts, and for memory whose alignment is less than an element.
    The cases, in the order of their cost:

    1. ``empty``: no element; at most padding to write.
    2. ``flat``: the result is one run, and the source runs with it.
    3. ``rows``: the fastest dimension is contiguous in both, and long or whole packs.
    4. ``strided``: everything else, in the result's order.
    """
    regions = padding_regions(result) if padding is not None else None
    fits = regions is None or regions.fit_a_launch
    inside = (regions if fits else None, padding or b"")
    if result.size == 0:
        if not fits or regions is None or not regions.regions:
            return BandPlan("empty", None, writes_padding=fits)
        nothing = _Memories((Layout((1,)),), itemsize, alignments[:1], Layout((1,)), inside)
        launch, _ = _strided(nothing, 0, 1)
        return BandPlan("empty", launch)
    if min(alignments) < itemsize:
        msg = (
            f"tril, triu: x begins at an address that is no multiple of its {itemsize} bytes an"
            " element; copy it first"
        )
        raise ValueError(msg)
    backwards = [d for d, stride in enumerate(result.strides) if stride < 0]
    given = (result,) if source is None else (result, source)
    turned = [layout.flip(backwards) for layout in (*given, _distances(result.shape))]
    *layouts, distances = (layout for layout in turned if layout is not None)
    memories = _Memories(tuple(layouts), itemsize, alignments, distances, inside)
    case, launch, first = _cheapest(memories)
    return BandPlan(case, launch, first - (result.shape[-2] - 1), fits)


def _distances(shape: tuple[int, ...]) -> Layout:
    """Where column - row + rows - 1 is the slot."""
    rows = shape[-2]
    return Layout(shape, (*[0] * (len(shape) - 2), -1, 1), offset=rows - 1)


def _cheapest(memories: _Memories) -> tuple[str, Launch, int]:
    merged = coalesce(*memories.layouts)
    one_run = merged[0].ndim < 2 and all(layout.strides in ((), (1,)) for layout in merged)
    if one_run and _grain(memories, merged) % WIDEST == 0:
        return ("flat", *_flat(memories, tuple(layout.offset for layout in merged)))
    *walked, _ = coalesce(*memories.layouts, memories.distances)
    pack = _pack(memories, tuple(walked))
    launch, first = _strided(memories, memories.layouts[0].size, pack)
    return "rows" if pack > 1 else "strided", launch, first


def _grain(memories: _Memories, walked: tuple[Layout, ...]) -> int:
    """What divides the addresses of all rows' first elements."""
    steps = [s for layout in walked for s in (layout.offset, *layout.strides[:-1])]
    return gcd(*memories.alignments, *[step * memories.itemsize for step in steps])


def _pack(memories: _Memories, walked: tuple[Layout, ...]) -> int:
    """How many elements of a row move at once."""
    pack = WIDEST // memories.itemsize
    if not all(layout.strides[-1:] == (1,) for layout in walked):
        return 1
    row = walked[0].shape[-1]
    aligned = _grain(memories, walked) % WIDEST == 0
    return pack if aligned and (row % pack == 0 or row >= _FULL_PACKS * pack) else 1


# ---- Launches


def _flat(memories: _Memories, slots: tuple[int, ...]) -> tuple[Launch, int]:
    """The launch, and the distance of its first element; `slots`: where the runs begin."""
    result, pack = memories.layouts[0], WIDEST // memories.itemsize
    _, distances = coalesce(result, memories.distances)
    sizes, steps = distances.shape or (1,), distances.strides or (0,)
    count = result.size
    blocks = blocks_of_packs(count // pack + count % pack, pack)
    padded, more = padding_struct(*memories.padding, blocks, memories.alignments[0])
    index = index_type(count + WIDEST, sum(n - 1 for n in sizes))
    made = flat_type(len(sizes), index)(band=band_type()(padding=padded), count=count)
    made.step = steps[-1]
    made.walk = walk(index, sizes, [steps])
    kernel = _flat_kernel(len(sizes), index, memories.itemsize)
    firsts = tuple(slot * memories.itemsize for slot in slots)
    return Launch(kernel, blocks + more, bytes(made), firsts), distances.offset


def _strided(memories: _Memories, count: int, pack: int) -> tuple[Launch, int]:
    """The launch, and the distance of its first element; `count`: 0 for the padding alone."""
    merged = coalesce(*memories.layouts, memories.distances)
    result, distances = merged[0], merged[-1]
    source = merged[1] if len(merged) > 2 else None
    shape = result.shape or (1,)
    row = shape[-1]
    sizes = (*shape[:-1], row // pack + row % pack)
    zeros = (0,) * len(sizes)
    strides = [
        (*each.strides[:-1], each.strides[-1] * pack) if each is not None and each.ndim else zeros
        for each in (result, source, distances)
    ]
    threads = prod(sizes) if count else 0
    blocks = blocks_of_packs(threads, pack)
    reach = max(_reach(shape, each.strides) for each in merged)
    index = index_type(threads, reach + pack * pack)  # which the walk may go too far
    padded, more = padding_struct(*memories.padding, blocks, memories.alignments[0])
    made = strided_type(len(sizes), index)(band=band_type()(padding=padded), threads=threads)
    made.packs = row // pack
    made.step = distances.strides[-1] if distances.ndim else 0
    made.walk = walk(index, sizes, strides)
    kernel = _strided_kernel(len(sizes), index, memories.itemsize, pack)
    firsts = tuple(layout.offset * memories.itemsize for layout in merged[:-1])
    return Launch(kernel, blocks + more, bytes(made), firsts), distances.offset


def _reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How far the last element is from the first, at most."""
    return sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=False))


def _flat_kernel(rank: int, index: str, width: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)))
    return Kernel(FILE, "band_flat", shape=shape)


def _strided_kernel(rank: int, index: str, width: int, pack: int) -> Kernel:
    shape = (rank_macro(rank), ("INDEX", index), ("WIDTH", str(width)), ("PACK", str(pack)))
    return Kernel(FILE, "band_strided", shape=shape)


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    widths = [1 << k for k in range(5)]
    shapes = list(product((*RANKS, 0), ("int32_t", "int64_t"), widths))
    rows = [shape for shape in shapes if shape[0] != 1 and shape[2] < WIDEST]
    return (
        *[_flat_kernel(*shape) for shape in shapes],
        *[_strided_kernel(*shape, 1) for shape in shapes],
        *[_strided_kernel(*shape, WIDEST // shape[2]) for shape in rows],
    )


@once
def band_type() -> Any:
    """``Band`` of kernels/band.cu."""
    return struct_type(
        "Band",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        low=ctypes.c_int64,
        high=ctypes.c_int64,
        value=ctypes.c_uint64 * 2,
        padding=PaddingStruct,
    )


@once
def flat_type(rank: int, index: str) -> Any:
    """``FlatBand<rank, index>``; a rank without a kernel of its own is any rank."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "FlatBand",
        band=band_type(),
        count=number,
        step=number,
        walk=walk_type(int(rank_macro(rank)[1]), index, 1),
    )


@once
def strided_type(rank: int, index: str) -> Any:
    """``StridedBand<rank, index>``."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "StridedBand",
        band=band_type(),
        threads=number,
        packs=number,
        step=number,
        walk=walk_type(int(rank_macro(rank)[1]), index, 3),
    )
