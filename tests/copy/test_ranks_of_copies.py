"""``tile`` and ``repeat`` at every rank that tensors have, against NumPy's at ranks that it has."""

import numpy as np
import pytest

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

SHAPES = [(), (3,), (2, 3), (1, 3), (2, 1, 3), (0, 3), (1, 1)]


def numbers(shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def on_host(x):
    return np.asarray(x.to_device("cpu"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("times", [(), (1,), (2,), (0,), (2, 1), (1, 2), (3, 1, 2), (2, 2, 1, 2)])
def test_tile(shape, times):
    for order in (tuple(range(len(shape))), tuple(range(len(shape)))[::-1]):
        found = tl.tile(tl.to_layout(tl.asarray(numbers(shape)), order), times)
        assert on_host(found).tolist() == np.tile(numbers(shape), times).tolist()
        new = max(len(times) - len(shape), 0)
        leading = tuple(range(new))[::-1]
        assert found.layout == tl.Layout.packed(found.shape, (*(d + new for d in order), *leading))


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_repeat(shape, count):
    for axis in range(len(shape)):
        found = tl.repeat(tl.asarray(numbers(shape)), count, axis=axis)
        expected = np.repeat(numbers(shape), count, axis=axis)
        assert on_host(found).tolist() == expected.tolist()


@pytest.mark.parametrize("rank", [33, 40, 64])
def test_ranks_above_32(rank):
    x = tl.reshape(tl.asarray([[1, 2], [3, 4]]), (2, *(1,) * (rank - 2), 2))
    found = tl.tile(x, (3, *(1,) * (rank - 2), 2))
    assert found.shape == (6, *(1,) * (rank - 2), 4)
    expected = [1, 2, 1, 2, 3, 4, 3, 4] * 3
    assert on_host(tl.reshape(found, (-1,))).tolist() == expected
    again = tl.repeat(x, 2, axis=rank - 1)
    assert np.asarray(tl.reshape(again, (-1,)).to_device("cpu")).tolist() == [
        1,
        1,
        2,
        2,
        3,
        3,
        4,
        4,
    ]
