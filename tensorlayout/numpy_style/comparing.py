"""Element by element, beyond ufuncs: closeness, parts of complex numbers, what replaces NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments, extra, utility
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.data_types import astype, finfo
from tensorlayout.functions.operands import floating, tensors
from tensorlayout.functions.outputs import given
from tensorlayout.functions.searching import where
from tensorlayout.plan.rules import broadcast_shape
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "allclose",
    "angle",
    "array_equal",
    "array_equiv",
    "fix",
    "imag",
    "isclose",
    "iscomplex",
    "isneginf",
    "isposinf",
    "isreal",
    "nan_to_num",
    "real",
    "real_if_close",
    "sinc",
]


def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """`tl.isclose`, of lists too."""
    x, y = tensors("isclose", a, b)
    return extra.isclose(x, y, rtol, atol, equal_nan)


def allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """`tl.allclose`, of lists too."""
    x, y = tensors("allclose", a, b)
    return extra.allclose(x, y, rtol, atol, equal_nan)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether shapes and all elements are equal."""
    x, y = tensors("array_equal", a1, a2)
    if x.shape != y.shape:
        return False
    found = ew.equal(x, y)
    if equal_nan and all(dtypes.in_category(each.dtype, "floating-point") for each in (x, y)):
        found = ew.logical_or(found, ew.logical_and(ew.isnan(x), ew.isnan(y)))
    return bool(utility.all(found))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether shapes broadcast, and all elements are equal then."""
    x, y = tensors("array_equiv", a1, a2)
    try:
        broadcast_shape([x.shape, y.shape])
    except ValueError:
        return False
    return bool(utility.all(ew.equal(x, y)))


def _is_complex(x: Tensor) -> Any:
    return dtypes.in_category(x.dtype, "complex floating")


def real(val: Tensor) -> Tensor:
    """`tl.real`; a bool tensor itself."""
    x = arguments.tensor("real", val)
    return x if x.dtype == dtypes.bool else ew.real(x)


def imag(val: Tensor) -> Tensor:
    """`tl.imag`; of bool, False."""
    x = arguments.tensor("imag", val)
    return ew.logical_xor(x, x) if x.dtype == dtypes.bool else ew.imag(x)


def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle of each number, in radians, or degrees."""
    x = arguments.tensor("angle", z)
    atan2: Any = np.arctan2  # with its promotion of integers
    found: Tensor = atan2(ew.imag(x), ew.real(x)) if _is_complex(x) else atan2(0, x)
    return ew.multiply(found, 180 / math.pi) if deg else found


def iscomplex(x: Tensor) -> Tensor:
    """Whether each imaginary part is not 0."""
    return ew.not_equal(imag(x), 0)


def isreal(x: Tensor) -> Tensor:
    """Whether each imaginary part is 0."""
    return ew.equal(imag(x), 0)


def real_if_close(a: Tensor, tol: float = 100) -> Tensor:
    """The real part of a complex tensor whose imaginary parts are all within `tol` epsilons."""
    x = arguments.tensor("real_if_close", a)
    if not _is_complex(x):
        return x
    bound = tol * finfo(x.dtype).eps if tol > 1 else tol
    small = utility.all(ew.less(ew.abs(ew.imag(x)), bound))
    return ew.real(x) if small else x


def _signed(name: str, x: Any) -> Tensor:
    if arguments.tensor(name, x).dtype.kind == "c":
        refuse(name, f"complex numbers have no sign, got {x.dtype}; take real() first", TypeError)
    return floating(name, x)


def isposinf(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Whether each element is positive infinity."""
    return given("isposinf", ew.equal(_signed("isposinf", x), math.inf), out)


def isneginf(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Whether each element is negative infinity."""
    return given("isneginf", ew.equal(_signed("isneginf", x), -math.inf), out)


def fix(x: Tensor, out: Tensor | None = None) -> Tensor:
    """`tl.trunc`."""
    whole = arguments.tensor("fix", x)
    return given("fix", whole.copy() if whole.dtype == dtypes.bool else ew.trunc(whole), out)


def sinc(x: Any) -> Tensor:
    """``sin(pi * x) / (pi * x)``, 1 at 0."""
    y = ew.multiply(floating("sinc", x), math.pi)
    return where(ew.equal(y, 0), 1.0, ew.divide(ew.sin(y), where(ew.equal(y, 0), 1.0, y)))


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Tensor:
    """`x` with numbers for NaN and the infinities: the furthest finite ones by default."""
    found = arguments.tensor("nan_to_num", x)
    if _is_complex(found):
        result = found.copy() if copy else arguments.writable("nan_to_num", found)
        for part in (ew.real(result), ew.imag(result)):
            part[...] = nan_to_num(part, True, nan, posinf, neginf)
        return result
    if not dtypes.in_category(found.dtype, "real floating"):
        return found.copy() if copy else found
    limits = finfo(found.dtype)
    result = where(ew.isnan(found), nan, found)
    high, low = (
        (limits.max if posinf is None else posinf),
        (limits.min if neginf is None else neginf),
    )
    result = where(ew.equal(found, math.inf), high, result)
    result = where(ew.equal(found, -math.inf), low, result)
    result = astype(result, found.dtype, copy=False)
    if copy:
        return result
    arguments.writable("nan_to_num", found)[...] = result
    return found
