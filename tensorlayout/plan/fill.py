"""Plans of new tensors whose values follow from arguments or from an element's index."""

from __future__ import annotations

from typing import Any, Literal

from tensorlayout.devices import as_device
from tensorlayout.dtypes import as_dtype
from tensorlayout.plan.base import DestinationPlan, Plan, plan_dataclass
from tensorlayout.plan.events import Kind
from tensorlayout.plan.rules import (
    LayoutSpec,
    adapt_layout_to_dtype,
    check_padding_for_dtype,
    resolve_layout,
    vote_result_layout,
)
from tensorlayout.tensor import TensorSpec

# Values that a creation writes: nothing, one value, an array's elements, or a named pattern.
Values = Literal["nothing", "value", "array", "arange", "eye", "frequencies", "linspace"]


@plan_dataclass
class CreatePlan(Plan):
    """A new tensor with values computed from a call's arguments."""

    kind = "create"

    operation: Create
    result: TensorSpec
    destinations: int = 0

    @property
    def trace_kind(self) -> Kind:
        return "copy" if self.operation.values == "array" else "compute"


@plan_dataclass
class Create:
    """One creation function; `values`: name under which backends find the writer."""

    name: str
    values: Values

    def plan(
        self, shape: tuple[int, ...], dtype: Any, layout: LayoutSpec | None, device: Any
    ) -> CreatePlan:
        kind = as_dtype(dtype, "dtype")
        where = as_device(device, "device")
        result_layout = check_padding_for_dtype(resolve_layout(shape, layout), kind)
        return CreatePlan(self, TensorSpec(kind, result_layout, where))


@plan_dataclass
class TrianglePlan(Plan):
    """A new tensor: elements on one side of a diagonal of each matrix, zeros on the other side."""

    kind = "triangle"

    name: Literal["tril", "triu"]
    source: TensorSpec
    result: TensorSpec


@plan_dataclass
class Triangle:
    """A triangle of matrices, in the form of the input; calls also pass the diagonal's number."""

    name: Literal["tril", "triu"]

    def plan(self, source: TensorSpec) -> TrianglePlan:
        shape = source.layout.shape
        if len(shape) < 2:
            raise ValueError(f"needs a rank of at least 2, got shape {shape}")
        layout = adapt_layout_to_dtype(vote_result_layout(shape, [source.layout]), source.dtype)
        return TrianglePlan(self.name, source, TensorSpec(source.dtype, layout, source.device))


@plan_dataclass
class OneHotPlan(DestinationPlan):
    """Lines along a dimension: the hot value at the line's index, the cold one elsewhere.

    Both values are tensors of rank 0. Indices have 32 or 64 bits, and size 1 along the lines;
    negative ones count from the end.
    """

    kind = "one_hot"

    indices: TensorSpec
    dim: int
    cold: TensorSpec
    hot: TensorSpec


@plan_dataclass
class DiagonalsPlan(DestinationPlan):
    """Matrices with the diagonals from `begin` up to `end` filled (`inside`), or all others.

    Diagonals are numbered from the main one, to the right. Elements that are not filled come from
    the tensor `others`, or are 0. Operands of a call: the result, `others` if any, and the value.
    """

    kind = "diagonals"

    others: TensorSpec | None
    begin: int
    end: int
    inside: bool
