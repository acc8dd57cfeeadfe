"""Reductions: special values, empty sets, errors and accuracy; `tests/ops` has the layouts."""

import numpy as np
import pytest
from reducing_oracle import REDUCTIONS
from tensors import BFLOAT16, DTYPES, as_dtype, asarray, close, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "uint32"])
@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_positions_in_many_rows(dtype, order):
    """More rows than a byte has values, wide and narrow ones."""
    for shape in ((700, 30), (3000, 3), (100, 300)):
        array = np.random.default_rng(2).integers(0, 500, shape).astype(dtype)
        if dtype.startswith("float"):
            array[[300, 650] if shape[0] > 650 else [30, 65], :2] = np.nan
        x = asarray(array, layout=order)
        for axis in (0, 1, None):
            same(tl.argmax(x, axis=axis), host(np.argmax(array, axis)))
            same(tl.argmin(x, axis=axis), host(np.argmin(array, axis)))


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_nan_and_infinity(dtype):
    x = tl.asarray([[1, np.nan, 2], [np.inf, 1, -np.inf], [0.5, -0.0, 3]], dtype=dtype)
    nan, inf = np.nan, np.inf
    same(tl.sum(x, axis=1), np.array([nan, nan, 3.5], as_dtype(dtype)))
    same(tl.mean(x[:, ::2], axis=1), np.array([1.5, nan, 1.75], as_dtype(dtype)))
    same(tl.prod(x, axis=1), np.array([nan, -inf, -0.0], as_dtype(dtype)))
    assert bool(tl.all(tl.isnan(tl.var(x, axis=1)[:2])))


def test_of_no_elements():
    x = tl.zeros((2, 0, 3), dtype=tl.float32)
    for function in (tl.mean, tl.var):
        same(function(x, axis=1), np.full((2, 3), np.nan, np.float32))
    for function in (tl.min, tl.max):
        for axis in (1, None, (0, 1)):
            with pytest.raises(ValueError, match=f"{function.__name__}: no elements along axis"):
                function(x, axis=axis)


def test_elements_are_converted_before_they_are_added():
    x = tl.asarray([1.9, np.nan, -0.5, 300.0])
    same(tl.sum(x, dtype=tl.int32), np.array(301, np.int32))
    same(tl.sum(x, dtype=tl.uint8), np.array(0, np.uint8))  # 1 + 0 + 0 + 255, wrapped
    same(tl.prod(x[2:], dtype=tl.int64), np.array(0))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_one_record_a_call_and_no_copy(name):
    x = asarray(np.ones((3, 4, 5), np.float32), layout=(1, 0, 2))
    with tl.trace() as seen:
        getattr(tl, name)(x, axis=(0, 2))
        getattr(tl, name)(tl.permute_dims(x, (2, 0, 1))[:, 1:])
    first, *others = seen
    assert [first.name, *(r.name for r in others)] == [name, "permute_dims", "__getitem__", name]
    assert seen.bytes_copied == 0
    assert (first.bytes_read, first.output.shape) == (3 * 4 * 5 * 4, (4,))


def test_variance_of_numbers_far_from_0():
    x = asarray(np.float32(2**24) + np.array([0, 2, 4, 6], np.float32))
    same(tl.var(x), np.array(5, np.float32))
    close(tl.mean(x), np.array(2**24 + 3, np.float32), ulps=2)  # sums of a few are in float32
    y = tl.asarray([1e9, 1e9 + 1, 1e9 + 2])
    close(tl.var(y), np.array(2 / 3))


def test_sums_in_bfloat16_are_rounded_once():
    x = tl.asarray([1, 2**-8, 2**-40], dtype=tl.bfloat16)  # just above a tie
    same(tl.sum(x), np.array(1 + 2**-7, BFLOAT16))
    same(tl.sum(-x), np.array(-1 - 2**-7, BFLOAT16))
    y = tl.asarray([1, 2**-7, 2**-8, -(2**-40)], dtype=tl.bfloat16)  # just below one
    same(tl.sum(y), np.array(1 + 2**-7, BFLOAT16))
    huge = tl.asarray([3e38, 3e38], dtype=tl.bfloat16)
    same(tl.sum(huge), np.array(np.inf, BFLOAT16))
    same(tl.mean(huge), host(huge)[0])
    same(tl.sum(tl.asarray([1e-40, np.nan], dtype=tl.bfloat16)), np.array(np.nan, BFLOAT16))


def extreme_by_sign(array, greatest, axis):
    """The extreme of whole numbers, where a sign of zero makes a difference of its own."""
    keys = array + np.where(np.signbit(array), -0.25, 0.25)
    found = keys.max(axis) if greatest else keys.min(axis)
    return np.copysign(np.rint(found), found)


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_negative_zeros_are_less(dtype, order):
    below, above = np.array([[-0.0, 0.0, -1.0], [0.0, -0.0, 1.0]]).repeat(1000, 1)
    many = np.stack([below, above, below[::-1], above[::-1], np.full(3000, -0.0)])
    for lines in (many, many[:, ::-1], many[:, ::500], many[-1:], many[1:2]):
        x = tl.to_layout(asarray(lines.astype(as_dtype(dtype))), order)
        for name in ("max", "nanmax", "min", "nanmin"):
            for axis in (0, 1, None):
                expected = extreme_by_sign(lines, "max" in name, axis).astype(as_dtype(dtype))
                same(getattr(tl, name)(x, axis=axis), expected, f"{name} along {axis}")


def test_negative_zeros_are_less_than_initial():
    negative, positive = asarray(np.array([[-0.0, -0.0], [0.0, 0.0]]))
    for zero in (0.0, -0.0):
        same(np.max(negative, initial=zero), np.array(zero))
        same(np.min(positive, initial=zero), np.array(zero))
        same(np.max(positive, initial=zero), np.array(0.0))
        same(np.min(negative, initial=zero), np.array(-0.0))


def test_means_do_not_overflow_on_the_way():
    same(tl.mean(tl.full((1000,), 60000.0, dtype=tl.float16)), np.array(60000, np.float16))
    same(tl.mean(tl.full((10,), 3e38, dtype=tl.float32)), np.array(3e38, np.float32))
