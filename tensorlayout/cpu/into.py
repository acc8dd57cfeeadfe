"""Results written into tensors that are given, by way of new ones only where NumPy must."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tensorlayout.cpu import along, elementwise, gathering, moving
from tensorlayout.plan import Run
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.gathering import GatherPlan
from tensorlayout.plan.into import IntoPlan
from tensorlayout.plan.moving import AssignPlan, JoinPlan
from tensorlayout.tensor import Spec, Tensor


def prepare(plan: IntoPlan) -> Run:
    """The function of the destination and the operands."""
    return _PREPARE[type(plan.plan)](plan)


def _along(plan: IntoPlan) -> Run:
    return along.prepare_into(replace(plan.plan, result=plan.result))


def _elementwise(plan: IntoPlan) -> Run:
    found: ElementwisePlan = plan.plan
    return elementwise.prepare_into(replace(found, result=plan.result, flat=False))


def _gather(plan: IntoPlan) -> Run:
    into = gathering.prepare_gather_into(plan.plan, plan.result.layout)
    if into is not None:
        return into
    read = gathering.prepare_gather(plan.plan)
    write = moving.prepare_assign(AssignPlan(plan.plan.name, plan.plan.result, plan.result))
    return lambda to, *operands: write(to, read(*operands))


def _join(plan: IntoPlan) -> Run:
    """Each operand written to its part, a view."""
    found: JoinPlan = plan.plan
    axis, spec = found.axis, plan.result
    sizes = [source.layout.shape[axis] for source in found.sources]
    parts = []
    for source, end in zip(found.sources, itertools.accumulate(sizes), strict=True):
        cut = (*[slice(None)] * axis, slice(end - source.layout.shape[axis], end))
        layout = spec.layout.slice(cut)
        assert layout is not None, "strided layouts have every slice"
        part = Spec(spec.dtype, layout.at_origin, spec.device)
        parts.append((cut, part, moving.prepare_assign(AssignPlan("concat", source, part))))

    def join(to: Tensor, *operands: Tensor) -> Tensor:
        for x, (cut, part, write) in zip(operands, parts, strict=True):
            write(Tensor._new(to._memory[cut], part), x)
        return to

    return join


_PREPARE: dict[type, Callable[[Any], Run]] = {
    AlongPlan: _along,
    ElementwisePlan: _elementwise,
    GatherPlan: _gather,
    JoinPlan: _join,
}
