"""XLA's IndexUtil: multi-dimensional and linear indices of an array, tiles ignored.

The order is that of the layout's `minor_to_major`. For positions in tiled buffers there is
`Shape.position`.
"""
# mypy: disable-error-code="empty-body"
# ruff: noqa: D103 - `alias` gives docstrings

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from tensorlayout.layout import check_integer, check_integers, packed_strides
from tensorlayout.xla.calling import define_by, export_public_names, require, require_in_range
from tensorlayout.xla.permutations import permute_inverse
from tensorlayout.xla.shapes import UNBOUNDED, Shape
from tensorlayout.xla.tiles import unravel_index


def _known_order(shape: Shape) -> tuple[int, ...]:
    """Return the order of an array of known sizes; the rest of its layout may be invalid."""
    order = shape.own_layout.minor_to_major
    is_valid = UNBOUNDED not in shape.dimensions and sorted(order) == list(range(shape.rank))
    require(is_valid, "shape: must have known sizes and a valid order", shape)
    return order


def multidimensional_index_to_linear_index(
    shape: Shape, multi_index: Sequence[int], minor_to_major: Sequence[int] | None = None
) -> int:
    """Return the number of an element in the **untiled** buffer: tiles and tail are ignored.

    `minor_to_major`: as in XLA's second form; must equal the order in the shape. A scalar has 0.
    ValueError for an index outside the shape, which a release build of XLA does not notice.
    """
    order = _known_order(shape)
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
    """Return the index of the element with a number in the **untiled** buffer.

    ValueError outside the elements (caught in debug builds of XLA only), so for any number where a
    size is 0.
    """
    order, number = _known_order(shape), check_integer("linear_index", linear_index)
    require_in_range(range(shape.size), "linear_index", number, shape)
    physical = unravel_index(number, [shape.dimensions[dim] for dim in order[::-1]])
    return tuple(permute_inverse(physical, order[::-1]))


def bump_indices(shape: Shape, indices: list[int]) -> bool:
    """Step a list of indices **in place** to the next, the last dimension fastest.

    False, and the indices unchanged, where there is no next one. The layout plays no role.
    ValueError for an index outside the shape.

    >>> from tensorlayout.xla import parse_shape
    >>> at = [0, 2]
    >>> bump_indices(parse_shape("f32[2,3]{0,1}"), at), at
    (True, [1, 0])
    """
    shape.checked_index("indices", indices)
    for dim in range(shape.rank - 1, -1, -1):
        if indices[dim] + 1 < shape.dimensions[dim]:
            indices[dim:] = [indices[dim] + 1, *[0] * (shape.rank - dim - 1)]
            return True
    return False


def get_dimension_stride(shape: Shape, dimension: int) -> int:
    """Return the **elements** between neighbours along a dimension of the **untiled** buffer.

    ValueError for a dimension that is not there, where XLA gives the product of all sizes.
    """
    order = _known_order(shape)
    require_in_range(range(shape.rank), "dimension", dimension, shape)
    return math.prod(shape.dimensions[d] for d in order[: order.index(dimension)])


@define_by("shape.contains(check_integers('index', index))", "In XLA negative entries pass.")
def index_in_bounds(shape: Shape, index: Sequence[int]) -> bool: ...


def compare_indices(lhs: Sequence[int], rhs: Sequence[int]) -> int:
    """Return -1 where `lhs` comes first, 1 where `rhs` does, 0 if equal; entry 0 decides first.

    The comment in XLA's header says the opposite sign; its code gives this one. ValueError for
    different lengths.
    """
    left, right = check_integers("lhs", lhs), check_integers("rhs", rhs)
    require(len(left) == len(right), "compare_indices: must have equal lengths", left, right)
    return (left > right) - (left < right)


export_public_names(globals())
