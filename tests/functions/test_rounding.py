"""Conversions round once: held against exact fractions. `tests/ops` tries each way to write."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tensors import as_dtype, asarray, host

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

# Bits of the significand, and the exponents of the least normal and of the greatest number.
FORMATS = {
    "bfloat16": (8, -126, 127),
    "float16": (11, -14, 15),
    "float32": (24, -126, 127),
    "float64": (53, -1022, 1023),
}


def nearest(value, name):
    """The number of a format that is nearest to an exact one, ties to even."""
    bits, least, most = FORMATS[name]
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, least) - bits + 1)
    result = round(size / unit) * unit
    if result >= Fraction(2) ** (most + 1):
        return math.copysign(math.inf, exact)
    return math.copysign(float(result), exact)


def test_the_oracle():
    assert nearest(16842753, "bfloat16") == 16908288
    assert nearest(16842752, "bfloat16") == 16777216
    assert nearest(65519, "float16") == 65504
    assert nearest(65520, "float16") == math.inf
    assert nearest(-(2**53) - 1, "float64") == -(2**53)
    assert nearest(Fraction(3, 2) * Fraction(2) ** -133, "bfloat16") == 2.0**-132


def integers(dtype):
    """Integers around the ties of every format, at many magnitudes."""
    limits = np.iinfo(dtype)
    results = {0, 1, limits.min, limits.max, limits.max - 1}
    for exponent in range(8, limits.bits, 5):
        for bits, _, _ in FORMATS.values():
            for ulp in (0, 1):
                unit = 1 << max(0, exponent - bits + 1)
                tie = (1 << exponent) + ulp * unit + unit // 2
                results |= {sign * (tie + by) for by in (-1, 0, 1) for sign in (1, -1)}
    return [n for n in sorted(results) if limits.min <= n <= limits.max]


def floats():
    """Doubles that lie beside ties of the narrower formats, by less than float32 can tell."""
    results = [0.0, 1.0]
    for exponent in (-140, -133, -126, -25, -14, 0, 8, 15, 127):
        for bits, least, _ in list(FORMATS.values())[:3]:
            unit = 2.0 ** (max(exponent, least) - bits + 1)
            for ulp in (0, 1):
                tie = 2.0**exponent + ulp * unit + unit / 2
                results += [tie, math.nextafter(tie, math.inf), math.nextafter(tie, 0)]
    return results + [-x for x in results]


SOURCES = ["int16", "int64", "uint32", "uint64", "float64"]


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", SOURCES)
def test_elements_on_devices(source, target):
    check_elements(source, target)


@pytest.mark.cpu
def test_elements():
    for source, target in itertools.product(SOURCES, FORMATS):
        check_elements(source, target)


def check_elements(source, target):
    numbers = floats() if source == "float64" else integers(source)
    expected = [nearest(n, target) for n in numbers]
    x = asarray(np.array(numbers, source))
    y = tl.zeros(x.shape, dtype=as_dtype(target))
    y[...] = x
    for operand in (y, tl.astype(x, as_dtype(target)), tl.asarray(x, dtype=as_dtype(target))):
        assert host(operand).astype(np.float64).tolist() == expected


FAR = [2**64 + 2**56 + 1, 2**70 + 2**46 + 1, -(2**80) - 2**72 + 1, 2**100 + 1]


@pytest.mark.parametrize("target", ["bfloat16", "float32", "float64"])
def test_python_integers_beyond_all_dtypes(target):
    x = tl.zeros((2, len(FAR)), dtype=as_dtype(target))
    for at, number in enumerate(FAR):
        x[0, at] = tl.full((), number, dtype=x.dtype)
        x[1, at] = number
    expected = [nearest(n, target) for n in FAR]
    assert host(x).astype(np.float64).tolist() == [expected] * 2
    assert host(asarray(FAR, dtype=x.dtype)).astype(np.float64).tolist() == expected


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_numbers(dtype):
    parts = {"complex64": "float32", "complex128": "float64"}[dtype]
    numbers = integers("int64")
    result = np.asarray(tl.astype(tl.asarray(numbers), dtype))
    assert result.real.tolist() == [nearest(n, parts) for n in numbers]
    x = tl.zeros(2, dtype=dtype)
    x[0] = 2**62 + 2**38 + 1
    assert x[0] == nearest(2**62 + 2**38 + 1, parts)
    wide = np.array([complex(n, -n) for n in floats()])
    narrow = np.asarray(tl.astype(tl.asarray(wide), dtype))
    assert narrow.real.tolist() == [nearest(n, parts) for n in floats()]


@pytest.mark.cpu
def test_columns_of_one_storage_round_once():
    octets = np.zeros(2 * 8 * 4, np.uint8)
    wide = np.ndarray((4,), np.float64, octets, 0, [16])
    narrow = np.ndarray((4,), as_dtype("bfloat16"), octets, 8, [16])
    wide[...] = 1 + 2**-8 + 2**-40, 1 + 2**-8, 3 + 2**-7 + 2**-50, -1 - 2**-8 - 2**-40
    tl.asarray(narrow)[...] = tl.asarray(wide)
    expected = [nearest(n, "bfloat16") for n in wide.tolist()]
    assert narrow.astype(np.float64).tolist() == expected
    assert expected[0] == 1.0078125


@pytest.mark.parametrize("key", [[0, 2], [True, False, True]])
@pytest.mark.parametrize(("number", "nearest"), [(1 + 2**-8 + 2**-40, 1 + 2**-7), (1 + 2**-8, 1)])
def test_numbers_written_at_positions_round_once(key, number, nearest):
    x = tl.zeros(3, dtype=tl.bfloat16)
    x[tl.asarray(key)] = number
    assert x.tolist() == [nearest, 0, nearest]


@pytest.mark.cpu
def test_arrays_of_numpy():
    x = tl.asarray([math.nan, math.inf, -3e9, 1.9, -1.9])
    assert x.__array__(np.int32).tolist() == [0, 2**31 - 1, -(2**31), 1, -1]
    result = tl.asarray([16842753]).__array__(as_dtype("bfloat16"))
    assert result.astype(np.float64).tolist() == [16908288]


# Halfway between two numbers of float32, and a little more: by way of float64 it comes out odd.
BESIDE_A_TIE = 9007200865353727
CALLS = {
    "x + n": lambda x, n: x * 0 + n,
    "n + x": lambda x, n: n + x * 0,
    "x * n": lambda x, n: x * n,
    "maximum": tl.maximum,
    "clip": lambda x, n: tl.clip(x, n, None),
    "x += n": lambda x, n: tl.asarray(x * 0, copy=True).__iadd__(n),
}


@pytest.mark.parametrize("layout", ["(2,):(1,)", "(2,):(2,)", "(2,):(1,) padded=(3,)"])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, "float32") for name in CALLS] + [("x + n", "complex64"), ("x += n", "complex64")],
)
def test_python_integers_beside_tensors(name, dtype, layout):
    expected = nearest(BESIDE_A_TIE, "float32")
    assert expected == 9007200328482816.0
    storage = tl.ones(3, dtype=as_dtype(dtype))
    x = storage[::2] if layout == "(2,):(2,)" else tl.ones(2, dtype=as_dtype(dtype), layout=layout)
    for sign in (1, -1) if name not in ("maximum", "clip") else (1,):
        result = CALLS[name](x, sign * BESIDE_A_TIE)
        assert [complex(result[i]).real for i in range(2)] == [sign * expected] * 2
        wide = tl.asarray([sign * BESIDE_A_TIE] * 2, dtype=as_dtype(dtype))
        assert bool(tl.all(wide == sign * BESIDE_A_TIE))
