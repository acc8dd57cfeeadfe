"""A sheet of pictures with captions: what was done, what is seen, and in which layout."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from tensorlayout.cli.ledger import Array

PANEL, MARGIN = 384, 24  # pixels
CAPTION = 92  # the height of a caption
INK, FAINT, PAPER = (24, 24, 28), (110, 110, 118), (252, 252, 252)
LINE, LETTERS = 360, 66  # of text over a panel at most: pixels, and letters of the smaller sizes


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


def fitted(pixels: Array) -> Image.Image:
    """The picture as large as a panel lets it be; small ones in whole multiples."""
    scale = PANEL / max(pixels.shape[:2])
    scale = math.floor(scale) if scale >= 1 else scale
    height, width = (max(1, round(n * scale)) for n in pixels.shape[:2])
    how = Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.NEAREST
    return Image.fromarray(pixels).resize((width, height), how)


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
