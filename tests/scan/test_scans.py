"""Running sums and products, and differences, against NumPy, in every layout."""

import re

import numpy as np
import pytest
from layouts import TENSORS
from reducing_oracle import SCANS, scanned_by_numpy
from tensors import (
    BFLOAT16,
    DTYPES,
    as_dtype,
    asarray,
    close,
    fits,
    host,
    same,
    slots,
    tensor_in,
)

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.cpu import scan
from tensorlayout.cpu.reduce import walk

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture(params=["at once", "in small steps"])
def steps(request, monkeypatch):
    """Small tensors are one block; here also the rows and pieces of large ones."""
    if request.param == "in small steps":
        monkeypatch.setattr(scan, "BLOCK", 3)
        monkeypatch.setattr(scan, "_ROWS", 1)
        monkeypatch.setattr(scan, "_ROW", 2)
        monkeypatch.setattr(scan, "_SIDE_BY_SIDE", 2)
        monkeypatch.setattr(walk.blocks, "__defaults__", (3, 0))
    plan.run.cache_clear()
    yield
    plan.run.cache_clear()


def packed_like(layout, axis, longer):
    sizes = list(layout.shape)
    sizes[axis] += longer
    return tl.Layout.packed(sizes, layout.minor_to_major)


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("dtype", DTYPES["numeric"])
@pytest.mark.usefixtures("steps")
def test_every_layout_and_dtype(name, dtype):
    for layout in TENSORS:
        if fits(layout, as_dtype(dtype)):
            x, array = tensor_in(layout, slots(as_dtype(dtype), layout.required_size))
            for axis in range(-layout.ndim, layout.ndim):
                initial = axis % 2 == 0
                found = getattr(tl, name)(x, axis=axis, include_initial=initial)
                expected = scanned_by_numpy(name, array, axis, initial)
                close(found, expected, f"{name} of {dtype} in {layout} along {axis}", ulps=1)
                assert found.layout == packed_like(layout, axis, int(initial))


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "complex64"])
@pytest.mark.parametrize("shape", [(3, 400), (40, 1100), (2, 150000)])
def test_long_lines(name, dtype, shape):
    values = np.random.default_rng(3).integers(-1, 2, shape) * 0.5 + 1
    array = values.astype(as_dtype(dtype))
    for order in ((1, 0), (0, 1)):
        for x, a in [(asarray(array, layout=order),) * 2]:
            for axis in (0, 1):
                y, b = (x.T, array.T) if axis == 0 else (x, a)
                expected = scanned_by_numpy(name, host(b), axis, False)
                close(getattr(tl, name)(y, axis=axis), expected, f"{order} {axis}", ulps=1)


def test_each_sum_is_rounded_once():
    same(
        tl.cumulative_sum(tl.asarray([2.0**24, 1, 1, 1], dtype=tl.float32)),
        np.array([2**24, 2**24, 2**24 + 2, 2**24 + 4], np.float32),
    )
    same(
        tl.cumulative_sum(tl.asarray([256, 1, 1, 1], dtype=tl.bfloat16)),
        np.array([256, 256, 258, 260], BFLOAT16),
    )
    tenth = tl.full((200000,), 0.1, dtype=tl.float32)
    exact = np.arange(1, 200001) * float(np.float32(0.1))
    np.testing.assert_allclose(host(tl.cumulative_sum(tenth)), exact, 2.0**-24 * 1.01)


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("dtype", DTYPES["numeric"])
@pytest.mark.parametrize("asked", DTYPES["numeric"])
def test_dtypes_asked_for(name, dtype, asked):
    x = tl.asarray([1, 2, 3, 5], dtype=dtype)
    numbers = [1, 3, 6, 11] if name == "cumulative_sum" else [1, 2, 6, 30]
    if dtype.startswith("complex") and not asked.startswith("complex"):
        with pytest.raises(TypeError, match=f"{name}: {dtype} cannot become {asked}"):
            getattr(tl, name)(x, dtype=asked)
    else:
        same(getattr(tl, name)(x, dtype=asked), np.array(numbers, as_dtype(asked)))


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


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_differences_in_every_layout(dtype):
    for layout in TENSORS:
        if layout.ndim and fits(layout, as_dtype(dtype)):
            x, array = tensor_in(layout, slots(as_dtype(dtype), layout.required_size))
            for axis in range(-layout.ndim, layout.ndim):
                for n in (0, 1, 2):
                    found, expected = tl.diff(x, axis=axis, n=n), array
                    for _ in range(min(n, array.shape[axis])):
                        expected = _neighbours(expected, axis)
                    same(found, expected, f"{dtype} in {layout} along {axis}, {n} times")
                    if array.size:
                        assert found.layout == tl.Layout.packed(found.shape, layout.minor_to_major)


def test_differences_of_nothing_have_no_padding():
    x = tl.zeros((0, 3), layout="(0,3):(4,1) padded=(2,4) padding=ONE")
    for axis, layout in ((0, "(0,3):(3,1)"), (1, "(0,2):(2,1)")):
        assert str(tl.diff(x, axis=axis).layout) == layout


def _neighbours(array, axis):
    ahead = np.take(array, range(1, array.shape[axis]), axis)
    behind = np.take(array, range(array.shape[axis] - 1), axis)
    with np.errstate(all="ignore"):
        return ahead != behind if array.dtype == bool else ahead - behind


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
