"""Lines over two logarithmic axes, several panels to a picture, drawn with Pillow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw
from PIL.ImageFont import load_default as font

from tensorlayout.cli.demo.drawing import BAND, FAINT, INK, MARGIN, PAPER

Point = tuple[float, float]
Colour = tuple[int, int, int]

FINE = 2  # drawn so many times as large, and made smaller: lines become smooth
WIDTH, HEIGHT, ACROSS = 420, 300, 3  # pixels of a panel, and panels in a row
LEFT, TOP, RIGHT, BOTTOM = 44, 34, 12, 30  # what the axes and titles take of it
HEAD = 92


@dataclass(frozen=True)
class Lines:
    """One panel: for each name its points."""

    title: str
    points: Mapping[str, Sequence[Point]]


def save(
    path: Path,
    title: str,
    panels: Sequence[Lines],
    colours: Mapping[str, Colour],
    ticks: Mapping[float, str],
) -> None:
    """Write the panels as a PNG. `ticks`: values of the x axis and what is written there."""
    rows = math.ceil(len(panels) / ACROSS)
    size = MARGIN * 2 + ACROSS * WIDTH, HEAD + rows * HEIGHT + MARGIN
    canvas = Image.new("RGB", (FINE * size[0], FINE * size[1]), PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((FINE * MARGIN, FINE * 16), title, INK, font(FINE * 22))
    named = {name for panel in panels for name in panel.points}
    _legend(draw, {name: colour for name, colour in colours.items() if name in named})
    points = [point for panel in panels for line in panel.points.values() for point in line]
    levels = _levels(min(y for _, y in points), max(y for _, y in points))
    ends = min([*ticks, *(x for x, _ in points)]), max([*ticks, *(x for x, _ in points)])
    for number, panel in enumerate(panels):
        row, column = divmod(number, ACROSS)
        _panel(
            draw, panel, MARGIN + column * WIDTH, HEAD + row * HEIGHT, colours, levels, ticks, ends
        )
    canvas.resize(size, Image.Resampling.LANCZOS).quantize(256).save(path, optimize=True)


def _legend(draw: ImageDraw.ImageDraw, colours: Mapping[str, Colour]) -> None:
    left = FINE * MARGIN
    for name, colour in colours.items():
        draw.line((left, FINE * 62, left + FINE * 28, FINE * 62), colour, FINE * 3)
        draw.text((left + FINE * 36, FINE * 62), name, INK, font(FINE * 14), anchor="lm")
        left += FINE * 60 + round(font(FINE * 14).getlength(name))


def _levels(least: float, most: float) -> list[float]:
    """1, 2, 5, 10, … from at most the least to at least the greatest value."""
    steps = [m * 10.0**e for e in range(-4, 6) for m in (1, 2, 5)]
    first = max(k for k, step in enumerate(steps) if step <= least)
    last = min(k for k, step in enumerate(steps) if step >= most)
    return steps[first : max(last, first + 1) + 1]


def _panel(
    draw: ImageDraw.ImageDraw,
    panel: Lines,
    left: int,
    top: int,
    colours: Mapping[str, Colour],
    levels: Sequence[float],
    ticks: Mapping[float, str],
    ends: tuple[float, float],
) -> None:
    x0, x1 = FINE * (left + LEFT), FINE * (left + WIDTH - RIGHT)
    y0, y1 = FINE * (top + HEIGHT - BOTTOM), FINE * (top + TOP)

    def across(value: float) -> float:
        return x0 + (x1 - x0) * math.log(value / ends[0]) / math.log(ends[1] / ends[0])

    def up(value: float) -> float:
        return y0 + (y1 - y0) * math.log(value / levels[0]) / math.log(levels[-1] / levels[0])

    draw.text((x0, y1 - FINE * 10), panel.title, INK, font(FINE * 15), anchor="ls")
    for level in levels:
        draw.line((x0, up(level), x1, up(level)), BAND, FINE)
        beside = (x0 - FINE * 6, up(level))
        draw.text(beside, f"{level:g}", FAINT, font(FINE * 12), anchor="rm")
    for value, name in ticks.items():
        draw.line((across(value), y0, across(value), y0 + FINE * 4), FAINT, FINE)
        below = (across(value), y0 + FINE * 7)
        draw.text(below, name, FAINT, font(FINE * 12), anchor="mt")
    for name, colour in colours.items():
        line = [(across(x), up(y)) for x, y in panel.points.get(name, ())]
        if len(line) > 1:
            draw.line(line, colour, FINE * 3, joint="curve")
        for x, y in line:
            draw.ellipse((x - FINE * 3, y - FINE * 3, x + FINE * 3, y + FINE * 3), colour)
