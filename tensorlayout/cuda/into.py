"""Results written into tensors that are given, in any layout: by the launches of a new tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tensorlayout.cuda import along, carrying, gathering
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


def _gather(plan: IntoPlan) -> Run:
    found: GatherPlan = plan.plan
    reach = replace(found.reach, order=plan.result.layout.minor_to_major)
    return gathering.prepare_gather_into(replace(found, result=plan.result, reach=reach))


def _elementwise(plan: IntoPlan) -> Run:
    return carrying.prepare_elementwise_into(
        replace(plan.plan, result=plan.result, flat=False, in_place=True)
    )


def _join(plan: IntoPlan) -> Run:
    return carrying.prepare_join_into(replace(plan.plan, result=plan.result))


def _along(plan: IntoPlan) -> Run:
    """Straight into the destination where a kernel can; else by way of a new tensor."""
    found: AlongPlan = plan.plan
    into = along.prepare_into(found, plan.result.layout)
    if into is not None:
        return into
    run = along.prepare(found)
    write = carrying.prepare_assign(AssignPlan(found.operation.name, found.result, plan.result))

    def write_result(to: Tensor, *operands: Tensor) -> Tensor:
        return write(to, run(*operands))

    return write_result


_PREPARE: dict[type, Callable[[Any], Run]] = {
    AlongPlan: _along,
    ElementwisePlan: _elementwise,
    GatherPlan: _gather,
    JoinPlan: _join,
}
