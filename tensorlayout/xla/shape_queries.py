"""XLA's ShapeUtil: what a shape can be asked, its sizes and strides, and its indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla import tiles as tiling
from tensorlayout.xla.calling import offer, refuse
from tensorlayout.xla.checks import (
    checked_array,
    checked_tuple,
    layout_in,
    major_to_minor,
    must_have_no_star,
    order_in,
    physical_sizes,
)
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shapes import UNBOUNDED, Shape, parts_of


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
    return sum(n != 1 for n in checked_array(shape).dimensions)


def is_scalar(shape: Shape) -> bool:
    """Whether a shape is an array without dimensions."""
    return shape.is_array and not shape.dimensions


def is_effective_scalar(shape: Shape) -> bool:
    """Whether a shape is an array whose sizes are all 1."""
    return shape.is_array and all(n == 1 for n in shape.dimensions)


def is_scalar_with_element_type(shape: Shape, element_type: PrimitiveType) -> bool:
    """Whether a shape is an array without dimensions, and of one type."""
    return is_scalar(shape) and shape.element_type is element_type


def get_dimension_number(shape: Shape, dimension_number: int) -> int:
    """A dimension number counted from the front; negative ones count from the end.

    ValueError outside -n to n - 1. XLA gives back numbers of n and more as they came.
    """
    rank = checked_array(shape).rank
    if not -rank <= dimension_number < rank:
        refuse(f"must be from {-rank} to {rank - 1} for {cut(shape)}", shown(dimension_number))
    return dimension_number % rank


def get_dimension(shape: Shape, dimension_number: int) -> int:
    """The size of a dimension; negative numbers count from the end.

    >>> from tensorlayout.xla import parse_shape
    >>> get_dimension(parse_shape("f32[2,3]"), -1)
    3
    """
    return shape.dimensions[get_dimension_number(shape, dimension_number)]


def element_is_integral(shape: Shape) -> bool:
    """Whether the element type is an integer; pred is none."""
    return shape.element_type.is_integral


def element_is_floating(shape: Shape) -> bool:
    """Whether the element type is a real floating-point one."""
    return shape.element_type.is_floating


def element_is_complex(shape: Shape) -> bool:
    """Whether the element type is complex."""
    return shape.element_type.category == "complex"


def element_is_signed(shape: Shape) -> bool:
    """Whether the element type is a signed integer or a real float; **complex is not signed**."""
    return shape.element_type.category in ("signed integer", "floating point")


def element_has_bit_width(shape: Shape, bits: int) -> bool:
    """Whether a value of the type has so many bits; pred has 1. False for no array."""
    return shape.is_array and shape.element_type.bit_width == bits


def element_is_integral_with_bits(shape: Shape, bits: int) -> bool:
    """Whether the element type is an integer of so many bits."""
    return element_is_integral(shape) and element_has_bit_width(shape, bits)


def has_primitive_type(shape: Shape, element_type: PrimitiveType) -> bool:
    """Whether the shape, or anything in it, has a type."""
    return any(part.element_type is element_type for part in parts_of(shape))


def is_effectively_most_major_dimension(shape: Shape, dimension: int) -> bool:
    """Whether all dimensions that are more major than one have size 1. ValueError without layout.

    >>> from tensorlayout.xla import parse_shape
    >>> is_effectively_most_major_dimension(parse_shape("f32[1,1,16,1,279]{4,0,1,2,3}"), 2)
    True
    """
    order, dim = order_in(shape)[::-1], get_dimension_number(shape, dimension)
    return all(shape.dimensions[d] == 1 for d in order[: order.index(dim)])


def last_dim_is_minor_most(shape: Shape) -> bool:
    """Whether the last logical dimension is the most minor; True without a layout.

    ValueError for a scalar, for which XLA reads past the end.
    """
    order = major_to_minor(shape)
    if not order:
        refuse("a scalar has no last dimension", cut(shape))
    return order[-1] == shape.rank - 1


def has_degenerate_dimensions(shape: Shape) -> bool:
    """Whether some dimension of an array has size 1; 0 does not count."""
    return 1 in checked_array(shape).dimensions


def packed_factor_for_1d_interleaved_array(shape: Shape) -> int:
    """The first size of the last of a vector's exactly three tiles, which has two sizes.

    ValueError for anything else.
    """
    tiles = () if shape.layout is None else shape.layout.tiles
    if shape.rank != 1 or len(tiles) != 3 or len(tiles[2].dimensions) != 2:
        rule = "must be a vector with three tiles, the last of two sizes"
        refuse(rule, cut(shape))
    return tiles[2].dimensions[0]


# --- sizes ---------------------------------------------------------------------------------------


def elements_in(shape: Shape) -> int:
    """The number of elements of an array, padding not counted; bounded dimensions by their bound.

    ValueError for an unbounded dimension, or no array.
    """
    if UNBOUNDED in checked_array(shape).dimensions:
        refuse("an unbounded dimension has no count", cut(shape))
    return math.prod(shape.dimensions)


def static_extent_product(shape: Shape) -> int:
    """The product of the sizes, unbounded ones left out."""
    sizes = checked_array(shape).dimensions
    return math.prod(n for n in sizes if n != UNBOUNDED)


def elements_in_recursive(shape: Shape) -> int:
    """The elements of all arrays in a tuple; ValueError for a token or opaque in it."""
    if shape.is_tuple:
        return sum(map(elements_in_recursive, shape.elements))
    return elements_in(shape)


def is_zero_element_array(shape: Shape) -> bool:
    """Whether a shape is an array with a size of 0; tuples never are."""
    return shape.is_array and 0 in shape.dimensions


def byte_size_of_primitive_type(element_type: PrimitiveType) -> int:
    """The **bytes** of one unpacked element: 1 for pred and sub-byte types.

    ValueError for a type that no array has.
    """
    if element_type.byte_width is None:
        refuse(f"{element_type.text} has no size")
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
    return _pointer(shape, pointer_size)


def _pointer(shape: Shape, pointer_size: int) -> int:
    if pointer_size < 1:
        refuse(f"{cut(shape)} needs a pointer_size of at least 1", shown(pointer_size))
    return pointer_size


def byte_size_of_tuple_index_table(shape: Shape, pointer_size: int = -1) -> int:
    """The **bytes** of a tuple's table: a pointer per element."""
    return len(checked_tuple(shape).elements) * _pointer(shape, pointer_size)


def byte_size_of_elements(shape: Shape) -> int:
    """The **bytes** of an array's elements, **without tiles and tail padding**."""
    return _bytes_of(shape, elements_in(shape))


def byte_size_of_elements_recursive(shape: Shape) -> int:
    """The **bytes** of the elements of all arrays in a shape, **without tiles and tail padding**.

    A token takes 0. ValueError for opaque.
    """
    if shape.is_tuple or shape.is_buffer:
        return sum(map(byte_size_of_elements_recursive, shape.elements))
    if shape.element_type is PrimitiveType.TOKEN:
        return 0
    return byte_size_of_elements(shape)


def element_size_in_bits(shape: Shape) -> int:
    """The **bits** of a stored element: the layout's ``E(n)``, else the type's whole bytes."""
    checked_array(shape)
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
    sizes, tiles = physical_sizes(shape)
    if not tiles:
        return byte_size_of_elements(shape)
    must_have_no_star(tiles[:1], shape, instead="physical_byte_size")
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
    sizes, tiles = physical_sizes(shape)
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
    sizes, tiles = physical_sizes(shape)
    first = () if len(sizes) < 2 else tiles[:1]
    tiling.checked_tiles(first)
    must_have_no_star(first, shape)
    last = tiling.position([n - 1 for n in sizes], sizes, first, _divided)
    return _bytes_of(shape, last + 1)


def _divided(number: int, by: int) -> tuple[int, int]:
    """Quotient and rest as in C++, towards 0: -1, the last index of no elements, gives 0 and -1."""
    return (-(-number // by), number + -number // by * by) if number < 0 else divmod(number, by)


def strides_for_shape(shape: Shape) -> tuple[int, ...]:
    """The strides in **elements** by sizes and order, **tiles ignored**.

    With a size of 0 the strides of more major dimensions are 0, as in XLA. ValueError without a
    layout, or for unbounded sizes.

    >>> from tensorlayout.xla import parse_shape
    >>> strides_for_shape(parse_shape("f32[3,5,7]{0,2,1}"))
    (1, 21, 3)
    """
    physical_sizes(shape)
    strides, step = [0] * shape.rank, 1
    for dim in layout_in(shape).minor_to_major:
        strides[dim] = step
        step *= shape.dimensions[dim]
    return tuple(strides)


def unpacked_byte_strides(shape: Shape) -> tuple[int, ...]:
    """The strides in **bytes** by sizes, order and the type's whole bytes; **tiles ignored**, too.

    The layout's element size is ignored: packed nibbles have no byte strides.
    """
    width = byte_size_of_primitive_type(checked_array(shape).element_type)
    return tuple(s * width for s in strides_for_shape(shape))


byte_strides_for_shape = unpacked_byte_strides


def byte_strides(shape: Shape) -> tuple[int, ...] | None:
    """The strides in **bytes**, **tiles ignored**; None for packed elements or without a layout."""
    if not shape.is_array or shape.layout is None or element_size_in_bits(shape) % 8:
        return None
    return unpacked_byte_strides(shape)


# --- indices, in the order of memory -------------------------------------------------------------


def indices(
    shape: Shape,
    base: Sequence[int] | None = None,
    count: Sequence[int] | None = None,
    incr: Sequence[int] | None = None,
) -> Iterator[tuple[int, ...]]:
    """The indices from `base`, in steps of `incr`, below ``base + count``, minor to major.

    By default all of the array. `count` is an **extent, not a number of steps**: 3 in steps of 2
    gives 0 and 2. A count of 0 pins its dimension to the base, as if it had one step. A size of 0
    anywhere gives nothing; a scalar has one index.

    ValueError for lists of another length, negative counts, and steps below 1 where there is a
    count (XLA would go round for ever).

    >>> from tensorlayout.xla import parse_shape
    >>> list(indices(parse_shape("f32[10,10]"), (2, 3), (3, 1), (2, 1)))
    [(2, 3), (4, 3)]
    """
    order = major_to_minor(shape)
    starts = _checked("base", shape, [0] * shape.rank if base is None else base)
    extents = _checked("count", shape, shape.dimensions if count is None else count)
    steps = _checked("incr", shape, [1] * shape.rank if incr is None else incr)
    if UNBOUNDED in shape.dimensions or any(n < 0 for n in extents):
        refuse(f"the counts must be known and not negative for {cut(shape)}", shown(extents))
    if any(n and s < 1 for n, s in zip(extents, steps, strict=True)):
        refuse(f"incr must be at least 1 where there is a count for {cut(shape)}", shown(steps))
    runs = [
        range(b, b + max(n, 1), s if n else 1)
        for b, n, s in zip(starts, extents, steps, strict=True)
    ]
    return iter(()) if 0 in shape.dimensions else _visited(runs, order)


def _checked(name: str, shape: Shape, numbers: Sequence[int]) -> tuple[int, ...]:
    entries = checked_integers(name, numbers)
    if len(entries) != shape.rank:
        refuse(f"{name} must have {shape.rank} entries for {cut(shape)}", shown(entries))
    return entries


def _visited(runs: list[range], order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The product of the runs, the last dimension of `order` fastest; a step costs no more."""
    counts = [len(runs[d]) for d in order]
    for number in range(math.prod(counts)):
        at = dict(zip(order, tiling.unravelled(number, counts), strict=True))
        yield tuple(run[at[d]] for d, run in enumerate(runs))


def for_each_index(
    shape: Shape,
    visit: Callable[[tuple[int, ...]], object],
    base: Sequence[int] | None = None,
    count: Sequence[int] | None = None,
    incr: Sequence[int] | None = None,
) -> None:
    """Call `visit` with each of the `indices`; **it stops where that returns False**.

    None, or anything else than False, goes on. An error of the visitor stops it at once.
    """
    for index in indices(shape, base, count, incr):
        if visit(index) is False:
            return


for_each_index_with_status = for_each_index
for_each_index_no_status = for_each_index


def for_each_index_parallel(
    shape: Shape,
    visit: Callable[[tuple[int, ...]], object],
    base: Sequence[int] | None = None,
    count: Sequence[int] | None = None,
    incr: Sequence[int] | None = None,
) -> None:
    """Call `visit` with each of the `indices`, **whatever it returns**.

    XLA promises no order, here it is kept.
    """
    for index in indices(shape, base, count, incr):
        visit(index)


offer(__name__)
