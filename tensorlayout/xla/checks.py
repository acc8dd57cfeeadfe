"""Shapes held to rules: whether they are valid, in XLA's order of checks, and arrays among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tensorlayout.layout.tiling import COMBINE
from tensorlayout.words import cut, shown
from tensorlayout.xla.calling import refuse, remembered
from tensorlayout.xla.shapes import UNBOUNDED, Shape, XlaLayout, arrays_of
from tensorlayout.xla.tiles import Tile

__all__ = ["validate_shape", "validate_shape_with_optional_layout"]  # as `shape_util` has them


def validate_layout_for_shape(layout: XlaLayout, shape: Shape) -> None:
    """Nothing where `layout` fits the sizes of `shape`; ValueError for the first problem.

    Checked: one order entry per dimension, in range, none twice; tail alignment; no index type,
    pointer type or physical shape; tiles not empty, of positive sizes or stars; element size not
    negative; splits inside their physical dimension and increasing. A tuple has no layout; token
    and opaque accept any.

    Not checked, as in XLA: the memory space, odd element sizes, tiles longer than the rank, and a
    star in the most minor place, which means nothing (it is refused where positions are asked for).
    """
    shape = shape.elements[0] if shape.is_buffer else shape
    for rule in _problems(layout, shape):
        refuse(rule, about=f"layout {cut(layout)} of shape {cut(shape.to_string())}")


def _problems(layout: XlaLayout, shape: Shape) -> Iterator[str]:
    """What is wrong with a layout, in XLA's order."""
    if shape.is_tuple:
        yield "a tuple has no layout of its own"
    if not shape.is_array:
        return
    order, rank = layout.minor_to_major, shape.rank
    if len(order) != rank:
        yield f"the order has {len(order)} entries for {rank} dimensions"
    seen: set[int] = set()
    for dim in order:
        if not 0 <= dim < rank:
            yield f"the order has {shown(dim)}, which is not from 0 to {rank - 1}"
        if dim in seen:
            yield f"the order has {shown(dim)} twice"
        seen.add(dim)
    for name in ("index_type", "pointer_type", "physical_shape"):
        if getattr(layout, name) is not None:
            yield f"{name} belongs to sparse arrays"
    for tile in layout.tiles:
        if not tile.dimensions or any(n < 1 and n != COMBINE for n in tile.dimensions):
            yield f"the tile {cut(tile)} has no sizes, or one below 1"
    if layout.element_size_in_bits < 0:
        yield f"the element size of {shown(layout.element_size_in_bits)} bits is negative"
    split: set[int] = set()
    for at, points in ((s.dimension, s.split_indices) for s in layout.split_configs):
        if not 0 <= at < rank or at in split:
            yield f"the split dimension {shown(at)} is not from 0 to {rank - 1}, or there twice"
        split.add(at)
        size = shape.dimensions[order[-1 - at]]
        if points and any(high <= low for low, high in pairwise((0, *points, size))):
            yield f"the split points {shown(points)} do not increase from 1 to {size - 1}"


def validate_shape(shape: Shape) -> None:
    """Nothing where the whole shape is sound, layouts included; ValueError for the first problem.

    Sizes and layouts of all arrays; the count of elements and the bytes must stay below 2**63. An
    array without a layout is an error. As in XLA, a size of 0 makes the count 0 from there on, so
    that sizes after it may be as large as they like, and unbounded sizes are left out of it.
    """
    _validate(shape, sizes=True, allow_missing_layouts=False)


def validate_shape_with_optional_layout(shape: Shape) -> None:
    """Nothing where the shape is sound, with or without layouts; ValueError for the first problem.

    The sizes of all arrays, and those layouts that there are, are held to what `validate_shape`
    asks of them.
    """
    _validate(shape, sizes=True, allow_missing_layouts=True)


def validate_layout_in_shape(shape: Shape, allow_missing_layouts: bool = False) -> None:
    """Nothing where each array of a shape has a valid layout; ValueError for the first problem.

    A missing layout is one, unless it is allowed. Numbers of elements and bytes are not looked at.
    """
    _validate(shape, sizes=False, allow_missing_layouts=allow_missing_layouts)


def _validate(shape: Shape, *, sizes: bool, allow_missing_layouts: bool) -> None:
    for array in arrays_of(shape):
        if sizes:
            validate_size(array)
        if array.layout is not None:
            validate_layout_for_shape(array.layout, array)
        elif not allow_missing_layouts:
            refuse("has no layout", about=f"shape {cut(array)}")


def validate_size(shape: Shape) -> None:
    """ValueError where the elements or the bytes of an array are 2**63 or more."""
    count = 1
    for size in shape.dimensions:
        if size != UNBOUNDED:
            count *= size
        if count >= 2**63:  # before a size of 0 could end it, as XLA does; and no endless product
            refuse("has 2**63 elements or more", about=f"shape {cut(shape.to_string())}")
    if count * (shape.element_type.byte_width or 0) >= 2**63:
        refuse("has 2**63 bytes or more", about=f"shape {cut(shape.to_string())}")


# --- arrays ---------------------------------------------------------------------------------------


def checked_array(shape: Shape) -> Shape:
    """`shape`, or a ValueError where it is no array."""
    if not shape.is_array:
        refuse("must be an array", cut(shape))
    return shape


def checked_tuple(shape: Shape) -> Shape:
    """`shape`, or a ValueError where it is no tuple."""
    if not shape.is_tuple:
        refuse("must be a tuple", cut(shape))
    return shape


def layout_in(shape: Shape) -> XlaLayout:
    """The layout of an array of known sizes; ValueError for anything else."""
    if not shape.is_array or shape.layout is None or UNBOUNDED in shape.dimensions:
        refuse("must be an array of known sizes with a layout", cut(shape))
    return shape.layout


@remembered
def physical_sizes(shape: Shape) -> tuple[tuple[int, ...], tuple[Tile, ...]]:
    """The sizes from the most major dimension on, and the tiles, of a valid array.

    ValueError for anything else than an array of known sizes with a valid layout.
    """
    layout = layout_in(shape)
    validate_layout_for_shape(layout, shape)
    return tuple(shape.dimensions[d] for d in layout.minor_to_major[::-1]), layout.tiles


def major_to_minor(shape: Shape) -> tuple[int, ...]:
    """The logical dimensions of an array from the most major on, row-major without a layout."""
    layout = checked_array(shape).layout
    if layout is None:
        return tuple(range(shape.rank))
    validate_layout_for_shape(layout, shape)
    return layout.minor_to_major[::-1]


def order_in(shape: Shape) -> tuple[int, ...]:
    """The order of an array with a valid layout; ValueError for anything else."""
    if shape.layout is None:
        refuse("must be an array with a layout", cut(shape))
    return major_to_minor(shape)[::-1]


def is_inside(shape: Shape, index: Sequence[int]) -> bool:
    """Whether an index has one entry per dimension of an array, each from 0 to below the size."""
    pairs = zip(index, shape.dimensions, strict=False)
    return shape.is_array and len(index) == shape.rank and all(0 <= i < n for i, n in pairs)


def must_be_inside(shape: Shape, index: Sequence[int]) -> None:
    """ValueError for an index that is not inside of an array."""
    if not is_inside(shape, index):
        refuse(f"the index must lie inside {cut(shape)}", shown(index))


def must_have_no_star(tiles: Sequence[Tile], shape: Shape, instead: str = "") -> None:
    """ValueError for a star, where XLA would take it for a number; `instead` is what knows them."""
    if any(tile.has_star for tile in tiles):
        refuse(f"does not know stars{instead and f', use {instead}'}", cut(shape))
