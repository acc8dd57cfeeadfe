"""Shapes and layouts validated, in XLA's order of checks; each error shows shape and layout."""

from __future__ import annotations

from tensorlayout.words import cut, shown
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.shapes import UNBOUNDED, Shape
from tensorlayout.xla.tiles import COMBINE

_MOST = 2**63


def validate_layout_for_shape(layout: XlaLayout, shape: Shape) -> None:
    """Nothing where `layout` fits the sizes of `shape`; ValueError for the first problem.

    Checked: one order entry per dimension, in range, none twice; tail alignment; no index type,
    pointer type or physical shape; tiles not empty, of positive sizes or stars; element size not
    negative; splits inside their physical dimension and increasing. A tuple has no layout; token
    and opaque accept any.

    Not checked, as in XLA: the memory space, odd element sizes, tiles longer than the rank, and a
    star in the most minor place, which means nothing (it is refused where positions are asked for).
    """
    if shape.is_tuple:
        raise _misfit(layout, shape, "a tuple has no layout of its own")
    if shape.is_buffer:
        shape = shape.elements[0]
    if not shape.is_array:
        return
    order, rank = layout.minor_to_major, shape.rank
    if len(order) != rank:
        raise _misfit(layout, shape, f"the order has {len(order)} entries for {rank} dimensions")
    seen: set[int] = set()
    for dim in order:
        if not 0 <= dim < rank:
            rule = f"the order has {shown(dim)}, which is not from 0 to {rank - 1}"
            raise _misfit(layout, shape, rule)
        if dim in seen:
            raise _misfit(layout, shape, f"the order has {shown(dim)} twice")
        seen.add(dim)
    for name in ("index_type", "pointer_type", "physical_shape"):
        if getattr(layout, name) is not None:
            raise _misfit(layout, shape, f"{name} belongs to sparse arrays")
    for tile in layout.tiles:
        if not tile.dimensions or any(n < 1 and n != COMBINE for n in tile.dimensions):
            raise _misfit(layout, shape, f"the tile {cut(tile)} has no sizes, or one below 1")
    if layout.element_size_in_bits < 0:
        bits = layout.element_size_in_bits
        raise _misfit(layout, shape, f"the element size of {shown(bits)} bits is negative")
    _validate_splits(layout, shape)


def _validate_splits(layout: XlaLayout, shape: Shape) -> None:
    seen: set[int] = set()
    for split in layout.split_configs:
        at, points = split.dimension, split.split_indices
        if not 0 <= at < shape.rank or at in seen:
            rule = f"the split dimension {shown(at)} is not from 0 to {shape.rank - 1},"
            rule += " or there twice"
            raise _misfit(layout, shape, rule)
        seen.add(at)
        size = shape.dimensions[layout.minor_to_major[-1 - at]]
        low = 0
        for point in points:
            if not low < point < size:
                rule = f"the split points {shown(points)} do not increase from 1 to {size - 1}"
                raise _misfit(layout, shape, rule)
            low = point


def _misfit(layout: XlaLayout, shape: Shape, rule: str) -> ValueError:
    return ValueError(f"layout {cut(layout)} of shape {cut(shape.to_string())}: {rule}")


def validate_shape(shape: Shape) -> None:
    """Nothing where the whole shape is sound, layouts included; ValueError for the first problem.

    Sizes and layouts of all arrays; the count of elements and the bytes must stay below 2**63. An
    array without a layout is an error. As in XLA, a size of 0 makes the count 0 from there on, so
    that sizes after it may be as large as they like, and unbounded sizes are left out of it.
    """
    _validate(shape, allow_missing_layouts=False)


def validate_shape_with_optional_layout(shape: Shape) -> None:
    """As `validate_shape`, but arrays may be without a layout."""
    _validate(shape, allow_missing_layouts=True)


def _validate(shape: Shape, *, allow_missing_layouts: bool) -> None:
    for element in shape.elements:
        _validate(element, allow_missing_layouts=allow_missing_layouts)
    if not shape.is_array:
        return
    validate_size(shape)
    if shape.layout is not None:
        validate_layout_for_shape(shape.layout, shape)
    elif not allow_missing_layouts:
        msg = f"shape {cut(shape)}: has no layout"
        raise ValueError(msg)


def validate_size(shape: Shape) -> None:
    """ValueError where the elements or the bytes of an array are 2**63 or more."""
    count = 1
    for size in shape.dimensions:
        if size != UNBOUNDED:
            count *= size
        if count >= _MOST:  # before a size of 0 could end it, as XLA does; and no endless product
            msg = f"shape {cut(shape.to_string())}: has 2**63 elements or more"
            raise ValueError(msg)
    if count * (shape.element_type.byte_width or 0) >= _MOST:
        msg = f"shape {cut(shape.to_string())}: has 2**63 bytes or more"
        raise ValueError(msg)


def validate_layout_in_shape(shape: Shape, allow_missing_layouts: bool = False) -> None:
    """The layout of each array of a shape validated; a missing one is an error unless allowed."""
    for element in shape.elements:
        validate_layout_in_shape(element, allow_missing_layouts)
    if not shape.is_array:
        return
    if shape.layout is not None:
        validate_layout_for_shape(shape.layout, shape)
    elif not allow_missing_layouts:
        msg = f"shape {cut(shape)}: has no layout"
        raise ValueError(msg)
