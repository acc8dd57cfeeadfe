"""XLA's LayoutUtil: layouts made, compared and asked, and positions in tiled buffers."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence, Set
from dataclasses import fields
from itertools import pairwise
from typing import Any

from tensorlayout.layout import descending
from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla.layout_positions import (
    delinearize_index_for_nested_tiling,
    element_at,
    get_split_config,
    is_untiled_layout,
    linear_index,
    linear_index_for_nested_tiling,
    major,
    make_logical_to_physical,
    max_elements_in_per_split,
    max_split_size,
    minor,
    minor_to_major,
)
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import Shape, arrays_of, with_arrays
from tensorlayout.xla.validation import validate_layout_for_shape, validate_layout_in_shape

__all__ = [
    "are_dimensions_consecutive",
    "byte_strides_is_major_to_minor",
    "clear_layout",
    "clear_tiles",
    "copy_layout_between_shapes",
    "delinearize_index_for_nested_tiling",
    "element_at",
    "equal",
    "get_default_layout_for_r2",
    "get_default_layout_for_r3",
    "get_default_layout_for_r4",
    "get_default_layout_for_rank",
    "get_default_layout_for_shape",
    "get_split_config",
    "get_with_default_layout",
    "has_any_layout",
    "has_ascending_layout",
    "has_custom_element_size_in_bits",
    "has_descending_layout",
    "has_layout",
    "human_string",
    "is_monotonic_with_dim0_major",
    "is_monotonic_with_dim0_minor",
    "is_untiled_layout",
    "layouts_in_shapes_equal",
    "linear_index",
    "linear_index_for_nested_tiling",
    "major",
    "make_ascending_layout",
    "make_descending_layout",
    "make_layout",
    "make_layout_from_major_to_minor",
    "make_logical_to_physical",
    "max_elements_in_per_split",
    "max_split_size",
    "memory_space",
    "minor",
    "minor_to_major",
    "move_dim_to_major",
    "move_dim_to_minor",
    "set_to_default_layout",
    "validate_layout_for_shape",
    "validate_layout_in_shape",
]

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
    """Row-major: ``{n-1,…,1,0}``."""
    return XlaLayout.row_major(num_dims)


def make_ascending_layout(num_dims: int) -> XlaLayout:
    """Column-major: ``{0,1,…,n-1}``."""
    return XlaLayout(minor_to_major=tuple(range(num_dims)))


def get_default_layout_for_rank(num_dims: int) -> XlaLayout:
    """The row-major layout of a number of dimensions."""
    return XlaLayout.row_major(num_dims)


def get_default_layout_for_r2() -> XlaLayout:
    """``{1,0}``."""
    return XlaLayout.row_major(2)


def get_default_layout_for_r3() -> XlaLayout:
    """``{2,1,0}``."""
    return XlaLayout.row_major(3)


def get_default_layout_for_r4() -> XlaLayout:
    """``{3,2,1,0}``."""
    return XlaLayout.row_major(4)


def get_default_layout_for_shape(shape: Shape) -> XlaLayout:
    """The row-major layout of an array, the empty one of a token. ValueError for a tuple."""
    if shape.is_tuple:
        msg = f"get_default_layout_for_shape: one layout describes no tuple, got {cut(shape)}"
        raise ValueError(msg)
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
    return with_arrays(shape, lambda array: array.replace(layout=None))


def clear_tiles(shape: Shape) -> Shape:
    """The shape with no tiles in any layout; all else of the layouts stays."""
    return with_arrays(
        shape,
        lambda a: a if a.layout is None else a.replace(layout=a.layout.replace(tiles=())),
    )


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
        msg = f"copy_layout_between_shapes: must be tuples alike, got {cut(src)} and {cut(dst)}"
        raise ValueError(msg)
    if src.elements:
        pairs = zip(src.elements, dst.elements, strict=True)
        return dst.replace(elements=tuple(copy_layout_between_shapes(s, d) for s, d in pairs))
    if not src.is_array:
        return dst
    if src.layout is None:
        return dst.replace(layout=None)
    if not dst.is_array or src.rank != dst.rank:
        msg = f"copy_layout_between_shapes: must have equal ranks, got {cut(src)} and {cut(dst)}"
        raise ValueError(msg)
    validate_layout_for_shape(src.layout, dst)
    return dst.replace(layout=src.layout)


def layouts_in_shapes_equal(lhs: Shape, rhs: Shape, ignore: Collection[str] = ()) -> bool:
    """Whether two shapes have the same tuples, ranks and layouts; sizes and types may differ.

    Token and opaque equal anything, as in XLA, which looks at the left side alone. `ignore`: as in
    `equal`; XLA forgets it inside tuples, here it holds there too.
    """
    if lhs.is_tuple or lhs.is_buffer:
        if len(lhs.elements) != len(rhs.elements) or lhs.is_tuple != rhs.is_tuple:
            return False
        pairs = zip(lhs.elements, rhs.elements, strict=True)
        return all(layouts_in_shapes_equal(a, b, ignore) for a, b in pairs)
    if not lhs.is_array:
        return True
    if lhs.rank != rhs.rank or (lhs.layout is None) != (rhs.layout is None):
        return False
    return lhs.layout is None or (rhs.layout is not None and equal(lhs.layout, rhs.layout, ignore))


# --- asked ---------------------------------------------------------------------------------------

_IGNORABLE = {f.name for f in fields(XlaLayout)} - {"minor_to_major", "metadata_prefix_bytes"}
_ALL_BUT_ORDER = "all but minor_to_major"


def checked_names(ignore: Collection[str], allowed: Set[str]) -> Set[str]:
    """What `equal` leaves out, as a set of the names `allowed`; a text is one name."""
    try:
        names = frozenset((ignore,) if isinstance(ignore, str) else ignore)
    except TypeError:
        msg = f"equal: ignore must be a collection of names, got {shown(ignore)}"
        raise TypeError(msg) from None
    if not names <= allowed:
        came = shown(sorted(names - allowed, key=shown))
        msg = f"equal: ignore must be of {sorted(allowed)}, got {came}"
        raise ValueError(msg)
    return names


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
        msg = f"are_dimensions_consecutive: dims must be dimensions of {cut(layout)}"
        msg += f", got {shown(asked)}"
        raise ValueError(msg)
    places = sorted(layout.minor_to_major.index(d) for d in asked)
    return not places or places == list(range(places[0], places[0] + len(places)))


def move_dim_to_major(layout: XlaLayout, dim: int) -> XlaLayout:
    """The layout with one dimension moved to the most major end. Tiles and all else are kept.

    `shape_util.move_dim_to_major`, of shapes, drops them.
    """
    return layout.replace(minor_to_major=(*_without("move_dim_to_major", layout, dim), dim))


def move_dim_to_minor(layout: XlaLayout, dim: int) -> XlaLayout:
    """The layout with one dimension moved to the most minor end. Tiles and all else are kept."""
    return layout.replace(minor_to_major=(dim, *_without("move_dim_to_minor", layout, dim)))


def _without(name: str, layout: XlaLayout, dim: int) -> list[int]:
    if dim not in layout.minor_to_major:
        msg = f"{name}: {cut(layout)} has no dimension {shown(dim)}"
        raise ValueError(msg)
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
        msg = "byte_strides_is_major_to_minor: must have equal lengths"
        msg += f", got {shown(steps)} and {shown(sizes)}"
        raise ValueError(msg)
    width = element_type.byte_width or 0
    return all(s == width * math.prod(sizes[d + 1 :]) for d, s in enumerate(steps))
