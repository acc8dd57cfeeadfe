"""ShapeUtil: tuples, and the parts of a shape by their path of tuple positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla.shapes import Shape

ShapeIndex = tuple[int, ...]


def _checked_tuple(name: str, shape: Shape) -> Shape:
    if not shape.is_tuple:
        msg = f"{name}: must be a tuple, got {cut(shape)}"
        raise ValueError(msg)
    return shape


def is_nested_tuple(shape: Shape) -> bool:
    """Whether it is a tuple that holds a tuple."""
    return shape.is_tuple and any(element.is_tuple for element in shape.elements)


def is_empty_tuple(shape: Shape) -> bool:
    """Whether it is ``()``."""
    return shape.is_tuple and not shape.elements


def tuple_element_count(shape: Shape) -> int:
    """The number of elements of a tuple."""
    return len(_checked_tuple("tuple_element_count", shape).elements)


def get_tuple_element_shape(shape: Shape, index: int) -> Shape:
    """One element of a tuple; ValueError for a position that it does not have."""
    count = tuple_element_count(shape)
    if not 0 <= index < count:
        msg = f"get_tuple_element_shape: must be below the {count} elements of {cut(shape)}"
        msg += f", got {shown(index)}"
        raise ValueError(msg)
    return shape.elements[index]


def slice_tuple(shape: Shape, start: int, limit: int) -> Shape:
    """The elements from `start` up to, and without, `limit`."""
    count = tuple_element_count(shape)
    if not 0 <= start <= limit <= count:
        rule = f"must be 0 <= start <= limit <= {count} for {cut(shape)}"
        msg = f"slice_tuple: {rule}, got {shown(start)} and {shown(limit)}"
        raise ValueError(msg)
    return Shape.tuple_of(shape.elements[start:limit])


def append_shape_to_tuple(shape: Shape, tuple_shape: Shape) -> Shape:
    """The tuple with one more element; returned, for shapes are values here."""
    return Shape.tuple_of((*_checked_tuple("append_shape_to_tuple", tuple_shape).elements, shape))


def update_tuple_shape(shape: Shape, index: int, tuple_shape: Shape) -> Shape:
    """The tuple with one element replaced; returned, for shapes are values here."""
    get_tuple_element_shape(tuple_shape, index)
    elements = list(tuple_shape.elements)
    elements[index] = shape
    return Shape.tuple_of(elements)


def index_is_valid(shape: Shape, index: Sequence[int]) -> bool:
    """Whether a path leads somewhere; the empty one leads to the shape itself."""
    return _found(shape, index) is not None


def _found(shape: Shape, index: Sequence[int]) -> Shape | None:
    for position in checked_integers("index", index):
        if not shape.is_tuple or not 0 <= position < len(shape.elements):
            return None
        shape = shape.elements[position]
    return shape


def get_subshape(shape: Shape, index: Sequence[int]) -> Shape:
    """The part of a shape at a path; ValueError where there is none.

    >>> from tensorlayout.xla import parse_shape
    >>> print(get_subshape(parse_shape("(f32[42], (f32[101], pred[33]))"), (1, 1)))
    pred[33]{0}
    """
    found = _found(shape, index)
    if found is None:
        msg = f"get_subshape: the path {shown(tuple(index))} leads nowhere in {cut(shape)}"
        raise ValueError(msg)
    return found


try_get_subshape = get_subshape


def is_leaf_index(shape: Shape, index: Sequence[int]) -> bool:
    """Whether a path leads to what is no tuple; **an empty tuple is no leaf either**."""
    return not get_subshape(shape, index).is_tuple


def subshapes(shape: Shape, *, post_order: bool = False) -> Iterator[tuple[ShapeIndex, Shape]]:
    """Every part of a shape with its path, parents first, or with `post_order` last."""
    yield from _walked(shape, (), post_order)


def _walked(
    shape: Shape, index: ShapeIndex, post_order: bool
) -> Iterator[tuple[ShapeIndex, Shape]]:
    if not post_order:
        yield index, shape
    if shape.is_tuple:
        for position, element in enumerate(shape.elements):
            yield from _walked(element, (*index, position), post_order)
    if post_order:
        yield index, shape


def get_leaf_shapes(shape: Shape) -> list[tuple[ShapeIndex, Shape]]:
    """All parts that are no tuples, with their paths, from left to right."""
    return [(index, found) for index, found in subshapes(shape) if not found.is_tuple]


def get_leaf_count(shape: Shape) -> int:
    """The number of leaves; empty tuples are none."""
    return len(get_leaf_shapes(shape))


def subshape_count(shape: Shape) -> int:
    """The number of parts, the shape itself and tuples counted."""
    return sum(1 for _ in subshapes(shape))


def flatten_tuple_shape(shape: Shape) -> list[Shape]:
    """The leaves from left to right; empty tuples vanish."""
    return [found for _, found in get_leaf_shapes(shape)]


def for_each_subshape(shape: Shape, visit: Callable[[Shape, ShapeIndex], object]) -> None:
    """Call `visit` with every part and its path, parents first."""
    for index, found in subshapes(shape):
        visit(found, index)


def for_each_subshape_post_order(
    shape: Shape, visit: Callable[[Shape, ShapeIndex], object]
) -> None:
    """Call `visit` with every part and its path, parents last."""
    for index, found in subshapes(shape, post_order=True):
        visit(found, index)


def for_each_leaf_shape(shape: Shape, visit: Callable[[Shape, ShapeIndex], object]) -> None:
    """Call `visit` with every leaf and its path, from left to right."""
    for index, found in get_leaf_shapes(shape):
        visit(found, index)
