"""Searching functions against NumPy."""

import numpy as np
import pytest
from layouts import STRIDED
from tensors import DTYPES, as_dtype, fits, padding_of, same, slots, tensor_in

import tensorlayout as tl

V = tl.PaddingValue


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_where_in_every_layout(dtype):
    for layout in STRIDED:
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
    same(tl.where(*map(tl.asarray, (mask, a, b))), np.where(mask, a, b))


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
    message = f"where: the condition must have dtype bool, got {dtype}"
    with pytest.raises(TypeError, match=message):
        tl.where(tl.ones((2,), dtype=dtype), x, x)


def test_refused_operands_of_where():
    c, x = tl.asarray([True]), tl.asarray([1.0])
    for given in [(True, x, x), ([True], x, x), (np.array([True]), x, x), (None, x, x)]:
        with pytest.raises(TypeError, match="where: must be called with a tensor"):
            tl.where(*given)
    for given in [(c, [1.0], x), (c, x, np.ones(1))]:
        with pytest.raises(TypeError, match=r"where: .*asarray\(\)"):
            tl.where(*given)
    with pytest.raises(ValueError, match=r"where: shapes \(2,\), \(3,\) do not broadcast"):
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
