"""Results written into tensors that are given, by way of new ones only where NumPy must."""

from __future__ import annotations

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
from tensorlayout.tensor import Tensor


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
    write = moving.joined(plan.plan, plan.result.layout)

    def join(to: Tensor, *operands: Tensor) -> Tensor:
        write(to._memory, operands)
        return to

    return join


_PREPARE: dict[type, Callable[[Any], Run]] = {
    AlongPlan: _along,
    ElementwisePlan: _elementwise,
    GatherPlan: _gather,
    JoinPlan: _join,
}
