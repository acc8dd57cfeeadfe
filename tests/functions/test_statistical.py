"""Reductions and quantiles: special values, empty sets, errors, accuracy, methods."""

import itertools
import warnings

import numpy as np
import pytest
from reducing_oracle import REDUCTIONS, WIDE
from tensors import BFLOAT16, DTYPES, as_dtype, asarray, close, host, kind, same

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
    for name in ("mean", "var", "nanmean", "nanvar", "nanstd", "median", "nanmedian"):
        same(getattr(tl, name)(x, axis=1), np.full((2, 3), np.nan, np.float32), name)
    same(tl.nansum(x, axis=1), np.zeros((2, 3), np.float32))
    same(tl.nanprod(x, axis=1), np.ones((2, 3), np.float32))
    extremes = ("min", "max", "nanmin", "nanmax")
    axes = [(1, "nanargmin"), (1, "nanargmax"), *itertools.product((1, None, (0, 1)), extremes)]
    for axis, name in axes:
        with pytest.raises(ValueError, match=f"{name}: needs at least one element along ax"):
            getattr(tl, name)(x, axis=axis)
        assert getattr(tl, name)(x, axis=0).shape == (0, 3)
    same(tl.median(x, axis=0), np.zeros((0, 3), np.float32))
    assert tl.quantile(x, [], axis=0).shape == (0, 0, 3)


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
    result = keys.max(axis) if greatest else keys.min(axis)
    return np.copysign(np.rint(result), result)


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


def numpys(name, array, **arguments):
    """NumPy's answer, worked out in the widest dtype."""
    wide = array.astype(WIDE.get(kind(array.dtype), np.int64))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return host(getattr(np, name)(wide, **arguments))


def near(result, expected, message):
    """Of one dtype and shape, and equal but for the last places."""
    got, expected = host(result), host(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), message
    wide = np.complex128 if kind(got.dtype) == "c" else np.float64
    eps = 4 * float(tl.finfo(result.dtype).eps) if kind(got.dtype) in "fc" else 0
    np.testing.assert_allclose(got.astype(wide), expected.astype(wide), eps, err_msg=message)


@pytest.mark.parametrize("name", ["nanargmin", "nanargmax"])
def test_an_infinity_is_not_taken_for_nan(name):
    worst = np.inf if name == "nanargmin" else -np.inf
    assert int(getattr(tl, name)(tl.asarray([np.nan, worst]))) == 1  # NumPy says 0


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_nothing_but_nan(dtype):
    x = tl.asarray([[np.nan, np.nan], [1, np.nan]], dtype=dtype)
    for name in ("nanargmin", "nanargmax"):
        with pytest.raises(ValueError, match=f"{name}: all elements along axis 1 are NaN"):
            getattr(tl, name)(x, axis=1)


METHODS = [
    *("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull"),
    *("median_unbiased", "normal_unbiased", "interpolated_inverted_cdf"),
]
FRACTIONS = np.array([0.0, 0.1, 0.25, 0.5, 0.62, 1.0])


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("method", METHODS)
def test_methods(name, method):
    array = np.random.default_rng(2).uniform(1, 2, size=(5, 7))
    if name == "nanquantile":
        array[array > 1.8] = np.nan
    x = asarray(array, layout=(0, 1))
    for axis in (None, 1):
        expected = numpys(name, array, q=FRACTIONS, axis=axis, method=method)
        result = getattr(tl, name)(x, FRACTIONS, axis=axis, method=method)
        near(result, expected, f"along {axis}")
        for one, other in zip(FRACTIONS, expected, strict=True):  # few places: not sorted
            near(getattr(tl, name)(x, one, axis=axis, method=method), other, f"{one} along {axis}")


def test_bfloat16_is_rounded_once():
    x = tl.asarray([1.0, 1.0078125, 2**-40], dtype=tl.bfloat16)
    same(tl.nansum(x), np.array(2.015625, as_dtype("bfloat16")))  # just above a tie
    same(tl.nanmean(x[:2]), np.array(1.0, as_dtype("bfloat16")))  # a tie, to even


def test_variances_of_infinities():
    x = tl.asarray([[np.inf, np.inf, np.nan], [1.0, np.inf, np.nan], [1.0, 5.0, np.nan]])
    same(tl.nanvar(x, axis=1), np.array([np.nan, np.nan, 4.0]))
    same(tl.nanstd(x[0]), np.array(np.nan))


def test_quantiles_of_a_channels_last_image():
    x = tl.ones((2, 3, 4, 5), layout="NHWC")
    assert tl.quantile(x, [0.1, 0.9], axis=(2, 3)).layout == tl.Layout.row_major((2, 2, 3))
    assert tl.quantile(x, 0.1, axis=0).layout == tl.Layout.labelled((3, 4, 5), "HWC")


def test_means_do_not_overflow_on_the_way():
    many, most = tl.full((1000,), 60000.0, dtype=tl.float16), float(np.finfo(np.float64).max)
    for mean in (tl.mean, tl.nanmean, tl.median):
        same(mean(many), np.array(60000, np.float16))
        same(mean(tl.full((10,), 3e38, dtype=tl.float32)), np.array(3e38, np.float32))
    same(tl.nanvar(many), np.array(0, np.float16))
    same(tl.median(tl.asarray([most, most])), np.array(most))
    same(tl.median(tl.asarray([np.inf, np.inf])), np.array(np.inf))
    same(tl.median(tl.asarray([-np.inf, np.inf])), np.array(np.nan))


def test_functions_of_lines_without_elements():
    sums = tl.apply_along_axis(tl.sum, 0, tl.zeros((0, 3)))
    assert (sums.shape, sums.tolist()) == ((3,), [0.0, 0.0, 0.0])
    assert tl.apply_along_axis(lambda line: line, 0, tl.zeros((0, 3))).shape == (0, 3)
