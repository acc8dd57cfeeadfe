"""Manipulation functions against NumPy's, over views of every kind; which of them are views."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensors import asarray, same, shared

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

BASES = {
    "row-major": lambda a: a,
    "column-major": lambda a: np.asfortranarray(a),
    "permuted": lambda a: np.ascontiguousarray(a.transpose(1, 2, 0)).transpose(2, 0, 1),
    "flipped": lambda a: np.ascontiguousarray(a[::-1, :, ::-1])[::-1, :, ::-1],
    "sliced": lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=-1)[::2, ..., 1::3],
    "broadcast": lambda a: np.broadcast_to(a[:, :1], a.shape),
    "size 0": lambda a: a[:, :0],
    "sizes 1": lambda a: a[:1, :, :1],
}


@pytest.fixture(params=BASES)
def pair(request):
    array = BASES[request.param](np.arange(60, dtype=np.int32).reshape(3, 4, 5))
    return asarray(array), array


# Each: the call on a namespace-neutral pair of (module, array); NumPy's answer is the expectation.
VIEWS = {
    "permute_dims": (lambda x: tl.permute_dims(x, (2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "permute_dims back": (lambda x: tl.permute_dims(x, (-1, 1, 0)), lambda a: a.T),
    "moveaxis": (lambda x: tl.moveaxis(x, 0, -1), lambda a: np.moveaxis(a, 0, -1)),
    "moveaxis of two": (
        lambda x: tl.moveaxis(x, (0, 2), (1, 0)),
        lambda a: np.moveaxis(a, (0, 2), (1, 0)),
    ),
    "expand_dims": (lambda x: tl.expand_dims(x, axis=1), lambda a: np.expand_dims(a, 1)),
    "expand_dims twice": (
        lambda x: tl.expand_dims(x, axis=(0, -1)),
        lambda a: np.expand_dims(a, (0, -1)),
    ),
    "flip": (lambda x: tl.flip(x), lambda a: np.flip(a)),
    "flip of one": (lambda x: tl.flip(x, axis=-2), lambda a: np.flip(a, -2)),
    "broadcast_to": (
        lambda x: tl.broadcast_to(x, (2, *x.shape)),
        lambda a: np.broadcast_to(a, (2, *a.shape)),
    ),
    "matrix_transpose": (lambda x: tl.matrix_transpose(x), lambda a: np.matrix_transpose(a)),
    "split a dimension": (
        lambda x: tl.reshape(x, (*x.shape[:1], 2, 2, *x.shape[2:])) if x.shape[1] == 4 else x,
        lambda a: a.reshape(*a.shape[:1], 2, 2, *a.shape[2:]) if a.shape[1] == 4 else a,
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_storage_and_hold_what_numpy_holds(name, pair):
    x, array = pair
    ours, numpys = VIEWS[name]
    with tl.trace() as seen:
        view = ours(x)
    same(view, numpys(array))
    assert shared(view, x) == (view.size > 0)
    assert {r.kind for r in seen} <= {"view"}


def test_squeeze_is_a_view_and_wants_size_1():
    x = tl.zeros((1, 3, 1))
    assert tl.squeeze(x, axis=(0, -1)).shape == (3,)
    assert shared(tl.squeeze(x, axis=0), x)
    with pytest.raises(ValueError, match=r"size 1, got 1 of shape \(1, 3, 1\)"):
        tl.squeeze(x, axis=1)


def test_unstack_gives_views(pair):
    x, array = pair
    for axis in (0, 1, -1):
        parts = tl.unstack(x, axis=axis)
        assert len(parts) == array.shape[axis]
        for part, expected in zip(parts, np.unstack(array, axis=axis), strict=True):
            same(part, expected)
            assert shared(part, x) == (part.size > 0)


COPIES = {
    "concat": (lambda x: tl.concat([x, x], axis=1), lambda a: np.concat([a, a], axis=1)),
    "concat flat": (lambda x: tl.concat([x, x], axis=None), lambda a: np.concat([a, a], axis=None)),
    "stack": (lambda x: tl.stack([x, x]), lambda a: np.stack([a, a])),
    "stack last": (lambda x: tl.stack([x, x, x], axis=-1), lambda a: np.stack([a] * 3, axis=-1)),
    "roll": (lambda x: tl.roll(x, 2, axis=1), lambda a: np.roll(a, 2, 1)),
    "roll flat": (lambda x: tl.roll(x, -7), lambda a: np.roll(a, -7)),
    "roll two": (lambda x: tl.roll(x, (1, -1), axis=(0, 2)), lambda a: np.roll(a, (1, -1), (0, 2))),
    "roll twice": (lambda x: tl.roll(x, (1, 1), axis=(0, 0)), lambda a: np.roll(a, (1, 1), (0, 0))),
    "repeat": (lambda x: tl.repeat(x, 2, axis=1), lambda a: np.repeat(a, 2, 1)),
    "repeat flat": (lambda x: tl.repeat(x, 3), lambda a: np.repeat(a, 3)),
    "repeat never": (lambda x: tl.repeat(x, 0, axis=0), lambda a: np.repeat(a, 0, 0)),
    "repeat by a tensor": (
        lambda x: tl.repeat(x, tl.arange(x.shape[0]), axis=0),
        lambda a: np.repeat(a, np.arange(a.shape[0]), 0),
    ),
    "tile": (lambda x: tl.tile(x, (2, 1, 3)), lambda a: np.tile(a, (2, 1, 3))),
    "tile, more dimensions": (
        lambda x: tl.tile(x, (2, 1, 1, 1)),
        lambda a: np.tile(a, (2, 1, 1, 1)),
    ),
    "tile, fewer": (lambda x: tl.tile(x, (2,)), lambda a: np.tile(a, (2,))),
    "reshape": (lambda x: tl.reshape(x, (-1,)), lambda a: a.reshape(-1)),
    "reshape by number": (lambda x: tl.reshape(x, x.size), lambda a: a.reshape(-1)),
    "reshape anew": (lambda x: tl.reshape(x, x.shape, copy=True), lambda a: a.copy()),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_hold_what_numpy_holds(name, pair):
    x, array = pair
    if array.size == 0 and name == "reshape":
        x, array = x[:, :0], array[:, :0]
    ours, numpys = COPIES[name]
    same(ours(x), numpys(array))


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


def test_joins_promote_and_follow_the_first():
    x = tl.asarray([[1, 2]], dtype=tl.int16, layout="WH")
    y = tl.asarray([[0.5, 1.5]], dtype=tl.float32)
    z = tl.concat([x, y])
    assert z.dtype == tl.float32
    assert str(z.layout) == "(2,2):(1,2)"
    same(z, np.array([[1, 2], [0.5, 1.5]], np.float32))


def test_padding_is_not_joined():
    layout = tl.Layout.padded((2, 3), (2, 5), padding_value=tl.PaddingValue.ONE)
    x = tl.zeros((2, 3), layout=layout)
    joined = tl.concat([x, x], axis=1)
    assert str(joined.layout) == "(2,6):(6,1)"
    same(joined, np.zeros((2, 6)))


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
