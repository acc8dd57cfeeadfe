"""What the demo does with its pictures: tensors only, each step beside NumPy's own computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout.cli.ledger import Array, Ledger
from tensorlayout.cli.pictures import Picture

PITCH = 256  # bytes to which rows are aligned, as DirectX and Vulkan textures want them
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, by channel


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of pictures, shape (N, C, H, W), in each of its layouts; `pixels` is NumPy's."""

    pixels: Array
    nhwc: tl.Tensor
    planar: tl.Tensor
    pitched: tl.Tensor
    column_major: tl.Tensor


def read(ledger: Ledger, pictures: Sequence[Picture], device: str) -> list[tl.Tensor]:
    """The pictures as tensors (H, W, 3) over the decoded bytes, cut to their common size."""
    height, width = common_size(pictures)
    return [_read_one(ledger, picture, height, width, device) for picture in pictures]


def common_size(pictures: Sequence[Picture]) -> tuple[int, int]:
    """The greatest height and width that every picture has."""
    return min(p.height for p in pictures), min(p.width for p in pictures)


def middle(picture: Picture, height: int, width: int) -> tuple[slice, slice]:
    """The rows and columns of the middle of a picture."""
    top, left = (picture.height - height) // 2, (picture.width - width) // 2
    return slice(top, top + height), slice(left, left + width)


def _read_one(ledger: Ledger, picture: Picture, height: int, width: int, device: str) -> tl.Tensor:
    def over_bytes() -> tl.Tensor:
        layout = tl.Layout.row_major((picture.height, picture.width, 3))
        return tl.from_storage(picture.octets, layout, dtype=tl.uint8)

    title = f"read {picture.name}"
    title = title if len(title) <= 28 else f"{title[:25]}..."
    x = ledger.view(title, "HWC", over_bytes, expected=picture.pixels)
    if x.device != device:
        to, pixels = f"to the device {device}", picture.pixels
        x = ledger.step(to, "HWC HWC", lambda x: x.to_device(device), x, expected=pixels)
    if (height, width) == (picture.height, picture.width):
        return x
    part = middle(picture, height, width)
    return ledger.view(
        "cut to the common size", "HWC HWC", lambda x: x[part], x, expected=picture.pixels[part]
    )


def batch(ledger: Ledger, pictures: Sequence[tl.Tensor], pixels: Sequence[Array]) -> Batch:
    """One batch, in memory as NHWC, planar, with padded rows, and column-major."""
    nchw = np.stack([np.moveaxis(p, 2, 0) for p in pixels])

    def change(title: str, layout: Any, x: tl.Tensor, memory: Array) -> tl.Tensor:
        return ledger.step(
            title,
            "NCHW NCHW",
            lambda x: tl.to_layout(x, layout),
            x,
            expected=nchw,
            memory=memory,
        )

    channels_last = np.moveaxis(nchw, 1, 3).ravel()
    planar = change("NHWC to NCHW", "NCHW", _stacked(ledger, pictures, nchw), nchw.ravel())
    nhwc = change("NCHW to NHWC", "NHWC", planar, channels_last)
    change("NHWC to NHWC: nothing to do", "NHWC", nhwc, channels_last)
    rows = tl.Layout.pitched(nchw.shape, PITCH, tl.uint8, padding_value=tl.PaddingValue.ZERO)
    padded = padded_rows(nchw, rows.padded_shape[3])
    pitched = change(f"rows at {PITCH}-byte pitch", rows, planar, padded)
    column_major = change("column-major", (0, 1, 2, 3), planar, nchw.ravel(order="F"))
    return Batch(nchw, nhwc, planar, pitched, column_major)


def _stacked(ledger: Ledger, pictures: Sequence[tl.Tensor], nchw: Array) -> tl.Tensor:
    """The pictures as one batch: seen as CHW they are HWC in memory, so the batch is NHWC."""
    seen = [
        ledger.view(
            "seen as CHW", "HWC CHW", lambda x: tl.permute_dims(x, (2, 0, 1)), x, expected=p
        )
        for x, p in zip(pictures, nchw, strict=True)
    ]
    return ledger.step(
        "stack the batch",
        "CHW NCHW",
        lambda *xs: tl.stack(xs),
        *seen,
        expected=nchw,
        memory=np.moveaxis(nchw, 1, 3).ravel(),
    )


def padded_rows(array: Array, width: int) -> Array:
    """The memory of `array` with its rows padded by zeros to `width`."""
    return np.pad(array, [(0, 0)] * 3 + [(0, width - array.shape[3])]).ravel()


def normalise(ledger: Ledger, made: Batch, device: str) -> tuple[tl.Tensor, tl.Tensor, Array]:
    """``(x / 255 - mean) / std`` in float32: with padded rows step by step, and in NHWC at once."""
    mean, std = (
        tl.reshape(tl.asarray(v, dtype=tl.float32, device=device), (3, 1, 1)) for v in (MEAN, STD)
    )
    np_mean, np_std = (np.array(v, np.float32).reshape(3, 1, 1) for v in (MEAN, STD))

    bytes_as_floats = made.pixels.astype(np.float32)
    scaled = bytes_as_floats / np.float32(255)
    centred = scaled - np_mean
    values = centred / np_std
    x = made.pitched
    width = x.layout.padded_shape[3]  # in elements, so that the rows stay aligned in float32
    for title, call, expected in (
        ("to float32", lambda x: tl.astype(x, tl.float32), bytes_as_floats),
        ("/ 255", lambda x: x / 255, scaled),
        ("- mean (padding stays 0)", lambda x: x - mean, centred),
        ("/ std", lambda x: x / std, values),
    ):
        memory = padded_rows(expected, width)
        x = ledger.step(title, "NCHW NCHW", call, x, expected=expected, memory=memory)
    nhwc = ledger.step(
        "the same four in NHWC",
        "NCHW NCHW",
        lambda x: (tl.astype(x, tl.float32) / 255 - mean) / std,
        made.nhwc,
        expected=values,
        memory=np.moveaxis(values, 1, 3).ravel(),
    )
    return x, nhwc, values


def viewable(ledger: Ledger, normalised: tl.Tensor, values: Array) -> tl.Tensor:
    """The normalised batch rescaled to bytes, side by side as one picture (H, N*W, 3)."""

    def rescale(x: tl.Tensor) -> tl.Tensor:
        low, high = tl.min(x), tl.max(x)
        span = high - low if float(high) > float(low) else 1.0
        return tl.astype(tl.round((x - low) / span * 255), tl.uint8)

    low, high = values.min(), values.max()
    scaled = (values - low) / (high - low if high > low else np.float32(1)) * np.float32(255)
    octets = np.round(scaled).astype(np.uint8)
    width = normalised.layout.padded_shape[3]
    x = ledger.step(
        "rescale to bytes for viewing",
        "NCHW NCHW",
        rescale,
        normalised,
        expected=octets,
        memory=padded_rows(octets, width),
    )
    side_by_side = np.concatenate(list(octets), axis=2)
    x = ledger.step(
        "side by side",
        "NCHW CHW",
        lambda x: tl.concat(tl.unstack(x), axis=2),
        x,
        expected=side_by_side,
    )
    return ledger.step(
        "rows of pixels for the PNG",
        "CHW HWC",
        lambda x: tl.to_layout(tl.permute_dims(x, (1, 2, 0)), (2, 1, 0)),
        x,
        expected=np.moveaxis(side_by_side, 0, 2),
        memory=np.moveaxis(side_by_side, 0, 2).ravel(),
    )


def mosaic(ledger: Ledger, made: Batch) -> tl.Tensor:
    """A row for each picture: itself, either half joined with its mirror image, upside down."""
    tiles, row = _tiles(ledger, made)
    joined = ledger.step(
        "join the tiles",
        "NCHW NCHW",
        lambda *xs: tl.concat(xs, axis=3),
        *tiles,
        expected=row,
        memory=np.moveaxis(row, 1, 3).ravel(),
    )
    n, _, height, width = row.shape
    shape = (n * height, width, 3)
    return ledger.view(
        "one picture of all rows",
        "NCHW HWC",
        lambda x: tl.reshape(tl.permute_dims(x, (0, 2, 3, 1)), shape, copy=False),
        joined,
        expected=np.moveaxis(row, 1, 3).reshape(shape),
    )


def _tiles(ledger: Ledger, made: Batch) -> tuple[list[tl.Tensor], Array]:
    """The tiles of the mosaic, views all, and the row of them as NumPy joins it."""
    x, pixels = made.nhwc, made.pixels
    half = max(1, x.shape[3] // 2)
    left, right, upside_down = pixels[..., :half], pixels[..., -half:], pixels[:, :, ::-1, ::-1]

    def view(title: str, call: Callable[[Any], Any], x: tl.Tensor, expected: Array) -> tl.Tensor:
        return ledger.view(title, "NCHW NCHW", call, x, expected=expected)

    def mirror(x: tl.Tensor) -> tl.Tensor:
        return tl.flip(x, axis=3)

    a = view("cut the left half", lambda x: x[..., :half], x, left)
    mirrored_a = view("its mirror image", mirror, a, left[..., ::-1])
    b = view("cut the right half", lambda x: x[..., -half:], x, right)
    mirrored_b = view("its mirror image", mirror, b, right[..., ::-1])
    turned = view("turned by 180 degrees", lambda x: tl.flip(x, axis=(2, 3)), x, upside_down)
    row = [pixels, left, left[..., ::-1], right[..., ::-1], right, upside_down]
    return [x, a, mirrored_a, mirrored_b, b, turned], np.concatenate(row, axis=3)
