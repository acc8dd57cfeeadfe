"""Running sums and products, and differences: rounding, dtypes asked for, sizes 0 and 1, errors.

Values in every layout and dtype: `ops/reducing_cases.py`.
"""

import re

import numpy as np
import pytest
from reducing_oracle import SCANS, scanned_by_numpy
from tensors import (
    BFLOAT16,
    as_dtype,
    asarray,
    close,
    host,
    same,
)

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(40, 1100), (2, 30000)])
def test_long_lines(name, dtype, shape):
    values = np.random.default_rng(3).integers(-1, 2, shape) * 0.5 + 1
    array = values.astype(as_dtype(dtype))
    for order in ((1, 0), (0, 1)):
        x = asarray(array, layout=order)
        for y, b in ((x, array), (x.T, array.T)):
            expected = scanned_by_numpy(name, b, 1, False)
            close(getattr(tl, name)(y, axis=1), expected, f"{order} {y.shape}", ulps=1)


def test_each_sum_is_rounded_once():
    same(
        tl.cumulative_sum(tl.asarray([2.0**24, 1, 1, 1], dtype=tl.float32)),
        np.array([2**24, 2**24, 2**24 + 2, 2**24 + 4], np.float32),
    )
    same(
        tl.cumulative_sum(tl.asarray([256, 1, 1, 1], dtype=tl.bfloat16)),
        np.array([256, 256, 258, 260], BFLOAT16),
    )
    tenth = tl.full((50000,), 0.1, dtype=tl.float32)
    exact = np.arange(1, 50001) * float(np.float32(0.1))
    np.testing.assert_allclose(host(tl.cumulative_sum(tenth)), exact, 2.0**-24 * 1.01)


@pytest.mark.parametrize(
    ("dtype", "asked"),
    [("int8", "float32"), ("uint64", "int8"), ("bfloat16", "int64"), ("float32", "complex128")],
)
def test_dtypes_asked_for(dtype, asked):
    x = tl.asarray([1, 2, 3, 5], dtype=dtype)
    same(tl.cumulative_sum(x, dtype=asked), np.array([1, 3, 6, 11], as_dtype(asked)))
    same(tl.cumulative_prod(x, dtype=asked), np.array([1, 2, 6, 30], as_dtype(asked)))


@pytest.mark.cpu
@pytest.mark.parametrize("name", SCANS)
def test_complex_numbers_do_not_become_real_ones(name):
    with pytest.raises(TypeError, match=f"{name}: complex64 cannot become float32"):
        getattr(tl, name)(tl.ones((3,), dtype=tl.complex64), dtype=tl.float32)


def test_integers_wrap():
    x = tl.asarray([100, 100, 100], dtype=tl.int8)
    same(tl.cumulative_sum(x), np.array([100, 200, 300]))
    same(tl.cumulative_sum(x, dtype=tl.int8), np.array([100, -56, 44], np.int8))
    same(tl.cumulative_prod(tl.asarray([2**62, 2, 2])), np.array([2**62, -(2**63), 0]))


@pytest.mark.parametrize("name", SCANS)
def test_sizes_0_and_1(name):
    function, start = getattr(tl, name), SCANS[name][1]
    same(function(tl.zeros((0,))), np.zeros(0))
    same(function(tl.zeros((0,)), include_initial=True), np.array([float(start)]))
    same(
        function(tl.zeros((2, 0, 3)), axis=1, include_initial=True), np.full((2, 1, 3), start * 1.0)
    )
    same(function(tl.zeros((2, 0, 3)), axis=0), np.zeros((2, 0, 3)))
    same(function(tl.asarray([7.0])), np.array([7.0]))
    same(function(tl.asarray([[7.0, 8.0]]), axis=0), np.array([[7.0, 8.0]]))


@pytest.mark.cpu
@pytest.mark.parametrize("name", SCANS)
def test_refused_arguments_of_scans(name):
    function, x = getattr(tl, name), tl.ones((2, 3))
    with pytest.raises(ValueError, match=f"{name}: axis must be given for a tensor of rank 2"):
        function(x)
    with pytest.raises(ValueError, match=f"{name}: axis must be given for a tensor of rank 0"):
        function(tl.ones(()))
    for axis in (2, -3):
        with pytest.raises(
            IndexError, match=f"{name}: axis .* is out of bounds for array of dimension 2"
        ):
            function(x, axis=axis)
    with pytest.raises(ValueError, match=f"{name}: axis"):
        function(tl.ones(()), axis=0)
    for axis in (1.5, "0", (0,)):
        message = re.escape(f"{name}: axis must be an integer, got {axis!r}")
        with pytest.raises(TypeError, match=message):
            function(x, axis=axis)
    with pytest.raises(TypeError, match=f"{name}: only numeric dtypes are allowed, got bool"):
        function(x > 0, axis=0)
    with pytest.raises(TypeError, match=f"{name}: must be called with a tensor, got list"):
        function([1, 2])


def test_one_record_a_call_and_no_copy():
    x = asarray(np.ones((3, 4, 5), np.float32), layout=(1, 0, 2))
    with tl.trace() as seen:
        tl.cumulative_sum(x, axis=1)
        tl.cumulative_prod(x, axis=2, include_initial=True)
    assert [(r.name, r.kind) for r in seen] == [
        ("cumulative_sum", "compute"),
        ("cumulative_prod", "compute"),
    ]
    assert seen.bytes_copied == 0


# --- differences -------------------------------------------------------------------------------


def test_differences_of_nothing_have_no_padding():
    x = tl.zeros((0, 3), layout="(0,3):(4,1) padded=(2,4) padding=ONE")
    for axis, layout in ((0, "(0,3):(3,1)"), (1, "(0,2):(2,1)")):
        assert str(tl.diff(x, axis=axis).layout) == layout


def test_differences_with_more_at_the_ends():
    x = tl.asarray([[1, 4], [9, 16]], layout="WH")
    edge = tl.asarray([[0], [5]])
    same(tl.diff(x, prepend=edge), np.array([[1, 3], [4, 7]]))
    same(tl.diff(x, append=edge), np.array([[3, -4], [7, -11]]))
    same(tl.diff(x, axis=0, prepend=edge.T, append=edge.T), np.array([[1, -1], [8, 12], [-9, -11]]))
    same(tl.diff(x, prepend=edge, n=0), np.array([[0, 1, 4], [5, 9, 16]]))
    same(tl.diff(x, n=5), np.zeros((2, 0), np.int64))
    same(tl.diff(x, prepend=tl.asarray([[0.5], [0.5]])), np.array([[0.5, 3], [8.5, 7]]))


def test_no_difference_is_a_tensor_of_its_own():
    x = tl.ones((3,))
    y = tl.diff(x, n=0)
    y[0] = 5
    same(x, np.ones(3))


@pytest.mark.cpu
def test_refused_arguments_of_diff():
    x = tl.ones((2, 3))
    with pytest.raises(ValueError, match="diff: n must not be negative, got -1"):
        tl.diff(x, n=-1)
    with pytest.raises(TypeError, match=r"diff: n must be an integer, got 1.0"):
        tl.diff(x, n=1.0)
    with pytest.raises(TypeError, match=r"diff: axis must be an integer, got 0.0"):
        tl.diff(x, axis=0.0)
    with pytest.raises(IndexError, match="diff: axis 2 is out of bounds for array of dimension 2"):
        tl.diff(x, axis=2)
    with pytest.raises(ValueError, match="diff: axis"):
        tl.diff(tl.ones(()))
    with pytest.raises(TypeError, match="diff: prepend must be a tensor, got str"):
        tl.diff(x, prepend="0")
    message = r"diff: shapes may differ along axis 1 only, got \(3, 1\) beside \(2, 3\)"
    with pytest.raises(ValueError, match=message):
        tl.diff(x, append=tl.ones((3, 1)))
