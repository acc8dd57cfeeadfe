"""Indexing against NumPy's, over views of every kind."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensors import asarray, host, over, read_only, same, shared, slots_of

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")

# Tensors over one NumPy array each, so that NumPy can be asked what they hold.
BASES = {
    "row-major": lambda a: a,
    "column-major": lambda a: np.asfortranarray(a),
    "permuted": lambda a: np.ascontiguousarray(a.T).T,
    "flipped": lambda a: np.ascontiguousarray(a[::-1, ..., ::-1])[::-1, ..., ::-1],
    "sliced": lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=-1)[::2, ..., 1::3],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.fixture(params=BASES)
def pair(request):
    array = BASES[request.param](np.arange(60).reshape(3, 4, 5))
    return asarray(array), array


def test_a_row_has_views_of_its_own(pair):
    x, array = pair
    for at in range(-3, 3):
        row = x[at]
        same(row[::-1, 1:], host(array[at][::-1, 1:]))
        same(tl.flip(row), host(array[at][::-1, ::-1]))


@given(data=st.data())
def test_basic_indices_are_numpys_views(data):
    kind = data.draw(st.sampled_from(sorted(BASES)))
    array = BASES[kind](np.arange(60).reshape(3, 4, 5))
    x = asarray(array)
    key = data.draw(hnp.basic_indices(array.shape, allow_newaxis=True))
    view = x[key]
    same(view, host(array[key]))
    assert shared(view, x) == (view.size > 0)
    slots = [view.layout.offset_of(i) for i in np.ndindex(view.shape)]
    numbers = {x.layout.offset_of(i): array[i] for i in np.ndindex(array.shape)}
    assert [numbers[slot] for slot in slots] == host(view).ravel().tolist()


@given(data=st.data())
def test_integer_arrays_gather_as_numpy_does(data):
    array = np.asfortranarray(np.arange(60).reshape(3, 4, 5))
    key = data.draw(hnp.integer_array_indices(array.shape))
    x = asarray(array)[tuple(map(asarray, key))]
    same(x, array[key])
    assert x.layout.is_row_major


KEYS = {
    "array": np.array([2, 0, -1]),
    "list": [0, 0, 1],
    "matrix": np.array([[0, 1], [2, 2]]),
    "array and slice": (slice(1, None), np.array([3, 0])),
    "array, integer": (np.array([0, 2]), 1),
    "two arrays apart": (np.array([0, 2]), slice(None), np.array([4, 0])),
    "mask": np.arange(60).reshape(3, 4, 5) % 7 == 0,
    "mask of rank 1": np.array([True, False, True]),
    "mask behind an Ellipsis": (..., np.array([True, False, True, False, False])),
    "empty mask": np.zeros((3, 4, 5), bool),
    "empty list": [],
    "True": True,
    "None and array": (None, np.array([1])),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_data_as_indices(pair, key):
    x, array = pair
    ours = tuple(map(_tensor, key)) if isinstance(key, tuple) else _tensor(key)
    same(x[ours], array[key if not isinstance(key, list) else np.array(key, dtype=int)])


def _tensor(item):
    return asarray(item) if isinstance(item, np.ndarray) else item


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_data_as_indices_of_a_write(key):
    x, array = tl.zeros((3, 4, 5), dtype=tl.int16, layout="HWC"), np.zeros((3, 4, 5), np.int16)
    layout = x.layout
    ours = tuple(map(_tensor, key)) if isinstance(key, tuple) else _tensor(key)
    x[ours] = 7
    array[key if not isinstance(key, list) else np.array(key, dtype=int)] = 7
    same(x, array)
    assert x.layout is layout


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


@given(data=st.data())
def test_writes_go_where_numpy_writes(data):
    array = np.zeros((3, 4, 5), np.int32)
    x = tl.zeros((3, 4, 5), dtype=tl.int32, layout=data.draw(st.permutations(range(3))))
    key = data.draw(hnp.basic_indices(array.shape, allow_newaxis=True))
    value = np.arange(array[key].size, dtype=np.int32).reshape(array[key].shape)
    array[key] = value
    x[key] = asarray(value)
    same(x, array)


def test_values_are_broadcast_and_converted():
    x = tl.zeros((2, 3), dtype=tl.uint8)
    x[...] = tl.asarray([1.9, 300.0, -4.0])
    same(x, np.array([[1, 255, 0], [1, 255, 0]], np.uint8))
    x[0] = np.array([7, 8, 9])
    x[1] = [1, 2, 3]
    same(x, np.array([[7, 8, 9], [1, 2, 3]], np.uint8))


def test_a_write_from_the_same_memory_is_as_if_copied_first():
    x = tl.arange(6)
    x[1:] = x[:-1]
    same(x, np.array([0, 0, 1, 2, 3, 4]))
    y = tl.reshape(tl.arange(9), (3, 3))
    y[...] = y.T
    same(y, np.arange(9).reshape(3, 3).T)
    z = tl.arange(5)
    z[::-1] = z
    same(z, np.array([4, 3, 2, 1, 0]))


def test_a_write_into_a_part_leaves_the_rest_and_the_padding():
    layout = tl.Layout.padded((2, 3), (2, 5), padding_value=tl.PaddingValue.ONE)
    x = over(np.zeros(10, np.uint8), layout, fill_padding=True)
    x[:, 1] = 9
    assert slots_of(x).tolist() == [0, 9, 0, 1, 1, 0, 9, 0, 1, 1]


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


def test_take():
    x = tl.reshape(tl.arange(12), (3, 4))
    same(tl.take(x, tl.asarray([2, 0]), axis=0), np.arange(12).reshape(3, 4)[[2, 0]])
    same(tl.take(x, tl.asarray([-1]), axis=1), np.arange(12).reshape(3, 4)[:, [-1]])
    same(tl.take(tl.arange(5), tl.asarray([4, 4])), np.array([4, 4]))
    same(tl.take(tl.arange(5), tl.asarray(-2)), np.array(3))
    for layout in ((1, 0), (0, 1)):
        y = tl.to_layout(x, layout)
        same(tl.take(y, tl.asarray(2), axis=0), np.array([8, 9, 10, 11]))
        same(tl.take(y, tl.asarray(2), axis=1), np.array([2, 6, 10]))
    with pytest.raises(ValueError, match="axis must be given"):
        tl.take(x, tl.asarray([0]))
    with pytest.raises(IndexError):
        tl.take(x, tl.asarray([3]), axis=0)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("uint8", 300.7, 255),
        ("int8", -1e9, -128),
        ("int32", float("nan"), 0),
        ("bfloat16", 2**70, 2.0**70),
        ("bfloat16", 1 + 2**-8 + 2**-40, 1 + 2**-7),
        ("float16", 1e9, float("inf")),
    ],
)
def test_scalars_are_converted_as_tensors_are(dtype, value, expected):
    x = tl.zeros((2,), dtype=dtype)
    x[...] = value
    assert [float(v) for v in x] == [expected, expected]


def test_nothing_is_written_where_nothing_is_selected():
    x = tl.asarray([1, 2, 3])
    nowhere = tl.asarray([False, False, False])
    x[nowhere] = x[nowhere]
    same(x, np.array([1, 2, 3]))
