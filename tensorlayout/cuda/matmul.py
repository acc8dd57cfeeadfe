"""Matrix products: floats by cuBLAS (on the simulator by NumPy), integers by a kernel.

Operands are read as they lie. BLAS knows matrices of which one dimension is contiguous and the
other has a greater stride, the *leading dimension*; and stacks of them at one distance. What a
layout is beyond that, and what has another dtype than the result, is copied first, which a trace
shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from operator import add
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine import Launch, arguments, constant, kernel, writer
from tensorlayout.cuda.engine.driver import Driver, Strided, cupy_part, driver
from tensorlayout.dtypes import DType
from tensorlayout.layout import MAX_RANK, Axis, Layout, merged
from tensorlayout.plan import (
    AssignPlan,
    LibraryPlan,
    MatmulPlan,
    Write,
    carried_out,
    noted_copy,
    part_of,
)
from tensorlayout.tensor import Tensor, TensorSpec


def write_matmul(plan: MatmulPlan) -> Write:
    """The product, written into row-major memory."""
    first, second = plan.first.layout, plan.second.layout
    if first.ndim == 1:  # vectors are matrices of one row, or of one column
        first = first.expand_dims(0)
    if second.ndim == 1:
        second = second.expand_dims(1)
    operands = (first, plan.first.dtype), (second, plan.second.dtype)
    return write_product("matmul", *operands, plan.result)


def write_product(
    name: str,
    first: tuple[Layout, DType],
    second: tuple[Layout, DType],
    result: TensorSpec,
    *,
    conjugate: bool = False,
) -> Write:
    """The product of two stacks of matrices, which may lie otherwise in the tensors' own layouts.

    `result` holds the products one after the other, each row-major, under any shape.
    """
    if not result.layout.size:
        return lambda out, x, y: None
    if not first[0].shape[-1]:
        zero = carried_out(AssignPlan(name, int, result))
        return lambda out, x, y: zero(out, 0)
    floats = result.dtype.kind not in "iu"
    once = without_repeats(first[0], second[0])
    given = [once, without_repeats(second[0], once)]
    needed = copies(*given) if floats else (False, False)
    (a, ready_a), (b, ready_b) = (
        _operand(name, TensorSpec(dtype, layout, result.device), result.dtype, copied)
        for layout, (_, dtype), copied in zip(given, (first, second), needed, strict=True)
    )
    if floats:
        planned = plan_gemm(a, b, conjugate)
        write = write_gemm(planned, (a.offset, b.offset), result)
    else:
        launch = plan_integers(a, b, result.dtype.itemsize)
        write = writer(result.device.number, lambda _: launch)
    return lambda out, x, y: write(out, ready_a(x), ready_b(y))


def _operand(
    name: str, spec: TensorSpec, dtype: DType, copied: bool
) -> tuple[Layout, Callable[[Tensor], Tensor]]:
    """The layout of what is multiplied, and how the caller's tensor becomes that."""
    if spec.dtype == dtype and not copied:
        return spec.layout, lambda x: x
    result = TensorSpec(dtype, packed_matrices(spec.layout), spec.device)
    return result.layout, noted_copy(name, spec, result)


# ---- Library calls that are matrix products


def write_library_product(plan: LibraryPlan) -> Write | None:
    """`tensordot`, and `vecdot` of contiguous floats; None for what is no matrix product."""
    options = dict(plan.options)
    if plan.operation.name == "tensordot":  # a copy where axes are not two runs of memory
        (x, y), (first, second) = plan.operands, options["axes"]
        a, ready_a = _as_matrix(x, [d for d in range(x.layout.ndim) if d not in first], first)
        b, ready_b = _as_matrix(y, second, [d for d in range(y.layout.ndim) if d not in second])
        write = write_product("tensordot", (a, x.dtype), (b, y.dtype), plan.result)
        return lambda out, u, v: write(out, ready_a(u), ready_b(v))
    if plan.operation.name != "vecdot" or plan.dtype.kind in "iu":
        return None
    (x, y), axis = plan.operands, options["axis"]
    # BLAS reads other vectors a sector of memory for each element. Matrices have a dimension more.
    if not all(each.layout.strides[axis] == 1 and each.layout.ndim < MAX_RANK for each in (x, y)):
        return None
    rows, columns = _last(x.layout, axis), _last(y.layout, axis)
    row, column = rows.expand_dims(rows.ndim - 1), columns.expand_dims(columns.ndim)
    operands = (row, x.dtype), (column, y.dtype)
    return write_product("vecdot", *operands, plan.result, conjugate=plan.dtype.kind == "c")


def _as_matrix(
    spec: TensorSpec, down: Sequence[int], right: Sequence[int]
) -> tuple[Layout, Callable[[Tensor], Tensor]]:
    """Dimensions merged into those of a matrix, and what copies the tensor where they cannot be."""
    turned = spec.layout.permute((*down, *right))
    shape = [prod(spec.layout.shape[d] for d in dims) for dims in (down, right)]
    merged = turned.reshape(shape)
    if merged is not None:
        return merged, lambda x: x
    source = TensorSpec(spec.dtype, turned, spec.device)
    packed = TensorSpec(spec.dtype, Layout.row_major(turned.shape), spec.device)
    return Layout.row_major(shape), noted_copy("tensordot", source, packed)


def _last(layout: Layout, axis: int) -> Layout:
    """The dimension `axis` behind all others."""
    at = axis % layout.ndim
    return layout.permute((*(d for d in range(layout.ndim) if d != at), at))


# ---- What BLAS is told

# Stacks that are no single stack take a call for each outer index. Beyond so many calls an operand
# whose own stack is to blame is copied.
CALLS = 16

# The largest number that cuBLAS takes for a size.
LARGEST = 2**31 - 1


class Matrix(NamedTuple):
    """A matrix as BLAS takes it: `transposed` if its columns are contiguous, not its rows."""

    transposed: bool
    leading: int


class Gemm(NamedTuple):
    """Calls of one kind: (m, k) matrices times (k, n) matrices give row-major (m, n) matrices."""

    m: int
    n: int
    k: int
    first: Matrix
    second: Matrix
    stack: Axis  # how many products a call makes, and how many elements their matrices are apart
    starts: tuple[tuple[int, int, int], ...]  # of each call first elements of operands and result
    conjugate: bool  # whether the first operand, then of one row, is conjugated


def matrix(layout: Layout) -> Matrix | None:
    """The last two dimensions as BLAS takes them, rows contiguous if possible; None: it cannot."""
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
    """A layout of the same shape that BLAS takes: the matrices one after the other, each packed."""
    *stack, rows, columns = range(layout.ndim)
    down, right = layout.strides[-2:]
    by_columns = 0 < abs(down) < abs(right)  # so that a copy reads runs
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
    return part_of(layout, tuple(cut))


def stack_axes(first: Layout, second: Layout) -> list[Axis]:
    """The merged dimensions before the matrices, with strides of operands and row-major result."""
    far = first.shape[-2] * second.shape[-1]
    axes: list[Axis] = []
    for d in range(-3, -1 - max(first.ndim, second.ndim), -1):
        sizes = [x.shape[d] if -d <= x.ndim else 1 for x in (first, second)]
        steps = [x.strides[d] if n > 1 else 0 for x, n in zip((first, second), sizes, strict=True)]
        axes.append(Axis(max(sizes), (*steps, far)))
        far *= axes[-1].size
    return merged(reversed(axes))


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


def write_gemm(gemm: Gemm, firsts: tuple[int, int], result: TensorSpec) -> Write:
    """The products of two tensors; `firsts`: elements of each before the first of its matrices."""
    gpu, number, itemsize = driver(), result.device.number, result.dtype.itemsize
    skips = [first * itemsize for first in (*firsts, 0)]
    starts = [[n * itemsize for n in each] for each in gemm.starts]
    call = (_numpy if gpu.name == "simulator" else _cublas)(gpu, gemm, result)

    def write(out: Tensor, x: Tensor, y: Tensor) -> None:
        operands = [t.memory.address + skip for t, skip in zip((x, y, out), skips, strict=True)]
        with gpu.using(number):
            for start in starts:
                call(*map(add, operands, start))

    return write


# What makes the products of one call, of addresses of the operands and the result. Matrices are
# column-major for both libraries; row-major results are column-major ones transposed: the operands
# change places.
Call = Callable[[int, int, int], None]


def _cublas(driver: Driver, gemm: Gemm, result: TensorSpec) -> Call:
    cuda = cupy_part("cupy").cuda
    library, handle_of = cuda.cublas, cuda.get_cublas_handle
    kind, precision, scalar = _TYPES[result.dtype.name]
    code, compute = getattr(cuda.runtime, kind), getattr(library, precision)
    one, zero = np.ones((), scalar), np.zeros((), scalar)
    alpha, beta = one.ctypes.data, zero.ctypes.data
    names = ["T" if each.transposed else "N" for each in (gemm.second, gemm.first)]
    if gemm.conjugate:  # the first operand
        names[1] = "C"
    ops = [getattr(library, f"CUBLAS_OP_{name}") for name in names]
    best, short = library.CUBLAS_GEMM_DEFAULT, result.dtype.itemsize == 2
    leading = gemm.second.leading, gemm.first.leading
    count, (far_x, far_y, far_out) = gemm.stack.size, gemm.stack.strides

    def call(x: int, y: int, out: int) -> None:
        driver.library("gemm")
        handle = handle_of()
        given = (handle, *ops, gemm.n, gemm.m, gemm.k, alpha)
        mode = library.getMathMode(handle) if short else 0
        if short:
            library.setMathMode(handle, _WHOLE_SUMS)
        try:
            a, b, c = (y, code, leading[0]), (x, code, leading[1]), (out, code, gemm.n)
            if count == 1:
                library.gemmEx(*given, *a, *b, beta, *c, compute, best)
            else:
                operands = (*a, far_y, *b, far_x, beta, *c, far_out)
                library.gemmStridedBatchedEx(*given, *operands, count, compute, best)
        finally:
            if short:
                library.setMathMode(handle, mode)

    call.scalars = one, zero  # type: ignore[attr-defined]  # which live as long as their addresses
    return call


def _numpy(driver: Driver, gemm: Gemm, result: TensorSpec) -> Call:
    dtype, count, (far_x, far_y, far_out) = result.dtype, gemm.stack.size, gemm.stack.strides
    work = dtypes.float32 if dtype.itemsize == 2 else dtype

    def array(address: int, rows: int, columns: int, leading: int, far: int, out: bool) -> Any:
        steps = (far * dtype.itemsize, dtype.itemsize, leading * dtype.itemsize)
        given = Strided(address, (count, rows, columns), steps, dtype, result.device.number)
        return driver.array(given, None, written=out)

    def operand(matrix: Matrix, address: int, rows: int, columns: int, far: int) -> Any:
        sizes = (columns, rows) if matrix.transposed else (rows, columns)
        found = array(address, *sizes, matrix.leading, far, False).astype(work, copy=False)
        return found.swapaxes(-1, -2) if matrix.transposed else found

    def call(x: int, y: int, out: int) -> None:
        numpy = driver.library("gemm")
        a = operand(gemm.second, y, gemm.n, gemm.k, far_y)
        b = operand(gemm.first, x, gemm.k, gemm.m, far_x)
        c = array(out, gemm.n, gemm.m, gemm.n, far_out, True)
        with numpy.errstate(all="ignore"):
            c[...] = numpy.matmul(a, b.conj() if gemm.conjugate else b)

    return call


# ---- Integers

FILE = "matmul.cu"

_MOST_BLOCKS = 2**31 - 1


def plan_integers(first: Layout, second: Layout, itemsize: int) -> Launch:
    """The launch for two stacks of matrices, no one of them empty; memories: result, operands."""
    (rows, depth), columns = first.shape[-2:], second.shape[-1]
    chosen = kernel(FILE, "matmul", ELEMENT=f"uint{8 * itemsize}_t")
    stack = stack_axes(first, second)
    made = arguments(chosen, rows=rows, columns=columns, depth=depth, stack=stack)
    made.first_down, made.first_right = first.strides[-2:]
    made.second_down, made.second_right = second.strides[-2:]
    made.first_runs_right, made.second_runs_right = _runs_right(first), _runs_right(second)
    made.tiles_down = -(-rows // constant(FILE, "ROWS"))
    made.tiles_right = -(-columns // constant(FILE, "COLUMNS"))
    made.tiles = made.tiles_down * made.tiles_right * prod([axis.size for axis in stack])
    firsts = (0, first.offset * itemsize, second.offset * itemsize)
    return Launch(chosen, min(made.tiles, _MOST_BLOCKS), bytes(made), firsts)


def _runs_right(layout: Layout) -> bool:
    """Return whether neighbours in a row are nearer to each other than neighbours in a column."""
    (rows, columns), (down, right) = layout.shape[-2:], layout.strides[-2:]
    if rows == 1 or columns == 1:
        return rows == 1
    return 0 < abs(right) <= abs(down) or down == 0
