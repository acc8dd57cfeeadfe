"""NumPy's aliases of functions, bound to the same objects."""

from __future__ import annotations

from tensorlayout.functions import elementwise, statistical

__all__ = [
    "absolute",
    "amax",
    "amin",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "bitwise_not",
    "conjugate",
    "invert",
    "left_shift",
    "mod",
    "power",
    "right_shift",
    "true_divide",
]

absolute = elementwise.abs
arccos = elementwise.acos
arccosh = elementwise.acosh
arcsin = elementwise.asin
arcsinh = elementwise.asinh
arctan = elementwise.atan
arctan2 = elementwise.atan2
arctanh = elementwise.atanh
bitwise_not = elementwise.bitwise_invert
conjugate = elementwise.conj
invert = elementwise.bitwise_invert
left_shift = elementwise.bitwise_left_shift
mod = elementwise.remainder
power = elementwise.pow
right_shift = elementwise.bitwise_right_shift
true_divide = elementwise.divide
amax = statistical.max
amin = statistical.min
around = elementwise.round
