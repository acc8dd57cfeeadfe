"""Matrices with a band of diagonals: eye, tril, triu, filled diagonals.

An element's distance is its column less its row. The band, and what is in it, are data.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tensorlayout.cuda.copy import write_move
from tensorlayout.cuda.engine import (
    THREADS,
    WIDEST,
    Launch,
    Launches,
    arguments,
    kernel,
    new_tensors,
    octets,
    padding_of,
    writer,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.fill import Beside, padding_beside, padding_struct, plan_padding
from tensorlayout.layout import Axis, Layout, Loop, index_type
from tensorlayout.plan import DiagonalsPlan, TrianglePlan, Write, allocating
from tensorlayout.tensor import TensorSpec

FILE = "fill/diagonals.cu"

# Rows of fewer packs are not worth the access that their last elements take.
_FULL_PACKS = 8

# Where the scalars of a call go: bounds, relative to the distance of the first element; the value
# of what is kept where nothing is read; that of the rest; whether the outside is what is kept.
_SCALARS_AT = 16
_SCALARS = struct.Struct("<2q16s16sq")
Band = tuple[int, int, bytes, bytes, bool]


def plan_band(
    result: Layout,
    source: Layout | None,
    itemsize: int,
    alignments: tuple[int, ...],
    padding: bytes | None = None,
) -> Launches:
    """How to write the elements of `source`, or one value, where they are kept, else another value.

    Layouts have one shape, of at least two dimensions, and their lowest slots at 0; no two elements
    of the result share a slot. `alignments`: powers of two, no less than an element, that divide
    the addresses of those slots; `padding`: the content of one element of the padding that the
    result owns, None to leave it alone. ValueError for tiled layouts.
    """
    if result.size == 0:
        return plan_padding(result, itemsize, alignments[0], padding)
    beside, apart = padding_beside(result, itemsize, alignments[0], padding)
    layouts = (result,) if source is None else (result, source)
    loop = Loop.over(layouts, (itemsize,) * len(layouts), alignments)
    if len(loop.axes) == 1 and loop.contiguous and _aligned(loop):
        launch = _flat(loop, _with_distances((result,), itemsize, alignments[:1]), beside)
        return Launches((launch, *apart))
    loop = _with_distances(layouts, itemsize, alignments)
    pack, row = WIDEST // itemsize, loop.axes[-1]
    contiguous = all(row.strides[memory] == 1 for memory in loop.elements) and _aligned(loop)
    if not contiguous or (row.size % pack and row.size < _FULL_PACKS * pack):
        pack = 1
    return Launches((_strided(loop, pack, beside), *apart))


def _with_distances(
    layouts: tuple[Layout, ...], itemsize: int, alignments: tuple[int, ...]
) -> Loop:
    """The loop over memories, and column - row + rows - 1 as entries of a table."""
    shape = layouts[0].shape
    strides = (*[0] * (len(shape) - 2), -1, 1)
    distances = Layout(shape, strides, offset=max(shape[-2] - 1, 0))
    return Loop.numbered(layouts, (distances,), itemsize, alignments)


def _aligned(loop: Loop) -> bool:
    """Return whether the first elements of all rows are at whole packs."""
    return all(loop.grain(memory) % WIDEST == 0 for memory in loop.elements)


# ---- Launches


def blocks_of_packs(threads: int, pack: int) -> int:
    """Return how many blocks have `threads` in all, as ``PACKS`` of kernels/fill/diagonals.cu."""
    return -(-threads // (THREADS * max(4 // pack, 1)))


def _flat(loop: Loop, distances: Loop, beside: Beside) -> Launch:
    """`loop`: one run; `distances`: the result and the distances."""
    count, pack, sizes = loop.count, WIDEST // loop.width, distances.sizes
    blocks = blocks_of_packs(count // pack + count % pack, pack)
    padded, more = padding_struct(beside, blocks, loop.alignments[0])
    index = index_type(count + WIDEST, sum(n - 1 for n in sizes))
    chosen = kernel(FILE, "band_flat", RANK=len(sizes), INDEX=index, WIDTH=loop.width)
    walk = [Axis(axis.size, axis.strides[1:]) for axis in distances.axes]
    members = {"count": count, "step": walk[-1].strides[0], "walk": walk}
    return _launch(chosen, blocks + more, loop.firsts, padded, **members)


def _strided(loop: Loop, pack: int, beside: Beside) -> Launch:
    *slower, row = loop.axes
    packs, rest = divmod(row.size, pack)
    last = Axis(packs + rest, tuple([step * pack for step in row.strides]))
    # Without a source, its strides are 0.
    walk = [Axis(n, (to, *(from_ or [0]), on)) for n, (to, *from_, on), _ in (*slower, last)]
    threads = prod([axis.size for axis in walk])
    blocks = blocks_of_packs(threads, pack)
    index = index_type(threads, loop.furthest + pack * pack)  # which the walk may go too far
    padded, more = padding_struct(beside, blocks, loop.alignments[0])
    shape = {"RANK": len(walk), "INDEX": index, "WIDTH": loop.width, "PACK": pack}
    chosen = kernel(FILE, "band_strided", **shape)
    members = {"threads": threads, "packs": packs, "step": row.strides[-1], "walk": walk}
    return _launch(chosen, blocks + more, loop.firsts[:-1], padded, **members)


def _launch(
    chosen: Kernel, grid: int, firsts: tuple[int, ...], padding: Any, **members: Any
) -> Launch:
    made = arguments(chosen, **members)
    made.band.padding = padding
    return Launch(chosen, grid, bytes(made), firsts, scalars_at=_SCALARS_AT)


# ---- Writes


def write_eye(spec: TensorSpec, padding: bytes | None) -> Write:
    """The function of a tensor and the number of the diagonal; `padding` as in `plan_band`."""
    layout, (rows, columns) = spec.layout, spec.layout.shape
    if layout.is_tiled:
        plain = TensorSpec(spec.dtype, Layout.row_major(layout.shape), spec.device)
        eye = allocating(new_tensors(plain), write_eye(plain, None))
        move = write_move(plain, spec, padding)
        return lambda out, k: move(out, eye(k))
    one = np.ones((), spec.dtype).tobytes()

    def band(k: int) -> Band:
        diagonal = max(-rows, min(k, columns))
        return diagonal, diagonal, one, b"", False

    return _writer(spec, None, band, padding)


def write_triangle(plan: TrianglePlan) -> Write:
    """The function of the result, a tensor, and the number of the diagonal."""

    def band(k: int) -> Band:
        far = 2**62  # a bound that no distance reaches
        low, high = (-far, k) if plan.name == "tril" else (k, far)
        return low, high, b"", b"", False

    return _writer(plan.result, plan.source.layout, band, padding_of(plan.result))


def write_diagonals(plan: DiagonalsPlan) -> Write:
    """The function of the result, the others, if there are any, and the value."""
    source = None if plan.others is None else plan.others.layout

    def band(value: Any) -> Band:
        filled = octets(plan.name, value, plan.result.dtype)
        kept, rest = (filled, b"") if source is None else (b"", filled)
        return plan.begin, plan.end - 1, kept, rest, plan.inside == (source is not None)

    return _writer(plan.result, source, band)


def _writer(
    spec: TensorSpec,
    source: Layout | None,
    band: Callable[[Any], Band],
    padding: bytes | None = None,
) -> Write:
    """The function of the result, the source, if there is any, and what says the `band`."""
    first = 0  # the distance of the element that a kernel begins with
    if spec.layout.size:
        first = _with_distances((spec.layout,), 1, (1,)).firsts[1] - (spec.layout.shape[-2] - 1)

    def content(value: Any) -> bytes:
        low, high, kept, rest, outside = band(value)
        return _SCALARS.pack(low - first, high - first, kept, rest, outside)

    def planned(alignments: tuple[int, ...]) -> Launches:
        return plan_band(spec.layout, source, spec.dtype.itemsize, alignments, padding)

    return writer(spec.device.number, planned, 1 + (source is not None), content)
