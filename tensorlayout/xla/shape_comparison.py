"""XLA's ShapeUtil: comparing shapes; reshapes and transposes that move nothing in memory."""
# mypy: disable-error-code="empty-body"
# ruff: noqa: D103 - `define_by` writes the docstrings

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise

from tensorlayout.errors import raise_named_error, truncate
from tensorlayout.layout import packed_strides, reshape_strides
from tensorlayout.xla import layout_util
from tensorlayout.xla.calling import define_by, export_with_argument_checks, require
from tensorlayout.xla.layouts import XlaLayout, normalize_ignored_names
from tensorlayout.xla.permutations import (
    checked_permutation,
    common_factors,
    compose_permutations,
    is_identity_permutation,
)
from tensorlayout.xla.primitive_types import PrimitiveType
from tensorlayout.xla.shape_making import make_shape_with_descending_layout_and_same_physical_layout
from tensorlayout.xla.shapes import UNBOUNDED, Shape

_LAYOUT_FIELDS = {
    "tiles",
    "element_size_in_bits",
    "memory_space",
    "tail_padding_alignment",
    "split_configs",
}


def equal(lhs: Shape, rhs: Shape, ignore: Collection[str] = ()) -> bool:
    """Return whether two shapes are equal, except for what `ignore` names.

    `ignore`: any of ``layout`` (or only ``tiles``, ``element_size_in_bits``, ``memory_space``,
    ``tail_padding_alignment``, ``split_configs``), ``element_type``, ``fp_precision`` (all floats
    are alike), ``dimensions`` (sizes, not their number), ``dynamic`` (then ``?`` matches any size),
    ``buffer`` (the wrapper). Raises `ValueError` for other names.

    A shape with a layout differs from one without.
    """
    ignored = normalize_ignored_names(ignore, _IGNORABLE_NAMES)
    if "buffer" in ignored:
        lhs, rhs = lhs.unwrapped, rhs.unwrapped
    # Tuples, tokens, and buffers unless unwrapped above: the same test for each pair of parts.
    if not (lhs.is_array and rhs.is_array):
        return lhs.is_alike(rhs, lambda a, b: equal(a, b, ignored))
    if not all(
        test(lhs, rhs) for names, test in _EQUALITY_TESTS.items() if not ignored & set(names)
    ):
        return False
    # Names of layout fields are passed on; the tests above do not know them.
    parts = ignored & _LAYOUT_FIELDS
    return "layout" in ignored or layout_util.layouts_in_shapes_equal(lhs, rhs, parts)


@define_by("equal(lhs, rhs, ('element_type',))")
def equal_ignoring_element_type(lhs: Shape, rhs: Shape) -> bool: ...
@define_by("equal(lhs, rhs, ('fp_precision',))")
def equal_ignoring_fp_precision(lhs: Shape, rhs: Shape) -> bool: ...
@define_by("equal(lhs, rhs, ('layout', 'dynamic'))")
def compatible(lhs: Shape, rhs: Shape) -> bool: ...
@define_by("equal(lhs, rhs, ('layout', 'dynamic', 'element_type'))")
def compatible_ignoring_element_type(lhs: Shape, rhs: Shape) -> bool: ...
@define_by("equal(lhs, rhs, ('layout', 'dynamic', 'fp_precision'))")
def compatible_ignoring_fp_precision(lhs: Shape, rhs: Shape) -> bool: ...
@define_by("equal(lhs, rhs, ('layout', 'dynamic', 'element_type', 'dimensions'))")
def compatible_kind(lhs: Shape, rhs: Shape) -> bool: ...
@define_by("lhs.as_array().rank == rhs.as_array().rank")
def same_rank(lhs: Shape, rhs: Shape) -> bool: ...
@define_by("lhs.element_type is rhs.element_type")
def same_element_type(lhs: Shape, rhs: Shape) -> bool: ...
@define_by(
    "same_element_type(lhs, rhs) or lhs.element_type.is_floating and rhs.element_type.is_floating"
)
def same_element_type_ignoring_fp_precision(lhs: Shape, rhs: Shape) -> bool: ...


def same_dimensions(lhs: Shape, rhs: Shape) -> bool:
    """Return whether two arrays have equal sizes; types are ignored, ``?`` equals any size."""
    return same_rank(lhs, rhs) and all(
        m == n or UNBOUNDED in (m, n) for m, n in zip(lhs.dimensions, rhs.dimensions, strict=True)
    )


# Properties in which equal arrays agree. A test is skipped if one of its names is ignored.
_EQUALITY_TESTS: dict[tuple[str, ...], Callable[[Shape, Shape], bool]] = {
    (): same_rank,
    ("element_type",): same_element_type_ignoring_fp_precision,
    ("element_type", "fp_precision"): same_element_type,
    ("dimensions",): same_dimensions,
    ("dimensions", "dynamic"): lambda lhs, rhs: lhs.dimensions == rhs.dimensions,
    ("dynamic",): lambda lhs, rhs: lhs.dynamic == rhs.dynamic,
}
_IGNORABLE_NAMES = {"layout", "buffer", *_LAYOUT_FIELDS, *chain.from_iterable(_EQUALITY_TESTS)}


def higher_precision_element_type(lhs: Shape, rhs: Shape) -> PrimitiveType:
    """Return the type that XLA prefers: complex, more range, more significand, more bits, signed.

    The result **does not always hold the values of both types**: for s64 and f16 it is f16, for f16
    and bf16 it is bf16.

    Raises `ValueError` for different types that tie, and for types that are not array types.
    """
    first, second = lhs.as_array().element_type, rhs.as_array().element_type
    # For equal keys max() would return whichever type comes first.
    if first is not second and first.precision == second.precision:
        raise_named_error("element_type", f"{first.text} and {second.text} tie")
    return max(first, second, key=lambda kind: kind.precision)


@define_by(
    "higher_precision_element_type(source, target) is target.element_type",
    "**Not whether values survive**: it is True of s64 and f16.",
)
def element_can_upcast(source: Shape, target: Shape) -> bool: ...


@define_by("not (lhs.is_tuple or rhs.is_tuple) or lhs.is_alike(rhs, equal_structure)")
def equal_structure(lhs: Shape, rhs: Shape) -> bool: ...


def is_prefix(prefix: Shape, shape: Shape) -> bool:
    """Return whether `prefix` equals `shape`, or is a tuple of prefixes of its first elements.

    The empty tuple is a prefix of everything, including arrays.
    """
    if not prefix.is_tuple or not prefix.elements:
        return prefix.is_tuple or equal(prefix, shape)
    if not shape.is_tuple or len(prefix.elements) > len(shape.elements):
        return False
    return all(map(is_prefix, prefix.elements, shape.elements))


def dynamic_array_shape_is_compatible(dynamic_shape: Shape, bounded_shape: Shape) -> bool:
    """Return whether each size is at most that of the bounding array, in which ``?`` has no bound.

    Element types are ignored.
    """
    return same_rank(dynamic_shape, bounded_shape) and all(
        bound == UNBOUNDED or (size != UNBOUNDED and size <= bound)
        for size, bound in zip(dynamic_shape.dimensions, bounded_shape.dimensions, strict=True)
    )


def dynamic_shape_is_compatible(dynamic_shape: Shape, bounded_shape: Shape) -> bool:
    """Return whether tuple structures match, and all arrays as for arrays alone.

    See `dynamic_array_shape_is_compatible`.
    """
    if dynamic_shape.is_array and bounded_shape.is_array:
        return dynamic_array_shape_is_compatible(dynamic_shape, bounded_shape)
    return dynamic_shape.is_alike(bounded_shape, dynamic_shape_is_compatible)


# --- reshapes and transposes that move nothing in memory -----------------------------------------


def dimensions_unmodified_by_reshape(input: Shape, output: Shape) -> list[tuple[int, int]]:
    """Return pairs of input and output dimensions that a reshape does not change, ascending.

    Raises `ValueError` if `input` and `output` have different numbers of elements.
    """
    same_size = input.size == output.size
    require(same_size, "shape: must have equal numbers of elements", input, output)
    # A dimension is unmodified if it is a group of its own on both sides: its group begins at
    # (i, j) and the next one at (i + 1, j + 1). For [2,3,4] to [6,4] the groups begin at (0, 0) and
    # (2, 1), so the pair (2, 1) alone is unmodified.
    bounds = common_factors(input.dimensions, output.dimensions)
    return [(i, j) for (i, j), end in pairwise(bounds) if end == (i + 1, j + 1)]


def reshape_leaves_dimensions_unmodified(
    from_shape: Shape, to_shape: Shape, input_dim_indices: Sequence[int]
) -> list[int] | None:
    """Return the output dimensions of input dimensions, if a reshape changes none of them.

    Returns None if it changes one, and if `input_dim_indices` is not sorted.
    """
    unmodified = dict(dimensions_unmodified_by_reshape(from_shape, to_shape))
    input_dims = list(input_dim_indices)
    if input_dims != sorted(input_dims) or not set(input_dims) <= unmodified.keys():
        return None
    return [unmodified[d] for d in input_dims]


def inserted_or_deleted_1_sized_dimensions(
    shape_pre: Shape, shape_post: Shape
) -> tuple[list[int], list[int]] | None:
    """Return the dimensions of size 1 deleted from the first shape and inserted in the second.

    Returns None if the shapes differ in other dimensions, too; **sizes of 0 in a changed group
    count as not larger than 1**. Raises `ValueError` for different numbers of elements.
    """
    unmodified = dimensions_unmodified_by_reshape(shape_pre, shape_post)
    deleted = sorted(set(range(shape_pre.rank)) - {d for d, _ in unmodified})
    inserted = sorted(set(range(shape_post.rank)) - {d for _, d in unmodified})
    changed_sizes = [shape_pre.dimensions[d] for d in deleted]
    changed_sizes += [shape_post.dimensions[d] for d in inserted]
    return None if any(n > 1 for n in changed_sizes) else (deleted, inserted)


def transpose_is_bitcast(
    input_shape: Shape,
    output_shape: Shape,
    dimension_mapping: Sequence[int],
    ignore_element_type: bool = False,
) -> bool:
    """Return whether a transpose moves nothing; output dimension k is input's ``mapping[k]``.

    Only **the two orders** are compared: not the sizes, not the tiles, and dimensions of size 1 are
    no exception. False for different element types unless ignored. Raises `ValueError` without
    layouts.
    """
    before, after = input_shape.own_order, output_shape.own_order
    mapping = checked_permutation("dimension_mapping", dimension_mapping, len(before))
    if not ignore_element_type and not same_element_type(input_shape, output_shape):
        return False
    # `after[i]` is the i-th fastest dimension of the output, and `mapping` turns it into a
    # dimension of the input. Nothing moves if these are the input's dimensions from the fastest on.
    return len(after) == len(mapping) and compose_permutations(mapping, after) == list(before)


def reshape_is_bitcast(
    input_shape: Shape, output_shape: Shape, ignore_element_type: bool = False
) -> bool:
    """Return whether a row-major reshape leaves each element in place, by the two orders.

    Dimensions of size 1 may be anywhere. True without elements, False for different numbers of
    elements and, unless ignored, for different element types. **Tiles are ignored.**
    """
    before, after = input_shape.own_order, output_shape.own_order
    if not ignore_element_type and not same_element_type(input_shape, output_shape):
        return False
    if input_shape.size != output_shape.size or not input_shape.size:
        return input_shape.size == output_shape.size
    # An element stays in place exactly if its output index leads to the same slot by both strides.
    # Dimensions of size 1 have only index 0, so their strides do not matter and are left out.
    sizes = output_shape.dimensions
    output_strides = packed_strides(sizes, after)
    reshaped_strides = _strides_after_reshape(input_shape.dimensions, before, sizes)
    return reshaped_strides == {d: output_strides[d] for d, size in enumerate(sizes) if size != 1}


def _strides_after_reshape(
    sizes: Sequence[int], order: Sequence[int], output_sizes: Sequence[int]
) -> dict[int, int] | None:
    """Return the strides of output dimensions larger than 1 in the memory of the input.

    None if strides cannot express it. Both have the same number of elements, at least one.
    """
    strides = packed_strides(sizes, order)
    output_strides = reshape_strides([*zip(sizes, strides, strict=True)], output_sizes)
    return (
        None
        if output_strides is None
        else {d: output_strides[d] for d, size in enumerate(output_sizes) if size != 1}
    )


def deduce_transpose_dimensions_for_bitcast(
    input_shape: Shape, output_shape: Shape
) -> list[int] | None:
    """Return the permutation that makes the output a transpose of the input in the same memory.

    Output dimension k is input dimension ``p[k]``, as the two orders determine. Returns None if the
    sizes do not agree.
    """
    before, after = input_shape.own_order, output_shape.own_order
    if len(before) != len(after):
        return None
    # `after.index(k)` is the rank of output dimension k in memory; the input's dimension of that
    # rank occupies the same memory.
    permutation = [before[after.index(k)] for k in range(len(after))]
    has_equal_sizes = [input_shape.dimensions[d] for d in permutation] == list(
        output_shape.dimensions
    )
    return permutation if has_equal_sizes else None


def is_reshape_or_transpose_bitcast(a: Shape, b: Shape, ignore_element_type: bool = False) -> bool:
    """Return whether two shapes are equal, or one reshape or transpose in the same memory."""
    if not ignore_element_type and not same_element_type(a, b):
        return False
    return (
        equal_ignoring_element_type(a, b)
        or reshape_is_bitcast(a, b, ignore_element_type=True)
        or deduce_transpose_dimensions_for_bitcast(a, b) is not None
    )


@dataclass(frozen=True, slots=True)
class ReshapeBitcast:
    """Bitcast that is one reshape."""


@dataclass(frozen=True, slots=True)
class TransposeBitcast:
    """Bitcast that is one transpose: output dimension k is input ``transpose_dims[k]``."""

    transpose_dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrtBitcast:
    """Bitcast as a transpose, a reshape and a transpose; each step may change nothing."""

    transpose1_dims: tuple[int, ...]
    transpose1_shape: Shape
    reshape_shape: Shape
    transpose2_dims: tuple[int, ...]

    @property
    def is_transpose1_identity(self) -> bool:
        """True if the first step changes nothing."""
        return is_identity_permutation(self.transpose1_dims)

    @property
    def is_transpose2_identity(self) -> bool:
        """True if the last step changes nothing."""
        return is_identity_permutation(self.transpose2_dims)


def decompose_bitcast_to_trt(input_shape: Shape, output_shape: Shape) -> TrtBitcast | None:
    """Return a bitcast as transpose, reshape, transpose, through row-major shapes of both sides.

    Returns None if a layout is missing or the numbers of elements differ. Both types should have
    the same bits; this is not checked.
    """
    after = output_shape.layout
    if input_shape.layout is None or after is None or input_shape.size != output_shape.size:
        return None
    # Listing each side's dimensions from the most major one makes both row-major without moving
    # anything. Between two row-major shapes of equal size a reshape moves nothing either.
    to_row_major = make_shape_with_descending_layout_and_same_physical_layout
    return TrtBitcast(
        input_shape.order[::-1],
        to_row_major(input_shape),
        to_row_major(output_shape),
        # The last transpose goes back from physical to logical order: output dimension k is the
        # dimension at its position in the row-major shape.
        after.logical_to_physical,
    )


def decompose_bitcast(
    input_shape: Shape, output_shape: Shape
) -> ReshapeBitcast | TransposeBitcast | TrtBitcast | None:
    """Return a bitcast as one reshape, one transpose or three steps, whichever fits first.

    Returns None if a layout is missing or the numbers of elements differ. Types are ignored.
    """
    steps = decompose_bitcast_to_trt(input_shape, output_shape)
    if steps is None:
        return None
    # The order of XLA: a transpose that moves only dimensions of size 1 is a reshape, too, and
    # counts as one.
    if reshape_is_bitcast(input_shape, output_shape, ignore_element_type=True):
        return ReshapeBitcast()
    dims = deduce_transpose_dimensions_for_bitcast(input_shape, output_shape)
    return steps if dims is None else TransposeBitcast(tuple(dims))


@define_by("decompose_bitcast(input_shape, output_shape) is not None")
def is_decomposable_bitcast(input_shape: Shape, output_shape: Shape) -> bool: ...


def align_layouts(input_shape: Shape, output_shape: Shape) -> Shape | None:
    """Return `output_shape` in an order that makes the reshape a bitcast; None if impossible.

    Dimensions of size 1 become the most major ones, descending. Each group of dimensions that the
    reshape merges or splits must be one row-major run in the input. The resulting layout has no
    tiles. Without elements the order is row-major.

    Raises `ValueError` if the numbers of elements of `input_shape` and `output_shape` differ.

    >>> from tensorlayout.xla import parse_shape
    >>> shapes = parse_shape("f32[3,8,5,7,11]{3,2,1,0,4}"), parse_shape("f32[4,3,2,7,5,11]")
    >>> print(align_layouts(*shapes))
    f32[4,3,2,7,5,11]{4,3,2,1,0,5}
    """
    order = input_shape.own_order
    same_size = input_shape.size == output_shape.size
    require(same_size, "shape: must have equal numbers of elements", input_shape, output_shape)
    if not input_shape.size:
        return output_shape.replace(layout=XlaLayout.row_major(output_shape.rank))
    strides = _strides_after_reshape(input_shape.dimensions, order, output_shape.dimensions)
    if strides is None:
        return None
    # `strides` has no dimensions of size 1. All others are larger than 1, so no two strides are
    # equal and sorting by stride gives the order from the most minor one on.
    ones = [d for d in range(output_shape.rank - 1, -1, -1) if d not in strides]
    layout = XlaLayout(minor_to_major=(*sorted(strides, key=strides.__getitem__), *ones))
    return output_shape.replace(layout=layout)


def get_normalized_logical_transpose_shape(
    input_shape: Shape, output_shape: Shape, dimensions: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the output sizes and the permutation of a row-major transpose, simplified.

    Dimensions of size 1 are removed, and runs of input dimensions that stay together are merged. If
    nothing moves, one dimension is left.

    Raises `ValueError` if an order is not row-major, or `dimensions` does not turn `input_shape`
    into `output_shape`.

    >>> from tensorlayout.xla import parse_shape
    >>> shapes = parse_shape("f32[10,1,11,32]"), parse_shape("f32[32,1,10,11]")
    >>> get_normalized_logical_transpose_shape(*shapes, [3, 1, 0, 2])
    ((32, 110), (1, 0))
    """
    for shape in (input_shape, output_shape):
        row_major = shape.layout is not None and shape.layout.is_row_major
        require(row_major, "shape: must have row-major layouts", shape)
    sizes = input_shape.dimensions
    dims = checked_permutation("dimensions", dimensions, len(sizes))
    fits = tuple(sizes[d] for d in dims) == output_shape.dimensions
    require(fits, f"dimensions: must make {truncate(output_shape)} of", dims, subject=input_shape)
    # In the example, `large` is [0, 2, 3], and `numbers` [2, 0, 1] lists the output's dimensions by
    # their place in it. Dimensions that stay together have consecutive numbers, for which
    # number - position is constant: the runs are [2] and [0, 1].
    large = [d for d, n in enumerate(sizes) if n != 1]
    numbers = [large.index(d) for d in dims if d in large]
    grouped = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    # If all sizes are 1 there are no runs; one empty run stands for the dimension that is left.
    runs = [[number for _, number in run] for _, run in grouped] or [[]]
    # Sorted, the runs are the merged dimensions of the input; their places there are the
    # permutation.
    ranked = sorted(runs)
    merged = tuple(math.prod(sizes[large[number]] for number in run) for run in runs)
    return merged, tuple(map(ranked.index, runs))


export_with_argument_checks(globals())
