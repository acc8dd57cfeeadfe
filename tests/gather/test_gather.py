"""Reads and writes at positions that are data, in every layout: values, layouts, errors."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layouts import TENSORS
from tensors import DTYPES, as_dtype, asarray, fits, host, padding_of, same, slots, tensor_in

import tensorlayout as tl
from tensorlayout.cpu import gather, mask, scatter
from tensorlayout.cpu.gather import read, runs
from tensorlayout.plan.run import cache_clear

pytestmark = pytest.mark.usefixtures("device")

INT32 = np.dtype("int32")
LAYOUTS = [layout for layout in TENSORS if fits(layout, INT32)]
FEW = [layout for layout in LAYOUTS if layout.ndim < 5]  # dimensions, so that keys stay small
WRITABLE = [layout for layout in LAYOUTS if not layout.is_overlapping]


@pytest.fixture(params=["as it is", "every way"], scope="module")
def ways(request):
    """Once with thresholds so low that small tensors reach every way to read and write."""
    patch = pytest.MonkeyPatch()
    if request.param == "every way":
        for module, name, value in [
            (runs, "MANY", 20),
            (gather, "MANY", 20),
            (runs, "RUN", 3),
            (read, "RUN", 3),
            (scatter, "_FILLED", 2),
            (scatter, "_SLICED", 3),
            (read, "_LONG", 8),
            (read, "_STAGE", 8),
            (runs, "BLOCK", 8),
            (read, "BLOCK", 8),
            (runs, "_COLUMNS", 2),
            (mask, "_BLOCK", 32),
            (mask, "_DENSE", 0.5),
        ]:
            patch.setattr(module, name, value)
    cache_clear()
    yield
    patch.undo()
    cache_clear()


def pair(layout, dtype=INT32):
    x, array = tensor_in(layout, slots(dtype, layout.required_size))
    return x, np.array(array)


# --- keys as NumPy means them ------------------------------------------------------------------


@st.composite
def keys(draw, shape):
    """Integers, slices, None, an Ellipsis, booleans, tensors of positions and masks."""
    spread = draw(st.sampled_from([(2,), (3,), (1,), (2, 1), (2, 3), (0,)]))
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    items, dim, dots = [], 0, False
    while dim < len(shape):
        n = shape[dim]
        choices = ["slice", "slice", "none", "mask", "bool"]
        choices += ["integer"] * (n > 0) + ["positions"] * 3 * (n > 0 or spread == (0,))
        choices += ["dots"] * (not dots)
        match draw(st.sampled_from(choices)):
            case "none":
                items.append(None)
                continue
            case "bool":
                items.append(draw(st.booleans()))
                continue
            case "dots":
                items.append(...)
                dots, dim = True, draw(st.integers(dim, len(shape)))
                continue
            case "integer":
                items.append(draw(st.integers(-n, n - 1)))
            case "slice":
                bounds = st.none() | st.integers(-4, 4)
                steps = st.sampled_from([None, 1, 2, -1])
                items.append(slice(draw(bounds), draw(bounds), draw(steps)))
            case "mask":
                rank = draw(st.integers(1, len(shape) - dim))
                sizes = shape[dim : dim + rank]
                items.append(random.random(sizes) < 0.6)
                dim += rank - 1
            case "positions":
                sizes = draw(st.sampled_from([spread, (1,) * len(spread)])) if n else (0,)
                numbers = random.integers(-n, max(n, 1), sizes)
                items.append(numbers.astype(draw(st.sampled_from("bil"))))
        dim += 1
        if draw(st.integers(0, 5)) == 0:
            break
    return tuple(items)


def ours(key):
    return tuple(asarray(item) if isinstance(item, np.ndarray) else item for item in key)


def numpys(array, key):
    """What NumPy selects; None where it refuses the key."""
    try:
        return host(array[key])
    except IndexError:
        return None


@settings(max_examples=300)
@given(data=st.data())
def test_reads_are_numpys(ways, data):
    layout = data.draw(st.sampled_from(list(FEW)))
    x, array = pair(layout)
    key = data.draw(keys(layout.shape))
    expected = numpys(array, key)
    if expected is None:
        with pytest.raises((IndexError, ValueError), match="__getitem__"):
            x[ours(key)]
    else:
        found = x[ours(key)]
        same(found, expected, f"{layout} {key}")
        if any(isinstance(item, np.ndarray) for item in key):
            assert found.layout.is_packed
            assert found.layout.offset == 0


@settings(max_examples=300)
@given(data=st.data())
def test_writes_go_where_numpys_go(ways, data):
    layout = data.draw(st.sampled_from(list(FEW)))
    assume(not layout.is_overlapping)
    x, array = pair(layout)
    key = data.draw(keys(layout.shape))
    there = numpys(array, key)
    assume(there is not None)
    shape = there.shape[data.draw(st.integers(0, there.ndim)) :]
    value = np.arange(1000, 1000 + int(np.prod(shape)), dtype=np.int64).reshape(shape)
    padding = np.array(padding_of(x)) if layout.is_padded else None
    array[key] = value
    x[ours(key)] = asarray(value)
    same(x, array, f"{layout} {key}")
    assert x.layout == layout
    if padding is not None:
        np.testing.assert_array_equal(padding_of(x), padding)


@pytest.mark.parametrize("dtype", DTYPES["any"])
def test_every_dtype(ways, dtype):
    dtype = as_dtype(dtype)
    for layout in TENSORS:
        if not fits(layout, dtype) or not layout.ndim or 0 in layout.shape:
            continue
        x, array = pair(layout, dtype)
        positions = np.array([layout.shape[0] - 1, 0, -1])
        same(x[asarray(positions)], array[positions], str(layout))
        mask = np.arange(layout.size).reshape(layout.shape) % 3 != 0
        same(x[asarray(mask)], array[mask], str(layout))
        if not layout.is_overlapping:
            value = slots(dtype, 3)[:, None][(...,) + (None,) * (layout.ndim - 2)]
            value = value if layout.ndim > 1 else value[:, 0]
            array[positions] = value
            x[asarray(positions)] = asarray(value)
            array[mask] = value.reshape(-1)[0]
            x[asarray(mask)] = asarray(value.reshape(-1)[0])
            same(x, array, str(layout))


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


# --- functions ---------------------------------------------------------------------------------


def test_take(ways):
    for layout in LAYOUTS:
        x, array = pair(layout)
        for axis in range(-layout.ndim, layout.ndim):
            n = layout.shape[axis]
            for positions in ([0, n - 1, -1, 0], [[0], [-n]]) if n else ([],):
                positions = np.array(positions, np.int64)
                found = tl.take(x, asarray(positions), axis=axis)
                same(found, np.take(array, positions, axis=axis), f"{layout} {axis}")
                assert found.layout.is_packed
                if positions.ndim == 1:
                    assert found.layout.minor_to_major == layout.minor_to_major


def test_take_along_axis(ways):
    for layout in LAYOUTS:
        x, array = pair(layout)
        for axis in range(-layout.ndim, layout.ndim):
            shape = list(layout.shape)
            n = shape[axis]
            shape[axis] = 2 * n
            positions = np.random.default_rng(0).integers(-n, max(n, 1), shape)
            expected = np.take_along_axis(array, positions, axis)
            for order in itertools.islice(itertools.permutations(range(layout.ndim)), 3):
                asked = asarray(positions, layout=order, copy=True)
                found = tl.take_along_axis(x, asked, axis=axis)
                same(found, expected, f"{layout} {axis} {order}")
                assert found.layout.is_packed
                assert found.layout.minor_to_major == layout.minor_to_major


def test_take_along_axis_broadcasts_both():
    x, positions = np.arange(12).reshape(3, 1, 4), np.array([[[3, 0], [1, 2]]])
    found = tl.take_along_axis(asarray(x), asarray(positions))
    same(found, np.take_along_axis(np.tile(x, (1, 2, 1)), np.tile(positions, (3, 1, 1)), 2))


def test_repeat_and_tile():
    for layout in LAYOUTS:
        x, array = pair(layout)
        for axis in range(-layout.ndim, layout.ndim):
            for times in (0, 1, 3, np.arange(layout.shape[axis]) % 3):
                given = asarray(times) if isinstance(times, np.ndarray) else times
                found = tl.repeat(x, given, axis=axis)
                same(found, np.repeat(array, times, axis=axis), f"{layout} {axis} {times}")
                assert found.layout.is_packed
                assert found.layout.minor_to_major == layout.minor_to_major
        for times in ((), (2,), (2, 3), (1, 0, 2), (2, 1, 1, 2)):
            found = tl.tile(x, times)
            same(found, np.tile(array, times), f"{layout} {times}")
            assert found.layout.is_packed
            if len(times) <= layout.ndim:
                assert found.layout.minor_to_major == layout.minor_to_major


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
    for layout in WRITABLE:
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
@pytest.mark.parametrize("seed", range(40))
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


def test_values_are_converted_as_tensors_are():
    x = tl.zeros((3,), dtype=tl.uint8)
    x[tl.asarray([0, 1, 2])] = tl.asarray([300.7, -5.0, float("nan")])
    same(x, np.array([255, 0, 0], np.uint8))
    x[tl.asarray([True, False, True])] = tl.asarray([1e9, 2.9])
    same(x, np.array([255, 0, 2], np.uint8))


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
