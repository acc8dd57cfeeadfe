"""Operations along one dimension on CUDA: which functions there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tensorlayout.cuda import scanning
from tensorlayout.layout import Layout
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.base import Run, Write
from tensorlayout.plan.copy import AssignPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import TensorSpec

# By the name of the host's function, of which several operations may be made.
_PREPARE: dict[str, Callable[[AlongPlan], Run]] = {
    "cumulative_prod": scanning.prepare_prod,
    "cumulative_sum": scanning.prepare_sum,
}


# The same for those that can write into a tensor given first, of any layout.
_PREPARE_INTO: dict[str, Callable[[AlongPlan, Layout], Run]] = {
    "cumulative_prod": scanning.prepare_prod_into,
    "cumulative_sum": scanning.prepare_sum_into,
}


def prepare_into(plan: AlongPlan) -> Write:
    """The function of a destination of any layout, and a tensor."""
    into = _PREPARE_INTO.get(plan.operation.numpy.__name__)
    if into is not None:
        return into(plan, plan.result.layout)
    planned = Layout.packed(plan.result.layout.shape, plan.source.layout.minor_to_major)
    spec = TensorSpec(plan.result.dtype, planned, plan.result.device)
    anew = prepare(replace(plan, result=spec))
    write = carried_out(AssignPlan(plan.operation.name, spec, plan.result))
    return lambda to, x: write(to, anew(x))


def prepare(plan: AlongPlan) -> Run:
    """The function of a tensor that carries out a plan."""
    return _PREPARE[plan.operation.numpy.__name__](plan)
