"""Reductions with NumPy's signatures: sums, extremes, means, truths, positions, running totals.

Layout of results: packed in the input's order, or that of `out`. `where`: a tensor of bool, or
truths of any kind, that broadcasts to the shape of `a`; what is not selected counts as nothing.
`initial`: what a result begins with. `out`: a tensor of the result's shape, which gets the result
and is returned; its dtype may be any of the same kind, and if it is wider, it is worked in.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.functions import arguments, extra_statistical, searching, statistical, utility
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.creation import asarray, full
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import broadcast_to
from tensorlayout.numpy_style.operands import check_finite
from tensorlayout.numpy_style.outputs import given, kind_into
from tensorlayout.plan.rules import reduced_layout
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis
from tensorlayout.words import refuse

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def sum(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The sum of the elements along `axis`, and of `initial`; dtype and accuracy as `tl.sum`.

    >>> import tensorlayout as tl
    >>> tl.ones((2, 3)).sum(0)
    Tensor([2., 2., 2.], dtype=float64, device='cpu')
    """
    if where is not None:
        a = _selected("sum", a, where, 0)
    kind = dtype if out is None else kind_into(a, out, dtype)
    found = statistical.sum(a, axis=axis, dtype=kind, keepdims=keepdims)
    if initial is None and out is None:
        return found
    return given("sum", _begun("sum", ew.add, found, initial), out)


def prod(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The product of the elements along `axis`, and of `initial`; as `tl.prod`."""
    if where is not None:
        a = _selected("prod", a, where, 1)
    kind = dtype if out is None else kind_into(a, out, dtype)
    found = statistical.prod(a, axis=axis, dtype=kind, keepdims=keepdims)
    if initial is None and out is None:
        return found
    return given("prod", _begun("prod", ew.multiply, found, initial), out)


def max(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The greatest element along `axis`, at least `initial`; NaN if there is one. Real or bool.

    ValueError of none, and for `where`, without `initial`.
    """
    if initial is None and where is None and out is None and not _is_bool(a):
        return statistical.max(a, axis=axis, keepdims=keepdims)
    return _extreme("max", statistical.max, ew.maximum, a, axis, out, keepdims, initial, where)


def min(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The least element along `axis`, at most `initial`; NaN if there is one. Real or bool.

    ValueError of none, and for `where`, without `initial`.
    """
    if initial is None and where is None and out is None and not _is_bool(a):
        return statistical.min(a, axis=axis, keepdims=keepdims)
    return _extreme("min", statistical.min, ew.minimum, a, axis, out, keepdims, initial, where)


def _is_bool(a: Any) -> bool:
    return type(a) is Tensor and a._spec.dtype.kind == "b"


def _extreme(
    name: str,
    function: Callable[..., Tensor],
    of_two: Callable[[Any, Any], Tensor],
    a: Tensor,
    axis: Axis,
    out: Tensor | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Tensor:
    a = arguments.tensor(name, a)
    kind, where = a.dtype, None if where is True else where
    if kind == dtypes.bool:
        a = astype(a, dtypes.uint8)
        initial = None if initial is None else int(bool(initial))
    if initial is None:
        if where is not None:
            refuse(name, "where needs initial, which stands where nothing is selected")
        found = function(a, axis=axis, keepdims=keepdims)
    else:
        first = _scalar(name, initial, a)
        if where is not None:
            a = _selected(name, a, where, first)
        dims = arguments.dims(name, axis, a.ndim)
        if 0 in [a.shape[d] for d in dims]:
            kept = arguments.truth(name, "keepdims", keepdims)
            shape = reduced_layout(a._spec.layout, dims, kept).shape
            found = full(shape, first.item(), dtype=a.dtype, device=a.device)
        else:
            found = _extreme_of_two(of_two, function(a, axis=axis, keepdims=keepdims), first)
    return given(name, astype(found, kind, copy=False), out)


def _extreme_of_two(of_two: Callable[[Any, Any], Tensor], x: Tensor, first: Tensor) -> Tensor:
    """Return the extreme of both with -0 below +0, which elementwise functions do not promise."""
    found = of_two(x, first)
    if not dtypes.in_category(x.dtype, "real floating"):
        return found
    kept = (first, x) if of_two is ew.maximum else (x, first)
    return searching.where(ew.equal(x, first), searching.where(ew.signbit(x), *kept), found)


def any(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Tensor:
    """Whether some element along `axis` is nonzero (NaN counts as such); False of none."""
    if where is not None:
        a = _selected("any", a, where, 0)
    found = utility.any(a, axis=axis, keepdims=keepdims)
    return found if out is None else given("any", found, out)


def all(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Tensor:
    """Whether every element along `axis` is nonzero (NaN counts as such); True of none."""
    if where is not None:
        a = _selected("all", a, where, 1)
    found = utility.all(a, axis=axis, keepdims=keepdims)
    return found if out is None else given("all", found, out)


def argmax(
    a: Tensor, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """The position of the first greatest element along `axis`, or in index order; NaN wins."""
    found = searching.argmax(_ordered(a), axis=axis, keepdims=keepdims)
    return found if out is None else given("argmax", found, out)


def argmin(
    a: Tensor, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """The position of the first least element along `axis`, or in index order; NaN wins."""
    found = searching.argmin(_ordered(a), axis=axis, keepdims=keepdims)
    return found if out is None else given("argmin", found, out)


def _ordered(a: Any) -> Any:
    """Truths as numbers, which have an order."""
    return astype(a, dtypes.uint8) if _is_bool(a) else a


def mean(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Tensor:
    """The arithmetic mean along `axis`; NaN of none. Of integers and bool it is float64."""
    if where is None and dtype is None and type(a) is Tensor and _is_short(a):
        total = statistical.sum(a, axis=axis, keepdims=keepdims)
        return given("mean", ew.divide(total, a.size // builtins.max(total.size, 1)), out)
    a = _floating("mean", a, dtype, out)
    if where is None:
        found = statistical.mean(a, axis=axis, keepdims=keepdims)
    else:
        mask = _mask("mean", a, where)
        masked = _masked_mean(a, axis, keepdims, mask)
        found = astype(masked, a.dtype, copy=False)
    return found if out is None else given("mean", found, out)


def _is_short(a: Tensor) -> bool:
    """Whether integers are so short that their sums are exact, and need no copy in float64."""
    dtype = a._spec.dtype
    return dtype.kind in "biu" and dtype.itemsize < 8


def _masked_mean(a: Tensor, axis: Axis, keepdims: bool, mask: Tensor) -> Tensor:
    """The mean of what is selected, in float64 or complex128; NaN of none."""
    total = statistical.sum(
        searching.where(mask, a, 0), axis=axis, dtype=_wide(a), keepdims=keepdims
    )
    count = statistical.sum(mask, axis=axis, dtype=dtypes.float64, keepdims=keepdims)
    return ew.divide(total, count)


def _wide(a: Tensor) -> DType:
    return dtypes.complex128 if a.dtype.kind == "c" else dtypes.float64


def _floating(name: str, a: Any, dtype: Any, out: Any) -> Tensor:
    """`a` in the dtype of its mean: the one asked for, its own, `out`'s, float64."""
    x = a if type(a) is Tensor else arguments.tensor(name, a)
    if x._spec.dtype.kind not in "biuc" and isinstance(out, Tensor) and out.dtype.kind != "c":
        dtype = kind_into(x, out, dtype)
    if dtype is None and x._spec.dtype.kind not in "biu":
        return x
    return astype(x, extra_statistical.mean_dtype(name, x, dtype), copy=False)


def var(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Tensor | None = None,
    correction: float | None = None,
) -> Tensor:
    """The variance along `axis`, the count in its divisor reduced by `ddof`.

    `correction`: another name of `ddof`. `mean`: the mean along `axis`, with `keepdims`. Of
    integers and bool it is float64, of complex numbers that of their distance to the mean, which
    is real. A divisor below 0 counts as 0: then it is infinite, or NaN.
    """
    found = _variance("var", a, axis, dtype, ddof, keepdims, where, mean, correction, out)
    return found if out is None else given("var", found, out)


def std(
    a: Tensor,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Tensor | None = None,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation along `axis`: the square root of `var`, with its arguments."""
    found = _variance("std", a, axis, dtype, ddof, keepdims, where, mean, correction, out)
    return found if out is None else given("std", found, out)


def _variance(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: float | None,
    out: Any,
) -> Tensor:
    a = _floating(name, a, dtype, out)
    less = ddof if correction is None else arguments.real(name, "correction", correction)
    if type(less) is not int:
        less = arguments.real(name, "ddof", less)
    if correction is not None and ddof != 0:
        refuse(name, "ddof and correction are two names of one argument, got both")
    if where is None and mean is None and a._spec.dtype.kind != "c":
        function: Callable[..., Tensor] = getattr(statistical, name)
        found = function(a, axis=axis, correction=less, keepdims=keepdims)
        size = found._spec.layout.size
        if a._spec.layout.size > less * size or not size:  # a divisor above 0
            return found
    dims = arguments.dims(name, axis, a.ndim)
    kept = arguments.truth(name, "keepdims", keepdims)
    mask = broadcast_to(asarray(True, device=a.device), a.shape)
    if where is not None:
        mask = _mask(name, a, where)
    middle = _masked_mean(a, dims, True, mask) if mean is None else mean
    distance = searching.where(mask, ew.subtract(astype(a, _wide(a), copy=False), middle), 0)
    squares = ew.square(ew.real(distance))
    if a.dtype.kind == "c":
        squares = ew.add(squares, ew.square(ew.imag(distance)))
    counts = statistical.sum(mask, axis=dims, dtype=dtypes.float64, keepdims=kept)
    divisor = ew.maximum(ew.subtract(counts, arguments.as_float(name, less)), 0.0)
    found = ew.divide(statistical.sum(squares, axis=dims, keepdims=kept), divisor)
    return astype(ew.sqrt(found) if name == "std" else found, dtypes.real_of(a.dtype), copy=False)


def cumsum(
    a: Tensor, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The running sums along `axis`, or of all elements in index order; dtype as in `tl.sum`."""
    kind = kind_into(a, out, dtype)
    return given("cumsum", extra_statistical.cumsum(a, axis, dtype=kind), out)


def cumprod(
    a: Tensor, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The running products along `axis`, or of all elements in index order."""
    kind = kind_into(a, out, dtype)
    return given("cumprod", extra_statistical.cumprod(a, axis, dtype=kind), out)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Tensor | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The running sums along `axis` (which may be left out at rank 1); as `tl.cumulative_sum`."""
    found = statistical.cumulative_sum(
        _countable(x), axis=axis, dtype=dtype, include_initial=include_initial
    )
    return given("cumulative_sum", found, out)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Tensor | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The running products along `axis`; as `tl.cumulative_prod`."""
    found = statistical.cumulative_prod(
        _countable(x), axis=axis, dtype=dtype, include_initial=include_initial
    )
    return given("cumulative_prod", found, out)


def _countable(a: Any) -> Any:
    """Truths as the integers 0 and 1."""
    return astype(a, dtypes.int64) if _is_bool(a) else a


def _mask(name: str, a: Tensor, where: Any) -> Tensor:
    """What `where` selects of `a`, of its shape."""
    if not isinstance(where, Tensor):
        where = asarray(where, device=a.device)
    if where.dtype != dtypes.bool:
        refuse(name, f"where must be a tensor of bool, or truths, got {where.dtype}", TypeError)
    return broadcast_to(where, a.shape)


def _selected(name: str, a: Any, where: Any, nothing: Any) -> Tensor:
    """`a` with `nothing` in place of what `where` does not select."""
    a = arguments.tensor(name, a)
    if a.dtype == dtypes.bool:
        nothing = bool(nothing)
    return searching.where(_mask(name, a, where), a, nothing)


def _scalar(name: str, initial: Any, like: Tensor) -> Tensor:
    """`initial`, a number or a tensor of rank 0, in the dtype of `like`."""
    check_finite(name, initial, like.dtype)
    return asarray(initial, dtype=like.dtype, device=like.device)


def _begun(name: str, of_two: Callable[[Any, Any], Tensor], found: Tensor, initial: Any) -> Tensor:
    """The result with `initial` in it."""
    return found if initial is None else of_two(found, _scalar(name, initial, found))
