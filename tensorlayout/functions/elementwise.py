"""Elementwise functions: one line of the table each.

A line says name, dtypes in the standard's words, and what it does. Adding a function that NumPy has
by the same name: a line here, its name in `__all__`, a line in the table of the tests.
"""

from __future__ import annotations

import builtins
from typing import Any, Literal, overload

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.dispatch import Binary, Unary
from tensorlayout.functions.transfers import moved
from tensorlayout.plan.copy import Copy
from tensorlayout.plan.elementwise import Elementwise
from tensorlayout.plan.view import Part, View
from tensorlayout.tensor import Tensor
from tensorlayout.typing import NumpyScalar
from tensorlayout.words import refuse

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


# The Python scalars beside a tensor are of the kinds that a category holds.
_Booleans = Literal["bool"]
_Integers = Literal["integral", "integer or boolean"]
_Reals = Literal["real numeric", "real floating"]
_Numbers = Literal["numeric", "floating-point", "any"]


def _unary(name: str, category: str, summary: str, result: str = "same") -> Unary:
    return dispatch.unary(Elementwise(name, category, result), summary)


@overload
def _binary(name: str, category: _Booleans, summary: str, result: str = ...) -> Binary[bool]: ...
@overload
def _binary(name: str, category: _Integers, summary: str, result: str = ...) -> Binary[int]: ...
@overload
def _binary(name: str, category: _Reals, summary: str, result: str = ...) -> Binary[float]: ...
@overload
def _binary(
    name: str,
    category: _Numbers,
    summary: str,
    result: str = ...,
    integers: dtypes.DType | None = ...,
) -> Binary[complex]: ...
def _binary(
    name: str,
    category: str,
    summary: str,
    result: str = "same",
    integers: dtypes.DType | None = None,
) -> Any:
    return dispatch.binary(Elementwise(name, category, result, integers), summary)


abs = _unary("abs", "numeric", "The magnitude of each element.", "real")
acos = _unary("acos", "floating-point", "The principal inverse cosine, in radians.")
acosh = _unary("acosh", "floating-point", "The inverse hyperbolic cosine.")
asin = _unary("asin", "floating-point", "The principal inverse sine, in radians.")
asinh = _unary("asinh", "floating-point", "The inverse hyperbolic sine.")
atan = _unary("atan", "floating-point", "The principal inverse tangent, in radians.")
atanh = _unary("atanh", "floating-point", "The inverse hyperbolic tangent.")
bitwise_invert = _unary("bitwise_invert", "integer or boolean", "Each bit inverted.")
ceil = _unary("ceil", "real numeric", "The least integer not below each element.")
conj = _unary("conj", "numeric", "The complex conjugate.")
cos = _unary("cos", "floating-point", "The cosine of angles in radians.")
cosh = _unary("cosh", "floating-point", "The hyperbolic cosine.")
exp = _unary("exp", "floating-point", "The exponential function.")
expm1 = _unary("expm1", "floating-point", "``exp(x) - 1``, accurate near 0.")
floor = _unary("floor", "real numeric", "The greatest integer not above each element.")
isfinite = _unary(
    "isfinite", "numeric", "Whether each element is neither infinite nor NaN.", "bool"
)
isinf = _unary("isinf", "numeric", "Whether each element is infinite.", "bool")
isnan = _unary("isnan", "numeric", "Whether each element is NaN.", "bool")
log = _unary("log", "floating-point", "The natural logarithm.")
log10 = _unary("log10", "floating-point", "The logarithm to base 10.")
log1p = _unary("log1p", "floating-point", "``log(1 + x)``, accurate near 0.")
log2 = _unary("log2", "floating-point", "The logarithm to base 2.")
logical_not = _unary("logical_not", "bool", "The logical opposite.", "bool")
negative = _unary("negative", "numeric", "Each element with its sign changed.")
positive = _unary("positive", "numeric", "Each element as it is.")
reciprocal = _unary("reciprocal", "floating-point", "One divided by each element.")
round = _unary("round", "numeric", "The nearest integer, ties to even.")
sign = _unary("sign", "numeric", "-1, 0 or 1; ``x / abs(x)`` for complex dtypes.")
signbit = _unary(
    "signbit", "real floating", "Whether the sign bit is set, that of -0 and NaN too.", "bool"
)
sin = _unary("sin", "floating-point", "The sine of angles in radians.")
sinh = _unary("sinh", "floating-point", "The hyperbolic sine.")
sqrt = _unary("sqrt", "floating-point", "The principal square root.")
square = _unary("square", "numeric", "Each element times itself.")
tan = _unary("tan", "floating-point", "The tangent of angles in radians.")
tanh = _unary("tanh", "floating-point", "The hyperbolic tangent.")
trunc = _unary("trunc", "real numeric", "The nearest integer towards 0.")

add = _binary("add", "numeric", "The sum of the operands.")
atan2 = _binary(
    "atan2",
    "real floating",
    "The angle of the point (x2, x1), in radians, over all four quadrants.",
)
bitwise_and = _binary("bitwise_and", "integer or boolean", "The bits set in both operands.")
bitwise_left_shift = _binary(
    "bitwise_left_shift",
    "integral",
    "The bits of `x1` moved up by `x2` places; 0 where `x2` is negative or not below the width.",
)
bitwise_or = _binary("bitwise_or", "integer or boolean", "The bits set in either operand.")
bitwise_right_shift = _binary(
    "bitwise_right_shift",
    "integral",
    """The bits of `x1` moved down by `x2` places, the sign kept.

Where `x2` is negative or not below the width, only the sign is left: 0 or -1.""",
)
bitwise_xor = _binary("bitwise_xor", "integer or boolean", "The bits set in exactly one operand.")
copysign = _binary("copysign", "real floating", "The magnitude of `x1` with the sign of `x2`.")
divide = _binary(
    "divide", "floating-point", "The quotient of the operands.", integers=dtypes.float64
)
equal = _binary("equal", "any", "Whether the operands are equal.", "bool")
floor_divide = _binary(
    "floor_divide",
    "real numeric",
    """The quotient rounded towards minus infinity.

Integers divided by 0 give 0; the least integer divided by -1 wraps to itself.""",
)
greater = _binary("greater", "real numeric", "Whether `x1` is greater than `x2`.", "bool")
greater_equal = _binary("greater_equal", "real numeric", "Whether `x1` is at least `x2`.", "bool")
hypot = _binary(
    "hypot", "real floating", "The square root of the sum of squares, without overflow on the way."
)
less = _binary("less", "real numeric", "Whether `x1` is less than `x2`.", "bool")
less_equal = _binary("less_equal", "real numeric", "Whether `x1` is at most `x2`.", "bool")
logaddexp = _binary(
    "logaddexp", "real floating", "``log(exp(x1) + exp(x2))``, without overflow on the way."
)
logical_and = _binary("logical_and", "bool", "Whether both operands are true.", "bool")
logical_or = _binary("logical_or", "bool", "Whether at least one operand is true.", "bool")
logical_xor = _binary("logical_xor", "bool", "Whether exactly one operand is true.", "bool")
maximum = _binary("maximum", "real numeric", "The greater operand; NaN if either is.")
minimum = _binary("minimum", "real numeric", "The lesser operand; NaN if either is.")
multiply = _binary("multiply", "numeric", "The product of the operands.")
nextafter = _binary("nextafter", "real floating", "The next number from `x1` towards `x2`.")
not_equal = _binary("not_equal", "any", "Whether the operands differ.", "bool")
pow = _binary(
    "pow",
    "numeric",
    """`x1` to the power of `x2`.

Integers with negative exponents give the exact result truncated: that of 1 and -1, else 0.""",
)
remainder = _binary(
    "remainder",
    "real numeric",
    """What the floored quotient leaves; it has the sign of `x2`.

Of integers by 0 it is 0.""",
)
subtract = _binary("subtract", "numeric", "The difference of the operands.")


_CLIP = Elementwise("clip", "real numeric")
_CLIP_NOTHING = Elementwise("clip", "real numeric", does="positive")
_CLIP_LEAST = Elementwise("clip", "real numeric", does="maximum")
_CLIP_MOST = Elementwise("clip", "real numeric", does="minimum")
_CLIP_BOUND = Copy("clip")


def clip(
    x: Tensor,
    /,
    min: Tensor | float | NumpyScalar | None = None,
    max: Tensor | float | NumpyScalar | None = None,
) -> Tensor:
    """Each element moved to the nearest value between `min` and `max`.

    `min`, `max`: None for no bound, Python scalars, or tensors whose shapes broadcast with that of
    `x`; bounds of another dtype are first converted to that of `x`, in which those outside its
    range become its limits. dtypes: real numeric; the result has that of `x`. NaN stays NaN.
    Layout: as of any elementwise function. TypeError for other dtypes, ValueError for shapes that
    do not broadcast.

    Source: array API standard 2025.12, elementwise functions, `clip`.

    >>> import tensorlayout as tl
    >>> tl.clip(tl.asarray([1, 5, 9]), 2, 6)
    Tensor([2, 5, 6], dtype=int64, device='cpu')
    """
    x = arguments.tensor("clip", x)
    if not dtypes.in_category(x.dtype, "real numeric"):
        given = [o for o in (x, min, max) if o is not None]
        came = ", ".join(str(getattr(o, "dtype", type(o).__name__)) for o in given)
        refuse("clip", f"only real numeric dtypes are allowed, got {came}", TypeError)
    least, most = _bound(x, min), _bound(x, max)
    if least is None and most is None:
        return dispatch.elementwise(_CLIP_NOTHING, x)
    if most is None:
        return dispatch.elementwise(_CLIP_LEAST, x, least)
    if least is None:
        return dispatch.elementwise(_CLIP_MOST, x, most)
    return dispatch.elementwise(_CLIP, x, least, most)


def _bound(x: Tensor, bound: Any) -> Any:
    """A bound that does not change the dtype of `x`; one made here is where `x` is."""
    found = _bound_in_dtype(x, bound)
    ours = isinstance(found, Tensor) and not isinstance(bound, Tensor)
    return moved(found, x.device) if ours else found


def _bound_in_dtype(x: Tensor, bound: Any) -> Any:
    if bound is None or type(bound) is int:
        return bound
    bound = arguments.operand("clip", bound)
    if not isinstance(bound, Tensor):
        if not isinstance(bound, float) or dtypes.promote_scalar(x.dtype, float) == x.dtype:
            return bound
        bound = arguments.operand("clip", np.float64(bound))
    if dtypes.promote(x.dtype, bound.dtype) == x.dtype:
        return bound
    if x.dtype.kind in "iu" and bound.dtype.kind in "iu":
        limits, own = np.iinfo(x.dtype), np.iinfo(bound.dtype)
        least, most = builtins.max(limits.min, own.min), builtins.min(limits.max, own.max)
        bound = dispatch.elementwise(_CLIP, bound, least, most)
    return dispatch.call(_CLIP_BOUND, (bound._spec, None, x.dtype), (bound,))


_REAL_PART = Part("real", 0)
_IMAG_PART = Part("imag", 1)
_REAL = View("real", lambda layout: layout)
_IMAG = Elementwise("imag", "numeric")


def real(x: Tensor, /) -> Tensor:
    """The real part of each element. A view.

    dtypes: numeric; the result has that of the real part. Layout: every second slot of a complex
    tensor, counted in slots of half the size; the same slots of any other.

    Source: array API standard 2025.12, elementwise functions, `real`.

    >>> import tensorlayout as tl
    >>> z = tl.asarray([1 + 2j, 3 + 4j])
    >>> tl.real(z)[...] = 0
    >>> z
    Tensor([0.+2.j, 0.+4.j], dtype=complex128, device='cpu')
    """
    return _part("real", _REAL_PART, _REAL, x)


def imag(x: Tensor, /) -> Tensor:
    """The imaginary part of each element: a view of a complex tensor, else new zeros.

    dtypes: numeric; the result has that of the real part. Layout: every second slot of a complex
    tensor, counted in slots of half the size; the form of any other.

    Source: array API standard 2025.12, elementwise functions, `imag`.
    """
    return _part("imag", _IMAG_PART, _IMAG, x)


def _part(name: str, of_complex: Part, of_others: View | Elementwise, x: Tensor) -> Tensor:
    x = arguments.tensor(name, x)
    if not dtypes.in_category(x.dtype, "numeric"):
        refuse(name, f"only numeric dtypes are allowed, got {x.dtype}", TypeError)
    is_complex = dtypes.in_category(x.dtype, "complex floating")
    return dispatch.call(of_complex if is_complex else of_others, (x._spec,), (x,))
