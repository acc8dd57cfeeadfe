"""Reductions (statistical functions, `all`, `any`, positions, counts) against NumPy."""

import itertools
import re

import layouts
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import TENSORS
from reducing_oracle import REDUCTIONS, reduced_by_numpy
from tensors import (
    BFLOAT16,
    DTYPES,
    as_dtype,
    asarray,
    close,
    fits,
    host,
    kind,
    same,
    slots,
    tensor_in,
)

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.cpu import reduce
from tensorlayout.cpu.reduce import fold, positions, walk

pytestmark = pytest.mark.usefixtures("device")

CASES = [(name, dtype) for name, (_, words) in REDUCTIONS.items() for dtype in DTYPES[words]]


def axes_of(rank):
    """None, and sets of dimensions, counted from either end."""
    dims = range(min(rank, 3))
    return [None, (), *dims, *(d - rank for d in dims), *itertools.permutations(dims, 2)]


@pytest.fixture(params=["at once", "in small steps"])
def steps(request, monkeypatch):
    """Small tensors are reduced at once; here also in the blocks, runs and groups of large ones.

    Gives the error that is allowed, relative to the sum of magnitudes: runs are of float32.
    """
    if request.param == "in small steps":
        for module, name, value in [
            (fold, "SMALL", 0),
            (reduce, "SMALL", 0),
            (positions, "SMALL", 0),
            (fold, "BLOCK", 3),
            (positions, "BLOCK", 1),
            (fold, "WIDE_RUN", 2),
            (reduce, "WIDE_RUN", 2),
            (reduce, "_RUN", 2),
            (fold, "_ROW", 7),
            (fold, "_COLUMNS", 3),
            (positions, "_ROWS", 2),
            (positions, "_WIDE", 2),
            (positions, "_COLUMNS", 2),
            (reduce, "_FEW", 5),
        ]:
            monkeypatch.setattr(module, name, value)
        monkeypatch.setattr(walk.blocks, "__defaults__", (3, 0))
    plan.run.cache_clear()
    yield 2.0**-50 if request.param == "at once" else 2.0**-23
    plan.run.cache_clear()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_layout_and_axis(name, steps):
    dtype = np.dtype("float32")
    for layout in TENSORS:
        if fits(layout, dtype):
            for number, axis in enumerate(axes_of(layout.ndim)):
                _check(name, layout, dtype, axis, number % 2 == 1, steps)
                _check(name, layout, dtype, axis, number % 2 == 0, steps)


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda case: case)
def test_every_layout_and_dtype(name, dtype, steps):
    for layout in TENSORS:
        if fits(layout, as_dtype(dtype)):
            _check(name, layout, as_dtype(dtype), None, False, steps)
            if layout.ndim:
                _check(name, layout, as_dtype(dtype), -1, True, steps)


def _check(name, layout, dtype, axis, keepdims, error=2.0**-50):
    x, array = tensor_in(layout, slots(dtype, layout.required_size, finite=True))
    if array.size == 0 and name not in ("sum", "prod", "all", "any", "count_nonzero"):
        return
    found = getattr(tl, name)(x, axis=axis, keepdims=keepdims)
    expected = reduced_by_numpy(name, array, axis=axis, keepdims=keepdims)
    _close(found, expected, array, error, f"{name} of {dtype} in {layout} along {axis}")


def _close(found, expected, array, error, message):
    """Sums of opposite numbers are as accurate as their largest term, no more."""
    if kind(expected.dtype) in "fc" and array.size:
        scale = np.abs(array.astype(np.complex128)).max() * array.size
        eps = max(float(tl.finfo(found.dtype).eps), 2.0**-50)
        got, wanted = (host(a).astype(np.complex128) for a in (found, expected))
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), message
        np.testing.assert_allclose(got, wanted, 2 * eps, error * scale, err_msg=message)
    else:
        same(found, expected, message)


@given(data=st.data())
def test_any_axes_of_any_layout(data):
    layout = data.draw(layouts.layouts(layouts.bases().filter(lambda x: not x.is_tiled)))
    dims = data.draw(st.lists(st.integers(0, max(layout.ndim - 1, 0)), unique=True))
    axis = data.draw(st.sampled_from([None, tuple(d for d in dims if d < layout.ndim)]))
    name = data.draw(st.sampled_from(sorted(REDUCTIONS)))
    dtype = as_dtype(data.draw(st.sampled_from(DTYPES[REDUCTIONS[name][1]])))
    if not layout.is_tiled and fits(layout, dtype):
        _check(name, layout, dtype, axis, data.draw(st.booleans()))


# --- positions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["real numeric"])
@pytest.mark.usefixtures("steps")
def test_positions_in_every_layout(dtype):
    for layout in TENSORS:
        if layout.size and fits(layout, as_dtype(dtype)):
            for seed in (0, 1):
                _check_positions(layout, slots(as_dtype(dtype), layout.required_size, seed))


def _check_positions(layout, values):
    x, array = tensor_in(layout, values)
    wide = array.astype(np.float32) if array.dtype == BFLOAT16 else array
    for name in ("argmin", "argmax"):
        for axis in (None, *range(-layout.ndim, layout.ndim)):
            for keepdims in (False, True):
                found = getattr(tl, name)(x, axis=axis, keepdims=keepdims)
                expected = getattr(np, name)(wide, axis=axis, keepdims=keepdims)
                same(found, host(expected), f"{name} in {layout} along {axis}")
                dims = range(layout.ndim) if axis is None else [axis % layout.ndim]
                assert found.layout == packed_like(layout, dims, keepdims)


def packed_like(layout, dims, keepdims):
    """Packed in the order of `layout`, `dims` dropped or of size 1."""
    if keepdims:
        sizes = [1 if d in dims else n for d, n in enumerate(layout.shape)]
        return tl.Layout.packed(sizes, layout.minor_to_major)
    left = [d for d in range(layout.ndim) if d not in dims]
    order = [left.index(d) for d in layout.minor_to_major if d in left]
    return tl.Layout.packed([layout.shape[d] for d in left], order)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "uint32"])
@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_positions_in_many_rows(dtype, order):
    """More rows than a byte has values, wide and narrow ones."""
    for shape in ((700, 100), (3000, 3), (100, 700)):
        array = np.random.default_rng(2).integers(0, 500, shape).astype(dtype)
        if dtype.startswith("float"):
            array[[300, 650] if shape[0] > 650 else [30, 65], :2] = np.nan
        x = asarray(array, layout=order)
        for axis in (0, 1, None):
            same(tl.argmax(x, axis=axis), host(np.argmax(array, axis)))
            same(tl.argmin(x, axis=axis), host(np.argmin(array, axis)))


def test_positions_along_several_axes_are_refused():
    x = tl.zeros((2, 3, 4))
    for function in (tl.argmin, tl.argmax):
        for axis in ((0, 1), (0,), []):
            message = f"{function.__name__}: axis must be an integer, got "
            with pytest.raises(TypeError, match=message):
                function(x, axis=axis)
        with pytest.raises(ValueError, match="no elements"):
            function(x[:0], axis=0)
        same(function(x[:0], axis=1), np.zeros((0, 4), np.int64))


# --- special values ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
def test_nan_and_infinity(dtype):
    x = tl.asarray([[1, np.nan, 2], [np.inf, 1, -np.inf], [0.5, -0.0, 3]], dtype=dtype)
    nan, inf = np.nan, np.inf
    same(tl.min(x, axis=1), np.array([nan, -inf, -0.0], as_dtype(dtype)))
    same(tl.max(x, axis=1), np.array([nan, inf, 3], as_dtype(dtype)))
    same(tl.sum(x, axis=1), np.array([nan, nan, 3.5], as_dtype(dtype)))
    same(tl.mean(x[:, ::2], axis=1), np.array([1.5, nan, 1.75], as_dtype(dtype)))
    same(tl.prod(x, axis=1), np.array([nan, -inf, -0.0], as_dtype(dtype)))
    same(tl.all(x, axis=1), np.array([True, True, False]))
    same(tl.any(x, axis=1), np.array([True, True, True]))
    same(tl.any(tl.asarray([nan], dtype=dtype)), np.array(True))
    assert bool(tl.all(tl.isnan(tl.var(x, axis=1)[:2])))


# --- layout ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operand", "axis", "keepdims", "result"),
    [
        ("(2,3,4):(12,4,1)", 1, False, "(2,4):(4,1)"),
        ("(2,3,4):(1,2,6)", 1, False, "(2,4):(1,2)"),
        ("(2,3,4):(1,2,6)", (0, 2), False, "(3,):(1,)"),
        ("(2,3,4):(1,2,6)", 1, True, "(2,1,4):(1,2,2) order=(0,1,2)"),
        ("(2,3,4):(1,8,2)", 0, False, "(3,4):(4,1)"),
        ("(2,3,4):(1,8,2)", 1, False, "(2,4):(1,2)"),
        ("(2,3,4):(4,8,1)", (), False, "(2,3,4):(4,8,1)"),
        ("(2,3,4):(1,2,6)", None, False, "():()"),
        ("(2,3):(1,3) padded=(3,5) padding=ONE", (), False, "(2,3):(1,2)"),
        ("(2,3,4):(20,5,1) padded=(2,4,5)", 0, False, "(3,4):(4,1)"),
        ("(2,3,4):(-1,2,-6)+19", 1, False, "(2,4):(1,2)"),
        ("(2,3,4):(0,0,1)", 2, False, "(2,3):(3,1)"),
        ("(2,3,4):(1,20,5)", 1, False, "(2,4):(1,2)"),
    ],
)
def test_results_are_packed_in_the_order_of_the_input(operand, axis, keepdims, result):
    layout = tl.Layout.parse(operand)
    x, array = tensor_in(layout, np.arange(layout.required_size, dtype=np.float32))
    for name in ("sum", "min", "mean", "var", "any"):
        found = getattr(tl, name)(x, axis=axis, keepdims=keepdims)
        assert found.layout is tl.Layout.parse(result)
        close(found, reduced_by_numpy(name, array, axis=axis, keepdims=keepdims))


# --- empty sets --------------------------------------------------------------------------------


def test_of_no_elements():
    x = tl.zeros((2, 0, 3), dtype=tl.float32)
    same(tl.sum(x, axis=1), np.zeros((2, 3), np.float32))
    same(tl.prod(x, axis=1), np.ones((2, 3), np.float32))
    same(tl.mean(x, axis=1), np.full((2, 3), np.nan, np.float32))
    same(tl.var(x, axis=1), np.full((2, 3), np.nan, np.float32))
    same(tl.all(x, axis=1), np.full((2, 3), True))
    same(tl.any(x, axis=1), np.full((2, 3), False))
    same(tl.sum(x), np.float32(0))
    same(tl.sum(x, axis=0), np.zeros((0, 3), np.float32))
    for function in (tl.min, tl.max):
        same(function(x, axis=0), np.zeros((0, 3), np.float32))
        for axis in (1, None, (0, 1)):
            with pytest.raises(ValueError, match=f"{function.__name__}: no elements along axis"):
                function(x, axis=axis)


@pytest.mark.parametrize("dtype", DTYPES["real numeric"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_nothing_along_no_axis(name, dtype):
    x = tl.zeros((0, 3), dtype=dtype)
    for options in ({"axis": ()}, {"axis": 1, "keepdims": True}):
        found = getattr(tl, name)(x, **options)
        assert (found.shape, str(found.dtype)) == ((0, 3 if options["axis"] == () else 1), dtype)


# --- dtypes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_dtypes_of_sums(dtype):
    x = tl.ones((3,), dtype=dtype)
    expected = {"b": "int64", "i": "int64", "u": "uint64"}.get(kind(as_dtype(dtype)), dtype)
    same(tl.sum(x), np.array(3, as_dtype(expected)))
    same(tl.prod(x), np.array(1, as_dtype(expected)))
    with pytest.raises(TypeError, match="sum: dtype must be numeric, got bool"):
        tl.sum(x, dtype=tl.bool)


@pytest.mark.parametrize("dtype", DTYPES["any"])
@pytest.mark.parametrize("asked", DTYPES["numeric"])
def test_dtypes_of_sums_asked_for(dtype, asked):
    x = tl.ones((3,), dtype=dtype)
    if dtype.startswith("complex") and not asked.startswith("complex"):
        with pytest.raises(TypeError, match=f"sum: {dtype} cannot become {asked}"):
            tl.sum(x, dtype=asked)
    else:
        same(tl.sum(x, dtype=asked), np.array(3, as_dtype(asked)))
        same(tl.prod(x, dtype=asked, axis=0), np.array(1, as_dtype(asked)))


def test_elements_are_converted_before_they_are_added():
    x = tl.asarray([1.9, np.nan, -0.5, 300.0])
    same(tl.sum(x, dtype=tl.int32), np.array(301, np.int32))
    same(tl.sum(x, dtype=tl.uint8), np.array(0, np.uint8))  # 1 + 0 + 0 + 255, wrapped
    same(tl.prod(x[2:], dtype=tl.int64), np.array(0))


def test_integer_sums_do_not_overflow_their_inputs():
    x = tl.full((1000,), 127, dtype=tl.int8)
    same(tl.sum(x), np.array(127000))
    same(tl.sum(tl.full((3,), 2**32 - 1, dtype=tl.uint32)), np.array(3 * (2**32 - 1), np.uint64))
    same(tl.sum(tl.asarray([2**63 - 1, 1])), np.array(-(2**63)))
    same(tl.sum(x, dtype=tl.int8), np.array(127000 % 256, np.int8))


@pytest.mark.parametrize(("name", "words"), [(n, w) for n, (_, w) in REDUCTIONS.items()])
def test_refused_dtypes(name, words):
    for dtype in set(DTYPES["any"]) - set(DTYPES[words]):
        with pytest.raises(
            TypeError, match=f"{name}: only {words} dtypes are allowed, got {dtype}"
        ):
            getattr(tl, name)(tl.ones((3,), dtype=dtype))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_refused_arguments(name):
    function = getattr(tl, name)
    x = tl.ones((2, 3))
    for axis in (2, -3, (0, 2), (0, 1, 2)):
        with pytest.raises(
            IndexError, match=f"{name}: axis .* is out of bounds for array of dimension 2"
        ):
            function(x, axis=axis)
    for axis in ((0, 0), (1, -1)):
        with pytest.raises(ValueError, match=f"{name}: axis must not name a dimension twice"):
            function(x, axis=axis)
    with pytest.raises(IndexError, match="axis"):
        function(tl.ones(()), axis=0)
    for axis in (1.5, "a", (0.5,), object):
        message = f"{name}: axis must be an integer or a sequence of integers, got "
        with pytest.raises(TypeError, match=message + re.escape(repr(axis))):
            function(x, axis=axis)
    with pytest.raises(TypeError, match=f"{name}: must be called with a tensor, got numpy.ndarray"):
        function(np.ones(3, ">f8"))
    same(function(x, axis=[0]), host(function(x, axis=0)))
    same(function(x, axis=np.int64(1)), host(function(x, axis=1)))


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_refused_dtypes_of_results(name):
    function, x = getattr(tl, name), tl.ones((3,))
    message = f"{name}: dtype must be a dtype of this namespace, got 'bogus'"
    with pytest.raises(TypeError, match=message):
        function(x, dtype="bogus")
    with pytest.raises(TypeError, match=f"{name}: dtype must be numeric, got bool"):
        function(x, dtype=tl.bool)
    with pytest.raises(TypeError, match=f"{name}: complex128 cannot become float32"):
        function(x + 0j, dtype=tl.float32)


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


# --- variance ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
@pytest.mark.parametrize("correction", [0, 1, 1.5, 2.0])
def test_correction(dtype, correction):
    array = np.arange(12.0).reshape(3, 4)
    x = asarray(array, dtype=dtype, layout="WH")
    for axis in (None, 0, 1, (0, 1)):
        n = array.size if axis in (None, (0, 1)) else array.shape[axis]
        mean = array.mean(axis, keepdims=True)
        expected = host(((array - mean) ** 2).sum(axis) / (n - correction))
        close(tl.var(x, axis=axis, correction=correction), expected.astype(as_dtype(dtype)))
        close(
            tl.std(x, axis=axis, correction=correction), np.sqrt(expected).astype(as_dtype(dtype))
        )


def test_refused_corrections():
    for function in (tl.var, tl.std):
        for correction in ("1", None, 1j):
            message = f"{function.__name__}: correction must be a real number, got {correction!r}"
            with pytest.raises(TypeError, match=message):
                function(tl.ones((3,)), correction=correction)
        same(function(tl.ones((3,)), correction=np.float32(1)), np.array(0.0))


def test_corrections_that_leave_nothing():
    x = tl.asarray([1.0, 2.0])
    same(tl.var(x, correction=2), np.array(np.nan))  # NumPy gives inf
    same(tl.var(x, correction=3), np.array(np.nan))
    same(tl.std(x[:1], correction=1), np.array(np.nan))


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
    found = keys.max(axis) if greatest else keys.min(axis)
    return np.copysign(np.rint(found), found)


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


def test_means_do_not_overflow_on_the_way():
    same(tl.mean(tl.full((1000,), 60000.0, dtype=tl.float16)), np.array(60000, np.float16))
    same(tl.mean(tl.full((10,), 3e38, dtype=tl.float32)), np.array(3e38, np.float32))
