"""Matrices that are zero outside a band of diagonals: eye, tril, triu.

An element's distance is its column less its row. The band, and what is in it, are data.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from math import gcd, prod

import numpy as np

from tensorlayout.cuda.copy.copy import plan_move
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import Launch, Launches, blocks_of_packs, writer
from tensorlayout.cuda.engine.memory import padding_of
from tensorlayout.cuda.engine.padding import Regions, padding_regions, padding_struct
from tensorlayout.cuda.engine.parameters import pack_walk
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST
from tensorlayout.cuda.fill.fill import plan_padding
from tensorlayout.layout import Layout, coalesce
from tensorlayout.layout.loop import index_type
from tensorlayout.plan.base import Write
from tensorlayout.plan.fill import TrianglePlan
from tensorlayout.tensor import TensorSpec

FILE = "band.cu"

# Rows of fewer packs are not worth the access that their last elements take.
_FULL_PACKS = 8


# A bound that no distance reaches.
_FAR = 2**62

# Where the scalars of a call go: bounds, relative to the distance of the first element, a value.
_SCALARS_AT = 16
_SCALARS = struct.Struct("<2q16s")


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
) -> Launches:
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
    apart = () if fits else plan_padding(result, itemsize, alignments[0], padding or b"").launches
    if result.size == 0:
        if not fits or regions is None or not regions.regions:
            return Launches(apart, "empty")
        nothing = _Memories((Layout((1,)),), itemsize, alignments[:1], Layout((1,)), inside)
        return Launches((_strided(nothing, 0, 1),), "empty")
    if min(alignments) < itemsize:
        msg = (
            f"tril, triu: x begins at an address that is no multiple of its {itemsize} bytes an"
            " element; copy it first"
        )
        raise ValueError(msg)
    given = (result,) if source is None else (result, source)
    *layouts, distances = _forwards(result, (*given, _distances(result.shape)))
    memories = _Memories(tuple(layouts), itemsize, alignments, distances, inside)
    case, launch = _cheapest(memories)
    return Launches((launch, *apart), case)


def _forwards(result: Layout, layouts: tuple[Layout, ...]) -> list[Layout]:
    """All turned where the result runs backwards."""
    backwards = [d for d, stride in enumerate(result.strides) if stride < 0]
    return [turned for layout in layouts if (turned := layout.flip(backwards)) is not None]


def _distances(shape: tuple[int, ...]) -> Layout:
    """Where column - row + rows - 1 is the slot."""
    rows = shape[-2]
    return Layout(shape, (*[0] * (len(shape) - 2), -1, 1), offset=max(rows - 1, 0))


def _cheapest(memories: _Memories) -> tuple[str, Launch]:
    merged = coalesce(*memories.layouts)
    one_run = merged[0].ndim < 2 and all(layout.strides in ((), (1,)) for layout in merged)
    if one_run and _grain(memories, merged) % WIDEST == 0:
        return "flat", _flat(memories, tuple(layout.offset for layout in merged))
    *walked, _ = coalesce(*memories.layouts, memories.distances)
    pack = _pack(memories, tuple(walked))
    launch = _strided(memories, memories.layouts[0].size, pack)
    return "rows" if pack > 1 else "strided", launch


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


def _flat(memories: _Memories, slots: tuple[int, ...]) -> Launch:
    """`slots`: where the runs begin."""
    result, pack = memories.layouts[0], WIDEST // memories.itemsize
    _, distances = coalesce(result, memories.distances)
    sizes, steps = distances.shape or (1,), distances.strides or (0,)
    count = result.size
    blocks = blocks_of_packs(count // pack + count % pack, pack)
    padded, more = padding_struct(*memories.padding, blocks, memories.alignments[0])
    index = index_type(count + WIDEST, sum(n - 1 for n in sizes))
    chosen = kernel(FILE, "band_flat", RANK=len(sizes), INDEX=index, WIDTH=memories.itemsize)
    made = parameters(chosen)(count=count, step=steps[-1])
    made.band.padding = padded
    pack_walk(made.walk, sizes, [steps])
    firsts = tuple(slot * memories.itemsize for slot in slots)
    return Launch(chosen, blocks + more, bytes(made), firsts, scalars_at=_SCALARS_AT)


def _strided(memories: _Memories, count: int, pack: int) -> Launch:
    """`count`: 0 for the padding alone."""
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
    width, rank = memories.itemsize, len(sizes)
    chosen = kernel(FILE, "band_strided", RANK=rank, INDEX=index, WIDTH=width, PACK=pack)
    step = distances.strides[-1] if distances.ndim else 0
    made = parameters(chosen)(threads=threads, packs=row // pack, step=step)
    made.band.padding = padded
    pack_walk(made.walk, sizes, strides)
    firsts = tuple(layout.offset * memories.itemsize for layout in merged[:-1])
    return Launch(chosen, blocks + more, bytes(made), firsts, scalars_at=_SCALARS_AT)


def _reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How far the last element is from the first, at most."""
    return sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=False))


# ---- Writes


def write_eye(spec: TensorSpec, padding: bytes | None) -> Write:
    """The function of a tensor and the number of the diagonal; `padding` as in `plan_band`."""
    layout, itemsize = spec.layout, spec.dtype.itemsize
    plain = TensorSpec(spec.dtype, Layout.row_major(layout.shape), spec.device)
    rows, columns = layout.shape
    one = np.ones((), spec.dtype).tobytes()
    first = _first_distance(plain.layout if layout.is_tiled else layout)

    def planned(alignments: tuple[int, ...]) -> Launches:
        if not layout.is_tiled:
            return plan_band(layout, None, itemsize, alignments, padding)
        (made,) = plan_band(plain.layout, None, itemsize, (SECTOR,)).launches or (None,)
        copy = plan_move("eye", plain, spec, (alignments[0], SECTOR), padding)
        before = () if made is None else (made.placed((1,)),)
        after = [replace(each, takes=(0, 0)) for each in copy.launches]
        return Launches((*before, *after), "tiled", (layout.size * itemsize, *copy.scratch))

    def content(k: int) -> bytes:
        diagonal = max(-rows, min(k, columns)) - first
        return _SCALARS.pack(diagonal, diagonal, one)

    return writer(spec.device.number, planned, 1, content)


def write_triangle(plan: TrianglePlan) -> Write:
    """The function of the result, a tensor, and the number of the diagonal."""
    spec, source = plan.result, plan.source.layout
    padding, first = padding_of(spec), _first_distance(spec.layout)

    def planned(alignments: tuple[int, ...]) -> Launches:
        return plan_band(spec.layout, source, spec.dtype.itemsize, alignments, padding)

    def content(k: int) -> bytes:
        low, high = (-_FAR, k) if plan.name == "tril" else (k, _FAR)
        return _SCALARS.pack(low - first, high - first, b"")

    return writer(spec.device.number, planned, 2, content)


def _first_distance(result: Layout) -> int:
    """The distance of the element that a kernel begins with."""
    (distances,) = _forwards(result, (_distances(result.shape),))
    return distances.offset - max(result.shape[-2] - 1, 0)
