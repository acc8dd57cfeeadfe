"""Searching functions against NumPy."""

import bisect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import TENSORS
from tensors import DTYPES, as_dtype, asarray, fits, host, padding_of, same, slots, tensor_in

import tensorlayout as tl
from tensorlayout.functions import searching

pytestmark = pytest.mark.usefixtures("device")

V = tl.PaddingValue


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_where_in_every_layout(dtype):
    for layout in TENSORS:
        if not (fits(layout, as_dtype(dtype)) and fits(layout, np.dtype(bool))):
            continue
        size = max(layout.required_size, layout.size)
        x, a = tensor_in(layout, slots(as_dtype(dtype), size))
        y, b = tensor_in(tl.Layout.column_major(layout.shape), slots(as_dtype(dtype), size, 1))
        c, mask = tensor_in(layout, slots(np.dtype(bool), size, 2))
        same(tl.where(c, x, y), np.where(mask, a, b))
        same(tl.where(c, y, x), np.where(mask, b, a))
        same(tl.where(c, x, x), a)


@pytest.mark.parametrize(
    ("condition", "first", "second"),
    [
        ((2, 3), (), ()),
        ((), (2, 3), (2, 3)),
        ((2, 1), (3,), ()),
        ((3,), (2, 1), (4, 1, 1)),
        ((1,), (0,), (1,)),
        ((2, 3), (1, 3), (2, 1)),
    ],
)
def test_where_broadcasts(condition, first, second):
    mask = np.resize([True, False, False], condition)
    a, b = np.arange(np.prod(first)).reshape(first), -np.ones(second)
    same(tl.where(*map(asarray, (mask, a, b))), np.where(mask, a, b))


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


@pytest.mark.parametrize("dtype", sorted(set(DTYPES["any"]) - {"bool"}))
def test_conditions_that_are_not_bool(dtype):
    x = tl.ones((2,))
    message = f"where: the condition must have dtype bool, got {dtype}; use condition != 0"
    with pytest.raises(TypeError, match=message):
        tl.where(tl.ones((2,), dtype=dtype), x, x)


def test_refused_operands_of_where():
    c, x = tl.asarray([True]), tl.asarray([1.0])
    for operands in [(True, x, x), ([True], x, x), (None, x, x)]:
        with pytest.raises(TypeError, match="where: must be called with a tensor"):
            tl.where(*operands)
    for operands in [(c, [1.0], x), (c, x, np.ones(1, ">f8"))]:
        with pytest.raises(TypeError, match=r"where: .*asarray\(\)"):
            tl.where(*operands)
    with pytest.raises(ValueError, match=r"where: shape mismatch: .* \(2,\), \(3,\)"):
        tl.where(tl.asarray([True, False]), tl.ones((3,)), 1.0)


@pytest.mark.parametrize("value", [V.ZERO, V.ONE, V.LOWEST, V.HIGHEST])
def test_padding_after_where(value):
    held = {V.ZERO: 0, V.ONE: 1, V.LOWEST: -128, V.HIGHEST: 127}[value]
    layout = tl.Layout.padded((2, 3), (3, 5), (0, 1), value)
    x = tl.ones((2, 3), dtype=tl.int8, layout=layout)
    for result in (
        tl.where(x == 1, x, x),
        tl.where(tl.ones((2, 3), dtype=tl.bool), x, 5),
        tl.where(tl.asarray(True), 5, x),
    ):
        assert result.layout is layout
        assert padding_of(result).tolist() == [held] * 9


# --- the chapter -------------------------------------------------------------------------------

TESTED = ["nonzero", "searchsorted", "where"]
REDUCTIONS = ["argmax", "argmin", "count_nonzero"]  # tested as such


def test_every_function_is_tested():
    assert sorted(searching.__all__) == sorted(TESTED + REDUCTIONS)


# --- nonzero -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_nonzero_in_every_layout(dtype):
    for layout in TENSORS:
        if not layout.ndim or not fits(layout, as_dtype(dtype)):
            continue
        x, a = tensor_in(layout, slots(as_dtype(dtype), layout.required_size))
        expected = [i for i in np.ndindex(a.shape) if a[i] != 0]  # in row-major order; NaN is not
        found = tl.nonzero(x)
        assert isinstance(found, tuple)
        assert len(found) == x.ndim
        for d, positions in enumerate(found):
            same(positions, np.array([i[d] for i in expected], np.int64))
            assert positions.layout == tl.Layout.row_major((len(expected),))


def test_nonzero_of_one_part():
    same(tl.nonzero(tl.asarray([0j, 1 + 0j, 1j, -0.0 - 0j]))[0], np.array([1, 2]))


def test_refused_operands_of_nonzero():
    with pytest.raises(ValueError, match=r"^nonzero: needs a rank of at least 1, got shape \(\)"):
        tl.nonzero(tl.asarray(1))
    with pytest.raises(TypeError, match=r"^nonzero: must be called with a tensor"):
        tl.nonzero([1])


# --- searchsorted ------------------------------------------------------------------------------


def as_sorted(number):
    """NaN behind all else, as in `sort`."""
    return (math.isnan(number), 0.0 if math.isnan(number) else number)


def positions(line, values, side):
    find = bisect.bisect_left if side == "left" else bisect.bisect_right
    flat = [find(line, as_sorted(v), key=as_sorted) for v in values.reshape(-1).tolist()]
    return np.array(flat, np.int64).reshape(values.shape)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES["real numeric"])
def test_searchsorted_in_every_layout(dtype, side):
    numbers = sorted((v.item() for v in slots(as_dtype(dtype), 9, 1)), key=as_sorted)
    line = asarray(numbers, dtype=dtype)
    spread = tl.flip(asarray(np.repeat(host(line)[::-1], 2)))[::2]  # gaps, and backwards
    for layout in TENSORS:
        if fits(layout, as_dtype(dtype)):
            x, a = tensor_in(layout, slots(as_dtype(dtype), layout.required_size))
            for sorted_line in (line, spread):
                found = tl.searchsorted(sorted_line, x, side=side)
                same(found, positions(numbers, a, side))
                assert found.layout == tl.Layout.row_major(x.shape)
                assert host(found).flags.c_contiguous


NUMBERS = st.lists(st.integers(-4, 4) | st.floats(width=16), max_size=8)


@settings(max_examples=60)
@given(NUMBERS, NUMBERS, st.sampled_from(["left", "right"]))
def test_searchsorted_of_any_numbers(line, values, side):
    unsorted, x = (asarray(numbers, dtype=tl.float64) for numbers in (line, values))
    line = sorted(line, key=as_sorted)
    expected = positions(line, np.array(values, np.float64), side)
    same(tl.searchsorted(tl.sort(unsorted), x, side=side), expected)
    same(tl.searchsorted(unsorted, x, side=side, sorter=tl.argsort(unsorted)), expected)


@settings(max_examples=40)
@given(NUMBERS, st.floats(width=16), st.sampled_from(["left", "right"]))
def test_inserted_elements_are_in_the_order_of_sort(line, value, side):
    x = tl.sort(asarray(line, dtype=tl.float64))
    at = int(tl.searchsorted(x, value, side=side))
    inserted = np.insert(host(x), at, value)
    np.testing.assert_array_equal(host(tl.sort(asarray(inserted))), inserted)


def test_scalars_of_searchsorted():
    x = tl.asarray([1, 2, 3], dtype=tl.uint8)
    same(tl.searchsorted(x, 2), np.array(1))
    same(tl.searchsorted(x, 2.5), np.array(2))
    same(tl.searchsorted(x, np.float32(2), side="right"), np.array(2))
    same(tl.searchsorted(tl.asarray([1.0, 2.0]), 2), np.array(1))
    with pytest.raises(OverflowError, match="searchsorted: the Python integer 300 does not fit"):
        tl.searchsorted(x, 300)


def test_searchsorted_promotes():
    x = tl.asarray([-1, 1], dtype=tl.int8)
    same(tl.searchsorted(x, tl.asarray([255, 0], dtype=tl.uint8)), np.array([2, 1]))
    same(tl.searchsorted(x, tl.asarray([0.5, 1.5])), np.array([1, 2]))


def test_sorters_of_each_integer_dtype():
    x = tl.asarray([3.0, 1.0, 2.0])
    for dtype in DTYPES["integral"]:
        order = tl.asarray([1, 2, 0], dtype=dtype)
        same(tl.searchsorted(x, tl.asarray([2.5, 0.0]), sorter=order), np.array([2, 0]))


def test_refused_operands_of_searchsorted():
    x, flags = tl.asarray([1, 2, 3]), tl.asarray([True])
    for error, message, operands, options in [
        (ValueError, "side must be 'left' or 'right', got 'x'", (x, x), {"side": "x"}),
        (ValueError, r"x1 must have rank 1, got shape \(1, 3\)", (x[None], x), {}),
        (ValueError, r"x1 must have rank 1, got shape \(\)", (x[0], x), {}),
        (TypeError, "only real numeric dtypes are allowed, got bool, bool", (flags, flags), {}),
        (TypeError, "only real numeric dtypes are allowed, got int64, complex128", (x, 1j), {}),
        (TypeError, r".*list; make it a tensor with asarray\(\)", (x, [1]), {}),
        (TypeError, "must be called with a tensor", (1, x), {}),
        (TypeError, "sorter must have an integer dtype", (x, x), {"sorter": x * 1.0}),
        (TypeError, "sorter must be a tensor, got list", (x, x), {"sorter": [0, 1, 2]}),
        (ValueError, "x1 must have rank 1 and sorter its shape", (x, x), {"sorter": x[:2]}),
        (IndexError, "sorter holds positions out of bounds for x1", (x, x), {"sorter": x}),
    ]:
        with pytest.raises(error, match=f"^searchsorted: {message}"):
            tl.searchsorted(*operands, **options)


@pytest.mark.cpu  # on CUDA what is moved on the way has records too
def test_searches_are_one_record():
    x = tl.ones((3, 4)).T
    with tl.trace() as seen:
        tl.searchsorted(x[0, :], x)
        tl.searchsorted(x[0, :], x, sorter=tl.asarray([2, 1, 0]))
    kinds = [(record.name, record.kind) for record in seen if record.kind != "view"]
    assert [name for name, _ in kinds].count("searchsorted") == 2
    assert len(kinds) == 3  # the elements gathered by the sorter are seen
