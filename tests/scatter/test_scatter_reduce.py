"""`scatter_add` and its like: the order in which many values are added up, and its bits.

Values in every layout and dtype: `ops/indexing_cases.py`.
"""

import numpy as np
import pytest
from tensors import as_dtype, asarray, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def rng():
    return np.random.default_rng(0)


def numbers(dtype, shape, seed=0):
    """Numbers of which floats are whole, so that 0 has one sign."""
    result = rng().integers(-9, 9, (2, *shape))
    return (result[0] if seed == 0 else result[1]).astype(dtype)


def total(values, begin, power):
    """The sum of 256**power values: 256 sums of the next lower power, one after the other."""
    if power == 0:
        return values[begin]
    step = 256 ** (power - 1)
    result = total(values, begin, power - 1)
    for k in range(1, 256):
        result = result + total(values, begin + k * step, power - 1)
    return result


def summed(x, values):
    """`x` and values of one position, as the documentation says."""
    begin = 0
    for power in (2, 1, 0):
        while len(values) - begin >= 256**power:
            x = x + total(values, begin, power)
            begin += 256**power
    return x


def test_few_floats_are_added_up_in_index_order():
    updates = rng().standard_normal((4, 500)).astype(np.float32)
    i = rng().integers(0, 20, (4, 500))
    assert np.bincount(i.ravel()).max() < 256
    result = tl.scatter_add(tl.zeros(20, dtype=tl.float32), asarray(i), asarray(updates))
    expected = np.zeros(20, np.float32)
    np.add.at(expected, i, updates)
    same(result, expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_many_floats_are_added_up_in_runs(dtype):
    # So many of each of five positions, in any order.
    counts = (255, 256, 700, 3, 1000)
    i = rng().permutation(np.repeat(np.arange(5), counts))
    array, updates = (numbers(dtype, (n, 2), seed) for seed, n in enumerate((5, i.size)))
    if dtype != "complex64":
        updates = updates * as_dtype(dtype).type(1 / 3)
    result = tl.scatter_add(asarray(array), asarray(i), asarray(updates))
    want = [[summed(array[p, k], updates[i == p, k]) for k in (0, 1)] for p in range(5)]
    same(result, np.asarray(want, as_dtype(dtype)))
    along = tl.scatter_add(asarray(array), asarray(np.stack([i, i], 1)), asarray(updates))
    same(along, np.asarray(want, as_dtype(dtype)))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_runs_of_negative_zeros(dtype):
    zeros = -np.zeros(600, dtype)
    result = tl.scatter_add(asarray(zeros[:1]), asarray(np.zeros(600, np.int64)), asarray(zeros))
    same(result, zeros[:1])


@pytest.mark.parametrize("count", [255, 256, 512, 65535, 65536])
def test_runs_end_where_they_are_full(count):
    # So many of place 3; more of others than are summed at a time by the host, in any order.
    counts = (40, 300, 9000, count, 700, 0, 256)
    i = rng().permutation(np.repeat(np.arange(7), counts))
    array, updates = (
        (values * 10.0 ** rng().integers(-3, 4, values.size)).astype(np.float32)
        for values in (rng().standard_normal(7), rng().standard_normal(i.size))
    )
    updates[i == 4] = array[4] = -0.0
    updates[np.flatnonzero(i == 1)[270]] = np.nan
    want = [summed(array[p], updates[i == p]) for p in range(7)]
    result = tl.scatter_add(asarray(array), asarray(i), asarray(updates))
    same(result, np.asarray(want, np.float32))
    alone = tl.scatter_add(
        asarray(array[3:4]), asarray(np.zeros(count, np.int8)), asarray(updates[i == 3])
    )
    same(alone, np.asarray(want[3:4], np.float32))
    # Of two lines the second has the updates in reverse.
    pair = np.stack([updates, updates[::-1]])
    result = tl.scatter_add(asarray(np.stack([array] * 2)), asarray(i), asarray(pair), axis=1)
    reverse = [summed(array[p], updates[::-1][i == p]) for p in range(7)]
    same(result, np.asarray([want, reverse], np.float32))


def test_runs_at_positions_far_apart():
    places = np.asarray([0, 77_777, 150_001, 199_999])
    which = rng().permutation(np.repeat(np.arange(4), (1000, 255, 256, 1)))
    updates = rng().standard_normal((which.size, 2)).astype(np.float32)
    result = tl.scatter_add(
        tl.ones((200_000, 2), dtype=tl.float32), asarray(places[which]), asarray(updates)
    )
    want = np.ones((200_000, 2), np.float32)
    for p, place in enumerate(places):
        want[place] = [summed(np.float32(1), updates[which == p, k]) for k in (0, 1)]
    same(result, want)


def test_more_values_than_can_be_written():
    i = tl.broadcast_to(asarray(np.asarray([1])), (2**56,))
    x = tl.zeros(3, dtype=tl.float32)
    message = "72057594037927936 values are more than 17592186044416, which would take days"
    with pytest.raises(ValueError, match=f"scatter_add: {message}"):
        tl.scatter_add(x, i, 1.0)
    with pytest.raises(ValueError, match=f"__setitem__: {message}"):
        x[i] = 1
    same(x, np.zeros(3, np.float32))
