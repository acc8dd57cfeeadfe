"""Values combined with what is at positions: the launches of a plan, given addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from tensorlayout.cuda.combine_plan import (
    OPERATIONS,
    CombineLaunches,
    plan_combine,
    values_layout,
)
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.launch import bind
from tensorlayout.cuda.engine.memory import per_alignment
from tensorlayout.cuda.fill.fill import filled_with, plan_fill
from tensorlayout.cuda.gathering import prepare_launches
from tensorlayout.cuda.scatter_plan import Written, values_in
from tensorlayout.cuda.sorting import Memory, aligned, prepare_passes
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.combining import CombinePlan
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec

_FOUND = struct.Struct("<QQ")


def prepare(plan: CombinePlan) -> Run:
    """A packed copy, and the values combined with that."""
    spec = plan.result
    copy = carried_out(CopyPlan(plan.source, spec))
    what = Written(plan.name, spec, None, plan.shape, plan.reach, (plan.positions,))
    combine = combiner(what, plan.ufunc, plan.value)
    return lambda x, value, positions: combine(copy(x), value, positions)


def combiner(what: Written, operation: str, value: TensorSpec) -> Callable[..., Tensor]:
    """``combine(x, value, *positions)``: `x`, each value combined with what is at its position.

    `operation`: "add", "minimum" or "maximum", of the dtype of `x`, which `value` is converted to;
    of one place in index order. Value and positions lie apart from `x`; waits for nothing.
    Positions outside are left out; `faults` raises the IndexError later.
    """
    if operation not in OPERATIONS:
        msg = f"{what.name}: operation must be one of {', '.join(OPERATIONS)}, got {operation!r}"
        raise ValueError(msg)
    spec, number = what.destination, what.destination.device.number
    what, take = _with_values(what, value)

    def make(alignments: tuple[int, ...]) -> Callable[[int, int, list[int]], None]:
        return _launches(plan_combine(what, operation), number)

    at = per_alignment(make)

    def combine(x: Tensor, given: Tensor, *positions: Tensor) -> Tensor:
        source, to = take(given), x._memory.address
        with driver().using(spec.device.number):
            at(to)(to, source._memory.address, [p._memory.address for p in positions])
        return x

    return combine


def _with_values(what: Written, value: TensorSpec) -> tuple[Written, Callable[..., Tensor]]:
    """The values in the layout and dtype that the plan takes, and what copies them if need be.

    A trace shows the copy.
    """
    dtype, device = what.destination.dtype, value.device
    spread = TensorSpec(value.dtype, values_in(value.layout, what.shape), device)
    wanted = TensorSpec(dtype, values_layout(what, spread.layout), device)
    if spread == wanted:
        return replace(what, values=wanted.layout), lambda given: given
    if wanted.layout is spread.layout:  # few, of another dtype
        few = TensorSpec(dtype, value.layout.form, device)
        copy: Run = carried_out(CopyPlan(value, few))
        step = _step(what.name, value, few)
        wanted = TensorSpec(dtype, values_in(few.layout, what.shape), device)
    else:
        copy = carried_out(CopyPlan(spread, wanted))
        step = _step(what.name, value, wanted)

    def copied(given: Tensor) -> Tensor:
        note(step)
        return copy(given)

    return replace(what, values=wanted.layout), copied


def _step(name: str, source: TensorSpec, result: TensorSpec) -> Step:
    same = source.layout.same_placement(result.layout)
    moved = source.layout.size * source.dtype.itemsize, result.layout.nbytes(result.dtype)
    kind = "copy" if same else "layout"
    return Step(name, kind, source.layout, result.layout, result.dtype, *moved)


def _launches(plan: CombineLaunches, number: int) -> Callable[[int, int, list[int]], None]:
    if plan.places is None or plan.combine is None:
        check = prepare_launches(plan.placings, number)
        return lambda to, values, positions: check((), positions)
    gpu = driver()
    table, entry = plan.table
    zeros = filled_with(plan_fill(Layout.row_major((table // entry,)), entry), bytes(entry))
    clear = bind(zeros, number)
    places = prepare_launches((*plan.placings, plan.places), number)
    combine = prepare_launches((*plan.folds, plan.combine), number)
    if plan.sort is None or plan.segments is None:

        def count(to: int, values: int, positions: list[int]) -> None:
            counts = gpu.allocate(table, number)
            clear([counts.pointer], b"")
            memories = (to, values, counts.pointer, 0, 0, 0, 0)
            places(memories, positions)
            combine(memories, ())

        return count
    sort, find = prepare_passes(plan.sort, number), plan.segments
    search = gpu.launcher(find.kernel)
    # Keys, sorted keys, and their numbers are as wide as one end of a segment.
    parts = [aligned(n) for n in (table, *[plan.numbers * entry // 2] * 3, plan.runs)]

    def run(to: int, values: int, positions: list[int]) -> None:
        buffer = gpu.allocate(sum(parts), number)
        segments, keys, ordered, numbers, runs = accumulate(parts[:-1], initial=buffer.pointer)
        memories = (to, values, segments, numbers, keys, ordered, runs)
        places(memories, positions)
        sort(keys, Memory(ordered, numbers, 0))
        clear([segments], b"")
        parameters = bytearray(find.parameters)
        _FOUND.pack_into(parameters, 0, segments, ordered)
        search(find.grid, parameters)
        combine(memories, ())

    return run
