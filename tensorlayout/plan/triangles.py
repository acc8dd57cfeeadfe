"""Plans of the triangles of matrices. Which diagonal is data: it is the call's second argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tensorlayout.plan.base import Plan
from tensorlayout.plan.rules import in_dtype, voted_layout
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class TrianglePlan(Plan):
    """A new tensor: the elements on one side of a diagonal of each matrix, zeros on the other."""

    kind = "triangle"
    keeps_form = True

    name: Literal["tril", "triu"]
    source: TensorSpec
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Triangle:
    """The lower or the upper triangle, in the form of the input."""

    name: Literal["tril", "triu"]

    def plan(self, source: TensorSpec) -> TrianglePlan:
        """The plan. ValueError for a rank below 2."""
        shape = source.layout.shape
        if len(shape) < 2:
            msg = f"{self.name}: needs a rank of at least 2, got shape {shape}"
            raise ValueError(msg)
        layout = in_dtype(voted_layout(shape, [source.layout]), source.dtype)
        return TrianglePlan(self.name, source, TensorSpec(source.dtype, layout, source.device))
