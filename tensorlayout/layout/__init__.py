"""Layouts: where each element stands. Integers and symbols only; no arrays, no devices.

Below everything but `errors` and `support`; anything above may import it.
"""

from tensorlayout.layout.layout import Layout
from tensorlayout.layout.loop import coalesce
from tensorlayout.layout.order import (
    descending,
    in_our_words,
    order_of_labels,
    order_without,
)
from tensorlayout.layout.padding import BitPattern, Padding, PaddingValue
from tensorlayout.layout.text import tiling_in

__all__ = [
    "BitPattern",
    "Layout",
    "Padding",
    "PaddingValue",
    "coalesce",
    "descending",
    "in_our_words",
    "order_of_labels",
    "order_without",
    "tiling_in",
]
