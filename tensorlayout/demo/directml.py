"""DirectML's operators on the photographs: a batch (N, C, H, W) that lies in memory as NHWC."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.demo.beside import Array
from tensorlayout.demo.ledger import Known, Ledger, host
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
    book: Ledger,
    title: str,
    call: Callable[..., tl.Tensor],
    *inputs: Known,
    beside: Callable[..., Any] | Mapping[str, Callable[..., Any]],
    expected: Array | None = None,
) -> Known:
    """A step whose result must lie in memory as NHWC; NumPy's way `beside` it says what is right.

    Where that is no independent way, the elements are `expected`.
    """
    if expected is None:
        by_numpy = beside["NumPy"] if isinstance(beside, Mapping) else beside
        expected = by_numpy(np, *(x.array for x in inputs))
    return book.step(
        title,
        functools.wraps(call)(lambda _, *xs: call(*xs)),
        *inputs,
        expected=expected,
        stored="NHWC",
        beside=beside,
    )


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
        expected=np.block(rows(x.array)),
        beside=lambda xp, x: xp.concat([xp.concat(row, axis=3) for row in rows(x)], axis=2),
    )
    remark = f"{GRID * GRID} tiles, each a view of NHWC memory, of the first picture and the last."
    return _seen("JOIN", remark, joined)


def _slice1(book: Ledger, x: Known) -> Captioned:
    mirrored = _step(
        book,
        "SLICE1 with stride -1",
        lambda x: directml.slice1(x, (0, 0, 0, 0), x.shape, (1, 1, 1, -1)),
        x,
        beside={"NumPy": lambda _, x: x[..., ::-1].copy("K"), "PyTorch": lambda _, x: x.flip(3)},
    )
    remark = "InputWindowStrides (1, 1, 1, -1): from the right edge to the left, so mirrored."
    return _seen("SLICE1", remark, mirrored)


def _wave(across: int, along: int) -> Array:
    """Offsets that swing by a part of the size `across`, over the size `along`."""
    angles = 2 * np.pi * WAVES * np.arange(along) / along
    return np.round(SWING * across * np.sin(angles)).astype(np.int64)


def _positions(x: Known, at: Array) -> Known:
    """Positions as a tensor of the shape of `x`, without memory for what repeats."""
    numbers, shape = tl.asarray(at, device=x.tensor.device), x.array.shape
    return Known(tl.broadcast_to(numbers, shape), np.broadcast_to(at, shape), x.dims)


def _scatter(book: Ledger, x: Known) -> Captioned:
    height, width = x.array.shape[2:]
    at = _positions(x, (np.arange(width) + _wave(width, height)[:, None]) % width)

    def put(_: Any, x: Any, at: Any) -> Any:
        out = np.empty_like(x)
        np.put_along_axis(out, at, x, 3)
        return out

    waved = _step(
        book,
        "SCATTER pixels in waves",
        lambda x, at: directml.scatter(x, at, x, 3),
        x,
        at,
        beside={
            "NumPy": put,
            "PyTorch": lambda xp, x, at: xp.empty_like(x).scatter_(3, at, x),
        },
    )
    remark = "Each pixel goes to the column that IndicesTensor says; the channels share a number."
    return _seen("SCATTER", remark, waved)


def _gather(book: Ledger, x: Known) -> Captioned:
    height = x.array.shape[2]
    rows = np.clip(np.arange(height) + 2 * _wave(height, height), 0, height - 1)
    drawn_out = _step(
        book,
        "GATHER_ELEMENTS in waves",
        lambda x, at: directml.gather_elements(x, at, 2),
        x,
        _positions(x, rows[:, None]),
        expected=np.take(x.array, rows, axis=2),
        beside=lambda xp, x, at: xp.take_along_axis(x, at, axis=2),
    )
    remark = "The rows that IndicesTensor names, some several times: a distorting mirror."
    return _seen("GATHER_ELEMENTS", remark, drawn_out, -1)


def _space_to_depth(book: Ledger, x: Known) -> Captioned:
    n, channels, height, width = x.array.shape
    rows, columns = height // GRID, width // GRID
    apart = (n, channels, rows, GRID, columns, GRID)
    whole = (n, GRID, GRID, channels, rows, columns)

    def to_depth(xp: Any, x: Any) -> Any:
        blocks = xp.permute_dims(xp.reshape(x, apart), (0, 3, 5, 1, 2, 4))
        return xp.reshape(blocks, (n, -1, rows, columns))

    def to_space(xp: Any, x: Any) -> Any:
        blocks = xp.permute_dims(xp.reshape(x, whole), (0, 3, 4, 1, 5, 2))
        return xp.reshape(blocks, (n, channels, height, width))

    title = f"SPACE_TO_DEPTH, blocks of {GRID}"
    deep = _step(book, title, lambda x: directml.space_to_depth(x, GRID), x, beside=to_depth)
    _step(
        book,
        "DEPTH_TO_SPACE: back again",
        lambda x: directml.depth_to_space(x, GRID),
        deep,
        expected=x.array,
        beside=to_space,
    )
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
    rows, columns = (
        np.pad(np.arange(size), pad, mode="reflect")
        for size, pad in zip((height, width), pads[2:], strict=True)
    )

    def by_index(xp: Any, x: Any) -> Any:
        return x[window][:, :, xp.asarray(rows)][..., xp.asarray(columns)]

    padded = _step(
        book,
        "PADDING by reflection",
        lambda x: directml.padding(x[window], pads, pads, directml.PaddingMode.REFLECTION),
        x,
        beside={
            "NumPy": lambda xp, x: xp.pad(x[window], [(p, p) for p in pads], mode="reflect"),
            "PyTorch": by_index,  # whose pad takes no bytes
        },
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

    def magnified(mode: directml.InterpolationMode, by_numpy: Any, remark: str) -> Captioned:
        word = {"NEAREST_NEIGHBOR": "nearest", "LINEAR": "bilinear"}[mode.name]
        found = _step(
            book,
            title := f"UPSAMPLE_2D, {mode.name.split('_')[0].lower()}",
            lambda x: directml.upsample_2d(x, (ZOOM, ZOOM), mode),
            patch,
            beside={
                "NumPy": by_numpy,
                "PyTorch": lambda xp, x: xp.nn.functional.interpolate(
                    x, scale_factor=ZOOM, mode=word
                ),
            },
        )
        return _seen(title, remark, found)

    modes = directml.InterpolationMode
    vertical, horizontal = (_between(n, ZOOM) for n in sizes)
    return [
        magnified(
            modes.NEAREST_NEIGHBOR,
            lambda _, x: x.repeat(ZOOM, 2).repeat(ZOOM, 3),
            f"NEAREST_NEIGHBOR by {ZOOM}: each pixel a square.",
        ),
        magnified(
            modes.LINEAR,
            lambda _, x: vertical @ x @ horizontal.T,
            f"LINEAR by {ZOOM}: in between, by distance from the centres of pixels.",
        ),
    ]


def _between(size: int, scale: int) -> Array:
    """The matrix that interpolates `size` numbers, given at the centres of pixels, linearly."""
    at = np.clip((np.arange(size * scale) + 0.5) / scale - 0.5, 0, size - 1)
    weights: Array = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(size)))
    return weights.astype(np.float32)
