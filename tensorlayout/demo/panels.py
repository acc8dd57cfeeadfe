"""What the demo draws: sheets of pictures with captions, and a histogram."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import tensorlayout as tl
from tensorlayout.demo.beside import Array

PANEL, MARGIN = 384, 24  # pixels
CAPTION = 92  # the height of a caption
INK, FAINT, PAPER = (24, 24, 28), (110, 110, 118), (252, 252, 252)
LINE, LETTERS = 360, 66  # of text over a panel at most: pixels, and letters of the smaller sizes
BAND, GROUND = (222, 222, 226), (240, 240, 242)  # of a histogram
COLOURS = ((214, 69, 58), (58, 160, 74), (64, 96, 200))
GAP, SCALE, LAST = 6, 22, PANEL - 1  # pixels: between its strips, of its axis; the last one


@dataclass(frozen=True, slots=True)
class Captioned:
    """A picture, height × width × 3 bytes, and what is said over it.

    `remark` has room for two lines, `layout` for one.
    """

    title: str
    remark: str
    layout: str
    pixels: Array


def captioned_sheet(title: str, pictures: Sequence[Captioned], columns: int) -> Image.Image:
    """The pictures in rows of `columns`, each as large as its panel lets it be."""
    drawn = [fitted(picture.pixels) for picture in pictures]
    rows = [range(at, min(at + columns, len(drawn))) for at in range(0, len(drawn), columns)]
    heights = [max(drawn[number].height for number in row) for row in rows]
    size = columns * (PANEL + MARGIN) + MARGIN, 64 + sum(heights) + len(rows) * (CAPTION + MARGIN)
    canvas = Image.new("RGB", size, PAPER)
    ImageDraw.Draw(canvas).text((MARGIN, 20), title, INK, font(26))
    top = 64
    for row, height in zip(rows, heights, strict=True):
        for column, number in enumerate(row):
            left = MARGIN + column * (PANEL + MARGIN)
            caption(canvas, pictures[number], left, top)
            canvas.paste(drawn[number], (left, top + CAPTION))
        top += CAPTION + height + MARGIN
    return canvas


def caption(canvas: Image.Image, picture: Captioned, left: int, top: int) -> None:
    """What is said over a picture."""
    draw = ImageDraw.Draw(canvas)
    draw.text((left, top), picture.title, INK, font(20))
    draw.text((left, top + 28), wrapped(picture.remark, 14), INK, font(14))
    draw.text((left, top + 66), wrapped(picture.layout, 13), FAINT, font(13))


def pixels(picture: Array) -> Array:
    """A picture (C, H, W) as rows of pixels, rounded to bytes."""
    return np.moveaxis(np.round(picture), 0, 2).astype(np.uint8)


def told(x: tl.Tensor) -> str:
    """A tensor in the words of a caption."""
    return f"{x.dtype} {x.layout}"


def fitted(pixels: Array) -> Image.Image:
    """The picture as large as a panel lets it be; small ones in whole multiples."""
    return resized(pixels, scaled(pixels.shape, max(pixels.shape[:2])))


def scaled(shape: tuple[int, ...], largest: int, most: int = PANEL) -> tuple[int, int]:
    """Height and width where `largest` fills a panel; magnified up to `most` whole times."""
    scale = PANEL / largest
    scale = min(int(scale), most) if scale >= 1 else scale
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def resized(pixels: Array, size: tuple[int, int]) -> Image.Image:
    """A picture of that height and width; magnified pixels stay squares."""
    (height, width), image = size, Image.fromarray(pixels)
    smaller = height < image.height or width < image.width
    how = Image.Resampling.LANCZOS if smaller else Image.Resampling.NEAREST
    return image.resize((width, height), how)


def wrapped(text: str, size: int) -> str:
    """The text in lines that fit over a panel in type of that size."""
    letters = font(size)
    for count in range(LETTERS, 0, -1):
        lines = textwrap.wrap(text, count)
        if all(letters.getlength(line) <= LINE for line in lines):
            break
    return "\n".join(lines)


def font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """The type of the sheets."""
    return ImageFont.load_default(size)


def histogram(
    counts: Array,
    means: Array,
    deviations: Array,
    levels: Array | None = None,
    span: tuple[float, float] = (0, 255),
    ticks: Sequence[int] = (),
) -> Array:
    """A picture, as large as a panel, of `counts` (256 values × 3 channels), a strip for each.

    The mean is a line, and what is within a standard deviation of it a band. `levels` (256 × 3):
    the values in rising order, by default 0 to 255. `span`: of the axis, on which `ticks` are.
    """
    canvas = Image.new("RGB", (PANEL, PANEL), PAPER)
    draw = ImageDraw.Draw(canvas)
    values = np.arange(256.0)[:, None].repeat(3, 1) if levels is None else levels
    height = (PANEL - 2 * GAP - (SCALE if ticks else 0)) // 3
    digits = 1 if span[1] - span[0] > 100 else 2

    def across(value: float) -> int:
        """Where a value is, in pixels."""
        return round((max(span[0], min(span[1], value)) - span[0]) / (span[1] - span[0]) * LAST)

    for channel, colour in enumerate(COLOURS):
        top = channel * (height + GAP)
        mean, deviation = float(means[channel]), float(deviations[channel])
        draw.rectangle((0, top, LAST, top + height - 1), GROUND)
        left, right = across(mean - deviation), across(mean + deviation)
        draw.rectangle((left, top, right, top + height - 1), BAND)
        for x, bar in enumerate(_bars(counts[:, channel], values[:, channel], span, height - 24)):
            if bar:
                draw.line((x, top + height - bar, x, top + height - 1), colour)
        draw.line((across(mean), top, across(mean), top + height - 1), INK)
        words = f"mean {mean:.{digits}f}, deviation {deviation:.{digits}f}"
        draw.text((PANEL - 8, top + 4), words, INK, font(14), anchor="ra")
    for tick in ticks:
        x = across(tick)
        draw.line((x, 3 * height + 2 * GAP, x, 3 * height + 2 * GAP + 4), FAINT)
        anchor = "lt" if x < 8 else "rt" if x > PANEL - 12 else "mt"
        draw.text((x, 3 * height + 2 * GAP + 7), str(tick), FAINT, font(13), anchor=anchor)
    return np.asarray(canvas)


def _bars(counts: Array, values: Array, span: tuple[float, float], height: int) -> list[int]:
    """The height of the bar at each pixel of the width; what is far above the rest is cut off."""
    most = max(1, int(np.quantile(counts, 0.98)))
    at = span[0] + np.arange(PANEL) * (span[1] - span[0]) / LAST
    bins = np.rint(np.interp(at, values, np.arange(256))).astype(int)
    inside = (values[0] - 1e-6 <= at) & (at <= values[-1] + 1e-6)
    return [int(n) for n in np.minimum(counts[bins] * inside, most) * height // most]
