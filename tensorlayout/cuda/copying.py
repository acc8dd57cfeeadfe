"""Copies carried out: the launches of a plan, given two addresses."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tensorlayout.cuda.copy_plan import CopyPlan
from tensorlayout.cuda.engine.driver import Driver
from tensorlayout.cuda.filling import prepare_fill

__all__ = ["prepare_copy"]

_POINTERS = struct.Struct("<QQ")


def prepare_copy(plan: CopyPlan, driver: Driver) -> Callable[[int, int], None]:
    """What copies: ``run(destination, source)``.

    Both are addresses of the layouts' lowest slots, aligned as the plan was told; the memories must
    not overlap. Asynchronous on the current stream, from any thread.
    """
    ready = [(each, driver.launcher(each.kernel)) for each in plan.launches]
    pad = prepare_fill(plan.padding, driver) if plan.padding is not None else None

    def run(destination: int, source: int) -> None:
        if pad is not None:
            pad(destination, b"")
        for each, launch in ready:
            parameters = bytearray(each.parameters)
            to, from_ = each.firsts
            _POINTERS.pack_into(parameters, 0, destination + to, source + from_)
            launch(each.grid, parameters)

    return run
