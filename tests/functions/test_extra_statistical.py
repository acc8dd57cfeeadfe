"""Reductions that skip NaN, medians and quantiles: NaN, infinities, methods, errors."""

import warnings

import numpy as np
import pytest
from reducing_oracle import WIDE
from tensors import DTYPES, as_dtype, asarray, host, kind, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def numpys(name, array, **given):
    """NumPy's answer, worked out in the widest dtype."""
    wide = array.astype(WIDE.get(kind(array.dtype), np.int64))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return host(getattr(np, name)(wide, **given))


def near(found, expected, message):
    """Of one dtype and shape, and equal but for the last places."""
    got, expected = host(found), host(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), message
    wide = np.complex128 if kind(got.dtype) == "c" else np.float64
    eps = 4 * float(tl.finfo(found.dtype).eps) if kind(got.dtype) in "fc" else 0
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


def test_of_no_elements():
    x = tl.zeros((2, 0), dtype=tl.float32)
    nan = np.full(2, np.nan, np.float32)
    for name in ("nanmean", "nanvar", "nanstd", "median", "nanmedian"):
        same(getattr(tl, name)(x, axis=1), nan, name)
    same(tl.nansum(x, axis=1), np.zeros(2, np.float32))
    same(tl.nanprod(x, axis=1), np.ones(2, np.float32))
    for name in ("nanmin", "nanmax", "nanargmin", "nanargmax"):
        with pytest.raises(ValueError, match=f"{name}: no elements along axis"):
            getattr(tl, name)(x, axis=1)
        assert getattr(tl, name)(x, axis=0).shape == (0,)
    same(tl.median(x, axis=0), np.zeros(0, np.float32))
    assert tl.quantile(x, [], axis=0).shape == (0, 0)


def test_means_do_not_overflow_on_the_way():
    many = tl.full((1000,), 60000.0, dtype=tl.float16)
    same(tl.nanmean(many), np.array(60000, np.float16))
    same(tl.nanvar(many), np.array(0, np.float16))
    same(tl.median(many), np.array(60000, np.float16))
    most = float(np.finfo(np.float64).max)
    same(tl.median(tl.asarray([most, most])), np.array(most))
    same(tl.median(tl.asarray([np.inf, np.inf])), np.array(np.inf))
    same(tl.median(tl.asarray([-np.inf, np.inf])), np.array(np.nan))


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
        found = getattr(tl, name)(x, FRACTIONS, axis=axis, method=method)
        near(found, expected, f"along {axis}")
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
