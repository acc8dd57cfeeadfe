"""Conversions from and to narrow types as kernels make them: every content, every boundary.

The header alone, built for the host (tests/kernels/narrow_harness.cpp), is held against the exact
arithmetic of `narrow_values`.
"""

import ctypes
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from host_library import host_library
from narrow_values import INTEGERS, bits_of, content_of, number_of, steps_of
from narrow_values import NAMES as NARROW

from tensorlayout.cuda.engine.kernel_shapes import c_type

WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
REAL = ["float16", "bfloat16", "float32", "float64"]
BYTES = np.arange(256, dtype=np.uint8)
SATURATE = pytest.mark.parametrize("saturate", [False, True])


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.fixture(name="convert", scope="module")
def _convert(tmp_path_factory):
    """``convert(array, dtype, saturate)``, by the harness."""
    library = host_library("narrow_harness", tmp_path_factory.mktemp("narrow"), "-O0")
    library.row_text.restype = ctypes.c_char_p
    count = library.row_count()
    rows = {tuple(library.row_text(n, k).decode() for k in (0, 1)): n for n in range(count)}

    def convert(array, name, saturate=False):
        array, results = np.ascontiguousarray(array), np.empty(array.shape, dtype_of(name))
        row = rows[c_type(results.dtype, saturate), c_type(array.dtype)]
        pointers = [ctypes.c_void_p(item.ctypes.data) for item in (results, array)]
        library.run_row(row, ctypes.c_int64(array.size), *pointers)
        return results

    return convert


# ---- What is expected


def expected(array, name, saturate):
    whole = array.dtype.kind in "iub" or array.dtype.name in INTEGERS
    with np.errstate(invalid="ignore"):  # signalling NaNs
        numbers = list(map(int, array)) if whole else array.astype(np.float64).tolist()
    if array.dtype.name.endswith("fnuz"):  # whose only NaN has no sign
        numbers = [math.nan if n != n else n for n in numbers]
    return np.array([content_of(name, n, saturate) for n in numbers], np.uint8)


def check(convert, array, name, saturate):
    results, wanted = convert(array, name, saturate).view(np.uint8), expected(array, name, saturate)
    wrong = np.flatnonzero(results != wanted)[:5]
    shown = [(array[n], hex(results[n]), hex(wanted[n])) for n in wrong]
    assert not shown, f"{array.dtype} to {name}: source, found, expected"


# ---- From narrow types


@pytest.mark.parametrize("name", NARROW)
def test_every_byte_has_its_value(convert, name):
    """The bits above those of the type do not count."""
    low = BYTES & (2 ** bits_of(name) - 1)
    known = low.view(dtype_of(name)).astype(np.float64)
    if name.endswith("fnuz"):  # whose only NaN has no sign
        known[0x80] = math.nan
    source = BYTES.view(dtype_of(name))
    for wide in (np.float32, np.float64):
        result = convert(source, wide.__name__)
        np.testing.assert_array_equal(result, known.astype(wide))
        np.testing.assert_array_equal(np.signbit(result), np.signbit(known))
    for wide in (np.complex64, np.complex128):
        np.testing.assert_array_equal(convert(source, wide.__name__), known.astype(wide))
    np.testing.assert_array_equal(convert(source, "bool"), known != 0)
    for other in ("float16", "bfloat16"):
        with np.errstate(over="ignore"):
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
        low = BYTES & (2 ** bits_of(source) - 1)
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
        points = [v for c in range(256) if math.isfinite(v := number_of(name, c))]
        points += steps_of(name)[1]
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
    points = [] if name in INTEGERS else [Fraction(v) for v in steps_of(name)[1]]
    points += [Fraction(k << n) for n in range(64) for k in (1, 3, 5, 9)]
    near = {math.floor(p) + d for p in points if p < 2**64 for d in (-1, 0, 1, 2)}
    every = sorted({sign * n for n in near for sign in (1, -1)} | set(range(-600, 600)))
    for source in WHOLE:
        limit = np.iinfo(source)
        fits = [n for n in every if limit.min <= n <= limit.max]
        check(convert, np.array([limit.min, *fits, limit.max], source), name, saturate)
    check(convert, np.array([False, True]), name, saturate)


def test_any_byte_of_bool_but_0_is_true(convert):
    assert convert(BYTES.view(bool), "float4_e2m1fn").view(np.uint8).tolist() == [0] + [2] * 255
    assert convert(BYTES.view(bool), "int1", True).view(np.uint8).tolist() == [0] * 256
