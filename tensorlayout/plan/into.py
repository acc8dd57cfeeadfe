"""Plans of calls that write their result into a tensor that is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorlayout.plan import Operation
from tensorlayout.plan.results import one_device
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class IntoPlan:
    """What a plan makes, written into a tensor of any layout."""

    plan: Any
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Into:
    """An operation that writes into its first operand, which shares no memory with the others.

    A sum or product so far may be written exactly where its operand is.
    """

    operation: Operation

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.operation.name

    def plan(self, destination: TensorSpec, *key: Any) -> IntoPlan:
        """The plan of the operation, and where it writes: same shape, same dtype."""
        plan = self.operation.plan(*key)
        one_device(self.name, [plan.result, destination])
        if plan.result.layout.shape != destination.layout.shape:
            shapes = f"{plan.result.layout.shape} does not fit {destination.layout.shape}"
            msg = f"{self.name}: a result of shape {shapes}"
            raise ValueError(msg)
        if plan.result.dtype != destination.dtype:
            came = f"{plan.result.dtype}, which is not the {destination.dtype}"
            msg = f"{self.name}: the result has dtype {came} of the destination"
            raise TypeError(msg)
        return IntoPlan(plan, destination)
