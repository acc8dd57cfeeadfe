"""Statistical functions: one line of the table of reductions each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlayout import dtypes
from tensorlayout.cpu import along, reducing
from tensorlayout.dtypes import as_dtype
from tensorlayout.functions import calling
from tensorlayout.plan.along import Along
from tensorlayout.plan.moving import Copy
from tensorlayout.plan.reducing import Reduce
from tensorlayout.tensor import Tensor

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]

_CONVERSIONS = {name: Copy(name) for name in ("sum", "prod")}  # by `dtype`, before adding up
Axis = int | Sequence[int] | None

_SUM = Reduce("sum", "any", reducing.add, "sum")
_PROD = Reduce("prod", "any", reducing.multiply, "sum")
_MIN = Reduce("min", "real numeric", reducing.minimum, identity=False)
_MAX = Reduce("max", "real numeric", reducing.maximum, identity=False)
_MEAN = Reduce("mean", "floating-point", reducing.mean)
_VAR = Reduce("var", "real floating", reducing.variance)
_STD = Reduce("std", "real floating", reducing.deviation)


def reduced(
    operation: Reduce, x: Tensor, axis: Axis, keepdims: bool, dtype: Any = None, *static: Any
) -> Tensor:
    """Carry out a reduction."""
    x = calling.tensor(operation.name, x)
    kind = None if dtype is None else as_dtype(dtype)
    if kind is not None and dtypes.kind_of(kind) != dtypes.kind_of(dtypes.promote(x.dtype, kind)):
        x = calling.call(_CONVERSIONS[operation.name], (x._spec, None, kind), (x,))
    key = (x._spec, calling.integers(axis), bool(keepdims), kind, *static)
    return calling.call(operation, key, (x,))


def sum(x: Tensor, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements along `axis` (all by default); 0 of none.

    dtype: that of `x`; integers and bool become int64, unsigned ones uint64; or the one asked for,
    to which elements of another kind are converted first, as `astype` does. Floats of 16 and 32
    bits are added up in float64 and rounded once. Layout: packed in the input's order.

    >>> import tensorlayout as tl
    >>> tl.sum(tl.ones((2, 3)), axis=0)
    Tensor([2., 2., 2.], dtype=float64, device='cpu')
    """
    return reduced(_SUM, x, axis, keepdims, dtype)


def prod(x: Tensor, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product of the elements along `axis`; 1 of none. dtype and layout as in `sum`."""
    return reduced(_PROD, x, axis, keepdims, dtype)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The least element along `axis`; NaN if there is one. ValueError of none."""
    return reduced(_MIN, x, axis, keepdims)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The greatest element along `axis`; NaN if there is one. ValueError of none."""
    return reduced(_MAX, x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The arithmetic mean along `axis`; NaN of none. Layout: packed in the input's order."""
    return reduced(_MEAN, x, axis, keepdims)


def var(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance along `axis`, the count in its divisor reduced by `correction`."""
    return reduced(_VAR, x, axis, keepdims, None, float(correction))


def std(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation along `axis`, the count in its divisor reduced by `correction`."""
    return reduced(_STD, x, axis, keepdims, None, float(correction))


_CUMULATIVE_SUM = Along("cumulative_sum", "numeric", along.cumulative_sum, "sum")
_CUMULATIVE_PROD = Along("cumulative_prod", "numeric", along.cumulative_prod, "sum")


def _scanned(
    operation: Along, x: Tensor, axis: int | None, dtype: Any, include_initial: bool
) -> Tensor:
    x = calling.tensor(operation.name, x)
    if axis is None:
        if x.ndim != 1:
            msg = f"{operation.name}: axis must be given for a tensor of rank {x.ndim}"
            raise ValueError(msg)
        axis = 0
    kind = None if dtype is None else as_dtype(dtype)
    initial = bool(include_initial)
    return calling.call(operation, (x._spec, int(axis), int(initial), kind, initial), (x,))


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The running sums along `axis` (which may be left out at rank 1).

    `include_initial`: a 0 comes first, and lines are one element longer. dtype as in `sum`.
    Layout: packed in the input's order.

    >>> import tensorlayout as tl
    >>> tl.cumulative_sum(tl.asarray([1, 2, 3]), include_initial=True)
    Tensor([0, 1, 3, 6], dtype=int64, device='cpu')
    """
    return _scanned(_CUMULATIVE_SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The running products along `axis`; with `include_initial`, a 1 comes first."""
    return _scanned(_CUMULATIVE_PROD, x, axis, dtype, include_initial)
