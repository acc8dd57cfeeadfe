"""Reads and writes at positions that are data: layouts of results, order of writes, errors.

Values in every layout and dtype: `ops/indexing_cases.py`.
"""

import numpy as np
import pytest
from layouts import TENSORS
from small_steps import steps
from tensors import DTYPES, asarray, fits, same, slots, tensor_in

import tensorlayout as tl
from tensorlayout.cpu import gather

pytestmark = pytest.mark.usefixtures("device")

INT32 = np.dtype("int32")
WRITABLE = [x for x in TENSORS if fits(x, INT32) and not x.is_overlapping]


@pytest.fixture(params=["as it is", "in small steps"], scope="module")
def ways(request):
    """Once with thresholds so low that small tensors reach every way to read and write."""
    small = request.param == "in small steps"
    with steps(small), pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(gather, "MANY", 20)
        yield


def pair(layout, dtype=INT32):
    x, array = tensor_in(layout, slots(dtype, layout.required_size))
    return x, np.array(array)


def ours(key):
    return tuple(asarray(item) if isinstance(item, np.ndarray) else item for item in key)


BOOLEANS = [
    (True,),
    (False,),
    (np.array(True),),
    (np.array(False),),
    (True, ..., np.array([1, 0])),
    (np.array([1, 0]), True),
    (slice(None), False, np.array([2])),
    (None, True, np.array([[True, False, True], [False, False, True]])),
]


@pytest.mark.parametrize("key", BOOLEANS, ids=str)
def test_booleans_in_keys(key):
    x, array = pair(tl.Layout((2, 3), (1, 2)))
    same(x[ours(key)], array[key])
    x[ours(key)] = 7
    array[key] = 7
    same(x, array)


@pytest.mark.parametrize("dtype", DTYPES["integral"])
def test_positions_of_every_dtype(dtype):
    x = tl.arange(100)
    same(x[tl.asarray([99, 0, 7], dtype=dtype)], np.array([99, 0, 7]))
    if dtype.startswith("int"):
        same(x[tl.asarray([-1, -100], dtype=dtype)], np.array([99, 0]))
    else:  # the greatest of them is no -1
        most = tl.asarray([tl.iinfo(tl.asarray(0, dtype=dtype).dtype).max], dtype=dtype)
        with pytest.raises(IndexError, match="out of bounds for size 100"):
            x[most]
        with pytest.raises(IndexError, match="out of bounds for size 100"):
            x[most] = 1


# --- the layout of what is read ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("operand", "key", "result"),
    [
        ("(2,3,4):(12,4,1)", (np.array([1, 0, 1]),), "(3,3,4):(12,4,1)"),
        ("(2,3,4):(1,2,6)", (np.array([1, 0, 1]),), "(3,3,4):(1,3,9)"),
        ("(2,3,4):(1,8,2)", (slice(None), np.array([1, 2])), "(2,2,4):(1,8,2)"),
        # positions keep the order that they have in memory
        ("(7,):(1,)", (np.asfortranarray([[1, 2, 3], [4, 5, 6]]),), "(2,3):(1,2)"),
        ("(2,7):(1,2)", (slice(None), np.array([[1], [2]])), "(2,2,1):(1,2,2) order=(0,2,1)"),
        # two dimensions as one, at the place of the slower one
        ("(2,3,4):(1,2,6)", (np.array([1, 0]), np.array([1, 0])), "(2,4):(1,2)"),
        ("(2,3,4):(1,8,2)", (np.array([1]), np.array([1])), "(1,4):(4,1)"),
        # apart: to the front, and slowest
        ("(2,3,4):(1,2,6)", (np.array([1, 0]), slice(None), np.array([1, 0])), "(2,3):(3,1)"),
        ("(2,3,4):(12,4,1)", (0, slice(None), np.array([3])), "(1,3):(3,1)"),
        # masks
        ("(2,3,4):(1,2,6)", (np.array([True, True]),), "(2,3,4):(1,2,6)"),
        ("(2,3,4):(1,2,6)", (np.ones((2, 3), bool),), "(6,4):(1,6)"),
        ("(2,2):(1,2)", (np.ones((2, 2), bool),), "(4,):(1,)"),
        # padding and gaps are not read
        ("(2,3):(1,3) padded=(3,5) padding=ZERO", (np.array([0, 1]),), "(2,3):(1,2)"),
        ("(2,3):(-5,-1)+7", (np.array([0, 1]),), "(2,3):(3,1)"),
        ("(2,3):(0,1)", (slice(None), np.array([0, 2])), "(2,2):(2,1)"),
    ],
)
def test_results_are_packed_in_the_order_of_the_input(operand, key, result):
    x, array = pair(tl.Layout.parse(operand))
    found = x[ours(key)]
    same(found, array[key])
    assert str(found.layout) == result


def test_nothing_is_copied_on_the_way():
    x = tl.zeros((4, 5, 6), layout="HWC")
    with tl.trace() as seen:
        tl.take(x, tl.asarray([0, 1]), axis=1)
        x[:, tl.asarray([0, 1])]
        tl.take_along_axis(x, tl.zeros((4, 5, 6), dtype=tl.int64), axis=0)
        x[x == 0]
        x[x == 0] = 1
        tl.repeat(x, 2, axis=0)
        tl.tile(x, (2, 1, 1))
    kinds = [r.kind for r in seen if r.name not in ("zeros", "asarray", "to_device", "equal")]
    assert kinds.count("relayout") == 2, seen  # repeat and tile: what they are for
    assert "copy" not in kinds, seen


# --- writes ------------------------------------------------------------------------------------


def test_of_equal_positions_the_last_one_wins(ways):
    for layout in WRITABLE[::3]:
        if layout.ndim and layout.shape[0]:
            x, array = pair(layout)
            n = 50
            value = np.arange(n).reshape((n,) + (1,) * (layout.ndim - 1))
            x[asarray(np.arange(n) % layout.shape[0])] = asarray(value)
            for i in range(min(layout.shape[0], n)):
                array[i] = max(k for k in range(n) if k % layout.shape[0] == i)
            same(x, array, str(layout))
    square = tl.zeros((2, 2), dtype=tl.int64, layout=(0, 1))
    i = tl.asarray([[0, 0], [1, 0]], layout=(0, 1))
    square[i, i] = tl.asarray([[1, 2], [3, 4]], layout=(0, 1))
    same(square, np.array([[4, 0], [0, 3]]))


@pytest.mark.cpu
@pytest.mark.parametrize("seed", range(20))
def test_writes_happen_one_after_the_other(ways, seed):
    """Positions that come again, backwards and with steps, along any axis of any strides."""
    chance = np.random.default_rng(seed)
    shape = tuple(int(n) for n in chance.integers(2, 20, chance.integers(1, 4)))
    cuts = [slice(0, -1), slice(None, None, -1), slice(None, None, 2)]
    larger = np.zeros([2 * n for n in shape], np.float32)
    part = larger[tuple(cuts[chance.integers(3)] for _ in shape)]
    array = part.transpose(chance.permutation(part.ndim))
    axis = int(chance.integers(array.ndim))
    index = chance.integers(0, array.shape[axis], 30)[cuts[chance.integers(3)]]
    value = chance.random((*array.shape[:axis], index.size, *array.shape[axis + 1 :]), np.float32)
    value = value[tuple(cuts[1] if chance.random() < 0.3 else slice(None) for _ in value.shape)]
    expected, head = array.copy(), (slice(None),) * axis
    for at, position in enumerate(index.tolist()):
        expected[(*head, position)] = value[(*head, at)]
    x = asarray(array)
    x[(*head, asarray(index))] = asarray(value)
    same(x, expected)


def test_the_value_may_be_part_of_the_destination():
    x = tl.arange(6)
    x[tl.asarray([1, 2, 3, 4, 5])] = x[:-1]
    same(x, np.array([0, 0, 1, 2, 3, 4]))
    x[x >= 0] = tl.flip(x)
    same(x, np.array([4, 3, 2, 1, 0, 0]))


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, p: tl.take(x, p([3]), axis=0), IndexError, "take: index 3 is out of bounds"),
        (
            lambda x, p: tl.take(x, p([0, -4]), axis=0),
            IndexError,
            "take: index -4 is out of bounds",
        ),
        (
            lambda x, p: tl.take(x, p([0.5]), axis=0),
            TypeError,
            "take: indices must be of an integer dtype",
        ),
        (lambda x, p: tl.take(x, [0], axis=0), TypeError, "take: indices must be a tensor"),
        (lambda x, p: tl.take(x, p([0])), ValueError, "take: axis must be given"),
        (lambda x, p: tl.take(x, p([0]), axis=2), IndexError, "take: axis 2 is out of bounds"),
        (lambda x, p: tl.take(x, p([0]), axis=0.5), TypeError, "axis must be an integer"),
        (lambda x, p: tl.take_along_axis(x, p([[5]])), IndexError, "take_along_axis: index 5"),
        (lambda x, p: tl.take_along_axis(x, p([0])), ValueError, "ranks must be equal"),
        (lambda x, p: tl.take_along_axis(x, p([[True]])), TypeError, "got bool"),
        (lambda x, p: tl.repeat(x, p([1, 2]), axis=0), ValueError, r"shape \(3,\), got \(2,\)"),
        (lambda x, p: tl.repeat(x, p([1, -2, 1]), axis=0), ValueError, "negative, got -2"),
        (
            lambda x, p: tl.repeat(x, p([0.5] * 3), axis=0),
            TypeError,
            "repeats must be integers, got float64",
        ),
        (lambda x, p: tl.tile(x, (1, -1)), ValueError, "tile: repetitions must not be negative"),
        (lambda x, p: x[p([0, 1]), p([0, 1, 2])], IndexError, "could not be broadcast together"),
        (lambda x, p: x[p([[True]])], IndexError, r"mask of shape \(1, 1\) does not fit"),
        (lambda x, p: x[p([0]), p([0]), p([0])], IndexError, "too many for shape"),
        (
            lambda x, p: x.__setitem__(p([3]), 0),
            IndexError,
            "__setitem__: index 3 is out of bounds",
        ),
        (
            lambda x, p: x.__setitem__(p([0]), tl.zeros((2, 4))),
            ValueError,
            "could not be broadcast",
        ),
        (lambda x, p: x.__setitem__(p([0]), 1j), TypeError, "complex cannot be written"),
        (lambda x, p: x.__setitem__(x == 0, tl.zeros((5,))), ValueError, "could not be broadcast"),
    ],
)
def test_errors(call, error, message):
    x = tl.zeros((3, 4))
    with pytest.raises(error, match=message):
        call(x, tl.asarray)
    same(x, np.zeros((3, 4)))


def test_positions_outside_where_there_is_nothing_to_read_or_write():
    x = tl.zeros((0, 3))
    for call in (
        lambda: x[:, [5]],
        lambda: tl.take(x, tl.asarray([1, -4]), axis=1),
        lambda: x.__setitem__((slice(None), [5]), 1),
        lambda: tl.zeros((0, 3, 2))[:, [0], [7]],
    ):
        with pytest.raises(IndexError, match="is out of bounds for size"):
            call()
    assert x[:, [2, -3]].shape == (0, 2)
