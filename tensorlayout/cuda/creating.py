"""Creation on CUDA: a kernel for each kind of values, in one launch with the padding."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cuda import bands, fill_plan, filling, sequence_plan
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import new_tensor, padding_of, per_alignment
from tensorlayout.cuda.fill_plan import FillPlan
from tensorlayout.cuda.sequence_plan import SequencePlan
from tensorlayout.plan.base import Run
from tensorlayout.plan.creating import CreatePlan
from tensorlayout.tensor import Tensor, TensorSpec

_ADDRESS = struct.Struct("<Q")


def prepare(plan: CreatePlan) -> Run:
    """The function of the operation's values that makes the tensor."""
    return _PREPARE[plan.operation.name](plan)


# ---- One value, or none


def _empty(plan: CreatePlan) -> Run:
    """Nothing is written, unless it is padding."""
    spec = plan.result
    padding = padding_of(spec)
    if padding is None:
        return lambda: new_tensor(spec)
    fill = _filler(spec, fill_plan.plan_padding_alone)
    return lambda: fill(b"")


def _filled(plan: CreatePlan) -> Run:
    """Elements and padding; the value is a number, or an array of the dtype and of rank 0."""
    spec = plan.result
    fill = _filler(spec, fill_plan.plan_fill)
    return lambda value: fill(np.asarray(value, spec.dtype).tobytes())


def _filler(spec: TensorSpec, plan_for: Callable[..., FillPlan]) -> Callable[[bytes], Tensor]:
    padding = padding_of(spec)

    def make(alignments: tuple[int, ...]) -> Callable[[int, bytes], None]:
        plan = plan_for(spec.layout, spec.dtype.itemsize, alignments[0], padding)
        return filling.prepare_fill(plan, driver())

    at = per_alignment(make)

    def fill(value: bytes) -> Tensor:
        result = new_tensor(spec)
        to = result._memory.address
        with driver().using(spec.device.number):
            at(to)(to, value)
        return result

    return fill


# ---- Sequences


def _sequence(plan_for: Callable[..., SequencePlan], spec: TensorSpec) -> Run:
    """The run of a sequence, which always is row-major, of rank 1, and in memory of its own."""
    plan = plan_for(spec.dtype, spec.layout.size)
    launcher = functools.cache(lambda: driver().launcher(plan.kernel))

    def create(*values: Any) -> Tensor:
        parameters = plan.parameters(*values)
        result = new_tensor(spec)
        if plan.grid:
            _ADDRESS.pack_into(parameters, 0, result._memory.address)
            with driver().using(spec.device.number):
                launcher()(plan.grid, parameters)
        return result

    return create


def _arange(plan: CreatePlan) -> Run:
    return _sequence(sequence_plan.plan_arange, plan.result)


def _frequencies(plan: CreatePlan) -> Run:
    return _sequence(sequence_plan.plan_frequencies, plan.result)


def _linspace(plan: CreatePlan) -> Run:
    spec = plan.result
    real = _sequence(sequence_plan.plan_linspace, spec)
    if spec.dtype.kind != "c":
        return real
    pairs = _sequence(sequence_plan.plan_complex_linspace, spec)

    def create(start: complex, stop: complex, endpoint: bool) -> Tensor:
        either = isinstance(start, complex) or isinstance(stop, complex)
        return (pairs if either else real)(start, stop, endpoint)

    return create


_PREPARE: dict[str, Callable[[CreatePlan], Run]] = {
    "arange": _arange,
    "empty": _empty,
    "empty_like": _empty,
    "eye": bands.prepare_eye,
    "fftfreq": _frequencies,
    "full": _filled,
    "full_like": _filled,
    "linspace": _linspace,
    "ones": _filled,
    "ones_like": _filled,
    "rfftfreq": _frequencies,
    "zeros": _filled,
    "zeros_like": _filled,
}
