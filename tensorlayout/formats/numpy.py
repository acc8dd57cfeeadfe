"""NumPy's memory: an order, or strides and an offset in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.errors import short_repr, truncate
from tensorlayout.formats.blocks import check_layout, raise_error
from tensorlayout.layout import HasItemsize, Layout, check_integer, check_integers, check_itemsize

__all__ = ["NumpyMemory", "read", "write"]


class NumpyMemory(NamedTuple):
    """Strides and offset for ``numpy.ndarray(shape, dtype, buffer, offset, strides)``, and flags.

    `strides` and `offset` are in **bytes**; the flags are None if unknown.

    >>> from tensorlayout import Layout, formats
    >>> formats.numpy.NumpyMemory((4,), 0, True, True) == formats.numpy.write(Layout((3,)), 4)
    True
    """

    strides: tuple[int, ...]
    offset: int = 0
    c_contiguous: bool | None = None
    f_contiguous: bool | None = None


def read(
    shape: Sequence[int],
    memory: str | Sequence[int] | NumpyMemory,
    itemsize: int | HasItemsize | None = None,
) -> Layout:
    """Return the layout, in elements, of a NumPy array of `shape`.

    - `memory`: an order (``"C"`` or ``"F"``), strides in **bytes**, or a `NumpyMemory`.
    - `itemsize`: bytes of an element, or a dtype; required unless `memory` is an order.

    Raises `ValueError` for other orders (``"A"`` and ``"K"`` refer to another array), and for
    strides that are not multiples of `itemsize`; `TypeError` for strides that are not integers.

    >>> from tensorlayout import formats
    >>> formats.numpy.read((2, 3), (24, 8), 8)
    Layout.parse('(2,3):(3,1)')
    """
    if isinstance(memory, str):
        if memory.upper() not in ("C", "F"):
            raise_error(f"order must be 'C' or 'F', got {short_repr(memory)}")
        return Layout.row_major(shape) if memory.upper() == "C" else Layout.column_major(shape)
    if itemsize is None:
        raise_error("strides count bytes, so itemsize must be given")
    element_bytes = check_itemsize(itemsize)
    # Contiguity flags follow from the strides and are not read.
    byte_strides, start = memory[:2] if isinstance(memory, NumpyMemory) else (memory, 0)
    strides = check_integers("strides", byte_strides)
    offset = check_integer("offset", start)
    if any(number % element_bytes for number in (*strides, offset)):
        rule = (
            "strides and offset must be multiples of the element's "
            f"{short_repr(element_bytes)} bytes"
        )
        raise_error(f"{rule}, got {short_repr(strides)} and {short_repr(offset)}")
    return Layout(
        shape, [stride // element_bytes for stride in strides], offset=offset // element_bytes
    )


def write(layout: Layout, itemsize: int | HasItemsize = 1) -> NumpyMemory:
    """Return the strides and offset of `layout` in **bytes**, with NumPy's contiguity flags.

    `itemsize`: bytes of an element, or a dtype; 1 by default. Padding becomes a gap.

    Raises `ValueError` for tiles and for an `itemsize` below 1; `TypeError` if `layout` is not a
    Layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.numpy.write(Layout.column_major((2, 3)), 4)
    NumpyMemory(strides=(4, 8), offset=0, c_contiguous=False, f_contiguous=True)
    """
    element_bytes = check_itemsize(itemsize)
    if check_layout(layout).is_tiled:
        raise_error(f"NumPy has strides, and no tiles, got {truncate(layout)}")
    strides = tuple(stride * element_bytes for stride in layout.strides)
    # Placement ignores the strides of sizes of 1, as NumPy's contiguity flags do.
    packed = (Layout.row_major(layout.shape), Layout.column_major(layout.shape))
    c, f = (layout.at_origin.same_placement(packed_layout) for packed_layout in packed)
    return NumpyMemory(strides, layout.offset * element_bytes, c, f)
