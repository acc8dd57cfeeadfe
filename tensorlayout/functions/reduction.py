"""Calls of reductions and scans: check the arguments, find the plan, run it."""

from __future__ import annotations

from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.errors import REFUSALS
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.transfers import copied
from tensorlayout.plan import Reduce, Scan
from tensorlayout.plan.run import prepared
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis


def _in_dtype(name: str, x: Tensor, dtype: Any) -> tuple[Tensor, dtypes.DType | None]:
    """The dtype asked for, and `x`, in that dtype if it is of another kind."""
    if dtype is None:
        return x, None
    kind = arguments.numeric(dtype)
    if dtypes.kind_of(kind) != dtypes.kind_of(dtypes.promote(x.dtype, kind)):
        x = copied(name, x, None, kind)
    return x, kind


def reduced(
    operation: Reduce, x: Tensor, axis: Axis, keepdims: bool, dtype: Any = None, *static: Any
) -> Tensor:
    """Carry out a reduction."""
    if (
        (type(x) is Tensor and dtype is None and type(keepdims) is bool)
        and (axis is None or type(axis) is int)
        and not dispatch.watched
    ):  # nothing needs a look
        try:
            return prepared(operation, x.spec, axis, keepdims, None, *static)(x)
        except REFUSALS as error:
            raise dispatch.refused(operation, error) from None
    x, kind = _in_dtype(operation.name, arguments.tensor(x), dtype)
    if not operation.single:
        axis = arguments.integers(axis)
    elif axis is not None:
        axis = arguments.integer("axis", axis)
    kept = arguments.truth("keepdims", keepdims)
    return dispatch.call(operation, (x.spec, axis, kept, kind, *static), (x,))


def scanned(
    operation: Scan, x: Tensor, axis: SupportsIndex | None, dtype: Any, include_initial: bool
) -> Tensor:
    """Carry out a scan."""
    if type(x) is Tensor and type(axis) is int and dtype is None and type(include_initial) is bool:
        key = (x.spec, axis, include_initial, include_initial, None)
        return dispatch.call(operation, key, (x,))
    x = arguments.tensor(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis must be given for a tensor of rank {x.ndim}")
        axis = 0
    dim = arguments.integer("axis", axis)
    x, kind = _in_dtype(operation.name, x, dtype)
    initial = arguments.truth("include_initial", include_initial)
    return dispatch.call(operation, (x.spec, dim, initial, initial, kind), (x,))
