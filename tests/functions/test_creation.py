"""Creation functions against literal values; `tests/ops` compares layouts and dtypes with NumPy."""

import array
import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tensors import BFLOAT16, asarray, close, host, padding_of, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

V = tl.PaddingValue


def _reads(value):
    """An id without addresses, which differ from process to process."""
    return f"{type(value).__name__}{host(value).tolist()}"


@pytest.mark.parametrize("shape", [3, (3,), [3], np.int64(3), (np.uint8(3),)], ids=repr)
def test_shapes_as_users_give_them(shape):
    for x in (tl.zeros(shape), tl.ones(shape), tl.empty(shape), tl.full(shape, 2)):
        assert x.shape == (3,)
        assert all(type(n) is int for n in x.shape)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (math.nan, None, np.array(math.nan)),
        (np.float32(2), None, np.array(2, np.float32)),
        (2**70, "float32", np.array(2.0**70, np.float32)),
        (2**70, "bfloat16", np.array(2.0**70, BFLOAT16)),
        (1e300, "float32", np.array(math.inf, np.float32)),
        (-1e300, "float16", np.array(-math.inf, np.float16)),
        (tl.asarray(2.5), "int8", np.array(2, np.int8)),
    ],
    ids=repr,
)
def test_full(value, dtype, expected):
    same(tl.full((2, 3), value, dtype=dtype), np.full((2, 3), expected))
    same(tl.full((), value, dtype=dtype), expected)
    same(tl.full((0,), value, dtype=dtype), np.full((0,), expected))
    x = tl.zeros((2, 3), dtype=expected.dtype, layout=(0, 1))
    same(tl.full_like(x, value, dtype=dtype), np.full((2, 3), expected))


def test_likes_in_another_dtype():
    x = tl.zeros((2,), dtype=tl.int8, layout=tl.Layout.padded((2,), (4,), None, V.LOWEST))
    y = tl.ones_like(x, dtype=tl.float32)
    same(y, np.ones(2, np.float32))
    assert padding_of(y).tolist() == [-math.inf] * 2
    assert tl.zeros_like(x, dtype=tl.complex64).layout.padding_value is V.UNSPECIFIED
    z = tl.zeros((2,), dtype=tl.complex64)
    same(tl.zeros_like(z, dtype=tl.float64), np.zeros(2))
    same(tl.full_like(x, 2.9), np.full(2, 2, np.int8))
    with pytest.raises(TypeError, match="zeros_like: must be called with a tensor"):
        tl.zeros_like(np.ones(2, ">f8"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((5, 2), []),
        ((0, 1, 5), [0]),
        ((2**63 - 3, 2**63 - 1), [2**63 - 3, 2**63 - 2]),
        ((-(2**63), -(2**63) + 2), [-(2**63), -(2**63) + 1]),
        ((np.int64(2**62), np.int64(2**62) + 2), [2**62, 2**62 + 1]),
        ((np.int8(100), 130, 20), [100, 120]),
        ((tl.asarray(3),), [0, 1, 2]),
    ],
)
def test_arange_of_integers(arguments, expected):
    same(tl.arange(*arguments), np.array(expected, np.int64))


@pytest.mark.parametrize(
    ("arguments", "dtype", "expected"),
    [
        ((2.5,), None, np.array([0.0, 1.0, 2.0])),
        ((1.0, -1.0, -0.5), None, np.array([1, 0.5, 0, -0.5])),
        ((2**63, 2**63 + 3), "uint64", np.array([2**63, 2**63 + 1, 2**63 + 2], np.uint64)),
        ((2**64 - 1, 2**64 - 4, -2), "uint64", np.array([2**64 - 1, 2**64 - 3], np.uint64)),
        ((2**70, 2**70 + 2**60, 2**59), "float64", np.array([2.0**70, 2.0**70 + 2.0**59])),
        ((-128, 128, 127), "int8", np.array([-128, -1, 126], np.int8)),
        ((250, 300, 100), "uint8", np.array([250], np.uint8)),
        ((0.0, 600.0, 200.0), "uint8", np.array([0, 200, 255], np.uint8)),
        ((0.5, 3), "int64", np.array([0, 1, 2])),
        ((65504, 65600, 32), "float16", np.array([65504, np.inf, np.inf], np.float16)),
    ],
)
def test_arange_of_other_dtypes(arguments, dtype, expected):
    same(tl.arange(*arguments, dtype=dtype), expected)


NUMBERS = st.floats(-1e3, 1e3)


@example(5e-324, 0.0, -2.0)  # one number, though (stop - start) / step is rounded to 0
@example(0.0, 5e-324, -2.0)
@example(2.0, 5.0, np.inf)
@example(2.0, 5.0, -np.inf)
@given(NUMBERS, NUMBERS, st.floats(0.5, 100) | st.floats(-100, -0.5))
def test_arange_of_floats_is_numpys(start, stop, step):
    results, expected = host(tl.arange(start, stop, step)), np.arange(start, stop, step)
    assert results.shape == expected.shape
    np.testing.assert_allclose(results, expected, 1e-13, 1e-10)
    if results.size:
        assert results[0] == start


@given(NUMBERS, NUMBERS, st.integers(0, 60), st.booleans())
def test_linspace_is_numpys(start, stop, count, endpoint):
    expected = np.linspace(start, stop, count, endpoint=endpoint)
    same(tl.linspace(start, stop, count, endpoint=endpoint), expected)
    for dtype in (np.dtype("float32"), BFLOAT16):
        result = tl.linspace(start, stop, count, endpoint=endpoint, dtype=dtype)
        close(result, expected.astype(dtype), ulps=1)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (True, np.array(True)),
        (7, np.array(7)),
        ([True, 2], np.array([1, 2])),
        ([1, 2.5, 1j], np.array([1, 2.5, 1j])),
        ([[], []], np.zeros((2, 0))),
        ([2**64, 0.5], np.array([2.0**64, 0.5])),
        ([2**63 - 1, -(2**63)], np.array([2**63 - 1, -(2**63)])),
        ([np.float32(1), 2], np.array([1, 2], np.float32).astype(np.float64)),
        (BFLOAT16.type(1.5), np.array(1.5, BFLOAT16)),
        (np.array([1.5], ">f4"), np.array([1.5], np.float32)),
        (array.array("i", [1, 2]), np.array([1, 2], np.int32)),
        (b"ab", np.array([97, 98], np.uint8)),
        (memoryview(np.eye(2)), np.eye(2)),
        ([tl.asarray([1, 2]), tl.asarray([3, 4])], np.array([[1, 2], [3, 4]])),
        ([tl.asarray([1, 2], dtype=tl.bfloat16)], np.array([[1, 2]], BFLOAT16)),
        ([[tl.asarray(1)], [2]], np.array([[1], [2]])),
        ([np.array([1, 2], np.int8), [3, 4]], np.array([[1, 2], [3, 4]])),
        ([tl.zeros((0,), dtype=tl.int8)], np.zeros((1, 0), np.int8)),
    ],
    ids=_reads,
)
def test_asarray(obj, expected):
    same(asarray(obj), expected)
    same(asarray(obj, copy=True), expected)
    if expected.ndim:
        order = tuple(range(expected.ndim))
        x = asarray(obj, layout=order)
        same(x, expected)
        assert x.layout.is_column_major


def test_an_array_without_elements_becomes_row_major():
    for empty in (np.zeros((3, 0, 2)).T, np.zeros((0, 4))[:, ::2], np.zeros((3, 0))[::-1]):
        assert tl.asarray(empty).layout is tl.zeros(empty.shape).layout


def test_asarray_of_itself():
    x = tl.ones((2, 3), layout=(0, 1))
    assert asarray(x) is x
    assert asarray(x, copy=False) is x
    assert asarray(x, dtype=tl.float64, layout="WH") is x
    y = asarray(x, copy=True)
    assert y.layout is x.layout
    y += 1
    same(x, np.ones((2, 3)))


@pytest.mark.parametrize(
    ("obj", "arguments"),
    [
        *((number, {}) for number in (3, 1.5, [1, 2], (1, 2), np.float32(2.5))),
        (np.ones(2, np.float32), {"dtype": "float64"}),
        (np.ones((2, 3)), {"layout": (0, 1)}),
    ],
    ids=repr,
)
def test_asarray_that_cannot_share(obj, arguments):
    with pytest.raises(ValueError, match="copy=False"):
        asarray(obj, copy=False, **arguments)


@pytest.mark.parametrize(
    ("obj", "dtype", "expected"),
    [
        ([math.nan, 2.0**64, 0.5], "uint64", np.array([0, 2**64 - 1, 0], np.uint64)),
        ([2**64 - 1, 1], "uint64", np.array([2**64 - 1, 1], np.uint64)),
        ([2**64, -1], "float64", np.array([2.0**64, -1])),
        (10**30, "float32", np.array(1e30, np.float32)),
        ([2**70, 0], "bool", np.array([True, False])),
        ([1j, 0], "bool", np.array([True, False])),
        (3, complex, np.array(3 + 0j)),
    ],
)
def test_asarray_in_a_dtype(obj, dtype, expected):
    same(asarray(obj, dtype=dtype), expected)


def test_devices():
    x = tl.ones((2,))
    result = [tl.zeros((2,), device="cpu"), tl.arange(2, device=tl.Device("cpu"))]
    result += [
        tl.asarray([1], device="cpu"),
        tl.eye(2, device="cpu"),
        tl.ones_like(x, device="cpu"),
    ]
    assert {y.device for y in (*result, tl.linspace(0, 1, 2, device="cpu"))} == {"cpu"}
    assert x.device == tl.ones_like(x).device == tl.arange(2).device == tl.default_device()


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.full((2,), 1e300, dtype=tl.float16)
        tl.arange(70000, dtype=tl.float16)
        tl.linspace(0, 1e39, 3, dtype=tl.float32)
        tl.asarray([1e300], dtype=tl.bfloat16)
        asarray(np.array([1e300]), dtype=tl.float32)


def test_numpys_names_of_creation():
    x = asarray(np.arange(6.0).reshape(2, 3), layout=(0, 1))
    assert tl.array(x) is not x
    same(tl.array([1, 2], ndmin=3), np.array([[[1, 2]]]))
    assert tl.ascontiguousarray(x).layout.is_row_major
    assert tl.asfortranarray(x) is x
    assert tl.asfortranarray([[1, 2], [3, 4]]).layout.is_column_major
    same(tl.identity(3, tl.int8), np.identity(3, np.int8))
    same(tl.tri(3, 4, k=1), np.tri(3, 4, k=1))
