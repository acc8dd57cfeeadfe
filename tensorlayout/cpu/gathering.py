"""Reads and writes at positions that are data: integer arrays and boolean masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.memory import quietly, tensor_over
from tensorlayout.plan import Run
from tensorlayout.plan.gathering import GatherPlan, ScatterPlan
from tensorlayout.tensor import Tensor


def prepare_gather(plan: GatherPlan) -> Run:
    """Read; NumPy checks every position before anything is read."""

    def gather(x: Tensor, key: tuple[Any, ...]) -> Tensor:
        found = tensor_over(np.array(x._memory[_arrays(key)], order="C"))
        assert found is not None
        return found

    return gather


def prepare_scatter(plan: ScatterPlan) -> Run:
    """Write, as if the value had been copied first; NumPy checks every position before."""

    def scatter(x: Tensor, key: tuple[Any, ...], value: Any) -> Tensor:
        source = value._memory if isinstance(value, Tensor) else np.asarray(value, x.dtype)
        if np.may_share_memory(source, x._memory):
            source = source.copy()
        if source.dtype != x.dtype:
            source = quietly(source.astype, x.dtype)
        x._memory[_arrays(key)] = source
        return x

    return scatter


def _arrays(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(item._memory if isinstance(item, Tensor) else item for item in key)
