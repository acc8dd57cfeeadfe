"""Elementwise functions: one line of the table each.

A line has name, category of dtypes and summary. To add a function that NumPy has under the same
name, add a line here, its example, its name in `__all__`, and a line in the table of the tests.
"""

from __future__ import annotations

import builtins
from typing import Any, SupportsIndex

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.outputs import store_in_out
from tensorlayout.functions.transfers import copy_tensor, move_to_device
from tensorlayout.functions.universal import make_binary_function, make_unary_function
from tensorlayout.plan import Elementwise, Part, View, check_category, dtype_category_error
from tensorlayout.tensor import Tensor
from tensorlayout.typing import NumpyOperand

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


abs = make_unary_function("abs", "numeric", "Return the magnitude of each element.", "real")
acos = make_unary_function(
    "acos", "floating-point", "Compute the principal inverse cosine, in radians."
)
acosh = make_unary_function("acosh", "floating-point", "Compute the inverse hyperbolic cosine.")
asin = make_unary_function(
    "asin", "floating-point", "Compute the principal inverse sine, in radians."
)
asinh = make_unary_function("asinh", "floating-point", "Compute the inverse hyperbolic sine.")
atan = make_unary_function(
    "atan", "floating-point", "Compute the principal inverse tangent, in radians."
)
atanh = make_unary_function("atanh", "floating-point", "Compute the inverse hyperbolic tangent.")
bitwise_invert = make_unary_function("bitwise_invert", "integer or boolean", "Invert each bit.")
ceil = make_unary_function(
    "ceil", "real numeric", "Round up to the least integer not below each element."
)
conj = make_unary_function("conj", "numeric", "Return the complex conjugate.")
cos = make_unary_function("cos", "floating-point", "Compute the cosine of angles in radians.")
cosh = make_unary_function("cosh", "floating-point", "Compute the hyperbolic cosine.")
exp = make_unary_function("exp", "floating-point", "Compute the exponential function.")
expm1 = make_unary_function("expm1", "floating-point", "Compute ``exp(x) - 1``, accurately near 0.")
floor = make_unary_function(
    "floor", "real numeric", "Round down to the greatest integer not above each element."
)
isfinite = make_unary_function(
    "isfinite", "numeric", "Return True where an element is neither infinite nor NaN.", "bool"
)
isinf = make_unary_function("isinf", "numeric", "Return True where an element is infinite.", "bool")
isnan = make_unary_function("isnan", "numeric", "Return True where an element is NaN.", "bool")
log = make_unary_function("log", "floating-point", "Compute the natural logarithm.")
log10 = make_unary_function("log10", "floating-point", "Compute the logarithm to base 10.")
log1p = make_unary_function("log1p", "floating-point", "Compute ``log(1 + x)``, accurately near 0.")
log2 = make_unary_function("log2", "floating-point", "Compute the logarithm to base 2.")
logical_not = make_unary_function("logical_not", "bool", "Return the logical opposite.", "bool")
negative = make_unary_function("negative", "numeric", "Change the sign of each element.")
positive = make_unary_function("positive", "numeric", "Return each element unchanged.")
reciprocal = make_unary_function("reciprocal", "floating-point", "Divide 1 by each element.")
_round = make_unary_function("round", "numeric", "Round to the nearest integer, ties to even.")
sign = make_unary_function(
    "sign", "numeric", "Return -1, 0 or 1; for complex dtypes ``x / abs(x)``."
)
signbit = make_unary_function(
    "signbit",
    "real floating",
    "Return True where the sign bit is set, also for -0 and NaN.",
    "bool",
)
sin = make_unary_function("sin", "floating-point", "Compute the sine of angles in radians.")
sinh = make_unary_function("sinh", "floating-point", "Compute the hyperbolic sine.")
sqrt = make_unary_function("sqrt", "floating-point", "Compute the principal square root.")
square = make_unary_function("square", "numeric", "Square each element.")
tan = make_unary_function("tan", "floating-point", "Compute the tangent of angles in radians.")
tanh = make_unary_function("tanh", "floating-point", "Compute the hyperbolic tangent.")
trunc = make_unary_function("trunc", "real numeric", "Round to the nearest integer towards 0.")

add = make_binary_function("add", "numeric", "Add the operands.", of_bools="logical_or")
atan2 = make_binary_function(
    "atan2",
    "real floating",
    "Compute the angle of the point (x2, x1), in radians, over all four quadrants.",
)
bitwise_and = make_binary_function(
    "bitwise_and", "integer or boolean", "Return the bits that are set in both operands."
)
bitwise_left_shift = make_binary_function(
    "bitwise_left_shift",
    "integral",
    "Shift the bits of `x1` left by `x2`; 0 where `x2` is negative or not below the width.",
)
bitwise_or = make_binary_function(
    "bitwise_or", "integer or boolean", "Return the bits that are set in either operand."
)
bitwise_right_shift = make_binary_function(
    "bitwise_right_shift",
    "integral",
    """Shift the bits of `x1` right by `x2`, keeping the sign.

Where `x2` is negative or not below the width, only the sign is left: 0 or -1.""",
)
bitwise_xor = make_binary_function(
    "bitwise_xor", "integer or boolean", "Return the bits that are set in exactly one operand."
)
copysign = make_binary_function(
    "copysign", "real floating", "Return the magnitude of `x1` with the sign of `x2`."
)
divide = make_binary_function("divide", "floating-point", "Divide the operands.")
equal = make_binary_function(
    "equal", "any or narrow", "Return True where the operands are equal.", "bool"
)
floor_divide = make_binary_function(
    "floor_divide",
    "real numeric",
    """Divide and round towards minus infinity.

Integers divided by 0 give 0; the least integer divided by -1 wraps to itself.""",
)
greater = make_binary_function(
    "greater", "real numeric", "Return True where `x1` is greater than `x2`.", "bool"
)
greater_equal = make_binary_function(
    "greater_equal", "real numeric", "Return True where `x1` is at least `x2`.", "bool"
)
hypot = make_binary_function(
    "hypot", "real floating", "Compute ``sqrt(x1**2 + x2**2)`` without intermediate overflow."
)
less = make_binary_function(
    "less", "real numeric", "Return True where `x1` is less than `x2`.", "bool"
)
less_equal = make_binary_function(
    "less_equal", "real numeric", "Return True where `x1` is at most `x2`.", "bool"
)
logaddexp = make_binary_function(
    "logaddexp", "real floating", "Compute ``log(exp(x1) + exp(x2))`` without overflow."
)
logical_and = make_binary_function(
    "logical_and", "bool", "Return True where both operands are true.", "bool"
)
logical_or = make_binary_function(
    "logical_or", "bool", "Return True where at least one operand is true.", "bool"
)
logical_xor = make_binary_function(
    "logical_xor", "bool", "Return True where exactly one operand is true.", "bool"
)
_EITHER_ZERO = "NaN if either is NaN. For +0 and -0 the result may be either."
maximum = make_binary_function(
    "maximum", "real numeric", f"Return the greater operand; {_EITHER_ZERO}"
)
minimum = make_binary_function(
    "minimum", "real numeric", f"Return the lesser operand; {_EITHER_ZERO}"
)
multiply = make_binary_function(
    "multiply", "numeric", "Multiply the operands.", of_bools="logical_and"
)
nextafter = make_binary_function(
    "nextafter", "real floating", "Return the next number from `x1` towards `x2`."
)
not_equal = make_binary_function(
    "not_equal", "any or narrow", "Return True where the operands differ.", "bool"
)
pow = make_binary_function(
    "pow",
    "numeric",
    """Raise `x1` to the power of `x2`.

Integers with negative exponents give the exact result truncated: that of 1 and -1, else 0.""",
)
remainder = make_binary_function(
    "remainder",
    "real numeric",
    """Return the remainder of floor division, with the sign of `x2`.

Of integers by 0 it is 0.""",
)
subtract = make_binary_function("subtract", "numeric", "Subtract `x2` from `x1`.")

# The operands and the printed part of the result, for the example in each docstring.
_EXAMPLES = {
    "abs": ("[3 + 4j, -2]", "", "[5., 2.], dtype=float64"),
    "acos": ("[1.0, -1.0]", "", "[0.        , 3.14159265], dtype=float64"),
    "acosh": ("[1.0, 0.5]", "", "[ 0., nan], dtype=float64"),
    "asin": ("[0.0, 1.0]", "", "[0.        , 1.57079633], dtype=float64"),
    "asinh": ("[0.0, -0.0]", "", "[ 0., -0.], dtype=float64"),
    "atan": ("[0.0, tl.inf]", "", "[0.        , 1.57079633], dtype=float64"),
    "atanh": ("[0.0, 1.0]", "", "[ 0., inf], dtype=float64"),
    "bitwise_invert": ("[0, 5]", "", "[-1, -6], dtype=int64"),
    "ceil": ("[1.2, -1.2]", "", "[ 2., -1.], dtype=float64"),
    "conj": ("[1 + 2j]", "", "[1.-2.j], dtype=complex128"),
    "cos": ("[0.0, tl.pi]", "", "[ 1., -1.], dtype=float64"),
    "cosh": ("[0.0, -tl.inf]", "", "[ 1., inf], dtype=float64"),
    "exp": ("[0.0, 1.0, -tl.inf]", "", "[1.        , 2.71828183, 0.        ], dtype=float64"),
    "expm1": ("[0.0, 1e-20]", "", "[0.e+00, 1.e-20], dtype=float64"),
    "floor": ("[1.2, -1.2]", "", "[ 1., -2.], dtype=float64"),
    "isfinite": ("[1.0, tl.inf, tl.nan]", "", "[ True, False, False], dtype=bool"),
    "isinf": ("[1.0, tl.inf, tl.nan]", "", "[False,  True, False], dtype=bool"),
    "isnan": ("[1.0, tl.inf, tl.nan]", "", "[False, False,  True], dtype=bool"),
    "log": ("[1.0, tl.e, 0.0]", "", "[  0.,   1., -inf], dtype=float64"),
    "log10": ("[1000.0, 0.01]", "", "[ 3., -2.], dtype=float64"),
    "log1p": ("[0.0, 1e-20]", "", "[0.e+00, 1.e-20], dtype=float64"),
    "log2": ("[8.0, 0.5]", "", "[ 3., -1.], dtype=float64"),
    "logical_not": ("[True, False]", "", "[False,  True], dtype=bool"),
    "negative": ("[1.0, 0.0]", "", "[-1., -0.], dtype=float64"),
    "positive": ("[-1, 2]", "", "[-1,  2], dtype=int64"),
    "reciprocal": ("[4.0, 0.0]", "", "[0.25,  inf], dtype=float64"),
    "sign": ("[-2.5, 0.0, 7.0]", "", "[-1.,  0.,  1.], dtype=float64"),
    "signbit": ("[-0.0, 1.0]", "", "[ True, False], dtype=bool"),
    "sin": ("[0.0, tl.pi / 2]", "", "[0., 1.], dtype=float64"),
    "sinh": ("[0.0, -tl.inf]", "", "[  0., -inf], dtype=float64"),
    "sqrt": ("[4.0, -1.0]", "", "[ 2., nan], dtype=float64"),
    "square": ("[-3, 4]", "", "[ 9, 16], dtype=int64"),
    "tan": ("[0.0, tl.pi / 4]", "", "[0., 1.], dtype=float64"),
    "tanh": ("[0.0, tl.inf]", "", "[0., 1.], dtype=float64"),
    "trunc": ("[1.7, -1.7]", "", "[ 1., -1.], dtype=float64"),
    "add": ("[1, 2]", ", 10", "[11, 12], dtype=int64"),
    "atan2": ("[1.0, -1.0]", ", -1.0", "[ 2.35619449, -2.35619449], dtype=float64"),
    "bitwise_and": ("[12, 10]", ", 6", "[4, 2], dtype=int64"),
    "bitwise_left_shift": ("[1, 3]", ", tl.asarray([2, 64])", "[4, 0], dtype=int64"),
    "bitwise_or": ("[12, 1]", ", 6", "[14,  7], dtype=int64"),
    "bitwise_right_shift": ("[8, -8]", ", tl.asarray([2, 64])", "[ 2, -1], dtype=int64"),
    "bitwise_xor": ("[12, 6]", ", 6", "[10,  0], dtype=int64"),
    "copysign": ("[1.0, -2.0]", ", -0.0", "[-1., -2.], dtype=float64"),
    "divide": ("[1, 2]", ", 4", "[0.25, 0.5 ], dtype=float64"),
    "equal": ("[1.0, tl.nan]", ", tl.asarray([1.0, tl.nan])", "[ True, False], dtype=bool"),
    "floor_divide": ("[7, -7]", ", 2", "[ 3, -4], dtype=int64"),
    "greater": ("[1, 2, 3]", ", 2", "[False, False,  True], dtype=bool"),
    "greater_equal": ("[1, 2, 3]", ", 2", "[False,  True,  True], dtype=bool"),
    "hypot": ("[3.0, tl.inf]", ", tl.asarray([4.0, tl.nan])", "[ 5., inf], dtype=float64"),
    "less": ("[1, 2, 3]", ", 2", "[ True, False, False], dtype=bool"),
    "less_equal": ("[1, 2, 3]", ", 2", "[ True,  True, False], dtype=bool"),
    "logaddexp": ("[1000.0]", ", 1000.0", "[1000.69314718], dtype=float64"),
    "logical_and": ("[True, True]", ", tl.asarray([True, False])", "[ True, False], dtype=bool"),
    "logical_or": ("[False, False]", ", tl.asarray([True, False])", "[ True, False], dtype=bool"),
    "logical_xor": ("[True, True]", ", tl.asarray([True, False])", "[False,  True], dtype=bool"),
    "maximum": ("[1.0, tl.nan]", ", 2.0", "[ 2., nan], dtype=float64"),
    "minimum": ("[1.0, tl.nan]", ", 2.0", "[ 1., nan], dtype=float64"),
    "multiply": ("[2, 3]", ", 10", "[20, 30], dtype=int64"),
    "nextafter": ("[0.0, 2.0]", ", 2.0", "[5.e-324, 2.e+000], dtype=float64"),
    "not_equal": ("[1.0, tl.nan]", ", tl.asarray([1.0, tl.nan])", "[False,  True], dtype=bool"),
    "pow": ("[2, -1, 2]", ", tl.asarray([10, -1, -1])", "[1024,   -1,    0], dtype=int64"),
    "remainder": ("[7, -7]", ", 3", "[1, 2], dtype=int64"),
    "subtract": ("[5, 7]", ", 6", "[-1,  1], dtype=int64"),
}
_EXAMPLE = """
>>> import tensorlayout as tl
>>> tl.{}(tl.asarray({}){})
Tensor({}, device='cpu')
"""

for _name, _shown in _EXAMPLES.items():
    globals()[_name].__doc__ += _EXAMPLE.format(_name, *_shown)


_CLIP = Elementwise("clip", "real numeric")
# Key: whether there is a lower bound, and an upper bound.
_CLIPS = {
    (False, False): Elementwise("clip", "real numeric", does="positive"),
    (True, False): Elementwise("clip", "real numeric", does="maximum"),
    (False, True): Elementwise("clip", "real numeric", does="minimum"),
    (True, True): _CLIP,
}
_REAL_SCALARS = frozenset({int, float})


def clip(
    x: Tensor,
    /,
    min: Tensor | float | NumpyOperand | None = None,
    max: Tensor | float | NumpyOperand | None = None,
) -> Tensor:
    """Return each element moved to the nearest value between `min` and `max`.

    `min` and `max` are None for no bound, Python scalars, or tensors that broadcast with `x`; they
    are first converted to the dtype of `x`, and bounds outside its range become its limits. dtypes:
    real numeric; the result has the dtype of `x`. Layout: the form that the operands of the
    result's shape have in common, else packed in the order of the first of them.

    Raises `TypeError` for any other dtype; `ValueError` if shapes do not broadcast.

    NaN stays NaN. Of a zero and a bound that is 0 of the other sign, either may be the result.

    Source: array API standard 2025.12, elementwise functions, `clip`.

    >>> import tensorlayout as tl
    >>> tl.clip(tl.asarray([1, 5, 9]), 2, 6)
    Tensor([2, 5, 6], dtype=int64, device='cpu')
    """
    plain = type(min) in _REAL_SCALARS and type(max) in _REAL_SCALARS
    if plain and type(x) is Tensor and x.spec.dtype.kind == "f":  # scalars keep the dtype
        return dispatch.call(_CLIP, (x.spec, type(min), type(max)), (x, min, max))
    x = arguments.as_tensor(x)
    if x.spec.dtype.kind not in "iuf" and not dtypes.is_in_category(x.dtype, "real numeric"):
        operands = [o for o in (x, min, max) if o is not None]
        dtype_names = ", ".join(str(getattr(o, "dtype", type(o).__name__)) for o in operands)
        error = dtype_category_error("real numeric", x.dtype, dtype_names)
        raise dispatch.named_error(_CLIP, error)
    bounds = [_clip_bound(x, bound) for bound in (min, max) if bound is not None]
    return dispatch.call_elementwise(_CLIPS[min is not None, max is not None], x, *bounds)


def _clip_bound(x: Tensor, limit: Any) -> Any:
    """Return `limit` as a bound that keeps the dtype of `x`, on the device of `x`."""
    if type(limit) is int:
        return limit
    arguments.check_no_numpy_arrays((limit,), x.device)
    bound = arguments.as_operand(limit)
    if not isinstance(bound, Tensor):
        kind = bound.spec if isinstance(bound, arguments.UnknownScalar) else type(bound)
        # A float beside integers would promote them to float64; as a tensor it is converted to the
        # dtype of `x` below.
        if kind is not float or dtypes.promote_with_scalar(x.dtype, float) == x.dtype:
            return bound
        bound = arguments.as_operand(np.float64(bound))
    if dtypes.promote_dtypes(x.dtype, bound.dtype) != x.dtype:
        if x.dtype.kind in "iu" and bound.dtype.kind in "iu":
            limits, own = np.iinfo(x.dtype), np.iinfo(bound.dtype)
            # Conversions from floats saturate, but integers keep their low bits, so that 300 would
            # become 44 in uint8. The bound is first clipped to the range that both dtypes have in
            # common.
            least, most = builtins.max(limits.min, own.min), builtins.min(limits.max, own.max)
            bound = dispatch.call_elementwise(_CLIP, bound, least, most)
        bound = copy_tensor("clip", bound, None, x.dtype)
    return bound if isinstance(limit, Tensor) else move_to_device(bound, x.device)


_REAL_PART = Part("real", 0)
_IMAG_PART = Part("imag", 1)
_REAL = View("real", lambda layout: layout)
_IMAG = Elementwise("imag", "numeric")


def round(a: Tensor, decimals: SupportsIndex = 0, out: Tensor | None = None) -> Tensor:
    """Return the nearest numbers with `decimals` decimals, ties to even.

    - `decimals`: negative values round to tens, hundreds, …; computed in the dtype of `a`, as
      ``round(a * 10**decimals) / 10**decimals``.
    - `out`: receives the result.

    dtypes: numeric, kept; integers are unchanged. Layout: the form of `a`.

    Raises `TypeError` for bool; `ValueError` if `decimals` is beyond -308 or 308.

    Source: array API standard 2025.12, elementwise functions, `round`.

    >>> import tensorlayout as tl
    >>> tl.round(tl.asarray([0.5, 1.5, 2.5])), tl.round(tl.asarray([2.675]), 1)
    (Tensor([0., 2., 2.], dtype=float64, device='cpu'), Tensor([2.7], dtype=float64, device='cpu'))
    """
    if type(decimals) is int and decimals == 0 and out is None:
        return _round(a)
    a, places = arguments.as_tensor(a), arguments.as_integer("decimals", decimals)
    # 10.0 ** 309 overflows.
    if builtins.abs(places) > 308:
        raise ValueError(f"decimals must be from -308 to 308, got {places}")
    if a.dtype == dtypes.bool:
        raise TypeError("only numeric dtypes are allowed, got bool")
    whole = dtypes.is_in_category(a.dtype, "integral")
    if places == 0 or (whole and places > 0):
        return store_in_out("round", _round(a), out)
    power = 10.0 ** builtins.abs(places)
    # Powers of ten up to 10**22 are exact in float64, and their reciprocals are not: so negative
    # decimals divide first, instead of multiplying by 10**-n.
    there, back = (multiply, divide) if places > 0 else (divide, multiply)
    result = back(_round(there(a, power)), power)
    return store_in_out("round", astype(result, a.dtype, copy=False), out)


round.operation = _round.operation  # type: ignore[attr-defined]


def real(val: Tensor) -> Tensor:
    """Return a view of the real part of each element.

    dtypes: numeric and bool; the result has the dtype of the real part. Layout: every second slot
    of a complex tensor, counted in slots of half the size; the same slots of any other.

    Raises `TypeError` for any other dtype.

    Source: array API standard 2025.12, elementwise functions, `real`.

    >>> import tensorlayout as tl
    >>> z = tl.asarray([1 + 2j, 3 + 4j])
    >>> tl.real(z)[...] = 0
    >>> z
    Tensor([0.+2.j, 0.+4.j], dtype=complex128, device='cpu')
    """
    x = arguments.as_tensor(val)
    return x if x.dtype == dtypes.bool else _complex_part(_REAL_PART, _REAL, x)


def imag(val: Tensor) -> Tensor:
    """Return the imaginary part of each element: a view of a complex tensor, else new zeros.

    dtypes: numeric and bool; the result has the dtype of the real part. Layout: every second slot
    of a complex tensor, counted in slots of half the size; the form of any other.

    Raises `TypeError` for any other dtype.

    Source: array API standard 2025.12, elementwise functions, `imag`.

    >>> import tensorlayout as tl
    >>> z = tl.asarray([1 + 2j, 3 + 4j])
    >>> tl.imag(z)
    Tensor([2., 4.], dtype=float64, device='cpu', layout='(2,):(2,)+1')
    """
    x = arguments.as_tensor(val)
    if x.dtype == dtypes.bool:
        # Differs nowhere from itself: False everywhere, in the form of `x`.
        return logical_xor(x, x)
    return _complex_part(_IMAG_PART, _IMAG, x)


def _complex_part(of_complex: Part, of_others: View | Elementwise, x: Tensor) -> Tensor:
    check_category("numeric", x.dtype)
    is_complex = dtypes.is_in_category(x.dtype, "complex floating")
    return dispatch.call(of_complex if is_complex else of_others, (x.spec,), (x,))
