"""XLA's ShapeUtil: creating shapes and deriving others; tuples, and their parts by path."""
# mypy: disable-error-code="empty-body"
# ruff: noqa: D103 - `define_by` writes the docstrings

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tensorlayout.errors import raise_named_error, short_repr, truncate
from tensorlayout.layout import permute_order, row_major_order
from tensorlayout.xla.calling import (
    define_by,
    export_with_argument_checks,
    require,
    require_in_range,
)
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.permutations import checked_permutation
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import UNBOUNDED, Shape, ShapeIndex

PartVisitor = Callable[[Shape, ShapeIndex], object]


def make_shape(
    element_type: PrimitiveType, dimensions: Sequence[int], dynamic: Sequence[bool] = ()
) -> Shape:
    """Return an array with the row-major layout, or without sizes also the token or opaque shape.

    `dynamic`: a flag per size. A size of `UNBOUNDED` is dynamic unless `dynamic` says otherwise.

    Raises `ValueError` for negative `dimensions`, a wrong number of flags, and 2**63 bytes or more.
    """
    if not element_type.is_array and not dimensions:
        return Shape(element_type)
    flags = dynamic or [n == UNBOUNDED for n in dimensions]
    shape = Shape.array(element_type, dimensions, XlaLayout.row_major(len(dimensions)), flags)
    shape.validate_size()
    return shape


make_validated_shape = make_shape
make_shape_with_descending_layout = make_shape


def make_shape_with_dense_layout(
    element_type: PrimitiveType,
    dimensions: Sequence[int],
    minor_to_major: Sequence[int],
    **properties: Any,
) -> Shape:
    """Return a validated array with an order and other fields of `XlaLayout`.

    An element size equal to the byte width of the type is stored as 0.

    Raises `ValueError` if the fields do not fit each other, and for token, opaque and tuple.
    """
    # XLA stores an element size that says nothing new as 0, which makes layouts that mean the same
    # compare equal.
    if properties.get("element_size_in_bits") == 8 * element_type.unpacked_bytes:
        properties["element_size_in_bits"] = 0
    layout = XlaLayout(minor_to_major=tuple(minor_to_major), **properties)
    shape = make_shape(element_type, dimensions).replace(layout=layout)
    shape.validate_layout(layout)
    return shape


make_validated_shape_with_dense_layout = make_shape_with_dense_layout


def make_shape_with_descending_layout_and_same_physical_layout(shape: Shape) -> Shape:
    """Return an array with the same memory in row-major order, its most major dimension first.

    Tiles, element size, tail alignment, memory space and dynamic flags are kept; split configs are
    dropped. A shape without a layout is treated as row-major, and gets that layout.

    >>> from tensorlayout.xla import parse_shape
    >>> shape = parse_shape("f32[128,24,4,48,48]{2,4,3,1,0}")
    >>> print(make_shape_with_descending_layout_and_same_physical_layout(shape))
    f32[128,24,48,48,4]{4,3,2,1,0}
    """
    # Physical order becomes logical order: sizes and flags are listed from the most major dimension
    # on.
    order, layout = shape.order[::-1], shape.layout or XlaLayout()
    row_major_layout = layout.replace(minor_to_major=row_major_order(shape.rank), split_configs=())
    return shape.reordered(order, row_major_layout)


def make_tuple_shape(elements: Sequence[Shape]) -> Shape:
    """Return a tuple of valid shapes; arrays in it may lack a layout."""
    shape = Shape.tuple_of(elements)
    shape.validate(allow_missing_layouts=True)
    return shape


@define_by("elements[0] if len(elements) == 1 else make_tuple_shape(elements)")
def make_maybe_tuple_shape(elements: Sequence[Shape]) -> Shape: ...
@define_by("Shape.tuple_of(())")
def make_nil() -> Shape: ...
@define_by("Shape.opaque()")
def make_opaque_shape() -> Shape: ...
@define_by("Shape.token()")
def make_token_shape() -> Shape: ...
@define_by("make_shape(element_type, ())")
def make_scalar_shape(element_type: PrimitiveType) -> Shape: ...


@dataclass(frozen=True, slots=True)
class ProgramShape:
    """Signature of a computation: named parameters and the result.

    >>> from tensorlayout.xla import parse_shape
    >>> print(make_program_shape([parse_shape("f32[2]")], parse_shape("s32[]"), ["x"]))
    (x: f32[2]) -> s32[]
    """

    parameters: tuple[Shape, ...]
    result: Shape
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return ``(name: shape, …) -> shape``, without layouts; (unknown) stands for no name."""
        names = [*self.names, *("" for _ in self.parameters)]
        pairs = zip(names, self.parameters, strict=False)
        parameter_list = ", ".join(f"{name or '(unknown)'}: {s.to_string()}" for name, s in pairs)
        return f"({parameter_list}) -> {self.result.to_string()}"


@define_by("ProgramShape(tuple(parameters), result, tuple(names))")
def make_program_shape(
    parameters: Sequence[Shape], result: Shape, names: Sequence[str] = ()
) -> ProgramShape: ...


def make_static_shape(shape: Shape) -> Shape:
    """Return the shape with all dynamic flags cleared and the metadata prefix 0.

    Raises `ValueError` for an unbounded dimension, which XLA leaves as a marker in the size.
    """
    is_static = not shape.is_unbounded_dynamic
    require(is_static, "shape: an unbounded dimension has no static size", shape)
    # The prefix describes dynamic sizes, of which none are left.
    unprefixed = shape.with_layouts(lambda layout: layout.replace(metadata_prefix_bytes=0))
    return unprefixed.with_arrays(lambda array: array.replace(dynamic=(False,) * array.rank))


def change_element_type(shape: Shape, element_type: PrimitiveType) -> Shape:
    """Return the shape with another element type in each array.

    The layout's element size becomes 0, unless the new type is a sub-byte type: **then the old size
    is kept, even if it is wrong for the new type**. `shape_util.update_element_size_in_bits`
    corrects it.
    """
    require(element_type.is_array, "element_type: must be the type of an array", element_type)
    if not element_type.is_sub_byte:
        shape = shape.with_layouts(lambda layout: layout.replace(element_size_in_bits=0))
    return shape.with_arrays(lambda array: array.replace(element_type=element_type))


@define_by("change_element_type(shape, shape.element_type.component)", "ValueError if not complex.")
def complex_component_shape(shape: Shape) -> Shape: ...


def update_element_size_in_bits(shape: Shape, pack_subbyte_types: bool) -> Shape:
    """Return the shape with the element size of each layout set to the bits of its type, or 0.

    Only sub-byte types are packed, if `pack_subbyte_types`, and pred never is. Arrays without a
    layout are unchanged.
    """

    def set_element_size(array: Shape) -> Shape:
        packs = pack_subbyte_types and array.element_type.is_sub_byte
        bits = (packs and array.element_type.bit_width) or 0
        return array.with_layouts(lambda layout: layout.replace(element_size_in_bits=bits))

    return shape.with_arrays(set_element_size)


def device_shape_to_host_shape(shape: Shape) -> Shape:
    """Return the shape with layouts reduced to orders and split configs."""
    return shape.with_layouts(
        lambda a: XlaLayout(minor_to_major=a.minor_to_major, split_configs=a.split_configs)
    )


# Compares texts, because comparing layouts ignores the metadata prefix.
@define_by("str(device_shape_to_host_shape(shape)) == str(shape)")
def device_shape_is_host_shape(shape: Shape) -> bool: ...


# --- adding dimensions ---------------------------------------------------------------------------


def _append_dimension(bound: int, shape: Shape, order: tuple[int, ...]) -> Shape:
    layout = (shape.layout or XlaLayout()).replace(minor_to_major=order)
    sizes, dynamic_flags = (*shape.dimensions, bound), (*shape.dynamic, bound == UNBOUNDED)
    return shape.replace(dimensions=sizes, dynamic=dynamic_flags, layout=layout)


@define_by(
    "_append_dimension(bound, shape, (*shape.order, shape.rank))", "The last dimension is new."
)
def append_major_dimension(bound: int, shape: Shape) -> Shape: ...
@define_by(
    "_append_dimension(bound, shape, (shape.rank, *shape.order))", "The last dimension is new."
)
def append_minor_dimension(bound: int, shape: Shape) -> Shape: ...


def prepend_major_dimension(bound: int, shape: Shape) -> Shape:
    """Return an array with a new logical dimension 0, which is the most major in memory.

    Only the order of the layout is kept: **tiles, dynamic flags and all other fields are lost**, as
    in XLA.
    """
    # Existing dimensions move up by one, and 0 becomes the slowest: last in the minor-to-major
    # order.
    order = (*(d + 1 for d in shape.order), 0)
    row_major_shape = make_shape(shape.element_type, (bound, *shape.dimensions))
    return row_major_shape.replace(layout=XlaLayout(minor_to_major=order))


def insert_dimension_at_index(shape: Shape, dim_idx: int, bound: int) -> Shape:
    """Return an array with a new dimension before dimension `dim_idx`, next to it in memory.

    Inserted last, the new dimension becomes the most minor one. **Tiles and dynamic flags are
    lost**, as in XLA.

    Raises `ValueError` unless `dim_idx` is from 0 to the rank.
    """
    order, sizes = shape.order, shape.dimensions
    require_in_range(range(shape.rank + 1), "dim_idx", dim_idx, shape)
    # In {0,2,1} before dimension 1, the old dimensions become {0,3,2}. The new 1 goes right behind
    # the old one, now 2, which makes it the next more major: {0,3,2,1}.
    new_order = [d + (d >= dim_idx) for d in order]
    new_order.insert(new_order.index(dim_idx + 1) + 1 if dim_idx < shape.rank else 0, dim_idx)
    row_major_shape = make_shape(shape.element_type, (*sizes[:dim_idx], bound, *sizes[dim_idx:]))
    return row_major_shape.replace(layout=XlaLayout(minor_to_major=tuple(new_order)))


def insert_dimensions_at_index(shape: Shape, dim_idx: int, bounds: Sequence[int]) -> Shape:
    """Return an array after `insert_dimension_at_index` for each bound, the last one first.

    >>> from tensorlayout.xla import parse_shape
    >>> print(insert_dimensions_at_index(parse_shape("f32[10,20,30]{0,2,1}"), 1, [40, 50]))
    f32[10,40,50,20,30]{0,4,3,2,1}
    """
    # Each is inserted at the same place, in front of those before it, hence the last one first.
    for bound in reversed(bounds):
        shape = insert_dimension_at_index(shape, dim_idx, bound)
    return shape


# --- removing and moving dimensions --------------------------------------------------------------


@define_by("shape.delete_dimensions([dim_to_delete])")
def delete_dimension(dim_to_delete: int, shape: Shape) -> Shape: ...
@define_by("shape.delete_dimensions(dims_to_delete)")
def delete_dimensions(dims_to_delete: Sequence[int], shape: Shape) -> Shape: ...
@define_by("shape.delete_dimensions([d for d in range(shape.rank) if not keep(d)])")
def filter_dimensions(keep: Callable[[int], bool], shape: Shape) -> Shape: ...
@define_by(
    "filter_dimensions(lambda d: shape.dimensions[d] != 1, shape)", "Tiles stay as they are."
)
def drop_degenerate_dimensions(shape: Shape) -> Shape: ...


def move_dim_to_major(shape: Shape, dim: int) -> Shape:
    """Return the shape with one logical dimension made the most major in each array.

    Only the order of the layouts is kept, as in XLA; `layout_util.move_dim_to_major` keeps the
    other fields. An array without a layout is treated as row-major.
    """

    def move_dim_of_layout(array: Shape) -> Shape:
        # Through a layout only for its check that the dimension exists.
        order = XlaLayout(minor_to_major=array.order).order_without(dim)
        return array.replace(layout=XlaLayout(minor_to_major=(*order, dim)))

    return shape.with_arrays(move_dim_of_layout)


def permute_dimensions(permutation: Sequence[int], shape: Shape) -> Shape:
    """Return a transpose without moving data: dimension i is `shape`'s ``permutation[i]``.

    The order of the layout is adapted, its other fields are kept. (Before February 2021, XLA took
    the inverse permutation.)

    Raises `ValueError` if `permutation` is not a permutation of the dimensions.

    >>> from tensorlayout.xla import parse_shape
    >>> print(permute_dimensions([1, 2, 0], parse_shape("f32[10,100,1000]{2,1,0}")))
    f32[100,1000,10]{1,0,2}
    """
    dims = checked_permutation("permutation", permutation, shape.rank)
    order = permute_order(shape.order, dims)
    layout = None if shape.layout is None else shape.layout.replace(minor_to_major=order)
    return shape.reordered(dims, layout)


@define_by("permute_dimensions(permutation, shape)")
def reorder_logical_dimensions(shape: Shape, permutation: Sequence[int]) -> Shape: ...


def permute_dimensions_ignoring_layout(permutation: Sequence[int], shape: Shape) -> Shape:
    """Return sizes and dynamic flags permuted under the **same** layout: elements do move."""
    dims = checked_permutation("permutation", permutation, shape.rank)
    return shape.as_array().reordered(dims, shape.layout)


# --- tuples and their parts ----------------------------------------------------------------------


@define_by("shape.is_tuple and any(element.is_tuple for element in shape.elements)")
def is_nested_tuple(shape: Shape) -> bool: ...
@define_by("shape.is_tuple and not shape.elements")
def is_empty_tuple(shape: Shape) -> bool: ...
@define_by("len(shape.as_tuple().elements)")
def tuple_element_count(shape: Shape) -> int: ...
@define_by(
    "Shape.tuple_of((*tuple_shape.as_tuple().elements, shape))",
    "Shapes are values: `tuple_shape` stays.",
)
def append_shape_to_tuple(shape: Shape, tuple_shape: Shape) -> Shape: ...


@define_by("get_subshape(shape.as_tuple(), (index,))")
def get_tuple_element_shape(shape: Shape, index: int) -> Shape: ...


def slice_tuple(shape: Shape, start: int, limit: int) -> Shape:
    """Return a tuple of the elements from `start` to before `limit`."""
    count = tuple_element_count(shape)
    rule = f"must be 0 <= start <= limit <= {count} for"
    require(0 <= start <= limit <= count, f"slice_tuple: {rule}", start, limit, subject=shape)
    return Shape.tuple_of(shape.elements[start:limit])


def update_tuple_shape(shape: Shape, index: int, tuple_shape: Shape) -> Shape:
    """Return the tuple with one element replaced."""
    get_tuple_element_shape(tuple_shape, index)
    elements = list(tuple_shape.elements)
    elements[index] = shape
    return Shape.tuple_of(elements)


def get_subshape(shape: Shape, index: Sequence[int]) -> Shape:
    """Return the part of a shape at a path; ValueError if there is none.

    >>> from tensorlayout.xla import parse_shape
    >>> print(get_subshape(parse_shape("(f32[42], (f32[101], pred[33]))"), (1, 1)))
    pred[33]{0}
    """
    subshape = shape.part_at(index)
    if subshape is None:
        raise_named_error(
            "index", f"the path {short_repr(tuple(index))} leads nowhere in {truncate(shape)}"
        )
    return subshape


try_get_subshape = get_subshape


@define_by("shape.subshapes(post_order=post_order)")
def subshapes(shape: Shape, *, post_order: bool = False) -> Iterator[tuple[ShapeIndex, Shape]]: ...
@define_by("shape.part_at(index) is not None")
def index_is_valid(shape: Shape, index: Sequence[int]) -> bool: ...
@define_by("not get_subshape(shape, index).is_tuple", "**An empty tuple is no leaf either.**")
def is_leaf_index(shape: Shape, index: Sequence[int]) -> bool: ...
@define_by("shape.leaves()")
def get_leaf_shapes(shape: Shape) -> list[tuple[ShapeIndex, Shape]]: ...
@define_by("len(shape.leaves())", "Empty tuples are no leaves.")
def get_leaf_count(shape: Shape) -> int: ...
@define_by("sum(1 for _ in shape.subshapes())")
def subshape_count(shape: Shape) -> int: ...
@define_by("[leaf for _, leaf in shape.leaves()]", "Empty tuples vanish.")
def flatten_tuple_shape(shape: Shape) -> list[Shape]: ...


def _visit_parts(visit: PartVisitor, parts: Iterable[tuple[ShapeIndex, Shape]]) -> None:
    for path, part in parts:
        visit(part, path)


@define_by("_visit_parts(visit, shape.subshapes())")
def for_each_subshape(shape: Shape, visit: PartVisitor) -> None: ...
@define_by("_visit_parts(visit, shape.subshapes(post_order=True))")
def for_each_subshape_post_order(shape: Shape, visit: PartVisitor) -> None: ...
@define_by("_visit_parts(visit, shape.leaves())")
def for_each_leaf_shape(shape: Shape, visit: PartVisitor) -> None: ...


export_with_argument_checks(globals())
