"""Reductions (statistical functions, `all`, `any`) against NumPy, in every layout."""

import itertools
import math

import numpy as np
import pytest
from layouts import STRIDED
from tensors import BFLOAT16, DTYPES, as_dtype, close, fits, kind, same, slots, tensor_in

import tensorlayout as tl

# name: NumPy's function, the dtypes in the standard's words
REDUCTIONS = {
    "sum": (np.sum, "any"),
    "prod": (np.prod, "any"),
    "min": (np.min, "real numeric"),
    "max": (np.max, "real numeric"),
    "mean": (np.mean, "floating-point"),
    "var": (np.var, "real floating"),
    "std": (np.std, "real floating"),
    "all": (np.all, "any"),
    "any": (np.any, "any"),
}
CASES = [(name, dtype) for name, (_, words) in REDUCTIONS.items() for dtype in DTYPES[words]]


def oracle(name, array, **given):
    """NumPy's answer, floats worked out in float64 and rounded at the end."""
    dtype = array.dtype
    if name in ("min", "max", "all", "any"):
        wide = array.astype(np.float32) if dtype == BFLOAT16 else array
        found = REDUCTIONS[name][0](wide, **given)
        return np.asarray(found).astype(bool if name in ("all", "any") else dtype)
    wide = {"f": np.float64, "c": np.complex128, "u": np.uint64}.get(kind(dtype), np.int64)
    with np.errstate(all="ignore"):
        found = REDUCTIONS[name][0](array.astype(wide), **given)
        return np.asarray(found).astype(dtype if kind(dtype) in "fc" else wide)


def axes_of(rank):
    """None, and sets of dimensions, counted from either end."""
    dims = range(min(rank, 3))
    return [None, (), *dims, *(d - rank for d in dims), *itertools.permutations(dims, 2)]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_layout_and_axis(name):
    dtype = np.dtype("float32")
    for layout in STRIDED:
        if fits(layout, dtype):
            for number, axis in enumerate(axes_of(layout.ndim)):
                _check(name, layout, dtype, axis, number % 2 == 1)
                _check(name, layout, dtype, axis, number % 2 == 0)


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda case: case)
def test_every_layout_and_dtype(name, dtype):
    for layout in STRIDED:
        if fits(layout, as_dtype(dtype)):
            _check(name, layout, as_dtype(dtype), None, False)
            if layout.ndim:
                _check(name, layout, as_dtype(dtype), -1, True)


def _check(name, layout, dtype, axis, keepdims):
    x, array = tensor_in(layout, slots(dtype, layout.required_size, finite=True))
    if array.size == 0 and name not in ("sum", "prod", "all", "any"):
        return
    found = getattr(tl, name)(x, axis=axis, keepdims=keepdims)
    expected = oracle(name, array, axis=axis, keepdims=keepdims)
    _close(found, expected, array, f"{name} of {dtype} in {layout} along {axis}")


def _close(found, expected, array, message):
    """Sums of opposite numbers are as accurate as their largest term, no more."""
    if kind(expected.dtype) in "fc" and array.size:
        scale = np.abs(array.astype(np.complex128)).max() * array.size
        eps = max(float(tl.finfo(found.dtype).eps), 2.0**-50)
        got, wanted = (np.asarray(a).astype(np.complex128) for a in (found, expected))
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), message
        np.testing.assert_allclose(got, wanted, 2 * eps, 2.0**-50 * scale, err_msg=message)
    else:
        same(found, expected, message)


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
        close(found, oracle(name, array, axis=axis, keepdims=keepdims))


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


# --- dtypes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_dtypes_of_sums(dtype):
    x = tl.ones((3,), dtype=dtype)
    expected = {"b": "int64", "i": "int64", "u": "uint64"}.get(kind(as_dtype(dtype)), dtype)
    same(tl.sum(x), np.array(3, as_dtype(expected)))
    same(tl.prod(x), np.array(1, as_dtype(expected)))
    for asked in DTYPES["numeric"]:
        if dtype.startswith("complex") and not asked.startswith("complex"):
            with pytest.raises(TypeError, match=f"sum: {dtype} cannot become {asked}"):
                tl.sum(x, dtype=asked)
            continue
        same(tl.sum(x, dtype=asked), np.array(3, as_dtype(asked)))
        same(tl.prod(x, dtype=asked, axis=0), np.array(1, as_dtype(asked)))
    with pytest.raises(TypeError, match="sum: dtype must be numeric, got bool"):
        tl.sum(x, dtype=tl.bool)


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
        with pytest.raises(IndexError, match=f"{name}: axis must be at least -2 and below 2"):
            function(x, axis=axis)
    for axis in ((0, 0), (1, -1)):
        with pytest.raises(ValueError, match=f"{name}: axis must not name a dimension twice"):
            function(x, axis=axis)
    with pytest.raises(IndexError, match="axis"):
        function(tl.ones(()), axis=0)
    for axis in (1.0, "a", (0.5,)):
        with pytest.raises(TypeError):
            function(x, axis=axis)
    with pytest.raises(TypeError, match=f"{name}: must be called with a tensor, got numpy.ndarray"):
        function(np.ones(3))
    same(function(x, axis=[0]), np.asarray(function(x, axis=0)))
    same(function(x, axis=np.int64(1)), np.asarray(function(x, axis=1)))


# --- variance ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["real floating"])
@pytest.mark.parametrize("correction", [0, 1, 1.5, 2.0])
def test_correction(dtype, correction):
    array = np.arange(12.0).reshape(3, 4)
    x = tl.asarray(array, dtype=dtype, layout="WH")
    for axis in (None, 0, 1, (0, 1)):
        n = array.size if axis in (None, (0, 1)) else array.shape[axis]
        mean = array.mean(axis, keepdims=True)
        expected = np.asarray(((array - mean) ** 2).sum(axis) / (n - correction))
        close(tl.var(x, axis=axis, correction=correction), expected.astype(as_dtype(dtype)))
        close(
            tl.std(x, axis=axis, correction=correction), np.sqrt(expected).astype(as_dtype(dtype))
        )


def test_corrections_that_leave_nothing():
    x = tl.asarray([1.0, 2.0])
    same(tl.var(x, correction=2), np.array(np.nan))  # NumPy gives inf
    same(tl.var(x, correction=3), np.array(np.nan))
    same(tl.std(x[:1], correction=1), np.array(np.nan))


def test_variance_of_numbers_far_from_0():
    x = tl.asarray(np.float32(2**24) + np.array([0, 2, 4, 6], np.float32))
    same(tl.var(x), np.array(5, np.float32))
    same(tl.mean(x), np.array(2**24 + 3, np.float32))  # rounded from 2**24 + 3 to even
    y = tl.asarray([1e9, 1e9 + 1, 1e9 + 2])
    close(tl.var(y), np.array(2 / 3))


# --- accuracy ----------------------------------------------------------------------------------

LONG = [
    ("(1000000,):(1,)", None),
    ("(200000,):(-1,)+199999", 0),
    ("(100000,3):(3,1)", 0),
    ("(100000,3):(1,100000)", 0),
    ("(3,100000):(100000,1)", 1),
    ("(3,100000):(100004,1) padded=(3,100004) padding=HIGHEST", 1),
    ("(400,3,300):(1,120000,400)", (0, 2)),
    ("(100000,2):(1,0)", 0),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(("text", "axis"), LONG)
def test_sums_of_many_are_right_to_the_last_bit_but_one(dtype, text, axis):
    layout = tl.Layout.parse(text)
    rng = np.random.default_rng(5)
    scale = 0.1 if dtype == "float16" else 10.0  # within the range of float16
    values = (rng.random(layout.required_size) * scale).astype(as_dtype(dtype))
    x = tl.from_storage(values.view(np.uint8), layout, dtype=dtype)
    for index in np.ndindex(tl.sum(x, axis=axis).shape):
        column = _column(x, axis, index)
        exact = math.fsum(column)
        eps = float(tl.finfo(dtype).eps)
        assert float(tl.sum(x, axis=axis)[index]) == pytest.approx(exact, rel=eps)
        mean = float(tl.mean(x, axis=axis)[index])
        assert mean == pytest.approx(exact / len(column), rel=eps)
        spread = math.fsum((v - exact / len(column)) ** 2 for v in column) / len(column)
        assert float(tl.var(x, axis=axis)[index]) == pytest.approx(spread, rel=2 * eps)


def _column(x, axis, index):
    array = np.asarray(x).astype(np.float64)
    kept = [] if axis is None else [d for d in range(x.ndim) if d not in np.atleast_1d(axis)]
    key = [slice(None)] * x.ndim
    for d, i in zip(kept, index, strict=True):
        key[d] = i
    return array[tuple(key)].ravel().tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_many_ones(dtype):
    count = 60000 if dtype == "float16" else 2**24 + 2**22
    x = tl.broadcast_to(tl.ones((1,), dtype=dtype), (count,))
    same(tl.sum(x), np.array(count, as_dtype(dtype)))
    same(tl.mean(x), np.array(1, as_dtype(dtype)))


def test_sums_in_bfloat16_are_rounded_once():
    x = tl.asarray([1, 2**-8, 2**-40], dtype=tl.bfloat16)  # just above a tie
    same(tl.sum(x), np.array(1 + 2**-7, BFLOAT16))
    same(tl.sum(-x), np.array(-1 - 2**-7, BFLOAT16))
    y = tl.asarray([1, 2**-7, 2**-8, -(2**-40)], dtype=tl.bfloat16)  # just below one
    same(tl.sum(y), np.array(1 + 2**-7, BFLOAT16))
    huge = tl.asarray([3e38, 3e38], dtype=tl.bfloat16)
    same(tl.sum(huge), np.array(np.inf, BFLOAT16))
    same(tl.mean(huge), np.asarray(huge)[0])
    same(tl.sum(tl.asarray([1e-40, np.nan], dtype=tl.bfloat16)), np.array(np.nan, BFLOAT16))


def test_means_do_not_overflow_on_the_way():
    same(tl.mean(tl.full((1000,), 60000.0, dtype=tl.float16)), np.array(60000, np.float16))
    same(tl.mean(tl.full((10,), 3e38, dtype=tl.float32)), np.array(3e38, np.float32))
