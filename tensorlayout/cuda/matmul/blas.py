"""Matrix products as BLAS is told of them, by cuBLAS or, on the simulator, by NumPy.

BLAS knows matrices of which one dimension is contiguous and the other has a greater stride, the
*leading dimension*; and stacks of them at one distance. What a layout is beyond that is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine.driver import Driver, Strided, cupy_part, driver
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, merged
from tensorlayout.plan.base import Write
from tensorlayout.tensor import Tensor, TensorSpec

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


def packed_matrices(layout: Layout) -> Layout:
    """A layout of the same shape that BLAS takes: the matrices one after the other, each packed.

    Each keeps its faster dimension the faster one, so that a copy reads runs.
    """
    *stack, rows, columns = range(layout.ndim)
    down, right = layout.strides[-2:]
    by_columns = 0 < abs(down) < abs(right)
    fastest = (rows, columns) if by_columns else (columns, rows)
    return Layout.packed(layout.shape, (*fastest, *reversed(stack)))


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


# ---- Calls


class Call(NamedTuple):
    """The arguments of ``gemmStridedBatchedEx``, whose matrices are column-major.

    Row-major results are column-major ones transposed: the operands change places.
    """

    transa: str  # N, T or C
    transb: str
    m: int
    n: int
    k: int
    a: int
    lda: int
    stride_a: int
    b: int
    ldb: int
    stride_b: int
    c: int
    ldc: int
    stride_c: int
    products: int


def calls(gemm: Gemm, itemsize: int, addresses: tuple[int, int, int]) -> Iterator[Call]:
    """What BLAS is called with."""
    first, second, count, far = gemm.first, gemm.second, gemm.stack.size, gemm.stack.strides
    for starts in gemm.starts:
        x, y, out = (p + n * itemsize for p, n in zip(addresses, starts, strict=True))
        yield Call(
            *(_op(second), "C" if gemm.conjugate else _op(first)),
            *(gemm.n, gemm.m, gemm.k),
            *(y, second.leading, far[1]),
            *(x, first.leading, far[0]),
            *(out, gemm.n, far[2]),
            count,
        )


def _op(matrix: Matrix) -> str:
    return "T" if matrix.transposed else "N"


def write_gemm(gemm: Gemm, firsts: tuple[int, int], result: TensorSpec) -> Write:
    """The products of two tensors; `firsts`: elements of each before the first of its matrices.

    Asynchronous on the current stream.
    """
    gpu, number, itemsize = driver(), result.device.number, result.dtype.itemsize
    call = (_numpy if gpu.name == "simulator" else _cublas)(gpu, result.dtype, number)
    x_skip, y_skip = (first * itemsize for first in firsts)

    def write(out: Tensor, x: Tensor, y: Tensor) -> None:
        operands = x._memory.address + x_skip, y._memory.address + y_skip
        with gpu.using(number):
            for each in calls(gemm, itemsize, (*operands, out._memory.address)):
                call(each)

    return write


# ---- cuBLAS

# Of each dtype: what CUDA calls it, in which precision cuBLAS computes, and the scalars' dtype.
_TYPES = {
    "float16": ("CUDA_R_16F", "CUBLAS_COMPUTE_32F", "float32"),
    "bfloat16": ("CUDA_R_16BF", "CUBLAS_COMPUTE_32F", "float32"),
    "float32": ("CUDA_R_32F", "CUBLAS_COMPUTE_32F", "float32"),
    "float64": ("CUDA_R_64F", "CUBLAS_COMPUTE_64F", "float64"),
    "complex64": ("CUDA_C_32F", "CUBLAS_COMPUTE_32F", "complex64"),
    "complex128": ("CUDA_C_64F", "CUBLAS_COMPUTE_64F", "complex128"),
}

# cuBLAS's CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: partial sums stay in float32. CuPy has
# no name for it. TF32, which would round float32 operands, is off unless it is asked for.
_WHOLE_SUMS = 16


def _cublas(driver: Driver, dtype: DType, _device: int) -> Callable[[Call], None]:
    cuda = cupy_part("cupy").cuda
    library, handle_of = cuda.cublas, cuda.get_cublas_handle
    kind, precision, scalar = _TYPES[dtype.name]
    code, compute = getattr(cuda.runtime, kind), getattr(library, precision)
    one, zero = np.ones((), scalar), np.zeros((), scalar)
    alpha, beta = one.ctypes.data, zero.ctypes.data
    ops = {each: getattr(library, f"CUBLAS_OP_{each}") for each in "NTC"}
    best = library.CUBLAS_GEMM_DEFAULT
    short = dtype.itemsize == 2

    def call(x: Call) -> None:
        driver.library("gemm")
        handle = handle_of()
        given = (handle, ops[x.transa], ops[x.transb], x.m, x.n, x.k, alpha)
        mode = library.getMathMode(handle) if short else 0
        if short:
            library.setMathMode(handle, _WHOLE_SUMS)
        try:
            a, b, c = (x.a, code, x.lda), (x.b, code, x.ldb), (x.c, code, x.ldc)
            if x.products == 1:
                library.gemmEx(*given, *a, *b, beta, *c, compute, best)
            else:
                operands = (*a, x.stride_a, *b, x.stride_b, beta, *c, x.stride_c)
                library.gemmStridedBatchedEx(*given, *operands, x.products, compute, best)
        finally:
            if short:
                library.setMathMode(handle, mode)

    call.scalars = one, zero  # type: ignore[attr-defined]  # which live as long as their addresses
    return call


# ---- NumPy


def _numpy(driver: Driver, dtype: DType, device: int) -> Callable[[Call], None]:
    work = dtypes.float32 if dtype.itemsize == 2 else dtype

    def array(address: int, sizes: tuple[int, int, int], leading: int, far: int, out: bool) -> Any:
        steps = (far * dtype.itemsize, dtype.itemsize, leading * dtype.itemsize)
        return driver.array(Strided(address, sizes, steps, dtype, device), None, written=out)

    def operand(op: str, address: int, rows: int, columns: int, ld: int, far: int, n: int) -> Any:
        stored = (n, rows, columns) if op == "N" else (n, columns, rows)
        found = array(address, stored, ld, far, False).astype(work, copy=False)
        found = found if op == "N" else found.swapaxes(-1, -2)
        return found.conj() if op == "C" else found

    def call(x: Call) -> None:
        numpy = driver.library("gemm")
        a = operand(x.transa, x.a, x.m, x.k, x.lda, x.stride_a, x.products)
        b = operand(x.transb, x.b, x.k, x.n, x.ldb, x.stride_b, x.products)
        c = array(x.c, (x.products, x.m, x.n), x.ldc, x.stride_c, True)
        with numpy.errstate(all="ignore"):
            c[...] = numpy.matmul(a, b)

    return call
