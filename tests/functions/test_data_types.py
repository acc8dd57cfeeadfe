"""Data types: promotion, limits; conversions round once, by exact fractions; bytes of bool."""

import itertools
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from casting import PAIRS
from tensors import DTYPES, as_dtype, asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

ALL = DTYPES["any"]


@pytest.mark.parametrize(("first", "second", "expected"), PAIRS)
def test_promotion(first, second, expected):
    x, y = tl.ones(2, dtype=first), tl.ones(2, dtype=second)
    kind = as_dtype(expected)
    assert tl.result_type(x.dtype, y.dtype) == tl.result_type(x, y.dtype) == kind
    assert tl.can_cast(x.dtype, y.dtype) is (expected == second)
    assert tl.can_cast(x, y.dtype) is (expected == second)


def test_result_type():
    x = tl.ones((2,), dtype=tl.float32)
    assert tl.result_type(x) == tl.float32
    assert tl.result_type(x, 1.0) == tl.result_type(1, x) == tl.result_type(True, x) == tl.float32
    assert tl.result_type(x, 1j) == tl.complex64
    assert tl.result_type(tl.int8, 1.0) == tl.float64
    assert tl.result_type(tl.bool, 1) == tl.int64
    assert tl.result_type(tl.int8, tl.uint8, tl.uint16, 2.0) == tl.float64
    assert tl.result_type(tl.int8, x, tl.bfloat16) == tl.float32
    assert tl.result_type(tl.asarray(1), tl.ones(3, dtype=tl.int8)) == tl.int64
    for given in [(1,), (1, 2.0)]:
        with pytest.raises(ValueError, match="result_type: needs at least one tensor or dtype"):
            tl.result_type(*given)


KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "integral": DTYPES["integral"],
    "real floating": ["float16", "bfloat16", "float32", "float64"],
    "complex floating": ["complex64", "complex128"],
    "numeric": DTYPES["numeric"],
}


@pytest.mark.parametrize("dtype", ALL)
def test_isdtype(dtype):
    kind = getattr(tl, dtype)
    for word, members in KINDS.items():
        assert tl.isdtype(kind, word) is (dtype in members)
    assert [other for other in ALL if tl.isdtype(kind, getattr(tl, other))] == [dtype]
    assert tl.isdtype(kind, ("bool", "numeric")) is True
    assert tl.isdtype(kind, (tl.int8, "bool")) is (dtype in ("int8", "bool"))
    assert tl.isdtype(kind, ()) is False


@pytest.mark.parametrize(
    ("dtype", "bits", "eps", "largest", "smallest"),
    [
        ("float16", 16, 2**-10, 65504, 2**-14),
        ("bfloat16", 16, 2**-7, (2 - 2**-7) * 2.0**127, 2**-126),
        ("float32", 32, 2**-23, (2 - 2**-23) * 2.0**127, 2**-126),
        ("float64", 64, 2**-52, 1.7976931348623157e308, 2**-1022),
    ],
)
def test_finfo(dtype, bits, eps, largest, smallest):
    wide = {"float32": ["complex64"], "float64": ["complex128"]}.get(dtype, [])
    for asked in [dtype, getattr(tl, dtype), tl.ones((), dtype=dtype), *wide]:
        info = tl.finfo(asked)
        assert (info.bits, info.eps, info.max, info.min, info.smallest_normal) == (
            *(bits, eps, largest, -largest, smallest),
        )
        assert info.dtype == as_dtype(dtype)
        numbers = (info.eps, info.max, info.min, info.smallest_normal)
        assert [*map(type, numbers), type(info.bits)] == [float] * 4 + [int]


@pytest.mark.parametrize("dtype", DTYPES["integral"])
def test_iinfo(dtype):
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for asked in [dtype, getattr(tl, dtype), tl.ones((), dtype=dtype)]:
        info = tl.iinfo(asked)
        assert (info.bits, info.min, info.max, info.dtype) == (bits, low, high, np.dtype(dtype))
        assert type(info.bits) is type(info.min) is type(info.max) is int


def test_limits_of_other_dtypes():
    for limits, dtypes in ((tl.finfo, DTYPES["integral"]), (tl.iinfo, DTYPES["floating-point"])):
        for dtype in (*dtypes, "bool"):
            with pytest.raises(TypeError, match=f"info: type must be an? .* dtype, got {dtype}"):
                limits(dtype)


EDGES = [0.9, -1.9, 127.5, 128.0, -129.0, 256.0, 32767.5, -32769.0, 65536.0, 2.0**31 - 0.5]
EDGES += [2.0**31, -(2.0**31) - 1, 2.0**32, 2.0**63 - 1024, 2.0**63, -(2.0**63) - 2048, 2.0**64]
EDGES += [1e300, -1e300, math.inf, -math.inf, math.nan]


@pytest.mark.cpu
@pytest.mark.parametrize("source", DTYPES["real floating"])
@pytest.mark.parametrize("result", DTYPES["integral"])
def test_floats_become_the_nearest_integer_towards_0(source, result):
    with np.errstate(all="ignore"):
        values = np.array(EDGES).astype(as_dtype(source))
    low, high = np.iinfo(result).min, np.iinfo(result).max
    numbers = values.astype(np.float64).tolist()
    within = [0 if math.isnan(n) else max(low, min(high, n)) for n in numbers]
    expected = np.array([math.trunc(n) for n in within], result)
    x = asarray(values)
    same(tl.astype(x, result), expected)
    same(tl.astype(tl.flip(x)[::2], result), expected[::-1][::2])
    same(tl.asarray(x, dtype=result), expected)


# `tests/ops` tries each way to write.
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
    found = round(size / unit) * unit
    if found >= Fraction(2) ** (most + 1):
        return math.copysign(math.inf, exact)
    return math.copysign(float(found), exact)


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
    found = {0, 1, limits.min, limits.max, limits.max - 1}
    for exponent in range(8, limits.bits, 5):
        for bits, _, _ in FORMATS.values():
            for ulp in (0, 1):
                unit = 1 << max(0, exponent - bits + 1)
                tie = (1 << exponent) + ulp * unit + unit // 2
                found |= {sign * (tie + by) for by in (-1, 0, 1) for sign in (1, -1)}
    return [n for n in sorted(found) if limits.min <= n <= limits.max]


def floats():
    """Doubles that lie beside ties of the narrower formats, by less than float32 can tell."""
    found = [0.0, 1.0]
    for exponent in (-140, -133, -126, -25, -14, 0, 8, 15, 127):
        for bits, least, _ in list(FORMATS.values())[:3]:
            unit = 2.0 ** (max(exponent, least) - bits + 1)
            for ulp in (0, 1):
                tie = 2.0**exponent + ulp * unit + unit / 2
                found += [tie, math.nextafter(tie, math.inf), math.nextafter(tie, 0)]
    return found + [-x for x in found]


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
    for found in (y, tl.astype(x, as_dtype(target)), tl.asarray(x, dtype=as_dtype(target))):
        assert host(found).astype(np.float64).tolist() == expected


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
    found = np.asarray(tl.astype(tl.asarray(numbers), dtype))
    assert found.real.tolist() == [nearest(n, parts) for n in numbers]
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
    found = tl.asarray([16842753]).__array__(as_dtype("bfloat16"))
    assert found.astype(np.float64).tolist() == [16908288]


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
        found = CALLS[name](x, sign * BESIDE_A_TIE)
        assert [complex(found[i]).real for i in range(2)] == [sign * expected] * 2
        wide = tl.asarray([sign * BESIDE_A_TIE] * 2, dtype=as_dtype(dtype))
        assert bool(tl.all(wide == sign * BESIDE_A_TIE))


def test_results_hold_0_and_1():
    """Of bool memory that holds more, as foreign buffers may: every byte but 0 is True."""
    octets = np.random.default_rng(0).integers(0, 256, (2, 3000), dtype=np.uint8)
    octets[octets < 128] = 0
    x, y = (asarray(each.view(np.bool_)) for each in octets)
    a, b = octets != 0
    for view in (slice(None), slice(None, None, 2), slice(None, None, -1)):
        for name in ("eq", "ne", "and_", "or_", "xor"):
            function = getattr(operator, name)
            clean(function(x[view], y[view]), function(a[view], b[view]))
            clean(function(x[view], y[:1]), function(a[view], b[:1]))
            clean(function(x[view], True), function(a[view], True))
        for name in ("iand", "ior", "ixor"):
            change, written, expected = getattr(operator, name), x[view].copy(), a[view].copy()
            clean(change(written, y[view]), change(expected, b[view]))
        clean(~x[view], ~a[view])
        clean(tl.any(x[view], axis=0), np.any(a[view], axis=0))
        clean(tl.unique_values(x[view]), np.unique(a[view]))
        clean(tl.isin(x[view], y[:1]), np.isin(a[view], b[:1]))


def clean(x, expected):
    """Compare values, and expect bytes of 0 and 1 alone."""
    same(x, expected)
    assert host(x).view(np.uint8).max(initial=0) <= 1


def test_every_byte_is_one_true():
    """No more of a vector is read than there are places to write to."""
    for byte in range(1, 256):
        mask = asarray(np.full(9, byte, np.uint8).view(np.bool_))
        x = tl.zeros(9)
        x[mask] = tl.arange(9, dtype=tl.float64)
        same(x, np.arange(9.0))
        with pytest.raises(ValueError, match="could not be broadcast"):
            x[mask] = tl.arange(10, dtype=tl.float64)
        assert int(tl.count_nonzero(mask)) == 9


@pytest.mark.cpu
def test_single_elements_and_texts():
    octets = np.array([0, 1, 2, 255], np.uint8)
    x = tl.from_storage(bytearray(octets.tobytes()), tl.Layout.row_major((4,)), dtype=bool)
    assert [bool(e) for e in x] == [False, True, True, True]
    assert [int(e) for e in x] == [0, 1, 1, 1]
    assert [float(e) for e in x] == [0.0, 1.0, 1.0, 1.0]
    assert str(x) == "[False,  True,  True,  True]"
    assert True in x
    assert f"{x[3]}" == "True"
    assert np.asarray(x).view(np.uint8).tolist() == octets.tolist()  # as they are
