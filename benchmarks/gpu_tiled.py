"""Rows of tiled layouts on a GPU, as XLA writes them, to and from row-major ones.

The other libraries have no such layout: they copy a permuted view, whose dimensions are those of
the tiles, and so do the result and operand of ours look to the harness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import tensorlayout as tl
from benchmarks.gpu_operations import COPY
from benchmarks.gpu_row import LARGE, WIDTH, Operand, Row, Shape, sized


def rows(size: int = LARGE) -> Iterator[Row]:
    """A quarter of `size` bytes each."""
    count, large = size // 16, size >= LARGE
    columns = 4096 if large else 128
    r, c = max(16, count // columns // 16 * 16), columns
    yield from _both(
        "T(8,128)", "{1,0:T(8,128)}", "float32", (r, c), (r // 8, 8, c // 128, 128), (0, 2, 1, 3)
    )
    r *= 2
    split = (r // 8, 4, 2, c // 128, 128)
    yield from _both(
        "T(8,128)(2,1)", "{1,0:T(8,128)(2,1)}", "float16", (r, c), split, (0, 3, 1, 4, 2)
    )
    side, channels = (56, 64) if large else (4, 32)
    n = max(1, count // (channels * side * side))
    text = f"{{3,2,1,0:T(16,{side},{side})(16,1,1)}}"
    shape, split = (n, channels, side, side), (n, channels // 16, 16, side, side)
    yield from _both("nChw16c", text, "float32", shape, split, (0, 1, 3, 4, 2))


def _both(
    name: str, text: str, dtype: str, shape: Shape, split: Shape, axes: Shape
) -> Iterator[Row]:
    """`split`: `shape` with its tiles as dimensions; `axes`: these in the order of tiled memory."""
    stored = tuple(split[d] for d in axes)
    back = tuple(axes.index(d) for d in range(len(axes)))
    size = f"{sized(prod(shape) * WIDTH[dtype])} {dtype}"

    def plain(seen: tl.Tensor) -> tl.Tensor:
        """A row-major view of the memory that the others copy."""
        return tl.reshape(tl.permute_dims(seen, back), shape)

    row_major = tl.Layout.row_major(shape)
    to_tiles = replace(
        COPY,
        ours=lambda out, x: tl.to_layout(x, text),
        ready=lambda seen: [plain(seen)],
        into=False,
        whole=True,
        stored=True,
    )
    to_rows = replace(
        to_tiles,
        ours=lambda out, x: tl.to_layout(x, row_major),
        ready=lambda seen: [tl.to_layout(tl.reshape(seen, shape), text)],
    )
    x, tiled = Operand(split, dtype, axes=axes), Operand(stored, dtype)
    yield Row("tiled", f"row-major to {name}, {size}", to_tiles, (x,), tiled, 0, 0.85)
    x, packed = Operand(stored, dtype, axes=back), Operand(split, dtype)
    yield Row("tiled", f"{name} to row-major, {size}", to_rows, (x,), packed, 0, 0.85)
