"""XLA's IndexUtil: multi-dimensional and linear indices of an array, tiles ignored.

The order is that of the layout's `minor_to_major`. For positions in tiled buffers there is
`layout_util.linear_index_for_nested_tiling`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorlayout.layout.checks import checked_integer, checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla.shapes import UNBOUNDED, Shape

__all__ = [
    "bump_indices",
    "compare_indices",
    "get_dimension_stride",
    "index_in_bounds",
    "linear_index_to_multidimensional_index",
    "multidimensional_index_to_linear_index",
]


def _order(name: str, shape: Shape) -> tuple[int, ...]:
    """The order of an array whose sizes are known; ValueError for anything else."""
    if not shape.is_array or shape.layout is None or UNBOUNDED in shape.dimensions:
        msg = f"{name}: must be an array of known sizes with a layout, got {cut(shape)}"
        raise ValueError(msg)
    order = shape.layout.minor_to_major
    if sorted(order) != list(range(shape.rank)):
        msg = f"{name}: the order of {cut(shape)} is no permutation of its dimensions"
        raise ValueError(msg)
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
    name = "multidimensional_index_to_linear_index"
    order, at = _order(name, shape), checked_integers("multi_index", multi_index)
    if minor_to_major is not None and tuple(minor_to_major) != order:
        msg = f"{name}: minor_to_major must be that of {cut(shape)}"
        msg += f", got {shown(tuple(minor_to_major))}"
        raise ValueError(msg)
    if not _inside(shape, at):
        msg = f"{name}: the index must lie inside {cut(shape)}, got {shown(at)}"
        raise ValueError(msg)
    number, step = 0, 1
    for dim in order:
        number += at[dim] * step
        step *= shape.dimensions[dim]
    return number


def linear_index_to_multidimensional_index(shape: Shape, linear_index: int) -> tuple[int, ...]:
    """The index of the element with a number in the **untiled** buffer.

    ValueError outside the elements (caught in debug builds of XLA only), so for any number where a
    size is 0.

    >>> from tensorlayout.xla import parse_shape
    >>> linear_index_to_multidimensional_index(parse_shape("f32[10,20]{0,1}"), 53)
    (3, 5)
    """
    name = "linear_index_to_multidimensional_index"
    order, number = _order(name, shape), checked_integer("linear_index", linear_index)
    count = math.prod(shape.dimensions)
    if not 0 <= number < count:
        msg = f"{name}: must be at least 0 and below the {count} elements of {cut(shape)}"
        msg += f", got {shown(number)}"
        raise ValueError(msg)
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
    if not _inside(shape, tuple(indices)):
        msg = f"bump_indices: the index must lie inside {cut(shape)}, got {shown(indices)}"
        raise ValueError(msg)
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
    order = _order("get_dimension_stride", shape)
    if dimension not in order:
        msg = f"get_dimension_stride: {cut(shape)} has no dimension {shown(dimension)}"
        raise ValueError(msg)
    return math.prod(shape.dimensions[d] for d in order[: order.index(dimension)])


def index_in_bounds(shape: Shape, index: Sequence[int]) -> bool:
    """Whether an index has one entry per dimension, each at least 0 and below the size.

    XLA compares with the size alone, so that negative entries pass there; here they do not.
    """
    return _inside(shape, checked_integers("index", index))


def _inside(shape: Shape, index: Sequence[int]) -> bool:
    pairs = zip(index, shape.dimensions, strict=False)
    return shape.is_array and len(index) == shape.rank and all(0 <= i < n for i, n in pairs)


def compare_indices(lhs: Sequence[int], rhs: Sequence[int]) -> int:
    """-1 where `lhs` comes first, 1 where `rhs` does, 0 for equal ones; entry 0 decides first.

    The comment in XLA's header says the opposite sign; its code gives this one. ValueError for
    different lengths.
    """
    left, right = checked_integers("lhs", lhs), checked_integers("rhs", rhs)
    if len(left) != len(right):
        msg = f"compare_indices: must have equal lengths, got {shown(left)} and {shown(right)}"
        raise ValueError(msg)
    return (left > right) - (left < right)
