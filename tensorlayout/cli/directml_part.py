"""DirectML's operators on the photographs: a batch (N, C, H, W) that lies in memory as NHWC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.cli.ledger import Array, Ledger, host
from tensorlayout.cli.panels import Captioned

GRID = 4  # tiles of the checkerboard by side, and the side of the blocks of SPACE_TO_DEPTH
ZOOM = 8  # by how much UPSAMPLE_2D magnifies
LEAST = 8  # pixels: in smaller pictures there is nothing to cut
WAVES, SWING = 4, 0.06  # of the distortions: waves over the height, their swing as part of a side


def fits(batch: tl.Tensor) -> bool:
    """Whether the pictures are large enough for this part."""
    return min(batch.shape[2:]) >= LEAST


def run(ledger: Ledger, batch: tl.Tensor, pixels: Array) -> list[Captioned]:
    """The steps, and a picture of what each made; `pixels` are NumPy's own of the batch."""
    height, width = (n // GRID * GRID for n in pixels.shape[2:])
    pixels = pixels[:, :, :height, :width]
    x = ledger.view(
        f"cut to multiples of {GRID}",
        "NCHW NCHW",
        lambda x: x[:, :, :height, :width],
        batch,
        expected=pixels,
    )
    return [
        _join(ledger, x, pixels),
        _slice1(ledger, x, pixels),
        _scatter(ledger, x, pixels),
        _gather(ledger, x, pixels),
        _space_to_depth(ledger, x, pixels),
        _padding(ledger, x, pixels),
        *_upsample_2d(ledger, x, pixels),
    ]


def _step(
    ledger: Ledger, title: str, call: Callable[..., Any], *inputs: tl.Tensor, expected: Array
) -> tl.Tensor:
    """A step whose result must lie in memory as NHWC, as its input does."""
    memory = np.moveaxis(expected, 1, 3).ravel()
    return ledger.step(title, "NCHW NCHW", call, *inputs, expected=expected, memory=memory)


def _seen(title: str, remark: str, x: tl.Tensor, number: int) -> Captioned:
    """A result, of which the picture `number` is shown."""
    picture = np.moveaxis(host(x)[number], 0, 2)
    shown = np.ascontiguousarray(np.round(picture).astype(np.uint8))
    return Captioned(title, remark, f"{x.dtype} {x.layout}", shown)


def _join(ledger: Ledger, x: tl.Tensor, pixels: Array) -> Captioned:
    height, width = x.shape[2] // GRID, x.shape[3] // GRID

    def rows(whole: Any) -> list[list[Any]]:
        """The tiles by row, in turn of the first picture and of the last."""
        return [
            [
                whole[
                    slice(0, 1) if (i + j) % 2 == 0 else slice(-1, None),
                    :,
                    i * height : (i + 1) * height,
                    j * width : (j + 1) * width,
                ]
                for j in range(GRID)
            ]
            for i in range(GRID)
        ]

    joined = _step(
        ledger,
        f"JOIN {GRID * GRID} tiles",
        lambda x: directml.join([directml.join(row, 3) for row in rows(x)], 2),
        x,
        expected=np.block(rows(pixels)),
    )
    remark = f"{GRID * GRID} tiles, each a view of NHWC memory, of the first picture and the last."
    return _seen("JOIN", remark, joined, 0)


def _slice1(ledger: Ledger, x: tl.Tensor, pixels: Array) -> Captioned:
    mirrored = _step(
        ledger,
        "SLICE1 with stride -1",
        lambda x: directml.slice1(x, (0, 0, 0, 0), x.shape, (1, 1, 1, -1)),
        x,
        expected=pixels[..., ::-1],
    )
    remark = "InputWindowStrides (1, 1, 1, -1): from the right edge to the left, so mirrored."
    return _seen("SLICE1", remark, mirrored, 0)


def _wave(across: int, along: int) -> Array:
    """Offsets that swing by a part of the size `across`, over the size `along`."""
    angles = 2 * np.pi * WAVES * np.arange(along) / along
    return np.round(SWING * across * np.sin(angles)).astype(np.int32)


def _scatter(ledger: Ledger, x: tl.Tensor, pixels: Array) -> Captioned:
    height, width = x.shape[2:]
    at = (np.arange(width, dtype=np.int32) + _wave(width, height)[:, None]) % width
    indices = tl.broadcast_to(tl.asarray(at, device=x.device), x.shape)
    expected = np.empty_like(pixels)
    np.put_along_axis(expected, np.broadcast_to(at, x.shape).astype(np.int64), pixels, 3)
    waved = _step(
        ledger,
        "SCATTER pixels in waves",
        lambda x, indices: directml.scatter(x, indices, x, 3),
        x,
        indices,
        expected=expected,
    )
    remark = "Each pixel goes to the column that IndicesTensor says; the channels share a number."
    return _seen("SCATTER", remark, waved, 0)


def _gather(ledger: Ledger, x: tl.Tensor, pixels: Array) -> Captioned:
    height = x.shape[2]
    rows = np.clip(np.arange(height, dtype=np.int32) + 2 * _wave(height, height), 0, height - 1)
    at = tl.reshape(tl.asarray(rows, device=x.device), (height, 1))
    indices = tl.broadcast_to(at, x.shape)
    drawn_out = _step(
        ledger,
        "GATHER_ELEMENTS in waves",
        lambda x, indices: directml.gather_elements(x, indices, 2),
        x,
        indices,
        expected=np.take(pixels, rows, axis=2),
    )
    remark = "The rows that IndicesTensor names, some several times: a distorting mirror."
    return _seen("GATHER_ELEMENTS", remark, drawn_out, -1)


def _space_to_depth(ledger: Ledger, x: tl.Tensor, pixels: Array) -> Captioned:
    n, channels, height, width = pixels.shape
    blocks = pixels.reshape(n, channels, height // GRID, GRID, width // GRID, GRID)
    depth = blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, -1, height // GRID, width // GRID)
    deep = _step(
        ledger,
        f"SPACE_TO_DEPTH, blocks of {GRID}",
        lambda x: directml.space_to_depth(x, GRID),
        x,
        expected=depth,
    )
    _step(
        ledger,
        "DEPTH_TO_SPACE: back again",
        lambda x: directml.depth_to_space(x, GRID),
        deep,
        expected=pixels,
    )
    parts = host(deep)[0].reshape(GRID, GRID, channels, height // GRID, width // GRID)
    tiled = np.ascontiguousarray(parts.transpose(0, 3, 1, 4, 2).reshape(height, width, channels))
    remark = (
        f"Blocks of {GRID} x {GRID} pixels became {GRID**2} x 3 channels: as many small pictures."
    )
    return Captioned("SPACE_TO_DEPTH", remark, f"{deep.dtype} {deep.layout}", tiled)


def _padding(ledger: Ledger, x: tl.Tensor, pixels: Array) -> Captioned:
    height, width = x.shape[2] // 2, x.shape[3] // 2
    window = (..., slice(0, height), slice(width // 2, width // 2 + width))
    pads = (0, 0, height // 2, width // 2)
    padded = _step(
        ledger,
        "PADDING by reflection",
        lambda x: directml.padding(x[window], pads, pads, directml.PaddingMode.REFLECTION),
        x,
        expected=np.pad(pixels[window], [(pad, pad) for pad in pads], mode="reflect"),
    )
    remark = "REFLECTION: around the middle, half its size on every side, are its mirror images."
    return _seen("PADDING", remark, padded, 0)


def _upsample_2d(ledger: Ledger, x: tl.Tensor, pixels: Array) -> list[Captioned]:
    sizes = height, width = tuple(n // ZOOM for n in x.shape[2:])
    top, left = x.shape[2] // 4, x.shape[3] // 2 - width // 2
    window = (..., slice(top, top + height), slice(left, left + width))
    patch = pixels[window].astype(np.float32)
    floats = _step(
        ledger,
        "a patch in float32",
        lambda x: tl.astype(x[window], tl.float32),
        x,
        expected=patch,
    )
    vertical, horizontal = (_between(n, ZOOM) for n in sizes)
    found = []
    for mode, expected, remark in (
        (
            directml.InterpolationMode.NEAREST_NEIGHBOR,
            patch.repeat(ZOOM, 2).repeat(ZOOM, 3),
            f"NEAREST_NEIGHBOR by {ZOOM}: each pixel a square.",
        ),
        (
            directml.InterpolationMode.LINEAR,
            vertical @ patch @ horizontal.T,
            f"LINEAR by {ZOOM}: in between, by distance from the centres of pixels.",
        ),
    ):
        word = mode.name.split("_")[0].lower()
        magnified = _step(
            ledger,
            f"UPSAMPLE_2D, {word}",
            lambda x, mode=mode: directml.upsample_2d(x, (ZOOM, ZOOM), mode),
            floats,
            expected=expected,
        )
        found.append(_seen(f"UPSAMPLE_2D, {word}", remark, magnified, 0))
    return found


def _between(size: int, scale: int) -> Array:
    """The matrix that interpolates `size` numbers, given at the centres of pixels, linearly."""
    at = np.clip((np.arange(size * scale) + 0.5) / scale - 0.5, 0, size - 1)
    weights: Array = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(size)))
    return weights.astype(np.float32)
