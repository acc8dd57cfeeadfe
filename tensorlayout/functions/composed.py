"""Functions composed of elementwise ones: special values, complex parts, comparisons.

One of two operands is a tensor; the other may also be a number or a list.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import as_tensors, bools_to_integers, integers_to_float64
from tensorlayout.functions.outputs import store_in_out
from tensorlayout.plan import broadcast_shape
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Operand

__all__ = [
    "allclose",
    "angle",
    "array_equal",
    "array_equiv",
    "fix",
    "isclose",
    "iscomplex",
    "isneginf",
    "isposinf",
    "isreal",
    "nan_to_num",
    "real_if_close",
    "sinc",
]


def angle(z: Tensor, deg: bool = False) -> Tensor:
    """Return the angle of each complex number, in radians, or with `deg` in degrees.

    dtypes: numeric and bool; the result is real, for integers in the float dtype of NumPy's
    arctan2. Layout: the form of `z`.

    Raises `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.angle(tl.asarray([1.0, 1j, -1.0]), deg=True)
    Tensor([  0.,  90., 180.], dtype=float64, device='cpu')
    """
    x = bools_to_integers(z)
    if dtypes.is_in_category(x.dtype, "integral"):
        x = xp.astype(x, np.arctan2.resolve_dtypes((x.dtype, x.dtype, None))[-1])
    # A real number has the angle 0 or pi. atan2 keeps NaN, and gives pi for -0.0, as NumPy does.
    result = xp.atan2(xp.imag(x), xp.real(x)) if x.dtype.kind == "c" else xp.atan2(0.0, x)
    return xp.multiply(result, 180 / math.pi) if deg else result


def iscomplex(x: Tensor) -> Tensor:
    """Return True where the imaginary part is not 0.

    Any dtype; the result is bool. Layout: the form of `x`.

    Raises `TypeError` if `x` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.iscomplex(tl.asarray([1 + 1j, 2]))
    Tensor([ True, False], dtype=bool, device='cpu')
    """
    x = arguments.as_tensor(x)
    return (
        xp.not_equal(xp.imag(x), 0) if x.dtype.kind == "c" else xp.zeros_like(x, dtype=dtypes.bool)
    )


def isreal(x: Tensor) -> Tensor:
    """Return True where the imaginary part is 0.

    Any dtype; the result is bool. Layout: the form of `x`.

    Raises `TypeError` if `x` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.isreal(tl.asarray([1 + 1j, 2]))
    Tensor([False,  True], dtype=bool, device='cpu')
    """
    x = arguments.as_tensor(x)
    return xp.equal(xp.imag(x), 0) if x.dtype.kind == "c" else xp.ones_like(x, dtype=dtypes.bool)


def real_if_close(a: Tensor, tol: float = 100) -> Tensor:
    """Return the real part of a complex tensor whose imaginary parts are all within `tol` epsilons.

    A `tol` up to 1 is the bound itself. Any dtype; a tensor that is not complex, or not close, is
    returned itself. Layout: a view.

    Raises `TypeError` if `a` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.real_if_close(tl.asarray([2 + 1e-15j])).dtype
    dtype('float64')
    """
    x = arguments.as_tensor(a)
    if x.dtype.kind != "c":
        return x
    # NumPy's rule: a tolerance above 1 counts units of rounding of the dtype.
    bound = tol * xp.finfo(x.dtype).eps if tol > 1 else tol
    small = xp.all(xp.less(xp.abs(xp.imag(x)), bound))
    return xp.real(x) if small else x


def isposinf(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Return True where an element is positive infinity.

    `out` receives the result. dtypes: real numeric and bool; the result is bool. Layout: the form
    of `x`.

    Raises `TypeError` for any other dtype; `ValueError` if `out` has another shape.

    >>> import tensorlayout as tl
    >>> tl.isposinf(tl.asarray([tl.inf, -tl.inf]))
    Tensor([ True, False], dtype=bool, device='cpu')
    """
    return store_in_out("isposinf", xp.equal(_real_numbers_to_float(x), math.inf), out)


def isneginf(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Return True where an element is negative infinity.

    `out` receives the result. dtypes: real numeric and bool; the result is bool. Layout: the form
    of `x`.

    Raises `TypeError` for any other dtype; `ValueError` if `out` has another shape.

    >>> import tensorlayout as tl
    >>> tl.isneginf(tl.asarray([tl.inf, -tl.inf]))
    Tensor([False,  True], dtype=bool, device='cpu')
    """
    return store_in_out("isneginf", xp.equal(_real_numbers_to_float(x), -math.inf), out)


def _real_numbers_to_float(x: Any) -> Tensor:
    result = integers_to_float64(x)
    if result.dtype.kind == "c":
        raise TypeError(f"complex numbers have no sign, got {result.dtype}; use real() first")
    return result


def fix(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Round each element towards 0, as `trunc` does; bool is accepted too.

    `out` receives the result. dtypes: real numeric and bool, kept. Layout: the form of `x`.

    Raises `TypeError` for any other dtype; `ValueError` if `out` has another shape.

    >>> import tensorlayout as tl
    >>> tl.fix(tl.asarray([1.5, -1.5]))
    Tensor([ 1., -1.], dtype=float64, device='cpu')
    """
    whole = arguments.as_tensor(x)
    return store_in_out("fix", whole.copy() if whole.dtype == dtypes.bool else xp.trunc(whole), out)


def sinc(x: Tensor) -> Tensor:
    """Compute ``sin(pi * x) / (pi * x)``, which is 1 at 0.

    dtypes: numeric and bool; integers count as float64. Layout: the form of `x`.

    Raises `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.sinc(tl.asarray([0.0, 0.5]))
    Tensor([1.        , 0.63661977], dtype=float64, device='cpu')
    """
    y = xp.multiply(integers_to_float64(x), math.pi)
    at_zero = xp.equal(y, 0)
    # `where` computes both choices, so 0 / 0 is avoided by dividing by 1 there.
    return xp.where(at_zero, 1.0, xp.divide(xp.sin(y), xp.where(at_zero, 1.0, y)))


def nan_to_num(
    x: Tensor,
    copy: bool = True,
    nan: Tensor | Operand = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Replace NaN and the infinities in `x` by the numbers `nan`, `posinf` and `neginf`.

    Infinities become the largest finite numbers by default. `copy=False` writes into `x` and
    returns it. Any dtype, kept; integers are unchanged. Layout: the form of `x`.

    Raises `ValueError` if `x` must be written but is read-only; `TypeError` if `x` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.nan_to_num(tl.asarray([1.0, tl.nan, tl.inf]), posinf=9.0)
    Tensor([1., 0., 9.], dtype=float64, device='cpu')
    """
    numbers = arguments.as_tensor(x)
    if numbers.dtype.kind == "c":
        result = numbers.copy() if copy else arguments.check_writable(numbers)
        # Both parts are views, so writing to them changes `result`.
        for part in (xp.real(result), xp.imag(result)):
            part[...] = nan_to_num(part, True, nan, posinf, neginf)
        return result
    if not dtypes.is_in_category(numbers.dtype, "real floating"):
        return numbers.copy() if copy else numbers
    limits = xp.finfo(numbers.dtype)
    most = limits.max if posinf is None else posinf
    least = limits.min if neginf is None else neginf
    # The three tests read `numbers`, not `result`: a replacement may itself be infinite.
    result = xp.where(xp.isnan(numbers), nan, numbers)
    result = xp.where(xp.equal(numbers, math.inf), most, result)
    result = xp.where(xp.equal(numbers, -math.inf), least, result)
    # A replacement of a wider dtype would have promoted the result.
    result = xp.astype(result, numbers.dtype, copy=False)
    if copy:
        return result
    arguments.check_writable(numbers)[...] = result
    return numbers


def isclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Return True where ``abs(a - b)`` is at most ``atol + rtol * abs(b)``, or both are equal.

    `rtol` and `atol` are numbers; with `equal_nan`, NaN is close to NaN. Shapes broadcast. Any
    dtype; integers and bool are compared as float64. Layout: in the form of ``a - b``.

    Raises `ValueError` if shapes do not broadcast; `TypeError` if an operand is neither a tensor
    nor a number.

    >>> import tensorlayout as tl
    >>> tl.isclose(tl.asarray([1.0, 2.0, tl.nan]), tl.asarray([1.0, 2.1, tl.nan]), equal_nan=True)
    Tensor([ True, False,  True], dtype=bool, device='cpu')
    """
    x, y = (integers_to_float64(operand) for operand in as_tensors(a, b))
    bound = xp.add(xp.multiply(xp.abs(y), rtol), atol)
    # With an infinite `y` the bound is infinite, and every number would be close. Equal infinities
    # are close by the comparison below; their difference is NaN.
    near = xp.logical_and(xp.less_equal(xp.abs(xp.subtract(x, y)), bound), xp.isfinite(y))
    result = xp.logical_or(near, xp.equal(x, y))
    if arguments.check_bool("equal_nan", equal_nan):
        result = xp.logical_or(result, xp.logical_and(xp.isnan(x), xp.isnan(y)))
    return result


def allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Return True if all elements of `a` and `b` are close, as defined by `isclose`.

    `rtol`, `atol` and `equal_nan` are as in `isclose`. Any dtype. Returns a Python bool, for which
    a CUDA device is waited for.

    Raises `ValueError` and `TypeError` as `isclose` does.

    >>> import tensorlayout as tl
    >>> tl.allclose(tl.asarray([1.0, 2.0]), tl.asarray([1.0, 2.0 + 1e-9]))
    True
    """
    return bool(xp.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Return True if the shapes and all elements of `a1` and `a2` are equal.

    With `equal_nan`, NaN is equal to NaN. Any dtype. Returns a Python bool, for which a CUDA device
    is waited for.

    Raises `TypeError` if an operand is neither a tensor nor numbers.

    >>> import tensorlayout as tl
    >>> tl.array_equal(tl.asarray([1.0, 2.0]), [1, 2])
    True
    """
    x, y = as_tensors(a1, a2)
    if x.shape != y.shape:
        return False
    result = xp.equal(x, y)
    # The standard defines isnan for numeric dtypes only, and integers have no NaN.
    if equal_nan and all(
        dtypes.is_in_category(operand.dtype, "floating-point") for operand in (x, y)
    ):
        result = xp.logical_or(result, xp.logical_and(xp.isnan(x), xp.isnan(y)))
    return bool(xp.all(result))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Return True if the shapes of `a1` and `a2` broadcast and all elements are equal.

    Any dtype. Returns a Python bool, and so waits for a CUDA device.

    Raises `TypeError` if an operand is neither a tensor nor numbers.

    >>> import tensorlayout as tl
    >>> tl.array_equiv(tl.asarray([[1, 1]]), 1)
    True
    """
    x, y = as_tensors(a1, a2)
    try:
        broadcast_shape([x.shape, y.shape])
    except ValueError:
        return False
    return bool(xp.all(xp.equal(x, y)))
