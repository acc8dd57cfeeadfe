"""Short texts of layouts: the name of an order, such as NHWC, and texts for tables and errors."""

from __future__ import annotations

from tensorlayout.layout.layout import Layout

# Other orders have labels, too, but these assume a shape (N, C, H, W). A channels-first batch
# with the shape (N, H, W, C) would be called NWCH, which misleads more than it explains.
_CHANNELS_LAST = ("HWC", "NHWC", "NDHWC")


def order_name(layout: Layout) -> str | None:
    """Return the name of a packed layout's order that ``layout=`` accepts, or None.

    The names are ``F`` for column-major, and ``HWC``, ``NHWC`` and ``NDHWC`` for channels last.
    None for row-major, which needs no name, and for any other layout.
    """
    if layout.is_row_major or layout.slot_bits is not None:
        return None
    # The stored order decides: dimensions of size 1 may have the strides of several orders.
    if layout.minor_to_major == tuple(range(layout.ndim)) and layout.is_column_major:
        return "F"
    labels = layout.labels
    return labels if labels in _CHANNELS_LAST else None


def short_layout_text(layout: Layout, max_letters: int = 48) -> str:
    """Return a text for tables and errors, without the offset.

    A row-major layout is its shape alone, and a layout with an `order_name` that name and the
    shape. Other texts are cut in the middle to `max_letters`.
    """
    shape = str(layout.shape).replace(" ", "")
    if layout.is_row_major and layout.slot_bits is None:
        return cut_middle(shape, max_letters)
    name = order_name(layout)
    return cut_middle(f"{name} {shape}" if name else str(layout.at_origin), max_letters)


def cut_middle(text: str, max_letters: int) -> str:
    """Return `text` of at most `max_letters`: a longer one has an ellipsis in its middle."""
    if len(text) <= max_letters:
        return text
    head = max_letters // 2
    return f"{text[:head]}…{text[head + 1 - max_letters :]}"
