"""ShapeUtil: what a shape can be asked."""

from __future__ import annotations

from tensorlayout.words import cut, shown
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shape_making import checked_array, major_to_minor
from tensorlayout.xla.shapes import Shape, arrays_of, with_arrays


def human_string(shape: Shape) -> str:
    """The text of a shape without layouts."""
    return shape.to_string()


def human_string_with_layout(shape: Shape) -> str:
    """The text of a shape with the layouts that it has."""
    return shape.to_string(layout=True)


def true_num_dimensions(shape: Shape) -> int:
    """How many dimensions have a size other than 1; **a size of 0 counts**.

    >>> from tensorlayout.xla import parse_shape
    >>> true_num_dimensions(parse_shape("f32[3,0,1]"))
    2
    """
    return sum(n != 1 for n in checked_array("true_num_dimensions", shape).dimensions)


def is_scalar(shape: Shape) -> bool:
    """Whether it is an array without dimensions."""
    return shape.is_array and not shape.dimensions


def is_effective_scalar(shape: Shape) -> bool:
    """Whether it is an array whose sizes are all 1."""
    return shape.is_array and all(n == 1 for n in shape.dimensions)


def is_scalar_with_element_type(shape: Shape, element_type: PrimitiveType) -> bool:
    """Whether it is a scalar of one type."""
    return is_scalar(shape) and shape.element_type is element_type


def get_dimension_number(shape: Shape, dimension_number: int) -> int:
    """A dimension number counted from the front; negative ones count from the end.

    ValueError outside -n to n - 1. XLA gives back numbers of n and more as they came.
    """
    rank = checked_array("get_dimension_number", shape).rank
    if not -rank <= dimension_number < rank:
        rule = f"must be from {-rank} to {rank - 1} for {cut(shape)}"
        msg = f"get_dimension_number: {rule}, got {shown(dimension_number)}"
        raise ValueError(msg)
    return dimension_number % rank


def get_dimension(shape: Shape, dimension_number: int) -> int:
    """The size of a dimension; negative numbers count from the end.

    >>> from tensorlayout.xla import parse_shape
    >>> get_dimension(parse_shape("f32[2,3]"), -1)
    3
    """
    return shape.dimensions[get_dimension_number(shape, dimension_number)]


def element_is_integral(shape: Shape) -> bool:
    """Whether the type is an integer; pred is none."""
    return shape.element_type.is_integral


def element_is_floating(shape: Shape) -> bool:
    """Whether the type is a real floating-point one."""
    return shape.element_type.is_floating


def element_is_complex(shape: Shape) -> bool:
    """Whether the type is complex."""
    return shape.element_type.category == "complex"


def element_is_signed(shape: Shape) -> bool:
    """Whether the type is a signed integer or a real float; **complex is not signed**."""
    return shape.element_type.category in ("signed integer", "floating point")


def element_has_bit_width(shape: Shape, bits: int) -> bool:
    """Whether a value of the type has so many bits; pred has 1. False for no array."""
    return shape.is_array and shape.element_type.bit_width == bits


def element_is_integral_with_bits(shape: Shape, bits: int) -> bool:
    """Whether the type is an integer of so many bits."""
    return element_is_integral(shape) and element_has_bit_width(shape, bits)


def has_primitive_type(shape: Shape, element_type: PrimitiveType) -> bool:
    """Whether the shape, or anything in it, has a type."""
    inner = any(has_primitive_type(element, element_type) for element in shape.elements)
    return shape.element_type is element_type or inner


def is_effectively_most_major_dimension(shape: Shape, dimension: int) -> bool:
    """Whether all dimensions that are more major than one have size 1. ValueError without layout.

    >>> from tensorlayout.xla import parse_shape
    >>> is_effectively_most_major_dimension(parse_shape("f32[1,1,16,1,279]{4,0,1,2,3}"), 2)
    True
    """
    name = "is_effectively_most_major_dimension"
    if shape.layout is None:
        msg = f"{name}: must be an array with a layout, got {cut(shape)}"
        raise ValueError(msg)
    order, dim = major_to_minor(name, shape), get_dimension_number(shape, dimension)
    return all(shape.dimensions[d] == 1 for d in order[: order.index(dim)])


def last_dim_is_minor_most(shape: Shape) -> bool:
    """Whether the last logical dimension is the most minor; True without a layout.

    ValueError for a scalar, for which XLA reads past the end.
    """
    order = major_to_minor("last_dim_is_minor_most", shape)
    if not order:
        msg = f"last_dim_is_minor_most: a scalar has no last dimension, got {cut(shape)}"
        raise ValueError(msg)
    return order[-1] == shape.rank - 1


def has_degenerate_dimensions(shape: Shape) -> bool:
    """Whether some dimension of an array has size 1; 0 does not count."""
    return 1 in checked_array("has_degenerate_dimensions", shape).dimensions


def device_shape_to_host_shape(shape: Shape) -> Shape:
    """The shape with nothing of its layouts but orders and split configs."""

    def plain(array: Shape) -> Shape:
        layout = array.layout
        if layout is None:
            return array
        kept = XlaLayout(minor_to_major=layout.minor_to_major, split_configs=layout.split_configs)
        return array.replace(layout=kept)

    return with_arrays(shape, plain)


def device_shape_is_host_shape(shape: Shape) -> bool:
    """Whether no layout has tiles, memory space, element size, tail alignment or prefix."""
    layouts = [array.layout for array in arrays_of(shape) if array.layout is not None]
    unprefixed = not any(layout.metadata_prefix_bytes for layout in layouts)
    return unprefixed and device_shape_to_host_shape(shape) == shape


def packed_factor_for_1d_interleaved_array(shape: Shape) -> int:
    """The first size of the last of a vector's exactly three tiles, which has two sizes.

    ValueError for anything else.
    """
    tiles = () if shape.layout is None else shape.layout.tiles
    if shape.rank != 1 or len(tiles) != 3 or len(tiles[2].dimensions) != 2:
        rule = "must be a vector with three tiles, the last of two sizes"
        msg = f"packed_factor_for_1d_interleaved_array: {rule}, got {cut(shape)}"
        raise ValueError(msg)
    return tiles[2].dimensions[0]
