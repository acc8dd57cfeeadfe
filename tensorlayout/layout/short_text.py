"""Short texts of layouts, for tables, errors and ``repr`` of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlayout.layout.order import row_major_order

if TYPE_CHECKING:
    from tensorlayout.layout.layout import Layout

# Letters of a layout in a table; three fit into a line of 120 letters with the other columns.
_MAX_LETTERS = 48


def order_name(layout: Layout) -> str | None:
    """Return a name that ``layout=`` accepts for this layout: ``C``, ``F``, or labels.

    None if the layout has padding, gaps, an offset, tiles or packed elements, or if its order has
    no name.

    >>> from tensorlayout import Layout
    >>> order_name(Layout.packed((2, 3, 4, 5), (1, 3, 2, 0))), order_name(Layout((2, 3), (5, 1)))
    ('NHWC', None)
    """
    if layout.form is not layout or not layout.is_packed or layout.slot_bits is not None:
        return None
    if layout.minor_to_major == row_major_order(layout.ndim):
        return None if layout.is_tiled else "C"
    if layout.minor_to_major == tuple(range(layout.ndim)):
        return None if layout.is_tiled else "F"
    return layout.labels


def describe_order(layout: Layout) -> str:
    """Return the order or the layout in a sentence: labels such as NCHW, words, or its text.

    >>> from tensorlayout import Layout
    >>> [describe_order(Layout.row_major(shape)) for shape in ((2, 3), (2, 3, 4, 5))]
    ['row-major order', 'NCHW']
    """
    name = order_name(layout.at_origin)
    if name is None:
        return f"layout {shorten(str(layout))}"
    if layout.ndim > 2 and layout.labels:
        return layout.labels
    return {"C": "row-major order", "F": "column-major order"}.get(name, name)


def short_layout(layout: Layout) -> str:
    """Return the shape, preceded by the name of the order unless row-major; without an offset.

    If the order has no name, it is the text of the layout, shortened in the middle.

    >>> from tensorlayout import Layout
    >>> short_layout(Layout((4, 3), (3, 1), offset=7)), short_layout(Layout.column_major((2, 3)))
    ('(4,3)', 'F (2,3)')
    >>> short_layout(Layout((2, 3), (5, 1)))
    '(2,3):(5,1)'
    """
    origin = layout.at_origin
    name = order_name(origin)
    if name is None:
        return shorten(str(origin))
    shape = str(origin.shape).replace(" ", "")
    return shorten(shape if name == "C" else f"{name} {shape}")


def short_order_change(source: Layout, result: Layout) -> str | None:
    """Return two orders and their shape if they differ and have names, else None.

    >>> from tensorlayout import Layout
    >>> short_order_change(Layout.row_major((2, 3)), Layout.column_major((2, 3)))
    'C -> F (2,3)'
    """
    names = [order_name(x.at_origin) for x in (source, result)]
    if source.shape != result.shape or None in names or names[0] == names[1]:
        return None
    if source.ndim > 2 and source.labels and result.labels:
        names = [source.labels, result.labels]
    shape = str(source.shape).replace(" ", "")
    return shorten(f"{names[0]} -> {names[1]} {shape}")


def shorten(text: str) -> str:
    """Return the text, or its beginning and end with an ellipsis between."""
    if len(text) <= _MAX_LETTERS:
        return text
    half = (_MAX_LETTERS - 1) // 2
    return f"{text[: _MAX_LETTERS - 1 - half]}…{text[-half:]}"
