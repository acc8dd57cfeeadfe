"""cuBLAS called directly, with what a row's operands are in its words: the floor of a product."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from benchmarks.gpu_memory import Array, Space
from benchmarks.gpu_row import Operand, Row
from benchmarks.measure import Call

# Of each dtype: what CUDA calls it, in which precision is computed, and the dtype of the scalars.
_TYPES = {
    "float16": ("CUDA_R_16F", "CUBLAS_COMPUTE_32F", "float32"),
    "float32": ("CUDA_R_32F", "CUBLAS_COMPUTE_32F", "float32"),
    "float64": ("CUDA_R_64F", "CUBLAS_COMPUTE_64F", "float64"),
}


def product(space: Space, row: Row, blocks: Sequence[Array], out: Array) -> Call:
    """The call, with everything worked out ahead; NumPy's where there is no CuPy.

    The operands are matrices, or stacks of them, in padded rows or transposed. cuBLAS's matrices
    are column-major: so are ours if read as transposed, and the operands change places.
    """
    if space.xp is np:
        x, y = (_matrices(o, b) for o, b in zip(row.operands, blocks, strict=True))
        return lambda: np.matmul(x, y, out=out)
    cuda = space.xp.cuda
    library = cuda.cublas
    kind, precision, scalar = _TYPES[row.out.dtype]
    code, compute = getattr(cuda.runtime, kind), getattr(library, precision)
    scalars = np.ones((), scalar), np.zeros((), scalar)
    alpha, beta = (array.ctypes.data for array in scalars)
    first, second = row.operands
    m, n = row.out.shape[-2:]
    k = first.shape[-1]
    sizes = (_op(library, second), _op(library, first), n, m, k, alpha)
    a, b = (blocks[1].data.ptr, code, second.block[-1]), (blocks[0].data.ptr, code, first.block[-1])
    c = (out.data.ptr, code, n)
    count = prod(row.out.shape[:-2])
    best = library.CUBLAS_GEMM_DEFAULT
    far = [prod(operand.block[-2:]) for operand in (second, first, row.out)]

    def call() -> None:
        handle = cuda.get_cublas_handle()
        if count == 1:
            library.gemmEx(handle, *sizes, *a, *b, beta, *c, compute, best)
        else:
            operands = (*a, far[0], *b, far[1], beta, *c, far[2])
            library.gemmStridedBatchedEx(handle, *sizes, *operands, count, compute, best)

    call.kept = scalars, blocks, out  # type: ignore[attr-defined]  # whose addresses it has
    return call


def _op(library: object, operand: Operand) -> int:
    transposed = operand.axes is not None
    code: int = getattr(library, "CUBLAS_OP_T" if transposed else "CUBLAS_OP_N")
    return code


def _matrices(operand: Operand, block: Array) -> Array:
    seen = block if operand.keep is None else block[..., : operand.keep]
    return seen if operand.axes is None else seen.transpose(operand.axes)
