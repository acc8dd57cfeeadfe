"""Indices and values at the edge: what is accepted, converted, refused."""

import numpy as np
import pytest
from tensors import asarray, host, read_only, same

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
    ("key", "message"),
    [
        (5, "index 5 is out of bounds for dimension 0 of shape"),
        ((0, -5), "index -5 is out of bounds for dimension 1"),
        ((0, 0, 0, 0), "too many for shape"),
        ((..., ...), "too many for shape"),
        (1.5, "must be an integer, a slice, None, Ellipsis"),
        ("a", "got 'a'"),
        (lambda: tl.asarray([0.5]), "positions must be integers or booleans, got dtype float64"),
        (lambda: tl.asarray([3]), "index 3 is out of bounds for size 3"),
        (lambda: tl.asarray([True, False]), "does not fit dimensions of sizes"),
    ],
)
def test_bad_indices(key, message):
    x, key = tl.zeros((3, 4, 5)), key() if callable(key) else key
    with pytest.raises(IndexError, match=message):
        x[key]
    with pytest.raises(IndexError, match=message):
        x[key] = 1


@pytest.mark.parametrize(
    "key",
    [(False, ..., [2]), ([2], []), (np.zeros((0, 1), int), [9]), ([9], [9], False)],
)
def test_positions_of_no_element_are_not_checked(key):
    array = np.arange(4).reshape(2, 2)
    x = asarray(array)
    same(x[key], array[key])
    x[key] = 0
    same(x, array)


def zeros(dtype=None):
    return tl.zeros((3,), dtype=dtype)


@pytest.mark.parametrize(
    ("make", "value", "error", "message"),
    [
        (lambda: read_only(zeros()), 1, ValueError, "read-only"),
        (lambda: tl.broadcast_to(tl.zeros((1,)), (3,)), 1, ValueError, "share slots"),
        (lambda: tl.sliding_window(tl.arange(5), 3), 1, ValueError, "share slots"),
        (
            lambda: tl.zeros((3,)),
            lambda: tl.zeros((2,)),
            ValueError,
            r"\(2,\) could not be broadcast to \(3,\)",
        ),
        (zeros, 1j, TypeError, "complex cannot be written into float64"),
        (
            lambda: tl.zeros((3,)),
            lambda: tl.asarray(1j),
            TypeError,
            "complex128 cannot be written into float64",
        ),
        (lambda: zeros(tl.uint8), 300, OverflowError, "300"),
        (zeros, "a", TypeError, "got 'a'"),
    ],
)
@pytest.mark.parametrize("mask", [False, True], ids=["basic", "mask"])
def test_refused_writes(make, value, error, message, mask):
    x, value = make(), value() if callable(value) else value
    key = tl.asarray([True, True, True]) if mask and x.ndim == 1 else ...
    if key is not ... and isinstance(value, tl.Tensor) and value.ndim:
        message = "could not be broadcast"
    before = np.array(host(x))
    with pytest.raises(error, match=message):
        x[key] = value
    same(x, before)


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
    with pytest.raises(OverflowError, match="__setitem__: the Python integer 300 does not fit"):
        exec(f"x[{key}] = 300", {"x": x, "k": k})
