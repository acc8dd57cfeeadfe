"""Results found from their own coordinates: one launch each, given addresses."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

from tensorlayout.cuda import fold_plan, lines_plan, patterns_plan, stretch_plan
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.engine.memory import per_alignment
from tensorlayout.cuda.engine.padding import bits_of
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.plan.base import Run
from tensorlayout.plan.folding import FoldPlan
from tensorlayout.plan.patterns import DiagonalsPlan, HotPlan, SequencePlan
from tensorlayout.plan.reversing import ReversePlan
from tensorlayout.plan.stretching import StretchPlan
from tensorlayout.tensor import Tensor


def prepare_reverse(plan: ReversePlan) -> Run:
    """The function of the result, the tensor, and the lengths."""

    def make(alignments: tuple[int, ...]) -> Callable[..., None]:
        to, source, _ = alignments
        return _launcher(lines_plan.plan_lines(plan, (to, source)))

    return _prepared(make, plan.result.device.number)


def prepare_stretch(plan: StretchPlan) -> Run:
    """The function of the result and the tensor."""
    return _prepared(
        lambda alignments: _launcher(stretch_plan.plan_stretch(plan)), plan.result.device.number
    )


def prepare_fold(plan: FoldPlan) -> Run:
    """The function of the result and the columns."""
    return _prepared(
        lambda alignments: _launcher(fold_plan.plan_fold(plan)), plan.result.device.number
    )


def prepare_hot(plan: HotPlan) -> Run:
    """The function of the result, the indices, the cold and the hot value."""
    device = plan.result.device.number
    return _prepared(lambda alignments: _launcher(patterns_plan.plan_hot(plan)), device)


def prepare_diagonals(plan: DiagonalsPlan) -> Run:
    """The function of the result, the value, and the others."""
    spec = plan.result
    launch = functools.cache(lambda: _launcher(patterns_plan.plan_diagonals(plan), "2Q"))

    def write(result: Tensor, value: Any, *others: Tensor) -> Tensor:
        # Without others the kernel is given no address at all.
        source = others[0]._memory.address if others else 0
        bits = bits_of(octets("DIAGONAL_MATRIX", value, spec.dtype))
        with driver().using(spec.device.number):
            launch()(result._memory.address, source, *bits)
        return result

    return write


def prepare_sequence(plan: SequencePlan) -> Run:
    """The function of the result, the first number and the step."""
    spec = plan.result
    scalars = "2d" if spec.dtype.kind == "f" else "2Q"
    launch = functools.cache(lambda: _launcher(patterns_plan.plan_sequence(plan), scalars))

    def write(result: Tensor, start: Any, delta: Any) -> Tensor:
        with driver().using(spec.device.number):
            launch()(result._memory.address, start, delta)
        return result

    return write


def _prepared(make: Callable[[tuple[int, ...]], Callable[..., None]], device: int) -> Run:
    """The function of tensors that runs what is made for their alignments; it gives the first."""
    at = per_alignment(make)

    def run(*tensors: Tensor) -> Tensor:
        addresses = [x._memory.address for x in tensors]
        with driver().using(device):
            at(*addresses)(*addresses)
        return tensors[0]

    return run


def _launcher(planned: Launch | None, scalars: str = "") -> Callable[..., None]:
    """What launches, given the address of each tensor's lowest slot, and then scalars.

    Nothing for no elements; `scalars`: how they are packed behind the pointers.
    """
    if planned is None:
        return lambda *given: None
    launch, firsts = driver().launcher(planned.kernel), planned.firsts
    head = struct.Struct(f"<{len(firsts)}Q{scalars}")

    def run(*given: Any) -> None:
        parameters = bytearray(planned.parameters)
        places = [a + first for a, first in zip(given, firsts, strict=False)]
        head.pack_into(parameters, 0, *places, *given[len(firsts) :])
        launch(planned.grid, parameters)

    return run
