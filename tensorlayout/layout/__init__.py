"""Layouts: the place of each element in memory. Integers and symbols only; no arrays, no devices.

Below everything but `errors` and `support`; anything above may import it.
"""

from tensorlayout.layout.checks import (
    MAX_PARTS,
    MAX_RANK,
    MOST_ENTRIES,
    check_integer,
    check_integers,
    check_itemsize,
    check_padding_value,
    check_sizes,
    raise_too_many_dims,
    spreadsheet_label,
)
from tensorlayout.layout.layout import Layout
from tensorlayout.layout.loop import (
    Axis,
    Loop,
    Window,
    coalesce,
    max_offset_of_axes,
    merge_axes,
    narrowest_index_type,
    reverse_axes,
)
from tensorlayout.layout.order import (
    drop_dims_from_order,
    normalize_foreign_order,
    order_of_labels,
    permute_order,
    row_major_order,
)
from tensorlayout.layout.padding import BitPattern, Padding, PaddingValue
from tensorlayout.layout.placement import HasItemsize
from tensorlayout.layout.short_text import cut_middle, order_name, short_layout_text
from tensorlayout.layout.slots import (
    MAX_SLOTS,
    Part,
    Parts,
    covers_block,
    indices_per_major_step,
    packed_strides,
    reshape_strides,
    slot_of_index,
    strides_to_parts,
)
from tensorlayout.layout.text import parse_xla_tiling
from tensorlayout.layout.tiling import COMBINE, MAX_TILES

# Public names; the package exports all of them but `Padding`, too.
__all__ = ["BitPattern", "Layout", "Padding", "PaddingValue", "coalesce"]
