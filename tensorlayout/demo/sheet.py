"""The contact sheet: the memory of one picture in several layouts, drawn as it lies in storage."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

import tensorlayout as tl
from tensorlayout.demo.beside import Array
from tensorlayout.demo.ledger import storage
from tensorlayout.demo.panels import FAINT, INK, MARGIN, PANEL, PAPER, font, resized, scaled

HEAD = 118  # pixels of a caption
CELLS, ROWS, CELL = 12, 6, 32  # bytes in a row of the magnified part, its rows, pixels of a byte
STRIPES = ((255, 214, 64), (60, 56, 40))  # of padding, which no photograph looks like
LUMA = (0.299, 0.587, 0.114)  # the weights of red, green and blue in how bright a colour is
BRIGHTENED = 0.6  # the exponent that makes up for the two dark colours of each byte
HEADINGS = (
    "The whole memory, a byte a point in the colour of its channel, row after row",
    "Some of it magnified: the value of each byte",
    "The same bytes in the eyes of a program that takes any memory for HWC",
)
# A byte is drawn in the colour of its channel, so that grey values stay readable.
TINTS = np.array([[0, 0, 0], [1.0, 0.34, 0.28], [0.32, 0.95, 0.36], [0.36, 0.5, 1.0]])
# The colour of each byte by channel, as it is drawn where bytes are small.
COLOURS = ((255 * (np.arange(256)[:, None] / 255) ** BRIGHTENED) * TINTS[:, None, :]).astype(
    np.uint8
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One layout of the picture: `octets` and `channels` (0 is padding) by row of memory."""

    title: str
    remark: str
    layout: tl.Layout
    octets: Array
    channels: Array
    window: tuple[int, int]  # the first row and column of the magnified part

    @property
    def drawn(self) -> Array:
        """The memory as pixels, a byte each."""
        pixels: Array = COLOURS[self.channels, self.octets]
        rows, columns = np.nonzero(self.channels == 0)
        pixels[rows, columns] = np.array(STRIPES, np.uint8)[(rows + columns) // 8 % 2]
        return pixels

    def taken_for_hwc(self, height: int, width: int) -> Array:
        """The memory in the eyes of a program that takes it for rows of RGB pixels."""
        return self.octets.ravel()[: height * width * 3].reshape(height, width, 3)


def panels(picture: tl.Tensor, pitch: int) -> list[Panel]:
    """The picture, shape (C, H, W), in four layouts."""
    _, height, width = shape = picture.shape
    row, column = height // 3, width // 2
    pitched = tl.Layout.pitched(shape, pitch, tl.uint8, padding_value=tl.PaddingValue.ZERO)
    edge = max(0, width - CELLS // 2) if pitched.is_padded else column
    padding = (
        f"Each row begins at a multiple of {pitch} bytes. Striped: padding, which holds zeros."
        if pitched.is_padded
        else f"{width} bytes a row are a multiple of {pitch}: no padding."
    )
    hwc, chw = tl.Layout.labelled(shape, "HWC"), tl.Layout.row_major(shape)
    beside = "The bytes of a pixel lie side by side."
    planes = "All of red, then all of green, then all of blue."
    side = "Column after column of the picture: it lies on its side."
    return [
        _panel(picture, "HWC: interleaved", beside, hwc, (row, 3 * column)),
        _panel(picture, "CHW: planar", planes, chw, (row, column)),
        _panel(picture, "CHW with padded rows", padding, pitched, (row, edge)),
        _panel(picture, "Column-major", side, tl.Layout.column_major(shape), (column, 3 * row)),
    ]


def _panel(
    picture: tl.Tensor, title: str, remark: str, layout: tl.Layout, window: tuple[int, int]
) -> Panel:
    numbers = tl.reshape(tl.asarray([1, 2, 3], dtype=tl.uint8, device=picture.device), (3, 1, 1))
    octets, channels = (
        storage(tl.to_layout(x, layout, copy=True))
        for x in (picture, tl.broadcast_to(numbers, picture.shape))
    )
    # A row of memory: the fastest dimension, or the fastest two where that is the channel.
    fastest, second = layout.minor_to_major[:2]
    length = layout.padded_shape[fastest] * (layout.padded_shape[second] if fastest == 0 else 1)
    return Panel(
        title, remark, layout, octets.reshape(-1, length), channels.reshape(-1, length), window
    )


def sheet(picture: tl.Tensor, pitch: int) -> Image.Image:
    """The contact sheet of a picture of shape (3, H, W): four layouts, each drawn three ways."""
    drawn = panels(picture, pitch)
    _, height, width = picture.shape
    largest = max(max(panel.octets.shape) for panel in drawn)
    sizes = [scaled(panel.octets.shape, largest, CELL) for panel in drawn]
    seen = scaled((height, width), max(height, width), CELL)
    tops = _tops(min(PANEL, max(size[0] for size in sizes)), ROWS * CELL, seen[0])
    canvas = Image.new("RGB", (4 * (PANEL + MARGIN) + MARGIN, tops[-1]), PAPER)
    draw = ImageDraw.Draw(canvas)
    title = f"One picture of {width} x {height} pixels: its bytes in memory"
    draw.text((MARGIN, 20), title, INK, font(26))
    for top, words in zip(tops[1:], HEADINGS, strict=False):
        draw.text((MARGIN, top - 24), words, FAINT, font(15))
    for number, (panel, size) in enumerate(zip(drawn, sizes, strict=True)):
        left = MARGIN + number * (PANEL + MARGIN)
        _caption(draw, panel, left, tops[0])
        canvas.paste(resized(panel.drawn, size), (left, tops[1]))
        rows = "{} rows of {} bytes".format(*panel.octets.shape)
        draw.text((left, tops[1] + size[0] + 6), rows, FAINT, font(13))
        canvas.paste(_magnified(panel), (left, tops[2]))
        canvas.paste(resized(panel.taken_for_hwc(height, width), seen), (left, tops[3]))
    return canvas


def _tops(*heights: int) -> list[int]:
    """Where the captions, the three rows of drawings, and the end are."""
    tops = [64, 64 + HEAD + 28]
    for height in heights:
        tops.append(tops[-1] + height + 60)
    return [*tops[:-1], tops[-1] - 60 + MARGIN]


def _caption(draw: ImageDraw.ImageDraw, panel: Panel, left: int, top: int) -> None:
    draw.text((left, top), panel.title, INK, font(20))
    draw.text((left, top + 29), textwrap.fill(panel.remark, 56), INK, font(14))
    draw.text((left, top + 66), textwrap.fill(str(panel.layout), 56), FAINT, font(13))


def _magnified(panel: Panel) -> Image.Image:
    """The window of a panel, each byte a square with its value."""
    rows, columns = (
        slice(max(0, min(at, size - most)), max(0, min(at, size - most)) + most)
        for at, size, most in zip(panel.window, panel.octets.shape, (ROWS, CELLS), strict=True)
    )
    octets, channels = panel.octets[rows, columns], panel.channels[rows, columns]
    canvas = Image.new("RGB", (CELLS * CELL, ROWS * CELL), PAPER)
    draw, letters = ImageDraw.Draw(canvas), font(13)
    for (row, column), channel in np.ndenumerate(channels):
        colour = tuple(int(v) for v in octets[row, column] * TINTS[channel])
        padding = channel == 0
        box = (column * CELL, row * CELL, (column + 1) * CELL - 2, (row + 1) * CELL - 2)
        draw.rectangle(box, STRIPES[0] if padding else colour)
        dark = not padding and np.dot(colour, LUMA) < 140
        draw.text(
            ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2),
            str(octets[row, column]),
            (255, 255, 255) if dark else INK,
            letters,
            anchor="mm",
        )
    return canvas
