"""Medians, quantiles and percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.exchange.numpy import describe_memory_error
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import (
    bools_to_integers,
    mean_dtype,
    refuse_unsupported_arguments,
)
from tensorlayout.functions.outputs import store_in_out
from tensorlayout.functions.transfers import move_to_cpu
from tensorlayout.layout import MAX_RANK
from tensorlayout.plan import DISCRETE, QUANTILE_METHODS, QuantileMethod, Reduce
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Array, Axis, Real

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

_QUANTILES = {name: Reduce(name, "real numeric", "quantile") for name in __all__}

# Type of `q`: numbers from 0 to 1, or to 100, of any shape.
Fractions = Tensor | Real | Sequence[Real | Sequence[Real]]


def median(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """Compute the median along `axis`; NaN for no elements or if one is NaN.

    - `axis`: one dimension, several, or None for all.
    - `out`: a tensor that receives the result.
    - `overwrite_input`: accepted for NumPy's sake, without effect.
    - `keepdims`: keep the reduced dimensions with size 1.

    Returns a new tensor with the dtype of `a`, float64 for integers; dtypes: real numeric.
    Layout: packed in the input's order.

    Raises `TypeError` for other dtypes, and `AxisError` (a `ValueError`) for an axis that is out of
    bounds.

    >>> import tensorlayout as tl
    >>> tl.median(tl.asarray([[1.0, 9.0, 2.0], [4.0, 4.0, 8.0]]), axis=1)
    Tensor([2., 4.], dtype=float64, device='cpu')
    """
    return _compute_quantiles("median", bools_to_integers(a), 0.5, 1, axis, out, "linear", keepdims)


def nanmedian(
    a: Tensor,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """Return the median of the elements along `axis` that are not NaN; NaN if there are none.

    `axis`, `out`, `overwrite_input` and `keepdims` are as in `median`. dtypes: real numeric and
    bool. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `median` does.

    >>> import tensorlayout as tl
    >>> tl.nanmedian(tl.asarray([[8.0, tl.nan, 1.0, 3.0]]), axis=1)
    Tensor([3.], dtype=float64, device='cpu')
    """
    return _compute_quantiles(
        "nanmedian", bools_to_integers(a), 0.5, 1, axis, out, "linear", keepdims
    )


def quantile(
    a: Tensor,
    q: Fractions,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """Compute the quantiles `q` along `axis`; NaN if an element is NaN.

    - `q`: a number from 0 to 1, or a sequence or tensor of them, whose dimensions come first in the
      result.
    - `axis`: one dimension, several, or None for all.
    - `out`: a tensor that receives the result.
    - `overwrite_input`: accepted for NumPy's sake, without effect.
    - `method`: interpolation between elements, by NumPy's names (the continuous ones, and
      ``lower``, ``higher``, ``nearest``, ``midpoint``).
    - `keepdims`: keep the reduced dimensions with size 1.
    - `weights`: must be omitted.

    Returns a new tensor with the dtype of `a`. Integers give float64, except with ``lower``,
    ``higher`` and ``nearest``, which return elements. dtypes: real numeric. Layout: packed in the
    input's order, with the dimensions of `q` slowest.

    Raises `ValueError` for other `q` or methods, `TypeError` for other dtypes, and `IndexError` if
    ``lower``, ``higher`` or ``nearest`` find no integers.

    >>> import tensorlayout as tl
    >>> tl.quantile(tl.asarray([1.0, 2.0, 3.0, 4.0]), [0.25, 0.5])
    Tensor([1.75, 2.5 ], dtype=float64, device='cpu')
    """
    return _compute_quantiles("quantile", a, q, 1, axis, out, method, keepdims, weights)


def nanquantile(
    a: Tensor,
    q: Fractions,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """Compute the quantiles `q` of the elements that are not NaN; NaN for none.

    `q`, `axis`, `method`, `keepdims`, `out`, `overwrite_input` and `weights` are as in `quantile`.
    dtypes: real numeric. Layout: packed in the input's order, the dimensions of `q` slowest.

    Raises `ValueError`, `TypeError` and `IndexError` as `quantile` does.

    >>> import tensorlayout as tl
    >>> tl.nanquantile(tl.asarray([[1.0, tl.nan, 3.0]]), 0.5, axis=1)
    Tensor([2.], dtype=float64, device='cpu')
    """
    return _compute_quantiles("nanquantile", a, q, 1, axis, out, method, keepdims, weights)


def percentile(
    a: Tensor,
    q: Fractions,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """Return the values below which `q` percent of the elements along `axis` lie.

    `q` is a number from 0 to 100, or a sequence or tensor of them. `axis`, `method`, `keepdims`,
    `out`, `overwrite_input` and `weights` are as in `quantile`. The result is NaN if an element is.
    dtypes: real numeric. Layout: packed in the input's order.

    Raises `ValueError`, `TypeError` and `IndexError` as `quantile` does.

    >>> import tensorlayout as tl
    >>> tl.percentile(tl.asarray([1.0, 2.0, 3.0, 4.0]), [25, 50])
    Tensor([1.75, 2.5 ], dtype=float64, device='cpu')
    """
    return _compute_quantiles("percentile", a, q, 100, axis, out, method, keepdims, weights)


def nanpercentile(
    a: Tensor,
    q: Fractions,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """Return the values below which `q` percent of the elements lie, ignoring NaN; NaN for none.

    `q` is a number from 0 to 100, or a sequence or tensor of them. `axis`, `method`, `keepdims`,
    `out`, `overwrite_input` and `weights` are as in `quantile`. dtypes: real numeric.
    Layout: packed in the input's order.

    Raises `ValueError`, `TypeError` and `IndexError` as `quantile` does.

    >>> import tensorlayout as tl
    >>> tl.nanpercentile(tl.asarray([1.0, tl.nan, 3.0]), 50)
    Tensor(2.0, dtype=float64, device='cpu')
    """
    return _compute_quantiles("nanpercentile", a, q, 100, axis, out, method, keepdims, weights)


def _compute_quantiles(
    function_name: str,
    a: Any,
    q: Any,
    full_scale: int,
    axis: Axis,
    out: Tensor | None,
    method: str,
    keepdims: bool,
    weights: Any = None,
) -> Tensor:
    """Compute the quantiles of `a` for `q` given from 0 to `full_scale`."""
    refuse_unsupported_arguments(weights=weights)
    x, numbers = arguments.as_tensor(a), _as_real_array(q)
    floats = dtypes.is_in_category(x.dtype, "real floating")
    # As NumPy promotes: an array `q` takes part in the dtype of the result, a single number does
    # not.
    if np.ndim(numbers) and method not in DISCRETE and floats:
        kind = np.true_divide(numbers[:0], full_scale).dtype if full_scale != 1 else numbers.dtype
        x = xp.astype(x, dtypes.promote_dtypes(x.dtype, kind), copy=False)
    try:
        # In float64, whatever the dtype of `q`: positions of elements follow from the fractions.
        fractions = np.true_divide(numbers, full_scale, dtype=np.float64)
    except MemoryError as error:
        raise MemoryError(describe_memory_error(error)) from None
    # NaN compares false, and is refused, too.
    if not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError(f"q must be from 0 to {full_scale}, got {arguments.format_argument(q)}")
    return store_in_out(
        function_name,
        _quantiles_along_axes(function_name, x, fractions, axis, method, keepdims),
        out,
    )


def _quantiles_along_axes(
    function_name: str, x: Tensor, fractions: Array, axis: Axis, method: str, keepdims: bool
) -> Tensor:
    arguments.check_choice("method", method, QUANTILE_METHODS)
    dims = arguments.normalize_axes(axis, x.ndim)
    keeps_dims = arguments.check_bool("keepdims", keepdims)
    exact = method in DISCRETE
    has_nan = dtypes.is_in_category(x.dtype, "floating-point")
    if exact and not has_nan and any(x.shape[d] == 0 for d in dims):
        rule = f"needs at least one element along axis {dims}, because {x.dtype} has no NaN"
        raise IndexError(f"{rule}; got shape {x.shape}")
    if x.ndim == MAX_RANK:
        return _quantiles_at_max_rank(function_name, x, fractions, dims, method, keeps_dims)
    # A new first dimension for `q` repeats `x` with stride 0, so that one reduction computes all
    # quantiles in one pass and in the order of `x`.
    repeated = xp.broadcast_to(x, (fractions.size, *x.shape))
    static = (tuple(fractions.ravel().tolist()), method, function_name.startswith("nan"))
    inner = tuple(d + 1 for d in dims)
    key = (repeated.spec, inner, keeps_dims, x.dtype if exact else mean_dtype(x, None), *static)
    result = dispatch.call(_QUANTILES[function_name], key, (repeated,))
    if fractions.ndim == 0:
        return xp.squeeze(result, 0)
    # Splitting the first dimension is a view, as it is the slowest.
    return (
        result if fractions.ndim == 1 else xp.reshape(result, (*fractions.shape, *result.shape[1:]))
    )


def _quantiles_at_max_rank(
    function_name: str,
    x: Tensor,
    fractions: Any,
    dims: tuple[int, ...],
    method: str,
    keepdims: bool,
) -> Tensor:
    """Compute quantiles without one dimension of size 1, to make room for the fractions."""
    # At least two of 64 dimensions have size 1, as 63 dimensions of size 2 would exceed the limit
    # of 2**63 - 1 elements. The only reduced dimension stays, or nothing would be reduced.
    unit_dim = next(d for d, n in enumerate(x.shape) if n == 1 and dims != (d,))
    other_dims = tuple(d - (d > unit_dim) for d in dims if d != unit_dim)
    result = _quantiles_along_axes(
        function_name, xp.squeeze(x, unit_dim), fractions, other_dims, method, keepdims
    )
    if unit_dim in dims and not keepdims:
        return result
    # Removed dimensions before it no longer count; the dimensions of `q` come first.
    new_dim = unit_dim if keepdims else unit_dim - sum(d < unit_dim for d in dims)
    return xp.expand_dims(result, axis=new_dim + fractions.ndim)


def _as_real_array(q: Any) -> Array:
    """Return `q`, a real number or nested numbers, as an array."""
    try:
        numbers = np.asarray(move_to_cpu(q) if isinstance(q, Tensor) else q)
    except MemoryError as error:
        raise MemoryError(describe_memory_error(error)) from None
    except (TypeError, ValueError):  # ragged lists
        numbers = np.empty(0, object)
    if numbers.dtype.kind == "V":  # bfloat16
        numbers = numbers.astype(np.float64)
    if numbers.dtype.kind not in "biuf":
        raise TypeError(f"q must be a real number, or several, got {arguments.format_argument(q)}")
    return numbers
