"""Layouts: where each element stands. Integers and symbols only; no arrays, no devices.

Below everything but `errors` and `support`; anything above may import it.
"""

from tensorlayout.layout.checks import (
    MAX_PARTS,
    MAX_RANK,
    MOST_ENTRIES,
    checked_integer,
    checked_integers,
    checked_itemsize,
    checked_padding,
    checked_sizes,
    letters,
    too_many_dimensions,
)
from tensorlayout.layout.layout import Layout
from tensorlayout.layout.loop import (
    Axis,
    Loop,
    Window,
    coalesce,
    furthest,
    index_type,
    merged,
    turned,
)
from tensorlayout.layout.order import (
    descending,
    in_our_words,
    order_of_labels,
    order_without,
    permuted_order,
)
from tensorlayout.layout.padding import BitPattern, Padding, PaddingValue
from tensorlayout.layout.placement import HasItemsize
from tensorlayout.layout.slots import (
    MAX_SLOTS,
    Part,
    Parts,
    covers_block,
    inner_extent,
    packed_strides,
    reshaped,
    slot_of,
    strided,
)
from tensorlayout.layout.text import tiling_in
from tensorlayout.layout.tiling import COMBINE, MAX_TILES

# What users may import from here, too.
__all__ = ["BitPattern", "Layout", "Padding", "PaddingValue", "coalesce"]
