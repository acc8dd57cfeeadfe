"""Matrix products: floats by cuBLAS, integers by a kernel; operands as they lie.

What BLAS cannot be told of (`gemm`), and what has another dtype than the result, is copied first
by the kernels for copies, which a trace shows.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorlayout.cuda.engine.launch import writer
from tensorlayout.cuda.matmul import gemm
from tensorlayout.cuda.matmul.blas import write_gemm
from tensorlayout.cuda.matmul.integers import plan_integers
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Write
from tensorlayout.plan.copy import AssignPlan
from tensorlayout.plan.matmul import MatmulPlan
from tensorlayout.plan.run import carried_out, noted_copy
from tensorlayout.tensor import Tensor, TensorSpec


def write_matmul(plan: MatmulPlan) -> Write:
    """The product, written into row-major memory."""
    first, second = gemm.as_matrices(plan.first.layout, plan.second.layout)
    layouts = (first, plan.first.dtype), (second, plan.second.dtype)
    return write_product("matmul", *layouts, plan.result)


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
    once = gemm.without_repeats(first[0], second[0])
    given = [once, gemm.without_repeats(second[0], once)]
    needed = gemm.copies(*given) if floats else (False, False)
    (a, ready_a), (b, ready_b) = (
        _operand(name, TensorSpec(dtype, layout, result.device), result.dtype, copied)
        for layout, (_, dtype), copied in zip(given, (first, second), needed, strict=True)
    )
    if floats:
        planned = gemm.plan_gemm(a, b, conjugate)
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
    result = TensorSpec(dtype, gemm.packed(spec.layout), spec.device)
    return result.layout, noted_copy(name, spec, result)
