"""Joins carried out: the launches of a plan, given addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from tensorlayout.cuda.engine.driver import Driver
from tensorlayout.cuda.filling import prepare_fill
from tensorlayout.cuda.join_plan import JoinLaunches

__all__ = ["prepare_join"]


def prepare_join(plan: JoinLaunches, driver: Driver) -> Callable[[int, Sequence[int]], None]:
    """What joins: ``run(result, inputs)``, all but the inputs that are `copied`.

    Addresses of the layouts' lowest slots, aligned as the plan was told; no memories overlap.
    Asynchronous on the current stream, from any thread.
    """
    ready = [
        (each, driver.launcher(each.kernel), struct.Struct(f"<{1 + len(each.inputs)}Q").pack_into)
        for each in plan.launches
    ]
    pad = prepare_fill(plan.padding, driver) if plan.padding is not None else None

    def run(result: int, inputs: Sequence[int]) -> None:
        for each, launch, pack_into in ready:
            parameters = bytearray(each.parameters)
            from_ = [inputs[number] + first for number, first in each.inputs]
            pack_into(parameters, 0, result + each.first, *from_)
            launch(each.grid, parameters)
        if pad is not None:
            pad(result, b"")

    return run
