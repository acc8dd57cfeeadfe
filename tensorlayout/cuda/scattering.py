"""Writes at positions carried out: the launches of a plan, given addresses and values."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import per_alignment
from tensorlayout.cuda.engine.padding import bits_of
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.gathering import Launches, prepare_launches
from tensorlayout.cuda.replace_plan import plan_replace
from tensorlayout.cuda.scatter_plan import ScatterLaunches, Written, plan_scatter, written
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.gathering import ReplacePlan, ScatterPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import Tensor, TensorSpec

_BITS = struct.Struct("<QQ")

# What writes: the destination, the address of the values or the octets of one, positions.
Write = Callable[[Tensor, Any, list[int]], None]


def prepare_scatter(plan: ScatterPlan) -> Run:
    """Write; value and positions lie apart from what is written. Positions outside write nothing.

    `faults` raises the IndexError for them later.
    """
    write = functools.lru_cache(maxsize=16)(
        lambda value, positions: writer(written(replace(plan, value=value), positions))
    )
    take = value_taker(plan.name, plan.result, plan.value)

    def scatter(x: Tensor, value: Any, *positions: Tensor) -> Tensor:
        given = take(value)
        kind = given._spec if isinstance(given, Tensor) else plan.value
        source = given._memory.address if isinstance(given, Tensor) else given
        specs = tuple(p._spec for p in positions)
        write(kind, specs)(x, source, [p._memory.address for p in positions])
        return x

    return scatter


def prepare_replace(plan: ReplacePlan) -> Run:
    """One launch for few positions; else a copy, and what writes at them."""
    name, result, number = plan.scatter.name, plan.result, plan.result.device.number
    copy = carried_out(AssignPlan(name, plan.source, result))
    scatter = prepare_scatter(plan.scatter)

    @functools.lru_cache(maxsize=16)
    def at_once(positions: tuple[TensorSpec, ...]) -> Callable[..., Launches | None]:
        what = written(plan.scatter, positions)

        def make(alignments: tuple[int, ...]) -> Launches | None:
            to, source, values = alignments
            launch = plan_replace(what, plan.source.layout, (to, source, values))
            return None if launch is None else prepare_launches((launch,), number)

        return per_alignment(make)

    def replace_at(to: Tensor, x: Tensor, value: Tensor, *positions: Tensor) -> Tensor:
        memories = [each._memory.address for each in (to, x, value)]
        with driver().using(number):
            run = at_once(tuple(p._spec for p in positions))(*memories)
            if run is not None:
                run(memories, [p._memory.address for p in positions])
                return to
        return scatter(copy(to, x), value, *positions)

    return replace_at


def writer(what: Written) -> Write:
    """What writes at positions; it waits for nothing."""
    number = what.destination.device.number

    def make(alignments: tuple[int, ...]) -> Callable[[int, Any, list[int]], None]:
        to, values = alignments
        return _launches(plan_scatter(what, (to, values)), number)

    at = per_alignment(make)
    one = what.values is None

    def write(x: Tensor, values: Any, positions: list[int]) -> None:
        to = x._memory.address
        with driver().using(number):
            at(to, 0 if one else values)(to, values, positions)

    return write


def _launches(plan: ScatterLaunches, number: int) -> Callable[[int, Any, list[int]], None]:
    gpu, table, bits = driver(), plan.table, plan.bits
    run = prepare_launches(plan.launches, number, bits)

    def write(to: int, values: Any, positions: list[int]) -> None:
        winners = gpu.allocate(table, number) if table else None
        memories = (to, 0 if bits is not None else values, winners.pointer if winners else 0)
        run(memories, positions, _BITS.pack(*bits_of(values)) if bits is not None else b"")

    return write


def value_taker(name: str, spec: TensorSpec, kind: TensorSpec | type) -> Callable[[Any], Any]:
    """What turns a value of `kind` into one to be written to a tensor of `spec`.

    A tensor of the same dtype; or, from a number, the octets of an element.
    """
    if not isinstance(kind, TensorSpec):
        return lambda value: octets(name, value, spec.dtype)
    if kind.dtype == spec.dtype:
        return lambda value: value
    return carried_out(CopyPlan(kind, packed(kind, spec.dtype)))


def packed(spec: TensorSpec, dtype: DType) -> TensorSpec:
    """The spec of a copy in the same order, of another dtype: padding may have no value in that."""
    layout = Layout.packed(spec.layout.shape, spec.layout.minor_to_major)
    return TensorSpec(dtype, layout, spec.device)
