"""Names and keywords beyond the standard, searches: special values, scalars, errors; literals."""

import numpy as np
import pytest
from tensors import BFLOAT16, DTYPES, as_dtype, asarray, host, same

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
    for item in ((), (2.0,), (0.5, places)):
        expected = np.gradient(array, *(host(g) for g in item))
        result = tl.gradient(x, *item)
        assert type(result) is tuple
        for one, other in zip(result, expected, strict=True):
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


def test_where_with_scalars():
    c = tl.asarray([True, False])
    same(tl.where(c, tl.asarray([1, 2], dtype=tl.int8), 3), np.array([1, 3], np.int8))
    same(tl.where(c, 3, tl.asarray([1, 2], dtype=tl.float32)), np.array([3, 2], np.float32))
    same(tl.where(c, 1, 2), np.array([1, 2]))
    same(tl.where(c, True, False), np.array([True, False]))
    same(tl.where(c, 1, 2.5), np.array([1, 2.5]))
    same(tl.where(c, 1j, 2), np.array([1j, 2]))
    same(tl.where(c, np.float32(1), 2), np.array([1, 2], np.float32))
    same(tl.where(np.bool_(True), 1, tl.asarray([2.0])), np.array([1.0]))


def test_scalars_of_searchsorted():
    x = tl.asarray([1, 2, 3], dtype=tl.uint8)
    same(tl.searchsorted(x, 2), np.array(1))
    same(tl.searchsorted(x, 2.5), np.array(2))
    same(tl.searchsorted(x, np.float32(2), side="right"), np.array(2))
    same(tl.searchsorted(tl.asarray([1.0, 2.0]), 2), np.array(1))
    same(tl.searchsorted(x, 300), np.array(3))
    same(tl.searchsorted(x, -1), np.array(0))


def test_sorters_of_each_integer_dtype():
    x = tl.asarray([3.0, 1.0, 2.0])
    for dtype in DTYPES["integral"]:
        order = tl.asarray([1, 2, 0], dtype=dtype)
        same(tl.searchsorted(x, tl.asarray([2.5, 0.0]), sorter=order), np.array([2, 0]))


@pytest.mark.cpu  # on CUDA what is moved on the way has records too
def test_searches_are_one_record():
    x = tl.ones((3, 4)).T
    with tl.trace() as seen:
        tl.searchsorted(x[0, :], x)
        tl.searchsorted(x[0, :], x, sorter=tl.asarray([2, 1, 0]))
    kinds = [(record.name, record.kind) for record in seen if record.kind != "view"]
    assert [name for name, _ in kinds].count("searchsorted") == 2
    assert len(kinds) == 3  # the elements gathered by the sorter are seen


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
def test_the_mean_in_a_dtype_asked_for(dtype):
    x = tl.asarray([[1, 1], [0, 1]], dtype=dtype)
    same(tl.mean(x, axis=0, dtype=tl.float32), np.array([0.5, 1], np.float32))
    same(tl.mean(x, dtype=tl.complex128), np.array(0.75 + 0j))


def test_the_mean_in_a_wider_dtype_is_one_operation():
    with tl.trace() as trace:
        tl.mean(tl.ones((2, 3), dtype=tl.float32), dtype=tl.float64)
    assert [record.name for record in trace] == ["ones", "mean"]


def test_the_mean_is_rounded_once():
    # As float32 the first two would be 1.
    x = tl.asarray([1 + 2.0**-30, 1 + 2.0**-30, -1.0, -1.0], dtype=tl.float64)
    same(tl.mean(x, dtype=tl.float32), np.array(2.0**-31, np.float32))
    with pytest.raises(TypeError, match=r"^mean: .*complex"):
        tl.mean(tl.asarray([1j]), dtype=tl.float64)


def test_likes_of_another_shape():
    x = tl.zeros((2, 3), dtype=tl.int16, layout=(0, 1))
    for item, value in [
        (tl.zeros_like(x, shape=(4, 2)), 0),
        (tl.ones_like(x, shape=(4, 2)), 1),
        (tl.full_like(x, -7, shape=(4, 2)), -7),
        (tl.empty_like(x, shape=(4, 2)), None),
    ]:
        assert item.layout == tl.Layout.column_major((4, 2))
        assert item.device == x.device
        if value is not None:
            same(item, np.full((4, 2), value, np.int16))
    assert tl.ones_like(x, shape=5).layout == tl.Layout.row_major((5,))
    with pytest.raises(ValueError, match=r"^full_like: "):
        tl.full_like(x, 1, shape=(-1,))


@pytest.mark.cpu  # `tests/ops` has differences on all devices
def test_differences_beside_numbers():
    """A number counts as an array of it, as in NumPy."""
    x = tl.asarray([[1, 4], [9, 16]], dtype=tl.int16)
    same(tl.diff(x, append=1), np.array([[3, -3], [7, -15]]))
    zero = tl.asarray(0, dtype=tl.int32)
    same(tl.diff(x, prepend=zero, append=zero), np.array([[1, 3, -4], [9, 7, -16]], np.int32))
    same(tl.diff(x, append=1.5), np.array([[3, -2.5], [7, -14.5]]))
