"""Matrix products as BLAS is told of them: transposes, leading dimensions, batches. Integers only.

BLAS knows matrices of which one dimension is contiguous and the other has a greater stride, the
*leading dimension*; and stacks of them at one distance. What a layout is beyond that is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, merged

# Stacks that are no single stack take a call for each outer index. Beyond so many calls an operand
# whose own stack is to blame is copied.
CALLS = 16

# The largest number that cuBLAS takes for a size.
LARGEST = 2**31 - 1


class Matrix(NamedTuple):
    """A matrix as BLAS takes it: `transposed` if its columns are contiguous, not its rows."""

    transposed: bool
    leading: int


@dataclass(frozen=True, slots=True)
class Gemm:
    """Calls of one kind: (m, k) matrices times (k, n) matrices give row-major (m, n) matrices.

    Attributes:
        m, n, k: the sizes.
        first, second: the operands.
        stack: how many products a call makes, and how far apart their matrices are.
        starts: for each call the first elements of the operands and the result.
        conjugate: whether the first operand, then of one row, is conjugated.

    All distances count elements.

    """

    m: int
    n: int
    k: int
    first: Matrix
    second: Matrix
    stack: Axis
    starts: tuple[tuple[int, int, int], ...]
    conjugate: bool = False


def matrix(layout: Layout) -> Matrix | None:
    """The last two dimensions as BLAS takes them, rows contiguous if possible; None if it cannot.

    >>> matrix(Layout((3, 4), (9, 1))), matrix(Layout((3, 4), (1, 3)))
    (Matrix(transposed=False, leading=9), Matrix(transposed=True, leading=3))
    >>> matrix(Layout((3, 4), (9, 2))) is None
    True
    """
    (rows, columns), (down, right) = layout.shape[-2:], layout.strides[-2:]
    if columns == 1 or right == 1:
        leading = columns if rows == 1 else down
        if leading >= columns:
            return Matrix(False, max(leading, 1))
    if rows == 1 or down == 1:
        leading = rows if columns == 1 else right
        if leading >= rows:
            return Matrix(True, max(leading, 1))
    return None


def packed(layout: Layout) -> Layout:
    """A layout of the same shape that BLAS takes: the matrices one after the other, each packed.

    Each keeps its faster dimension the faster one, so that a copy reads runs.
    """
    *stack, rows, columns = range(layout.ndim)
    down, right = layout.strides[-2:]
    by_columns = 0 < abs(down) < abs(right)
    fastest = (rows, columns) if by_columns else (columns, rows)
    return Layout.packed(layout.shape, (*fastest, *reversed(stack)))


def as_matrices(first: Layout, second: Layout) -> tuple[Layout, Layout]:
    """The operands of a product, vectors as matrices of one row or one column."""
    a = first.expand_dims(0) if first.ndim == 1 else first
    b = second.expand_dims(1) if second.ndim == 1 else second
    return a, b


def without_repeats(layout: Layout, other: Layout) -> Layout:
    """A stack of matrices without those that stride 0 repeats: those dimensions have size 1.

    But for dimensions that `other`, the other operand, does not have: the result has them.
    """
    cut = [slice(None)] * layout.ndim
    for d in range(-layout.ndim, -2):
        if not layout.strides[d] and -d <= other.ndim and other.shape[d] == layout.shape[d]:
            cut[d] = slice(0, 1)
    found = layout.slice(tuple(cut))
    assert found is not None, "operands are strided, and have every slice"
    return found


def stack_axes(first: Layout, second: Layout) -> list[Axis]:
    """The dimensions before the matrices, broadcast, slowest first; neighbours in step are one.

    Strides are those of each operand and of the result, whose products are row-major.
    """
    far = first.shape[-2] * second.shape[-1]
    axes: list[Axis] = []
    for d in range(1, max(first.ndim, second.ndim) - 1):
        sizes, steps = zip(*(_dimension(x, -2 - d) for x in (first, second)), strict=True)
        axes.append(Axis(max(sizes), (*steps, far)))
        far *= axes[-1].size
    return merged(reversed(axes))


def _dimension(layout: Layout, dim: int) -> tuple[int, int]:
    """The size and the stride of a dimension counted from the end; 1 and 0 if it is repeated."""
    size = layout.shape[dim] if -dim <= layout.ndim else 1
    return size, layout.strides[dim] if size > 1 else 0


def copies(first: Layout, second: Layout) -> tuple[bool, bool]:
    """Which operands, stacks of matrices, BLAS cannot be told of as they lie."""
    many = prod(sorted(axis.size for axis in stack_axes(first, second))[:-1]) > CALLS
    one, other = (
        matrix(x) is None
        or min(x.strides[:-2], default=0) < 0
        or (many and len(stack_axes(x, x)) > 1)
        for x in (first, second)
    )
    return one, other


def plan_gemm(first: Layout, second: Layout, conjugate: bool = False) -> Gemm:
    """The calls for two stacks of matrices that need no copy; nothing about them is empty.

    OverflowError for sizes that cuBLAS, which counts in 32 bits, cannot be told of.
    """
    (m, k), n = first.shape[-2:], second.shape[-1]
    a, b = matrix(first), matrix(second)
    assert a is not None
    assert b is not None
    axes = stack_axes(first, second)
    if conjugate:  # which BLAS does to what it transposes
        a = Matrix(True, max(first.strides[-1], 1))
    elif axes and not axes[-1].strides[1]:
        taller = _in_one(m, k, a, axes[-1])
        if taller is not None:
            (m, a), axes = taller, axes[:-1]
    stack = max(axes, key=lambda axis: axis.size, default=Axis(1, (0, 0, 0)))
    outer = [axis for axis in axes if axis is not stack]
    starts = []
    for index in product(*(range(axis.size) for axis in outer)):
        pairs = list(zip(index, outer, strict=True))
        x, y, z = (sum(i * axis.strides[which] for i, axis in pairs) for which in range(3))
        starts.append((x, y, z))
    if max(m, n, k, a.leading, b.leading, stack.size) > LARGEST:
        msg = f"cuBLAS takes sizes up to {LARGEST}, got {stack.size} times {(m, k)} by {(k, n)}"
        raise OverflowError(msg)
    return Gemm(m, n, k, a, b, stack, tuple(starts), conjugate)


def _in_one(m: int, k: int, a: Matrix, axis: Axis) -> tuple[int, Matrix] | None:
    """Matrices that are multiplied by one and the same, as one matrix of all their rows."""
    step = axis.strides[0]
    if a.transposed or m * axis.size > LARGEST:
        return None
    if m == 1 and step >= k:
        return axis.size, Matrix(False, step)
    return (m * axis.size, a) if step == m * a.leading else None
