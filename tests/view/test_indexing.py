"""Indices and values at the edge: what is accepted, converted, refused."""

import numpy as np
import pytest
from tensors import asarray, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.parametrize(
    "key",
    [
        np.int8(1),
        np.array(1),
        lambda: tl.asarray(1),
        True,
        np.True_,
        np.array(True),
        (np.array(False), 1),
        (np.uint8(0), ...),
        slice(np.int64(1)),
    ],
    ids=lambda key: "a tensor" if callable(key) else repr(key),
)
def test_numbers_of_other_kinds_are_indices(key):
    array = np.arange(6).reshape(2, 3)
    plain = 1 if callable(key) else key
    same(asarray(array)[key() if callable(key) else key], host(array[plain]))


@pytest.mark.parametrize(
    "key", [(False, ..., [2]), ([2], []), (np.zeros((0, 1), int), [9]), ([9], [9], False)]
)
def test_positions_of_no_element_are_not_checked(key):
    array = np.arange(4).reshape(2, 2)
    x = asarray(array)
    same(x[key], array[key])
    x[key] = 0
    same(x, array)


FITTING = [
    ((1, 3), (3,)),
    ((1, 1, 4, 3), (4, 3)),
    ((1, 1), ()),
    ((1, 1, 3), (4, 3)),
    ((1, 0), (0,)),
]


@pytest.mark.parametrize(("value", "shape"), FITTING)
def test_leading_ones_are_dropped(value, shape):
    """Whatever the key."""
    x, y = tl.zeros(shape), tl.ones(value)
    x[...] = y
    same(x, np.ones(shape))
    whole = tl.zeros((2, *shape))
    whole[1] = y
    same(whole[1], np.ones(shape))
    same(whole[0], np.zeros(shape))


@pytest.mark.parametrize("key", ["k, None, 1:", "k[:0]", "k[:0] > 0, 1:", "0:0"])
def test_a_number_that_does_not_fit_is_refused_where_nothing_is_written(key):
    x, k = tl.zeros((4, 1, 3), dtype=tl.uint8), tl.asarray([-4, 3, -2])
    x = x[:0] if ">" in key else x
    with pytest.raises(OverflowError, match="__setitem__: Python integer 300 out of bounds for"):
        exec(f"x[{key}] = 300", {"x": x, "k": k})
