"""Creation on the CPU."""

from __future__ import annotations

from typing import Any

from tensorlayout.cpu import tiled
from tensorlayout.cpu.engine.memory import new_tensor, quietly
from tensorlayout.plan.base import Run
from tensorlayout.plan.creating import CreatePlan
from tensorlayout.tensor import Tensor


def prepare(plan: CreatePlan) -> Run:
    """Allocate in the planned layout and let the operation write the elements."""
    if plan.result.layout.is_tiled:
        return tiled.prepare_create(plan)
    write, spec = plan.operation.numpy, plan.result

    def create(*values: Any) -> Tensor:
        result = new_tensor(spec)
        quietly(write, result._memory, *values)
        return result

    return create
