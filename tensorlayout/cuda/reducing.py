"""Reductions carried out: a new tensor, and one launch or two that fill it."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from tensorlayout.cuda import fill_plan, filling, reduce_plan
from tensorlayout.cuda.driver import Driver, driver
from tensorlayout.cuda.memory import new_tensor, per_alignment
from tensorlayout.cuda.missing import missing
from tensorlayout.cuda.reduce_plan import ReduceLaunches
from tensorlayout.plan import Run
from tensorlayout.plan.reducing import ReducePlan
from tensorlayout.tensor import Tensor

__all__ = ["prepare", "prepare_reduce"]

_REDUCE = struct.Struct("<QQQ")
_JOIN = struct.Struct("<QQ")

# Of no elements.
_OF_NONE = {"all_": 1, "multiply": 1, "mean": np.nan, "variance": np.nan, "deviation": np.nan}


def prepare(plan: ReducePlan) -> Run:
    """The function of the operand; NotImplementedError for what has no kernel."""
    if reduce_plan.operation_of(plan) not in reduce_plan.FUNCTORS:
        raise missing(plan)
    if plan.source.layout.size == 0:
        return _prepare_of_none(plan)
    spec = plan.result

    def make(alignments: tuple[int, ...]) -> Callable[[int, int], None]:
        launches = reduce_plan.plan_reduce(plan, alignments[0])
        return prepare_reduce(launches, driver(), spec.device.number)

    at = per_alignment(make)

    def reduce(x: Tensor) -> Tensor:
        result, here = new_tensor(spec), x._memory.address
        with driver().using(spec.device.number):
            at(here)(result._memory.address, here)
        return result

    return reduce


def prepare_reduce(plan: ReduceLaunches, driver: Driver, device: int) -> Callable[[int, int], None]:
    """What reduces: ``run(destination, source)``, addresses of lowest slots.

    Asynchronous on the current stream, from any thread. Memory for partial results is new at each
    call, and goes back to where it came from, which hands it out in the order of the stream.
    """
    launch, join = plan.reduce, plan.join
    reduce = driver.launcher(launch.kernel)
    first = launch.firsts[1]
    if join is None:

        def run_at_once(to: int, from_: int) -> None:
            parameters = bytearray(launch.parameters)
            _REDUCE.pack_into(parameters, 0, to, from_ + first, 0)
            reduce(launch.grid, parameters)

        return run_at_once

    second, last = join, driver.launcher(join.kernel)

    def run(to: int, from_: int) -> None:
        partials = driver.allocate(plan.partial_bytes, device)
        parameters = bytearray(launch.parameters)
        _REDUCE.pack_into(parameters, 0, to, from_ + first, partials.pointer)
        reduce(launch.grid, parameters)
        parameters = bytearray(second.parameters)
        _JOIN.pack_into(parameters, 0, to, partials.pointer)
        last(second.grid, parameters)

    return run


def _prepare_of_none(plan: ReducePlan) -> Run:
    """What no elements have: the same value for every result."""
    spec = plan.result
    value = _OF_NONE.get(reduce_plan.operation_of(plan), 0)
    octets = np.asarray(value, spec.dtype).tobytes()
    fill = filling.prepare_fill(fill_plan.plan_fill(spec.layout, spec.dtype.itemsize), driver())

    def reduce(x: Tensor) -> Tensor:
        result = new_tensor(spec)
        with driver().using(spec.device.number):
            fill(result._memory.address, octets)
        return result

    return reduce
