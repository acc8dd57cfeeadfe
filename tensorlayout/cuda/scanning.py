"""Running sums and products carried out: one launch, or two for few and long lines."""

from __future__ import annotations

import struct

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import new_tensors
from tensorlayout.cuda.scan_plan import plan_scan
from tensorlayout.layout import Layout
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.base import Run
from tensorlayout.tensor import Tensor

_HEAD = struct.Struct("<3Q")


def prepare_sum(plan: AlongPlan) -> Run:
    """Running sums."""
    return _new(plan, prepare_sum_into(plan))


def prepare_prod(plan: AlongPlan) -> Run:
    """Running products."""
    return _new(plan, prepare_prod_into(plan))


def prepare_sum_into(plan: AlongPlan, to: Layout | None = None) -> Run:
    """Running sums into a tensor given first, of the layout `to`, or as planned."""
    return _prepare(plan, "add", to)


def prepare_prod_into(plan: AlongPlan, to: Layout | None = None) -> Run:
    """Running products, so."""
    return _prepare(plan, "multiply", to)


def _new(plan: AlongPlan, into: Run) -> Run:
    new_tensor = new_tensors(plan.result)
    return lambda x: into(new_tensor(), x)


def _prepare(plan: AlongPlan, operation: str, to: Layout | None) -> Run:
    (initial,) = plan.static
    spec, number = plan.result, plan.result.device.number
    scan = plan_scan(operation, plan.source, spec, plan.dim, initial=initial, to=to)
    with driver().using(number):
        ready = [(driver().launcher(launch.kernel), launch) for launch in scan.launches]

    def along(result: Tensor, x: Tensor) -> Tensor:
        with driver().using(number):
            between = driver().allocate(scan.totals, number) if scan.totals else None
            totals = between.pointer if between else 0
            for launcher, launch in ready:
                parameters = bytearray(launch.parameters)
                there, here = launch.firsts
                addresses = (result._memory.address + there, x._memory.address + here, totals)
                _HEAD.pack_into(parameters, 0, *addresses)
                launcher(launch.grid, parameters)
        return result

    return along
