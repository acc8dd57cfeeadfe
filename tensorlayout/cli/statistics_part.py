"""What is done next with a batch of photographs: statistics, tables of sums, sorting, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout.cli import histogram
from tensorlayout.cli.ledger import Array, Ledger, host
from tensorlayout.cli.panels import Captioned

WITHIN = 1e-6  # of the order in which 32-bit floats are summed
SAMPLE = 7  # of so many pixels one is counted, which keeps the simulator quick
BOX = 31  # pixels: the side of the squares of which the means are taken
CROPS, CROP = 9, 128  # how many crops there are, and the pixels of their sides
# Rows: brightness, blue and red against it, from red, green and blue. In 256ths, so that each
# product and sum is exact in 32-bit floats, in whatever order it is taken.
YCBCR = np.array([[77, 150, 29], [-43, -85, 128], [128, -107, -21]], np.float32) / 256


def run(ledger: Ledger, batch: tl.Tensor, pixels: Array) -> list[Captioned]:
    """The steps, and a picture of what they made; `batch`, (N, C, H, W), lies in memory as NHWC.

    `pixels` are NumPy's own of the batch.
    """
    floats = ledger.step(
        "bytes to float32",
        "NCHW NCHW",
        lambda x: tl.astype(x, tl.float32),
        batch,
        expected=pixels.astype(np.float32),
    )
    return [
        _statistics(ledger, batch, floats, pixels),
        _colours(ledger, floats, pixels),
        *_sums(ledger, batch, pixels),
        _sorted(ledger, batch, pixels),
        _crops(ledger, batch, pixels),
    ]


def _told(x: tl.Tensor) -> str:
    return f"{x.dtype} {x.layout}"


def _rows_of_pixels(ledger: Ledger, x: tl.Tensor, pixels: Array) -> tuple[tl.Tensor, Array]:
    """The batch as a matrix of three columns, a row for each pixel: a view, since it is NHWC."""
    rows = np.moveaxis(pixels, 1, 3).reshape(-1, 3)
    matrix = ledger.view(
        "a row for each pixel",
        "NCHW PC",
        lambda x: tl.reshape(tl.permute_dims(x, (0, 2, 3, 1)), (-1, 3), copy=False),
        x,
        expected=rows,
    )
    return matrix, rows


def _statistics(ledger: Ledger, batch: tl.Tensor, floats: tl.Tensor, pixels: Array) -> Captioned:
    every = (0, 2, 3)
    means = ledger.compute(
        "mean by channel",
        "NCHW C",
        lambda x: tl.mean(x, axis=every),
        floats,
        expected=pixels.mean(every).astype(np.float32),
        within=WITHIN,
    )
    deviations = ledger.compute(
        "deviation by channel",
        "NCHW C",
        lambda x: tl.std(x, axis=every),
        floats,
        expected=pixels.std(every).astype(np.float32),
        within=WITHIN,
    )
    matrix, rows = _rows_of_pixels(ledger, batch, pixels)
    sample = rows[::SAMPLE]
    sampled = ledger.view(
        f"every {SAMPLE}th of them", "PC PC", lambda x: x[::SAMPLE], matrix, expected=sample
    )
    counts = ledger.compute(
        "histogram by scatter_add",
        "PC VC",
        lambda x, bins, one: tl.scatter_add(bins, x, one),
        sampled,
        tl.zeros((256, 3), dtype=tl.int32, device=batch.device),
        tl.ones((), dtype=tl.int32, device=batch.device),
        expected=np.stack([np.bincount(c, minlength=256) for c in sample.T], 1).astype(np.int32),
    )
    drawn = histogram.drawn(host(counts), host(means), host(deviations))
    remark = "How often a sample has each value. Line: the mean; band: a standard deviation."
    return Captioned("Statistics by channel", remark, _told(counts), drawn)


def _colours(ledger: Ledger, floats: tl.Tensor, pixels: Array) -> Captioned:
    n, _, height, width = pixels.shape
    matrix, rows = _rows_of_pixels(ledger, floats, pixels.astype(np.float32))
    weights = tl.asarray(YCBCR.T, device=floats.device)
    converted = ledger.compute(
        "YCbCr by matmul",
        "PC PC",
        lambda x, weights: tl.matmul(x, weights),
        matrix,
        weights,
        expected=rows @ YCBCR.T,
    )
    planes = host(converted).reshape(n, height, width, 3)[0] + np.array([0, 128, 128], np.float32)
    grey = np.round(np.clip(planes, 0, 255)).astype(np.uint8)
    y, cb, cr = (grey[..., [c] * 3] for c in range(3))
    drawn = np.block([[[np.moveaxis(pixels[0], 0, 2)], [y]], [[cb], [cr]]])
    remark = "A pixel is a row of a matrix, without a copy. Above: the picture, Y; below: Cb, Cr."
    return Captioned("Colours by matmul", remark, _told(converted), drawn)


def _sums(ledger: Ledger, batch: tl.Tensor, pixels: Array) -> list[Captioned]:
    """The integral image, and the mean of the square around each pixel from four of its numbers."""
    across = ledger.compute(
        "sums along rows",
        "NCHW NCHW",
        lambda x: tl.cumulative_sum(x, axis=3, dtype=tl.int32, include_initial=True),
        batch,
        expected=_cumulated(pixels, 3),
    )
    table = _cumulated(_cumulated(pixels, 3), 2)
    sums = ledger.compute(
        "sums down columns",
        "NCHW NCHW",
        lambda x: tl.cumulative_sum(x, axis=2, dtype=tl.int32, include_initial=True),
        across,
        expected=table,
    )
    side = min(BOX, *pixels.shape[2:])

    def means(s: Any) -> Any:
        top, bottom = s[:, :, :-side], s[:, :, side:]
        whole = bottom[..., side:] - bottom[..., :-side] - top[..., side:] + top[..., :-side]
        return whole // side**2

    boxes = ledger.compute(
        f"means of {side} x {side} from them", "NCHW NCHW", means, sums, expected=means(table)
    )
    remark = "Each number is the sum of all above it and to its left, and of its own pixel."
    integral = Captioned("Integral image", remark, _told(sums), _shown(host(sums)[0], scale=True))
    remark = (
        f"The mean of {side} x {side} pixels: four numbers of the integral image, for any size."
    )
    return [integral, Captioned("Box means", remark, _told(boxes), _shown(host(boxes)[0]))]


def _cumulated(x: Array, axis: int) -> Array:
    """The sums of all up to each place along an axis, beginning with 0."""
    before = [(0, 0)] * x.ndim
    before[axis] = (1, 0)
    return np.pad(x.cumsum(axis, dtype=np.int32), before)


def _shown(picture: Array, scale: bool = False) -> Array:
    """Rows of pixels, in bytes; with `scale`, each channel from 0 to its greatest value."""
    if scale:
        greatest = np.maximum(picture.max((1, 2), keepdims=True), 1)
        picture = picture.astype(np.int64) * 255 // greatest
    return np.ascontiguousarray(np.moveaxis(picture, 0, 2).astype(np.uint8))


def _sorted(ledger: Ledger, batch: tl.Tensor, pixels: Array) -> Captioned:
    red = ledger.view(
        "the red channel", "NCHW NHW", lambda x: x[:, 0], batch, expected=pixels[:, 0]
    )
    result = ledger.compute(
        "each of its rows sorted",
        "NHW NHW",
        lambda x: tl.sort(x, axis=2),
        red,
        expected=np.sort(pixels[:, 0], 2),
    )
    remark = "The red channel, every third byte of NHWC memory, sorted along its rows."
    drawn = np.ascontiguousarray(host(result)[0][..., None].repeat(3, 2))
    return Captioned("Sorted rows", remark, _told(result), drawn)


def _crops(ledger: Ledger, batch: tl.Tensor, pixels: Array) -> Captioned:
    joined = ledger.step(
        f"stack {CROPS} crops",
        "NCHW NCHW",
        lambda x: tl.stack(_cut(x)),
        batch,
        expected=np.stack(_cut(pixels)),
    )
    side = round(CROPS**0.5)
    n, channels, height, width = joined.shape
    rows = host(joined).reshape(side, n // side, channels, height, width)
    drawn = rows.transpose(0, 3, 1, 4, 2).reshape(side * height, n // side * width, channels)
    remark = "Crops of the pictures in turn, each second one mirrored: views, joined at once."
    return Captioned("A batch of crops", remark, _told(joined), np.ascontiguousarray(drawn))


def _cut(x: Any) -> Sequence[Any]:
    """Parts of the pictures in turn, from left above to right below; each second one mirrored."""
    n, _, height, width = x.shape
    side = min(CROP, height, width)
    found = []
    for number in range(CROPS):
        top, left = ((m - side) * number // (CROPS - 1) for m in (height, width))
        part = x[number % n, :, top : top + side, left : left + side]
        found.append(part[..., ::-1] if number % 2 else part)
    return found
