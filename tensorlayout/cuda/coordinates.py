"""Results found from their own coordinates: one launch each, given addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tensorlayout.cuda import fold_plan, lines_plan, stretch_plan
from tensorlayout.cuda.driver import driver
from tensorlayout.cuda.launches import Launch
from tensorlayout.cuda.memory import per_alignment
from tensorlayout.plan import Run
from tensorlayout.plan.folding import FoldPlan
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


def _prepared(make: Callable[[tuple[int, ...]], Callable[..., None]], device: int) -> Run:
    """The function of tensors that runs what is made for their alignments; it gives the first."""
    at = per_alignment(make)

    def run(*tensors: Tensor) -> Tensor:
        addresses = [x._memory.address for x in tensors]
        with driver().using(device):
            at(*addresses)(*addresses)
        return tensors[0]

    return run


def _launcher(planned: Launch | None) -> Callable[..., None]:
    """What launches, given the address of each tensor's lowest slot; nothing for no elements."""
    if planned is None:
        return lambda *addresses: None
    launch = driver().launcher(planned.kernel)
    pointers = struct.Struct(f"<{len(planned.firsts)}Q")

    def run(*addresses: int) -> None:
        parameters = bytearray(planned.parameters)
        places = [a + first for a, first in zip(addresses, planned.firsts, strict=True)]
        pointers.pack_into(parameters, 0, *places)
        launch(planned.grid, parameters)

    return run
