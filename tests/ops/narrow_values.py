"""Values of narrow types by the formulas of their formats, in exact arithmetic."""

import bisect
import functools
import itertools
import math
from fractions import Fraction

# Bits of the exponent and of the fraction, the bias, and the contents that are no finite numbers,
# without the sign: of infinity, of the quiet NaN. Sources: OCP "8-bit Floating Point Specification"
# and "Microscaling Formats"; for fnuz, whose one NaN is where -0 would be, and b11, ONNX and JAX.
FLOATS = {
    "float8_e3m4": (3, 4, 3, 0x70, 0x78),
    "float8_e4m3": (4, 3, 7, 0x78, 0x7C),
    "float8_e4m3b11fnuz": (4, 3, 11, None, "minus zero"),
    "float8_e4m3fn": (4, 3, 7, None, 0x7F),
    "float8_e4m3fnuz": (4, 3, 8, None, "minus zero"),
    "float8_e5m2": (5, 2, 15, 0x7C, 0x7E),
    "float8_e5m2fnuz": (5, 2, 16, None, "minus zero"),
    "float6_e2m3fn": (2, 3, 1, None, None),
    "float6_e3m2fn": (3, 2, 3, None, None),
    "float4_e2m1fn": (2, 1, 1, None, None),
}


INTEGERS = {"int1": 1, "int2": 2, "int4": 4, "uint1": 1, "uint2": 2, "uint4": 4}


NAMES = [*FLOATS, "float8_e8m0fnu", *INTEGERS]


def bits_of(name):
    if name in INTEGERS:
        return INTEGERS[name]
    return 8 if name == "float8_e8m0fnu" else 1 + sum(FLOATS[name][:2])


def value_of(name, content):
    """The number in the low bits of a byte: a Fraction, or a float that is none."""
    bits = bits_of(name)
    content &= 2**bits - 1
    if name in INTEGERS:
        return Fraction(content - (2**bits if name[0] == "i" and content >> (bits - 1) else 0))
    if name == "float8_e8m0fnu":
        return math.nan if content == 255 else Fraction(2) ** (content - 127)
    _, fraction_bits, bias, infinity, nan = FLOATS[name]
    sign, rest = content >> (bits - 1), content & (2 ** (bits - 1) - 1)
    if nan == "minus zero" and content == 2 ** (bits - 1):
        return math.nan
    if infinity is not None and rest >= infinity:
        return (math.inf if rest == infinity else math.nan) * (-1) ** sign
    if infinity is None and isinstance(nan, int) and rest == nan:
        return math.nan
    exponent, fraction = rest >> fraction_bits, rest % 2**fraction_bits
    size = Fraction(fraction, 2**fraction_bits)
    size = (
        (1 + size) * Fraction(2) ** (exponent - bias)
        if exponent
        else size * Fraction(2) ** (1 - bias)
    )
    return -size if sign else size


def number_of(name, content):
    """The same as Python's number: -0 and the sign of a NaN as floats have them."""
    number = value_of(name, content)
    if name in INTEGERS:
        return int(number)
    negative = name in FLOATS and content >> (bits_of(name) - 1) & 1
    if math.isnan(number):
        one_nan = name not in FLOATS or FLOATS[name][4] == "minus zero"
        return math.copysign(math.nan, -1 if negative and not one_nan else 1)
    return -0.0 if number == 0 and negative else float(number)


@functools.cache
def steps_of(name):
    """The finite sizes of a float type by their codes, the middles between them, and what follows.

    All of them are exact in float64, and Python compares floats with integers exactly.
    """
    count = 2 ** (bits_of(name) - 1) if name in FLOATS else 255
    sizes = [float(v) for c in range(count) if math.isfinite(v := value_of(name, c))]
    following = 2 * sizes[-1] - sizes[-2] if name in FLOATS else 2 * sizes[-1]
    return sizes, [(a + b) / 2 for a, b in itertools.pairwise([*sizes, following])]


def content_of(name, number, saturate):
    """The byte that a number becomes: by the distance to the values of the type."""
    bits = bits_of(name)
    if name in INTEGERS:
        least = 0 if name[0] == "u" else -(2 ** (bits - 1))
        most = least + 2**bits - 1
        if isinstance(number, int) and not saturate:
            return number % 2**bits
        if math.isnan(number):
            return 0
        return math.trunc(max(least, min(most, number))) % 2**bits
    signed, sign = name in FLOATS, 2 ** (bits - 1)
    infinity, nan = FLOATS[name][3:] if signed else (None, 255)
    negative = math.copysign(1, number) < 0 if isinstance(number, float) else number < 0
    if math.isnan(number):
        both = isinstance(nan, int) and signed
        return (nan | sign * negative) if both else sign if signed else nan
    if negative and not signed:
        return nan if number else 0
    sizes, middles = steps_of(name)
    result = bisect.bisect_left(middles, abs(number))
    if result < len(middles) and abs(number) == middles[result]:
        result += result % 2 if signed else 1  # a significand of one bit is odd
    if result == len(sizes):
        largest = saturate or nan is None
        out_of_range = sign if nan == "minus zero" else nan if infinity is None else infinity
        result = result - 1 if largest else out_of_range
    if not negative or (nan == "minus zero" and result in (0, sign)):
        return result
    return result | sign
