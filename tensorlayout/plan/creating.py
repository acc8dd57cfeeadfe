"""Plans of creation: a new tensor from nothing but numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorlayout.devices import as_device
from tensorlayout.dtypes import as_dtype
from tensorlayout.plan.base import Plan
from tensorlayout.plan.rules import LayoutSpec, checked_padding, layout_for
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class CreatePlan(Plan):
    """A new tensor whose values the operation writes; data are the operation's own arguments."""

    kind = "create"
    moves_elements = True

    operation: Create
    result: TensorSpec

    @property
    def record(self) -> str:
        """A `copy` of an array, or a `run`."""
        return "copy" if self.operation.copies else "run"


@dataclass(frozen=True, slots=True, eq=False)
class Create:
    """One creation primitive; `numpy(out, *values)` writes the elements of a NumPy array.

    `uniform`: whether it writes the same to all of them, whatever the shape of the array. `copies`:
    whether the values are those of an array, which a trace counts as read.
    """

    name: str
    numpy: Callable[..., Any]
    uniform: bool = False
    copies: bool = False

    def plan(
        self, shape: tuple[int, ...], dtype: Any, layout: LayoutSpec | None, device: Any
    ) -> CreatePlan:
        """The plan, from arguments as users give them."""
        kind = as_dtype(dtype, f"{self.name}: dtype")
        where = as_device(device, f"{self.name}: device")
        placed = checked_padding(self.name, layout_for(self.name, shape, layout), kind)
        return CreatePlan(self, TensorSpec(kind, placed, where))
