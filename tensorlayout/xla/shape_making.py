"""XLA's ShapeUtil: shapes made, and made from others; tuples, and their parts by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tensorlayout.layout import descending
from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla import layout_util
from tensorlayout.xla.calling import offer, refuse
from tensorlayout.xla.checks import (
    checked_array,
    checked_tuple,
    major_to_minor,
    validate_layout_for_shape,
    validate_shape_with_optional_layout,
    validate_size,
)
from tensorlayout.xla.permutations import checked_permutation
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import UNBOUNDED, Shape, XlaLayout, with_arrays, with_layouts

ShapeIndex = tuple[int, ...]


def make_shape(
    element_type: PrimitiveType, dimensions: Sequence[int], dynamic: Sequence[bool] = ()
) -> Shape:
    """An array with the row-major layout; without sizes also the token or opaque shape.

    `dynamic`: a flag per size. `UNBOUNDED` as a size is dynamic by itself, unless flags are given
    and say otherwise. ValueError for negative sizes, a wrong number of flags, 2**63 bytes or more.

    >>> print(make_shape(PrimitiveType.F32, (2, 3)))
    f32[2,3]{1,0}
    """
    if not element_type.is_array and not dimensions:
        return Shape(element_type)
    flags = dynamic or [n == UNBOUNDED for n in dimensions]
    shape = Shape.array(element_type, dimensions, XlaLayout.row_major(len(dimensions)), flags)
    validate_size(shape)
    return shape


make_validated_shape = make_shape
make_shape_with_descending_layout = make_shape


def make_shape_with_dense_layout(
    element_type: PrimitiveType,
    dimensions: Sequence[int],
    minor_to_major: Sequence[int],
    **properties: Any,
) -> Shape:
    """An array with an explicit order and other fields of `XlaLayout`, validated.

    An element size that is the byte width of the type is stored as 0. ValueError for anything that
    does not fit, and for token, opaque and tuple.
    """
    if not element_type.is_array:
        refuse("must be the type of an array", element_type.text)
    if properties.get("element_size_in_bits") == 8 * (element_type.byte_width or 0):
        properties["element_size_in_bits"] = 0
    layout = XlaLayout(minor_to_major=tuple(minor_to_major), **properties)
    shape = make_shape(element_type, dimensions).replace(layout=layout)
    validate_layout_for_shape(layout, shape)
    return shape


make_validated_shape_with_dense_layout = make_shape_with_dense_layout


def make_shape_with_descending_layout_and_same_physical_layout(shape: Shape) -> Shape:
    """An array of the same memory in row-major order: its dimensions sorted, most major first.

    Tiles, element size, tail alignment, memory space and dynamic flags are kept, split configs are
    dropped. A shape without a layout counts as row-major, and gets that layout.

    >>> from tensorlayout.xla import parse_shape
    >>> shape = parse_shape("f32[128,24,4,48,48]{2,4,3,1,0}")
    >>> print(make_shape_with_descending_layout_and_same_physical_layout(shape))
    f32[128,24,48,48,4]{4,3,2,1,0}
    """
    order, layout = major_to_minor(shape), shape.layout or XlaLayout()
    plain = layout.replace(minor_to_major=descending(shape.rank), split_configs=())
    return shape.reordered(order, plain)


def make_tuple_shape(elements: Sequence[Shape]) -> Shape:
    """A tuple of valid shapes; arrays in it may be without a layout."""
    for element in elements:
        validate_shape_with_optional_layout(element)
    return Shape.tuple_of(elements)


def make_maybe_tuple_shape(elements: Sequence[Shape]) -> Shape:
    """The only element of a list of shapes, or a tuple of them where there are others."""
    return elements[0] if len(elements) == 1 else make_tuple_shape(elements)


def make_nil() -> Shape:
    """The empty tuple."""
    return Shape.tuple_of(())


def make_opaque_shape() -> Shape:
    """The shape of a value that XLA does not look into: ``opaque[]``."""
    return Shape.opaque()


def make_token_shape() -> Shape:
    """The shape of the ordering token: ``token[]``."""
    return Shape.token()


def make_scalar_shape(element_type: PrimitiveType) -> Shape:
    """The shape of one number: an array without dimensions."""
    return make_shape(element_type, ())


@dataclass(frozen=True, slots=True)
class ProgramShape:
    """The signature of a computation: parameters with their names, and the result."""

    parameters: tuple[Shape, ...]
    result: Shape
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """``(name: shape, …) -> shape``, without layouts; a nameless parameter is (unknown)."""
        names = [*self.names, *("" for _ in self.parameters)]
        pairs = zip(names, self.parameters, strict=False)
        listed = ", ".join(f"{name or '(unknown)'}: {s.to_string()}" for name, s in pairs)
        return f"({listed}) -> {self.result.to_string()}"


def make_program_shape(
    parameters: Sequence[Shape], result: Shape, names: Sequence[str] = ()
) -> ProgramShape:
    """The signature of a computation: its parameters, their names, and its result.

    >>> from tensorlayout.xla import parse_shape
    >>> print(make_program_shape([parse_shape("f32[2]")], parse_shape("s32[]"), ["x"]))
    (x: f32[2]) -> s32[]
    """
    return ProgramShape(tuple(parameters), result, tuple(names))


def make_static_shape(shape: Shape) -> Shape:
    """The shape with all dynamic flags cleared, and the metadata prefix 0.

    ValueError for an unbounded dimension, which in XLA keeps its marker as a size.
    """
    if shape.is_unbounded_dynamic:
        refuse("an unbounded dimension has no static size", cut(shape))
    plain = with_layouts(shape, lambda layout: layout.replace(metadata_prefix_bytes=0))
    return with_arrays(plain, lambda array: array.replace(dynamic=(False,) * array.rank))


def change_element_type(shape: Shape, element_type: PrimitiveType) -> Shape:
    """The shape with another type in each array.

    The layout's element size becomes 0, unless the new type is a sub-byte one: **then the old size
    is kept, even where it is not that of the new type** (`shape_util.update_element_size_in_bits`
    sets it right).
    """
    if not element_type.is_array:
        refuse("must be the type of an array", element_type.text)
    if not element_type.is_sub_byte:
        shape = with_layouts(shape, lambda layout: layout.replace(element_size_in_bits=0))
    return with_arrays(shape, lambda array: array.replace(element_type=element_type))


def complex_component_shape(shape: Shape) -> Shape:
    """The shape of the real parts of a complex one; ValueError for another type."""
    return change_element_type(shape, shape.element_type.component)


def update_element_size_in_bits(shape: Shape, pack_subbyte_types: bool) -> Shape:
    """The shape with the element size of each layout set: to the bits of sub-byte types, or to 0.

    Arrays without a layout are left alone; pred is never packed.
    """

    def packed(array: Shape) -> Shape:
        packs = pack_subbyte_types and array.element_type.is_sub_byte
        bits = (packs and array.element_type.bit_width) or 0
        return with_layouts(array, lambda layout: layout.replace(element_size_in_bits=bits))

    return with_arrays(shape, packed)


def device_shape_to_host_shape(shape: Shape) -> Shape:
    """The shape with nothing of its layouts but orders and split configs."""

    def plain(layout: XlaLayout) -> XlaLayout:
        return XlaLayout(minor_to_major=layout.minor_to_major, split_configs=layout.split_configs)

    return with_layouts(shape, plain)


def device_shape_is_host_shape(shape: Shape) -> bool:
    """Whether no layout has tiles, memory space, element size, tail alignment or prefix."""
    return str(device_shape_to_host_shape(shape)) == str(shape)  # the prefix is never compared


# --- dimensions added ----------------------------------------------------------------------------


def _appended(bound: int, shape: Shape, *, major: bool) -> Shape:
    order = major_to_minor(shape)[::-1]
    at = (*order, shape.rank) if major else (shape.rank, *order)
    layout = (shape.layout or XlaLayout()).replace(minor_to_major=at)
    sizes, flags = (*shape.dimensions, bound), (*shape.dynamic, bound == UNBOUNDED)
    return shape.replace(dimensions=sizes, dynamic=flags, layout=layout)


def append_major_dimension(bound: int, shape: Shape) -> Shape:
    """A new last logical dimension of size `bound`, at the most major end in memory."""
    return _appended(bound, shape, major=True)


def append_minor_dimension(bound: int, shape: Shape) -> Shape:
    """A new last logical dimension of size `bound`, at the most minor end in memory."""
    return _appended(bound, shape, major=False)


def prepend_major_dimension(bound: int, shape: Shape) -> Shape:
    """A new logical dimension 0 of size `bound`, at the most major end in memory.

    **Tiles, dynamic flags and all else of the layout but its order are lost**, as in XLA.

    >>> from tensorlayout.xla import parse_shape
    >>> print(prepend_major_dimension(40, parse_shape("f32[10,20,30]{0,2,1}")))
    f32[40,10,20,30]{1,3,2,0}
    """
    order = major_to_minor(shape)[::-1]
    layout = XlaLayout(minor_to_major=(*(d + 1 for d in order), 0))
    return make_shape(shape.element_type, (bound, *shape.dimensions)).replace(layout=layout)


def insert_dimension_at_index(shape: Shape, dim_idx: int, bound: int) -> Shape:
    """A new logical dimension in front of dimension `dim_idx`, right above it in memory.

    Inserted last, it goes to the most minor end. **Tiles and dynamic flags are lost**, as in XLA.
    ValueError for a place that is not from 0 to n.
    """
    order = major_to_minor(shape)[::-1]
    if not 0 <= dim_idx <= shape.rank:
        refuse(f"must be from 0 to {shape.rank} for {cut(shape)}", shown(dim_idx))
    moved = [d + (d >= dim_idx) for d in order]
    moved.insert(moved.index(dim_idx + 1) + 1 if dim_idx < shape.rank else 0, dim_idx)
    sizes = (*shape.dimensions[:dim_idx], bound, *shape.dimensions[dim_idx:])
    return make_shape(shape.element_type, sizes).replace(
        layout=XlaLayout(minor_to_major=tuple(moved))
    )


def insert_dimensions_at_index(shape: Shape, dim_idx: int, bounds: Sequence[int]) -> Shape:
    """Several new logical dimensions in front of dimension `dim_idx`, right above it in memory.

    Inserted last, they go to the most minor end. **Tiles and dynamic flags are lost**, as in XLA.
    ValueError for a place that is not from 0 to n.

    >>> from tensorlayout.xla import parse_shape
    >>> print(insert_dimensions_at_index(parse_shape("f32[10,20,30]{0,2,1}"), 1, [40, 50]))
    f32[10,40,50,20,30]{0,4,3,2,1}
    """
    for bound in reversed(bounds):
        shape = insert_dimension_at_index(shape, dim_idx, bound)
    return shape


# --- dimensions dropped and moved ----------------------------------------------------------------


def delete_dimension(dim_to_delete: int, shape: Shape) -> Shape:
    """The shape without one logical dimension; the layout follows, tiles stay as they are."""
    return shape.delete_dimensions([dim_to_delete])


def delete_dimensions(dims_to_delete: Sequence[int], shape: Shape) -> Shape:
    """The shape without logical dimensions, listed in any order."""
    return shape.delete_dimensions(dims_to_delete)


def filter_dimensions(keep: Callable[[int], bool], shape: Shape) -> Shape:
    """The shape with those dimensions alone for whose number `keep` is true."""
    return shape.delete_dimensions([d for d in range(shape.rank) if not keep(d)])


def drop_degenerate_dimensions(shape: Shape) -> Shape:
    """The shape without dimensions of size 1. Tiles stay as they are.

    >>> from tensorlayout.xla import parse_shape
    >>> print(drop_degenerate_dimensions(parse_shape("f32[1,7,1,6,5,1]{0,2,5,4,3,1}")))
    f32[7,6,5]{2,1,0}
    """
    return filter_dimensions(lambda d: shape.dimensions[d] != 1, shape)


def move_dim_to_major(shape: Shape, dim: int) -> Shape:
    """One logical dimension made the most major in each array; no layout counts as row-major.

    **Tiles and all else of the layouts but their order are lost**, as in XLA;
    `layout_util.move_dim_to_major` keeps them.
    """

    def moved(array: Shape) -> Shape:
        plain = XlaLayout(minor_to_major=major_to_minor(array)[::-1])
        return array.replace(layout=layout_util.move_dim_to_major(plain, dim))

    return with_arrays(shape, moved)


def permute_dimensions(permutation: Sequence[int], shape: Shape) -> Shape:
    """A transpose without moving data: dimension i is dimension ``permutation[i]`` of `shape`.

    The order of the layout follows, all else of it stays. (Before February 2021 XLA's permutation
    meant the inverse.) ValueError for what is no permutation.

    >>> from tensorlayout.xla import parse_shape
    >>> print(permute_dimensions([1, 2, 0], parse_shape("f32[10,100,1000]{2,1,0}")))
    f32[100,1000,10]{1,0,2}
    """
    dims = checked_permutation("permute_dimensions: permutation", permutation, shape.rank)
    order = [dims.index(d) for d in major_to_minor(shape)[::-1]]
    layout = None if shape.layout is None else shape.layout.replace(minor_to_major=order)
    return shape.reordered(dims, layout)


def reorder_logical_dimensions(shape: Shape, permutation: Sequence[int]) -> Shape:
    """A transpose without moving data: dimension i is dimension ``permutation[i]`` of `shape`.

    `permute_dimensions` takes the two arguments in the other order.
    """
    return permute_dimensions(permutation, shape)


def permute_dimensions_ignoring_layout(permutation: Sequence[int], shape: Shape) -> Shape:
    """Sizes and dynamic flags permuted under the **unchanged** layout: elements do move."""
    dims = checked_permutation("permute_dimensions_ignoring_layout", permutation, shape.rank)
    return checked_array(shape).reordered(dims, shape.layout)


# --- tuples, and parts by path -------------------------------------------------------------------


def is_nested_tuple(shape: Shape) -> bool:
    """Whether a shape is a tuple that holds a tuple."""
    return shape.is_tuple and any(element.is_tuple for element in shape.elements)


def is_empty_tuple(shape: Shape) -> bool:
    """Whether a shape is the empty tuple."""
    return shape.is_tuple and not shape.elements


def tuple_element_count(shape: Shape) -> int:
    """The number of elements of a tuple."""
    return len(checked_tuple(shape).elements)


def get_tuple_element_shape(shape: Shape, index: int) -> Shape:
    """One element of a tuple; ValueError for a position that it does not have."""
    count = tuple_element_count(shape)
    if not 0 <= index < count:
        refuse(f"must be below the {count} elements of {cut(shape)}", shown(index))
    return shape.elements[index]


def slice_tuple(shape: Shape, start: int, limit: int) -> Shape:
    """A tuple of the elements of another from `start` up to, and without, `limit`."""
    count = tuple_element_count(shape)
    if not 0 <= start <= limit <= count:
        rule = f"must be 0 <= start <= limit <= {count} for {cut(shape)}"
        refuse(rule, shown(start), shown(limit))
    return Shape.tuple_of(shape.elements[start:limit])


def append_shape_to_tuple(shape: Shape, tuple_shape: Shape) -> Shape:
    """The tuple with one more element; returned, for shapes are values here."""
    return Shape.tuple_of((*checked_tuple(tuple_shape).elements, shape))


def update_tuple_shape(shape: Shape, index: int, tuple_shape: Shape) -> Shape:
    """The tuple with one element replaced; returned, for shapes are values here."""
    get_tuple_element_shape(tuple_shape, index)
    elements = list(tuple_shape.elements)
    elements[index] = shape
    return Shape.tuple_of(elements)


def index_is_valid(shape: Shape, index: Sequence[int]) -> bool:
    """Whether a path leads to a part of a shape; the empty path leads to the shape itself."""
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
        refuse(f"the path {shown(tuple(index))} leads nowhere in {cut(shape)}")
    return found


try_get_subshape = get_subshape


def is_leaf_index(shape: Shape, index: Sequence[int]) -> bool:
    """Whether a path leads to what is no tuple; **an empty tuple is no leaf either**."""
    return not get_subshape(shape, index).is_tuple


def subshapes(shape: Shape, *, post_order: bool = False) -> Iterator[tuple[ShapeIndex, Shape]]:
    """Every part of a shape with its path, parents first, or with `post_order` last."""
    if not post_order:
        yield (), shape
    for position, element in enumerate(shape.elements if shape.is_tuple else ()):
        for path, found in subshapes(element, post_order=post_order):
            yield (position, *path), found
    if post_order:
        yield (), shape


def get_leaf_shapes(shape: Shape) -> list[tuple[ShapeIndex, Shape]]:
    """The leaves of a shape, which are no tuples, with their paths, from left to right."""
    return [(index, found) for index, found in subshapes(shape) if not found.is_tuple]


def get_leaf_count(shape: Shape) -> int:
    """The number of leaves of a shape; empty tuples are none."""
    return len(get_leaf_shapes(shape))


def subshape_count(shape: Shape) -> int:
    """The number of parts of a shape, itself and tuples counted."""
    return sum(1 for _ in subshapes(shape))


def flatten_tuple_shape(shape: Shape) -> list[Shape]:
    """The leaves of a shape from left to right; empty tuples vanish."""
    return [found for _, found in get_leaf_shapes(shape)]


def for_each_subshape(shape: Shape, visit: Callable[[Shape, ShapeIndex], object]) -> None:
    """Call `visit` with every part of a shape and its path, parents first."""
    for index, found in subshapes(shape):
        visit(found, index)


def for_each_subshape_post_order(
    shape: Shape, visit: Callable[[Shape, ShapeIndex], object]
) -> None:
    """Call `visit` with every part of a shape and its path, parents last."""
    for index, found in subshapes(shape, post_order=True):
        visit(found, index)


def for_each_leaf_shape(shape: Shape, visit: Callable[[Shape, ShapeIndex], object]) -> None:
    """Call `visit` with every leaf of a shape and its path, from left to right."""
    for index, found in get_leaf_shapes(shape):
        visit(found, index)


offer(__name__)
