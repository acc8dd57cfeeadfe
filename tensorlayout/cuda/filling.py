"""Fills carried out: the launches of a plan, given an address and a value."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tensorlayout.cuda.engine.driver import Driver
from tensorlayout.cuda.engine.padding import bits_of
from tensorlayout.cuda.fill_plan import FillPlan

__all__ = ["prepare_fill"]

_SCALARS = struct.Struct("<QQQ")


def prepare_fill(plan: FillPlan, driver: Driver) -> Callable[[int, bytes], None]:
    """What fills: ``run(pointer, value)``.

    `pointer` is the address of the layout's lowest slot, aligned as the plan was told; `value` is
    the content of one element. Asynchronous on the current stream, from any thread.
    """
    ready = [(each, driver.launcher(each.launch.kernel)) for each in plan.launches]

    def run(pointer: int, value: bytes) -> None:
        for each, launch in ready:
            written = value if each.value is None else each.value
            pattern = bits_of(written if each.part is None else written[each.part])
            parameters = bytearray(each.launch.parameters)
            _SCALARS.pack_into(parameters, 0, pointer + each.launch.firsts[0], *pattern)
            launch(each.launch.grid, parameters)

    return run
