"""CuTe's layouts, as `Layout.to_cute` and `Layout.from_cute` have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlayout.formats.blocks import checked
from tensorlayout.layout import Layout, Padding, PaddingValue
from tensorlayout.layout.cute import CuteLayout
from tensorlayout.words import under

__all__ = ["CuteLayout", "read", "write"]


def read(
    shape: Sequence[int], source: Any, padding_value: Padding | str = PaddingValue.UNSPECIFIED
) -> Layout:
    """The layout of `shape` that CuTe writes so: `Layout.from_cute`.

    `source`: text, a pair (shape, stride), a triple with an offset, such as a `CuteLayout`, or a
    layout of a library of CuTe's; its modes may be larger than the sizes, which is padding and
    holds `padding_value`. ValueError and TypeError as there.

    >>> from tensorlayout import formats
    >>> formats.cute.read((4, 3), "((2,2),3):((1,6),2)")
    Layout.parse('(4,3):(2*6+2*1,2)')
    """
    return under("cute.read", Layout.from_cute, source, shape, padding_value=padding_value)


def write(layout: Layout) -> CuteLayout:
    """The shape, the stride and the offset of `layout`, with all of its padding: `Layout.to_cute`.

    How many bits an element has is a matter of CuTe's element type, and not said. ValueError for a
    view that ends inside a tile: what is left of the tile is no padding of its own. TypeError for
    what is no layout.

    >>> from tensorlayout import Layout, formats
    >>> print(formats.cute.write(Layout.padded((2, 3), (2, 4))))
    (2,4):(4,1)
    """
    return under("cute.write", checked("cute.write", layout, bits=True).to_cute, padded=True)
