"""Rules of linear algebra: the shapes and dtypes of its results, see `plan.library.Rule`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.errors import shown
from tensorlayout.plan.library import Results, Shape, complex_of
from tensorlayout.plan.rules import AxisError, broadcast_shape

Shapes = Sequence[Shape]


def _stack(shape: Shape) -> Shape:
    """Return the shape of square matrices without the last dimension."""
    if shape[-1] != shape[-2]:
        raise ValueError(f"matrices must be square, got shape {shape}")
    return shape[:-1]


def like(shapes: Shapes, dtype: DType, **_: Any) -> Results:
    """Matrices as those given, which must be square."""
    return [((*_stack(shapes[0]), shapes[0][-1]), dtype)]


def number(shapes: Shapes, dtype: DType) -> Results:
    """One number for each square matrix."""
    return [(_stack(shapes[0])[:-1], dtype)]


def sign_and_logarithm(shapes: Shapes, dtype: DType) -> Results:
    """Two numbers for each square matrix, the second real."""
    shape = _stack(shapes[0])[:-1]
    return [(shape, dtype), (shape, dtypes.real_of(dtype))]


def real_values(shapes: Shapes, dtype: DType) -> Results:
    """As many real numbers as each square matrix has rows."""
    return [(_stack(shapes[0]), dtypes.real_of(dtype))]


def complex_values(shapes: Shapes, dtype: DType) -> Results:
    """As many complex numbers as each square matrix has rows."""
    return [(_stack(shapes[0]), complex_of(dtype))]


def hermitian(shapes: Shapes, dtype: DType) -> Results:
    """Eigenvalues, real, and eigenvectors."""
    return [*real_values(shapes, dtype), (shapes[0], dtype)]


def general(shapes: Shapes, dtype: DType) -> Results:
    """Eigenvalues and eigenvectors, complex."""
    return [*complex_values(shapes, dtype), (shapes[0], complex_of(dtype))]


def factors(shapes: Shapes, dtype: DType, *, mode: str) -> Results:
    """The factors of `qr`."""
    *stack, m, n = shapes[0]
    k = m if mode == "complete" else min(m, n)
    return [((*stack, m, k), dtype), ((*stack, k, n), dtype)]


def singular(shapes: Shapes, dtype: DType, *, full_matrices: bool) -> Results:
    """The left vectors, values and right vectors of `svd`."""
    *stack, m, n = shapes[0]
    left, right = (m, n) if full_matrices else (min(m, n), min(m, n))
    values = singular_values(shapes, dtype)
    return [((*stack, m, left), dtype), *values, ((*stack, right, n), dtype)]


def singular_values(shapes: Shapes, dtype: DType) -> Results:
    """The singular values of each matrix, real."""
    *stack, m, n = shapes[0]
    return [((*stack, min(m, n)), dtypes.real_of(dtype))]


def _of_stack(shape: Shape, tolerance: Shape) -> Shape:
    """The shape of the stack, which the tolerance must not widen."""
    if broadcast_shape([shape[:-2], tolerance]) != shape[:-2]:
        raise ValueError(f"rtol of shape {tolerance} does not fit a stack of shape {shape[:-2]}")
    return shape[:-2]


def rank(shapes: Shapes, dtype: DType) -> Results:
    """One integer for each matrix."""
    return [(_of_stack(*shapes), dtypes.int64)]


def transposed(shapes: Shapes, dtype: DType) -> Results:
    """Matrices of the transposed shape."""
    *_, m, n = shapes[0]
    return [((*_of_stack(*shapes), n, m), dtype)]


def solution(shapes: Shapes, dtype: DType) -> Results:
    """What the square matrices map to the second operand: vectors, or matrices."""
    a, b = shapes
    rows = _stack(a)
    if not b or b[-2 if len(b) > 1 else 0] != a[-1]:
        raise ValueError(f"shapes {a} and {b} do not match as (…, m, m) and (m,) or (…, m, k)")
    if len(b) == 1:
        return [(rows, dtype)]
    return [((*broadcast_shape([a[:-2], b[:-2]]), *b[-2:]), dtype)]


def crossed(shapes: Shapes, dtype: DType, *, axis: int) -> Results:
    """Vectors of three elements along `axis`, broadcast."""
    _axis_of_vectors(shapes, axis)
    if any(shape[axis] != 3 for shape in shapes):
        msg = f"sizes along axis {axis} must be 3, got shapes {shapes[0]} and {shapes[1]}"
        raise ValueError(msg)
    return [(broadcast_shape(shapes), dtype)]


def table(shapes: Shapes, dtype: DType) -> Results:
    """All pairs of elements of two vectors."""
    return [((*shapes[0], *shapes[1]), dtype)]


def normed(shapes: Shapes, dtype: DType, *, keepdims: bool, ord: Any) -> Results:
    """One real number for each matrix, `ord` one that there is."""
    *stack, m, n = shapes[0]
    counts = {"fro": 1, "nuc": 1, None: 1, 1: 1, 2: 1, math.inf: 1}
    counts |= {-1: n, -2: min(m, n), -math.inf: m}  # of how many the least is taken
    if ord not in counts:
        allowed = "'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        raise ValueError(f"ord must be {allowed}, got {shown(ord)}")
    if not counts[ord]:
        raise ValueError(f"no norm of order {ord} of empty matrices, got shape {shapes[0]}")
    return [((*stack, *[1, 1] * keepdims), dtypes.real_of(dtype))]


def length(shapes: Shapes, dtype: DType, *, axis: Shape, keepdims: bool, ord: float) -> Results:
    """One real number for the elements along `axis`."""
    shape = shapes[0]
    if ord == -math.inf and any(shape[d] == 0 for d in axis):
        msg = f"no norm of order -inf of no elements, along axis {axis} of shape {shape}"
        raise ValueError(msg)
    pairs = [(d, 1 if d in axis else n) for d, n in enumerate(shape)]
    kept = tuple(n for d, n in pairs if keepdims or d not in axis)
    return [(kept, dtypes.real_of(dtype))]


def contracted(shapes: Shapes, dtype: DType, *, axes: Any) -> Results:
    """The axes of `tensordot` that are not paired, the first operand's before the second's."""
    (a, b), (first, second) = shapes, axes
    if [a[d] for d in first] != [b[d] for d in second]:
        raise ValueError(f"sizes along axes {first} of shape {a} and {second} of shape {b} differ")
    rows = tuple(n for d, n in enumerate(a) if d not in first)
    columns = tuple(n for d, n in enumerate(b) if d not in second)
    return [((*rows, *columns), dtype)]


def summed(shapes: Shapes, dtype: DType, *, axis: int) -> Results:
    """One number for each pair of vectors of one size along `axis`, broadcast."""
    _axis_of_vectors(shapes, axis)
    a, b = shapes
    if a[axis] != b[axis]:
        raise ValueError(f"sizes along axis {axis} differ in shapes {a} and {b}")
    return [(broadcast_shape([_without(a, axis), _without(b, axis)]), dtype)]


def _without(shape: Shape, axis: int) -> Shape:
    at = axis % len(shape)
    return shape[:at] + shape[at + 1 :]


def _axis_of_vectors(shapes: Shapes, axis: int) -> None:
    first, second = shapes
    if not -min(len(first), len(second)) <= axis < 0:
        raise AxisError(
            f"axis must be negative and inside both shapes {first} and {second}, got {shown(axis)}"
        )


# --- einsum ---

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@lru_cache(4096)
def fitted(subscripts: str, shapes: tuple[Shape, ...]) -> tuple[str, Shape]:
    """Return subscripts with an output and a letter for every dimension, and the result's shape.

    As NumPy reads them: sizes of 1 broadcast, and dimensions of ``...`` that the output leaves out
    are summed, too. Each operand has its term.
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    for letter in "".join(term.replace("...", "", 1) for term in (*terms, output)):
        if letter not in _LETTERS:
            msg = f"{letter!r} is no letter, and no part of one '->' or of a term's one '...'"
            raise ValueError(msg)
    ranks = [len(term.replace("...", "")) for term in terms]
    rest = [len(shape) - rank for shape, rank in zip(shapes, ranks, strict=True)]
    for term, shape, unnamed in zip(terms, shapes, rest, strict=True):
        if unnamed < 0 or (unnamed and "..." not in term):
            raise ValueError(f"{term!r} does not name the dimensions of shape {shape}")
    free = [letter for letter in _LETTERS if letter not in subscripts]
    most = max(rest)
    if most > len(free):
        raise ValueError(f"there are {len(free)} letters left for the {most} dimensions of '...'")
    others = "".join(free[:most])
    named = [
        term.replace("...", others[most - unnamed :])
        for term, unnamed in zip(terms, rest, strict=True)
    ]
    sizes = _sizes(named, shapes, others)
    if arrow:
        kept = output.replace("...", others)
    else:
        kept = others + "".join(letter for letter in sorted(sizes) if inputs.count(letter) == 1)
    for letter in kept:
        if letter not in sizes or kept.count(letter) > 1:
            raise ValueError(f"{letter!r} is in no operand, or more than once in the output")
    return f"{','.join(named)}->{kept}", tuple(sizes[letter] for letter in kept)


def _sizes(named: Sequence[str], shapes: Sequence[Shape], others: str) -> dict[str, int]:
    """Return the size of each letter: equal in one operand, equal or 1 in several."""

    def same(letter: str, first: int, second: int) -> None:
        if first != second:
            msg = f"{'...' if letter in others else letter!r} names sizes {first} and {second}"
            raise ValueError(msg)

    sizes: dict[str, int] = {}
    for term, shape in zip(named, shapes, strict=True):
        own: dict[str, int] = {}
        for letter, size in zip(term, shape, strict=True):
            same(letter, own.setdefault(letter, size), size)
        for letter, size in own.items():
            if sizes.get(letter, 1) == 1:
                sizes[letter] = size
            elif size != 1:
                same(letter, sizes[letter], size)
    return sizes
