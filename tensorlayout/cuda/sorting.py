"""Sorts carried out: a launch for lines of a tile, and two for each time that runs double."""

from __future__ import annotations

import struct
from typing import NamedTuple

from tensorlayout.cuda import carrying
from tensorlayout.cuda.driver import Buffer, Launcher, driver
from tensorlayout.cuda.launches import Launch
from tensorlayout.cuda.memory import new_tensors
from tensorlayout.cuda.sort_plan import SortPlan, plan_sort
from tensorlayout.layout import Layout
from tensorlayout.plan import Run
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.moving import CopyPlan
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Spec, Tensor

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
    return prepare_lines(spec)


def prepare_lines(source: Spec) -> Run:
    """The elements along the last dimension, ascending; row-major."""
    spec = Spec(source.dtype, Layout.row_major(source.layout.shape), source.device)
    found = plan_sort(source, spec, spec.layout.ndim - 1, positions=False, down=False)
    assert found.result is spec.layout, "the last dimension of a row-major layout is the fastest"
    return _sort(found, spec, positions=False)


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
    gather = noted_copy(plan.operation.name, CopyPlan(source, gathered))
    back = noted_copy(plan.operation.name, CopyPlan(lines, spec))
    return lambda x: back(sort(gather(x)))


def noted_copy(name: str, plan: CopyPlan) -> Run:
    """A copy on the way, which a trace shows."""
    copy, source, spec = carrying.prepare_copy(plan), plan.source, plan.result
    kind = "copy" if source.layout.same_placement(spec.layout) else "layout"
    moved = (source.layout.size * each.dtype.itemsize for each in (source, spec))
    step = Step(name, kind, source.layout, spec.layout, spec.dtype, *moved)

    def moving(x: Tensor) -> Tensor:
        note(step)
        return copy(x)

    return moving


def _sort(found: SortPlan, spec: Spec, *, positions: bool) -> Run:
    number = spec.device.number
    with driver().using(number):
        ready = [(driver().launcher(launch.kernel), launch) for launch in found.launches]
    doublings = len(ready) // 2
    new_tensor = new_tensors(spec)
    apart = _aligned(found.values)
    room = apart + _aligned(found.positions)

    def memories(to: int) -> tuple[list[Buffer], list[_Memory]]:
        """Where runs are in turn; the result is one of them, unless that is of positions."""
        count = min(doublings, 2 if positions else 1)
        # What is found of runs stands behind the elements of the first.
        nbytes = [room if k else room + found.splits for k in range(count)]
        buffers = [driver().allocate(each, number) for each in nbytes]
        places = [_Memory(b.pointer, b.pointer + apart) for b in buffers]
        return buffers, places if positions else [*places, _Memory(to, 0)]

    def sort(x: Tensor) -> Tensor:
        result = new_tensor()
        if not ready:
            return result
        to = result._memory.address
        with driver().using(number):
            buffers, places = memories(to)
            splits = buffers[0].pointer + room if buffers else 0

            def out(doubling: int) -> tuple[int, int, int]:
                """Where a step writes: such that the last of them writes the result."""
                if positions and doubling == doublings:
                    return (0, 0, to)
                return (*places[(doubling - doublings - 1) % len(places)], 0)

            first = x._memory.address + found.launches[0].firsts[0]
            _launch(ready[0], *out(0), first)
            for doubling in range(1, doublings + 1):
                values, origins, _ = out(doubling - 1)
                _launch(ready[2 * doubling - 1], splits, values)
                _launch(ready[2 * doubling], *out(doubling), values, origins, splits)
        return result

    return sort


def _launch(step: tuple[Launcher, Launch], *pointers: int) -> None:
    """Pointers come first in every struct."""
    launcher, launch = step
    parameters = bytearray(launch.parameters)
    struct.pack_into(f"<{len(pointers)}Q", parameters, 0, *pointers)
    launcher(launch.grid, parameters)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT
