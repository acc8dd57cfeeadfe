"""Matrix products by cuBLAS; on the simulator by NumPy, which gets what cuBLAS would be told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine.driver import Driver, Strided, driver
from tensorlayout.cuda.engine.optional import cupy_part
from tensorlayout.cuda.matmul.gemm import Gemm, Matrix
from tensorlayout.dtypes import DType
from tensorlayout.plan.base import Write
from tensorlayout.tensor import Tensor, TensorSpec


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
