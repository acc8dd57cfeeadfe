"""Covariances and correlations of variables."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import as_tensors, refuse_unsupported_arguments
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, DTypeLike

__all__ = ["corrcoef", "cov"]


def cov(
    m: Tensor,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: SupportsIndex | None = None,
    fweights: None = None,
    aweights: None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return the covariances of variables, each a row of `m`, or a column if `rowvar` is false.

    - `m`, `y`: rank 1 or 2; the variables of `y` follow the variables of `m`.
    - `bias`, `ddof`: sums are divided by the count less `ddof` (default: 1, or 0 with `bias`),
      which gives infinity or NaN if that is not positive.
    - `fweights`, `aweights`: must be None.
    - `dtype`: floating-point; by default float64, or complex128 for complex numbers.

    Any dtypes. Layout: row-major.

    Raises `ValueError` if the rank exceeds 2 or `y` has another number of observations; `TypeError`
    if `m` is not a tensor, for any other `dtype`, and for weights.

    >>> import tensorlayout as tl
    >>> tl.cov(tl.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Tensor([[ 1., -1.],
            [-1.,  1.]], dtype=float64, device='cpu')
    """
    refuse_unsupported_arguments(fweights=fweights, aweights=aweights)
    return _covariance_matrix(m, y, rowvar, bias, ddof, dtype)


def corrcoef(
    x: Tensor, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Return the correlation coefficients of variables, each a row of `x`, or a column.

    Real coefficients lie between -1 and 1; they are NaN for variables that do not vary. `x`, `y`,
    `rowvar` and `dtype` are as in `cov`. Layout: row-major.

    Raises `ValueError` and `TypeError` as `cov` does.

    >>> import tensorlayout as tl
    >>> tl.corrcoef(tl.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Tensor([[ 1., -1.],
            [-1.,  1.]], dtype=float64, device='cpu')
    """
    result = _covariance_matrix(x, y, rowvar, False, None, dtype)
    # Correlated with itself, a variable has the coefficient 1, or NaN if it does not vary (0 / 0).
    if not result.ndim:
        return xp.divide(result, result)
    deviations = xp.sqrt(xp.real(xp.diag(result)))
    # Two divisions, because the product of two deviations may overflow or become 0.
    result = xp.divide(xp.divide(result, xp.expand_dims(deviations, axis=1)), deviations)
    # Rounding may lead just beyond 1. Complex numbers have no order, and stay.
    return result if result.dtype.kind == "c" else xp.clip(result, -1, 1)


def _covariance_matrix(m: Any, y: Any, rowvar: bool, bias: bool, ddof: Any, dtype: Any) -> Tensor:
    rowvar = arguments.check_bool("rowvar", rowvar)
    less = 1 - arguments.check_bool("bias", bias)
    if ddof is not None:
        less = arguments.as_integer("ddof", ddof)
    kind = None if dtype is None else arguments.as_dtype_in_category("floating-point", dtype)
    both = as_tensors(m) if y is None else as_tensors(m, y, weak=False)
    x = xp.concat([_variables_in_rows(variables, rowvar) for variables in both])
    x = xp.astype(x, kind or dtypes.promote_dtypes(x.dtype, dtypes.float64), copy=False)
    # Each variable is centred before it is multiplied: mean(x * y) - mean(x) * mean(y) would cancel
    # almost all digits of large values with small variations.
    distance = xp.subtract(x, xp.mean(x, axis=1, keepdims=True))
    result = xp.matmul(distance, (xp.conj(distance) if x.dtype.kind == "c" else distance).mT)
    divisor = max(x.shape[1] - less, 0)
    # As dividing by 0 would: infinity, or NaN where the sum is 0.
    result = xp.divide(result, float(divisor)) if divisor else xp.multiply(result, math.inf)
    return result[0, 0] if result.shape == (1, 1) else result


def _variables_in_rows(x: Tensor, rowvar: bool) -> Tensor:
    """Return a matrix with a variable in each row."""
    if x.ndim > 2:
        raise ValueError(f"needs a rank of at most 2, got shape {x.shape}")
    wide: Tensor = x[(None,) * (2 - x.ndim)]
    return wide if rowvar or x.ndim < 2 else wide.mT
