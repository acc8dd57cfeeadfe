"""What the demo does with its pictures: tensors only, each step beside NumPy's own computation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        return tl.from_storage(picture.octets, layout, dtype=tl.uint8).to_device(device)

    title = f"read {picture.name}"
    x = ledger.step(
        title if len(title) <= 29 else f"{title[:26]}...",
        "HWC",
        over_bytes,
        expected=picture.pixels,
    )
    if (height, width) != (picture.height, picture.width):
        part = middle(picture, height, width)
        x = ledger.step(
            "cut to the common size", "HWC HWC", lambda x: x[part], x, expected=picture.pixels[part]
        )
    return x


def batch(ledger: Ledger, pictures: Sequence[tl.Tensor], pixels: Sequence[Array]) -> Batch:
    """One batch, in memory as NHWC, planar, with padded rows, and column-major."""
    step = ledger.step
    channels_first = [
        step(
            "seen as CHW",
            "HWC CHW",
            lambda x: tl.permute_dims(x, (2, 0, 1)),
            x,
            expected=np.moveaxis(p, 2, 0),
        )
        for x, p in zip(pictures, pixels, strict=True)
    ]
    all_pixels = np.stack([np.moveaxis(p, 2, 0) for p in pixels])
    channels_last = np.stack(list(pixels)).ravel()
    stacked = step(
        "stack the batch",
        "CHW NCHW",
        lambda *xs: tl.stack(xs),
        *channels_first,
        expected=all_pixels,
        memory=channels_last,
    )
    planar = step(
        "NHWC to NCHW",
        "NCHW NCHW",
        lambda x: tl.to_layout(x, "NCHW"),
        stacked,
        expected=all_pixels,
        memory=all_pixels.ravel(),
    )
    nhwc = step(
        "NCHW to NHWC",
        "NCHW NCHW",
        lambda x: tl.to_layout(x, "NHWC"),
        planar,
        expected=all_pixels,
        memory=channels_last,
    )
    step(
        "NHWC to NHWC: nothing to do",
        "NCHW NCHW",
        lambda x: tl.to_layout(x, "NHWC"),
        nhwc,
        expected=all_pixels,
        memory=channels_last,
    )
    wanted = tl.Layout.pitched(
        all_pixels.shape, PITCH, tl.uint8, padding_value=tl.PaddingValue.ZERO
    )
    pitched = step(
        f"rows at {PITCH}-byte pitch",
        "NCHW NCHW",
        lambda x: tl.to_layout(x, wanted),
        planar,
        expected=all_pixels,
        memory=padded_rows(all_pixels, wanted.padded_shape[3]),
    )
    column_major = step(
        "column-major",
        "NCHW NCHW",
        lambda x: tl.to_layout(x, (0, 1, 2, 3)),
        planar,
        expected=all_pixels,
        memory=all_pixels.ravel(order="F"),
    )
    return Batch(all_pixels, nhwc, planar, pitched, column_major)


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
    step, x, pixels = ledger.step, made.nhwc, made.pixels
    half = max(1, x.shape[3] // 2)
    left = step(
        "cut the left half", "NCHW NCHW", lambda x: x[..., :half], x, expected=pixels[..., :half]
    )
    mirrored = step(
        "its mirror image",
        "NCHW NCHW",
        lambda x: tl.flip(x, axis=3),
        left,
        expected=pixels[..., half - 1 :: -1],
    )
    right = step(
        "cut the right half", "NCHW NCHW", lambda x: x[..., -half:], x, expected=pixels[..., -half:]
    )
    turned = step(
        "its mirror image",
        "NCHW NCHW",
        lambda x: tl.flip(x, axis=3),
        right,
        expected=pixels[..., -half:][..., ::-1],
    )
    upside_down = step(
        "turned by 180 degrees",
        "NCHW NCHW",
        lambda x: tl.flip(x, axis=(2, 3)),
        x,
        expected=pixels[:, :, ::-1, ::-1],
    )
    tiles = (x, left, mirrored, turned, right, upside_down)
    row = np.concatenate(
        [
            pixels,
            pixels[..., :half],
            pixels[..., :half][..., ::-1],
            pixels[..., -half:][..., ::-1],
            pixels[..., -half:],
            pixels[:, :, ::-1, ::-1],
        ],
        axis=3,
    )
    joined = step(
        "join the tiles",
        "NCHW NCHW",
        lambda *xs: tl.concat(xs, axis=3),
        *tiles,
        expected=row,
        memory=np.moveaxis(row, 1, 3).ravel(),
    )
    n, _, height, width = row.shape
    return step(
        "one picture of all rows",
        "NCHW HWC",
        lambda x: tl.reshape(tl.permute_dims(x, (0, 2, 3, 1)), (n * height, width, 3), copy=False),
        joined,
        expected=np.moveaxis(row, 1, 3).reshape(n * height, width, 3),
    )
