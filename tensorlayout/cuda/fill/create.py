"""New tensors of values that are the call's arguments: which function writes which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cuda.engine.memory import padding_of
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.fill.diagonals import write_eye
from tensorlayout.cuda.fill.fill import plan_padding, write_fill
from tensorlayout.cuda.fill.sequence import write_arange, write_frequencies, write_linspace
from tensorlayout.dtypes import SCALARS
from tensorlayout.plan.base import Write
from tensorlayout.plan.fill import CreatePlan
from tensorlayout.tensor import TensorSpec


def write_create(plan: CreatePlan) -> Write:
    """The function of a tensor and the operation's values; padding of a new one is written."""
    padding = None if plan.given else padding_of(plan.result)
    if plan.operation.values == "value":
        return _write_value(plan.operation.name, plan.result, padding)
    return _WRITE[plan.operation.values](plan.result, padding)


def writes_nothing(plan: CreatePlan) -> bool:
    """Whether elements may hold anything, and padding too."""
    return plan.operation.values == "nothing" and (plan.given or padding_of(plan.result) is None)


def _write_nothing(spec: TensorSpec, padding: bytes | None) -> Write:
    """Elements may hold anything."""
    if padding is None:
        return lambda out: None
    return write_fill(spec, None, padding, plan_padding)


def _write_value(name: str, spec: TensorSpec, padding: bytes | None) -> Write:
    """The value is a number, or an array of the dtype and of rank 0."""

    def content(value: Any) -> bytes:
        if type(value) in SCALARS:
            return octets(name, value, spec.dtype)
        found: bytes = np.asarray(value, spec.dtype).tobytes()
        return found

    return write_fill(spec, content, padding)


# Sequences have no padding.
_WRITE: dict[str, Callable[[TensorSpec, bytes | None], Write]] = {
    "arange": lambda spec, _: write_arange(spec),
    "eye": write_eye,
    "frequencies": lambda spec, _: write_frequencies(spec),
    "linspace": lambda spec, _: write_linspace(spec),
    "nothing": _write_nothing,
}
