"""What normalising did to a batch: how its values were spread before and after."""

from __future__ import annotations

import numpy as np
from PIL.Image import Image

from tensorlayout.demo.beside import Array
from tensorlayout.demo.ledger import Known, host
from tensorlayout.demo.panels import Captioned, captioned_sheet, histogram
from tensorlayout.demo.pipeline import MEAN, STD

SPAN = (-3, 3)  # of the axis of normalised values, which are from -2.2 to 2.7


def levels() -> Array:
    """What each byte becomes, by channel: 256 × 3."""
    found: Array = (np.arange(256)[:, None] / 255 - np.array(MEAN)) / np.array(STD)
    return found


def counted(x: Array) -> Array:
    """How often each byte is in a batch (N, 3, H, W), by channel: 256 × 3."""
    return np.stack([np.bincount(x[:, c].ravel(), minlength=256) for c in range(3)], axis=1)


def back(x: Array) -> Array:
    """The bytes that normalised values come from."""
    mean, std = (np.array(v).reshape(3, 1, 1) for v in (MEAN, STD))
    octets: Array = np.rint((x * std + mean) * 255)
    return octets.astype(np.uint8)


def drawn(batch: Known, normalised: Known, viewed: Known) -> Image:
    """The normalised pictures as far as they can be seen, and both histograms."""
    every = (0, 2, 3)
    before, after = host(batch.tensor), host(normalised.tensor).astype(np.float64)
    bytes_drawn = histogram(
        counted(before), before.mean(every), before.std(every), ticks=(0, 64, 128, 192, 255)
    )
    normalised_drawn = histogram(
        counted(back(after)),
        after.mean(every),
        after.std(every),
        levels=levels(),
        span=SPAN,
        ticks=range(SPAN[0] + 1, SPAN[1]),
    )
    title = "Normalising: (x / 255 - mean) / deviation, with ImageNet's numbers for each channel"
    seen = "Rescaled to bytes, so that they can be seen: the least value black, the greatest white."
    lying = [f"{x.tensor.dtype} {x.brief}" for x in (batch, normalised, viewed)]
    panels = [
        Captioned(
            "Before: bytes",
            "How often each value occurs. Line: the mean; band: a standard deviation.",
            lying[0],
            bytes_drawn,
        ),
        Captioned(
            "After: about 0, in deviations",
            "0: the mean of ImageNet's pictures; 1: their standard deviation. Forms stay the same.",
            lying[1],
            normalised_drawn,
        ),
        Captioned(
            "The normalised pictures",
            seen,
            lying[2],
            host(viewed.tensor),
        ),
    ]
    return captioned_sheet(title, panels, columns=3)
