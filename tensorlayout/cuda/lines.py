"""Lines reversed up to lengths of their own, carried out: one launch, given three addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tensorlayout.cuda.driver import driver
from tensorlayout.cuda.launches import Launch
from tensorlayout.cuda.lines_plan import plan_lines
from tensorlayout.cuda.memory import per_alignment
from tensorlayout.plan import Run
from tensorlayout.plan.reversing import ReversePlan
from tensorlayout.tensor import Tensor

_POINTERS = struct.Struct("<3Q")


def prepare(plan: ReversePlan) -> Run:
    """The function of the result, the tensor, and the lengths."""
    number = plan.result.device.number

    def make(alignments: tuple[int, ...]) -> Callable[[int, int, int], None]:
        to, source = alignments
        return _launcher(plan_lines(plan, (to, source)))

    at = per_alignment(make)

    def reverse(result: Tensor, x: Tensor, lengths: Tensor) -> Tensor:
        to, source = result._memory.address, x._memory.address
        with driver().using(number):
            at(to, source)(to, source, lengths._memory.address)
        return result

    return reverse


def _launcher(planned: Launch | None) -> Callable[[int, int, int], None]:
    if planned is None:
        return lambda to, source, lengths: None
    launch = driver().launcher(planned.kernel)
    first, start, begin = planned.firsts

    def run(to: int, source: int, lengths: int) -> None:
        parameters = bytearray(planned.parameters)
        _POINTERS.pack_into(parameters, 0, to + first, source + start, lengths + begin)
        launch(planned.grid, parameters)

    return run
