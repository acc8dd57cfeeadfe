"""Medians and quantiles carried out: lines sorted, then read at fractional positions."""

from __future__ import annotations

import struct
from math import prod

import numpy as np

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import new_tensors
from tensorlayout.cuda.fill.fill import write_fill
from tensorlayout.cuda.quantile_plan import plan_quantiles
from tensorlayout.cuda.sort import sorted_rows
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.plan.reducing import ReducePlan
from tensorlayout.plan.run import carried_out
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec

NAMES = frozenset({"median", "nanmedian", "nanquantile", "quantile"})

_HEAD = struct.Struct("<2Q")


def prepare(plan: ReducePlan) -> Run:
    """The quantiles of the source, whose first dimension repeats it for each fraction.

    Lines whose elements are not the fastest are brought together first, which a trace shows.
    """
    spec = plan.result
    if spec.layout.size == 0:
        new_tensor = new_tensors(spec)
        return lambda x: new_tensor()
    if plan.source.layout.size == 0:
        return _unknown(spec)
    first = plan.source.layout.slice((0,))
    assert first is not None, "a dimension that repeats the others has no tiles"
    source = TensorSpec(plan.source.dtype, first, plan.source.device)
    ready, lines = _in_lines(plan.operation.name, source, tuple(d - 1 for d in plan.dims))
    sort = sorted_rows(lines)
    read = _reader(plan, lines)
    return lambda x: read(sort(ready(Tensor._new(x._memory, source, x._home))))


def _in_lines(name: str, source: TensorSpec, dims: tuple[int, ...]) -> tuple[Run, TensorSpec]:
    """What makes a tensor one whose last dimension holds all elements along `dims`, and its spec.

    The others are in the order of the source, slowest first.
    """
    layout = source.layout
    slowest_first = layout.minor_to_major[::-1]
    kept = tuple(d for d in slowest_first if d not in dims)
    along = tuple(d for d in slowest_first if d in dims)
    turned = layout.permute((*kept, *along))
    shape = (*(layout.shape[d] for d in kept), prod(layout.shape[d] for d in dims))
    before, after = (
        [d for d in order if layout.shape[d] > 1] for order in (slowest_first, (*kept, *along))
    )
    merged = turned.reshape(shape) if before == after and not layout.is_tiled else None
    if merged is not None:
        lines = TensorSpec(source.dtype, merged, source.device)
        return lambda x: Tensor._new(x._memory, lines, x._home), lines
    packed = TensorSpec(source.dtype, Layout.row_major(turned.shape), source.device)
    lines = TensorSpec(source.dtype, Layout.row_major(shape), source.device)
    copy = carried_out(CopyPlan(TensorSpec(source.dtype, turned, source.device), packed))
    given = TensorSpec(source.dtype, turned, source.device)
    moved = layout.size * source.dtype.itemsize
    step = Step(name, "layout", layout, packed.layout, source.dtype, moved, moved)

    def gather(x: Tensor) -> Tensor:
        note(step)
        found = copy(Tensor._new(x._memory, given, x._home))
        return Tensor._new(found._memory, lines, found._home)

    return gather, lines


def _reader(plan: ReducePlan, lines: TensorSpec) -> Run:
    """What reads sorted lines."""
    fractions, method, skip = plan.static
    spec, length = plan.result, lines.layout.shape[-1]
    size = (lines.layout.size // length, length)
    launches = plan_quantiles(size, lines.dtype, spec.dtype, fractions, method, skip=skip)
    new_tensor, number = new_tensors(spec), spec.device.number
    with driver().using(number):
        ready = [(driver().launcher(launch.kernel), launch) for launch in launches]

    def read(x: Tensor) -> Tensor:
        result = new_tensor()
        to, from_ = result._memory.address, x._memory.address
        with driver().using(number):
            for launcher, launch in ready:
                parameters = bytearray(launch.parameters)
                _HEAD.pack_into(parameters, 0, to + launch.firsts[0], from_)
                launcher(launch.grid, parameters)
        return result

    return read


def _unknown(spec: TensorSpec) -> Run:
    """NaN for lines of no elements."""
    new_tensor = new_tensors(spec)
    fill = write_fill(spec, lambda value: np.asarray(value, spec.dtype).tobytes())

    def run(x: Tensor) -> Tensor:
        result = new_tensor()
        fill(result, np.nan)
        return result

    return run
