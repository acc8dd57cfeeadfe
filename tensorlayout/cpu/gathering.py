"""Reads and writes at positions that are data, checked before anything is moved."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlayout.cpu.combining import combine_in_runs
from tensorlayout.cpu.engine.casting import converted, scalar_in
from tensorlayout.cpu.engine.memory import Array, allocator, bytes_from, quietly
from tensorlayout.cpu.inside import checked, checked_one, nearest, outside
from tensorlayout.cpu.reading import Read, read_lines, reader
from tensorlayout.cpu.runs import (
    MANY,
    Positions,
    Runs,
    is_by_line,
    line_cuts,
    slots_of,
)
from tensorlayout.cpu.writing import write_lines, writer
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run, Write
from tensorlayout.plan.combining import RUN, CombinePlan
from tensorlayout.plan.copy import AssignPlan
from tensorlayout.plan.gathering import GatherPlan, ReplacePlan, ScatterPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import Tensor, TensorSpec


def prepare_gather(plan: GatherPlan) -> Run:
    """Read; nothing is read at a position that has not been checked."""
    runs = Runs(plan.source.layout, plan.reach)
    if _is_take(plan, runs):
        return _take(plan, runs)
    spec, allocate = plan.result, allocator(plan.result)
    read = _checked_reader(plan, runs)

    def gather(x: Tensor, *positions: Tensor) -> Tensor:
        memory, _ = allocate()
        read(x._memory, [p._memory for p in positions], memory)
        return Tensor._new(memory, spec)

    return gather


def prepare_gather_into(plan: GatherPlan) -> Write:
    """The same into a tensor given first; by way of a new one where runs need another layout."""
    runs = Runs(plan.source.layout, plan.reach)
    if not runs.fit(plan.result.layout):
        planned = Layout.packed(plan.result.layout.shape, plan.reach.order)
        spec = TensorSpec(plan.result.dtype, planned, plan.result.device)
        anew = prepare_gather(replace(plan, result=spec))
        write = carried_out(AssignPlan(plan.name, spec, plan.result))
        return lambda to, *operands: write(to, anew(*operands))
    read = _checked_reader(plan, runs)

    def gather(result: Tensor, x: Tensor, *positions: Tensor) -> None:
        read(x._memory, [p._memory for p in positions], result._memory)

    return gather


def _checked_reader(plan: GatherPlan, runs: Runs) -> Read:
    """The cheapest way to read at positions that may be outside or count from the end."""
    if plan.reach.along and not plan.clamps and is_by_line(runs):
        return read_lines(plan.name, runs)
    sizes = [plan.source.layout.shape[d] for d in plan.reach.dims]
    read, places_of = reader(plan.source.layout, plan.reach), _places(plan)

    def checked(memory: Array, positions: Positions, out: Array) -> None:
        places = places_of(positions, sizes)
        if out.size:
            read(memory, places, out)

    return checked


def _is_take(plan: GatherPlan, runs: Runs) -> bool:
    one = len(plan.reach.dims) == 1 and not plan.reach.along and not plan.clamps
    return one and runs.packed(runs.order) and plan.result.layout.size < MANY


def _take(plan: GatherPlan, runs: Runs) -> Run:
    """One indexed dimension of a small tensor without gaps: one call, which checks, too."""
    spec, order, group, axis = plan.result, runs.order, runs.group, len(runs.outer)
    back = tuple(runs.major.index(d) for d in range(len(runs.major)))
    size = plan.source.layout.shape[plan.reach.dims[0]]
    # NumPy takes the greatest of uint64 for -1, and looks at no position if there is no line.
    unseen = plan.positions[0].dtype == np.uint64 or plan.source.layout.size == 0

    def take(x: Tensor, positions: Tensor) -> Tensor:
        source, index = x._memory.transpose(order), positions._memory.transpose(group)
        try:
            found = source.take(checked_one(plan.name, index, size) if unseen else index, axis)
        except IndexError:
            raise outside(plan.name, index, size) from None
        if not back:  # a scalar
            found = np.asarray(found)
        return Tensor._new(found.transpose(back), spec)

    return take


def prepare_scatter(plan: ScatterPlan) -> Run:
    """Write; value and positions lie apart from what is written.

    Every position is checked before; but long lines with positions of their own, a few at a time.
    """
    layout, reach = plan.result.layout, plan.reach
    runs, sizes = Runs(layout, reach), [layout.shape[d] for d in reach.dims]
    by_line = reach.along and is_by_line(runs)
    write = write_lines(plan.name, runs) if by_line else writer(layout, reach)

    def scatter(x: Tensor, value: Any, *positions: Tensor) -> Tensor:
        places = [p._memory for p in positions]
        if not by_line:
            places = checked(plan.name, places, sizes)
        values = value_in(plan.name, x, value)  # which may not fit, also where nothing is written
        if 0 not in plan.shape:
            write(x._memory, places, broadcast(values, plan.shape))
        return x

    return scatter


def prepare_replace(plan: ReplacePlan) -> Run:
    """Copied, then written at positions."""
    name, result = plan.scatter.name, plan.result
    copy = carried_out(AssignPlan(name, plan.source, result))
    scatter = prepare_scatter(plan.scatter)
    return lambda to, x, value, *positions: scatter(copy(to, x), value, *positions)


def prepare_combine(plan: CombinePlan) -> Run:
    """A packed copy, and what is at positions combined with values in index order, and in runs."""
    spec, reach = plan.result, plan.reach
    size, ufunc = spec.layout.shape[reach.dims[0]], getattr(np, plan.ufunc)
    runs, allocate = Runs(spec.layout, reach), allocator(spec)
    weights = [spec.layout.strides[reach.dims[0]]]
    matters = plan.ufunc == "add" and spec.dtype.kind not in "iu"  # whether the order does

    def combine(x: Tensor, value: Tensor, positions: Tensor) -> Tensor:
        index = checked_one(plan.name, positions._memory, size)
        memory, _ = allocate()
        np.copyto(memory, x._memory)
        if 0 not in plan.shape:
            index = np.broadcast_to(index, plan.shape) if reach.along else index
            values = runs.in_runs(broadcast(converted(value._memory, spec.dtype), plan.shape))
            flat = bytes_from(memory, spec.layout).view(spec.dtype)
            slots = slots_of(runs, [index], weights, runs.inner)
            # Of one dimension NumPy is ten times faster.
            if values.shape[1] < RUN or not matters:
                for cut in itertools.chain.from_iterable(line_cuts(values.shape, 1)):
                    quietly(ufunc.at, flat, slots(cut).reshape(-1), values[cut].reshape(-1))
            else:
                combine_in_runs(ufunc, flat, slots, values)
        return Tensor._new(memory, spec)

    return combine


def _places(plan: GatherPlan) -> Callable[[Positions, Sequence[int]], list[Array]]:
    return nearest if plan.clamps else functools.partial(checked, plan.name)


def value_in(name: str, x: Tensor, value: Any) -> Array:
    """What is to be written, in the dtype of `x`."""
    if not isinstance(value, Tensor):
        return scalar_in(name, x.dtype, value)
    source: Array = value._memory
    return source if source.dtype == x.dtype else converted(source, x.dtype)


def broadcast(value: Array, shape: tuple[int, ...]) -> Array:
    """`value` broadcast to `shape`; leading dimensions of size 1 that are too many go."""
    surplus = max(value.ndim - len(shape), 0)
    return np.broadcast_to(value.reshape(value.shape[surplus:]), shape)
