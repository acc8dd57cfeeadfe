"""NumPy's memory: orders by letter, or strides and an offset in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.errors import cut, shown
from tensorlayout.formats.blocks import checked, refuse
from tensorlayout.layout import (
    HasItemsize,
    Layout,
    checked_integer,
    checked_integers,
    checked_itemsize,
)

__all__ = ["NumpyMemory", "read", "write"]


class NumpyMemory(NamedTuple):
    """What ``numpy.ndarray(shape, dtype, buffer, offset, strides)`` takes, and the flags it gets.

    `strides` and `offset` count **bytes**.

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
    """The layout of an array of `shape`, in elements.

    `memory`: an order, ``"C"`` or ``"F"``, or strides in **bytes**, or a `NumpyMemory`; for both of
    these `itemsize`, the bytes of an element, or a dtype. ValueError for other orders (``"A"`` and
    ``"K"`` are those of another array), and for strides that are no multiples of an element.

    >>> from tensorlayout import formats
    >>> formats.numpy.read((2, 3), (24, 8), 8)
    Layout.parse('(2,3):(3,1)')
    """
    if isinstance(memory, str):
        if memory.upper() not in ("C", "F"):
            refuse(f"order must be 'C' or 'F', got {shown(memory)}")
        return Layout.row_major(shape) if memory.upper() == "C" else Layout.column_major(shape)
    if itemsize is None:
        refuse("strides count bytes, so itemsize must be given")
    step = checked_itemsize(itemsize)
    given, start = memory[:2] if isinstance(memory, NumpyMemory) else (memory, 0)
    strides = checked_integers("strides", given)
    offset = checked_integer("offset", start)
    if any(number % step for number in (*strides, offset)):
        rule = f"strides and offset must be multiples of the element's {shown(step)} bytes"
        refuse(f"{rule}, got {shown(strides)} and {shown(offset)}")
    return Layout(shape, [stride // step for stride in strides], offset=offset // step)


def write(layout: Layout, itemsize: int | HasItemsize = 1) -> NumpyMemory:
    """The strides and the offset of `layout` in **bytes**, and the flags of such an array.

    `itemsize`: the bytes of an element, or a dtype. Padding is a gap for NumPy. ValueError for
    tiles, TypeError for what is no layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.numpy.write(Layout.column_major((2, 3)), 4)
    NumpyMemory(strides=(4, 8), offset=0, c_contiguous=False, f_contiguous=True)
    """
    step = checked_itemsize(itemsize)
    if checked(layout).is_tiled:
        refuse(f"NumPy has strides, and no tiles, got {cut(layout)}")
    strides = tuple(stride * step for stride in layout.strides)
    packed = (Layout.row_major(layout.shape), Layout.column_major(layout.shape))
    c, f = (layout.at_origin.same_placement(each) for each in packed)
    return NumpyMemory(strides, layout.offset * step, c, f)
