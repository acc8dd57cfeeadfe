"""Conversion between XLA's layouts and `tensorlayout.Layout`, and XLA's padded layouts of 2017."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tensorlayout.errors import raise_named_error, short_repr, truncate
from tensorlayout.layout import (
    COMBINE,
    MAX_SLOTS,
    Layout,
    Padding,
    PaddingValue,
    Part,
    Parts,
    check_integers,
    check_padding_value,
    slots,
)
from tensorlayout.xla.calling import require, require_in_range
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.permutations import checked_permutation
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import Shape
from tensorlayout.xla.text import parse_shape
from tensorlayout.xla.tiles import Tile, tiled_sizes


def layout_of(
    shape: Shape | str, padding_value: Padding | str = PaddingValue.UNSPECIFIED
) -> Layout:
    """Return the `tensorlayout.Layout` of an XLA array shape.

    - `shape`: a `Shape` or its text. Bounded dimensions have their bound as size.
    - `padding_value`: value that the padding of the tiles holds, which XLA does not specify.

    The order is kept, and each tile becomes a split of dimensions. A star is accepted if the tile
    ends at the end of a row or of a whole part of one, or if rows continue from tile to tile
    without a break, as in ``T(*,128)`` of two dimensions. A later tile is accepted if it divides
    the one before, or covers all of it. An element size of the type's own 1, 2, 4 or 6 bits,
    ``E(4)``, becomes `slot_bits`; other sizes are ignored.

    The layout does not contain the storage after it, which `shape_util.physical_size` counts: the
    tail padding (``L``), the tile of a scalar, and the padding of a merged dimension or a later
    tile that is not a multiple of what it covers.

    Raises `ValueError` for a shape that is not an array, a missing or invalid layout, an unbounded
    dimension, and tiles that are not splits: a star whose merged dimension is cut in the middle of
    a row, or a later tile that divides an earlier one unevenly.

    >>> from tensorlayout.xla import layout_of
    >>> layout_of("f32[3,5]{1,0:T(2,2)}")
    Layout.parse('(3,5):(2*12+2*2,3*4+2*1)')
    >>> layout_of("s4[3,5]{1,0:E(4)}")
    Layout.parse('(3,5):(5,1) bits=4')
    """
    return _cached_layout(as_shape(shape, "layout_of"), check_padding_value(padding_value))


def as_shape(shape: Shape | str, name: str = "shape") -> Shape:
    """Return a shape, given as `Shape` or text."""
    parsed = parse_shape(shape) if isinstance(shape, str) else shape
    if not isinstance(parsed, Shape):
        raise_named_error(name, f"must be a Shape or its text, got {short_repr(shape)}", TypeError)
    return parsed


@lru_cache(1024)
def _cached_layout(shape: Shape, padding_value: Padding) -> Layout:
    sizes, tiles = shape.physical()
    # `Layout.tiled` leaves out the storage after its last tile, so it cannot limit the whole
    # buffer.
    if math.prod(tiled_sizes(sizes, tiles)) > MAX_SLOTS:
        raise_named_error("layout_of", f"{truncate(shape)} takes 2**63 slots or more")
    order, tile_sizes = shape.own_layout.minor_to_major, [tile.dimensions for tile in tiles]
    bits = shape.element_bits
    # E(8) of an s4 means a byte for each element, which is a layout of whole slots.
    slot_bits = bits if bits == _sub_byte_bits(shape.element_type) else None
    try:
        return Layout.tiled(shape.dimensions, tile_sizes, order, padding_value, slot_bits)
    # The error of `Layout.tiled` names its own arguments, which the caller did not pass.
    except ValueError:
        rule = f"the tiles of {truncate(shape)} cannot be expressed as splits of its dimensions"
        raise ValueError(f"layout_of: {rule}") from None


def _sub_byte_bits(kind: PrimitiveType) -> int | None:
    """Return the bits of a slot for a type below a byte; None for other types."""
    return kind.bit_width if kind.is_sub_byte else None


# --- back ----------------------------------------------------------------------------------------


def shape_of(layout: Layout, element_type: PrimitiveType, **properties: Any) -> Shape:
    """Return the XLA shape whose buffer is the storage of a `tensorlayout.Layout`.

    - `layout`: a packed layout becomes an order, a padded one also a tile of the padded sizes, and
      a tiled one a tile per level of splits. Slots below a byte become the element size, ``E(4)``.
    - `element_type`: type of the elements in the slots.
    - `properties`: other fields of `XlaLayout`, such as ``tail_padding_alignment``,
      ``memory_space``.

    The value that padding holds is lost, because shapes do not record it.

    Raises `ValueError` for what XLA's layouts cannot express: an offset, negative or repeated
    strides, gaps, padding of a dimension without elements, and slots below a byte that are not the
    type's.

    >>> from tensorlayout import Layout
    >>> from tensorlayout.xla import PrimitiveType, shape_of
    >>> print(shape_of(Layout.padded((2, 3), (3, 5), (0, 1)), PrimitiveType.F32))
    f32[2,3]{0,1:T(5,3)}
    """
    if not isinstance(layout, Layout):
        raise_named_error(
            "shape_of", f"layout must be a Layout, got {short_repr(layout)}", TypeError
        )
    # `form` has offset 0 and positive strides, so a layout that is its own form has them, too.
    # Layouts are interned: `is` compares values.
    is_block = layout.covers_block and layout.form is layout
    require(is_block, "shape_of: a layout must cover its block from slot 0 on", layout)
    if layout.slot_bits is not None:
        is_own_width = layout.slot_bits == _sub_byte_bits(element_type)
        require(is_own_width, f"shape_of: slots must be those of {element_type.text}", layout)
        properties = {"element_size_in_bits": layout.slot_bits, **properties}
    # Tiles without stars come first, because no public function of XLA computes positions with
    # stars. Without stars the tiles that reorder axes double in length, and may exceed the limit
    # for a tile.
    for stars in (False, True):
        tiles = _tiles_for_layout(layout, stars) if layout.is_padded or layout.is_tiled else []
        xla_layout = XlaLayout(
            minor_to_major=layout.minor_to_major, tiles=tuple(tiles), **properties
        )
        shape = Shape.array(element_type, layout.shape, xla_layout)
        # `_tiles_for_layout` does not prove that its tiles express the layout; reading them back
        # does.
        try:
            if layout_of(shape, layout.padding_value) is layout:
                return shape
        except ValueError:  # tiles that no layout can express
            continue
    return raise_named_error("shape_of", f"XLA's tiles cannot express {truncate(layout)}")


def _tiles_for_layout(layout: Layout, use_stars: bool) -> list[Tile]:
    """Return tiles that express the splits and padding of a layout that covers its block.

    Level by level: the slowest digits in the order of the dimensions count tiles, all faster digits
    lie inside of a tile. If the remaining order differs from memory,
    `_tiles_sorting_axes_by_stride` corrects it.
    """
    # For (3,5):(2*12+2*2,3*4+2*1), `dims` begins as [((2,12),(2,2)), ((3,4),(2,1))]: the digits of
    # each dimension as pairs (extent, stride), slowest first, padding included. The digits (2,12)
    # and (3,4) count tiles. The others, (2,2) and (2,1), give the tile T(2,2) and are the next
    # level.
    physical = layout.minor_to_major[::-1]
    sizes = [layout.shape[d] for d in physical]
    padded = [
        slots.resize_most_major_part(layout.parts[d], layout.padded_shape[d]) for d in physical
    ]
    dims = [tuple(part for part in parts if part[0] != 1) for parts in padded]
    tiles: list[Tile] = []
    axes: list[Part] = []  # dimensions before those of the last tile
    while (counting_dims := _tile_counting_dims(dims, sizes)) is not None:
        inner_digits = [parts[d in counting_dims :] for d, parts in enumerate(dims)]
        inner_sizes = [_extent_product(parts) for parts in inner_digits]
        # Tiles need not cover leading dimensions in which they have size 1.
        start = next((d for d, size in enumerate(inner_sizes) if size != 1), len(dims))
        tiles.append(Tile(tuple(inner_sizes[start:])))
        # (1, 0) keeps the place of a dimension without a digit here, because XLA's sizes have a 1
        # there.
        axes += [dims[d][0] if d in counting_dims else (1, 0) for d in range(len(dims))]
        dims, sizes = inner_digits[start:], inner_sizes[start:]
    return tiles + _tiles_sorting_axes_by_stride(
        [*axes, *(parts[0] if parts else (1, 0) for parts in dims)], use_stars
    )


def _extent_product(parts: Parts) -> int:
    return math.prod(extent for extent, _ in parts)


def _tile_counting_dims(dims: Sequence[Parts], sizes: Sequence[int]) -> set[int] | None:
    """Return the dimensions whose first digit counts tiles; None if no more tiles are needed.

    The number of tiles follows from the size, so a dimension with more padding must be in a tile.
    """
    # Triples (-stride, dimension, number of the digit): sorted, the slowest digit comes first.
    digits = [(-s, d, k) for d, parts in enumerate(dims) for k, (_, s) in enumerate(parts)]
    counting_dims: set[int] = set()
    last_dim = -1
    for _, dim, number in sorted(digits):
        inner_extent = _extent_product(dims[dim][1:])
        # Three conditions end the counting digits: this digit is not the slowest of its dimension;
        # memory does not have the dimensions in physical order; or XLA, which rounds the size up to
        # whole tiles, would compute another number of tiles than the padded size has.
        if (
            number
            or dim < last_dim
            or -(-sizes[dim] // inner_extent) * inner_extent != _extent_product(dims[dim])
        ):
            break
        counting_dims.add(dim)
        last_dim = dim
    # Every digit counts in order, so no tile is needed.
    if len(counting_dims) == len(digits):
        return None
    fits_exactly = [_extent_product(parts) for parts in dims] == list(sizes)
    # No digit is in order: cut dimensions of several digits, `_reordering_tiles` does the rest.
    return counting_dims or {d for d, parts in enumerate(dims) if fits_exactly and len(parts) > 1}


def _tiles_sorting_axes_by_stride(axes: Sequence[Part], use_stars: bool) -> list[Tile]:
    """Return tiles that sort axes by stride; each tile moves one axis to the end.

    Each tile is about twice as long as the one before, except with stars, which merge axes of size
    1.
    """
    # A tile (n, 1, …, 1) that begins at an axis of extent n leaves the count 1 there, and puts n
    # behind the counts of the axes after it: sizes (2, 3) with T(2,1) become (1, 3, 2, 1). None
    # stands for an axis of extent 1; such axes may be anywhere.
    current_axes: list[Part | None] = [axis if axis[0] != 1 else None for axis in axes]
    sorted_axes = sorted(
        (axis for axis in current_axes if axis is not None), key=lambda axis: -axis[1]
    )
    in_place_count = 0
    # Axes that need no move: they form a prefix of the sorted axes.
    for axis in current_axes:
        in_place_count += in_place_count < len(sorted_axes) and axis == sorted_axes[in_place_count]
    tiles = []
    for axis in sorted_axes[in_place_count:]:
        axis_position = current_axes.index(axis)
        following_axes = current_axes[axis_position + 1 :]
        # A star merges an axis of extent 1, or the last real one, into the next axis. The tile then
        # leaves fewer sizes of 1 behind, which would make each further tile longer.
        behind_axes = [other for other in following_axes if other is not None or not use_stars]
        last_position = max(
            (d for d, other in enumerate(following_axes) if other is not None), default=0
        )
        merged = [
            use_stars and (other is None or d == last_position)
            for d, other in enumerate(following_axes)
        ]
        marks = [COMBINE if star else 1 for star in merged[:-1]]
        tiles.append(Tile((axis[0], *marks, 1)))
        # The counts come first (the moved axis has the count 1), then the sizes of the tile (only
        # the moved axis has another size than 1).
        current_axes = [
            *current_axes[:axis_position],
            None,
            *behind_axes,
            axis,
            *[None] * len(behind_axes),
        ]
    return tiles


# --- the padded layouts of XLA from January 2017 to November 2018 --------------------------------

# ``minor_to_major``, ``padded_dimensions`` and ``padding_value``: each dimension has a padded width
# in memory, with the padding at its high end. Today's XLA expresses this as one tile of the
# padded widths: [2,3] in the order [0,1] padded to [3,5] is ``{0,1:T(5,3)}``.


class PaddingValue2017(enum.Enum):
    """Contents of padding, numbered as in XLA's enum.

    ``INVALID_PAD`` is the value of an unset field, ``UNKNOWN_PAD`` means arbitrary contents. XLA
    never specified whether the lowest and highest floats are infinite; in a `tensorlayout.Layout`
    they are, so that a maximum or minimum over padding changes nothing.

    >>> from tensorlayout.xla import PaddingValue2017
    >>> PaddingValue2017.ZERO_PAD.value
    1
    """

    INVALID_PAD = 0
    ZERO_PAD = 1
    ONE_PAD = 2
    LOWEST_PAD = 3
    HIGHEST_PAD = 4
    UNKNOWN_PAD = 5


_PADDING_VALUES = {
    old: PaddingValue.named(old.name.removesuffix("_PAD")) or PaddingValue.UNSPECIFIED
    for old in PaddingValue2017
}


@dataclass(frozen=True, slots=True)
class PaddedLayout2017:
    """Order of dimensions, and the padded width of each in memory.

    - `minor_to_major`: as everywhere.
    - `padded_dimensions`: widths by **logical** dimension; empty without padding.
    - `padding_value`: contents of the padding, independent of the widths.

    >>> from tensorlayout.xla import PaddedLayout2017, PaddingValue2017
    >>> old = PaddedLayout2017((0, 1), (3, 5), PaddingValue2017.ZERO_PAD)
    >>> print(old.layout_of((2, 3)).table("abcdef").splitlines()[1])
    Value:  a d 0 b e 0 c f 0 0  0  0  0  0  0
    """

    minor_to_major: tuple[int, ...]
    padded_dimensions: tuple[int, ...] = ()
    padding_value: PaddingValue2017 = PaddingValue2017.INVALID_PAD

    def __post_init__(self) -> None:
        for name in ("minor_to_major", "padded_dimensions"):
            object.__setattr__(self, name, check_integers(name, getattr(self, name)))
        object.__setattr__(self, "padding_value", PaddingValue2017(self.padding_value))

    def validate(self, dimensions: Sequence[int]) -> None:
        """Raise ValueError for the first problem of the layout for an array of these sizes.

        The order needs one entry per dimension, in range, without repeats. Widths are empty, or one
        per dimension and at least its size.
        """
        sizes = check_integers("dimensions", dimensions)
        fits = sorted(self.minor_to_major) == list(range(len(sizes)))
        require(
            fits, "layout: the order must be a permutation of dimensions of", self, subject=sizes
        )
        is_wide_enough = all(
            width >= size for size, width in self._pair_sizes_with_padded_widths(sizes)
        )
        require(
            is_wide_enough, "layout: padded widths must be at least the sizes", self, subject=sizes
        )

    def is_padded(self, dimensions: Sequence[int]) -> bool:
        """Return whether a width exceeds its size; ValueError for a wrong number of widths."""
        return any(width > size for size, width in self._pair_sizes_with_padded_widths(dimensions))

    def _pair_sizes_with_padded_widths(
        self, dimensions: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """Return pairs of size and width; none without widths."""
        sizes, padded = check_integers("dimensions", dimensions), self.padded_dimensions
        fits = len(padded) in (0, len(sizes))
        require(fits, "layout: must have no padded widths or one for each of", self, subject=sizes)
        return zip(sizes, padded, strict=False)

    def byte_size_of(self, element_type: PrimitiveType, dimensions: Sequence[int]) -> int:
        """Return the **bytes** of a buffer, padding included."""
        self.validate(dimensions)
        slots = math.prod(self.padded_dimensions or dimensions)
        return slots * element_type.unpacked_bytes

    def get_dimension_stride(self, dimensions: Sequence[int], dimension: int) -> int:
        """Return the **elements** between neighbours along a logical dimension, with padding."""
        strides = self.layout_of(dimensions).strides
        require_in_range(range(len(strides)), "dimension", dimension, tuple(dimensions))
        return strides[dimension]

    def human_string(self) -> str:
        """Return the text that XLA used in 2017: **the order alone, without the padding**."""
        return f"{{{','.join(map(str, self.minor_to_major))}}}"

    def permute_dimensions(self, permutation: Sequence[int]) -> PaddedLayout2017:
        """Return the layout after dimension i has become ``permutation[i]``, widths included.

        XLA used this convention **until February 2021**; `shape_util.permute_dimensions` takes the
        inverse.
        """
        dims = checked_permutation("permutation", permutation, len(self.minor_to_major))
        order = [dims[d] for d in self.minor_to_major]
        widths = list(self.padded_dimensions)
        # Without widths the loop ends at once, because zip stops at the shorter list.
        for dim, width in zip(dims, self.padded_dimensions, strict=False):
            widths[dim] = width
        return PaddedLayout2017(tuple(order), tuple(widths), self.padding_value)

    def layout_of(self, dimensions: Sequence[int]) -> Layout:
        """Return the `tensorlayout.Layout` of an array of these sizes.

        INVALID_PAD and UNKNOWN_PAD become UNSPECIFIED.
        """
        self.validate(dimensions)
        padded = self.padded_dimensions or tuple(dimensions)
        value = _PADDING_VALUES[self.padding_value]
        return Layout.padded(tuple(dimensions), padded, self.minor_to_major, value)

    @classmethod
    def of_layout(cls, layout: Layout) -> PaddedLayout2017:
        """Return the 2017 form of a packed or padded `tensorlayout.Layout`.

        Raises `ValueError` for what it cannot express: tiles, slots below a byte, gaps, an offset,
        negative or repeated strides, and padding that holds a bit pattern.

        >>> PaddedLayout2017.of_layout(Layout.row_major((2, 3))) == PaddedLayout2017((1, 0))
        True
        """
        fits = layout.is_strided and layout.covers_block and layout.form is layout
        require(fits, "of_layout: must be packed or padded, of whole bytes, from slot 0 on", layout)
        if layout.padded_shape == layout.shape:
            return cls(layout.minor_to_major)
        # Both INVALID_PAD and UNKNOWN_PAD mean unspecified contents. The last one is UNKNOWN_PAD,
        # whose contents are arbitrary; INVALID_PAD marks a field that was never set.
        symbols = [old for old, value in _PADDING_VALUES.items() if value is layout.padding_value]
        require(symbols, "of_layout: padding must hold what a symbol names", layout)
        return cls(layout.minor_to_major, layout.padded_shape, symbols[-1])
