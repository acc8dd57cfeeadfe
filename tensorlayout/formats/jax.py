"""JAX's ``Layout`` and ``Format``: a major-to-minor order, and tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorlayout.errors import short_repr, truncate
from tensorlayout.formats.blocks import block_form, raise_error
from tensorlayout.layout import Layout, Padding, PaddingValue, check_integers, check_padding_value
from tensorlayout.xla import PrimitiveType, shape_of
from tensorlayout.xla.tiles import Tile, tiled_sizes

__all__ = ["JaxLayout", "read", "write"]


class JaxLayout(NamedTuple):
    """Arguments of ``jax.experimental.layout.Layout``: call ``Layout(*jax_layout)``.

    - `major_to_minor`: dimensions, slowest first.
    - `tiling`: XLA's tiles, or None.
    - `sub_byte_element_size_in_bits`: **bits** of an element smaller than a byte, else 0.

    >>> from tensorlayout import Layout, formats
    >>> formats.jax.JaxLayout((1, 0)) == formats.jax.write(Layout.column_major((2, 3)))
    True
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


def read(
    shape: Sequence[int], layout: Any, padding_value: Padding | str = PaddingValue.UNSPECIFIED
) -> Layout:
    """Return the layout of an array of `shape` that a JAX layout describes.

    - `layout`: a ``Layout`` or ``Format`` of JAX, or a `JaxLayout`.
    - `padding_value`: value that the padding of tiles holds, which JAX does not specify.

    Raises `TypeError` for other objects, including an automatic layout. Raises `ValueError` if the
    order does not fit the shape, for elements of 3, 5 or 7 bits, for tiles that cannot be expressed
    as splits of dimensions, and for a `padding_value` if some slots are padding of no dimension, as
    for a tile (8,) after (3,); `tensorlayout.xla.layout_of` omits such slots, too.

    >>> from tensorlayout import formats
    >>> formats.jax.read((3, 5), formats.jax.JaxLayout((0, 1), ((2, 2),)))
    Layout.parse('(3,5):(2*12+2*2,3*4+2*1)')
    """
    # A Format has the layout as an attribute; a Layout is taken as it is.
    inner = getattr(layout, "layout", layout)
    if not hasattr(inner, "major_to_minor"):
        rule = "layout must be a Layout or Format of JAX, or a JaxLayout"
        raise_error(f"{rule}, got {short_repr(layout)}", TypeError)
    # 0 means whole bytes, which a Layout calls None.
    bits = getattr(inner, "sub_byte_element_size_in_bits", 0) or None
    order = check_integers("major_to_minor", inner.major_to_minor)
    tiles = getattr(inner, "tiling", None) or ()
    result = Layout.tiled(shape, tiles, order[::-1], padding_value, bits)
    # A tile may add slots behind the last element that belong to no dimension. A Layout does not
    # own them, so it could not promise what they hold.
    if check_padding_value(padding_value) is not PaddingValue.UNSPECIFIED:
        tiled_shape = tiled_sizes(
            [result.shape[d] for d in order], [Tile(tuple(tile)) for tile in tiles]
        )
        if math.prod(tiled_shape) != math.prod(result.padded_shape):
            rule = (
                f"the {math.prod(tiled_shape)} slots of {short_repr(tiles)} are more than "
                f"{truncate(result)} owns"
            )
            fix = "without padding_value it is read, and they are gaps"
            raise_error(f"{rule}; {fix}, got {short_repr(padding_value)}")
    return result


def write(layout: Layout) -> JaxLayout:
    """Return the order and the tiles of `layout`, in JAX's terms.

    A padded block becomes one tile of its padded sizes. JAX does not record what padding holds.

    Raises `ValueError` if the layout does not fill a block from slot 0 on, or XLA has no such
    tiles; `TypeError` if `layout` is not a Layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.jax.write(Layout.padded((2, 3), (3, 5), (0, 1)))
    JaxLayout(major_to_minor=(1, 0), tiling=((5, 3),), sub_byte_element_size_in_bits=0)
    """
    block = block_form(layout, allow_padding=True, allow_bits=True)
    # shape_of() needs a type. With whole slots any type of bytes serves; the bits are passed on
    # separately.
    try:
        xla_layout = shape_of(block.with_slot_bits(None), PrimitiveType.U8).own_layout
    except ValueError:
        raise_error(f"XLA's tiles cannot express {truncate(layout)}")
    tiling = tuple(tile.dimensions for tile in xla_layout.tiles)
    return JaxLayout(xla_layout.minor_to_major[::-1], tiling or None, block.slot_bits or 0)
