"""Plans of tensors full of values that follow from numbers, or from where an element is."""

from __future__ import annotations

from typing import Any, Literal

from tensorlayout.devices import as_device
from tensorlayout.dtypes import as_dtype
from tensorlayout.plan.base import Plan, WrittenPlan, planned
from tensorlayout.plan.events import Kind
from tensorlayout.plan.rules import LayoutSpec, checked_padding, in_dtype, layout_for, voted_layout
from tensorlayout.tensor import TensorSpec

# What a creation writes: nothing, one value, the elements of an array; all else as it is called.
Values = Literal["nothing", "value", "array", "arange", "eye", "frequencies", "linspace"]


@planned
class CreatePlan(Plan):
    """A new tensor whose values are the call's arguments."""

    kind = "create"

    operation: Create
    result: TensorSpec
    destinations: int = 0

    @property
    def record(self) -> Kind:
        return "copy" if self.operation.values == "array" else "compute"


@planned
class Create:
    """One creation function; `values`: under which name backends have what writes them."""

    name: str
    values: Values

    def plan(
        self, shape: tuple[int, ...], dtype: Any, layout: LayoutSpec | None, device: Any
    ) -> CreatePlan:
        kind = as_dtype(dtype, "dtype")
        where = as_device(device, "device")
        placed = checked_padding(layout_for(shape, layout), kind)
        return CreatePlan(self, TensorSpec(kind, placed, where))


@planned
class TrianglePlan(Plan):
    """A new tensor: the elements on one side of a diagonal of each matrix, zeros on the other."""

    kind = "triangle"

    name: Literal["tril", "triu"]
    source: TensorSpec
    result: TensorSpec


@planned
class Triangle:
    """A triangle of matrices, in the form of the input; calls have the diagonal's number, too."""

    name: Literal["tril", "triu"]

    def plan(self, source: TensorSpec) -> TrianglePlan:
        shape = source.layout.shape
        if len(shape) < 2:
            raise ValueError(f"needs a rank of at least 2, got shape {shape}")
        layout = in_dtype(voted_layout(shape, [source.layout]), source.dtype)
        return TrianglePlan(self.name, source, TensorSpec(source.dtype, layout, source.device))


@planned
class OneHotPlan(WrittenPlan):
    """Lines along a dimension: the hot value where the indices say, else the cold one.

    Both values are tensors of rank 0. Indices have 32 or 64 bits, and size 1 along the lines;
    signed ones count from the end.
    """

    kind = "one_hot"

    indices: TensorSpec
    dim: int
    cold: TensorSpec
    hot: TensorSpec


@planned
class DiagonalsPlan(WrittenPlan):
    """Matrices with diagonals from `begin` up to `end` filled (`inside`), or all others.

    Diagonals are numbered from the main one, to the right. The rest is that of the tensor
    `others`, or 0; a call has the result, the others, if there are any, and the value.
    """

    kind = "diagonals"

    others: TensorSpec | None
    begin: int
    end: int
    inside: bool
