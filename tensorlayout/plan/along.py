"""Plans of operations along one dimension: sorts, scans, differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan
from tensorlayout.plan.rules import normalized_dims, result_dtype
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class AlongPlan(Plan):
    """Lines along `dim` become lines of the result, each on its own."""

    kind = "along"
    any_layout = True

    operation: Along
    source: TensorSpec
    result: TensorSpec
    dim: int
    static: tuple[Any, ...]
    given: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Along:
    """One line of the table of operations along a dimension; packed in the input's order.

    `result`: ``same``; ``sum``, where small integers become the default one of their sign; or a
    dtype. `numpy(plan)` gives the function of the backend that writes the result.
    """

    name: str
    dtypes: str
    numpy: Any
    result: str | DType = "same"

    def plan(
        self, source: TensorSpec, axis: int, longer: int, dtype: DType | None, *static: Any
    ) -> AlongPlan:
        """The plan; lines of the result are `longer` elements longer than those of the input."""
        layout = source.layout
        if not dtypes.in_category(source.dtype, self.dtypes):
            msg = f"{self.name}: only {self.dtypes} dtypes are allowed, got {source.dtype}"
            raise TypeError(msg)
        (dim,) = normalized_dims(self.name, axis, layout.ndim)
        shape = [n + longer if d == dim else n for d, n in enumerate(layout.shape)]
        placed = Layout.packed(shape, layout.minor_to_major)
        kind = result_dtype(self.result, source.dtype) if dtype is None else dtype
        return AlongPlan(self, source, TensorSpec(kind, placed, source.device), dim, static)
