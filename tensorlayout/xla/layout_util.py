"""XLA's LayoutUtil: layouts made, compared and asked, and positions in tiled buffers."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

from tensorlayout.layout import descending
from tensorlayout.layout.checks import checked_integers
from tensorlayout.layout.tiling import COMBINE
from tensorlayout.words import cut, shown
from tensorlayout.xla import tiles as tiling
from tensorlayout.xla.calling import checked_names, offer, refuse
from tensorlayout.xla.checks import layout_in, must_be_inside, must_have_no_star, physical_sizes
from tensorlayout.xla.checks import validate_layout_for_shape as validate_layout_for_shape
from tensorlayout.xla.checks import validate_layout_in_shape as validate_layout_in_shape
from tensorlayout.xla.permutations import inverse_permutation, permute_inverse
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import (
    Shape,
    SplitConfig,
    XlaLayout,
    alike,
    arrays_of,
    with_arrays,
    with_layouts,
)
from tensorlayout.xla.tiles import Tile

# --- made ----------------------------------------------------------------------------------------


def make_layout(minor_to_major: Sequence[int], **properties: Any) -> XlaLayout:
    """A layout of an order and any other fields of `XlaLayout`.

    As in XLA, nobody checks that the order is a permutation. ValueError for a negative tile size.

    >>> str(make_layout([1, 0], tiles=[(8, 128), (2, 1)]))
    '{1,0:T(8,128)(2,1)}'
    """
    return XlaLayout(minor_to_major=tuple(minor_to_major), **properties)


def make_layout_from_major_to_minor(major_to_minor: Sequence[int]) -> XlaLayout:
    """A layout whose order is given from the most major dimension on: JAX's `major_to_minor`."""
    return XlaLayout(minor_to_major=tuple(reversed(major_to_minor)))


def make_descending_layout(num_dims: int) -> XlaLayout:
    """The row-major layout of a number of dimensions: ``{n-1,…,1,0}``."""
    return XlaLayout.row_major(num_dims)


get_default_layout_for_rank = make_descending_layout


def make_ascending_layout(num_dims: int) -> XlaLayout:
    """The column-major layout of a number of dimensions: ``{0,1,…,n-1}``."""
    return XlaLayout(minor_to_major=tuple(range(num_dims)))


def get_default_layout_for_r2() -> XlaLayout:
    """The row-major layout of 2 dimensions: ``{1,0}``."""
    return XlaLayout.row_major(2)


def get_default_layout_for_r3() -> XlaLayout:
    """The row-major layout of 3 dimensions: ``{2,1,0}``."""
    return XlaLayout.row_major(3)


def get_default_layout_for_r4() -> XlaLayout:
    """The row-major layout of 4 dimensions: ``{3,2,1,0}``."""
    return XlaLayout.row_major(4)


def get_default_layout_for_shape(shape: Shape) -> XlaLayout:
    """The row-major layout of an array, the empty one of a token. ValueError for a tuple."""
    if shape.is_tuple:
        refuse("one layout describes no tuple", cut(shape))
    return XlaLayout.row_major((shape.elements[0] if shape.is_buffer else shape).rank)


def set_to_default_layout(shape: Shape) -> Shape:
    """The shape with each array in row-major order. **Tiles and all else of a layout are kept.**

    Shapes are values here, so the changed one is returned. For a layout without anything else take
    `shape_util.device_shape_to_host_shape` after it.
    """

    def in_order(array: Shape) -> Shape:
        layout = array.layout or XlaLayout()
        return array.replace(layout=layout.replace(minor_to_major=descending(array.rank)))

    return with_arrays(shape, in_order)


get_with_default_layout = set_to_default_layout


# --- of whole shapes -----------------------------------------------------------------------------


def clear_layout(shape: Shape) -> Shape:
    """The shape with no layout in any of its arrays; token and opaque still count as having one."""
    return with_layouts(shape, lambda layout: None)


def clear_tiles(shape: Shape) -> Shape:
    """The shape with no tiles in any layout; all else of the layouts stays."""
    return with_layouts(shape, lambda layout: layout.replace(tiles=()))


def has_layout(shape: Shape) -> bool:
    """Whether every array has a layout; so True for token, opaque and the empty tuple."""
    return all(array.layout is not None for array in arrays_of(shape))


def has_any_layout(shape: Shape) -> bool:
    """Whether some leaf has a layout: token and opaque count, the empty tuple has none."""
    if shape.is_tuple:
        return any(map(has_any_layout, shape.elements))
    return has_layout(shape)


def has_custom_element_size_in_bits(shape: Shape) -> bool:
    """Whether some array's layout has an element size; one without a layout has none."""
    return any(a.layout is not None and a.layout.element_size_in_bits for a in arrays_of(shape))


def copy_layout_between_shapes(src: Shape, dst: Shape) -> Shape:
    """`dst` with the layouts of `src`, array by array; sizes and types may differ.

    A source array **without** a layout clears that of the destination. The changed shape is
    returned. ValueError where the tuples or the numbers of dimensions differ, or a layout does not
    fit its destination.
    """
    if len(src.elements) != len(dst.elements) or src.is_tuple != dst.is_tuple:
        refuse("must be tuples alike", cut(src), cut(dst))
    if src.elements:
        pairs = zip(src.elements, dst.elements, strict=True)
        return dst.replace(elements=tuple(copy_layout_between_shapes(s, d) for s, d in pairs))
    if not src.is_array:
        return dst
    if src.layout is None:
        return dst.replace(layout=None)
    if not dst.is_array or src.rank != dst.rank:
        refuse("must have equal ranks", cut(src), cut(dst))
    validate_layout_for_shape(src.layout, dst)
    return dst.replace(layout=src.layout)


def layouts_in_shapes_equal(lhs: Shape, rhs: Shape, ignore: Collection[str] = ()) -> bool:
    """Whether two shapes have the same tuples, ranks and layouts; sizes and types may differ.

    Token and opaque equal anything, as in XLA, which looks at the left side alone. `ignore`: names
    of fields of layouts; XLA forgets it inside tuples, here it holds there too.
    """
    if lhs.is_tuple or lhs.is_buffer:
        return alike(lambda a, b: layouts_in_shapes_equal(a, b, ignore), lhs, rhs)
    if not lhs.is_array or lhs.rank != rhs.rank:
        return not lhs.is_array
    if lhs.layout is None or rhs.layout is None:
        return lhs.layout is rhs.layout
    return equal(lhs.layout, rhs.layout, ignore)


# --- asked ---------------------------------------------------------------------------------------

_IGNORABLE = {f.name for f in fields(XlaLayout)} - {"minor_to_major", "metadata_prefix_bytes"}
_ALL_BUT_ORDER = "all but minor_to_major"


def equal(lhs: XlaLayout, rhs: XlaLayout, ignore: Collection[str] = ()) -> bool:
    """Whether two layouts are equal in all fields, those named in `ignore` left out.

    `ignore`: names of fields such as ``"tiles"``, or ``"all but minor_to_major"``. The metadata
    prefix is never compared. ValueError for another name.
    """
    names = checked_names(ignore, {*_IGNORABLE, _ALL_BUT_ORDER})
    names = _IGNORABLE if _ALL_BUT_ORDER in names else names
    plain = XlaLayout()
    taken = {name: getattr(plain, name) for name in names}
    return lhs.replace(**taken) == rhs.replace(**taken)


def human_string(layout: XlaLayout) -> str:
    """The text of a layout, as `str`."""
    return str(layout)


def has_descending_layout(layout: XlaLayout) -> bool:
    """Whether the order is row-major; always for up to one dimension."""
    order = layout.minor_to_major
    return all(a >= b for a, b in pairwise(order))


def has_ascending_layout(layout: XlaLayout) -> bool:
    """Whether the order is column-major; always for up to one dimension."""
    order = layout.minor_to_major
    return all(a <= b for a, b in pairwise(order))


is_monotonic_with_dim0_major = has_descending_layout
is_monotonic_with_dim0_minor = has_ascending_layout


def are_dimensions_consecutive(layout: XlaLayout, dims: Sequence[int]) -> bool:
    """Whether logical dimensions stand side by side in the order, however they are listed."""
    asked = checked_integers("are_dimensions_consecutive: dims", dims)
    if not set(asked) <= set(layout.minor_to_major):
        refuse(f"dims must be dimensions of {cut(layout)}", shown(asked))
    places = sorted(layout.minor_to_major.index(d) for d in asked)
    return not places or places == list(range(places[0], places[0] + len(places)))


def move_dim_to_major(layout: XlaLayout, dim: int) -> XlaLayout:
    """The layout with one dimension moved to the most major end. Tiles and all else are kept.

    `shape_util.move_dim_to_major`, of shapes, drops them.
    """
    return layout.replace(minor_to_major=(*_without(layout, dim), dim))


def move_dim_to_minor(layout: XlaLayout, dim: int) -> XlaLayout:
    """The layout with one dimension moved to the most minor end. Tiles and all else are kept."""
    return layout.replace(minor_to_major=(dim, *_without(layout, dim)))


def _without(layout: XlaLayout, dim: int) -> list[int]:
    if dim not in layout.minor_to_major:
        refuse(f"{cut(layout)} has no dimension {shown(dim)}")
    return [d for d in layout.minor_to_major if d != dim]


def memory_space(shape: Shape) -> int:
    """The memory space of an array's layout; 0 without a layout."""
    return 0 if shape.layout is None else shape.layout.memory_space


def byte_strides_is_major_to_minor(
    byte_strides: Sequence[int], dims: Sequence[int], element_type: PrimitiveType
) -> bool:
    """Whether byte strides are those of packed rows, dimensions of size 1 included.

    ValueError for lists of different lengths.
    """
    steps, sizes = checked_integers("byte_strides", byte_strides), checked_integers("dims", dims)
    if len(steps) != len(sizes):
        refuse("must have equal lengths", shown(steps), shown(sizes))
    width = element_type.byte_width or 0
    return all(s == width * math.prod(sizes[d + 1 :]) for d, s in enumerate(steps))


# --- places in tiled buffers ---------------------------------------------------------------------


def minor_to_major(of: Shape | XlaLayout) -> tuple[int, ...]:
    """The order of an array or a layout; ValueError for a shape without a layout."""
    layout = of.layout if isinstance(of, Shape) else of
    if layout is None:
        refuse("must be a layout, or an array with one", cut(of))
    return layout.minor_to_major


def minor(layout: XlaLayout, physical: int) -> int:
    """The logical dimension that is `physical`-th from the most **minor** end.

    ValueError outside 0 to n - 1, which XLA notices in debug builds only.
    """
    if not 0 <= physical < layout.rank:
        rule = f"must be from 0 to {layout.rank - 1} for {cut(layout)}"
        refuse(rule, shown(physical), about="minor, major")
    return layout.minor_to_major[physical]


def major(layout: XlaLayout, physical: int) -> int:
    """The logical dimension that is `physical`-th from the most **major** end.

    ValueError outside 0 to n - 1, which XLA notices in debug builds only.
    """
    return minor(layout, layout.rank - 1 - physical)


def make_logical_to_physical(layout: XlaLayout) -> tuple[int, ...]:
    """For each logical dimension its place counted from the most major end: `major` inverted.

    >>> make_logical_to_physical(XlaLayout(minor_to_major=(2, 4, 3, 1, 0)))
    (0, 1, 4, 2, 3)
    """
    return tuple(inverse_permutation(layout.minor_to_major[::-1]))


def _position(
    shape: Shape, indices: Sequence[int], sizes: Sequence[int], tiles: Sequence[Tile]
) -> int:
    at = checked_integers("indices", indices)
    must_be_inside(shape, at)
    return tiling.position([at[d] for d in reversed(minor_to_major(shape))], sizes, tiles)


def linear_index(shape: Shape, indices: Sequence[int]) -> int:
    """The position of an element by the **first tile only**, and for vectors by no tile at all.

    That is XLA's `LinearIndex`; `linear_index_for_nested_tiling` counts all tiles. ValueError for
    an index outside, and for a star, which XLA would take for a number.

    >>> from tensorlayout.xla import parse_shape
    >>> linear_index(parse_shape("f32[8]{0:T(2,2)}"), [5])
    5
    >>> linear_index_for_nested_tiling(parse_shape("f32[8]{0:T(2,2)}"), [5])
    9
    """
    sizes, tiles = physical_sizes(shape)
    first = () if len(sizes) < 2 else tiles[:1]
    must_have_no_star(first, shape, instead="linear_index_for_nested_tiling")
    return _position(shape, indices, sizes, first)


def linear_index_for_nested_tiling(shape: Shape, indices: Sequence[int]) -> int:
    """The position of an element in the buffer: the order and **all** tiles count, stars too.

    XLA's function of this name knows no stars; here they follow XLA's written rule. ValueError for
    an index outside the shape, and for tiles that mean nothing.

    >>> from tensorlayout.xla import parse_shape
    >>> linear_index_for_nested_tiling(parse_shape("f32[3,5]{1,0:T(2,2)}"), [2, 3])
    17
    """
    return _position(shape, indices, *physical_sizes(shape))


def delinearize_index_for_nested_tiling(shape: Shape, linear_index: int) -> tuple[int, ...]:
    """The index of a position. **On padding some entry is at its size or beyond**, as a rule.

    **Not in the padding of a tile with more dimensions than the array, or that does not divide the
    tile before it**: there it is the index of another element. `element_at` tells all padding.
    ValueError for a position outside the tiled buffer.
    """
    sizes, tiles = physical_sizes(shape)
    slots = math.prod(tiling.expanded(sizes, tiles))
    if not 0 <= linear_index < slots:
        rule = f"must be at least 0 and below the {slots} positions of {cut(shape)}"
        refuse(rule, shown(linear_index))
    physical = tiling.index_at(linear_index, sizes, tiles)
    return tuple(permute_inverse(physical[::-1], minor_to_major(shape)))


def element_at(shape: Shape, linear_index: int) -> tuple[int, ...] | None:
    """The index of the element at a position, **None for padding**. Not a function of XLA's.

    ValueError for a position outside the tiled buffer.

    >>> from tensorlayout.xla import parse_shape
    >>> shape = parse_shape("f32[8]{0:T(2,2)}")
    >>> element_at(shape, 9), element_at(shape, 10)
    ((5,), None)
    >>> delinearize_index_for_nested_tiling(shape, 10)
    (4,)
    """
    found = delinearize_index_for_nested_tiling(shape, linear_index)
    if any(i >= n for i, n in zip(found, shape.dimensions, strict=True)):
        return None
    return found if linear_index_for_nested_tiling(shape, found) == linear_index else None


def is_untiled_layout(sizes: Sequence[int], tiles: Sequence[Tile | Sequence[int]]) -> bool:
    """Whether tiles leave the order of **physical** sizes as it is, and add no padding.

    A sufficient test, as in XLA: tiles that undo each other may be judged False. ValueError for a
    tile with more dimensions than there are.
    """
    known = checked_integers("sizes", sizes)
    given = [*map(tiling.as_tile, tiles)]
    rank = len(known)
    for tile in given:
        stars = sum(n == COMBINE for n in tile.dimensions)
        if len(tile.dimensions) > rank:
            refuse(f"the tile {cut(tile)} is longer than the {rank} dimensions")
        rank += len(tile.dimensions) - 2 * stars
    return tiling.change_nothing(known, given)


# --- splits --------------------------------------------------------------------------------------


def get_split_config(shape: Shape) -> SplitConfig | None:
    """The one split config of an array, None without any; ValueError for several."""
    splits = () if shape.layout is None else shape.layout.split_configs
    if len(splits) > 1:
        refuse("must have at most one", cut(shape))
    return splits[0] if splits else None


def max_split_size(shape: Shape, dim: int) -> int:
    """The largest piece of one **logical** dimension between its split points.

    >>> from tensorlayout.xla import parse_shape
    >>> max_split_size(parse_shape("f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}"), 1)
    90
    """
    layout = layout_in(shape)
    validate_layout_for_shape(layout, shape)
    if not 0 <= dim < shape.rank:
        refuse(f"{cut(shape)} has no dimension {shown(dim)}")
    at = make_logical_to_physical(layout)[dim]
    cuts = [split.split_indices for split in layout.split_configs if split.dimension == at]
    points = [0, *(point for cut_at in cuts for point in cut_at), shape.dimensions[dim]]
    return max(b - a for a, b in pairwise(points))


def max_elements_in_per_split(shape: Shape) -> int:
    """The elements in the largest piece of an array: the product over its dimensions."""
    physical_sizes(shape)
    return math.prod(max_split_size(shape, d) for d in range(shape.rank))


offer(__name__, "validate_layout_for_shape", "validate_layout_in_shape")
