"""Sorts: long lines, special values, order of equal elements, and no copies.

Values in every layout and dtype: `ops/reducing_cases.py`; errors: `project/test_errors.py`.
"""

import math

import numpy as np
import pytest
from reducing_cases import sorted_positions
from tensors import DTYPES, as_dtype, asarray, host, same, slots

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32"])
def test_long_lines_with_many_equal_elements(dtype, descending):
    for shape, axis in (((2, 3000), 1), ((700, 30), 0)):
        array = slots(as_dtype(dtype), math.prod(shape), seed=4).reshape(shape)
        expected = sorted_positions(array, axis, descending)
        x = asarray(array, layout="WH")
        same(tl.argsort(x, axis=axis, descending=descending), expected)
        result = tl.sort(x, axis=axis, descending=descending)
        same(result, np.take_along_axis(array, expected, axis))


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_nan_of_either_sign_comes_last(dtype):
    array = np.array([np.nan, 2, -np.nan, -np.inf, np.inf, -3], np.float64)
    array[2] = np.copysign(np.nan, -1)
    x = asarray(array.astype(as_dtype(dtype)))
    same(tl.argsort(x), np.array([3, 5, 1, 4, 0, 2]))
    same(tl.argsort(x, descending=True), np.array([0, 2, 4, 1, 5, 3]))
    nan = np.nan
    same(tl.sort(x), np.array([-np.inf, -3, 2, np.inf, nan, nan], as_dtype(dtype)))
    same(tl.sort(x, descending=True), np.array([nan, nan, np.inf, 2, -3, -np.inf], as_dtype(dtype)))


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_zeros_keep_their_order(dtype):
    array = np.array([[0.0, -0.0, 1, -0.0], [-0.0, 0.0, -1, 0.0]], as_dtype(dtype))
    up = np.array([[0.0, -0.0, -0.0, 1], [-1, -0.0, 0.0, 0.0]], as_dtype(dtype))
    down = np.array([[1, 0.0, -0.0, -0.0], [-0.0, 0.0, 0.0, -1]], as_dtype(dtype))
    same(tl.sort(asarray(array)), up)
    same(tl.sort(asarray(array), descending=True), down)
    same(tl.sort(asarray(array.T), axis=0), up.T)
    same(tl.argsort(asarray(array)), np.array([[0, 1, 3, 2], [2, 0, 1, 3]]))


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32"])
def test_sorts_that_need_not_be_stable_still_sort(dtype):
    array = slots(as_dtype(dtype), 500, seed=9)
    x = asarray(array)
    order = host(tl.argsort(x, stable=False))
    assert sorted(order) == list(range(500))
    wide = array.astype(np.float64)
    np.testing.assert_array_equal(wide[order], np.sort(wide))
    np.testing.assert_array_equal(host(tl.sort(x, stable=False)).astype(float), np.sort(wide))


@pytest.mark.cpu  # on CUDA, lines that are not contiguous are brought together: test_cuda_sort
def test_one_record_a_call_and_no_copy():
    x = asarray(np.ones((3, 4, 5), np.float32), layout=(1, 0, 2))
    with tl.trace() as seen:
        tl.sort(x, axis=1)
        tl.argsort(tl.flip(x, axis=0), axis=2, descending=True)
    assert [(r.name, r.kind) for r in seen] == [
        ("sort", "compute"),
        ("flip", "view"),
        ("argsort", "compute"),
    ]
    assert seen.bytes_copied == 0


def test_the_first_of_narrow_numbers_and_bools():
    """They are compared by value, and keep their dtype and bits."""
    x = asarray(np.array([0.5, -6.0, 3.0, 3.0])).astype("float4_e2m1fn")
    largest, smallest = tl.top_k(x, 3), tl.top_k(x, 2, mode="smallest", sorted=False)
    assert (largest.values.dtype, largest.indices.dtype) == (x.dtype, tl.int64)
    assert largest.values.tolist() == [3.0, 3.0, 0.5]
    assert largest.indices.tolist() == [2, 3, 0]
    assert (smallest.values.tolist(), smallest.indices.tolist()) == ([-6.0, 0.5], [1, 0])
    flags = tl.top_k(asarray(np.array([[False, True, True], [False, False, True]])), 2)
    assert flags.values.tolist() == [[True, True], [True, False]]
    assert flags.indices.tolist() == [[1, 2], [2, 0]]


@pytest.mark.parametrize("dtype", DTYPES["real numeric"])
def test_the_first_of_many_with_equal_elements(dtype):
    """Ends of the range, zeros of either sign and NaN are among them."""
    kind = as_dtype(dtype)
    ends = [np.iinfo(kind).min, np.iinfo(kind).max] if kind.kind in "iu" else [np.nan, -np.inf]
    few = np.array([*ends, 0, 0, 1, 2, 100], object).astype(kind)
    few[3] = np.negative(few[3])
    array = np.random.default_rng(0).choice(few, (3, 57))
    for count in (1, 2, 20, 56, 57):
        for mode in ("largest", "smallest"):
            values, indices = tl.top_k(asarray(array), count, mode=mode)
            expected = sorted_positions(array, 1, mode == "largest")[:, :count]
            same(indices, expected)
            same(values, np.take_along_axis(array, expected, 1))
