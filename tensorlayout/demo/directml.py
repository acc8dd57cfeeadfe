"""DirectML's operators on the photographs: a batch (N, C, H, W) that lies in memory as NHWC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.demo.ledger import Array, Known, Ledger, host
from tensorlayout.demo.panels import Captioned, pixels, told

GRID = 4  # tiles of the checkerboard by side, and the side of the blocks of SPACE_TO_DEPTH
ZOOM = 8  # by how much UPSAMPLE_2D magnifies
LEAST = 8  # pixels: in smaller pictures there is nothing to cut
WAVES, SWING = 4, 0.06  # of the distortions: waves over the height, their swing as part of a side


def run(book: Ledger, batch: Known) -> list[Captioned]:
    """The steps on pictures of at least `LEAST` pixels a side, and a picture of what each made."""
    height, width = (n // GRID * GRID for n in batch.array.shape[2:])
    x = book.view(f"cut to multiples of {GRID}", lambda _, x: x[:, :, :height, :width], batch)
    return [
        _join(book, x),
        _slice1(book, x),
        _scatter(book, x),
        _gather(book, x),
        _space_to_depth(book, x),
        _padding(book, x),
        *_upsample_2d(book, x),
    ]


def _step(
    book: Ledger, title: str, call: Callable[[tl.Tensor], tl.Tensor], x: Known, expected: Array
) -> Known:
    """A step whose result must lie in memory as NHWC, as its input does."""
    return book.step(title, lambda _, x: call(x), x, expected=expected, stored="NHWC")


def _seen(title: str, remark: str, x: Known, number: int = 0) -> Captioned:
    """A result, of which the picture `number` is shown."""
    return Captioned(title, remark, told(x.tensor), pixels(host(x.tensor)[number]))


def _join(book: Ledger, x: Known) -> Captioned:
    height, width = (n // GRID for n in x.array.shape[2:])

    def tile(whole: Any, i: int, j: int) -> Any:
        picture = slice(0, 1) if (i + j) % 2 == 0 else slice(-1, None)
        rows, columns = slice(i * height, (i + 1) * height), slice(j * width, (j + 1) * width)
        return whole[picture, :, rows, columns]

    def rows(whole: Any) -> list[list[Any]]:
        """The tiles by row, in turn of the first picture and of the last."""
        return [[tile(whole, i, j) for j in range(GRID)] for i in range(GRID)]

    joined = _step(
        book,
        f"JOIN {GRID * GRID} tiles",
        lambda x: directml.join([directml.join(row, 3) for row in rows(x)], 2),
        x,
        np.block(rows(x.array)),
    )
    remark = f"{GRID * GRID} tiles, each a view of NHWC memory, of the first picture and the last."
    return _seen("JOIN", remark, joined)


def _slice1(book: Ledger, x: Known) -> Captioned:
    mirrored = _step(
        book,
        "SLICE1 with stride -1",
        lambda x: directml.slice1(x, (0, 0, 0, 0), x.shape, (1, 1, 1, -1)),
        x,
        x.array[..., ::-1],
    )
    remark = "InputWindowStrides (1, 1, 1, -1): from the right edge to the left, so mirrored."
    return _seen("SLICE1", remark, mirrored)


def _wave(across: int, along: int) -> Array:
    """Offsets that swing by a part of the size `across`, over the size `along`."""
    angles = 2 * np.pi * WAVES * np.arange(along) / along
    return np.round(SWING * across * np.sin(angles)).astype(np.int32)


def _scatter(book: Ledger, x: Known) -> Captioned:
    height, width = x.array.shape[2:]
    at = (np.arange(width, dtype=np.int32) + _wave(width, height)[:, None]) % width
    indices = tl.broadcast_to(tl.asarray(at, device=x.tensor.device), x.tensor.shape)
    expected = np.empty_like(x.array)
    np.put_along_axis(expected, np.broadcast_to(at, expected.shape).astype(np.int64), x.array, 3)
    title = "SCATTER pixels in waves"
    waved = _step(book, title, lambda x: directml.scatter(x, indices, x, 3), x, expected)
    remark = "Each pixel goes to the column that IndicesTensor says; the channels share a number."
    return _seen("SCATTER", remark, waved)


def _gather(book: Ledger, x: Known) -> Captioned:
    height = x.array.shape[2]
    rows = np.clip(np.arange(height, dtype=np.int32) + 2 * _wave(height, height), 0, height - 1)
    at = tl.asarray(rows[:, None], device=x.tensor.device)
    indices = tl.broadcast_to(at, x.tensor.shape)
    drawn_out = _step(
        book,
        "GATHER_ELEMENTS in waves",
        lambda x: directml.gather_elements(x, indices, 2),
        x,
        np.take(x.array, rows, axis=2),
    )
    remark = "The rows that IndicesTensor names, some several times: a distorting mirror."
    return _seen("GATHER_ELEMENTS", remark, drawn_out, -1)


def _space_to_depth(book: Ledger, x: Known) -> Captioned:
    n, channels, height, width = x.array.shape
    rows, columns = height // GRID, width // GRID
    blocks = x.array.reshape(n, channels, rows, GRID, columns, GRID)
    depth = blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, -1, rows, columns)
    title = f"SPACE_TO_DEPTH, blocks of {GRID}"
    deep = _step(book, title, lambda x: directml.space_to_depth(x, GRID), x, depth)
    title = "DEPTH_TO_SPACE: back again"
    _step(book, title, lambda x: directml.depth_to_space(x, GRID), deep, x.array)
    parts = host(deep.tensor)[0].reshape(GRID, GRID, channels, rows, columns)
    tiled = parts.transpose(0, 3, 1, 4, 2).reshape(height, width, channels)
    remark = (
        f"Blocks of {GRID} x {GRID} pixels became {GRID**2} x 3 channels: as many small pictures."
    )
    return Captioned("SPACE_TO_DEPTH", remark, told(deep.tensor), tiled)


def _padding(book: Ledger, x: Known) -> Captioned:
    height, width = (n // 2 for n in x.array.shape[2:])
    window = (..., slice(0, height), slice(width // 2, width // 2 + width))
    pads = (0, 0, height // 2, width // 2)
    padded = _step(
        book,
        "PADDING by reflection",
        lambda x: directml.padding(x[window], pads, pads, directml.PaddingMode.REFLECTION),
        x,
        np.pad(x.array[window], [(pad, pad) for pad in pads], mode="reflect"),
    )
    remark = "REFLECTION: around the middle, half its size on every side, are its mirror images."
    return _seen("PADDING", remark, padded)


def _upsample_2d(book: Ledger, x: Known) -> list[Captioned]:
    sizes = height, width = tuple(n // ZOOM for n in x.array.shape[2:])
    top, left = x.array.shape[2] // 4, x.array.shape[3] // 2 - width // 2
    window = (..., slice(top, top + height), slice(left, left + width))
    patch = book.step(
        "a patch in float32", lambda xp, x: xp.astype(x[window], xp.float32), x, stored="NHWC"
    )
    vertical, horizontal = (_between(n, ZOOM) for n in sizes)
    nearest = patch.array.repeat(ZOOM, 2).repeat(ZOOM, 3)
    linear = vertical @ patch.array @ horizontal.T

    def magnified(mode: directml.InterpolationMode, expected: Array, remark: str) -> Captioned:
        title = f"UPSAMPLE_2D, {mode.name.split('_')[0].lower()}"
        call = lambda x: directml.upsample_2d(x, (ZOOM, ZOOM), mode)  # noqa: E731
        return _seen(title, remark, _step(book, title, call, patch, expected))

    modes = directml.InterpolationMode
    return [
        magnified(
            modes.NEAREST_NEIGHBOR, nearest, f"NEAREST_NEIGHBOR by {ZOOM}: each pixel a square."
        ),
        magnified(
            modes.LINEAR,
            linear,
            f"LINEAR by {ZOOM}: in between, by distance from the centres of pixels.",
        ),
    ]


def _between(size: int, scale: int) -> Array:
    """The matrix that interpolates `size` numbers, given at the centres of pixels, linearly."""
    at = np.clip((np.arange(size * scale) + 0.5) / scale - 0.5, 0, size - 1)
    weights: Array = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(size)))
    return weights.astype(np.float32)
