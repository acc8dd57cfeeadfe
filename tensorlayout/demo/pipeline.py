"""What the demo does with its pictures first: a batch, its layouts, normalising, a mosaic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tensorlayout as tl
from tensorlayout.demo.ledger import Known, Ledger
from tensorlayout.demo.pictures import Picture

PITCH = 256  # bytes to which rows are aligned, as DirectX and Vulkan textures want them
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, by channel


class Batch(NamedTuple):
    """One batch of pictures, shape (N, C, H, W), in memory as NHWC, and planar with padded rows."""

    nhwc: Known
    pitched: Known


def read(book: Ledger, pictures: Sequence[Picture], device: str) -> list[Known]:
    """The pictures as tensors (H, W, 3) over the decoded bytes, cut to their common size."""
    height, width = common_size(pictures)
    return [_read_one(book, picture, height, width, device) for picture in pictures]


def common_size(pictures: Sequence[Picture]) -> tuple[int, int]:
    """The greatest height and width that every picture has."""
    return min(p.height for p in pictures), min(p.width for p in pictures)


def _read_one(book: Ledger, picture: Picture, height: int, width: int, device: str) -> Known:
    layout = tl.Layout.row_major((picture.height, picture.width, 3))
    title = f"read {picture.name}"
    x = book.view(
        title if len(title) <= 28 else f"{title[:25]}...",
        lambda _: tl.from_storage(picture.octets, layout, dtype=tl.uint8),
        dims="HWC",
        expected=picture.pixels,
        beside={"NumPy": lambda _: picture.pixels, "PyTorch": None},  # which warns of bytes
    )
    if x.tensor.device != device:
        x = book.step(
            f"to the device {device}", lambda _, x: x.to_device(device), x, expected=x.array
        )
    if (height, width) == (picture.height, picture.width):
        return x
    top, left = (picture.height - height) // 2, (picture.width - width) // 2
    middle = slice(top, top + height), slice(left, left + width)
    return book.view("cut to the common size", lambda _, x: x[middle], x)


def batch(book: Ledger, pictures: Sequence[Known]) -> Batch:
    """One batch, in memory as NHWC, planar, with padded rows, and column-major."""
    # Seen as CHW the pictures are HWC in memory, so the batch is NHWC.
    seen = [
        book.view("seen as CHW", lambda xp, x: xp.permute_dims(x, (2, 0, 1)), x, dims="CHW")
        for x in pictures
    ]
    stacked = book.step(
        "stack the batch", lambda xp, *xs: xp.stack(xs), *seen, dims="NCHW", stored="NHWC"
    )

    def change(title: str, layout: Any, x: Known, stored: str, row: int = 0) -> Known:
        return book.step(
            title,
            lambda _, x: tl.to_layout(x, layout),
            x,
            expected=x.array,
            stored=stored,
            row=row,
            beside=_padded(row) if row else _lying(stored),
        )

    planar = change("NHWC to NCHW", "NCHW", stacked, "NCHW")
    nhwc = change("NCHW to NHWC", "NHWC", planar, "NHWC")
    change("NHWC to NHWC: nothing to do", "NHWC", nhwc, "NHWC")
    shape = planar.array.shape
    rows = tl.Layout.pitched(shape, PITCH, tl.uint8, padding_value=tl.PaddingValue.ZERO)
    pitched = change(f"rows at {PITCH}-byte pitch", rows, planar, "NCHW", rows.padded_shape[3])
    change("column-major", (0, 1, 2, 3), planar, "WHCN")
    return Batch(nhwc, pitched)


def _lying(stored: str) -> Callable[..., Any]:
    """How others lay a batch (N, C, H, W) out in that order: as rows of its transpose."""
    order = tuple("NCHW".index(letter) for letter in stored)
    back = tuple(map(order.index, range(4)))

    def call(xp: Any, x: Any) -> Any:
        return xp.permute_dims(xp.ascontiguousarray(xp.permute_dims(x, order)), back)

    return call


def _padded(row: int) -> Callable[..., Any]:
    """How others pad the rows of a batch: by writing into zeros."""

    def call(xp: Any, x: Any) -> Any:
        rows = xp.zeros((*x.shape[:3], row), dtype=x.dtype)[..., : x.shape[3]]
        rows[...] = x
        return rows

    return call


def normalise(book: Ledger, made: Batch) -> tuple[Known, Known]:
    """``(x / 255 - mean) / std`` in float32: with padded rows step by step, and in NHWC at once."""

    def constant(values: Sequence[float]) -> Known:
        array = np.array(values, np.float32).reshape(3, 1, 1)
        return Known(tl.asarray(array, device=made.nhwc.tensor.device), array, "CHW")

    mean, std = constant(MEAN), constant(STD)
    x = made.pitched
    row = x.tensor.layout.padded_shape[3]  # in elements, so that the rows stay aligned in float32
    steps: Sequence[tuple[str, Callable[..., Any], Sequence[Known]]] = (
        ("to float32", lambda xp, x: xp.astype(x, xp.float32), ()),
        ("/ 255", lambda _, x: x / 255, ()),
        ("- mean (padding stays 0)", lambda _, x, mean: x - mean, (mean,)),
        ("/ std", lambda _, x, std: x / std, (std,)),
    )
    for title, call, more in steps:
        x = book.step(title, call, x, *more, stored="NCHW", row=row)
    nhwc = book.step(
        "the same four in NHWC",
        lambda xp, x, mean, std: (xp.astype(x, xp.float32) / 255 - mean) / std,
        *(made.nhwc, mean, std),
        stored="NHWC",
    )
    return x, nhwc


def viewable(book: Ledger, normalised: Known) -> Known:
    """The normalised batch rescaled to bytes, side by side as one picture (H, N*W, 3)."""

    def rescale(xp: Any, x: Any) -> Any:
        low, high = xp.min(x), xp.max(x)
        span = high - low if float(high) > float(low) else 1.0
        return xp.astype(xp.round((x - low) / span * 255), xp.uint8)

    row = normalised.tensor.layout.padded_shape[3]
    x = book.step("rescale to bytes for viewing", rescale, normalised, stored="NCHW", row=row)
    x = book.step("side by side", lambda xp, x: xp.concat(xp.unstack(x), axis=2), x, dims="CHW")
    return book.step(
        "rows of pixels for the PNG",
        lambda _, x: tl.to_layout(tl.permute_dims(x, (1, 2, 0)), (2, 1, 0)),
        x,
        dims="HWC",
        expected=np.moveaxis(x.array, 0, 2),
        stored="HWC",
        beside=lambda xp, x: xp.ascontiguousarray(xp.permute_dims(x, (1, 2, 0))),
    )


def mosaic(book: Ledger, batch: Known) -> Known:
    """A row for each picture: itself, either half joined with its mirror image, upside down."""
    half = max(1, batch.array.shape[3] // 2)

    def mirrored(x: Known) -> Known:
        return book.view("its mirror image", lambda xp, x: xp.flip(x, axis=3), x)

    a = book.view("cut the left half", lambda _, x: x[..., :half], batch)
    mirrored_a = mirrored(a)
    b = book.view("cut the right half", lambda _, x: x[..., -half:], batch)
    mirrored_b = mirrored(b)
    turned = book.view("turned by 180 degrees", lambda xp, x: xp.flip(x, axis=(2, 3)), batch)
    joined = book.step(
        "join the tiles",
        lambda xp, *xs: xp.concat(xs, axis=3),
        *(batch, a, mirrored_a, mirrored_b, b, turned),
        stored="NHWC",
    )
    n, _, height, width = joined.array.shape
    pixels = joined.array.transpose(0, 2, 3, 1).reshape(n * height, width, 3)
    return book.view(
        "one picture of all rows",
        lambda _, x: tl.reshape(tl.permute_dims(x, (0, 2, 3, 1)), pixels.shape, copy=False),
        joined,
        dims="HWC",
        expected=pixels,
        beside=lambda xp, x: xp.reshape(xp.permute_dims(x, (0, 2, 3, 1)), pixels.shape),
    )
