"""Drawing for the demo: sheets of captioned panels, histograms, memory byte by byte."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw
from PIL.ImageFont import load_default as font

import tensorlayout as tl
from tensorlayout.cli.demo.table import TEXTS, memory_slots
from tensorlayout.typing import Array

# Pixels: side of a panel, distance between panels, heights of the title and of a caption.
PANEL, MARGIN, TOP, CAPTION = 384, 24, 64, 92
INK, FAINT, PAPER = (24, 24, 28), (110, 110, 118), (252, 252, 252)
LETTERS = 56  # of a layout's text that fit the width of a panel
BAND, GROUND = (222, 222, 226), (240, 240, 242)  # colours of a histogram
COLOURS = ((214, 69, 58), (58, 160, 74), (64, 96, 200))
GAP, SCALE, LAST = 6, 22, PANEL - 1  # pixels between strips, height of the axis, last pixel
# Magnified memory: bytes per row, rows, and pixels per byte.
CELLS, ROWS, CELL = 12, 6, 32
# Colours of padding: no photograph looks like this.
STRIPES = ((255, 214, 64), (60, 56, 40))
# Weights of red, green and blue in brightness, by ITU-R BT.601.
LUMA = (0.299, 0.587, 0.114)
# A byte shows one channel only and would look dark: this exponent makes it brighter.
BRIGHTENED = 0.6
# A byte is drawn in a tint of its channel, not in the pure colour, so that values stay readable.
TINTS = np.array([[0, 0, 0], [1.0, 0.34, 0.28], [0.32, 0.95, 0.36], [0.36, 0.5, 1.0]])


def draw_captioned_sheet(
    captions_key: str, panels: Sequence[tuple[str, Array]], **numbers: int
) -> Image.Image:
    """Draw panels, each with a text on its memory, under captions from ``texts.toml``.

    `panels`: pairs of text and RGB pixels. `numbers` are inserted into the captions.
    """
    captions = TEXTS["pictures"][captions_key]
    columns = captions["columns"]
    images = [resize_picture(x, fit_to_panel(x.shape, max(x.shape[:2]))) for _, x in panels]
    rows = [images[at : at + columns] for at in range(0, len(images), columns)]
    heights = [max(image.height for image in row) + CAPTION + MARGIN for row in rows]
    size = columns * (PANEL + MARGIN) + MARGIN, TOP + sum(heights)
    canvas = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((MARGIN, 20), captions["sheet"], INK, font(26))
    for number, (title, remark) in enumerate(captions["panels"].items()):
        row, column = divmod(number, columns)
        left, top = MARGIN + column * (PANEL + MARGIN), TOP + sum(heights[:row])
        draw.text((left, top), title, INK, font(20))
        draw.text((left, top + 28), remark.format(**numbers), INK, font(14))
        draw.text((left, top + 66), textwrap.fill(panels[number][0], LETTERS), FAINT, font(13))
        canvas.paste(images[number], (left, top + CAPTION))
    return canvas


def to_rgb_bytes(picture: Array) -> Array:
    """Return a picture (C, H, W) as RGB pixels (H, W, C), rounded to bytes."""
    return np.moveaxis(np.round(picture), 0, 2).astype(np.uint8)


def arrange_pictures_in_square(pictures: Array) -> Array:
    """Return pictures (N, C, H, W) as one (C, …): a square grid, filled row by row."""
    n, channels, height, width = pictures.shape
    side = round(n**0.5)
    # (row, column, C, H, W) becomes (C, row, H, column, W), in which row and H, and column and W,
    # follow each other and can be merged.
    rows = pictures.reshape(side, side, channels, height, width).transpose(2, 0, 3, 1, 4)
    return rows.reshape(channels, side * height, side * width)


def fit_to_panel(
    shape: tuple[int, ...], largest_side: int, max_scale: int = PANEL
) -> tuple[int, int]:
    """Return height and width scaled so that `largest_side` fills a panel.

    The factor is at most `max_scale`.
    """
    scale = PANEL / largest_side
    scale = min(int(scale), max_scale) if scale >= 1 else scale
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def resize_picture(pixels: Array, height_and_width: tuple[int, int]) -> Image.Image:
    """Return a picture resized to height and width; magnified pixels stay squares."""
    (height, width), image = height_and_width, Image.fromarray(pixels)
    smaller = height < image.height or width < image.width
    resampling = Image.Resampling.LANCZOS if smaller else Image.Resampling.NEAREST
    return image.resize((width, height), resampling)


def draw_histogram(
    counts: Array,
    means: Array,
    deviations: Array,
    levels: Array | None = None,
    axis_range: tuple[float, float] = (0, 255),
    ticks: Sequence[int] = (),
) -> Array:
    """Draw `counts` (256 values × 3 channels) as one strip per channel, filling a panel.

    A line marks the mean and a band one standard deviation around it. `levels` (256 × 3): values in
    ascending order, by default 0 to 255. `axis_range`: range of the axis. `ticks`: its labels.
    """
    canvas = Image.new("RGB", (PANEL, PANEL), PAPER)
    draw = ImageDraw.Draw(canvas)
    values = np.arange(256.0)[:, None].repeat(3, 1) if levels is None else levels
    height = (PANEL - 2 * GAP - (SCALE if ticks else 0)) // 3
    digits = 1 if axis_range[1] - axis_range[0] > 100 else 2
    # Value at each pixel of the axis.
    axis = axis_range[0] + np.arange(PANEL) * (axis_range[1] - axis_range[0]) / LAST

    def pixel_of_value(value: float) -> int:
        return round(
            (max(axis_range[0], min(axis_range[1], value)) - axis_range[0])
            / (axis_range[1] - axis_range[0])
            * LAST
        )

    for channel, colour in enumerate(COLOURS):
        top, bottom = channel * (height + GAP), channel * (height + GAP) + height - 1
        mean, deviation = float(means[channel]), float(deviations[channel])
        draw.rectangle((0, top, LAST, bottom), GROUND)
        draw.rectangle(
            (pixel_of_value(mean - deviation), top, pixel_of_value(mean + deviation), bottom), BAND
        )
        channel_counts, channel_levels = counts[:, channel], values[:, channel]
        # Cut off bars far above the others, which would make these invisible.
        count_limit = max(1, int(np.quantile(channel_counts, 0.98)))
        # Each pixel of the axis shows the count of the level nearest to its value, and none beyond
        # the first and last level, for whose rounding 1e-6 allows.
        bars = channel_counts[np.rint(np.interp(axis, channel_levels, np.arange(256))).astype(int)]
        is_known = (channel_levels[0] - 1e-6 <= axis) & (axis <= channel_levels[-1] + 1e-6)
        for x, bar in enumerate(
            np.minimum(bars * is_known, count_limit) * (height - 24) // count_limit
        ):
            if bar:
                draw.line((x, bottom + 1 - int(bar), x, bottom), colour)
        draw.line((pixel_of_value(mean), top, pixel_of_value(mean), bottom), INK)
        words = f"mean {mean:.{digits}f}, deviation {deviation:.{digits}f}"
        draw.text((PANEL - 8, top + 4), words, INK, font(14), anchor="ra")
    for tick in ticks:
        x = pixel_of_value(tick)
        draw.line((x, bottom + 1, x, bottom + 5), FAINT)
        anchor = "lt" if x < 8 else "rt" if x > PANEL - 12 else "mt"
        draw.text((x, bottom + 8), str(tick), FAINT, font(13), anchor=anchor)
    return np.asarray(canvas)


def _color_bytes_by_channel(octets: Array, channels: Array) -> Array:
    """Draw rows of memory, one byte per pixel, in the colour of its channel."""
    grey = 255 * (np.arange(256)[:, None] / 255) ** BRIGHTENED
    pixels: Array = (grey * TINTS[:, None, :]).astype(np.uint8)[channels, octets]
    rows, columns = np.nonzero(channels == 0)
    pixels[rows, columns] = np.array(STRIPES, np.uint8)[(rows + columns) // 8 % 2]
    return pixels


def _draw_magnified_bytes(octets: Array, channels: Array, top_left: tuple[int, int]) -> Image.Image:
    """Draw bytes from row and column `top_left` on, each as a square with its value."""
    rows, columns = (
        # The window moves inwards where it would reach beyond the memory.
        slice(max(0, min(at, size - most)), max(0, min(at, size - most)) + most)
        for at, size, most in zip(top_left, octets.shape, (ROWS, CELLS), strict=True)
    )
    canvas = Image.new("RGB", (CELLS * CELL, ROWS * CELL), PAPER)
    draw, octets = ImageDraw.Draw(canvas), octets[rows, columns]
    for (row, column), channel in np.ndenumerate(channels[rows, columns]):
        octet, (left, top) = octets[row, column], (column * CELL, row * CELL)
        colour = tuple(int(v) for v in octet * TINTS[channel]) if channel else STRIPES[0]
        draw.rectangle((left, top, left + CELL - 2, top + CELL - 2), colour)
        ink = (255, 255, 255) if np.dot(colour, LUMA) < 140 else INK
        centre = left + CELL / 2 - 1, top + CELL / 2 - 1
        draw.text(centre, str(octet), ink, font(13), anchor="mm")
    return canvas


def demo_layouts(shape: tuple[int, ...], pitch: int) -> list[tl.Layout]:
    """Return the four layouts of `layouts.png` for a picture (C, H, W)."""
    padded = tl.Layout.pitched(shape, pitch, tl.uint8, padding_value=tl.PaddingValue.ZERO)
    hwc, chw = tl.Layout.labelled(shape, "HWC"), tl.Layout.row_major(shape)
    return [hwc, chw, padded, tl.Layout.column_major(shape)]


def stored_bytes_and_channels(picture: tl.Tensor, layout: tl.Layout, rows: int) -> list[Array]:
    """Return the stored bytes of a picture (C, H, W) in `rows` rows, and their channels.

    Channels count from 1; padding is 0.
    """
    channel_numbers = tl.asarray([[[1]], [[2]], [[3]]], dtype=tl.uint8, device=picture.device)
    channels = tl.broadcast_to(channel_numbers, picture.shape)
    stored_tensors = (tl.to_layout(x, layout, copy=True) for x in (picture, channels))
    return [memory_slots(x).reshape(rows, -1) for x in stored_tensors]


def draw_layouts_sheet(picture: tl.Tensor, pitch: int) -> Image.Image:
    """Draw a picture (3, H, W) in four layouts, each in three ways."""
    captions, (_, height, width) = TEXTS["pictures"]["layouts.png"], picture.shape
    # Lines in which each memory is drawn: one per row of pixels, per row of a channel, per padded
    # row of a channel, and per column of pixels.
    layout_list = demo_layouts(picture.shape, pitch)
    counts = (height, 3 * height, 3 * height, width)
    memories = [
        stored_bytes_and_channels(picture, *layout_and_rows)
        for layout_and_rows in zip(layout_list, counts, strict=True)
    ]
    largest = max(max(octets.shape) for octets, _ in memories)
    sizes = [fit_to_panel(octets.shape, largest, CELL) for octets, _ in memories]
    view_size = fit_to_panel((height, width), max(height, width), CELL)
    tops = [TOP + 146]
    for band in (min(PANEL, max(rows for rows, _ in sizes)), ROWS * CELL):
        tops.append(tops[-1] + band + 60)
    size = 4 * (PANEL + MARGIN) + MARGIN, tops[-1] + view_size[0] + MARGIN
    canvas = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((MARGIN, 20), captions["sheet"].format(width=width, height=height), INK, font(26))
    for top, line in zip(tops, captions["rows"], strict=True):
        draw.text((MARGIN, top - 24), line, FAINT, font(15))
    row, column = height // 3, width // 2
    edge = max(0, width - CELLS // 2) if layout_list[2].is_padded else column
    # Where magnification begins in each panel, as row and column of its stored bytes: at the same
    # pixel, except that padded rows are shown where their padding begins.
    windows = (row, 3 * column), (row, column), (row, edge), (column, 3 * row)
    rows = captions["padded" if layout_list[2].is_padded else "unpadded"].format(
        width=width, pitch=pitch
    )
    for number, (title, remark) in enumerate(captions["panels"].items()):
        left, (octets, channels) = MARGIN + number * (PANEL + MARGIN), memories[number]
        draw.text((left, TOP), title, INK, font(20))
        draw.text((left, TOP + 29), remark.format(rows=rows), INK, font(14))
        draw.text(
            (left, TOP + 66), textwrap.fill(str(layout_list[number]), LETTERS), FAINT, font(13)
        )
        canvas.paste(
            resize_picture(_color_bytes_by_channel(octets, channels), sizes[number]),
            (left, tops[0]),
        )
        length = "{} rows of {} bytes".format(*octets.shape)
        draw.text((left, tops[0] + sizes[number][0] + 6), length, FAINT, font(13))
        canvas.paste(_draw_magnified_bytes(octets, channels, windows[number]), (left, tops[1]))
        # The picture of a program that reads each memory as if it were the first layout.
        as_hwc = octets.ravel()[: height * width * 3].reshape(height, width, 3)
        canvas.paste(resize_picture(as_hwc, view_size), (left, tops[2]))
    return canvas
