"""Plans of creation: a new tensor from nothing but numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorlayout.devices import Device
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.results import checked_padding
from tensorlayout.tensor import Spec


@dataclass(frozen=True, slots=True, eq=False)
class CreatePlan:
    """A new tensor whose values the operation writes; data are the operation's own arguments."""

    operation: Create
    result: Spec


@dataclass(frozen=True, slots=True, eq=False)
class Create:
    """One creation primitive; `numpy(out, *values)` writes the elements of a NumPy array."""

    name: str
    numpy: Callable[..., Any]

    def plan(self, dtype: DType, layout: Layout, device: Device) -> CreatePlan:
        """The plan; the padding must be one that the dtype can hold."""
        return CreatePlan(self, Spec(dtype, checked_padding(layout, dtype), device))
