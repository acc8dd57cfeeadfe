"""Creation on CUDA. What no kernel creates yet is created on the host and moved, see `missing`."""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda.memory import new_tensor, write
from tensorlayout.cuda.missing import ON_HOST
from tensorlayout.devices import CPU
from tensorlayout.layout import PaddingValue
from tensorlayout.plan import Run, backend
from tensorlayout.plan.creating import CreatePlan
from tensorlayout.tensor import Spec, Tensor

# Nothing is written, unless it is padding.
_EMPTY = ("empty", "empty_like")


def prepare(plan: CreatePlan) -> Run:
    """The function of the operation's values that makes the tensor."""
    name, layout = plan.operation.name, plan.result.layout
    unwritten = not layout.is_padded or layout.padding_value is PaddingValue.UNSPECIFIED
    if name in _EMPTY and unwritten:
        spec = plan.result
        return lambda *values: new_tensor(spec)
    assert name in ON_HOST or name in _EMPTY, name
    return _on_host(plan)


def _on_host(plan: CreatePlan) -> Run:
    spec, host = plan.result, backend(CPU)
    create = host.prepare(CreatePlan(plan.operation, Spec(spec.dtype, spec.layout, CPU)))

    def run(*values: Any) -> Tensor:
        result = new_tensor(spec)
        write(result, host.read(create(*values)))
        return result

    return run
