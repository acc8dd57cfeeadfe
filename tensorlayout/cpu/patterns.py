"""Patterns written with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.plan.base import Run
from tensorlayout.plan.patterns import DiagonalsPlan, HotPlan, SequencePlan
from tensorlayout.tensor import Tensor


def prepare_hot(plan: HotPlan) -> Run:
    """The function of the result, the indices, the cold and the hot value."""
    shape, dtype = plan.result.layout.shape, plan.indices.dtype
    size = shape[plan.dim]
    line = [size if d == plan.dim else 1 for d in range(len(shape))]
    place = np.arange(size).astype(dtype).reshape(line)

    def write(result: Tensor, indices: Tensor, cold: Tensor, hot: Tensor) -> Tensor:
        found = place == indices._memory
        if dtype.kind == "i":
            found |= place - dtype.type(size) == indices._memory
        result._memory[...] = cold._memory
        np.copyto(result._memory, hot._memory, where=found)
        return result

    return write


def prepare_diagonals(plan: DiagonalsPlan) -> Run:
    """The function of the result, the value, and the others."""
    height, width = plan.result.layout.shape[-2:]
    number = np.arange(width) - np.arange(height)[:, None]
    filled = ((plan.begin <= number) & (number < plan.end)) == plan.inside

    def write(result: Tensor, value: Any, *others: Tensor) -> Tensor:
        result._memory[...] = others[0]._memory if others else 0
        np.copyto(result._memory, np.asarray(value, result.dtype), where=filled)
        return result

    return write


def prepare_sequence(plan: SequencePlan) -> Run:
    """The function of the result, the first number and the step."""
    floats, layout = plan.result.dtype.kind == "f", plan.result.layout

    def write(result: Tensor, start: Any, delta: Any) -> Tensor:
        number: Any = np.arange(layout.size, dtype=np.float64 if floats else np.uint64)
        # Unsigned integers of 64 bits wrap; their low bits are those of any width.
        step, first = (delta, start) if floats else (np.uint64(delta), np.uint64(start))
        with np.errstate(all="ignore"):
            number *= step
            number += first
            np.copyto(result._memory, number.reshape(layout.shape), "unsafe")
        return result

    return write
