"""Plans of sorting: sorted elements, the positions that sort them, and top-k."""

from __future__ import annotations

from typing import Literal

from tensorlayout import dtypes
from tensorlayout.layout import Layout
from tensorlayout.plan.base import DestinationPlan, Plan, plan_dataclass
from tensorlayout.plan.rules import check_category, normalize_dims
from tensorlayout.tensor import TensorSpec

SortOutput = Literal["values", "positions"]


@plan_dataclass
class SortPlan(Plan):
    """Sorted lines along `dim`: their elements, or the positions that sort them (`output`).

    `stable`: equal elements keep their order. Equal values with different bits, such as 0.0 and
    -0.0, always keep it.
    """

    kind = "sort"

    name: str
    output: SortOutput
    source: TensorSpec
    result: TensorSpec
    dim: int
    descending: bool
    stable: bool
    destinations: int = 0


@plan_dataclass
class Sort:
    """A sort along one dimension; the result is packed in the input's order."""

    name: str
    output: SortOutput

    def plan(self, source: TensorSpec, axis: int, descending: bool, stable: bool) -> SortPlan:
        layout = source.layout
        check_category("real numeric", source.dtype)
        (dim,) = normalize_dims(axis, layout.ndim)
        result_layout = Layout._packed(layout.shape, layout.minor_to_major)
        # The standard: argsort returns the default index type.
        dtype = source.dtype if self.output == "values" else dtypes.int64
        result = TensorSpec(dtype, result_layout, source.device)
        return SortPlan(self.name, self.output, source, result, dim, descending, stable)


@plan_dataclass
class TopKPlan(DestinationPlan):
    """The leading elements of each sorted line, and their positions; equal ones keep their order.

    Operands of a call: two results of one shape, whose size along `dim` is the number of leading
    elements, and the tensor, of a real numeric dtype. They share no memory. `descending`: the
    greatest elements lead.
    """

    kind = "top_k"
    destinations = 2

    positions: TensorSpec
    source: TensorSpec
    dim: int
    descending: bool
