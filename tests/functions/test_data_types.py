"""Data type functions: promotion, casting, limits."""

import math

import numpy as np
import pytest
from casting import PAIRS
from layouts import TENSORS
from tensors import (
    BFLOAT16,
    DTYPES,
    as_dtype,
    asarray,
    fits,
    host,
    padding_of,
    same,
    slots,
    tensor_in,
)

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

ALL = DTYPES["any"]


@pytest.mark.parametrize(("first", "second", "expected"), PAIRS)
def test_promotion(first, second, expected):
    x, y = tl.ones((2,), dtype=first), tl.ones((2,), dtype=second)
    kind = as_dtype(expected)
    assert tl.result_type(x.dtype, y.dtype) == tl.result_type(x, y.dtype) == kind
    assert tl.where(tl.asarray(True), x, y).dtype == kind
    assert (x == y).dtype == tl.bool
    assert tl.can_cast(x.dtype, y.dtype) is (expected == second)
    assert tl.can_cast(x, y.dtype) is (expected == second)
    if expected != "bool":
        same(x + y, np.full((2,), 2, kind))
        same(x * y, np.full((2,), 1, kind))


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
    for given in [(), (1,), (1, 2.0)]:
        with pytest.raises(ValueError, match="result_type: needs at least one tensor or dtype"):
            tl.result_type(*given)
    with pytest.raises(TypeError, match="must be a dtype"):
        tl.result_type("nothing")


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
    for other in ALL:
        assert tl.isdtype(kind, getattr(tl, other)) is (dtype == other)
    assert tl.isdtype(kind, ("bool", "numeric")) is True
    assert tl.isdtype(kind, (tl.int8, "bool")) is (dtype in ("int8", "bool"))
    assert tl.isdtype(kind, ()) is False
    with pytest.raises(ValueError, match="isdtype: kind must be a dtype or one of bool, complex"):
        tl.isdtype(kind, "real numeric")


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
        for number in (info.eps, info.max, info.min, info.smallest_normal):
            assert type(number) is float
        assert type(info.bits) is int


@pytest.mark.parametrize("dtype", DTYPES["integral"])
def test_iinfo(dtype):
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for asked in [dtype, getattr(tl, dtype), tl.ones((), dtype=dtype)]:
        info = tl.iinfo(asked)
        assert (info.bits, info.min, info.max, info.dtype) == (bits, low, high, np.dtype(dtype))
        assert type(info.bits) is type(info.min) is type(info.max) is int


def test_limits_of_other_dtypes():
    for dtype in DTYPES["integral"] + ["bool"]:
        with pytest.raises(
            TypeError, match=f"finfo: type must be a floating-point dtype, got {dtype}"
        ):
            tl.finfo(dtype)
    for dtype in DTYPES["floating-point"] + ["bool"]:
        with pytest.raises(TypeError, match=f"iinfo: type must be an integer dtype, got {dtype}"):
            tl.iinfo(dtype)


@pytest.mark.parametrize("wrong", ["nothing", "float128", "M8[s]", np.dtype("S3"), object, 5])
def test_what_is_no_dtype(wrong):
    x = tl.ones((2,))
    for argument, function in {
        "astype: dtype": lambda: tl.astype(x, wrong),
        "zeros: dtype": lambda: tl.zeros((2,), dtype=wrong),
        "asarray: dtype": lambda: tl.asarray([1], dtype=wrong),
        "dtype:?": lambda: tl.sum(x, dtype=wrong),
        "finfo: type": lambda: tl.finfo(wrong),
        "can_cast: from_": lambda: tl.can_cast(wrong, tl.int8),
    }.items():
        with pytest.raises(TypeError, match=f"{argument} must be a dtype of this namespace, got"):
            function()


# --- astype ------------------------------------------------------------------------------------


def converted(value, source, result):
    """One Python number of `source` in `result`, by the rule."""
    if result == "bool":
        return value != 0
    if result not in DTYPES["integral"]:
        return value
    if source not in DTYPES["real floating"]:
        bits = np.iinfo(result).bits
        return (int(value) - np.iinfo(result).min) % 2**bits + np.iinfo(result).min
    if math.isnan(value):
        return 0
    low, high = np.iinfo(result).min, np.iinfo(result).max
    return low if value < low else high if value > high else math.trunc(value)


EDGES = [
    *[0.0, -0.0, 0.9, -0.9, 1.9, -1.9, 2.5, 126.9, 127.5, 128.0, -128.9, -129.0, 255.9, 256.0],
    *[32767.5, 32768.0, -32769.0, 65535.5, 65536.0, 2**31 - 0.5, 2.0**31, -(2.0**31) - 0.5],
    *[-(2.0**31) - 1, 2**32 - 0.5, 2.0**32, 2.0**53, 2.0**63 - 1024, 2.0**63, -(2.0**63)],
    *[-(2.0**63) - 2048, 2.0**64 - 2048, 2.0**64, 1e300, -1e300, math.inf, -math.inf, math.nan],
]


def source_values(dtype):
    """Values around every limit that `dtype` can hold, and some of its own."""
    with np.errstate(all="ignore"):
        if dtype in DTYPES["real floating"]:
            return np.array(EDGES).astype(as_dtype(dtype))
        return slots(as_dtype(dtype), 40)


@pytest.mark.parametrize("source", ALL)
@pytest.mark.parametrize("result", ALL)
def test_astype(source, result):
    values = source_values(source)
    layout = tl.Layout((2, len(values) // 2), (-1, 2), offset=1)
    x, array = tensor_in(layout, values)
    if source.startswith("complex") and not result.startswith(("complex", "bool")):
        with pytest.raises(TypeError, match=f"astype: {source} cannot become {result}"):
            tl.astype(x, getattr(tl, result))
        return
    plain = array.astype(np.float64) if source == "bfloat16" else array
    with np.errstate(all="ignore"):
        numbers = [converted(v, source, result) for v in plain.ravel().tolist()]
        exact = np.array(numbers, result if result in DTYPES["integral"] else None)
        expected = exact.astype(as_dtype(result)).reshape(array.shape)
    same(tl.astype(x, getattr(tl, result)), expected)
    same(asarray(x, dtype=result), expected)
    same(tl.astype(x[:, ::2], result), expected[:, ::2])
    same(tl.astype(x[0, 0], result), expected[0, 0])


def test_integers_beyond_2_to_the_53rd_are_exact():
    x = tl.asarray([2**63 - 1, -(2**63), 2**53 + 1])
    same(tl.astype(x, tl.uint64), np.array([2**63 - 1, 2**63, 2**53 + 1], np.uint64))
    same(tl.astype(tl.astype(x, tl.uint64), tl.int64), host(x))


def test_floats_are_rounded_once_to_the_nearest_even():
    x = tl.asarray([1 + 2**-11, 1 + 3 * 2**-11, 65519.0, 65520.0, 2**-24, 2**-25])
    expected = np.array([1, 1 + 2**-9, 65504, np.inf, 2**-24, 0], np.float16)
    same(tl.astype(x, tl.float16), expected)
    y = tl.asarray([1 + 2**-8, 1 + 3 * 2**-8, -0.0], dtype=tl.float32)
    same(tl.astype(y, tl.bfloat16), np.array([1, 1 + 2**-6, -0.0], np.float32).astype(BFLOAT16))


@pytest.mark.parametrize("dtype", ["int16", "bool", "bfloat16", "complex128"])
def test_astype_keeps_the_form(dtype):
    for layout in TENSORS:
        if not fits(layout, np.dtype("float32")):
            continue
        x, array = tensor_in(layout, slots(np.dtype("float32"), layout.required_size, finite=True))
        y = tl.astype(x, dtype)
        same(y, array.astype(as_dtype(dtype)))
        lost = not fits(layout.form, as_dtype(dtype))
        form = layout.form
        assert y.layout == (
            tl.Layout.padded(form.shape, form.padded_shape, form.minor_to_major) if lost else form
        )


def test_astype_reads_padding_anew():
    def padding(value, source, result):
        layout = tl.Layout.padded((1,), (2,), padding_value=value)
        x = tl.ones((1,), dtype=source, layout=layout)
        y = tl.astype(x, result)
        return y.layout.padding_value, padding_of(y).tolist()

    v = tl.PaddingValue
    assert padding(v.ONE, tl.int8, tl.float32) == (v.ONE, [1.0])
    assert padding(v.LOWEST, tl.int8, tl.int16) == (v.LOWEST, [-32768])
    assert padding(v.LOWEST, tl.float32, tl.uint8) == (v.LOWEST, [0])
    assert padding(v.HIGHEST, tl.bool, tl.float64) == (v.HIGHEST, [math.inf])
    assert padding(v.HIGHEST, tl.int8, tl.complex64)[0] is v.UNSPECIFIED
    bits = tl.BitPattern(7, "int16")
    assert padding(bits, tl.int16, tl.int16) == (bits, [7])
    assert padding(bits, tl.int16, tl.uint16)[0] is v.UNSPECIFIED


def test_astype_copies_unless_told_not_to():
    x = tl.ones((3,))
    y = tl.astype(x, tl.float64)
    y += 1
    same(x, np.ones(3))
    assert tl.astype(x, tl.float64, copy=False) is x
    assert tl.astype(x, tl.float32, copy=False).dtype == tl.float32
    broadcast = tl.broadcast_to(tl.ones((1,)), (3,))
    assert tl.astype(broadcast, tl.float64, copy=False) is broadcast
    assert tl.astype(broadcast, tl.float64).strides == (1,)
