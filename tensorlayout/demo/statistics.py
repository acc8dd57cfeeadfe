"""What is done next with a batch of photographs: statistics, tables of sums, sorting, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout.demo.ledger import Known, Ledger, host
from tensorlayout.demo.panels import Captioned, histogram, pixels, told

WITHIN = 1e-6  # of the order in which 32-bit floats are summed
SAMPLE = 7  # of so many pixels one is counted, which keeps the simulator quick
BOX = 31  # pixels: the side of the squares of which the means are taken
CROPS, CROP = 9, 128  # how many crops there are, and the pixels of their sides
# Rows: brightness, blue and red against it, from red, green and blue. In 256ths, so that each
# product and sum is exact in 32-bit floats, in whatever order it is taken.
YCBCR = np.array([[77, 150, 29], [-43, -85, 128], [128, -107, -21]], np.float32) / 256


def run(book: Ledger, batch: Known) -> list[Captioned]:
    """The steps, and a picture of what they made; `batch`, (N, C, H, W), lies in memory as NHWC."""
    floats = book.step("bytes to float32", lambda xp, x: xp.astype(x, xp.float32), batch)
    return [
        _statistics(book, batch, floats),
        _colours(book, floats),
        *_sums(book, batch),
        _sorted(book, batch),
        _crops(book, batch),
    ]


def _rows_of_pixels(book: Ledger, x: Known) -> Known:
    """The batch as a matrix of three columns, a row for each pixel: a view, since it is NHWC."""
    return book.view(
        "a row for each pixel",
        lambda _, x: tl.reshape(tl.permute_dims(x, (0, 2, 3, 1)), (-1, 3), copy=False),
        x,
        dims="PC",
        expected=np.moveaxis(x.array, 1, 3).reshape(-1, 3),
        beside=lambda xp, x: xp.reshape(xp.permute_dims(x, (0, 2, 3, 1)), (-1, 3)),
    )


def _statistics(book: Ledger, batch: Known, floats: Known) -> Captioned:
    every, pixels, device = (0, 2, 3), batch.array, batch.tensor.device
    means, deviations = (
        book.compute(
            f"{title} by channel",
            lambda _, x, reduced=reduced: reduced(x, axis=every),
            floats,
            dims="C",
            expected=expected(every).astype(np.float32),
            within=WITHIN,
            beside={"NumPy": by_numpy, "PyTorch": by_torch},
        )
        for title, reduced, expected, by_numpy, by_torch in (
            (
                "mean",
                tl.mean,
                pixels.mean,
                lambda xp, x: x.mean(every, dtype=xp.float64).astype(xp.float32),
                lambda xp, x: x.mean(every),
            ),
            (
                "deviation",
                tl.std,
                pixels.std,
                lambda xp, x: x.std(every, dtype=xp.float64).astype(xp.float32),
                lambda xp, x: x.std(every, correction=0),
            ),
        )
    )
    rows = _rows_of_pixels(book, batch)
    sample = book.view(f"every {SAMPLE}th of them", lambda _, x: x[::SAMPLE], rows)
    bins = tl.zeros((256, 3), dtype=tl.int32, device=device)
    one = tl.ones((), dtype=tl.int32, device=device)

    def bincounts(xp: Any, x: Any) -> Any:
        counted = [xp.bincount(x[:, channel], minlength=256) for channel in range(3)]
        return xp.astype(xp.stack(counted, axis=1), xp.int32)

    counts = book.compute(
        "histogram by scatter_add",
        lambda _, x: tl.scatter_add(bins, x, one),
        sample,
        dims="VC",
        expected=bincounts(np, sample.array),
        beside=bincounts,
    )
    drawn = histogram(host(counts.tensor), host(means.tensor), host(deviations.tensor))
    remark = "How often a sample has each value. Line: the mean; band: a standard deviation."
    return Captioned("Statistics by channel", remark, told(counts.tensor), drawn)


def _colours(book: Ledger, floats: Known) -> Captioned:
    n, _, height, width = floats.array.shape
    rows = _rows_of_pixels(book, floats)
    weights = Known(tl.asarray(YCBCR.T, device=floats.tensor.device), YCBCR.T, "CY")
    converted = book.compute("YCbCr by matmul", lambda xp, *xs: xp.matmul(*xs), rows, weights)
    planes = host(converted.tensor).reshape(n, height, width, 3)[0]
    grey = np.round(np.clip(planes + np.array([0, 128, 128], np.float32), 0, 255)).astype(np.uint8)
    y, cb, cr = (grey[..., [c] * 3] for c in range(3))
    picture = pixels(floats.array[0])
    remark = "A pixel is a row of a matrix, without a copy. Above: the picture, Y; below: Cb, Cr."
    drawn = np.block([[[picture], [y]], [[cb], [cr]]])
    return Captioned("Colours by matmul", remark, told(converted.tensor), drawn)


def _sums(book: Ledger, batch: Known) -> list[Captioned]:
    """The integral image, and the mean of the square around each pixel from four of its numbers."""

    def summed(title: str, x: Known, axis: int) -> Known:
        def call(xp: Any, x: Any) -> Any:
            return xp.cumulative_sum(x, axis=axis, dtype=xp.int32, include_initial=True)

        return book.compute(title, call, x)

    sums = summed("sums down columns", summed("sums along rows", batch, 3), 2)
    side = min(BOX, *batch.array.shape[2:])

    def means(_: Any, s: Any) -> Any:
        top, bottom = s[:, :, :-side], s[:, :, side:]
        whole = bottom[..., side:] - bottom[..., :-side] - top[..., side:] + top[..., :-side]
        return whole // side**2

    boxes = book.compute(f"means of {side} x {side} from them", means, sums)
    table = host(sums.tensor)[0]
    greatest = np.maximum(table.max((1, 2), keepdims=True), 1)
    drawn = pixels(table.astype(np.int64) * 255 // greatest)
    remark = "Each number is the sum of all above it and to its left, and of its own pixel."
    integral = Captioned("Integral image", remark, told(sums.tensor), drawn)
    remark = (
        f"The mean of {side} x {side} pixels: four numbers of the integral image, for any size."
    )
    drawn = pixels(host(boxes.tensor)[0])
    return [integral, Captioned("Box means", remark, told(boxes.tensor), drawn)]


def _sorted(book: Ledger, batch: Known) -> Captioned:
    red = book.view("the red channel", lambda _, x: x[:, 0], batch, dims="NHW")
    result = book.compute("each of its rows sorted", lambda xp, x: xp.sort(x, axis=2), red)
    remark = "The red channel, every third byte of NHWC memory, sorted along its rows."
    drawn = host(result.tensor)[0][..., None].repeat(3, 2)
    return Captioned("Sorted rows", remark, told(result.tensor), drawn)


def _crops(book: Ledger, batch: Known) -> Captioned:
    joined = book.step(f"stack {CROPS} crops", lambda xp, x: xp.stack(_cut(xp, x)), batch)
    side = round(CROPS**0.5)
    n, channels, height, width = joined.array.shape
    rows = host(joined.tensor).reshape(side, n // side, channels, height, width)
    drawn = rows.transpose(0, 3, 1, 4, 2).reshape(side * height, n // side * width, channels)
    remark = "Crops of the pictures in turn, each second one mirrored: views, joined at once."
    return Captioned("A batch of crops", remark, told(joined.tensor), drawn)


def _cut(xp: Any, x: Any) -> Sequence[Any]:
    """Parts of the pictures in turn, from left above to right below; each second one mirrored."""
    n, _, height, width = x.shape
    side = min(CROP, height, width)
    found = []
    for number in range(CROPS):
        top, left = ((m - side) * number // (CROPS - 1) for m in (height, width))
        part = x[number % n, :, top : top + side, left : left + side]
        found.append(xp.flip(part, axis=2) if number % 2 else part)
    return found
