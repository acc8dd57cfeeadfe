"""Library calls that are matrix products: `tensordot`, and `vecdot` of contiguous floats."""

from __future__ import annotations

from math import prod
from typing import Any

from tensorlayout.cuda.engine.memory import new_tensors
from tensorlayout.cuda.products import prepare_product
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.library import LibraryPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec


def prepare(plan: LibraryPlan) -> Run | None:
    """The product; None for what is none."""
    options = dict(plan.options)
    if plan.operation.name == "tensordot":
        return _tensordot(plan, *options["axes"])
    if plan.operation.name == "vecdot" and plan.dtype.kind not in "iu":
        axis = options["axis"]
        # BLAS reads other vectors a sector of memory for each element.
        if all(spec.layout.strides[axis] == 1 for spec in plan.operands):
            return _vecdot(plan, axis)
    return None


def _tensordot(plan: LibraryPlan, first: tuple[int, ...], second: tuple[int, ...]) -> Run:
    """One matrix product; an operand is copied where its axes are not two runs of memory."""
    x, y = plan.operands
    rows = tuple(d for d in range(x.layout.ndim) if d not in first)
    columns = tuple(d for d in range(y.layout.ndim) if d not in second)
    a, ready_a = _as_matrix(x, rows, first)
    b, ready_b = _as_matrix(y, second, columns)
    multiply = prepare_product("tensordot", (a, x.dtype), (b, y.dtype), plan.result)
    new_tensor = new_tensors(plan.result)

    def run(u: Tensor, v: Tensor) -> Tensor:
        result = new_tensor()
        multiply(ready_a(u), ready_b(v), result)
        return result

    return run


def _as_matrix(
    spec: TensorSpec, down: tuple[int, ...], right: tuple[int, ...]
) -> tuple[Layout, Any]:
    """Dimensions merged into those of a matrix, and what copies the tensor where they cannot be."""
    turned = spec.layout.permute((*down, *right))
    shape = [prod(spec.layout.shape[d] for d in dims) for dims in (down, right)]
    merged = turned.reshape(shape)
    if merged is not None:
        return merged, lambda x: x
    source = TensorSpec(spec.dtype, turned, spec.device)
    packed = TensorSpec(spec.dtype, Layout.row_major(turned.shape), spec.device)
    copy = carried_out(CopyPlan(source, packed))
    moved = turned.size * spec.dtype.itemsize
    step = Step("tensordot", "layout", spec.layout, packed.layout, spec.dtype, moved, moved)

    def ready(x: Tensor) -> Tensor:
        note(step)
        return copy(Tensor._new(x._memory, source, x._home))

    return Layout.row_major(shape), ready


def _vecdot(plan: LibraryPlan, axis: int) -> Run:
    """Rows times columns; complex rows are conjugated by BLAS."""
    x, y = plan.operands
    a = _last(x.layout, axis)
    b = _last(y.layout, axis)
    multiply = prepare_product(
        "vecdot",
        (a.expand_dims(a.ndim - 1), x.dtype),
        (b.expand_dims(b.ndim), y.dtype),
        plan.result,
        conjugate=plan.dtype.kind == "c",
    )
    new_tensor = new_tensors(plan.result)

    def run(u: Tensor, v: Tensor) -> Tensor:
        result = new_tensor()
        multiply(u, v, result)
        return result

    return run


def _last(layout: Layout, axis: int) -> Layout:
    """The dimension `axis` behind all others."""
    at = axis % layout.ndim
    return layout.permute((*(d for d in range(layout.ndim) if d != at), at))
