"""Every kind of value, written in every way into tensors of every dtype."""

import itertools

import numpy as np
import pytest
from tensors import DTYPES, as_dtype, asarray, host

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

LAYOUTS = {
    "row-major": lambda shape: None,
    "column-major": lambda shape: tuple(range(len(shape))),
    "tiled": lambda shape: "{1,0:T(2,2)}",
}

# Keys, and the rows that they name of a tensor of four.
KEYS = {
    "integer": lambda: (1, [1]),
    "slice": lambda: (slice(1, 3), [1, 2]),
    "everything": lambda: (..., [0, 1, 2, 3]),
    "mask": lambda: (asarray(np.array([False, True, False, True])), [1, 3]),
    "mask of one": lambda: (asarray(np.array([False, True, False, False])), [1]),
    "positions": lambda: (asarray(np.array([3, -3])), [1, 3]),
    "one position": lambda: (asarray(np.array([1])), [1]),
    "positions of rank 2": lambda: (asarray(np.array([[0], [2]])), [0, 2]),
    "mask and slice": lambda: ((asarray(np.arange(4) > 1), slice(None)), [2, 3]),
    "positions and slice": lambda: ((asarray(np.array([0])), slice(None)), [0]),
    "list": lambda: ([0, 3], [0, 3]),
}

# Two, in every form; a complex number goes into complex tensors only.
VALUES = {
    "bool": lambda: True,
    "int": lambda: 2,
    "float": lambda: 2.0,
    "complex": lambda: 2 + 0j,
    "NumPy's scalar": lambda: np.float64(2),
    "NumPy's narrow scalar": lambda: np.int8(2),
    "NumPy's bool": lambda: np.bool_(True),
    "list": lambda: [2],
    "list of floats": lambda: [2.0],
    "array": lambda: np.array([2.0]),
    "integer tensor": lambda: asarray(np.array(2)),
    "float tensor": lambda: asarray(np.array([2.0], np.float32)),
    "bfloat16 tensor": lambda: asarray(np.array([2.0], as_dtype("bfloat16"))),
    "float16 tensor": lambda: asarray(np.array(2.0, np.float16)),
    "complex tensor": lambda: asarray(np.array([2.0], np.complex64)),
    "leading ones": lambda: asarray(np.array([[[[2]]]])),
}


@pytest.mark.parametrize("shape", [(4, 3), (4, 8), (4, 1)])
@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_written(dtype, shape):
    for layout, key, value in cases(dtype, shape):
        x = tl.full(shape, 1, dtype=as_dtype(dtype), layout=LAYOUTS[layout](shape))
        where, rows = KEYS[key]()
        x[where] = VALUES[value]()
        two = 1.0 if "bool" in (dtype, value) or value == "NumPy's bool" else 2.0
        expected = np.ones(shape)
        expected[rows] = two
        found = host(x).astype(np.complex128).real
        np.testing.assert_array_equal(found, expected, f"{layout}, {key}, {value}")


def cases(dtype, shape):
    """Layouts, keys and values; on CUDA, where each pair of dtypes costs a compilation, a few."""
    if tl.default_device() != "cpu":
        few = [] if shape != (4, 3) else ["bool", "int", "float"]
        return [("row-major", key, value) for key in KEYS for value in few]
    values = [v for v in VALUES if "complex" not in v or "complex" in dtype]
    return list(itertools.product(LAYOUTS, KEYS, values))


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_put_along_an_axis(dtype):
    for order in (None, (0, 1)):
        for value in VALUES:
            if value == "leading ones" or ("complex" in value and "complex" not in dtype):
                continue
            x = tl.full((3, 4), 1, dtype=as_dtype(dtype), layout=order)
            tl.put_along_axis(x, asarray(np.array([[0], [3], [-2]])), VALUES[value](), axis=1)
            expected = np.ones((3, 4))
            expected[[0, 1, 2], [0, 3, 2]] = 1 if dtype == "bool" or "bool" in value else 2
            found = host(x).astype(np.complex128).real
            np.testing.assert_array_equal(found, expected, f"{order}, {value}")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (4, 8), (5, 1), (3, 2, 5)])
def test_rows_of_16_bit_floats(dtype, shape):
    for value in (2.0, 1, -3.0, 0.5):
        x = tl.ones(shape, dtype=as_dtype(dtype))
        x[asarray(np.array([1]))] = value
        expected = np.ones(shape, np.float32)
        expected[1] = value
        np.testing.assert_array_equal(host(x).astype(np.float32), expected)


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
    np.testing.assert_array_equal(host(x), np.ones(shape))
    whole = tl.zeros((2, *shape))
    whole[1] = y
    np.testing.assert_array_equal(host(whole[1]), np.ones(shape))
    np.testing.assert_array_equal(host(whole[0]), np.zeros(shape))


def test_other_leading_sizes_are_refused():
    x = tl.zeros(3)
    with pytest.raises(
        ValueError, match=r"a value of shape \(2, 3\) could not be broadcast to \(3,\)"
    ):
        x[...] = tl.ones((2, 3))
    with pytest.raises(
        ValueError, match=r"a value of shape \(0, 3\) could not be broadcast to \(3,\)"
    ):
        x[...] = tl.ones((0, 3))


@pytest.mark.parametrize("key", ["k, None, 1:", "k[:0]", "k[:0] > 0, 1:", "0:0"])
def test_a_number_that_does_not_fit_is_refused_where_nothing_is_written(key):
    x, k = tl.zeros((4, 1, 3), dtype=tl.uint8), tl.asarray([-4, 3, -2])
    x = x[:0] if ">" in key else x
    with pytest.raises(OverflowError, match="__setitem__: the Python integer 300 does not fit"):
        exec(f"x[{key}] = 300", {"x": x, "k": k})
