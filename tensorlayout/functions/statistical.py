"""Statistical functions: one line of the table of reductions each."""

from __future__ import annotations

import functools
from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.dtypes import as_dtype
from tensorlayout.functions import arguments, dispatch
from tensorlayout.plan.copy import Copy
from tensorlayout.plan.reduce import Reduce
from tensorlayout.plan.run import prepared
from tensorlayout.plan.scan import Scan
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis, DTypeLike, Real
from tensorlayout.words import REFUSALS

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]

# By `dtype`, before adding up, in the name of a function.
_conversion = functools.cache(Copy)


_SUM = Reduce("sum", "any", "sum", "sum")
_PROD = Reduce("prod", "any", "prod", "sum")
_MIN = Reduce("min", "real numeric", "min", identity=False)
_MAX = Reduce("max", "real numeric", "max", identity=False)
_MEAN = Reduce("mean", "floating-point", "mean")
_MEAN_IN = Reduce("mean", "any", "mean")  # a floating dtype that was asked for
_VAR = Reduce("var", "real floating", "var")
_STD = Reduce("std", "real floating", "std")


def _in_dtype(name: str, x: Tensor, dtype: Any) -> tuple[Tensor, dtypes.DType | None]:
    """The dtype asked for, and `x`, in that dtype if it is of another kind."""
    if dtype is None:
        return x, None
    kind = as_dtype(dtype, f"{name}: dtype")
    if not dtypes.in_category(kind, "numeric"):
        msg = f"{name}: dtype must be numeric, got {kind}"
        raise TypeError(msg)
    if dtypes.kind_of(kind) != dtypes.kind_of(dtypes.promote(x.dtype, kind)):
        x = dispatch.call(_conversion(name), (x._spec, None, kind), (x,))
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
            return prepared(operation, x._spec, axis, keepdims, None, *static)(x)
        except REFUSALS as error:
            raise dispatch.refused(operation, error) from None
    name = operation.name
    x, kind = _in_dtype(name, arguments.tensor(name, x), dtype)
    if not operation.single:
        axis = arguments.integers(axis, name)
    elif axis is not None:
        axis = arguments.integer(name, "axis", axis)
    kept = arguments.truth(name, "keepdims", keepdims)
    return dispatch.call(operation, (x._spec, axis, kept, kind, *static), (x,))


def sum(
    x: Tensor, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The sum of the elements along `axis` (all by default); 0 of none.

    `keepdims`: the axes stay, of size 1. dtype: that of `x`; integers and bool become int64,
    unsigned ones uint64; or the one asked for, to which elements of another kind are converted
    first, as `astype` does. Layout: packed in the input's order.

    Accuracy does not depend on the length, the axis or the layout. Of 16- and 32-bit floats, short
    runs are added up in float32 and all else in float64: 10**8 tenths, or numbers of any signs, are
    within 8.5 * 2**-24 of the sum of magnitudes, before the one rounding to the result's dtype.
    Float64 is added up in runs too.

    TypeError for an axis or a dtype that is none; ValueError (AxisError, which is an IndexError
    too) for an axis outside the rank, or named twice.

    >>> import tensorlayout as tl
    >>> tl.sum(tl.ones((2, 3)), axis=0)
    Tensor([2., 2., 2.], dtype=float64, device='cpu')
    """
    return reduced(_SUM, x, axis, keepdims, dtype)


def prod(
    x: Tensor, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The product of the elements along `axis` (all by default); 1 of none.

    dtypes: numeric and bool. Result: that of `x` (integers and bool become int64, unsigned ones
    uint64), or the `dtype` asked for. `keepdims`: the axes stay, of size 1. Layout: packed in the
    input's order. TypeError for an axis or a dtype that is none; ValueError (AxisError) for an axis
    outside the rank, or named twice.

    Floats are multiplied in float64, complex numbers in complex128, and rounded once. A product of
    the first elements that leaves float64's range stays 0 or infinite on the CPU; on a CUDA device
    later factors may bring it back.

    >>> import tensorlayout as tl
    >>> tl.prod(tl.asarray([[1, 2], [3, 4]]), axis=1)
    Tensor([ 2, 12], dtype=int64, device='cpu')
    """
    return reduced(_PROD, x, axis, keepdims, dtype)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The least element along `axis`; NaN if there is one. -0 is less than +0, in any order.

    dtypes: real numeric, kept. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. Layout: packed in the input's order. TypeError for other dtypes; ValueError of no
    elements, and (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.min(tl.asarray([[1, 5], [4, 2]]), axis=0, keepdims=True)
    Tensor([[1, 2]], dtype=int64, device='cpu')
    """
    return reduced(_MIN, x, axis, keepdims)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The greatest element along `axis`; NaN if there is one. -0 is less than +0, in any order.

    dtypes: real numeric, kept. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. Layout: packed in the input's order. TypeError for other dtypes; ValueError of no
    elements, and (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.max(tl.asarray([[1.0, 5.0], [tl.nan, 2.0]]), axis=1)
    Tensor([ 5., nan], dtype=float64, device='cpu')
    """
    return reduced(_MAX, x, axis, keepdims)


def mean(
    x: Tensor, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The arithmetic mean along `axis`; NaN of none. Layout: packed in the input's order.

    dtype: that of `x`, which must be floating; or the floating one asked for, of any numbers and
    bool. These are added up as by `sum`, without a copy in that dtype. `axis`: one, several, or
    None for all; `keepdims`: these stay, of size 1. TypeError for other dtypes, ValueError
    (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.mean(tl.asarray([1, 2]), dtype=tl.float64)
    Tensor(1.5, dtype=float64, device='cpu')
    """
    if dtype is None:
        return reduced(_MEAN, x, axis, keepdims)
    kind = as_dtype(dtype, "mean: dtype")
    if not dtypes.in_category(kind, "floating-point"):
        msg = f"mean: dtype must be floating-point, got {kind}"
        raise TypeError(msg)
    return reduced(_MEAN_IN, x, axis, keepdims, kind)


def var(
    x: Tensor, /, *, axis: Axis = None, correction: Real = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance along `axis`, the count in its divisor reduced by `correction`.

    NaN where the divisor is 0 or negative. Two passes, accurate as `sum`, also of numbers that are
    far from 0 and close to each other. dtypes: real floating. Layout: packed in the input's order.
    `axis`: one, several, or None for all; `keepdims`: these stay, of size 1. TypeError for other
    dtypes, ValueError (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.var(tl.asarray([1.0, 2.0, 6.0]), correction=1)
    Tensor(7.0, dtype=float64, device='cpu')
    """
    return reduced(_VAR, x, axis, keepdims, None, _correction("var", correction))


def std(
    x: Tensor, /, *, axis: Axis = None, correction: Real = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation along `axis`: the square root of `var`, rounded once.

    dtypes: real floating, kept. `axis`: one, several, or None for all; `keepdims`: these stay, of
    size 1. `correction`: what the count in the divisor is reduced by; NaN where nothing is left of
    it. Layout: packed in the input's order. TypeError for other dtypes, ValueError (AxisError) for
    an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.std(tl.asarray([[1.0, 3.0], [5.0, 5.0]]), axis=1)
    Tensor([1., 0.], dtype=float64, device='cpu')
    """
    return reduced(_STD, x, axis, keepdims, None, _correction("std", correction))


def _correction(name: str, given: Any) -> float:
    return arguments.as_float(name, arguments.real(name, "correction", given))


_CUMULATIVE_SUM = Scan("cumulative_sum", "numeric", "sum", "sum")
_CUMULATIVE_PROD = Scan("cumulative_prod", "numeric", "prod", "sum")


def scanned(
    operation: Scan, x: Tensor, axis: SupportsIndex | None, dtype: Any, include_initial: bool
) -> Tensor:
    """Carry out a scan."""
    if type(x) is Tensor and type(axis) is int and dtype is None and type(include_initial) is bool:
        key = (x._spec, axis, include_initial, include_initial, None)
        return dispatch.call(operation, key, (x,))
    name = operation.name
    x = arguments.tensor(name, x)
    if axis is None:
        if x.ndim != 1:
            msg = f"{name}: axis must be given for a tensor of rank {x.ndim}"
            raise ValueError(msg)
        axis = 0
    dim = arguments.integer(name, "axis", axis)
    x, kind = _in_dtype(name, x, dtype)
    initial = arguments.truth(name, "include_initial", include_initial)
    return dispatch.call(operation, (x._spec, dim, initial, initial, kind), (x,))


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The running sums along `axis` (which may be left out at rank 1).

    `include_initial`: a 0 comes first, and lines are one element longer. dtypes: numeric. Result:
    that of `x` (integers become int64, unsigned ones uint64), or the `dtype` asked for.
    Floats of 16 and 32 bits are added up in float64, each sum rounded once. Layout: packed in the
    input's order. TypeError for an axis or a dtype that is none; ValueError for rank 0, and
    (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.cumulative_sum(tl.asarray([1, 2, 3]), include_initial=True)
    Tensor([0, 1, 3, 6], dtype=int64, device='cpu')
    """
    return scanned(_CUMULATIVE_SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The running products along `axis` (which may be left out at rank 1).

    `include_initial`: a 1 comes first, and lines are one element longer. dtypes: numeric. Result:
    that of `x` (integers become int64, unsigned ones uint64), or the `dtype` asked for.
    Multiplied and rounded as in `prod`, also where a product leaves float64's range. Layout: packed
    in the input's order. TypeError for an axis or a dtype that is none; ValueError for rank 0, and
    (AxisError) for an axis outside the rank.

    >>> import tensorlayout as tl
    >>> tl.cumulative_prod(tl.asarray([2, 3, 4]))
    Tensor([ 2,  6, 24], dtype=int64, device='cpu')
    """
    return scanned(_CUMULATIVE_PROD, x, axis, dtype, include_initial)
