"""NumPy arrays, buffers, existing storage, copies and pickles."""

import array
import copy
import hashlib
import pickle
import struct
import sys
import types

import numpy as np
import pytest

import tensorlayout as tl

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]


def dtype_of(name):
    return tl.zeros(0, dtype=name).dtype


def address(x):
    return np.asarray(x).__array_interface__["data"][0]


def shares(a, b):
    return np.shares_memory(np.asarray(a), np.asarray(b))


# --- To NumPy -------------------------------------------------------------------------------------

BASE = tl.reshape(tl.arange(24), (2, 3, 4))
PADDED = tl.Layout.padded((2, 3, 4), (2, 4, 8), padding_value=tl.PaddingValue.ONE)
TENSORS = {
    "row-major": BASE,
    "column-major": tl.to_layout(BASE, (0, 1, 2)),
    "permuted": tl.permute_dims(BASE, (2, 0, 1)),
    "padded": tl.to_layout(BASE, PADDED),
    "broadcast": tl.broadcast_to(BASE[:, 1:2], (2, 3, 4)),
    "window": tl.sliding_window(BASE[0, 0], 2),
    "flipped": tl.flip(BASE, axis=(0, 2)),
    "sliced": BASE[:, 1:, ::2],
    "size 1": BASE[1:, 2:, :1],
    "rank 0": BASE[1, 2, 3],
    "size 0": BASE[:, :0],
}


@pytest.mark.parametrize("kind", TENSORS)
def test_numpy_sees_the_same_memory_with_the_same_strides(kind):
    x = TENSORS[kind]
    seen = np.asarray(x)
    assert (seen.shape, seen.dtype) == (x.shape, x.dtype)
    long = [d for d, n in enumerate(x.shape) if n > 1 and x.size]
    assert [seen.strides[d] for d in long] == [8 * x.strides[d] for d in long]
    assert x.size == 0 or shares(seen, np.asarray(x, copy=False))
    assert seen.tolist() == x.tolist()


def test_what_numpy_writes_the_tensor_has():
    x = tl.to_layout(tl.zeros((2, 3)), (0, 1))
    np.asarray(x)[1, 2] = 5
    assert float(x[1, 2]) == 5.0
    x[0, 1] = 7
    assert np.asarray(x)[0, 1] == 7.0


@pytest.mark.parametrize("kind", TENSORS)
def test_a_copy_for_numpy_is_its_own(kind):
    x = TENSORS[kind]
    copied = np.asarray(x, copy=True)
    assert np.array_equal(copied, np.asarray(x))
    assert not shares(copied, x)
    if kind == "permuted":
        assert copied.strides == np.asarray(x).strides


def test_numpy_may_ask_for_another_dtype():
    x = tl.asarray([1.5, 2.0, 1e30])
    assert np.asarray(x, np.float32).dtype == np.float32
    assert np.asarray(x[:2], "int8").tolist() == [1, 2]
    assert shares(np.asarray(x, np.float64), x)
    with pytest.raises(ValueError, match=r"[Uu]nable to avoid copy"):
        np.asarray(x, np.float32, copy=False)


def test_the_method_converts_by_our_rule():
    x = tl.asarray([1.5, float("nan"), 1e30])
    assert x.__array__(np.int8).tolist() == [1, 0, 127]  # no RuntimeWarning
    with pytest.raises(ValueError, match="without a copy"):
        x.__array__(np.float32, copy=False)


def test_no_imaginary_part_is_lost_on_the_way_to_numpy():
    x = tl.asarray([1 + 2j])
    assert np.asarray(x).tolist() == [1 + 2j]
    for dtype in (float, int):
        with pytest.raises(TypeError, match="complex128 cannot become"):
            np.asarray(x, dtype)


INTERFACES = {
    "row-major": lambda x: x,
    "column-major": lambda x: tl.to_layout(x, "F"),
    "padded": lambda x: tl.to_layout(x, "(2,3,4):(32,8,1) padded=(2,4,8)"),
    "flipped, sliced": lambda x: x[::-1, 1:, ::2],
    "broadcast": lambda x: tl.broadcast_to(x[:, :1], (2, 3, 4)),
    "rank 0": lambda x: x[1, 2, 3],
    "size 0": lambda x: x[:, :0],
}


class Described:
    """What others see of a tensor that has but the dictionary."""

    def __init__(self, x):
        self.kept = x
        self.__array_interface__ = x.__array_interface__


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16"])
@pytest.mark.parametrize("kind", INTERFACES)
def test_the_array_interface_says_where_the_memory_is(kind, dtype):
    x = INTERFACES[kind](tl.astype(tl.reshape(tl.arange(24), (2, 3, 4)), dtype))
    seen = np.asarray(Described(x))
    assert (seen.dtype, seen.shape, seen.tolist()) == (x.dtype, x.shape, x.tolist())
    if x.size:
        assert seen.__array_interface__["data"][0] == x.__array__().__array_interface__["data"][0]
        assert seen.strides == tuple(s * x.itemsize for s in x.strides)


def test_the_array_interface_says_read_only_and_keeps_the_memory():
    x = tl.from_storage(b"abcd", "(4,):(1,)", dtype=tl.uint8)
    assert x.__array_interface__["data"][1] is True
    assert not np.asarray(Described(x)).flags.writeable
    seen = np.asarray(tl.full((1000,), 7.0))
    assert seen.sum() == 7000.0


@pytest.mark.parametrize(
    "made",
    [
        lambda: tl.zeros((4, 6), layout="(4,6):(2*12+2*2,3*4+2*1)"),
        lambda: tl.ones(3, dtype="bfloat16"),
        lambda: tl.asarray([1j]),
    ],
    ids=["tiles", "bfloat16", "complex"],
)
def test_what_the_interface_cannot_say_goes_by_the_method(made):
    x = made()
    assert not hasattr(x, "__array_interface__")
    with pytest.raises(BufferError, match=r"^__buffer__: not for"):
        x.__buffer__(0)
    assert np.asarray(x).tolist() == x.tolist()


def test_pillow_reads_tensors():
    images = pytest.importorskip("PIL.Image", reason="optional: Pillow")
    x = tl.asarray([[0, 128, 255], [1, 2, 3]], dtype=tl.uint8)
    assert list(images.fromarray(x).tobytes()) == [0, 128, 255, 1, 2, 3]


@pytest.mark.parametrize("kind", INTERFACES)
def test_memory_as_a_buffer(kind):
    x = INTERFACES[kind](tl.reshape(tl.arange(24, dtype=tl.int32), (2, 3, 4)))
    view = x.__buffer__(0)
    assert (view.format, view.shape, view.tolist()) == ("i", x.shape, x.tolist())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="optional: Python 3.12 asks for buffers")
def test_python_asks_for_the_buffer():
    x = tl.asarray([1, 2, 3], dtype=tl.int32)
    view = memoryview(x)
    view[1] = 7
    assert x.tolist() == [1, 7, 3]
    assert hashlib.sha256(x).digest() == hashlib.sha256(bytes(x)).digest()
    assert not np.asarray(tl.from_storage(b"ab", "(2,):(1,)", dtype=tl.uint8)).flags.writeable
    with pytest.raises(BufferError, match="contiguous"):
        hashlib.sha256(x[::2])


def test_a_read_only_tensor_is_a_read_only_array():
    x = tl.from_storage(bytes(8), "(2,):(1,)", dtype=tl.float32)
    assert not np.asarray(x).flags.writeable
    assert np.asarray(x, copy=True).flags.writeable


@pytest.mark.parametrize("dtype", [tl.float32, tl.complex64, tl.bfloat16])
@pytest.mark.parametrize("kind", ["broadcast", "window"])
def test_elements_that_share_slots_are_a_read_only_array(kind, dtype):
    x = tl.ones(3, dtype=dtype)
    x = tl.broadcast_to(x, (2, 3)) if kind == "broadcast" else tl.sliding_window(x, 2)
    assert not np.asarray(x).flags.writeable
    assert not x.__array__().flags.writeable
    assert np.asarray(x, copy=True).flags.writeable
    assert np.asarray(x[0]).flags.writeable
    if dtype == tl.float32:
        assert x.__array_interface__["data"][1] is True
        assert not np.asarray(Described(x)).flags.writeable
        assert x.__buffer__(0).readonly
    row = x[0]  # a view whose elements share no slots may be written, as before
    row[:1] = 2
    assert complex(x[0, 0]) == 2


def test_the_array_keeps_the_memory_of_the_tensor():
    x = tl.asarray([1.0, 2.0, 3.0])
    seen = np.asarray(x[1:])
    del x
    assert seen.tolist() == [2.0, 3.0]


# --- From NumPy -----------------------------------------------------------------------------------

VALUES = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
ARRAYS = {
    "C order": (VALUES, "(2,3,4):(12,4,1)"),
    "F order": (np.asfortranarray(VALUES), "(2,3,4):(1,2,6)"),
    "transposed": (VALUES.transpose(1, 2, 0), "(3,4,2):(4,1,12)"),
    "sliced": (VALUES[:, 1:, ::2], "(2,2,2):(12,4,2)"),
    "backwards": (VALUES[::-1, :, ::-1], "(2,3,4):(-12,4,-1)+15"),
    "one backwards": (VALUES[0, 0, ::-2], "(2,):(-2,)+2"),
    "broadcast": (np.broadcast_to(VALUES[0, 0], (3, 4)), "(3,4):(0,1)"),
    "window": (np.lib.stride_tricks.sliding_window_view(VALUES[0, 0], 2), "(3,2):(1,1)"),
    "size 1": (VALUES[:1, 1:2, :1], "(1,1,1):(1,1,1)"),
    "size 1 inside": (VALUES[:, 1:2], "(2,1,4):(12,4,1)"),
    "size 1, wild": (np.lib.stride_tricks.as_strided(VALUES, (1, 4), (-7, 2)), "(1,4):(4,1)"),
    "rank 0": (VALUES[1, 1, 1, ...], "():()"),
    "size 0": (VALUES[:, :0], "(2,0,4):(0,4,1)"),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_asarray_shares_the_memory_of_every_array_or_copies_when_asked_to(kind):
    given, layout = ARRAYS[kind]
    x = tl.asarray(given)
    assert x.layout.same_placement(tl.Layout.parse(layout))
    assert np.array_equal(np.asarray(x), given)
    assert x.size == 0 or address(x) == given.ctypes.data
    assert x.readonly is not given.flags.writeable
    assert np.shares_memory(np.asarray(tl.asarray(given, copy=False)), given) or x.size == 0
    copied = tl.asarray(given, copy=True)
    assert np.array_equal(np.asarray(copied), given)
    assert not np.shares_memory(np.asarray(copied), given)
    assert not copied.readonly


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_both_ways(dtype):
    given = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype_of(dtype)).T
    x = tl.asarray(given)
    assert (x.dtype, address(x)) == (given.dtype, given.ctypes.data)
    assert np.asarray(x).tobytes() == given.tobytes()


def test_views_of_a_shared_array_stay_inside_it():
    given = np.arange(24).reshape(4, 6)[1:3, 1:5]
    x = tl.asarray(given)
    x[:, 1:3][...] = -1
    assert given.tolist() == [[7, -1, -1, 10], [13, -1, -1, 16]]
    assert given.base.sum() == 276 - (8 + 9 + 14 + 15) - 4


def test_a_read_only_array_is_a_read_only_tensor():
    given = np.arange(4.0)
    given.flags.writeable = False
    x = tl.asarray(given)
    assert x.readonly
    with pytest.raises(ValueError, match=r"read-only; copy\(\) it"):
        x[0] = 1.0
    assert tl.asarray(given, copy=True).readonly is False


RECORDS = np.zeros(4, np.dtype([("a", "u1"), ("b", "<i4"), ("c", "<i4")]))
RECORDS["b"] = [1, 2, 3, 4]


def test_strides_that_are_no_whole_elements_are_copied():
    x = tl.asarray(RECORDS["b"])  # 9 bytes apart
    assert np.asarray(x).tolist() == [1, 2, 3, 4]
    assert (x.strides, x.dtype) == ((1,), np.int32)
    assert not shares(x, RECORDS["b"])
    with pytest.raises(ValueError, match="cannot be shared, and copy=False"):
        tl.asarray(RECORDS["b"], copy=False)


def test_fields_at_whole_elements_are_shared():
    pairs = np.zeros(3, np.dtype([("x", "f4"), ("y", "f4")]))
    x = tl.asarray(pairs["y"])
    x[1] = 2.5
    assert pairs["y"].tolist() == [0.0, 2.5, 0.0]
    assert x.strides == (2,)


def test_another_dtype_is_a_copy():
    given = np.arange(3)
    assert np.asarray(tl.asarray(given, dtype=tl.float32)).tolist() == [0.0, 1.0, 2.0]
    assert shares(tl.asarray(given, dtype=tl.int64), given)
    with pytest.raises(ValueError, match="cannot be seen as float32 without a copy"):
        tl.asarray(given, dtype=tl.float32, copy=False)


def test_c_names_of_one_dtype_are_that_dtype():
    for name in ("longlong", "long", "int64"):
        assert tl.asarray(np.zeros(2, name)).dtype == np.int64
    assert tl.asarray(np.zeros(2, "longlong")).layout is tl.asarray(np.zeros(2, "long")).layout


def test_a_mask_is_not_forgotten():
    given = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    with pytest.raises(TypeError, match=r"filled\(\) first"):
        tl.asarray(given)
    assert np.asarray(tl.asarray(given.filled(0.0))).tolist() == [1.0, 0.0]
    assert np.asarray(tl.asarray(np.ma.masked_array([1.0, 2.0]))).tolist() == [1.0, 2.0]


def test_masked_arrays_that_another_thread_is_importing(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    assert np.asarray(tl.asarray(np.array([1.0, 2.0]))).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "given", [np.array(["a"]), np.array([None]), RECORDS, np.zeros(2, "M8[s]")]
)
def test_arrays_of_no_numbers_are_refused(given):
    with pytest.raises(TypeError, match="dtype"):
        tl.asarray(given)


@pytest.mark.parametrize(
    "scalar", [np.float32(2.5), np.int8(-3), np.bool_(True), np.complex64(1j), np.uint16(7)]
)
def test_numpy_scalars_become_tensors_of_their_own(scalar):
    x = tl.asarray(scalar)
    assert (x.shape, x.dtype, x.readonly) == ((), scalar.dtype, False)
    assert np.asarray(x)[()] == scalar
    with pytest.raises(ValueError, match="copy=False"):
        tl.asarray(scalar, copy=False)


class Wrapped:
    """An object that NumPy converts."""

    def __init__(self, given):
        self.given = given

    def __array__(self, dtype=None, copy=None):
        return self.given


def test_what_numpy_converts_without_a_copy_is_shared():
    given = np.arange(6.0).reshape(2, 3).T
    x = tl.asarray(Wrapped(given))
    assert (x.strides, shares(x, given)) == ((1, 3), True)


# --- Buffers --------------------------------------------------------------------------------------


def test_bytes_are_read_only_and_bytearrays_are_shared():
    fixed, free = tl.asarray(b"\x01\x02"), bytearray(b"\x01\x02")
    assert (fixed.dtype, fixed.readonly, np.asarray(fixed).tolist()) == (tl.uint8, True, [1, 2])
    tl.asarray(free)[1] = 9
    assert free == b"\x01\x09"
    assert tl.asarray(b"\x01\x02", copy=True).readonly is False


@pytest.mark.parametrize(("code", "dtype"), [("H", "uint16"), ("d", "float64")])
def test_arrays_of_the_standard_library(code, dtype):
    given = array.array(code, [1, 2, 3])
    x = tl.asarray(given)
    assert (x.dtype, x.shape) == (dtype_of(dtype), (3,))
    x[0] = 5
    assert given[0] == 5


def test_memoryviews_keep_shape_and_strides():
    octets = bytearray(range(24))
    view = memoryview(octets).cast("B", (4, 6))
    assert tl.asarray(view).shape == (4, 6)
    assert tl.asarray(memoryview(octets)[::-2]).strides == (-2,)
    assert tl.asarray(memoryview(octets)[::-2]).layout.offset == 22
    assert tl.asarray(memoryview(octets).toreadonly()).readonly


def test_sequences_have_no_memory_to_share():
    for given in ([1, 2], 3, 2.5, (1, 2)):
        with pytest.raises(ValueError, match="cannot be shared, and copy=False"):
            tl.asarray(given, copy=False)


# --- Existing storage -----------------------------------------------------------------------------


def test_from_storage_shares_and_places_by_the_layout():
    storage = bytearray(struct.pack("<8h", *range(8)))
    x = tl.from_storage(storage, "(2,3):(4,-1)+3", dtype=tl.int16)
    assert np.asarray(x).tolist() == [[3, 2, 1], [7, 6, 5]]
    x[1, 0] = -1
    assert struct.unpack("<8h", storage)[7] == -1


def test_from_storage_takes_arrays_of_any_dtype_as_bytes():
    for dtype in ("float64", "bfloat16", "float16", "complex64", "bool"):
        storage = np.zeros((2, 4), dtype_of(dtype))
        x = tl.from_storage(storage, "(8,):(1,)", dtype=tl.uint8)
        x[:] = 1
        assert storage.view(np.uint8).reshape(-1)[:9].sum() == 8


@pytest.mark.parametrize(
    ("layout", "dtype", "required"),
    [
        ("(4,):(1,)", "float32", 16),
        ("(2,):(3,)", "float32", 16),
        ("(1,):(1,)+3", "float32", 16),
        ("(2,2):(-2,1)+2", "uint32", 16),
        ("(13,):(1,)", "uint8", 13),
        ("(1,):(1,)", "complex128", 16),
    ],
)
def test_from_storage_names_the_bytes_it_needs_and_those_there_are(layout, dtype, required):
    with pytest.raises(ValueError, match=rf"requires {required} bytes .* 12 available"):
        tl.from_storage(bytearray(12), layout, dtype=dtype)
    tl.from_storage(bytearray(required), layout, dtype=dtype)


def test_padding_needs_room_too():
    layout = tl.Layout.padded((3,), (8,))
    with pytest.raises(ValueError, match="requires 8 bytes"):
        tl.from_storage(bytearray(3), layout, dtype=tl.uint8)


def test_from_storage_of_bytes_is_read_only():
    x = tl.from_storage(b"abc", "(3,):(1,)", dtype=tl.uint8)
    assert x.readonly
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    layout = tl.Layout.padded((2,), (3,), padding_value=tl.PaddingValue.ZERO)
    with pytest.raises(ValueError, match="read-only"):
        tl.from_storage(b"abc", layout, dtype=tl.uint8, fill_padding=True)


def test_from_storage_writes_padding_only_when_asked_to():
    layout = tl.Layout.padded((2, 2), (2, 4), padding_value=tl.PaddingValue.HIGHEST)
    storage = bytearray(8)
    tl.from_storage(storage, layout, dtype=tl.uint8)
    assert storage == bytes(8)
    tl.from_storage(storage, layout, dtype=tl.uint8, fill_padding=True)
    assert storage == b"\0\0\xff\xff\0\0\xff\xff"


def test_from_storage_takes_no_strided_memory():
    with pytest.raises(ValueError, match="one run of bytes"):
        tl.from_storage(memoryview(bytearray(8))[::2], "(4,):(1,)", dtype=tl.uint8)


def test_from_storage_of_nothing():
    assert tl.from_storage(b"", "(0,3):(3,1)", dtype=tl.float32).shape == (0, 3)


# --- Operators with NumPy -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scalar", "dtype", "result"),
    [
        (np.float32(2), "float32", "float32"),
        (np.float64(2), "float32", "float64"),
        (np.int8(2), "int32", "int32"),
        (np.float32(2), "int8", "float32"),
    ],
)
def test_numpy_scalars_act_by_their_dtype_in_both_orders(scalar, dtype, result):
    x = tl.asarray([1, 2, 3], dtype=dtype)
    for product in (scalar * x, x * scalar):
        assert type(product) is tl.Tensor
        assert (product.dtype, np.asarray(product).tolist()) == (dtype_of(result), [2, 4, 6])


# --- Copies and pickles ---------------------------------------------------------------------------

PATTERN = tl.BitPattern(0x7FC00001, "float32")
WAYS = {
    **{f"pickle {n}": lambda x, n=n: pickle.loads(pickle.dumps(x, n)) for n in range(2, 6)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "method": lambda x: x.copy(),
}


def filled(layout, dtype="float32"):
    count = tl.astype(tl.arange(layout.size), dtype_of(dtype))
    return tl.to_layout(tl.reshape(count, layout.shape), layout)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_keep_every_dtype(dtype, way):
    x = filled(tl.Layout.padded((2, 3), (2, 4)), dtype)
    y = WAYS[way](x)
    assert (y.dtype, np.asarray(y).tobytes()) == (x.dtype, np.asarray(x).tobytes())


@pytest.mark.parametrize("way", WAYS)
def test_copies_keep_the_padding(way):
    y = WAYS[way](filled(tl.Layout.padded((2, 3), (2, 5), padding_value=PATTERN)))
    whole = np.lib.stride_tricks.as_strided(np.asarray(y), (2, 5), (20, 4)).view(np.uint32)
    assert (whole[:, 3:] == 0x7FC00001).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["broadcast", "window", "sliced", "flipped", "permuted"])
def test_copies_of_views_have_the_same_elements_each_in_a_slot_of_its_own(kind, way):
    y = WAYS[way](TENSORS[kind])
    assert np.array_equal(np.asarray(y), np.asarray(TENSORS[kind]))
    assert y.layout.covers_block
    y[...] = 0


def test_a_pickled_view_holds_its_own_elements_only():
    x = tl.zeros((1000, 1000), dtype=tl.uint8)
    assert len(pickle.dumps(x[:3, :5])) < 500
    assert len(pickle.dumps(tl.broadcast_to(x[0, 0], (4, 4)))) < 500


def test_equal_tensors_give_equal_pickles():
    layout = tl.Layout.padded((3,), (64,))  # padding that holds anything
    full = np.full(64, 255, np.uint8)
    first = tl.from_storage(full, layout, dtype=tl.uint8)
    second = tl.from_storage(np.zeros(64, np.uint8), layout, dtype=tl.uint8)
    first[...] = second[...] = 7
    assert pickle.dumps(first) == pickle.dumps(second)


def test_a_read_only_tensor_comes_back_writable():
    x = pickle.loads(pickle.dumps(tl.from_storage(b"ab", "(2,):(1,)", dtype=tl.uint8)))
    x[0] = 0
    assert np.asarray(x).tolist() == [0, ord("b")]


def test_deepcopy_keeps_what_was_one_tensor_one():
    x = tl.zeros(3)
    first, second = copy.deepcopy([x, x])
    assert first is second
    assert first is not x
