"""Conversions from and to narrow types as kernels make them: every content, every boundary.

The header alone, built for the host (tests/kernels/narrow_harness.cpp), is held against exact
arithmetic: Python compares integers and floats exactly, and midpoints of narrow values are floats.
"""

import ctypes
import math
import os
import shutil
import subprocess
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorlayout import dtypes
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.kernels_path import header_directory

HARNESS = Path(__file__).parents[1] / "kernels" / "narrow_harness.cpp"

# Exponent bits, fraction bits, bias; the bytes of the largest value, of what is beyond it, and of
# NaN. From the specifications of OCP (8-bit and microscaling formats) and the notes of ml_dtypes.
FLOATS = {
    "float8_e3m4": (3, 4, 3, 0x6F, 0x70, 0x78),
    "float8_e4m3": (4, 3, 7, 0x77, 0x78, 0x7C),
    "float8_e4m3b11fnuz": (4, 3, 11, 0x7F, 0x80, 0x80),
    "float8_e4m3fn": (4, 3, 7, 0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": (4, 3, 8, 0x7F, 0x80, 0x80),
    "float8_e5m2": (5, 2, 15, 0x7B, 0x7C, 0x7E),
    "float8_e5m2fnuz": (5, 2, 16, 0x7F, 0x80, 0x80),
    "float6_e2m3fn": (2, 3, 1, 0x1F, 0x1F, 0x20),
    "float6_e3m2fn": (3, 2, 3, 0x1F, 0x1F, 0x20),
    "float4_e2m1fn": (2, 1, 1, 0x07, 0x07, 0x08),
}
SCALE = "float8_e8m0fnu"
INTEGERS = {"int1": 1, "int2": 2, "int4": 4, "uint1": 1, "uint2": 2, "uint4": 4}
NARROW = [*FLOATS, SCALE, *INTEGERS]
WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
REAL = ["float16", "bfloat16", "float32", "float64"]
BYTES = np.arange(256, dtype=np.uint8)
SATURATE = pytest.mark.parametrize("saturate", [False, True])


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.fixture(name="convert", scope="module")
def _convert(tmp_path_factory):
    """``convert(array, dtype, saturate)``, by the harness."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("optional: a C++ compiler builds the conversions for the host")
    target = tmp_path_factory.mktemp("narrow") / "narrow.so"
    command = [compiler, "-std=c++17", "-ffp-contract=off", "-Wall", "-Wextra", "-O0"]
    command += ["-shared", "-fPIC", f"-I{header_directory()}", str(HARNESS), "-o", str(target)]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(target))
    library.row_text.restype = ctypes.c_char_p
    count = library.row_count()
    rows = {tuple(library.row_text(n, k).decode() for k in (0, 1)): n for n in range(count)}

    def convert(array, name, saturate=False):
        array, found = np.ascontiguousarray(array), np.empty(array.shape, dtype_of(name))
        row = rows[c_type(found.dtype, saturate), c_type(array.dtype)]
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (found, array)]
        library.run_row(row, ctypes.c_int64(array.size), *pointers)
        return found

    return convert


# ---- What is expected


@cache
def values(name):
    """The exact value of each byte of a float type; None for NaN."""
    if name == SCALE:
        return [*[2.0 ** (byte - 127) for byte in range(255)], None]
    exponents, fraction, bias, most, beyond, nan = FLOATS[name]
    sign_bit, found = 1 << exponents + fraction, []
    for byte in range(256):
        rest, sign = byte & (sign_bit - 1), -1.0 if byte & sign_bit else 1.0
        exponent, digits = rest >> fraction, rest & ((1 << fraction) - 1)
        unit = 2.0 ** (max(exponent, 1) - bias - fraction)
        value = sign * unit * (digits + ((1 << fraction) if exponent else 0))
        if nan == beyond == sign_bit and byte & (2 * sign_bit - 1) == sign_bit:
            value = None
        elif rest > most:
            value = sign * math.inf if rest == beyond != nan else None
        found.append(value)
    return found


@cache
def midpoints(name):
    """Between each of the values from 0 on and the next, the last of which does not exist."""
    most = 0xFE if name == SCALE else FLOATS[name][3]
    upwards = values(name)[: most + 1]
    further = 2 * upwards[-1] if name == SCALE else 2 * upwards[-1] - upwards[-2]
    return [(a + b) / 2 for a, b in zip(upwards, [*upwards[1:], further], strict=True)]


def nearest(number, name, saturate):
    """The byte of a Python float or integer in a float type."""
    negative = math.copysign(1, number) < 0 if isinstance(number, float) else number < 0
    if name == SCALE:
        if number != number or number < 0:
            return 0xFF
        exponent = bisect_left(midpoints(name), number)
        exponent += exponent < 255 and midpoints(name)[exponent] == number  # ties go up
        return min(exponent, 0xFE) if saturate else exponent
    exponents, fraction, _, most, beyond, nan = FLOATS[name]
    sign = (1 << exponents + fraction) * negative
    if number != number:
        return nan | sign if nan < 0x80 and beyond != most else nan
    size = abs(number)
    byte = bisect_left(midpoints(name), size)
    if byte <= most and midpoints(name)[byte] == size:
        byte += byte % 2
    if byte > most:
        byte = most if saturate else beyond
    if byte == 0 and nan == 0x80:  # no -0
        sign = 0
    return byte | sign


def limited(number, name, saturate, whole):
    """The byte of a Python float or integer in an integer type."""
    bits = INTEGERS[name]
    least, most = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if whole and not saturate:
        return number % 2**bits
    if number != number:
        return 0
    return int(min(max(number, least), most)) % 2**bits


def expected(array, name, saturate):
    whole = array.dtype.kind in "iub" or array.dtype.name in INTEGERS
    with np.errstate(invalid="ignore"):  # signalling NaNs
        numbers = list(map(int, array)) if whole else array.astype(np.float64).tolist()
    if array.dtype.name.endswith("fnuz"):  # whose only NaN has no sign
        numbers = [math.nan if n != n else n for n in numbers]
    if name in INTEGERS:
        return np.array([limited(n, name, saturate, whole) for n in numbers], np.uint8)
    return np.array([nearest(n, name, saturate) for n in numbers], np.uint8)


def check(convert, array, name, saturate):
    found, wanted = convert(array, name, saturate).view(np.uint8), expected(array, name, saturate)
    wrong = np.flatnonzero(found != wanted)[:5]
    shown = [(array[n], hex(found[n]), hex(wanted[n])) for n in wrong]
    assert not shown, f"{array.dtype} to {name}: source, found, expected"


# ---- From narrow types


@pytest.mark.parametrize("name", FLOATS)
def test_what_is_expected_is_what_ml_dtypes_has(name):
    known = BYTES[: 2 ** dtypes.bits_of(dtype_of(name))].view(dtype_of(name)).astype(np.float64)
    mine = np.array([math.nan if v is None else v for v in values(name)[: len(known)]])
    np.testing.assert_array_equal(mine, known)
    np.testing.assert_array_equal(np.signbit(mine[known == 0]), np.signbit(known[known == 0]))


@pytest.mark.parametrize("name", NARROW)
def test_every_byte_has_its_value(convert, name):
    """The bits above those of the type do not count."""
    low = BYTES & (2 ** dtypes.bits_of(dtype_of(name)) - 1)
    known = low.view(dtype_of(name)).astype(np.float64)
    if name.endswith("fnuz"):  # whose only NaN has no sign
        known[0x80] = math.nan
    source = BYTES.view(dtype_of(name))
    for wide in (np.float32, np.float64):
        found = convert(source, wide.__name__)
        np.testing.assert_array_equal(found, known.astype(wide))
        np.testing.assert_array_equal(np.signbit(found), np.signbit(known))
    for wide in (np.complex64, np.complex128):
        np.testing.assert_array_equal(convert(source, wide.__name__), known.astype(wide))
    np.testing.assert_array_equal(convert(source, "bool"), known != 0)
    with np.errstate(over="ignore"):
        for other in ("float16", "bfloat16"):
            wanted = known.astype(dtype_of(other)).astype(np.float64)
            np.testing.assert_array_equal(convert(source, other).astype(np.float64), wanted)
    for other in WHOLE:
        limit = np.iinfo(other)
        if name in INTEGERS:
            wanted = known.astype(np.int64).astype(other)
        else:
            numbers = [0 if v != v else min(max(v, limit.min), limit.max) for v in known.tolist()]
            wanted = np.array([int(v) for v in numbers], other)
        np.testing.assert_array_equal(convert(source, other), wanted)


@SATURATE
@pytest.mark.parametrize("name", NARROW)
def test_from_every_narrow_type_to_every_other(convert, name, saturate):
    for source in NARROW:
        low = BYTES & (2 ** dtypes.bits_of(dtype_of(source)) - 1)
        array = low.view(dtype_of(source))
        if source == name:
            assert convert(array, name).tobytes() == array.tobytes()
        else:
            check(convert, array, name, saturate)


# ---- To narrow types


@SATURATE
@pytest.mark.parametrize("name", NARROW)
def test_every_float_of_16_bits(convert, name, saturate):
    every = np.arange(1 << 16, dtype=np.uint16)
    for source in ("float16", "bfloat16"):
        check(convert, every.view(dtype_of(source)), name, saturate)


def boundaries(name):
    """Numbers around which a type decides, of both signs; and what is special in floats."""
    if name in INTEGERS:
        points = [n / 2 for n in range(40)]
    else:
        points = [v for v in values(name) if v is not None and abs(v) < math.inf]
        points += midpoints(name)
    points += [2.0**-1074, 2.0**-149, 2.0**-126, 2.0**127, 2.0**128, 2.0**1000, 1e300, math.inf]
    points += [1 + 2.0**-30, math.nan, 0.0]
    return np.array([sign * point for point in points for sign in (1, -1)])


@SATURATE
@pytest.mark.parametrize("name", NARROW)
def test_boundaries_and_their_neighbours(convert, name, saturate):
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for source in (np.float32, np.float64):
            points = boundaries(name).astype(source)
            around = [np.nextafter(points, source(to)) for to in (math.inf, -math.inf)]
            check(convert, np.concatenate([points, *around]), name, saturate)
        # Neighbours of floats among doubles, which a first rounding to float would lose.
        points = boundaries(name).astype(np.float32).astype(np.float64)
    around = [np.nextafter(points, to) for to in (math.inf, -math.inf)]
    check(convert, np.concatenate([points, *around]), name, saturate)


@SATURATE
@pytest.mark.parametrize("name", NARROW)
def test_integers_around_every_boundary(convert, name, saturate):
    points = [] if name in INTEGERS else [Fraction(v) for v in midpoints(name)]
    points += [Fraction(k << n) for n in range(64) for k in (1, 3, 5, 9)]
    near = {math.floor(p) + d for p in points if p < 2**64 for d in (-1, 0, 1, 2)}
    every = sorted({sign * n for n in near for sign in (1, -1)} | set(range(-600, 600)))
    for source in WHOLE:
        limit = np.iinfo(source)
        fits = [n for n in every if limit.min <= n <= limit.max]
        check(convert, np.array([limit.min, *fits, limit.max], source), name, saturate)
    check(convert, np.array([False, True]), name, saturate)


@given(
    st.sampled_from(NARROW),
    st.lists(st.floats(), min_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.booleans(),
)
def test_any_number(convert, name, floats, integers, saturate):
    check(convert, np.array(floats), name, saturate)
    check(convert, np.array(integers, np.int64), name, saturate)


def test_any_byte_of_bool_but_0_is_true(convert):
    assert convert(BYTES.view(bool), "float4_e2m1fn").view(np.uint8).tolist() == [0] + [2] * 255
    assert convert(BYTES.view(bool), "int1", True).view(np.uint8).tolist() == [0] * 256
