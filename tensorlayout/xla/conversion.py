"""XLA's layouts as `tensorlayout.Layout`, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorlayout.layout import Layout, Padding, PaddingValue
from tensorlayout.layout.slots import MAX_SLOTS, Part, Parts, inner_extent
from tensorlayout.words import cut, shown
from tensorlayout.xla.layout_positions import physical_sizes
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import Shape
from tensorlayout.xla.text import parse_shape
from tensorlayout.xla.tiles import Tile, checked_tiles, expanded


def layout_of(shape: Shape | str, padding_value: Padding = PaddingValue.UNSPECIFIED) -> Layout:
    """Where each element of an array, given by its text too, stands: a `tensorlayout.Layout`.

    The order, and all tiles: each becomes a split of dimensions. A star does where the tile ends at
    the end of a row or of a whole part of one, or where rows go on from tile to tile without a
    break, as in ``T(*,128)`` of two dimensions; a later tile does where it divides the one before,
    or takes in all of it. Bounded dimensions count with their bound. `padding_value`: what the
    padding of the tiles holds; XLA says nothing about it. Not part of a Layout, for these are
    storage behind it: the tail padding (``L``), the tile of a scalar, and the padding of a merged
    dimension or a later tile that is no multiple of what it covers (`shape_util.physical_size`
    counts them). The element size, too, is not: slots are elements.

    ValueError for no array, a missing or invalid layout, an unbounded dimension, and tiles that
    cannot be said as splits: a star whose merged dimension a tile cuts in the middle of a row, or
    a later tile that cuts an earlier one unevenly.

    >>> layout_of("f32[3,5]{1,0:T(2,2)}")
    Layout.parse('(3,5):(2*12+2*2,3*4+2*1)')
    """
    shape = parse_shape(shape) if isinstance(shape, str) else shape
    sizes, tiles = physical_sizes("layout_of", shape)
    layout = shape.layout or XlaLayout()
    order = layout.minor_to_major
    if math.prod(expanded(sizes, tiles)) > MAX_SLOTS:
        msg = f"layout_of: {cut(shape)} takes 2**63 slots or more"
        raise ValueError(msg)
    checked_tiles(tiles)
    try:
        cuts = [tile.dimensions for tile in tiles]
        return Layout.tiled(shape.dimensions, cuts, order, padding_value)
    except ValueError:
        msg = f"layout_of: the tiles of {cut(shape)} cannot be said as splits of its dimensions"
        raise ValueError(msg) from None


# --- back ----------------------------------------------------------------------------------------


def shape_of(layout: Layout, element_type: PrimitiveType, **properties: Any) -> Shape:
    """The XLA shape whose buffer is the storage of a `tensorlayout.Layout`.

    Packed layouts give an order alone, padded ones a tile of the padded sizes, tiled ones a tile
    for each level of splits. `properties`: other fields of `XlaLayout`, such as
    ``tail_padding_alignment`` or ``memory_space``. What the padding holds has no place in a shape.

    ValueError for what XLA's layouts cannot say: an offset, negative or repeated strides, gaps,
    padding of a dimension without elements.

    >>> print(shape_of(Layout.padded((2, 3), (3, 5), (0, 1)), PrimitiveType.F32))
    f32[2,3]{0,1:T(5,3)}
    """
    if not isinstance(layout, Layout):
        msg = f"shape_of: layout must be a Layout, got {shown(layout)}"
        raise TypeError(msg)
    if not layout.covers_block or layout.form is not layout:
        msg = f"shape_of: a layout must cover its block from slot 0 on, got {cut(layout)}"
        raise ValueError(msg)
    order = layout.minor_to_major
    tiles = _tiles_of(layout) if layout.is_padded or layout.is_tiled else []
    made = XlaLayout(minor_to_major=order, tiles=tuple(tiles), **properties)
    shape = Shape.array(element_type, layout.shape, made)
    if not _is(shape, layout):
        msg = f"shape_of: XLA's tiles cannot say {cut(layout)}"
        raise ValueError(msg)
    return shape


def _is(shape: Shape, layout: Layout) -> bool:
    """Whether a shape has exactly a layout."""
    try:
        found = layout_of(shape, layout.padding_value)
    except ValueError:
        return False
    return found is layout


def _tiles_of(layout: Layout) -> list[Tile]:
    """Tiles that give the splits and the padding of a layout that covers its block.

    Level by level: the slowest digits that stand in the order of the dimensions are counts of
    tiles, all that is faster lies inside of one. Where that ends in an order of its own, `_moves`
    puts it right.
    """
    physical = layout.minor_to_major[::-1]
    sizes = [layout.shape[d] for d in physical]
    dims = [_whole(layout.parts[d], layout.padded_shape[d]) for d in physical]
    tiles: list[Tile] = []
    axes: list[Part] = []  # what stands in front of the last tile
    while (counted := _counted(dims, sizes)) is not None:
        inside = [parts[d in counted :] for d, parts in enumerate(dims)]
        whole = [_extent(parts) for parts in inside]
        start = next((d for d, size in enumerate(whole) if size != 1), len(dims))
        tiles.append(Tile(tuple(whole[start:])))
        axes += [dims[d][0] if d in counted else (1, 0) for d in range(len(dims))]
        dims, sizes = inside[start:], whole[start:]
    return tiles + _moves([*axes, *(parts[0] if parts else (1, 0) for parts in dims)])


def _whole(parts: Parts, padded: int) -> Parts:
    """The parts of a dimension with its padding; those that are always 0 are left out."""
    first = (padded // inner_extent(parts), parts[0][1])
    return tuple(part for part in (first, *parts[1:]) if part[0] != 1)


def _extent(parts: Parts) -> int:
    return math.prod(extent for extent, _ in parts)


def _counted(dims: Sequence[Parts], sizes: Sequence[int]) -> set[int] | None:
    """The dimensions whose first digit counts tiles; None where no tile is needed any more.

    Tiles count up to the size, so a dimension with more padding lies inside of one.
    """
    digits = [(-s, d, k) for d, parts in enumerate(dims) for k, (_, s) in enumerate(parts)]
    found: set[int] = set()
    last = -1
    for _, dim, number in sorted(digits):
        inner = _extent(dims[dim][1:])
        if number or dim < last or -(-sizes[dim] // inner) * inner != _extent(dims[dim]):
            break
        found.add(dim)
        last = dim
    if len(found) == len(digits):
        return None
    exact = [_extent(parts) for parts in dims] == list(sizes)
    # Nothing stands in order: cut what has several digits, the moves do the rest.
    return found or {d for d, parts in enumerate(dims) if exact and len(parts) > 1}


def _moves(axes: Sequence[Part]) -> list[Tile]:
    """Tiles that bring axes into the order of their strides: each takes one axis to the end."""
    now: list[Part | None] = [axis if axis[0] != 1 else None for axis in axes]
    wanted = sorted((axis for axis in now if axis is not None), key=lambda axis: -axis[1])
    at = 0
    for axis in now:  # those that may stay where they are: a part of `wanted` from its begin
        at += at < len(wanted) and axis == wanted[at]
    tiles = []
    for axis in wanted[at:]:
        place = now.index(axis)
        behind = len(now) - place - 1
        tiles.append(Tile((axis[0], *[1] * behind)))
        now = [*now[:place], None, *now[place + 1 :], axis, *[None] * behind]
    return tiles
