"""Sets: NaN and zeros, ranges of integers, each way of `isin`, errors."""

import math

import numpy as np
import pytest
from tensors import DTYPES, as_dtype, asarray, kind, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def check_unique(x, a):
    actual = tl.unique_all(x)
    for result, expected in zip(actual, np.unique(a, True, True, True), strict=True):
        same(result, expected)
        assert result.layout == tl.Layout.row_major(result.shape)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint32", "int64", "uint64"])
def test_unique_of_integers_of_a_narrow_range(dtype):
    """More elements than lie between the least and the greatest, at each end of the dtype."""
    limits = np.iinfo(dtype)
    for first in {limits.min, max(limits.min, -20), limits.max - 39}:
        steps = [(7 * k * k) % 40 for k in range(90)] + [39]  # 39 is the last, 0 among them
        a = np.array([first + step for step in steps], dtype).reshape(7, 13)
        x = asarray(a)
        check_unique(x, a)
        check_unique(x.T, a.T)
        check_unique(x[::-1, ::-2], a[::-1, ::-2])


def test_nan_and_zeros():
    nan = math.nan
    for dtype in DTYPES["real floating"]:
        x = tl.asarray([0.0, nan, -0.0, nan, 1.0], dtype=dtype)
        result = tl.unique_all(x)
        assert [str(float(v)) for v in result.values][1:] == ["1.0", "nan", "nan"]
        assert [int(n) for n in result.counts] == [2, 1, 1, 1]
        assert tl.unique_values(x).shape == (4,)
    x = tl.asarray([complex(nan, 0), complex(nan, 0), complex(0, nan), 1j, 1j])
    assert [int(n) for n in tl.unique_counts(x).counts] == [2, 1, 1, 1]
    assert tl.unique_values(x).shape == (4,)


def test_named_results():
    x = tl.asarray([1])
    assert tl.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert tl.unique_counts(x)._fields == ("values", "counts")
    assert tl.unique_inverse(x)._fields == ("values", "inverse_indices")


def occurs(a, b):
    """Return True where an element of `a` equals some element of `b`, by comparing all pairs."""
    pairs = a.reshape(-1, 1) == b.reshape(1, -1)
    return pairs.any(1).reshape(a.shape)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint64", "float32", "complex64"])
@pytest.mark.parametrize("count", [1, 40, 150, 3000])
def test_isin_by_each_of_its_ways(dtype, count):
    """Table, comparison with a few, search in some, sort of many."""
    rng = np.random.default_rng(count)
    top = 100 if dtype == "int8" else 30000 if dtype == "int16" else 1 << 30
    a = rng.integers(-top if kind(as_dtype(dtype)) == "i" else 0, top, 3000).astype(dtype)
    b = np.concatenate([rng.choice(a, count // 2), rng.integers(0, top, 1 + count // 2)])
    b = b.astype(dtype)
    if kind(as_dtype(dtype)) in "fc":
        a[:5] = b[-1] = math.nan
        a[5], b[0] = 0.0, -0.0
    same(tl.isin(asarray(a), asarray(b)), occurs(a, b))
    same(tl.isin(asarray(a), asarray(b), invert=True), ~occurs(a, b))


def test_scalars_of_isin():
    small, floats = tl.asarray([3, 4], dtype=tl.uint8), tl.asarray([3.0, 3.5])
    same(tl.isin(3, small), np.array(True))
    same(tl.isin(small, 3.5), np.array([False, False]))
    same(tl.isin(3.5, small), np.array(False))
    same(tl.isin(floats, 3), np.array([True, False]))
    same(tl.isin(small, np.int64(4)), np.array([False, True]))
    for pair in ((small, 300), (300, small)):
        with pytest.raises(
            OverflowError, match="isin: Python integer 300 out of bounds for uint8, 0 to 255"
        ):
            tl.isin(*pair)


def test_isin_compares_integers_exactly():
    signed = tl.asarray([2**53 + 1, -1, 5])
    unsigned = tl.asarray([2**53, 2**64 - 1, 5], dtype=tl.uint64)
    for x, of in ((signed, unsigned), (unsigned, signed)):
        same(tl.isin(x, of), np.array([False, False, True]))
        same(tl.isin(x, of, invert=True), np.array([True, True, False]))
    same(tl.isin(tl.asarray([-1, 5], dtype=tl.int8), unsigned), np.array([False, True]))
