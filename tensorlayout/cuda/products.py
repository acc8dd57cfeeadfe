"""Matrix products carried out: floats by cuBLAS, integers by a kernel; operands as they lie.

What BLAS cannot be told of (`products_plan`), and what has another dtype than the result, is copied
first by the kernels for copies, which a trace shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tensorlayout.cuda import products_integers, products_plan
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import new_tensors
from tensorlayout.cuda.fill.fill import write_fill
from tensorlayout.cuda.products_blas import multiplier
from tensorlayout.cuda.products_plan import Gemm
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.products import ProductPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec

# Writes the product of two tensors into a third.
Multiply = Callable[[Tensor, Tensor, Tensor], object]


def prepare(plan: ProductPlan) -> Run:
    """The product, written into row-major memory."""
    spec = plan.result
    first, second = products_plan.as_matrices(plan.first.layout, plan.second.layout)
    layouts = (first, plan.first.dtype), (second, plan.second.dtype)
    multiply, new_tensor = prepare_product("matmul", *layouts, spec), new_tensors(spec)

    def product(x: Tensor, y: Tensor) -> Tensor:
        result = new_tensor()
        multiply(x, y, result)
        return result

    return product


def prepare_product(
    name: str,
    first: tuple[Layout, DType],
    second: tuple[Layout, DType],
    result: TensorSpec,
    *,
    conjugate: bool = False,
) -> Multiply:
    """The product of two stacks of matrices, which may lie otherwise in the tensors' own layouts.

    `result` holds the products one after the other, each row-major, under any shape.
    """
    if not result.layout.size:
        return lambda x, y, out: None
    if not first[0].shape[-1]:
        return _zeros(result)
    floats = result.dtype.kind not in "iu"
    once = products_plan.without_repeats(first[0], second[0])
    given = [once, products_plan.without_repeats(second[0], once)]
    kinds = [dtype for _, dtype in (first, second)]
    needed = products_plan.copies(*given) if floats else (False, False)
    operands = [
        _operand(name, TensorSpec(kind, layout, result.device), result.dtype, copied)
        for layout, kind, copied in zip(given, kinds, needed, strict=True)
    ]
    a, b = operands
    number, found = result.device.number, driver()
    if floats:
        gemm = _planned(name, a.layout, b.layout, conjugate)
        run = multiplier(found, gemm, result.dtype, number)
    else:
        run = products_integers.prepare(a.layout, b.layout, result.dtype.itemsize, found)
    itemsize = result.dtype.itemsize
    skip_a, skip_b = a.layout.offset * itemsize, b.layout.offset * itemsize

    def multiply(x: Tensor, y: Tensor, out: Tensor) -> None:
        x, y = a.ready(x), b.ready(y)
        with found.using(number):
            run(x._memory.address + skip_a, y._memory.address + skip_b, out._memory.address)

    return multiply


def _planned(name: str, first: Layout, second: Layout, conjugate: bool) -> Gemm:
    try:
        return products_plan.plan_gemm(first, second, conjugate)
    except OverflowError as error:
        msg = f"{name}: {error}"
        raise OverflowError(msg) from None


class _Operand(NamedTuple):
    """What is multiplied, and how the caller's tensor becomes that."""

    layout: Layout
    ready: Callable[[Tensor], Tensor]


def _operand(name: str, spec: TensorSpec, dtype: DType, copied: bool) -> _Operand:
    if spec.dtype == dtype and not copied:
        return _Operand(spec.layout, lambda x: x)
    result = TensorSpec(dtype, products_plan.packed(spec.layout), spec.device)
    copy = carried_out(CopyPlan(spec, result))
    count = spec.layout.size
    moved = count * spec.dtype.itemsize, count * dtype.itemsize
    kind = "copy" if spec.layout.same_placement(result.layout) else "layout"
    step = Step(name, kind, spec.layout, result.layout, dtype, *moved)

    def ready(x: Tensor) -> Tensor:
        note(step)
        return copy(Tensor._new(x._memory, spec, x._home))

    return _Operand(result.layout, ready)


def _zeros(spec: TensorSpec) -> Multiply:
    """Sums of nothing."""
    fill = write_fill(spec, bytes)
    return lambda x, y, out: fill(out, spec.dtype.itemsize)
