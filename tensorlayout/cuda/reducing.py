"""Reductions carried out: a new tensor, and one launch or two that fill it."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda import quantiles, reduce_plan
from tensorlayout.cuda.engine.driver import Driver, driver
from tensorlayout.cuda.engine.memory import new_tensor, per_alignment
from tensorlayout.cuda.fill.fill import write_fill
from tensorlayout.cuda.reduce_plan import ReduceLaunches
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.reducing import ReducePlan
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import Tensor, TensorSpec

__all__ = ["prepare", "prepare_reduce"]

_REDUCE = struct.Struct("<QQQ")
_JOIN = struct.Struct("<QQ")

# Of no elements.
_OF_NONE = {"all_": 1, "multiply": 1, "mean": np.nan, "variance": np.nan, "deviation": np.nan}


def prepare(plan: ReducePlan) -> Run:
    """The function of the operand."""
    if plan.operation.name in quantiles.NAMES:
        return quantiles.prepare(plan)
    if plan.source.layout.size == 0:
        return _prepare_of_none(plan)
    if _of_another_kind(plan):
        return _prepare_converted(plan)
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


# Of these a dtype may be asked for; of the others it follows from what they are.
_ACCUMULATING = ("add", "multiply")


def _of_another_kind(plan: ReducePlan) -> bool:
    """Whether elements have to become another kind of number before they are added up."""
    kinds = {_kind(plan.source.dtype), _kind(plan.result.dtype)}
    return reduce_plan.operation_of(plan) in _ACCUMULATING and len(kinds) > 1


def _kind(dtype: DType) -> str:
    kinds = ("real floating", "complex floating")
    return next((kind for kind in kinds if dtypes.in_category(dtype, kind)), "whole")


def _prepare_converted(plan: ReducePlan) -> Run:
    source = plan.source.layout
    layout = Layout.packed(source.shape, source.minor_to_major)
    converted = TensorSpec(plan.result.dtype, layout, plan.source.device)
    convert = carried_out(CopyPlan(plan.source, converted))
    reduce = prepare(dataclasses.replace(plan, source=converted))
    return lambda x: reduce(convert(x))


def _prepare_of_none(plan: ReducePlan) -> Run:
    """What no elements have: the same value for every result."""
    spec = plan.result
    value = _OF_NONE.get(reduce_plan.operation_of(plan), 0)
    fill = write_fill(spec, lambda value: np.asarray(value, spec.dtype).tobytes())

    def reduce(x: Tensor) -> Tensor:
        result = new_tensor(spec)
        fill(result, value)
        return result

    return reduce
