"""Elementwise functions as NumPy and exact arithmetic have them, and Python's operators."""

import operator
from fractions import Fraction

import numpy as np
from tensors import BFLOAT16, DTYPES, host


def _nextafter(x, y):
    """`y` where both are equal, which NumPy's float16 is not for zeros of two signs."""
    return np.where(x == y, y, _next_number(x, y)).astype(x.dtype)


def _next_number(x, y):
    """By the bits, which count up with the magnitude."""
    if x.dtype != BFLOAT16:
        return np.nextafter(x, y)
    number = x.view(np.int16).astype(np.int32)
    ordered = np.where(number < 0, -32768 - number, number)
    stepped = ordered + np.sign(y.astype(np.float32) - x.astype(np.float32)).astype(np.int32)
    bits = np.where(stepped < 0, -32768 - stepped, stepped).astype(np.int16)
    from_zero = np.where(np.signbit(y), np.int16(-32767), np.int16(1))
    bits = np.where((x == 0) & (y != 0), from_zero, bits)
    result = np.where(x == y, y, bits.view(BFLOAT16))
    return np.where(np.isnan(x) | np.isnan(y), BFLOAT16.type(np.nan), result)


def power(x, y):
    """Of integers exactly; what the dtype does not hold wraps, quotients are cut towards 0."""
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    exact = [
        0 if a == 0 and b < 0 else int(Fraction(a) ** b)
        for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
    ]
    return np.array([n % 2**64 for n in exact], np.uint64).astype(x.dtype).reshape(x.shape)


def _itself(x):
    return x


def _imag(x):
    return x.imag.copy() if x.dtype.kind == "c" else np.zeros_like(x)


def _round(x):
    return x if x.dtype.kind in "iu" else np.rint(x)


# name: NumPy's function, the dtypes in the standard's words, what values it is tried at
ONE = {
    "abs": (np.abs, "numeric"),
    "acos": (np.arccos, "floating-point"),
    "acosh": (np.arccosh, "floating-point"),
    "asin": (np.arcsin, "floating-point"),
    "asinh": (np.arcsinh, "floating-point"),
    "atan": (np.arctan, "floating-point"),
    "atanh": (np.arctanh, "floating-point"),
    "bitwise_invert": (np.invert, "integer or boolean"),
    "ceil": (np.ceil, "real numeric"),
    "conj": (np.conj, "numeric"),
    "cos": (np.cos, "floating-point"),
    "cosh": (np.cosh, "floating-point"),
    "exp": (np.exp, "floating-point"),
    "expm1": (np.expm1, "floating-point"),
    "floor": (np.floor, "real numeric"),
    "imag": (_imag, "numeric"),
    "isfinite": (np.isfinite, "numeric"),
    "isinf": (np.isinf, "numeric"),
    "isnan": (np.isnan, "numeric"),
    "log": (np.log, "floating-point"),
    "log10": (np.log10, "floating-point"),
    "log1p": (np.log1p, "floating-point"),
    "log2": (np.log2, "floating-point"),
    "logical_not": (np.logical_not, "bool"),
    "negative": (np.negative, "numeric"),
    "positive": (_itself, "numeric"),
    "real": (np.real, "numeric"),
    "reciprocal": (np.reciprocal, "floating-point"),
    "round": (_round, "numeric"),
    "sign": (np.sign, "numeric"),
    "signbit": (np.signbit, "real floating"),
    "sin": (np.sin, "floating-point"),
    "sinh": (np.sinh, "floating-point"),
    "sqrt": (np.sqrt, "floating-point"),
    "square": (np.square, "numeric"),
    "tan": (np.tan, "floating-point"),
    "tanh": (np.tanh, "floating-point"),
    "trunc": (np.trunc, "real numeric"),
}


TWO = {
    "add": (np.add, "numeric"),
    "atan2": (np.arctan2, "real floating"),
    "bitwise_and": (np.bitwise_and, "integer or boolean"),
    "bitwise_left_shift": (np.left_shift, "integral"),
    "bitwise_or": (np.bitwise_or, "integer or boolean"),
    "bitwise_right_shift": (np.right_shift, "integral"),
    "bitwise_xor": (np.bitwise_xor, "integer or boolean"),
    "copysign": (np.copysign, "real floating"),
    "divide": (np.true_divide, "floating-point"),
    "equal": (np.equal, "any"),
    "floor_divide": (np.floor_divide, "real numeric", "finite"),
    "greater": (np.greater, "real numeric"),
    "greater_equal": (np.greater_equal, "real numeric"),
    "hypot": (np.hypot, "real floating"),
    "less": (np.less, "real numeric"),
    "less_equal": (np.less_equal, "real numeric"),
    "logaddexp": (np.logaddexp, "real floating"),
    "logical_and": (np.logical_and, "bool"),
    "logical_or": (np.logical_or, "bool"),
    "logical_xor": (np.logical_xor, "bool"),
    "maximum": (np.maximum, "real numeric"),
    "minimum": (np.minimum, "real numeric"),
    "multiply": (np.multiply, "numeric"),
    "nextafter": (_nextafter, "real floating"),
    "not_equal": (np.not_equal, "any"),
    "pow": (power, "numeric", "exponents"),
    "remainder": (np.remainder, "real numeric", "finite"),
    "subtract": (np.subtract, "numeric"),
}


THREE = {"clip": (np.clip, "real numeric")}


TABLE = ONE | TWO | THREE


WHOLE = DTYPES["integer or boolean"]  # as floating-point operands they are float64


OF_BOOLS = {
    "add": np.logical_or,
    "multiply": np.logical_and,
    "real": _itself,
    "imag": np.zeros_like,
}


IN_NUMPYS_BFLOAT16 = ("nextafter", "signbit", "copysign", "positive", "imag", "real")


def oracle(name, *arrays):
    """NumPy's answer; for bfloat16 that in float32, rounded."""
    function = TABLE[name][0]
    with np.errstate(all="ignore"):
        if arrays[0].dtype != BFLOAT16 or name in IN_NUMPYS_BFLOAT16:
            return host(function(*arrays))
        result = host(function(*(a.astype(np.float32) for a in arrays)))
        return result.astype(BFLOAT16) if result.dtype == np.float32 else result


OPERATORS = {
    operator.add: ("add", "numeric"),
    operator.sub: ("subtract", "numeric"),
    operator.mul: ("multiply", "numeric"),
    operator.truediv: ("divide", "floating-point"),
    operator.floordiv: ("floor_divide", "real numeric"),
    operator.mod: ("remainder", "real numeric"),
    operator.pow: ("pow", "numeric"),
    operator.and_: ("bitwise_and", "integer or boolean"),
    operator.or_: ("bitwise_or", "integer or boolean"),
    operator.xor: ("bitwise_xor", "integer or boolean"),
    operator.lshift: ("bitwise_left_shift", "integral"),
    operator.rshift: ("bitwise_right_shift", "integral"),
}


COMPARISONS = {
    operator.lt: ("less", "real numeric"),
    operator.le: ("less_equal", "real numeric"),
    operator.gt: ("greater", "real numeric"),
    operator.ge: ("greater_equal", "real numeric"),
    operator.eq: ("equal", "any"),
    operator.ne: ("not_equal", "any"),
}
