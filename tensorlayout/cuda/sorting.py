"""Sorts carried out: the launches of each pass over the elements."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import new_tensors
from tensorlayout.cuda.sort_plan import SortPlan, plan_sort
from tensorlayout.layout import Layout
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.run import carried_out
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec

_ALIGNMENT = 256  # of memory in between


class Memory(NamedTuple):
    """Addresses of elements, of their positions, and of these as int64; 0 where there are none."""

    values: int
    positions: int
    result: int


_MEMORIES = struct.Struct("<6Q")


def prepare_sort(plan: AlongPlan) -> Run:
    """The elements in their order."""
    return _prepare(plan, positions=False)


def prepare_argsort(plan: AlongPlan) -> Run:
    """The positions that sort; equal elements stay in their order, asked for or not."""
    return _prepare(plan, positions=True)


def prepare_line(spec: TensorSpec) -> Run:
    """Elements of rank 1, ascending."""
    return prepare_lines(spec)


def prepare_lines(source: TensorSpec) -> Run:
    """The elements along the last dimension, ascending; row-major."""
    spec = TensorSpec(source.dtype, Layout.row_major(source.layout.shape), source.device)
    found = plan_sort(source, spec, spec.layout.ndim - 1, positions=False, down=False)
    assert found.result is spec.layout, "the last dimension of a row-major layout is the fastest"
    return _sort(found, spec, positions=False)


def _prepare(plan: AlongPlan, *, positions: bool) -> Run:
    """Lines whose elements do not follow each other are copied, and the result copied back."""
    source, spec = plan.source, plan.result
    down, _ = plan.static
    found = plan_sort(source, spec, plan.dim, positions=positions, down=down)
    lines = TensorSpec(spec.dtype, found.result, spec.device)
    sort = _sort(found, lines, positions=positions)
    if found.result is spec.layout:
        return sort
    gathered = TensorSpec(source.dtype, found.source, source.device)
    gather = noted_copy(plan.operation.name, CopyPlan(source, gathered))
    back = noted_copy(plan.operation.name, CopyPlan(lines, spec))
    return lambda x: back(sort(gather(x)))


def noted_copy(name: str, plan: CopyPlan) -> Run:
    """A copy on the way, which a trace shows."""
    copy, source, spec = carried_out(plan), plan.source, plan.result
    kind = "copy" if source.layout.same_placement(spec.layout) else "layout"
    moved = (source.layout.size * each.dtype.itemsize for each in (source, spec))
    step = Step(name, kind, source.layout, spec.layout, spec.dtype, *moved)

    def moving(x: Tensor) -> Tensor:
        note(step)
        return copy(x)

    return moving


def _sort(found: SortPlan, spec: TensorSpec, *, positions: bool) -> Run:
    number = spec.device.number
    carry_out = prepare_passes(found, number)
    new_tensor = new_tensors(spec)

    def sort(x: Tensor) -> Tensor:
        result = new_tensor()
        if found.passes:
            to = result._memory.address
            with driver().using(number):
                carry_out(x._memory.address, Memory(0, 0, to) if positions else Memory(to, 0, 0))
        return result

    return sort


def prepare_passes(found: SortPlan, number: int) -> Callable[[int, Memory], None]:
    """``run(source, to)``: all passes on the current stream of the current device, `number`."""
    with driver().using(number):
        passes = [
            [(driver().launcher(launch.kernel), launch) for launch in launches]
            for launches in found.passes
        ]
    between = len(passes) - 1
    apart = aligned(found.values)
    room = apart + aligned(found.positions)

    def run(source: int, to: Memory) -> None:
        # Passes write to two memories in turn; the last writes the result, which is one of them,
        # unless it is of positions alone.
        count = min(between, 2 if to.result else 1)
        nbytes = [room] * count
        scratch = nbytes[0] if nbytes else 0
        if found.scratch:
            nbytes[:1] = [scratch + found.scratch]
        buffers = [driver().allocate(each, number) for each in nbytes]
        places = [Memory(b.pointer, b.pointer + apart, 0) for b in buffers[:count]]
        if not to.result:
            places.append(to)
        behind = buffers[0].pointer + scratch if buffers else 0
        read, origins = source + found.first, 0
        for k, launches in enumerate(passes):
            out = to if k == between else places[(k - between - 1) % len(places)]
            for launcher, launch in launches:
                parameters = bytearray(launch.parameters)
                _MEMORIES.pack_into(parameters, 0, *out, read, origins, behind)
                launcher(launch.grid, parameters)
            read, origins, _ = out

    return run


def aligned(nbytes: int) -> int:
    """So many bytes or more, behind which memory is aligned for anything."""
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT
