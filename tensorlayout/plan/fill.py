"""Plans of new tensors whose values depend on scalars and positions only, and of diagonals."""

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

# What a creation writes: nothing, one value, the elements of an array; all else as it is called.
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
    """One creation function; `values`: the backends' name of the function that writes them."""

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
    """A copy with zeros on one side of a diagonal of each matrix."""

    kind = "triangle"

    name: Literal["tril", "triu"]
    source: TensorSpec
    result: TensorSpec


@plan_dataclass
class Triangle:
    """A triangle of matrices, in the input's form.

    The diagonal's number is an argument of calls.
    """

    name: Literal["tril", "triu"]

    def plan(self, source: TensorSpec) -> TrianglePlan:
        shape = source.layout.shape
        if len(shape) < 2:
            raise ValueError(f"needs a rank of at least 2, got shape {shape}")
        layout = adapt_layout_to_dtype(vote_result_layout(shape, [source.layout]), source.dtype)
        return TrianglePlan(self.name, source, TensorSpec(source.dtype, layout, source.device))


@plan_dataclass
class OneHotPlan(DestinationPlan):
    """Lines along a dimension with the hot value at an index and the cold value elsewhere.

    Both values are tensors of rank 0. Indices have 32 or 64 bits and size 1 along the lines;
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

    Diagonals are counted to the right from the main one. The remaining elements are those of the
    tensor `others`, or 0. Operands of a call: the result, the others, if any, and the value.
    """

    kind = "diagonals"

    others: TensorSpec | None
    begin: int
    end: int
    inside: bool
