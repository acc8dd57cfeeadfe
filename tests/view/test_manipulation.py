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
    with pytest.raises(ValueError, match=r"size 1, got 1 of shape \(1, 3, 1\)"):
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
    (lambda x: tl.concat([x, x], axis=1), "(2,6,4):(1,8,2)"),
    (lambda x: tl.stack([x, x]), "(2,2,3,4):(24,1,8,2)"),
    (lambda x: tl.stack([x, x], axis=2), "(2,3,2,4):(1,8,24,2)"),
    (lambda x: tl.roll(x, 1, axis=0), "(2,3,4):(1,8,2)"),
    (lambda x: tl.roll(x, 1), "(2,3,4):(1,8,2)"),
    (lambda x: tl.roll(x[:1, :1], 1), "(1,1,4):(1,4,1) order=(0,2,1)"),
    (lambda x: tl.roll(x, (), axis=()), "(2,3,4):(1,8,2)"),
    (lambda x: tl.reshape(x, (6, 4)), "(6,4):(4,1)"),
    (lambda x: tl.tile(x, (1, 1, 2)), "(2,3,8):(1,16,2)"),
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


BAD = {
    "permute_dims twice": (lambda x: tl.permute_dims(x, (0, 0, 1)), ValueError, "twice"),
    "permute_dims few": (lambda x: tl.permute_dims(x, (0, 1)), ValueError, "permutation of 3"),
    "flip": (
        lambda x: tl.flip(x, axis=3),
        IndexError,
        "axis 3 is out of bounds for array of dimension 3",
    ),
    "flip, as a value": (lambda x: tl.flip(x, axis=3), ValueError, "axis 3 is out of bounds"),
    "squeeze": (lambda x: tl.squeeze(x, axis=0), ValueError, "of size 1, got 0 of"),
    "expand_dims": (
        lambda x: tl.expand_dims(x, axis=4),
        IndexError,
        "4 is out of bounds for array of dimension 4",
    ),
    "broadcast_to": (lambda x: tl.broadcast_to(x, (3, 4, 4)), ValueError, "could not be broadcast"),
    "broadcast_arrays": (
        lambda x: tl.broadcast_arrays(x, x[:2]),
        ValueError,
        r"could not be broadcast together with shapes \(3, 4, 5\), \(2, 4, 5\)",
    ),
    "reshape": (lambda x: tl.reshape(x, (7, -1)), ValueError, "does not fit 60 elements"),
    "reshape two unknown": (lambda x: tl.reshape(x, (-1, -1)), ValueError, "but for one -1"),
    "reshape copy": (lambda x: tl.reshape(x.mT, (60,), copy=False), ValueError, "copy=False"),
    "concat": (lambda x: tl.concat([x, x[:, 1:]], axis=0), ValueError, "agree but for axis 0"),
    "concat nothing": (lambda x: tl.concat([]), ValueError, "at least one tensor"),
    "concat a tensor": (lambda x: tl.concat(x), TypeError, "tuple or list"),
    "concat rank 0": (lambda x: tl.concat([tl.asarray(1)]), ValueError, "rank 0"),
    "stack": (lambda x: tl.stack([x, x[1:]]), ValueError, "shapes must be equal"),
    "roll": (lambda x: tl.roll(x, (1, 2), axis=0), ValueError, "equally many"),
    "roll axis": (
        lambda x: tl.roll(x, 1, axis=5),
        IndexError,
        "5 is out of bounds for array of dimension 3",
    ),
    "repeat": (lambda x: tl.repeat(x, -1, axis=0), ValueError, "not be negative"),
    "moveaxis": (lambda x: tl.moveaxis(x, (0, 1), 0), ValueError, "equally many"),
    "sliding_window": (lambda x: tl.sliding_window(x, (4,), axis=0), ValueError, "got 4"),
    "not a tensor": (lambda x: tl.flip([1, 2]), TypeError, r"flip: .* got list; .* asarray"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_name_function_rule_and_what_came(name):
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call(tl.zeros((3, 4, 5)))
