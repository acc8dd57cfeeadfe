"""ShapeUtil: which reshapes and transposes move nothing in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tensorlayout.words import cut, shown
from tensorlayout.xla.layout_util import has_descending_layout, make_logical_to_physical
from tensorlayout.xla.layouts import XlaLayout
from tensorlayout.xla.permutations import (
    checked_permutation,
    common_factors,
    compose_permutations,
    is_identity_permutation,
)
from tensorlayout.xla.shape_comparing import equal_ignoring_element_type, same_element_type
from tensorlayout.xla.shape_making import (
    drop_degenerate_dimensions,
    major_to_minor,
    make_shape_with_descending_layout_and_same_physical_layout,
)
from tensorlayout.xla.shape_sizes import elements_in
from tensorlayout.xla.shapes import Shape
from tensorlayout.xla.tiles import row_major, unravelled


def dimensions_unmodified_by_reshape(input: Shape, output: Shape) -> list[tuple[int, int]]:
    """Pairs of input and output dimensions that a reshape leaves alone, in increasing order.

    ValueError for different numbers of elements.

    >>> from tensorlayout.xla import parse_shape
    >>> dimensions_unmodified_by_reshape(parse_shape("s32[2,3]"), parse_shape("s32[2,3]"))
    [(0, 0), (1, 1)]
    """
    elements_in(input)
    elements_in(output)
    bounds = common_factors(input.dimensions, output.dimensions)
    return [
        begin for begin, end in pairwise(bounds) if (end[0] - begin[0], end[1] - begin[1]) == (1, 1)
    ]


def reshape_leaves_dimensions_unmodified(
    from_shape: Shape, to_shape: Shape, input_dim_indices: Sequence[int]
) -> list[int] | None:
    """The output numbers of input dimensions, if a reshape leaves all of them alone, else None.

    None also where the list is not sorted.
    """
    kept = dict(dimensions_unmodified_by_reshape(from_shape, to_shape))
    asked = list(input_dim_indices)
    if asked != sorted(asked) or not set(asked) <= kept.keys():
        return None
    return [kept[d] for d in asked]


def inserted_or_deleted_1_sized_dimensions(
    shape_pre: Shape, shape_post: Shape
) -> tuple[list[int], list[int]] | None:
    """The dimensions of size 1 deleted from the first shape, and inserted in the second.

    None where the shapes differ in other dimensions too; **sizes of 0 in a changed group count as
    not larger than 1**. ValueError for different numbers of elements.

    >>> from tensorlayout.xla import parse_shape
    >>> inserted_or_deleted_1_sized_dimensions(
    ...     parse_shape("s32[9,1,4]"), parse_shape("s32[1,9,4,1]"))
    ([1], [0, 3])
    """
    kept = dimensions_unmodified_by_reshape(shape_pre, shape_post)
    deleted = sorted(set(range(shape_pre.rank)) - {d for d, _ in kept})
    inserted = sorted(set(range(shape_post.rank)) - {d for _, d in kept})
    changed = [shape_pre.dimensions[d] for d in deleted]
    changed += [shape_post.dimensions[d] for d in inserted]
    return None if any(n > 1 for n in changed) else (deleted, inserted)


def _order(name: str, shape: Shape) -> tuple[int, ...]:
    if shape.layout is None:
        msg = f"{name}: must be an array with a layout, got {cut(shape)}"
        raise ValueError(msg)
    return major_to_minor(name, shape)[::-1]


def transpose_is_bitcast(
    input_shape: Shape,
    output_shape: Shape,
    dimension_mapping: Sequence[int],
    ignore_element_type: bool = False,
) -> bool:
    """Whether a transpose moves nothing: output dimension k is input ``dimension_mapping[k]``.

    Judged **by the two orders alone**: sizes are not compared, size-1 dimensions get no leniency,
    tiles are not seen. False for different element types unless ignored. ValueError without
    layouts.
    """
    name = "transpose_is_bitcast"
    orders = _order(name, input_shape), _order(name, output_shape)
    mapping = checked_permutation(f"{name}: dimension_mapping", dimension_mapping, len(orders[0]))
    if not ignore_element_type and not same_element_type(input_shape, output_shape):
        return False
    if len(orders[1]) != len(mapping):
        return False
    return compose_permutations(mapping, orders[1]) == list(orders[0])


def reshape_is_bitcast(
    input_shape: Shape, output_shape: Shape, ignore_element_type: bool = False
) -> bool:
    """Whether a row-major reshape leaves each element where it is in memory, by the two orders.

    Size-1 dimensions may stand anywhere; without elements it is True, with different numbers of
    them False; **tiles are not seen**. False for different element types unless ignored.
    """
    orders = _order("reshape_is_bitcast", input_shape), _order("reshape_is_bitcast", output_shape)
    if not ignore_element_type and not same_element_type(input_shape, output_shape):
        return False
    if elements_in(input_shape) != elements_in(output_shape):
        return False
    if not elements_in(input_shape):
        return True
    # Positions add up by dimension, so index 1 of each dimension, from either side, decides.
    sides = (input_shape.dimensions, output_shape.dimensions)
    numbers = [math.prod(sizes[d + 1 :]) for sizes in sides for d, n in enumerate(sizes) if n > 1]
    return all(
        len({_placed(n, sizes, order) for sizes, order in zip(sides, orders, strict=True)}) == 1
        for n in numbers
    )


def _placed(number: int, sizes: tuple[int, ...], minor_to_major: tuple[int, ...]) -> int:
    """The position of the element with a row-major number."""
    index, order = unravelled(number, sizes), minor_to_major[::-1]
    return row_major([index[d] for d in order], [sizes[d] for d in order])


def deduce_transpose_dimensions_for_bitcast(
    input_shape: Shape, output_shape: Shape
) -> list[int] | None:
    """The permutation that makes the output a transpose of the input in the same memory, or None.

    Output dimension k is input dimension ``p[k]``. The two orders say which; then sizes must agree.
    """
    name = "deduce_transpose_dimensions_for_bitcast"
    before, after = _order(name, input_shape), _order(name, output_shape)
    if len(before) != len(after):
        return None
    found = [before[after.index(k)] for k in range(len(after))]
    same = [input_shape.dimensions[d] for d in found] == list(output_shape.dimensions)
    return found if same else None


def is_reshape_or_transpose_bitcast(a: Shape, b: Shape, ignore_element_type: bool = False) -> bool:
    """Whether two shapes are equal, or one reshape or one transpose apart, in the same memory."""
    if not ignore_element_type and not same_element_type(a, b):
        return False
    return (
        equal_ignoring_element_type(a, b)
        or reshape_is_bitcast(a, b, ignore_element_type=True)
        or deduce_transpose_dimensions_for_bitcast(a, b) is not None
    )


@dataclass(frozen=True, slots=True)
class ReshapeBitcast:
    """A bitcast that is one reshape."""


@dataclass(frozen=True, slots=True)
class TransposeBitcast:
    """A bitcast that is one transpose: output dimension k is input ``transpose_dims[k]``."""

    transpose_dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrtBitcast:
    """A bitcast as a transpose, a reshape and a transpose; each may change nothing."""

    transpose1_dims: tuple[int, ...]
    transpose1_shape: Shape
    reshape_shape: Shape
    transpose2_dims: tuple[int, ...]

    @property
    def is_transpose1_identity(self) -> bool:
        """Whether the first step changes nothing."""
        return is_identity_permutation(self.transpose1_dims)

    @property
    def is_transpose2_identity(self) -> bool:
        """Whether the last step changes nothing."""
        return is_identity_permutation(self.transpose2_dims)


def _can_decompose(input_shape: Shape, output_shape: Shape) -> bool:
    if input_shape.layout is None or output_shape.layout is None:
        return False
    return elements_in(input_shape) == elements_in(output_shape)


def decompose_bitcast_to_trt(input_shape: Shape, output_shape: Shape) -> TrtBitcast | None:
    """A bitcast as transpose, reshape, transpose, by way of the row-major shapes of both sides.

    None where a layout is missing or the numbers of elements differ. Both types are expected to
    have the same bits.
    """
    if not _can_decompose(input_shape, output_shape) or output_shape.layout is None:
        return None
    plain = make_shape_with_descending_layout_and_same_physical_layout
    return TrtBitcast(
        major_to_minor("decompose_bitcast_to_trt", input_shape),
        plain(input_shape),
        plain(output_shape),
        make_logical_to_physical(output_shape.layout),
    )


def decompose_bitcast(
    input_shape: Shape, output_shape: Shape
) -> ReshapeBitcast | TransposeBitcast | TrtBitcast | None:
    """A bitcast as one reshape, else as one transpose, else as three steps; element types ignored.

    None where a layout is missing or the numbers of elements differ.
    """
    if not _can_decompose(input_shape, output_shape):
        return None
    if reshape_is_bitcast(input_shape, output_shape, ignore_element_type=True):
        return ReshapeBitcast()
    dims = deduce_transpose_dimensions_for_bitcast(input_shape, output_shape)
    if dims is not None:
        return TransposeBitcast(tuple(dims))
    return decompose_bitcast_to_trt(input_shape, output_shape)


def is_decomposable_bitcast(input_shape: Shape, output_shape: Shape) -> bool:
    """Whether `decompose_bitcast` finds something."""
    return decompose_bitcast(input_shape, output_shape) is not None


def align_layouts(input_shape: Shape, output_shape: Shape) -> Shape | None:
    """`output_shape` in an order that makes the reshape from the input free; None without one.

    Dimensions of size 1 go to the most major end, descending. Each group of dimensions that the
    reshape merges or splits must be one row-major run in the input. The layout has no tiles.
    Without elements any order will do: row-major. ValueError for different numbers of elements.

    >>> from tensorlayout.xla import parse_shape
    >>> shapes = parse_shape("f32[3,8,5,7,11]{3,2,1,0,4}"), parse_shape("f32[4,3,2,7,5,11]")
    >>> print(align_layouts(*shapes))
    f32[4,3,2,7,5,11]{4,3,2,1,0,5}
    """
    _order("align_layouts", input_shape)
    if elements_in(input_shape) != elements_in(output_shape):
        msg = f"align_layouts: must have equal numbers of elements, got {cut(input_shape)}"
        msg += f" and {cut(output_shape)}"
        raise ValueError(msg)
    if not elements_in(input_shape):
        return output_shape.replace(layout=XlaLayout.row_major(output_shape.rank))
    simple = drop_degenerate_dimensions(input_shape)
    numbers = [d for d, n in enumerate(output_shape.dimensions) if n != 1]
    order = _aligned(simple, [output_shape.dimensions[d] for d in numbers])
    if order is None:
        return None
    ones = [d for d in range(output_shape.rank - 1, -1, -1) if output_shape.dimensions[d] == 1]
    layout = XlaLayout(minor_to_major=(*(numbers[d] for d in order), *ones))
    return output_shape.replace(layout=layout)


def _aligned(input_shape: Shape, output_sizes: list[int]) -> list[int] | None:
    """The order of the output, where no size is 1 on either side."""
    order = list(_order("align_layouts", input_shape))
    bounds = common_factors(input_shape.dimensions, output_sizes)
    groups = {
        end[0] - 1: (range(begin[0], end[0]), range(begin[1], end[1]))
        for begin, end in pairwise(bounds)
    }
    found: list[int] = []
    while order:
        if order[0] not in groups:
            return None
        before, after = groups[order[0]]
        if order[: len(before)] != list(reversed(before)):
            return None
        order = order[len(before) :]
        found += reversed(after)
    return found


def get_normalized_logical_transpose_shape(
    input_shape: Shape, output_shape: Shape, dimensions: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The output sizes and the permutation of a row-major transpose, made as short as possible.

    Dimensions of size 1 vanish, runs of input dimensions that stay side by side become one; where
    nothing moves, one dimension is left. ValueError for other orders than row-major, or where the
    permutation does not make the output of the input.

    >>> from tensorlayout.xla import parse_shape
    >>> shapes = parse_shape("f32[10,1,11,32]"), parse_shape("f32[32,1,10,11]")
    >>> get_normalized_logical_transpose_shape(*shapes, [3, 1, 0, 2])
    ((32, 110), (1, 0))
    """
    name = "get_normalized_logical_transpose_shape"
    for shape in (input_shape, output_shape):
        if shape.layout is None or not has_descending_layout(shape.layout):
            msg = f"{name}: must have row-major layouts, got {cut(shape)}"
            raise ValueError(msg)
    sizes = input_shape.dimensions
    dims = checked_permutation(f"{name}: dimensions", dimensions, len(sizes))
    if tuple(sizes[d] for d in dims) != output_shape.dimensions:
        msg = f"{name}: {shown(dims)} does not make {cut(output_shape)} of {cut(input_shape)}"
        raise ValueError(msg)
    large = [d for d, n in enumerate(sizes) if n != 1]
    numbers = [large.index(d) for d in dims if d in large]
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1].append(number)
        else:
            runs.append([number])
    runs = runs or [[]]
    ranked = sorted(runs)
    merged = tuple(math.prod(sizes[large[number]] for number in run) for run in runs)
    return merged, tuple(map(ranked.index, runs))
