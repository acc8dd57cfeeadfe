"""The drawing of a histogram: a strip for each channel, with its mean and standard deviation."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from tensorlayout.cli.ledger import Array
from tensorlayout.cli.panels import INK, PANEL, font

BAND, GROUND = (222, 222, 226), (240, 240, 242)
COLOURS = ((214, 69, 58), (58, 160, 74), (64, 96, 200))
GAP = 6  # pixels between strips


def drawn(counts: Array, means: Array, deviations: Array) -> Array:
    """A picture, as large as a panel, of `counts` (256 values × 3 channels).

    The mean is a line, and what is within a standard deviation of it a band.
    """
    canvas = Image.new("RGB", (PANEL, PANEL), (252, 252, 252))
    draw = ImageDraw.Draw(canvas)
    height = (PANEL - 2 * GAP) // 3
    for channel, colour in enumerate(COLOURS):
        top = channel * (height + GAP)
        mean, deviation = float(means[channel]), float(deviations[channel])
        draw.rectangle((0, top, PANEL - 1, top + height - 1), GROUND)
        left, right = (max(0, min(255, mean + d)) for d in (-deviation, deviation))
        draw.rectangle((_across(left), top, _across(right), top + height - 1), BAND)
        for x, bar in enumerate(_bars(counts[:, channel], height - 24)):
            if bar:
                draw.line((x, top + height - bar, x, top + height - 1), colour)
        draw.line((_across(mean), top, _across(mean), top + height - 1), INK)
        words = f"mean {mean:.1f}, deviation {deviation:.1f}"
        draw.text((PANEL - 8, top + 4), words, INK, font(14), anchor="ra")
    return np.asarray(canvas)


def _across(value: float) -> int:
    """Where a value of 0 to 255 is, in pixels."""
    return round(value * (PANEL - 1) / 255)


def _bars(counts: Array, height: int) -> list[int]:
    """The height of the bar at each pixel of the width; what is far above the rest is cut off."""
    most = max(1, int(np.quantile(counts, 0.98)))
    bins = np.arange(PANEL) * 256 // PANEL
    return [int(n) for n in np.minimum(counts[bins], most) * height // most]
