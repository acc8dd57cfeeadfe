"""Writes at positions. Those outside write nothing; `faults` raises the IndexError later."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

from tensorlayout.cuda.engine.launch import writer
from tensorlayout.cuda.engine.padding import bits_of
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.scatter.copy_scatter import plan_copy_scatter
from tensorlayout.cuda.scatter.scatter import plan_scatter, values_in
from tensorlayout.cuda.scatter.scatter_reduce import plan_scatter_reduce, values_layout
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run, Write
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.run import carried_out, noted_copy, noting
from tensorlayout.plan.scatter import (
    CopyScatterPlan,
    ScatterPlan,
    ScatterReducePlan,
    after_copy,
)
from tensorlayout.plan.steps import Step
from tensorlayout.tensor import TensorSpec

_BITS = struct.Struct("<QQ")


def write_scatter(plan: ScatterPlan) -> Write:
    """Write; value and positions lie apart from what is written."""
    number, name, dtype = plan.result.device.number, plan.name, plan.result.dtype
    if not isinstance(plan.value, TensorSpec):
        one = writer(
            number,
            lambda alignments: plan_scatter(plan, alignments),
            1 + len(plan.positions),
            lambda value: bits(name, value, dtype),
            aligned=1,
        )
        return lambda out, value, *positions: one(out, *positions, value)
    spec, convert = in_dtype(plan.value, dtype)
    many = replace(plan, value=spec)
    write = writer(number, lambda alignments: plan_scatter(many, alignments), aligned=2)
    if convert is None:
        return write
    return lambda out, value, *positions: write(out, convert(value), *positions)


def write_copy_scatter(plan: CopyScatterPlan) -> Write:
    """One launch for few positions; else a copy, and what writes at them."""
    widest = (plan.result.dtype.itemsize,) * 3
    if plan_copy_scatter(plan, widest) is not None:
        number = plan.result.device.number
        return writer(number, lambda alignments: plan_copy_scatter(plan, alignments), aligned=3)
    return after_copy(plan, write_scatter(plan.scatter))


def write_scatter_reduce(plan: ScatterReducePlan) -> Write:
    """A copy, and the values combined with that."""
    return after_copy(plan, combiner(plan))


def combiner(plan: ScatterReducePlan) -> Write:
    """``combine(out, value, *positions)``: of one place in index order; waits for nothing.

    Value and positions lie apart from what is written.
    """
    number, (scatter, take) = plan.result.device.number, _with_values(plan.scatter)
    combine = writer(number, lambda _: plan_scatter_reduce(scatter, plan.function), aligned=0)
    return lambda out, value, *positions: combine(out, take(value), *positions)


def _with_values(plan: ScatterPlan) -> tuple[ScatterPlan, Run]:
    """The values in the layout and dtype that the launches take, and what copies them if need be.

    A trace shows the copy.
    """
    value = plan.value
    assert isinstance(value, TensorSpec), "numbers are tensors by now"
    dtype, device = plan.result.dtype, value.device
    spread = TensorSpec(value.dtype, values_in(value.layout, plan.shape), device)
    wanted = TensorSpec(dtype, values_layout(plan, spread.layout), device)
    if spread == wanted:
        return replace(plan, value=wanted), lambda given: given
    if wanted.layout is not spread.layout:
        copy = noting(Step(plan.name, value, wanted), CopyPlan(spread, wanted))
        return replace(plan, value=wanted), copy
    result = TensorSpec(dtype, value.layout.form, device)  # few, of another dtype
    wanted = TensorSpec(dtype, values_in(result.layout, plan.shape), device)
    return replace(plan, value=wanted), noted_copy(plan.name, value, result)


def bits(name: str, value: Any, dtype: DType) -> bytes:
    """A number as an element, repeated to 16 bytes."""
    return _BITS.pack(*bits_of(octets(name, value, dtype)))


def in_dtype(spec: TensorSpec, dtype: DType) -> tuple[TensorSpec, Run | None]:
    """What values become that are written to elements of `dtype`, and what copies them if need be.

    Packed in their order: padding may have no value in the other dtype.
    """
    if spec.dtype == dtype:
        return spec, None
    layout = Layout.packed(spec.layout.shape, spec.layout.minor_to_major)
    result = TensorSpec(dtype, layout, spec.device)
    return result, carried_out(CopyPlan(spec, result))
