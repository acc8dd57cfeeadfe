"""The first elements of sorted lines: one launch, or for lines of several tiles, steps."""

from __future__ import annotations

import struct

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.leading_plan import fits, plan_leading
from tensorlayout.plan.base import Run
from tensorlayout.plan.leading import LeadingPlan, in_steps
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import Tensor

_HEAD = struct.Struct("<3Q")


def prepare(plan: LeadingPlan) -> Run:
    """The function of the two results and the tensor."""
    if fits(plan.source.layout.shape[plan.dim]):
        return _at_once(plan)
    return in_steps(plan, carried_out)


def _at_once(plan: LeadingPlan) -> Run:
    number = plan.result.device.number
    planned = plan_leading(plan.source, plan.result, plan.positions, plan.dim, down=plan.down)
    if planned is None:
        return lambda result, positions, x: result
    with driver().using(number):
        launch = driver().launcher(planned.kernel)
    to, beside, start = planned.firsts
    made, grid = planned.parameters, planned.grid

    def run(result: Tensor, positions: Tensor, x: Tensor) -> Tensor:
        parameters = bytearray(made)
        values, places = result._memory.address + to, positions._memory.address + beside
        _HEAD.pack_into(parameters, 0, values, places, x._memory.address + start)
        with driver().using(number):
            launch(grid, parameters)
        return result

    return run
