"""Keywords beyond the standard that callers of NumPy pass: what they give, as literals."""

import numpy as np
import pytest
from tensors import same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


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
    for made, value in [
        (tl.zeros_like(x, shape=(4, 2)), 0),
        (tl.ones_like(x, shape=(4, 2)), 1),
        (tl.full_like(x, -7, shape=(4, 2)), -7),
        (tl.empty_like(x, shape=(4, 2)), None),
    ]:
        assert made.layout == tl.Layout.column_major((4, 2))
        assert made.device == x.device
        if value is not None:
            same(made, np.full((4, 2), value, np.int16))
    assert tl.ones_like(x, shape=5).layout == tl.Layout.row_major((5,))
    with pytest.raises(ValueError, match=r"^full_like: "):
        tl.full_like(x, 1, shape=(-1,))


@pytest.mark.cpu  # `tests/ops` has differences on all devices
def test_differences_beside_numbers():
    x = tl.asarray([[1, 4], [9, 16]], dtype=tl.int16)
    same(tl.diff(x, append=1), np.array([[3, -3], [7, -15]], np.int16))
    same(tl.diff(x, axis=0, prepend=1), np.array([[0, 3], [8, 12]], np.int16))
    zero = tl.asarray(0, dtype=tl.int32)
    same(tl.diff(x, prepend=zero, append=zero), np.array([[1, 3, -4], [9, 7, -16]], np.int32))
    same(tl.diff(x, append=1.5), np.array([[3, -2.5], [7, -14.5]]))
    with pytest.raises(OverflowError, match=r"^diff: "):
        tl.diff(x, append=10**6)
