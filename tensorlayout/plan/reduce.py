"""Plans of reductions along some dimensions."""

from __future__ import annotations

from typing import Any, Literal, get_args

from tensorlayout.dtypes import DType
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.rules import (
    check_category,
    normalize_dims,
    packed_reduced_layout,
    result_dtype,
)
from tensorlayout.tensor import TensorSpec

# alpha and beta of the continuous methods of quantiles, except "linear": Hyndman and Fan, "Sample
# quantiles in statistical packages" (1996).
CONTINUOUS = {
    "hazen": (0.5, 0.5),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "weibull": (0.0, 0.0),
}
QuantileMethod = Literal[
    "hazen",
    "interpolated_inverted_cdf",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "weibull",
    "higher",
    "lower",
    "midpoint",
    "nearest",
]
QUANTILE_METHODS = get_args(QuantileMethod)
DISCRETE = ("higher", "lower", "nearest")  # methods that return elements, not averages


@plan_dataclass
class ReducePlan(Plan):
    """One value for all elements along `dims`."""

    kind = "reduce"

    operation: Reduce
    source: TensorSpec
    result: TensorSpec
    dims: tuple[int, ...]
    keepdims: bool
    static: tuple[Any, ...]


@plan_dataclass
class Reduce:
    """One row of the table of reductions.

    Attributes:
        function_name: key in the backends' tables.
        result: rule of `result_dtype`, which the `dtype` of a call overrides.
        identity: True if a reduction of no elements has a value.
        single: True if only one dimension, or all of them, can be reduced.

    """

    name: str
    dtypes: str
    function_name: str
    result: str | DType = "same"
    identity: bool = True
    single: bool = False

    def plan(
        self,
        source: TensorSpec,
        axis: int | tuple[int, ...] | None,
        keepdims: bool,
        dtype: DType | None,
        *static: Any,
    ) -> ReducePlan:
        check_category(self.dtypes, source.dtype)
        shape = source.layout.shape
        dims = normalize_dims(axis, len(shape))
        if not self.identity and any(shape[d] == 0 for d in dims):
            along = f"axis {dims[0]}" if len(dims) == 1 else f"axes {dims}"
            rule = f"needs at least one element along {along}, got shape {shape}"
            raise ValueError(f"{rule} (zero-size reduction without identity)")
        layout = packed_reduced_layout(source.layout, dims, keepdims)
        kind = result_dtype(self.result, source.dtype) if dtype is None else dtype
        result = TensorSpec(kind, layout, source.device)
        return ReducePlan(self, source, result, dims, keepdims, static)
