"""Elementwise plans carried out: a launch, and behind it one of padding where that is too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.cuda import elementwise
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.launch import bind
from tensorlayout.cuda.engine.memory import padding_of, per_alignment
from tensorlayout.cuda.fill.fill import plan_padding
from tensorlayout.plan.base import Write
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.tensor import Tensor, TensorSpec


def write_elementwise(plan: ElementwisePlan) -> Write:
    """One launch; operands lie apart from the destination, or exactly there."""
    spec, padding = plan.result, None if plan.given else padding_of(plan.result)
    scalars = any(isinstance(o, type) for o in plan.operands)

    def make(alignments: tuple[int, ...]) -> Callable[[int, list[Any]], None]:
        launch = elementwise.plan_elementwise(plan, alignments, padding)
        return _computing(launch, spec, alignments[0], padding)

    at, number = per_alignment(make), spec.device.number

    def launch(result: Tensor, *operands: Any) -> None:
        to = result._memory.address
        given = [x._memory.address if type(x) is Tensor else x for x in operands]
        addresses = given
        if scalars:  # they are no addresses, and as well aligned as can be
            addresses = [x._memory.address if type(x) is Tensor else 0 for x in operands]
        with driver().using(number):
            at(to, *addresses)(to, given)

    return launch


def _computing(
    launch: elementwise.ElementwiseLaunch, spec: TensorSpec, alignment: int, padding: bytes | None
) -> Callable[[int, list[Any]], None]:
    """The launch, and behind it one of the padding where that is too much for the same."""
    run = elementwise.prepare_elementwise(launch, driver())
    if padding is None or launch.writes_padding:
        return run
    plan = plan_padding(spec.layout, spec.dtype.itemsize, alignment, padding)
    pad = bind(plan, spec.device.number)

    def compute(to: int, operands: list[Any]) -> None:
        run(to, operands)
        pad([to], b"")

    return compute
