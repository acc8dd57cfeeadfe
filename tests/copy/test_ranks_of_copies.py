"""`tile` and `repeat` at ranks that NumPy has not, and the layout that a tiled tensor keeps.

At other ranks, tests/ops draws both in every layout.
"""

import numpy as np
import pytest

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def on_host(x):
    return np.asarray(x.to_device("cpu"))


@pytest.mark.parametrize("times", [(), (2, 1), (3, 1, 2), (2, 2, 1, 2)])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_new_dimensions_are_the_slowest(order, times):
    numbers = np.arange(6).reshape(2, 3)
    result = tl.tile(tl.to_layout(tl.asarray(numbers), order), times)
    assert on_host(result).tolist() == np.tile(numbers, times).tolist()
    new = max(len(times) - 2, 0)
    slowest = tuple(range(new))[::-1]
    assert result.layout == tl.Layout.packed(result.shape, (*(d + new for d in order), *slowest))


@pytest.mark.parametrize("rank", [33, 64])
def test_ranks_above_32(rank):
    x = tl.reshape(tl.asarray([[1, 2], [3, 4]]), (2, *(1,) * (rank - 2), 2))
    result = tl.tile(x, (3, *(1,) * (rank - 2), 2))
    assert result.shape == (6, *(1,) * (rank - 2), 4)
    assert on_host(tl.reshape(result, (-1,))).tolist() == [1, 2, 1, 2, 3, 4, 3, 4] * 3
    again = tl.repeat(x, 2, axis=rank - 1)
    assert on_host(tl.reshape(again, (-1,))).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
