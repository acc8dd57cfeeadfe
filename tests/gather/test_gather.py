"""Reads and writes at positions that are data: layouts of results, copies, errors.

Values in every layout and dtype: `ops/indexing_cases.py`.
"""

import numpy as np
import pytest
from tensors import asarray, same, slots, tensor_in

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


def ours(key):
    return tuple(asarray(item) if isinstance(item, np.ndarray) else item for item in key)


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
    layout = tl.Layout.parse(operand)
    x, array = tensor_in(layout, slots(np.dtype("int32"), layout.required_size))
    actual = x[ours(key)]
    same(actual, array[key])
    assert str(actual.layout) == result


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


# --- errors ------------------------------------------------------------------------------------


ERRORS = [
    ("tl.take(x, p([3]), axis=0)", IndexError, "take: index 3 is out of bounds"),
    ("tl.take(x, p([0, -4]), axis=0)", IndexError, "take: index -4 is out of bounds"),
    ("tl.take(x, p([0.5]), axis=0)", TypeError, "take: indices must be of an integer dtype"),
    ("tl.take(x, [0.0], axis=0)", TypeError, "take: indices must be of an integer dtype"),
    ("tl.take(x, p([12]))", IndexError, "take: index 12 is out of bounds for size 12"),
    ("tl.take(x, p([0]), axis=2)", IndexError, "take: axis 2 is out of bounds"),
    ("tl.take(x, p([0]), axis=0.5)", TypeError, "axis must be an integer"),
    ("tl.take_along_axis(x, p([[5]]))", IndexError, "take_along_axis: index 5"),
    ("tl.take_along_axis(x, p([0]))", ValueError, "ranks must be equal"),
    ("tl.take_along_axis(x, p([[True]]))", TypeError, "got bool"),
    ("tl.repeat(x, p([1, 2]), axis=0)", ValueError, r"shape \(3,\), got \(2,\)"),
    ("tl.repeat(x, p([1, -2, 1]), axis=0)", ValueError, "negative, got -2"),
    ("tl.repeat(x, p([0.5] * 3), axis=0)", TypeError, "repeats must be integers, got float64"),
    ("tl.tile(x, (1, -1))", ValueError, "tile: reps must not be negative"),
    ("x[p([0, 1]), p([0, 1, 2])]", IndexError, "could not be broadcast together"),
    ("x[p([[True]])]", IndexError, r"boolean index did not match .* shape \(1, 1\)"),
    ("x[p([0]), p([0]), p([0])]", IndexError, "too many indices"),
    ("x[p([3])] = 0", IndexError, "__setitem__: index 3 is out of bounds"),
    ("x[p([0])] = tl.zeros((2, 4))", ValueError, "could not be broadcast"),
    ("x[p([0])] = 1j", TypeError, "complex cannot be written"),
    ("x[x == 0] = tl.zeros((5,))", ValueError, "could not be broadcast"),
    # the greatest unsigned positions are no -1
    ("x[p([255], dtype=tl.uint8)] = 1", IndexError, "index 255 is out of bounds for size 3"),
    ("x[p([2**64 - 1], dtype=tl.uint64)]", IndexError, "out of bounds for size 3"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call, error, message):
    x = tl.zeros((3, 4))
    with pytest.raises(error, match=message):
        exec(call, {"tl": tl, "x": x, "p": tl.asarray})
    same(x, np.zeros((3, 4)))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (0, 2), (2, 3)])
def test_masks_of_more_dimensions_are_refused(shape):
    x = tl.zeros(shape)
    for more in [(0,), (1,), (2,), (0, 1), (2, 3)]:
        mask = tl.ones((*shape, *more), dtype=tl.bool)
        for call in (lambda: x[mask], lambda: x.__setitem__(mask, 1), lambda: x[mask, ...]):  # noqa: B023
            with pytest.raises(IndexError):
                call()


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
