"""JAX's ``Layout`` and ``Format``: an order from major to minor, and tiles."""

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
    """Arguments of ``jax.experimental.layout.Layout``: ``Layout(*written)``.

    `major_to_minor`: the dimensions, the slowest first. `tiling`: XLA's tiles, or None.
    `sub_byte_element_size_in_bits`: the **bits** of an element of less than a byte, else 0.

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
    """Return the layout of an array of `shape` that has a layout of JAX.

    `layout`: a ``Layout`` or ``Format`` of JAX, or a `JaxLayout`. `padding_value`: what the padding
    of tiles holds, of which JAX says nothing. TypeError for all else, an automatic layout included;
    ValueError where order and shape do not fit, for elements of 3, 5 or 7 bits, for tiles that no
    parts of dimensions describe, and for a `padding_value` of slots that no layout owns, such as
    those of a tile (8,) after (3,): `tensorlayout.xla.layout_of` leaves them out, too.

    >>> from tensorlayout import formats
    >>> formats.jax.read((3, 5), formats.jax.JaxLayout((0, 1), ((2, 2),)))
    Layout.parse('(3,5):(2*12+2*2,3*4+2*1)')
    """
    inner = getattr(layout, "layout", layout)
    if not hasattr(inner, "major_to_minor"):
        rule = "layout must be a Layout or Format of JAX, or a JaxLayout"
        raise_error(f"{rule}, got {short_repr(layout)}", TypeError)
    bits = getattr(inner, "sub_byte_element_size_in_bits", 0) or None
    order = check_integers("major_to_minor", inner.major_to_minor)
    tiles = getattr(inner, "tiling", None) or ()
    result = Layout.tiled(shape, tiles, order[::-1], padding_value, bits)
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

    A padded block is a tile of its padded sizes; JAX does not say what padding holds. ValueError
    where no block is filled from slot 0 on, and for tiles that XLA lacks; TypeError for no layout.

    >>> from tensorlayout import Layout, formats
    >>> formats.jax.write(Layout.padded((2, 3), (3, 5), (0, 1)))
    JaxLayout(major_to_minor=(1, 0), tiling=((5, 3),), sub_byte_element_size_in_bits=0)
    """
    block = block_form(layout, allow_padding=True, allow_bits=True)
    try:
        xla_layout = shape_of(block.with_slot_bits(None), PrimitiveType.U8).own_layout
    except ValueError:
        raise_error(f"XLA's tiles cannot say {truncate(layout)}")
    tiling = tuple(tile.dimensions for tile in xla_layout.tiles)
    return JaxLayout(xla_layout.minor_to_major[::-1], tiling or None, block.slot_bits or 0)
