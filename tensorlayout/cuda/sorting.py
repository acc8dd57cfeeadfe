"""Sorts carried out: a launch for lines of a tile, and one for each time that runs double."""

from __future__ import annotations

import struct
from typing import NamedTuple

from tensorlayout.cuda import carrying
from tensorlayout.cuda.driver import Buffer, driver
from tensorlayout.cuda.memory import new_tensors
from tensorlayout.cuda.sort_plan import SortPlan, plan_sort
from tensorlayout.plan import Run
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.moving import CopyPlan
from tensorlayout.tensor import Spec, Tensor

_OUT = struct.Struct("<3Q")
_TILES_IN = struct.Struct("<Q")
_MERGE_IN = struct.Struct("<2Q")

_ALIGNMENT = 256  # of memory in between


class _Memory(NamedTuple):
    """Addresses of elements and of their positions; 0 where there are none."""

    values: int
    positions: int


def prepare_sort(plan: AlongPlan) -> Run:
    """The elements in their order."""
    return _prepare(plan, positions=False)


def prepare_argsort(plan: AlongPlan) -> Run:
    """The positions that sort; equal elements stay in their order, asked for or not."""
    return _prepare(plan, positions=True)


def prepare_line(spec: Spec) -> Run:
    """Elements of rank 1, ascending."""
    return _sort(plan_sort(spec, spec, 0, positions=False, down=False), spec, positions=False)


def _prepare(plan: AlongPlan, *, positions: bool) -> Run:
    """Lines whose elements do not follow each other are copied, and the result copied back."""
    source, spec = plan.source, plan.result
    down, _ = plan.static
    found = plan_sort(source, spec, plan.dim, positions=positions, down=down)
    lines = Spec(spec.dtype, found.result, spec.device)
    sort = _sort(found, lines, positions=positions)
    if found.result is spec.layout:
        return sort
    gathered = Spec(source.dtype, found.source, source.device)
    gather = carrying.prepare_copy(CopyPlan(source, gathered))
    back = carrying.prepare_copy(CopyPlan(lines, spec))
    return lambda x: back(sort(gather(x)))


def _sort(found: SortPlan, spec: Spec, *, positions: bool) -> Run:
    number = spec.device.number
    ready = [(driver().launcher(launch.kernel), launch) for launch in found.launches]
    new_tensor = new_tensors(spec)
    merges = len(ready) - 1
    apart = -(-found.values // _ALIGNMENT) * _ALIGNMENT

    def between() -> list[Buffer]:
        """Memory for runs that are not the result: positions need two of them in turn."""
        count = min(merges, 2 if positions else 1)
        return [driver().allocate(apart + found.positions, number) for _ in range(count)]

    def sort(x: Tensor) -> Tensor:
        result = new_tensor()
        to = result._memory.address
        with driver().using(number):
            buffers = between()
            memories = [_Memory(b.pointer, b.pointer + apart) for b in buffers]
            if not positions:
                memories.append(_Memory(to, 0))
            last = _Memory(0, 0)
            for step, (launcher, launch) in enumerate(ready):
                final = step == merges
                # So that the last of them is the result.
                into = memories[(step - merges - 1) % len(memories)] if memories else last
                out = (0, 0, to) if positions and final else (*into, 0)
                parameters = bytearray(launch.parameters)
                _OUT.pack_into(parameters, 0, *out)
                if step:
                    _MERGE_IN.pack_into(parameters, _OUT.size, *last)
                else:
                    first = x._memory.address + launch.firsts[0]
                    _TILES_IN.pack_into(parameters, _OUT.size, first)
                launcher(launch.grid, parameters)
                last = into
        return result

    return sort
