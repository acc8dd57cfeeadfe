"""Plans of sorted lines: their elements, the positions that sort them, and the first of both."""

from __future__ import annotations

from typing import Literal

from tensorlayout import dtypes
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, planned
from tensorlayout.plan.rules import check_category, normalized_dims, one_device
from tensorlayout.tensor import TensorSpec

Gives = Literal["values", "positions"]


@planned
class SortPlan(Plan):
    """Each line along `dim` sorted: its elements, or the positions that sort it, as `gives` says.

    `stable`: whether equal elements stay in their order; of `values` that are equal and not the
    same, they always do.
    """

    kind = "sort"
    any_layout = True

    name: str
    gives: Gives
    source: TensorSpec
    result: TensorSpec
    dim: int
    descending: bool
    stable: bool
    given: bool = False


@planned
class Sort:
    """A sort along one dimension; packed in the input's order."""

    name: str
    gives: Gives

    def plan(self, source: TensorSpec, axis: int, descending: bool, stable: bool) -> SortPlan:
        """The plan."""
        layout = source.layout
        check_category("real numeric", source.dtype)
        (dim,) = normalized_dims(axis, layout.ndim)
        placed = Layout.packed(layout.shape, layout.minor_to_major)
        dtype = source.dtype if self.gives == "values" else dtypes.int64
        result = TensorSpec(dtype, placed, source.device)
        return SortPlan(self.name, self.gives, source, result, dim, descending, stable)


@planned
class TopKPlan(Plan):
    """The first elements of each sorted line, and their positions, written where two tensors are.

    `result` is the spec of what the elements are written to: its size along `dim` says how many
    they are. `positions`, of the same shape, gets their positions; `down`: the greatest come first.
    """

    kind = "top_k"
    given = True
    destinations = 2

    name: str
    source: TensorSpec
    result: TensorSpec
    positions: TensorSpec
    dim: int
    down: bool


@planned
class TopK:
    """A call with two results and the tensor, which share no memory; equal elements stay in order.

    Real numeric dtypes.
    """

    name: str

    def plan(
        self, result: TensorSpec, positions: TensorSpec, source: TensorSpec, dim: int, down: bool
    ) -> TopKPlan:
        """The plan; `down`: the greatest first. Results have equal shapes, no longer lines."""
        one_device([result, positions, source])
        shape, lines = result.layout.shape, source.layout.shape
        assert positions.layout.shape == shape
        assert shape == (*lines[:dim], shape[dim], *lines[dim + 1 :])
        assert shape[dim] <= lines[dim]
        assert result.dtype == source.dtype
        return TopKPlan(self.name, source, result, positions, dim, down)
