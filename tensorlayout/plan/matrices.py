"""Shapes and dtypes of the results of linear algebra: see `plan.library.Rule`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.errors import short_repr
from tensorlayout.plan.library import Results, Shape, complex_dtype_for
from tensorlayout.plan.rules import AxisError, broadcast_shape

Shapes = Sequence[Shape]


def _row_shape_of_square(shape: Shape) -> Shape:
    """Return the shape without the last dimension; raise ValueError for non-square matrices."""
    if shape[-1] != shape[-2]:
        raise ValueError(f"matrices must be square, got shape {shape}")
    return shape[:-1]


def square_matrix_result(shapes: Shapes, dtype: DType, **_: Any) -> Results:
    """Return the shape and dtype of one square matrix per square matrix."""
    return [((*_row_shape_of_square(shapes[0]), shapes[0][-1]), dtype)]


def scalar_per_matrix_result(shapes: Shapes, dtype: DType) -> Results:
    """Return the shape and dtype of one number per square matrix."""
    return [(_row_shape_of_square(shapes[0])[:-1], dtype)]


def slogdet_results(shapes: Shapes, dtype: DType) -> Results:
    """Return the shapes and dtypes of two numbers per square matrix, the second one real."""
    shape = _row_shape_of_square(shapes[0])[:-1]
    return [(shape, dtype), (shape, dtypes.real_part_dtype(dtype))]


def real_eigenvalues_result(shapes: Shapes, dtype: DType) -> Results:
    """Return the shape and dtype of n real numbers per n×n matrix."""
    return [(_row_shape_of_square(shapes[0]), dtypes.real_part_dtype(dtype))]


def complex_eigenvalues_result(shapes: Shapes, dtype: DType) -> Results:
    """Return n complex numbers per n×n matrix."""
    return [(_row_shape_of_square(shapes[0]), complex_dtype_for(dtype))]


def eigh_results(shapes: Shapes, dtype: DType) -> Results:
    """Return real eigenvalues, and eigenvectors."""
    return [*real_eigenvalues_result(shapes, dtype), (shapes[0], dtype)]


def eig_results(shapes: Shapes, dtype: DType) -> Results:
    """Return complex eigenvalues and eigenvectors."""
    return [*complex_eigenvalues_result(shapes, dtype), (shapes[0], complex_dtype_for(dtype))]


def qr_results(shapes: Shapes, dtype: DType, *, mode: str) -> Results:
    """Return the shapes and dtypes of the factors Q and R."""
    *stack, m, n = shapes[0]
    k = m if mode == "complete" else min(m, n)
    return [((*stack, m, k), dtype), ((*stack, k, n), dtype)]


def svd_results(shapes: Shapes, dtype: DType, *, full_matrices: bool) -> Results:
    """Return the shapes and dtypes of left vectors, singular values and right vectors."""
    *stack, m, n = shapes[0]
    left_vectors, right = (m, n) if full_matrices else (min(m, n), min(m, n))
    values = singular_values_result(shapes, dtype)
    return [((*stack, m, left_vectors), dtype), *values, ((*stack, right, n), dtype)]


def singular_values_result(shapes: Shapes, dtype: DType) -> Results:
    """Return the shape and dtype of the real singular values."""
    *stack, m, n = shapes[0]
    return [((*stack, min(m, n)), dtypes.real_part_dtype(dtype))]


def _stack_shape_for_tolerance(shape: Shape, tolerance: Shape) -> Shape:
    """Return the shape of the matrix stack; ValueError if a tolerance would widen it."""
    if broadcast_shape([shape[:-2], tolerance]) != shape[:-2]:
        raise ValueError(f"rtol of shape {tolerance} does not fit a stack of shape {shape[:-2]}")
    return shape[:-2]


def matrix_rank_result(shapes: Shapes, dtype: DType) -> Results:
    """Return the shape and dtype of one integer per matrix."""
    return [(_stack_shape_for_tolerance(*shapes), dtypes.int64)]


def transposed_result(shapes: Shapes, dtype: DType) -> Results:
    """Return the shape and dtype of matrices with rows and columns swapped."""
    *_, m, n = shapes[0]
    return [((*_stack_shape_for_tolerance(*shapes), n, m), dtype)]


def solve_result(shapes: Shapes, dtype: DType) -> Results:
    """Return a solution per system: vectors, or matrices."""
    a, b = shapes
    rows = _row_shape_of_square(a)
    # The standard: `b` is a vector only if it has rank 1; otherwise it is a stack of matrices.
    if not b or b[-2 if len(b) > 1 else 0] != a[-1]:
        raise ValueError(f"shapes {a} and {b} do not match as (…, m, m) and (m,) or (…, m, k)")
    if len(b) == 1:
        return [(rows, dtype)]
    return [((*broadcast_shape([a[:-2], b[:-2]]), *b[-2:]), dtype)]


def cross_product_result(shapes: Shapes, dtype: DType, *, axis: int) -> Results:
    """Return vectors of three elements along `axis`, broadcast."""
    _check_negative_axis_in_both(shapes, axis)
    if any(shape[axis] != 3 for shape in shapes):
        msg = f"sizes along axis {axis} must be 3, got shapes {shapes[0]} and {shapes[1]}"
        raise ValueError(msg)
    return [(broadcast_shape(shapes), dtype)]


def outer_product_result(shapes: Shapes, dtype: DType) -> Results:
    """Return the shape and dtype of the outer product of two vectors."""
    return [((*shapes[0], *shapes[1]), dtype)]


def matrix_norm_result(shapes: Shapes, dtype: DType, *, keepdims: bool, ord: Any) -> Results:
    """Return one real number for each matrix; raise ValueError for an unknown `ord`."""
    *stack, m, n = shapes[0]
    counts = {"fro": 1, "nuc": 1, None: 1, 1: 1, 2: 1, math.inf: 1}
    counts |= {-1: n, -2: min(m, n), -math.inf: m}  # a minimum needs at least one number
    if ord not in counts:
        allowed = "'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        raise ValueError(f"ord must be {allowed}, got {short_repr(ord)}")
    if not counts[ord]:
        raise ValueError(f"no norm of order {ord} of empty matrices, got shape {shapes[0]}")
    return [((*stack, *[1, 1] * keepdims), dtypes.real_part_dtype(dtype))]


def vector_norm_result(
    shapes: Shapes, dtype: DType, *, axis: Shape, keepdims: bool, ord: float
) -> Results:
    """Return the shape and dtype of one real norm per vector along `axis`."""
    shape = shapes[0]
    if ord == -math.inf and any(shape[d] == 0 for d in axis):
        msg = f"no norm of order -inf of no elements, along axis {axis} of shape {shape}"
        raise ValueError(msg)
    pairs = [(d, 1 if d in axis else n) for d, n in enumerate(shape)]
    kept_sizes = tuple(n for d, n in pairs if keepdims or d not in axis)
    return [(kept_sizes, dtypes.real_part_dtype(dtype))]


def tensordot_result(shapes: Shapes, dtype: DType, *, axes: Any) -> Results:
    """Return the shape and dtype of `tensordot`: the unpaired axes of both operands."""
    (a, b), (first, second) = shapes, axes
    if [a[d] for d in first] != [b[d] for d in second]:
        raise ValueError(f"sizes along axes {first} of shape {a} and {second} of shape {b} differ")
    rows = tuple(n for d, n in enumerate(a) if d not in first)
    columns = tuple(n for d, n in enumerate(b) if d not in second)
    return [((*rows, *columns), dtype)]


def vecdot_result(shapes: Shapes, dtype: DType, *, axis: int) -> Results:
    """Return the shape and dtype of one number per pair of vectors along `axis`, broadcast."""
    _check_negative_axis_in_both(shapes, axis)
    a, b = shapes
    if a[axis] != b[axis]:
        raise ValueError(f"sizes along axis {axis} differ in shapes {a} and {b}")
    return [(broadcast_shape([_shape_without_axis(a, axis), _shape_without_axis(b, axis)]), dtype)]


def _shape_without_axis(shape: Shape, axis: int) -> Shape:
    at = axis % len(shape)
    return shape[:at] + shape[at + 1 :]


def _check_negative_axis_in_both(shapes: Shapes, axis: int) -> None:
    # Only an axis counted from the end is the same one in shapes that broadcast from the right.
    first, second = shapes
    if not -min(len(first), len(second)) <= axis < 0:
        raise AxisError(
            f"axis must be negative and inside both shapes {first} and {second}, got "
            f"{short_repr(axis)}"
        )


# --- einsum ---

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@lru_cache(4096)
def expand_einsum_subscripts(subscripts: str, shapes: tuple[Shape, ...]) -> tuple[str, Shape]:
    """Return subscripts with an output and a letter per dimension, and the result's shape.

    The rules are NumPy's: sizes of 1 broadcast, and dimensions of ``...`` that the output leaves
    out are summed, too. There is one term for each operand.
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    for letter in "".join(term.replace("...", "", 1) for term in (*terms, output)):
        if letter not in _LETTERS:
            msg = f"{letter!r} is no letter, and no part of one '->' or of a term's one '...'"
            raise ValueError(msg)
    ranks = [len(term.replace("...", "")) for term in terms]
    unnamed_counts = [len(shape) - rank for shape, rank in zip(shapes, ranks, strict=True)]
    for term, shape, unnamed in zip(terms, shapes, unnamed_counts, strict=True):
        if unnamed < 0 or (unnamed and "..." not in term):
            raise ValueError(f"{term!r} does not name the dimensions of shape {shape}")
    free = [letter for letter in _LETTERS if letter not in subscripts]
    most = max(unnamed_counts)
    if most > len(free):
        raise ValueError(f"there are {len(free)} letters left for the {most} dimensions of '...'")
    others = "".join(free[:most])
    # An operand with fewer unnamed dimensions takes the last of these letters, because shapes
    # broadcast from the right.
    named = [
        term.replace("...", others[most - unnamed :])
        for term, unnamed in zip(terms, unnamed_counts, strict=True)
    ]
    sizes = _einsum_letter_sizes(named, shapes, others)
    if arrow:
        output_letters = output.replace("...", others)
    else:
        # NumPy's rule without an arrow: the dimensions of '...', then each letter that occurs once,
        # in alphabetical order.
        output_letters = others + "".join(
            letter for letter in sorted(sizes) if inputs.count(letter) == 1
        )
    for letter in output_letters:
        if letter not in sizes or output_letters.count(letter) > 1:
            raise ValueError(f"{letter!r} is in no operand, or more than once in the output")
    return f"{','.join(named)}->{output_letters}", tuple(sizes[letter] for letter in output_letters)


def _einsum_letter_sizes(
    named: Sequence[str], shapes: Sequence[Shape], others: str
) -> dict[str, int]:
    """Return the size of each letter, which is equal within an operand, and else equal or 1."""

    def check_same_size(letter: str, first: int, second: int) -> None:
        if first != second:
            msg = f"{'...' if letter in others else letter!r} names sizes {first} and {second}"
            raise ValueError(msg)

    sizes: dict[str, int] = {}
    for term, shape in zip(named, shapes, strict=True):
        own: dict[str, int] = {}
        for letter, size in zip(term, shape, strict=True):
            check_same_size(letter, own.setdefault(letter, size), size)
        for letter, size in own.items():
            if sizes.get(letter, 1) == 1:
                sizes[letter] = size
            elif size != 1:
                check_same_size(letter, sizes[letter], size)
    return sizes
