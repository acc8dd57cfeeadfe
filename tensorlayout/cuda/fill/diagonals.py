"""Matrices with a band of diagonals: eye, tril, triu, filled diagonals.

An element's *distance* is its column minus its row. The bounds of the band and the values are
arguments of the call, so all diagonals share a plan.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tensorlayout.cuda.copy import compile_move
from tensorlayout.cuda.engine import (
    FULL_PACKS,
    THREADS,
    WIDEST,
    Launch,
    Launches,
    kernel_with_macros,
    make_parameter_struct,
    make_writer,
    padding_element_bytes,
    scalar_bytes,
    tensor_allocator,
)
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.fill import (
    PaddingWrite,
    fusable_padding_and_launches,
    padding_struct_and_block_count,
    plan_padding,
)
from tensorlayout.layout import Axis, Layout, Loop, narrowest_index_type
from tensorlayout.plan import DiagonalsPlan, TrianglePlan, Write, allocate_then_write
from tensorlayout.tensor import TensorSpec

FILE = "fill/diagonals.cu"

# Scalars of a call, and their place in the struct: bounds relative to the distance of the first
# element; the value inside the band if there is no source; the value of the rest; whether the
# outside of the band is kept instead of the inside.
_SCALARS_AT = 16
_SCALARS = struct.Struct("<2q16s16sq")
BandScalars = tuple[int, int, bytes, bytes, bool]


def plan_diagonal_band(
    result: Layout,
    source: Layout | None,
    itemsize: int,
    alignments: tuple[int, ...],
    padding: bytes | None = None,
) -> Launches:
    """Plan a write of `source`, or one value, inside a diagonal band and another value outside.

    Layouts have one shape, of at least two dimensions, and their lowest slots at 0; no two elements
    of the result share a slot. `alignments`: powers of two, at least an element, that divide the
    addresses of those slots. `padding`: content of one element of the result's own padding; None
    leaves it alone. Raises ValueError for tiled layouts.
    """
    if result.size == 0:
        return plan_padding(result, itemsize, alignments[0], padding)
    padding_write, padding_launches = fusable_padding_and_launches(
        result, itemsize, alignments[0], padding
    )
    layouts = (result,) if source is None else (result, source)
    loop = Loop.over_layouts(layouts, (itemsize,) * len(layouts), alignments)
    if len(loop.axes) == 1 and loop.is_fastest_axis_contiguous and _has_aligned_rows(loop):
        launch = _flat_band_launch(
            loop, _loop_with_distances((result,), itemsize, alignments[:1]), padding_write
        )
        return Launches((launch, *padding_launches))
    loop = _loop_with_distances(layouts, itemsize, alignments)
    pack, row = WIDEST // itemsize, loop.axes[-1]
    contiguous = all(
        row.strides[memory] == 1 for memory in loop.element_memories
    ) and _has_aligned_rows(loop)
    if not contiguous or (row.size % pack and row.size < FULL_PACKS * pack):
        pack = 1
    return Launches((_strided_band_launch(loop, pack, padding_write), *padding_launches))


def _loop_with_distances(
    layouts: tuple[Layout, ...], itemsize: int, alignments: tuple[int, ...]
) -> Loop:
    """Return the loop over memories and a table of distances, shifted to be non-negative."""
    shape = layouts[0].shape
    strides = (*[0] * (len(shape) - 2), -1, 1)
    distances = Layout(shape, strides, offset=max(shape[-2] - 1, 0))
    return Loop.over_elements_and_tables(layouts, (distances,), itemsize, alignments)


def _has_aligned_rows(loop: Loop) -> bool:
    """Return whether all rows begin at whole packs."""
    return all(loop.row_alignment(memory) % WIDEST == 0 for memory in loop.element_memories)


# ---- Launches


def block_count_of_packs(pack_count: int, pack: int) -> int:
    """Return the blocks for `pack_count` packs; ``PACKS`` in diagonals.cu is the same number."""
    return -(-pack_count // (THREADS * max(4 // pack, 1)))


def _flat_band_launch(loop: Loop, diagonal_distances: Loop, padding_write: PaddingWrite) -> Launch:
    """Plan a diagonal band in a contiguous loop; `diagonal_distances`: the loop with the table."""
    count, pack, sizes = loop.element_count, WIDEST // loop.width, diagonal_distances.sizes
    blocks = block_count_of_packs(count // pack + count % pack, pack)
    padded, more = padding_struct_and_block_count(padding_write, blocks, loop.alignments[0])
    index = narrowest_index_type(count + WIDEST, sum(n - 1 for n in sizes))
    chosen = kernel_with_macros(FILE, "band_flat", RANK=len(sizes), INDEX=index, WIDTH=loop.width)
    walk = [Axis(axis.size, axis.strides[1:]) for axis in diagonal_distances.axes]
    members = {"count": count, "step": walk[-1].strides[0], "walk": walk}
    return _band_launch(chosen, blocks + more, loop.firsts, padded, **members)


def _strided_band_launch(loop: Loop, pack: int, padding_write: PaddingWrite) -> Launch:
    *slower, row = loop.axes
    packs, rest = divmod(row.size, pack)
    last = Axis(packs + rest, tuple([step * pack for step in row.strides]))
    # Without a source, its strides are 0.
    walk = [Axis(n, (to, *(from_ or [0]), on)) for n, (to, *from_, on), _ in (*slower, last)]
    threads = prod([axis.size for axis in walk])
    blocks = block_count_of_packs(threads, pack)
    # The walk may pass the last element by this much.
    index = narrowest_index_type(threads, loop.max_offset + pack * pack)
    padded, more = padding_struct_and_block_count(padding_write, blocks, loop.alignments[0])
    shape = {"RANK": len(walk), "INDEX": index, "WIDTH": loop.width, "PACK": pack}
    chosen = kernel_with_macros(FILE, "band_strided", **shape)
    members = {"threads": threads, "packs": packs, "step": row.strides[-1], "walk": walk}
    return _band_launch(chosen, blocks + more, loop.firsts[:-1], padded, **members)


def _band_launch(
    chosen: Kernel, grid: int, firsts: tuple[int, ...], padding: Any, **members: Any
) -> Launch:
    params = make_parameter_struct(chosen, **members)
    params.band.padding = padding
    return Launch(chosen, grid, bytes(params), firsts, scalars_at=_SCALARS_AT)


# ---- Writes


def compile_eye(spec: TensorSpec, padding: bytes | None) -> Write:
    """Compile `eye`: ones on diagonal k, zeros elsewhere; `padding` as in `plan_diagonal_band`."""
    layout, (rows, columns) = spec.layout, spec.layout.shape
    if layout.is_tiled:
        plain = TensorSpec(spec.dtype, Layout.row_major(layout.shape), spec.device)
        eye = allocate_then_write(tensor_allocator(plain), compile_eye(plain, None))
        move = compile_move(plain, spec, padding)
        return lambda out, k: move(out, eye(k))
    one = np.ones((), spec.dtype).tobytes()

    def band_scalars_of_eye_diagonal(k: int) -> BandScalars:
        # Beyond these diagonals there are no elements, and k may be too large for 64 bits.
        diagonal = max(-rows, min(k, columns))
        return diagonal, diagonal, one, b"", False

    return _make_band_writer(spec, None, band_scalars_of_eye_diagonal, padding)


def compile_triangle(plan: TrianglePlan) -> Write:
    """Compile ``write(out, x, k)`` for `tril` or `triu` with diagonal k."""

    def compute_band_scalars(k: int) -> BandScalars:
        far = 2**62  # a bound that no distance reaches
        low, high = (-far, k) if plan.name == "tril" else (k, far)
        return low, high, b"", b"", False

    return _make_band_writer(
        plan.result, plan.source.layout, compute_band_scalars, padding_element_bytes(plan.result)
    )


def compile_diagonal_band_write(plan: DiagonalsPlan) -> Write:
    """Compile ``write(out, others, value)``, or ``write(out, value)`` without others."""
    source = None if plan.others is None else plan.others.layout

    def band_scalars_of_fill_value(value: Any) -> BandScalars:
        filled = scalar_bytes(plan.name, value, plan.result.dtype)
        kept, rest = (filled, b"") if source is None else (b"", filled)
        return plan.begin, plan.end - 1, kept, rest, plan.inside == (source is not None)

    return _make_band_writer(plan.result, source, band_scalars_of_fill_value)


def _make_band_writer(
    spec: TensorSpec,
    source: Layout | None,
    band_scalars: Callable[[Any], BandScalars],
    padding: bytes | None = None,
) -> Write:
    """Return a writer of bands; `band_scalars` turns the call's last argument into scalars."""
    first = 0  # the distance of the element that a kernel begins with
    if spec.layout.size:
        # Not 0 if the loop runs backwards along rows or columns, as in flipped layouts.
        first = _loop_with_distances((spec.layout,), 1, (1,)).firsts[1] - (
            spec.layout.shape[-2] - 1
        )

    def pack_band_scalars(value: Any) -> bytes:
        low, high, kept, rest, outside = band_scalars(value)
        return _SCALARS.pack(low - first, high - first, kept, rest, outside)

    def plan_launches(alignments: tuple[int, ...]) -> Launches:
        return plan_diagonal_band(spec.layout, source, spec.dtype.itemsize, alignments, padding)

    return make_writer(
        spec.device.number, plan_launches, 1 + (source is not None), pack_band_scalars
    )
