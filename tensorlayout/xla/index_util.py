"""XLA's IndexUtil: multi-dimensional and linear indices of an array, tiles ignored.

The order is that of the layout's `minor_to_major`. For positions in tiled buffers there is
`layout_util.linear_index_for_nested_tiling`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorlayout.layout.checks import checked_integer, checked_integers
from tensorlayout.layout.slots import packed_strides
from tensorlayout.words import cut, shown
from tensorlayout.xla.calling import offer, refuse
from tensorlayout.xla.checks import is_inside, layout_in, must_be_inside
from tensorlayout.xla.shapes import Shape


def _order(shape: Shape) -> tuple[int, ...]:
    """The order of an array whose sizes are known; ValueError for anything else."""
    order = layout_in(shape).minor_to_major
    if sorted(order) != list(range(shape.rank)):
        refuse(f"the order of {cut(shape)} is no permutation of its dimensions")
    return order


def multidimensional_index_to_linear_index(
    shape: Shape, multi_index: Sequence[int], minor_to_major: Sequence[int] | None = None
) -> int:
    """The number of an element in the **untiled** buffer: tiles and tail padding are ignored.

    `minor_to_major`: as in XLA's second form; must equal the order in the shape. A scalar has 0.
    ValueError for an index outside the shape, which a release build of XLA does not notice.

    >>> from tensorlayout.xla import parse_shape
    >>> multidimensional_index_to_linear_index(parse_shape("f32[10,20]{1,0}"), (3, 5))
    65
    """
    order, at = _order(shape), checked_integers("multi_index", multi_index)
    if minor_to_major is not None and tuple(minor_to_major) != order:
        refuse(f"minor_to_major must be that of {cut(shape)}", shown(tuple(minor_to_major)))
    must_be_inside(shape, at)
    strides = packed_strides(shape.dimensions, order)
    return sum(i * stride for i, stride in zip(at, strides, strict=True))


def linear_index_to_multidimensional_index(shape: Shape, linear_index: int) -> tuple[int, ...]:
    """The index of the element with a number in the **untiled** buffer.

    ValueError outside the elements (caught in debug builds of XLA only), so for any number where a
    size is 0.

    >>> from tensorlayout.xla import parse_shape
    >>> linear_index_to_multidimensional_index(parse_shape("f32[10,20]{0,1}"), 53)
    (3, 5)
    """
    order, number = _order(shape), checked_integer("linear_index", linear_index)
    count = math.prod(shape.dimensions)
    if not 0 <= number < count:
        rule = f"must be at least 0 and below the {count} elements of {cut(shape)}"
        refuse(rule, shown(number))
    index = [0] * shape.rank
    for dim in order:
        number, index[dim] = divmod(number, shape.dimensions[dim])
    return tuple(index)


def bump_indices(shape: Shape, indices: list[int]) -> bool:
    """Step a list of indices **in place** to the next, the last dimension fastest.

    False, and the indices unchanged, where there is no next one. The layout plays no role.
    ValueError for an index outside the shape.

    >>> from tensorlayout.xla import parse_shape
    >>> at = [0, 2]
    >>> bump_indices(parse_shape("f32[2,3]{0,1}"), at), at
    (True, [1, 0])
    """
    must_be_inside(shape, indices)
    for dim in range(shape.rank - 1, -1, -1):
        if indices[dim] + 1 < shape.dimensions[dim]:
            indices[dim:] = [indices[dim] + 1, *[0] * (shape.rank - dim - 1)]
            return True
    return False


def get_dimension_stride(shape: Shape, dimension: int) -> int:
    """**Elements** between neighbours along a logical dimension of the **untiled** buffer.

    ValueError for a dimension that is not there, where XLA gives the product of all sizes.

    >>> from tensorlayout.xla import parse_shape
    >>> get_dimension_stride(parse_shape("f32[5,8,10,4]{3,2,1,0}"), 1)
    40
    """
    order = _order(shape)
    if dimension not in order:
        refuse(f"{cut(shape)} has no dimension {shown(dimension)}")
    return math.prod(shape.dimensions[d] for d in order[: order.index(dimension)])


def index_in_bounds(shape: Shape, index: Sequence[int]) -> bool:
    """Whether an index has one entry per dimension, each at least 0 and below the size.

    XLA compares with the size alone, so that negative entries pass there; here they do not.
    """
    return is_inside(shape, checked_integers("index", index))


def compare_indices(lhs: Sequence[int], rhs: Sequence[int]) -> int:
    """-1 where `lhs` comes first, 1 where `rhs` does, 0 for equal ones; entry 0 decides first.

    The comment in XLA's header says the opposite sign; its code gives this one. ValueError for
    different lengths.
    """
    left, right = checked_integers("lhs", lhs), checked_integers("rhs", rhs)
    if len(left) != len(right):
        refuse("must have equal lengths", shown(left), shown(right))
    return (left > right) - (left < right)


offer(__name__)
