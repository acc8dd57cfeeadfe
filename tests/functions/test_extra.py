"""`pad`, `einsum` and the other names beyond the standard: keywords, special values, errors."""

import numpy as np
import pytest
from tensors import BFLOAT16, as_dtype, asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def test_pad():
    array = np.arange(6).reshape(2, 3)
    for widths, pairs in (({1: (2, 1)}, ((0, 0), (2, 1))), ({-2: 1}, ((1, 1), (0, 0))), ({}, 0)):
        same(tl.pad(asarray(array), widths), np.pad(array, pairs))
    x = asarray(array)
    for values in (((1, 2), (3, 4)), np.int64(5)):
        same(tl.pad(x, 1, constant_values=values), np.pad(array, 1, constant_values=values))
    large = tl.pad(tl.asarray([1], dtype=tl.uint64), 1, constant_values=2**64 - 1)
    same(large, np.array([2**64 - 1, 1, 2**64 - 1], np.uint64))
    bfloat = tl.pad(tl.asarray([1.0], dtype=tl.bfloat16), (1, 0), constant_values=np.nan)
    same(bfloat, np.array([np.nan, 1], BFLOAT16))


def test_diagonals_can_be_written():
    x = tl.zeros((2, 3), layout=(0, 1))
    tl.diag(x, 1)[...] = 5
    same(x, np.array([[0.0, 5, 0], [0, 0, 5]]))
    with pytest.raises(ValueError, match="diag: needs a rank of 1 or 2, got shape"):
        tl.diag(tl.zeros((2, 2, 2)))


def test_einsum_promotes():
    mask, x = tl.asarray([True, False]), tl.asarray([2, 3], dtype=tl.int8)
    same(tl.einsum("i,i->", mask, x), np.array(2, np.int8))
    same(tl.einsum("i,i->i", x, tl.asarray([0.5, 1.0])), np.array([1.0, 3.0]))


def test_gradient_along_several_axes():
    array = np.arange(12.0).reshape(3, 4) ** 2
    x = asarray(array, layout=(0, 1))
    places = tl.asarray([0.0, 1.0, 4.0, 9.0])
    for given in ((), (2.0,), (0.5, places)):
        expected = np.gradient(array, *(host(g) for g in given))
        found = tl.gradient(x, *given)
        assert type(found) is tuple
        for one, other in zip(found, expected, strict=True):
            same(one, other)


def test_bincount():
    x = tl.flip(tl.asarray([3, 1, 1, 0, 5]))
    same(tl.bincount(x, minlength=8), np.array([1, 2, 0, 1, 0, 1, 0, 0]))
    for kind in ("float16", "bfloat16", "float32", "int8"):
        weights = tl.asarray([1, 2, 4, 8, 16], dtype=kind)
        same(tl.bincount(x, weights), np.array([2.0, 12, 0, 16, 0, 1]))
    same(tl.bincount(x[:0], minlength=2), np.array([0, 0]))


def test_logspace():
    np.testing.assert_allclose(host(tl.logspace(0, 2, 7)), np.logspace(0, 2, 7), 1e-15)
    same(tl.logspace(0, 3, 3, endpoint=False, base=2), np.array([1.0, 2.0, 4.0]))
    same(tl.logspace(0, 2, 3, dtype=tl.float32), np.array([1, 10, 100], np.float32))
    same(tl.logspace(0, 3, 4, base=2, dtype=tl.bfloat16), np.array([1, 2, 4, 8], BFLOAT16))
    assert tl.logspace(0, 1).shape == (50,)
    assert tl.logspace(0, 1, 0).shape == (0,)


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_dtypes_of_covariances(name):
    array = np.array([[1, 0, 1, 1], [0, 1, 1, 0]])
    for dtype in ("bool", "uint64", "bfloat16"):
        x = asarray(array.astype(as_dtype(dtype)))
        same(getattr(tl, name)(x), getattr(np, name)(array))
        assert getattr(tl, name)(x, dtype=tl.float32).dtype == tl.float32
