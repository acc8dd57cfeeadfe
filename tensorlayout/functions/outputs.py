"""Calls of reductions and scans, and results in `out` as in NumPy."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from tensorlayout import dtypes
from tensorlayout.errors import REFUSALS, call_with_error_name
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.transfers import copy_tensor, move_to_device
from tensorlayout.plan import Elementwise, Reduce, Scan, compile_call
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis

# The condition influences the layout only if neither choice has the result's shape.
WHERE = Elementwise("where", "any or narrow", abstain=(0,))


def _convert_to_requested_kind(
    function_name: str, x: Tensor, dtype: Any
) -> tuple[Tensor, dtypes.DType | None]:
    """Return `x`, cast to `dtype` if that is of another kind, and the requested dtype."""
    if dtype is None:
        return x, None
    kind = arguments.as_dtype_in_category("numeric", dtype)
    # Elements are converted first if their kind changes, as in a sum of floats with dtype int64.
    # Within a kind, the reduction accumulates in the wider dtype without a converted copy.
    if dtypes.standard_kind(kind) != dtypes.standard_kind(dtypes.promote_dtypes(x.dtype, kind)):
        x = copy_tensor(function_name, x, None, kind)
    return x, kind


def call_reduction(
    operation: Reduce, x: Tensor, axis: Axis, keepdims: bool, dtype: Any = None, *static: Any
) -> Tensor:
    """Run a reduction."""
    # The fast path, if there is nothing to convert.
    if (
        (type(x) is Tensor and dtype is None and type(keepdims) is bool)
        and (axis is None or type(axis) is int)
        and not dispatch.watched
    ):
        try:
            return compile_call(operation, x.spec, axis, keepdims, None, *static)(x)
        except REFUSALS as error:
            raise dispatch.named_error(operation, error) from None
    x, kind = _convert_to_requested_kind(operation.name, arguments.as_tensor(x), dtype)
    if not operation.single:
        axis = arguments.as_integers(axis)
    elif axis is not None:
        axis = arguments.as_integer("axis", axis)
    keeps_dims = arguments.check_bool("keepdims", keepdims)
    return dispatch.call(operation, (x.spec, axis, keeps_dims, kind, *static), (x,))


def call_scan(
    operation: Scan, x: Tensor, axis: SupportsIndex | None, dtype: Any, include_initial: bool
) -> Tensor:
    """Run a scan."""
    if (type(x) is Tensor and x.spec.dtype.kind != "b" and dtype is None) and (
        type(axis) is int and type(include_initial) is bool
    ):
        # With an initial value the result is one longer, so both arguments of the plan are the same
        # flag here.
        key = (x.spec, axis, include_initial, include_initial, None)
        return dispatch.call(operation, key, (x,))
    x = arguments.as_tensor(x)
    if x.dtype == dtypes.bool:
        x = astype(x, dtypes.int64)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis must be given for a tensor of rank {x.ndim}")
        axis = 0
    dim = arguments.as_integer("axis", axis)
    x, kind = _convert_to_requested_kind(operation.name, x, dtype)
    initial = arguments.check_bool("include_initial", include_initial)
    return dispatch.call(operation, (x.spec, dim, initial, initial, kind), (x,))


def accumulation_dtype(x: Tensor, out: Any, dtype: Any) -> Any:
    """Return the dtype to accumulate in: the requested one, or the wider one of `x` and `out`."""
    if dtype is not None or not (isinstance(out, Tensor) and isinstance(x, Tensor)):
        return dtype
    kind = dtypes.promote_dtypes(x.dtype, out.dtype)
    # A sum of bools in an `out` of bool would be a bool; None stands for the function's own
    # default.
    return None if kind == dtypes.bool else kind


def store_in_out(function_name: str, result: Tensor, out: Any) -> Tensor:
    """Write `result` into `out` and return `out`; return `result` if `out` is None."""
    if out is None:
        return result
    destination = arguments.as_tensor(out, "out")
    if destination.shape != result.shape:
        raise ValueError(
            f"out must have the shape of the result, {result.shape}, got {destination.shape}"
        )
    # The rule that NumPy's ufuncs apply to their `out`.
    check_cast(result.dtype, destination.dtype, "same_kind")
    _assign_result(function_name, result, destination)
    return out


def store_in_out_where(
    function_name: str, result: Tensor, out: Any, casting: str, where: Any
) -> Tensor:
    """Write `result` into `out` where `where` is true; a new `out` is 0 elsewhere."""
    destination = None if out is None else arguments.as_tensor(out, "out")
    kind = result.dtype if destination is None else destination.dtype
    check_cast(result.dtype, kind, casting)
    if where is not True:
        condition = where if type(where) is Tensor else np.asarray(where)
        mask = arguments.as_tensor(condition, "where")
        if mask.dtype != dtypes.bool:
            raise TypeError(f"where must be of bool, got {mask.dtype}")
        unselected = (False if kind == dtypes.bool else 0) if destination is None else destination
        result = call_with_error_name(
            function_name,
            dispatch.call_elementwise,
            WHERE,
            move_to_device(mask, result.device),
            astype(result, kind, copy=False),
            unselected,
        )
    if destination is None:
        return result
    # The result may be smaller than `out`, and broadcast, but must not make `out` larger.
    if not _broadcasts_to(result.shape, destination.shape):
        rule = f"the result of shape {result.shape} could not be broadcast to the shape of out"
        raise ValueError(f"{rule}, {destination.shape}")
    _assign_result(function_name, result, destination)
    return out


def _broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    pairs = zip(shape[::-1], target[::-1], strict=False)
    return len(shape) <= len(target) and all(n in (1, m) for n, m in pairs)


def check_cast(source: dtypes.DType, target: dtypes.DType, casting: str) -> None:
    """Raise TypeError unless NumPy's rule `casting` allows a cast of `source` to `target`."""
    if not arguments.can_cast(source, target, casting):
        rule = f"cannot cast the result from {source} to {target}, the dtype of out, by the rule"
        raise TypeError(f"{rule} {casting!r}; pass an out of {source}, or use astype() first")


def _assign_result(function_name: str, result: Tensor, out: Tensor) -> None:
    arguments.check_writable(out)
    dispatch.call(dispatch.assignment(function_name), (out.spec, result.spec), (out, result))
