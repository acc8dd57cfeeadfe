"""XLA's ShapeUtil: properties of shapes, sizes and strides, and iteration over indices.

It also exports `shape_making` and `shape_comparison`, which XLA has in the same class.
"""
# mypy: disable-error-code="empty-body"
# ruff: noqa: D103 - `define_by` writes the docstrings

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tensorlayout.layout import check_integers
from tensorlayout.xla import shape_comparison as _comparison
from tensorlayout.xla import shape_making as _making
from tensorlayout.xla import tiles as tiling
from tensorlayout.xla.calling import (
    define_by,
    export_with_argument_checks,
    require,
    require_in_range,
)
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shape_comparison import *  # noqa: F403 - each chapter says what it exports
from tensorlayout.xla.shape_making import *  # noqa: F403
from tensorlayout.xla.shapes import UNBOUNDED, Shape

Numbers = Sequence[int] | None  # of an array, one for each dimension
Visitor = Callable[[tuple[int, ...]], object]

# --- validation, text, types and dimensions ------------------------------------------------------


@define_by("shape.validate()")
def validate_shape(shape: Shape) -> None: ...
@define_by("shape.validate(allow_missing_layouts=True)")
def validate_shape_with_optional_layout(shape: Shape) -> None: ...
@define_by("Shape.allows(size, is_dynamic)", "Only a dynamic dimension may be `UNBOUNDED`.")
def is_valid_dimension_size(size: int, is_dynamic: bool) -> bool: ...
@define_by("shape.to_string()")
def human_string(shape: Shape) -> str: ...
@define_by("shape.to_string(layout=True)")
def human_string_with_layout(shape: Shape) -> str: ...
@define_by("sum(n != 1 for n in shape.as_array().dimensions)", "**A size of 0 counts.**")
def true_num_dimensions(shape: Shape) -> int: ...
@define_by("shape.is_array and not shape.dimensions")
def is_scalar(shape: Shape) -> bool: ...
@define_by("shape.is_array and all(n == 1 for n in shape.dimensions)")
def is_effective_scalar(shape: Shape) -> bool: ...
@define_by("is_scalar(shape) and shape.element_type is element_type")
def is_scalar_with_element_type(shape: Shape, element_type: PrimitiveType) -> bool: ...
@define_by("1 in shape.as_array().dimensions")
def has_degenerate_dimensions(shape: Shape) -> bool: ...
@define_by("shape.is_array and 0 in shape.dimensions")
def is_zero_element_array(shape: Shape) -> bool: ...
@define_by("shape.element_type.is_integral", "A pred is no integer.")
def element_is_integral(shape: Shape) -> bool: ...
@define_by("shape.element_type.is_floating", "Complex numbers are not.")
def element_is_floating(shape: Shape) -> bool: ...
@define_by("shape.element_type.category == 'complex'")
def element_is_complex(shape: Shape) -> bool: ...
@define_by(
    "shape.element_type.category in ('signed integer', 'floating point')",
    "**Complex numbers are not signed.**",
)
def element_is_signed(shape: Shape) -> bool: ...
@define_by("shape.is_array and shape.element_type.bit_width == bits", "The bits of pred are 1.")
def element_has_bit_width(shape: Shape, bits: int) -> bool: ...
@define_by("element_is_integral(shape) and element_has_bit_width(shape, bits)")
def element_is_integral_with_bits(shape: Shape, bits: int) -> bool: ...
@define_by("any(part.element_type is element_type for part in shape.parts())")
def has_primitive_type(shape: Shape, element_type: PrimitiveType) -> bool: ...
@define_by(
    "shape.dimensions[get_dimension_number(shape, dimension_number)]",
    "Negative ones count from the end.",
)
def get_dimension(shape: Shape, dimension_number: int) -> int: ...


def get_dimension_number(shape: Shape, dimension_number: int) -> int:
    """Return a non-negative dimension number; negative ones count from the end.

    Raises `ValueError` outside -rank to rank - 1. XLA returns numbers of rank or more unchanged.
    """
    rank = shape.as_array().rank
    require_in_range(range(-rank, rank), "dimension_number", dimension_number, shape)
    return dimension_number % rank


def is_effectively_most_major_dimension(shape: Shape, dimension: int) -> bool:
    """Return whether all more major dimensions have size 1; ValueError without a layout."""
    order = shape.own_order[::-1]
    place = order.index(get_dimension_number(shape, dimension))
    return all(shape.dimensions[d] == 1 for d in order[:place])


def last_dim_is_minor_most(shape: Shape) -> bool:
    """Return whether the last logical dimension is the most minor; True without a layout.

    Raises `ValueError` for a scalar, for which XLA reads out of bounds.
    """
    order = shape.order
    require(order, "shape: a scalar has no last dimension", shape)
    return order[0] == shape.rank - 1


def packed_factor_for_1d_interleaved_array(shape: Shape) -> int:
    """Return the first size of the last tile of a vector with three tiles.

    The tile must have two sizes; ValueError otherwise.
    """
    tiles = () if shape.layout is None else shape.layout.tiles
    # In bf16[1024]{0:T(1024)(128)(2,1)}, the interleaved vector of a TPU, the factor is the 2.
    is_interleaved = shape.rank == 1 and len(tiles) == 3 and len(tiles[2].dimensions) == 2
    require(
        is_interleaved, "shape: must be a vector with three tiles, the last of two sizes", shape
    )
    return tiles[2].dimensions[0]


# --- sizes ---------------------------------------------------------------------------------------


@define_by("shape.size")
def elements_in(shape: Shape) -> int: ...
@define_by("math.prod(n for n in shape.as_array().dimensions if n != UNBOUNDED)")
def static_extent_product(shape: Shape) -> int: ...
@define_by("sum(leaf.size for _, leaf in shape.leaves())", "ValueError for a token or opaque.")
def elements_in_recursive(shape: Shape) -> int: ...
@define_by("element_type.unpacked_bytes")
def byte_size_of_primitive_type(element_type: PrimitiveType) -> int: ...
@define_by("shape.element_bits")
def element_size_in_bits(shape: Shape) -> int: ...
@define_by("shape.byte_size", "**Without tiles and tail padding.**")
def byte_size_of_elements(shape: Shape) -> int: ...
@define_by("shape.physical_size")
def physical_size(shape: Shape) -> int: ...
@define_by("shape.physical_byte_size")
def physical_byte_size(shape: Shape) -> int: ...
@define_by("shape.physical_byte_size / shape.byte_size if shape.byte_size else 1.0")
def growth_factor(shape: Shape) -> float: ...
@define_by("len(shape.as_tuple().elements) * _check_pointer_size(shape, pointer_size)")
def byte_size_of_tuple_index_table(shape: Shape, pointer_size: int = -1) -> int: ...


def _check_pointer_size(shape: Shape, pointer_size: int) -> int:
    require(pointer_size >= 1, "pointer_size: must be at least 1 for", pointer_size, subject=shape)
    return pointer_size


def byte_size_of(shape: Shape, pointer_size: int = -1) -> int:
    """Return the **bytes** of the top-level buffer **without tiles and tail padding**.

    An array counts its elements in the layout's element size, and sub-byte types without ``E(n)``
    take a byte each. A tuple takes a pointer per element, opaque a pointer, a token 0 bytes.
    `physical_byte_size` returns what an array really takes.

    Raises `ValueError` for a tuple or opaque without `pointer_size`.

    >>> from tensorlayout.xla import parse_shape
    >>> tiled = parse_shape("f32[3,5]{1,0:T(2,2)}")
    >>> byte_size_of(tiled), physical_byte_size(tiled)
    (60, 96)
    """
    if shape.is_tuple:
        return byte_size_of_tuple_index_table(shape, pointer_size)
    if shape.element_type is PrimitiveType.OPAQUE_TYPE:
        return _check_pointer_size(shape, pointer_size)
    return 0 if shape.element_type is PrimitiveType.TOKEN else shape.unwrapped.byte_size


def byte_size_of_elements_recursive(shape: Shape) -> int:
    """Return the **bytes** of the elements of all arrays, **without tiles and tail padding**.

    A token takes 0 bytes. Raises `ValueError` for opaque.
    """
    sizeless_types = (PrimitiveType.TUPLE, PrimitiveType.BUFFER, PrimitiveType.TOKEN)
    return sum(part.byte_size for part in shape.parts() if part.element_type not in sizeless_types)


def array_size(shape: Shape) -> int:
    """Return the **bytes** of an array's buffer as XLA's ArraySize counts them, with three traps.

    Only the **first tile** counts; **without tiles the tail alignment is ignored**; the result is
    too small if a later tile does not divide an earlier one. `physical_byte_size` has none of these
    traps.

    Raises `ValueError` for a star, which XLA would treat as a number.

    >>> from tensorlayout.xla import parse_shape
    >>> tail = parse_shape("f32[3,5]{1,0:L(32)}")
    >>> array_size(tail), physical_byte_size(tail)
    (60, 128)
    """
    # Sizes (3, 5) with the first tile of T(2,2)(3,1) are (2, 3, 2, 2), 24 slots; with both 36.
    sizes, tiles = shape.physical()
    if not tiles:
        return shape.byte_size
    slots = math.prod(tiling.tiled_sizes(sizes, tiling.only_first_tile(tiles)))
    return shape.bytes_of(shape.aligned(slots))


def array_data_size(shape: Shape) -> int:
    """Return the **bytes** up to the last element, as XLA's ArrayDataSize counts them.

    It uses `layout_util.linear_index`, so **only the first tile** counts, and none for vectors; **a
    tiled array without elements may give a number above 0**. `physical_byte_size` returns the size
    of the whole buffer.

    Raises `ValueError` for a star.

    >>> from tensorlayout.xla import parse_shape
    >>> empty = parse_shape("f32[0,3]{1,0:T(2,2)}")
    >>> array_data_size(empty), physical_byte_size(empty)
    (12, 0)
    """
    sizes, tiles = shape.physical()
    # C++ division matters for arrays without elements: their last index is -1.
    first = tiling.only_first_tile(tiles, len(sizes))
    last = tiling.slot_of_index([n - 1 for n in sizes], sizes, first, _divide_towards_zero)
    return shape.bytes_of(last + 1)


def _divide_towards_zero(number: int, divisor: int) -> tuple[int, int]:
    """Return quotient and remainder as in C++, rounded towards 0.

    The last index of an empty dimension is -1, which gives 0 and -1.
    """
    return (
        (-(-number // divisor), number + -number // divisor * divisor)
        if number < 0
        else divmod(number, divisor)
    )


def strides_for_shape(shape: Shape) -> tuple[int, ...]:
    """Return the strides in **elements**, from sizes and order, **ignoring tiles**.

    If a size is 0, strides of more major dimensions are 0, as in XLA. Raises `ValueError` without a
    layout, or for unbounded sizes.
    """
    # Called for its checks alone: the strides below follow the order and leave out the tiles.
    shape.physical()
    strides, step = [0] * shape.rank, 1
    for dim in shape.own_layout.minor_to_major:
        strides[dim] = step
        step *= shape.dimensions[dim]
    return tuple(strides)


@define_by(
    "tuple(s * shape.element_type.unpacked_bytes for s in strides_for_shape(shape))",
    "**Tiles are ignored**, and the layout's element size: packed nibbles have no byte strides.",
)
def unpacked_byte_strides(shape: Shape) -> tuple[int, ...]: ...


byte_strides_for_shape = unpacked_byte_strides


def byte_strides(shape: Shape) -> tuple[int, ...] | None:
    """Return the strides in **bytes**, **ignoring tiles**; None if packed or without a layout."""
    # Elements of E(4) do not begin at whole bytes, so no stride in bytes leads to them.
    if not shape.is_array or shape.layout is None or shape.element_bits % 8:
        return None
    return unpacked_byte_strides(shape)


# --- indices in memory order ---------------------------------------------------------------------


def indices(
    shape: Shape, base: Numbers = None, count: Numbers = None, incr: Numbers = None
) -> Iterator[tuple[int, ...]]:
    """Return an iterator over indices in memory order, by default over all of the array.

    - `base`: first index.
    - `count`: **extent per dimension, not a number of steps**: an extent of 3 in steps of 2 gives 0
      and 2. An extent of 0 gives only the base, as if it had one step.
    - `incr`: step per dimension.

    An array with a size of 0 has no indices; a scalar has one.

    Raises `ValueError` for lists of another length, negative counts, and steps below 1 where the
    count is not 0 (XLA would loop forever).

    >>> from tensorlayout.xla import parse_shape
    >>> list(indices(parse_shape("f32[10,10]"), (2, 3), (3, 1), (2, 1)))
    [(2, 3), (4, 3)]
    """
    # From the most major dimension on, so that the last entry of `order` varies fastest.
    order = shape.order[::-1]
    starts = _check_one_per_dimension("base", shape, [0] * shape.rank if base is None else base)
    extents = _check_one_per_dimension("count", shape, shape.dimensions if count is None else count)
    steps = _check_one_per_dimension("incr", shape, [1] * shape.rank if incr is None else incr)
    is_known = UNBOUNDED not in shape.dimensions and all(n >= 0 for n in extents)
    require(
        is_known, "count: the counts must be known and not negative for", extents, subject=shape
    )
    is_finite = all(s >= 1 or not n for n, s in zip(extents, steps, strict=True))
    require(is_finite, "incr: must be at least 1 where there is a count for", steps, subject=shape)
    numbers = zip(starts, extents, steps, strict=True)
    # An extent of 0 pins the dimension at its base: one index. Its step may be 0, which range()
    # rejects.
    ranges = [range(b, b + max(n, 1), s if n else 1) for b, n, s in numbers]
    # Even a pinned dimension has no index if some size is 0, because the array has no elements.
    return iter(()) if 0 in shape.dimensions else _iterate_indices(ranges, order)


def _check_one_per_dimension(
    name: str, shape: Shape, entries_sequence: Sequence[int]
) -> tuple[int, ...]:
    entries = check_integers(name, entries_sequence)
    has_one_per_dimension = len(entries) == shape.rank
    require(
        has_one_per_dimension, f"{name}: must have {shape.rank} entries for", entries, subject=shape
    )
    return entries


def _iterate_indices(
    ranges: list[range], major_to_minor: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Yield the product of the ranges, the last dimension of `major_to_minor` fastest."""
    # The numbers 0, 1, 2, … are unravelled in the order of memory. `counts` is in that order, the
    # index in the order of the dimensions, hence the dictionary from one to the other.
    counts = [len(ranges[d]) for d in major_to_minor]
    for number in range(math.prod(counts)):
        entry_numbers = dict(zip(major_to_minor, tiling.unravel_index(number, counts), strict=True))
        yield tuple(run[entry_numbers[d]] for d, run in enumerate(ranges))


def for_each_index(
    shape: Shape, visit: Visitor, base: Numbers = None, count: Numbers = None, incr: Numbers = None
) -> None:
    """Call `visit` with each of the `indices`, and **stop when it returns False** (not None)."""
    for index in indices(shape, base, count, incr):
        # Visitors usually return None, so a falsy result must not stop the loop.
        if visit(index) is False:
            return


for_each_index_with_status = for_each_index
for_each_index_no_status = for_each_index


def for_each_index_parallel(
    shape: Shape, visit: Visitor, base: Numbers = None, count: Numbers = None, incr: Numbers = None
) -> None:
    """Call `visit` with each of the `indices` in order, **whatever it returns**."""
    for index in indices(shape, base, count, incr):
        visit(index)


export_with_argument_checks(globals(), _comparison, _making)
