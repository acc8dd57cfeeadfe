"""Values combined with what is at positions: the launches of a plan, given addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable

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
from tensorlayout.cuda.scattering import apart
from tensorlayout.cuda.select_plan import SCAN
from tensorlayout.layout import Layout
from tensorlayout.plan import Run
from tensorlayout.plan.combining import CombinePlan
from tensorlayout.plan.moving import CopyPlan
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
    of one place in index order. As if value and positions had been copied first; waits for nothing.
    Positions outside are left out; `faults` raises the IndexError later.
    """
    if operation not in OPERATIONS:
        msg = f"{what.name}: operation must be one of {', '.join(OPERATIONS)}, got {operation!r}"
        raise ValueError(msg)
    spec, number = what.destination, what.destination.device.number
    take = _in_order(what, value)

    def make(alignments: tuple[int, ...]) -> Callable[[int, int, list[int]], None]:
        return _launches(plan_combine(what, operation), number)

    at = per_alignment(make)

    def combine(x: Tensor, given: Tensor, *positions: Tensor) -> Tensor:
        source, own = take(x, given), [apart(x, p) for p in positions]
        to = x._memory.address
        with driver().using(spec.device.number):
            at(to)(to, source._memory.address, [p._memory.address for p in own])
        return x

    return combine


def _in_order(what: Written, value: Spec) -> Callable[[Tensor, Tensor], Tensor]:
    """The values in the layout and dtype that the plan takes, copied where they are not."""
    spread = Spec(value.dtype, values_in(value.layout, what.shape), value.device)
    wanted = Spec(what.destination.dtype, values_layout(what), value.device)
    if spread == wanted:
        return apart
    copy: Run = prepare_copy(CopyPlan(spread, wanted))
    return lambda x, given: copy(given)


def _launches(plan: CombineLaunches, number: int) -> Callable[[int, int, list[int]], None]:
    if plan.count is None or plan.place is None or plan.combine is None:
        check = prepare_launches(plan.placings, number)
        return lambda to, values, positions: check((), positions)
    gpu, places = driver(), plan.places
    clear = prepare_fill(plan_fill(Layout.row_major((places + 1,)), 8), gpu)
    count, place = (prepare_launches((*plan.placings, k), number) for k in (plan.count, plan.place))
    combine = prepare_launches((plan.combine,), number)

    def run(to: int, values: int, positions: list[int]) -> None:
        counts = gpu.allocate(8 * (places + 1), number)
        numbers = gpu.allocate(8 * plan.numbers, number)
        memories = (to, values, counts.pointer, numbers.pointer)
        clear(counts.pointer, bytes(8))
        count(memories, positions)
        gpu.launcher(SCAN)(1, bytearray(_COUNTS.pack(counts.pointer, places)))
        place(memories, positions)
        segments = _SEGMENTS.pack(counts.pointer, numbers.pointer, places)
        gpu.launcher(SORT)(plan.sort, bytearray(segments))
        combine(memories, ())

    return run
