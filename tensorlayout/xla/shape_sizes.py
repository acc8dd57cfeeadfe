"""ShapeUtil: how many elements, slots and bytes a shape takes, and its strides."""

from __future__ import annotations

import math

from tensorlayout.words import cut, shown
from tensorlayout.xla import tiles as tiling
from tensorlayout.xla.layout_positions import minor_to_major, physical_sizes
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shape_making import checked_array
from tensorlayout.xla.shapes import UNBOUNDED, Shape, with_arrays


def elements_in(shape: Shape) -> int:
    """The number of elements of an array, padding not counted; bounded dimensions by their bound.

    ValueError for an unbounded dimension, or no array.
    """
    if UNBOUNDED in checked_array("elements_in", shape).dimensions:
        msg = f"elements_in: an unbounded dimension has no count, got {cut(shape)}"
        raise ValueError(msg)
    return math.prod(shape.dimensions)


def static_extent_product(shape: Shape) -> int:
    """The product of the sizes, unbounded ones left out."""
    sizes = checked_array("static_extent_product", shape).dimensions
    return math.prod(n for n in sizes if n != UNBOUNDED)


def elements_in_recursive(shape: Shape) -> int:
    """The elements of all arrays in a tuple; ValueError for a token or opaque in it."""
    if shape.is_tuple:
        return sum(map(elements_in_recursive, shape.elements))
    return elements_in(shape)


def is_zero_element_array(shape: Shape) -> bool:
    """Whether it is an array with a size of 0; tuples never are."""
    return shape.is_array and 0 in shape.dimensions


def byte_size_of_primitive_type(element_type: PrimitiveType) -> int:
    """The **bytes** of one unpacked element: 1 for pred and sub-byte types.

    ValueError for a type that no array has.
    """
    if element_type.byte_width is None:
        msg = f"byte_size_of_primitive_type: {element_type.text} has no size"
        raise ValueError(msg)
    return element_type.byte_width


def byte_size_of(shape: Shape, pointer_size: int = -1) -> int:
    """The **bytes** of the top-level buffer **without tiles and tail padding**.

    For an array the elements alone, in the layout's element size; a pointer per element of a tuple;
    0 for a token, a pointer for opaque. Sub-byte types without ``E(n)`` take a byte each. What an
    array really takes is `physical_byte_size`.

    ValueError for a tuple or opaque without a `pointer_size`.

    >>> from tensorlayout.xla import parse_shape
    >>> tiled = parse_shape("f32[3,5]{1,0:T(2,2)}")
    >>> byte_size_of(tiled), physical_byte_size(tiled)
    (60, 96)
    """
    if shape.is_buffer:
        return byte_size_of(shape.elements[0], pointer_size)
    if shape.is_array:
        return byte_size_of_elements(shape)
    if shape.element_type is PrimitiveType.TOKEN:
        return 0
    if shape.is_tuple:
        return byte_size_of_tuple_index_table(shape, pointer_size)
    return _pointer("byte_size_of", shape, pointer_size)


def _pointer(name: str, shape: Shape, pointer_size: int) -> int:
    if pointer_size < 1:
        msg = f"{name}: {cut(shape)} needs a pointer_size of at least 1, got {shown(pointer_size)}"
        raise ValueError(msg)
    return pointer_size


def byte_size_of_tuple_index_table(shape: Shape, pointer_size: int = -1) -> int:
    """The **bytes** of a tuple's table: a pointer per element."""
    if not shape.is_tuple:
        msg = f"byte_size_of_tuple_index_table: must be a tuple, got {cut(shape)}"
        raise ValueError(msg)
    return len(shape.elements) * _pointer("byte_size_of_tuple_index_table", shape, pointer_size)


def byte_size_of_elements(shape: Shape) -> int:
    """The **bytes** of an array's elements, **without tiles and tail padding**."""
    return _bytes_of(shape, elements_in(shape))


def byte_size_of_elements_recursive(shape: Shape) -> int:
    """The same summed over a tuple; a token takes 0. ValueError for opaque."""
    if shape.is_tuple or shape.is_buffer:
        return sum(map(byte_size_of_elements_recursive, shape.elements))
    if shape.element_type is PrimitiveType.TOKEN:
        return 0
    return byte_size_of_elements(shape)


def element_size_in_bits(shape: Shape) -> int:
    """The **bits** of a stored element: the layout's ``E(n)``, else the type's whole bytes."""
    checked_array("element_size_in_bits", shape)
    if shape.layout is not None and shape.layout.element_size_in_bits:
        return shape.layout.element_size_in_bits
    return 8 * byte_size_of_primitive_type(shape.element_type)


def _bytes_of(shape: Shape, slots: int) -> int:
    return -(-slots * element_size_in_bits(shape) // 8)


def array_size(shape: Shape) -> int:
    """The **bytes** of an array's buffer as XLA's ArraySize counts them: with three traps.

    Only the **first tile** counts; **without tiles the tail alignment is ignored**; where a later
    tile does not divide an earlier one it is too small. `physical_byte_size` has none of them.

    ValueError for a star, which XLA would take for a number.

    >>> from tensorlayout.xla import parse_shape
    >>> tail = parse_shape("f32[3,5]{1,0:L(32)}")
    >>> array_size(tail), physical_byte_size(tail)
    (60, 128)
    """
    sizes, tiles = physical_sizes("array_size", shape)
    if not tiles:
        return byte_size_of_elements(shape)
    if tiles[0].has_star:
        msg = f"array_size: does not know stars, use physical_byte_size, got {cut(shape)}"
        raise ValueError(msg)
    return _bytes_of(shape, _aligned(shape, math.prod(tiling.expanded(sizes, tiles[:1]))))


def _aligned(shape: Shape, slots: int) -> int:
    step = 1 if shape.layout is None else shape.layout.tail_padding_alignment
    return -(-slots // step) * step


def physical_size(shape: Shape) -> int:
    """The **slots** of an array's buffer, all tiles, stars and the tail alignment counted.

    >>> from tensorlayout.xla import parse_shape
    >>> physical_size(parse_shape("f32[3,5]{1,0:T(2,2)L(32)}"))
    32
    """
    sizes, tiles = physical_sizes("physical_size", shape)
    return _aligned(shape, math.prod(tiling.expanded(sizes, tiles)))


def physical_byte_size(shape: Shape) -> int:
    """The **bytes** of an array's buffer: all tiles, stars, the tail and ``E(n)`` counted.

    >>> from tensorlayout.xla import parse_shape
    >>> physical_byte_size(parse_shape("f32[1000,1]{1,0:T(8,128)}"))
    512000
    """
    return _bytes_of(shape, physical_size(shape))


def growth_factor(shape: Shape) -> float:
    """How many times the bytes of its elements an array takes; 1.0 where it has none.

    >>> from tensorlayout.xla import parse_shape
    >>> growth_factor(parse_shape("f32[1000,1]{1,0:T(8,128)}"))
    128.0
    """
    elements = byte_size_of_elements(shape)
    return physical_byte_size(shape) / elements if elements else 1.0


def array_data_size(shape: Shape) -> int:
    """The **bytes** up to the last element, as XLA's ArrayDataSize counts them.

    By `layout_util.linear_index`, so the **first tile alone** counts, and none for vectors; **a
    tiled array without elements may give a number above 0**. `physical_byte_size` is what the whole
    buffer takes. ValueError for a star.

    >>> from tensorlayout.xla import parse_shape
    >>> empty = parse_shape("f32[0,3]{1,0:T(2,2)}")
    >>> array_data_size(empty), physical_byte_size(empty)
    (12, 0)
    """
    sizes, tiles = physical_sizes("array_data_size", shape)
    first = () if len(sizes) < 2 else tiles[:1]
    tiling.checked_tiles(first)
    if any(tile.has_star for tile in first):
        msg = f"array_data_size: does not know stars, got {cut(shape)}"
        raise ValueError(msg)
    last, now = [n - 1 for n in sizes], list(sizes)
    for tile in first:
        missing = len(tile.dimensions) - len(now)
        last, now = [0] * missing + last, [1] * missing + now
        kept = len(now) - len(tile.dimensions)
        pairs = [_divided(e, t) for e, t in zip(last[kept:], tile.dimensions, strict=True)]
        now = list(tiling.expanded(now, [tile]))
        last = [*last[:kept], *(q for q, _ in pairs), *(r for _, r in pairs)]
    return _bytes_of(shape, tiling.row_major(last, now) + 1)


def _divided(number: int, by: int) -> tuple[int, int]:
    """Quotient and rest as in C++, towards 0: -1, the last index of no elements, gives 0 and -1."""
    return (-(-number // by), number + -number // by * by) if number < 0 else divmod(number, by)


def update_element_size_in_bits(shape: Shape, pack_subbyte_types: bool) -> Shape:
    """The shape with the element size of each layout set: to the bits of sub-byte types, or to 0.

    Arrays without a layout are left alone; pred is never packed.
    """

    def packed(array: Shape) -> Shape:
        if array.layout is None:
            return array
        packs = pack_subbyte_types and array.element_type.is_sub_byte
        bits = array.element_type.bit_width if packs else 0
        return array.replace(layout=array.layout.replace(element_size_in_bits=bits or 0))

    return with_arrays(shape, packed)


def strides_for_shape(shape: Shape) -> tuple[int, ...]:
    """The strides in **elements** by sizes and order, **tiles ignored**.

    With a size of 0 the strides of more major dimensions are 0, as in XLA. ValueError without a
    layout, or for unbounded sizes.

    >>> from tensorlayout.xla import parse_shape
    >>> strides_for_shape(parse_shape("f32[3,5,7]{0,2,1}"))
    (1, 21, 3)
    """
    physical_sizes("strides_for_shape", shape)
    strides, step = [0] * shape.rank, 1
    for dim in minor_to_major(shape):
        strides[dim] = step
        step *= shape.dimensions[dim]
    return tuple(strides)


def unpacked_byte_strides(shape: Shape) -> tuple[int, ...]:
    """The strides in **bytes** by sizes, order and the type's whole bytes; **tiles ignored**, too.

    The layout's element size is ignored: packed nibbles have no byte strides.
    """
    width = byte_size_of_primitive_type(checked_array("unpacked_byte_strides", shape).element_type)
    return tuple(s * width for s in strides_for_shape(shape))


byte_strides_for_shape = unpacked_byte_strides


def byte_strides(shape: Shape) -> tuple[int, ...] | None:
    """The strides in **bytes**, **tiles ignored**; None for packed elements or without a layout."""
    if not shape.is_array or shape.layout is None or element_size_in_bits(shape) % 8:
        return None
    return unpacked_byte_strides(shape)
