"""Sorts: long lines against Python's own, which is stable; special values, and errors.

Values in every layout and dtype: `ops/reducing_cases.py`.
"""

import math
import re

import numpy as np
import pytest
from tensors import DTYPES, as_dtype, asarray, host, same, slots

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def positions(line, descending):
    """What sorts a line of Python numbers: stable, NaN greater than everything else."""

    def rank(k):
        return (True, 0) if math.isnan(line[k]) else (False, line[k])

    return sorted(range(len(line)), key=rank, reverse=descending)


def oracle(array, axis, descending):
    """Positions, line by line."""
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    exact = array if array.dtype.kind in "iu" else array.astype(np.float64)
    lines = np.moveaxis(exact, axis, -1)
    found = [positions(line.tolist(), descending) for line in lines.reshape(-1, lines.shape[-1])]
    return np.moveaxis(np.array(found).reshape(lines.shape), -1, axis)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32"])
def test_long_lines_with_many_equal_elements(dtype, descending):
    for shape, axis in (((2, 3000), 1), ((700, 30), 0)):
        array = slots(as_dtype(dtype), math.prod(shape), seed=4).reshape(shape)
        expected = oracle(array, axis, descending)
        x = asarray(array, layout="WH")
        same(tl.argsort(x, axis=axis, descending=descending), expected)
        found = tl.sort(x, axis=axis, descending=descending)
        same(found, np.take_along_axis(array, expected, axis))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_the_ends_of_the_range(dtype):
    limits = np.iinfo(dtype)
    array = np.array([limits.max, 0, limits.min, 1, limits.max, limits.min], dtype)
    same(tl.argsort(asarray(array)), np.argsort(array, kind="stable"))
    same(tl.sort(asarray(array)), np.sort(array))
    same(tl.sort(asarray(array), descending=True), np.sort(array)[::-1])


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


@pytest.mark.cpu
@pytest.mark.parametrize("function", [tl.sort, tl.argsort])
def test_refused_arguments_of_sorts(function):
    name, x = function.__name__, tl.ones((2, 3))
    for axis in (None, 1.5, "0", (0,)):
        message = re.escape(f"{name}: axis must be an integer, got {axis!r}")
        with pytest.raises(TypeError, match=message):
            function(x, axis=axis)
    for axis in (2, -3):
        with pytest.raises(
            IndexError, match=f"{name}: axis .* is out of bounds for array of dimension 2"
        ):
            function(x, axis=axis)
    with pytest.raises(ValueError, match=f"{name}: axis"):
        function(tl.ones(()))
    for dtype in ("bool", "complex64"):
        message = f"{name}: only real numeric dtypes are allowed, got {dtype}"
        with pytest.raises(TypeError, match=message):
            function(tl.ones((3,), dtype=dtype))
    with pytest.raises(TypeError, match=f"{name}: must be called with a tensor, got numpy.ndarray"):
        function(np.ones(3, ">f8"))


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


def test_the_operand_stays_as_it_is():
    array = np.array([3.0, -0.0, 0.0, np.nan, 1.0], np.float32)
    x = asarray(array.copy())
    tl.sort(x)
    tl.argsort(x)
    same(x, array)
