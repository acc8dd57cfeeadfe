"""Data type functions: promotion, casting, limits."""

import math

import numpy as np
import pytest
from casting import PAIRS
from tensors import DTYPES, as_dtype, asarray, same

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
    for item in [(1,), (1, 2.0)]:
        with pytest.raises(ValueError, match="result_type: needs at least one tensor or dtype"):
            tl.result_type(*item)


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
