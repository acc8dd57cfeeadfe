"""Values combined with what is at positions: the launches of a plan, given addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from tensorlayout.cuda.carrying import prepare_copy
from tensorlayout.cuda.combine_plan import (
    OPERATIONS,
    SORT,
    CombineLaunches,
    plan_combine,
    values_layout,
)
from tensorlayout.cuda.driver import driver
from tensorlayout.cuda.fill_plan import plan_fill
from tensorlayout.cuda.filling import prepare_fill
from tensorlayout.cuda.gathering import prepare_launches
from tensorlayout.cuda.memory import per_alignment
from tensorlayout.cuda.scatter_plan import Written, values_in
from tensorlayout.cuda.select_plan import SCAN
from tensorlayout.layout import Layout
from tensorlayout.plan import Run
from tensorlayout.plan.combining import CombinePlan
from tensorlayout.plan.moving import CopyPlan
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Spec, Tensor

_COUNTS = struct.Struct("<QQ")
_SEGMENTS = struct.Struct("<QQQ")


def prepare(plan: CombinePlan) -> Run:
    """A packed copy, and the values combined with that."""
    spec = plan.result
    copy = prepare_copy(CopyPlan(plan.source, spec))
    what = Written(plan.name, spec, None, plan.shape, plan.reach, (plan.positions,))
    combine = combiner(what, plan.ufunc, plan.value)
    return lambda x, value, positions: combine(copy(x), value, positions)


def combiner(what: Written, operation: str, value: Spec) -> Callable[..., Tensor]:
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


def _with_values(what: Written, value: Spec) -> tuple[Written, Callable[..., Tensor]]:
    """The values in the layout and dtype that the plan takes, and what copies them if need be.

    A trace shows the copy.
    """
    dtype, device = what.destination.dtype, value.device
    spread = Spec(value.dtype, values_in(value.layout, what.shape), device)
    wanted = Spec(dtype, values_layout(what, spread.layout), device)
    if spread == wanted:
        return replace(what, values=wanted.layout), lambda given: given
    if wanted.layout is spread.layout:  # few, of another dtype
        few = Spec(dtype, value.layout.form, device)
        copy: Run = prepare_copy(CopyPlan(value, few))
        step = _step(what.name, value, few)
        wanted = Spec(dtype, values_in(few.layout, what.shape), device)
    else:
        copy = prepare_copy(CopyPlan(spread, wanted))
        step = _step(what.name, value, wanted)

    def copied(given: Tensor) -> Tensor:
        note(step)
        return copy(given)

    return replace(what, values=wanted.layout), copied


def _step(name: str, source: Spec, result: Spec) -> Step:
    same = source.layout.same_placement(result.layout)
    moved = source.layout.size * source.dtype.itemsize, result.layout.nbytes(result.dtype)
    kind = "copy" if same else "layout"
    return Step(name, kind, source.layout, result.layout, result.dtype, *moved)


def _launches(plan: CombineLaunches, number: int) -> Callable[[int, int, list[int]], None]:
    if plan.count is None or plan.combine is None:
        check = prepare_launches(plan.placings, number)
        return lambda to, values, positions: check((), positions)
    gpu, places = driver(), plan.places
    clear = prepare_fill(plan_fill(Layout.row_major((places + 1,)), 8), gpu)
    count = prepare_launches((*plan.placings, plan.count), number)
    combine = prepare_launches((plan.combine,), number)
    place = prepare_launches((*plan.placings, plan.place), number) if plan.place else None

    def run(to: int, values: int, positions: list[int]) -> None:
        counts = gpu.allocate(8 * (places + 1), number)
        numbers = gpu.allocate(8 * plan.numbers, number)
        memories = (to, values, counts.pointer, numbers.pointer)
        clear(counts.pointer, bytes(8))
        count(memories, positions)
        if place is not None:
            gpu.launcher(SCAN)(1, bytearray(_COUNTS.pack(counts.pointer, places)))
            place(memories, positions)
        if plan.sort:
            segments = _SEGMENTS.pack(counts.pointer, numbers.pointer, places)
            gpu.launcher(SORT)(plan.sort, bytearray(segments))
        combine(memories, ())

    return run
