"""XLA's IndexUtil: conversion between multi-dimensional and linear indices; tiles are ignored.

Linear indices follow the layout's `minor_to_major`. For positions in tiled buffers use
`Shape.position`.
"""
# mypy: disable-error-code="empty-body"
# ruff: noqa: D103 - `define_by` writes the docstrings

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from tensorlayout.layout import check_integer, check_integers, packed_strides
from tensorlayout.xla.calling import (
    define_by,
    export_with_argument_checks,
    require,
    require_in_range,
)
from tensorlayout.xla.permutations import permute_inverse
from tensorlayout.xla.shapes import UNBOUNDED, Shape
from tensorlayout.xla.tiles import unravel_index


def _valid_minor_to_major(shape: Shape) -> tuple[int, ...]:
    """Return the minor-to-major order; ValueError for unknown sizes or an invalid order."""
    order = shape.own_layout.minor_to_major
    is_valid = UNBOUNDED not in shape.dimensions and sorted(order) == list(range(shape.rank))
    require(is_valid, "shape: must have known sizes and a valid order", shape)
    return order


def multidimensional_index_to_linear_index(
    shape: Shape, multi_index: Sequence[int], minor_to_major: Sequence[int] | None = None
) -> int:
    """Return the linear index of an element in the **untiled** buffer, without the tail.

    `minor_to_major`: as in XLA's second form; must equal the order of `shape`. A scalar has index
    0.

    Raises `ValueError` for a `multi_index` outside the shape, which release builds of XLA do not
    check.
    """
    order = _valid_minor_to_major(shape)
    requested_order = order if minor_to_major is None else tuple(minor_to_major)
    require(
        requested_order == order,
        "index: minor_to_major must be that of",
        requested_order,
        subject=shape,
    )
    position = shape.checked_index("multi_index", multi_index)
    return sum(map(mul, position, packed_strides(shape.dimensions, order)))


def linear_index_to_multidimensional_index(shape: Shape, linear_index: int) -> tuple[int, ...]:
    """Return the index of the element with a linear index in the **untiled** buffer.

    Raises `ValueError` if `linear_index` is outside the array (XLA checks in debug builds only), so
    always if a size is 0.
    """
    order, number = _valid_minor_to_major(shape), check_integer("linear_index", linear_index)
    require_in_range(range(shape.size), "linear_index", number, shape)
    # The most major dimension first, as unravel_index takes sizes; permute_inverse then sorts the
    # entries by logical dimension.
    physical = unravel_index(number, [shape.dimensions[dim] for dim in order[::-1]])
    return tuple(permute_inverse(physical, order[::-1]))


def bump_indices(shape: Shape, indices: list[int]) -> bool:
    """Advance a list of indices **in place**, the last dimension fastest.

    Returns False, with `indices` unchanged, after the last index of `shape`. The layout is ignored.

    Raises `ValueError` for an index outside the shape.

    >>> from tensorlayout.xla import parse_shape
    >>> at = [0, 2]
    >>> bump_indices(parse_shape("f32[2,3]{0,1}"), at), at
    (True, [1, 0])
    """
    shape.checked_index("indices", indices)
    # An odometer: the last entry that can grow does, and all entries after it restart at 0. If none
    # can grow, nothing has been changed yet.
    for dim in range(shape.rank - 1, -1, -1):
        if indices[dim] + 1 < shape.dimensions[dim]:
            indices[dim:] = [indices[dim] + 1, *[0] * (shape.rank - dim - 1)]
            return True
    return False


def get_dimension_stride(shape: Shape, dimension: int) -> int:
    """Return the **elements** between neighbours along a dimension of the **untiled** buffer.

    Raises `ValueError` for a dimension out of range, for which XLA returns the product of all
    sizes.
    """
    order = _valid_minor_to_major(shape)
    require_in_range(range(shape.rank), "dimension", dimension, shape)
    return math.prod(shape.dimensions[d] for d in order[: order.index(dimension)])


@define_by("shape.contains(check_integers('index', index))", "In XLA negative entries pass.")
def index_in_bounds(shape: Shape, index: Sequence[int]) -> bool: ...


def compare_indices(lhs: Sequence[int], rhs: Sequence[int]) -> int:
    """Return -1 if `lhs` precedes `rhs` lexicographically, 1 if it follows, 0 if they are equal.

    The comment in XLA's header states the opposite sign; this is what its code returns. Raises
    `ValueError` for different lengths.
    """
    left, right = check_integers("lhs", lhs), check_integers("rhs", rhs)
    require(len(left) == len(right), "compare_indices: must have equal lengths", left, right)
    return (left > right) - (left < right)


export_with_argument_checks(globals())
