"""Borders around tensors carried out: one launch, given two addresses and a value."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import per_alignment
from tensorlayout.cuda.engine.padding import bits_of
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.pad_plan import plan_pad
from tensorlayout.plan import Run
from tensorlayout.plan.bordering import PadPlan
from tensorlayout.tensor import Tensor

_HEAD = struct.Struct("<4Q")


def prepare(plan: PadPlan) -> Run:
    """The function of the result, the tensor, and the value of a constant."""
    spec = plan.result

    def make(alignments: tuple[int, ...]) -> Callable[[int, int, bytes], None]:
        to, source = alignments
        return _launcher(plan, (to, source))

    at = per_alignment(make)

    def pad(result: Tensor, x: Tensor, value: Any) -> Tensor:
        to, source = result._memory.address, x._memory.address
        content = octets(plan.name, value, spec.dtype)
        with driver().using(spec.device.number):
            at(to, source)(to, source, content)
        return result

    return pad


def _launcher(plan: PadPlan, alignments: tuple[int, int]) -> Callable[[int, int, bytes], None]:
    spec = plan.result
    planned = plan_pad(
        spec.layout, plan.source.layout, spec.dtype.itemsize, plan.borders, plan.mode, alignments
    )
    if planned is None:
        return lambda to, source, value: None
    launch = driver().launcher(planned.kernel)
    first, start = planned.firsts

    def run(to: int, source: int, value: bytes) -> None:
        parameters = bytearray(planned.parameters)
        _HEAD.pack_into(parameters, 0, to + first, source + start, *bits_of(value))
        launch(planned.grid, parameters)

    return run
