"""Manipulation: reshapes that are views, the layouts of results, bad arguments."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensors import asarray, same, shared

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def test_squeeze_is_a_view_and_wants_size_1():
    x = tl.zeros((1, 3, 1))
    assert tl.squeeze(x, axis=(0, -1)).shape == (3,)
    assert shared(tl.squeeze(x, axis=0), x)
    with pytest.raises(ValueError, match=r"size 1 can be.*, got axis 1 of shape \(1, 3, 1\)"):
        tl.squeeze(x, axis=1)


@given(data=st.data())
def test_reshape_is_a_view_exactly_where_numpy_has_one(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, max_side=4))
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    key = data.draw(hnp.basic_indices(tuple(shape[d] for d in order), allow_ellipsis=False))
    x = tl.permute_dims(asarray(array), order)[key]
    array = np.asarray(array.transpose(order)[key])
    target = data.draw(_factorisations(array.size))
    same(tl.reshape(x, target), array.reshape(target))
    try:
        numpys = array.reshape(target, copy=False)
    except ValueError:
        with pytest.raises(ValueError, match="copy=False"):
            tl.reshape(x, target, copy=False)
    else:
        same(tl.reshape(x, target, copy=False), numpys)


@st.composite
def _factorisations(draw, size):
    if size == 0:
        return draw(st.sampled_from([(0,), (2, 0), (0, 1, 3)]))
    shape = []
    while size > 1 and len(shape) < 4:
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        shape.append(draw(st.sampled_from(divisors)))
        size //= shape[-1]
    return (*shape, size)


ORDERS = [
    # call, layout of the result
    (lambda x: tl.roll(x[:1, :1], 1), "(1,1,4):(1,4,1) order=(0,2,1)"),
    (lambda x: tl.roll(x, (), axis=()), "(2,3,4):(1,8,2)"),
    (lambda x: tl.reshape(x, (6, 4)), "(6,4):(4,1)"),
    (lambda x: tl.concat([x[:, :, ::2], x], axis=2), "(2,3,6):(1,12,2)"),
]


@pytest.mark.parametrize(("call", "layout"), ORDERS)
def test_the_order_of_results(call, layout):
    x = tl.zeros((2, 3, 4), layout="HWC")
    assert str(x.layout) == "(2,3,4):(1,8,2)"
    assert str(call(x).layout) == layout


def test_sliding_windows_share_slots():
    x = tl.reshape(tl.arange(20), (4, 5))
    windows = tl.sliding_window(x, (2, 3))
    same(windows, np.lib.stride_tricks.sliding_window_view(np.arange(20).reshape(4, 5), (2, 3)))
    assert shared(windows, x)
    assert windows.layout.is_overlapping
    same(tl.sum(windows, axis=(2, 3))[0], np.array([21, 27, 33]))


def test_broadcast_shapes_and_arrays():
    assert tl.broadcast_shapes((3, 1), (2, 1, 5), ()) == (2, 3, 5)
    a, b = tl.broadcast_arrays(tl.zeros((3, 1)), tl.zeros((4,)))
    assert (a.shape, b.shape) == ((3, 4), (3, 4))
    assert (a.strides, b.strides) == ((1, 0), (0, 1))
