"""NumPy arrays, buffers, existing storage, copies and pickles."""

import array
import copy
import ctypes
import hashlib
import math
import pickle
import re
import sys
import types

import ml_dtypes
import numpy as np
import pytest
from foreign import Described, Exporting, Making

import tensorlayout as tl


def address(x):
    return np.asarray(x).__array_interface__["data"][0]


def shares(a, b):
    return np.shares_memory(np.asarray(a), np.asarray(b))


def test_numpy_may_ask_for_another_dtype():
    x = tl.asarray([1.5, 2.0, 1e30])
    assert np.asarray(x, np.float32).dtype == np.float32
    assert np.asarray(x[:2], "int8").tolist() == [1, 2]
    assert shares(np.asarray(x, np.float64), x)
    with pytest.raises(ValueError, match=r"[Uu]nable to avoid copy"):
        np.asarray(x, np.float32, copy=False)
    copied = np.asarray(tl.to_layout(tl.ones((2, 3)), "F"), copy=True)
    assert copied.strides == (8, 16)


def test_arrays_of_read_only_tensors_and_of_tensors_that_are_gone():
    fixed = tl.from_storage(b"abcd", "(4,):(1,)", dtype=tl.uint8)
    assert fixed.__array_interface__["data"][1] is True
    for seen in (np.asarray(fixed), np.asarray(Described(fixed))):
        assert not seen.flags.writeable
    assert np.asarray(fixed, copy=True).flags.writeable
    for seen in (np.asarray(tl.full((1000,), 7.0)[1:]), np.asarray(Described(tl.full(999, 7.0)))):
        assert seen.sum() == 999 * 7


@pytest.mark.parametrize(
    "result",
    [
        lambda: tl.zeros((4, 6), layout="(4,6):(2*12+2*2,3*4+2*1)"),
        lambda: tl.ones(3, dtype="bfloat16"),
        lambda: tl.asarray([1j]),
    ],
    ids=["tiles", "bfloat16", "complex"],
)
def test_what_the_interface_cannot_say_goes_by_the_method(result):
    x = result()
    assert not hasattr(x, "__array_interface__")
    with pytest.raises(BufferError, match=r"^__buffer__: not for"):
        x.__buffer__(0)
    assert np.asarray(x).tolist() == x.tolist()


def test_pillow_reads_tensors_and_its_images_become_tensors():
    images = pytest.importorskip("PIL.Image", reason="optional: Pillow")
    x = tl.asarray([[0, 128, 255], [1, 2, 3]], dtype=tl.uint8)
    assert list(images.fromarray(x).tobytes()) == [0, 128, 255, 1, 2, 3]
    for mode, shape in (("RGB", (2, 3, 3)), ("1", (2, 3)), ("I", (2, 3)), ("F", (2, 3))):
        image = images.new(mode, (3, 2), 7)
        expected = np.asarray(image)
        x = tl.asarray(image)
        assert (x.shape, x.dtype, x.tolist()) == (shape, expected.dtype, expected.tolist())


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
    argument, layout = ARRAYS[kind]
    x = tl.asarray(argument)
    assert x.layout.same_placement(tl.Layout.parse(layout))
    assert np.array_equal(np.asarray(x), argument)
    assert x.size == 0 or address(x) == argument.ctypes.data
    assert x.readonly is not argument.flags.writeable
    assert np.shares_memory(np.asarray(tl.asarray(argument, copy=False)), argument) or x.size == 0
    copied = tl.asarray(argument, copy=True)
    assert np.array_equal(np.asarray(copied), argument)
    assert not np.shares_memory(np.asarray(copied), argument)
    assert not copied.readonly


RECORDS = np.zeros(4, np.dtype([("a", "u1"), ("b", "<i4"), ("c", "<i4")]))
RECORDS["b"] = [1, 2, 3, 4]


def test_strides_that_are_no_whole_elements_are_copied():
    x = tl.asarray(RECORDS["b"])  # 9 bytes apart
    assert np.asarray(x).tolist() == [1, 2, 3, 4]
    assert (x.strides, x.dtype) == ((1,), np.int32)
    assert not shares(x, RECORDS["b"])
    with pytest.raises(ValueError, match=r"unable to avoid a copy, .* cannot be shared"):
        tl.asarray(RECORDS["b"], copy=False)


def test_fields_at_whole_elements_are_shared():
    pairs = np.zeros(3, np.dtype([("x", "f4"), ("y", "f4")]))
    x = tl.asarray(pairs["y"])
    x[1] = 2.5
    assert pairs["y"].tolist() == [0.0, 2.5, 0.0]
    assert x.strides == (2,)


def test_c_names_of_one_dtype_are_that_dtype():
    for name in ("longlong", "long", "int64"):
        assert tl.asarray(np.zeros(2, name)).dtype == np.int64
    assert tl.asarray(np.zeros(2, "longlong")).layout is tl.asarray(np.zeros(2, "long")).layout


def test_a_mask_is_not_forgotten():
    argument = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    with pytest.raises(TypeError, match=r"filled\(\) first"):
        tl.asarray(argument)
    assert np.asarray(tl.asarray(argument.filled(0.0))).tolist() == [1.0, 0.0]
    assert np.asarray(tl.asarray(np.ma.masked_array([1.0, 2.0]))).tolist() == [1.0, 2.0]


def test_masked_arrays_that_another_thread_is_importing(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    assert np.asarray(tl.asarray(np.array([1.0, 2.0]))).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "arguments",
    [
        *(np.array(["a"]), np.array([None]), RECORDS, np.zeros(2, "M8[s]")),
        *(np.ones(2, ml_dtypes.complex32), ml_dtypes.complex32(1), [ml_dtypes.complex32(1)]),
    ],
)
def test_arrays_of_no_numbers_are_refused(arguments):
    with pytest.raises(TypeError, match=r"dtype|holds numbers"):
        tl.asarray(arguments)


def test_memoryviews_keep_shape_and_strides():
    octets = bytearray(range(24))
    view = memoryview(octets).cast("B", (4, 6))
    assert tl.asarray(view).shape == (4, 6)
    assert tl.asarray(memoryview(octets)[::-2]).strides == (-2,)
    assert tl.asarray(memoryview(octets)[::-2]).layout.offset == 22
    assert tl.asarray(memoryview(octets).toreadonly()).readonly
    assert tl.asarray(b"ab").readonly
    assert not tl.asarray(b"ab", copy=True).readonly


@pytest.mark.parametrize(
    ("layout", "dtype", "required"),
    [
        ("(2,):(3,)", "float32", 16),
        ("(1,):(1,)+3", "float32", 16),
        ("(2,2):(-2,1)+2", "uint32", 16),
        ("(13,):(1,)", "uint8", 13),
        ("(1,):(1,)", "complex128", 16),
        ("(3,):(1,) padded=(16,)", "uint8", 16),
    ],
)
def test_from_storage_names_the_bytes_it_needs_and_those_there_are(layout, dtype, required):
    with pytest.raises(ValueError, match=rf"requires {required} bytes .* 12 available"):
        tl.from_storage(bytearray(12), layout, dtype=dtype)
    enough = np.zeros(-(-required // 2), ml_dtypes.bfloat16)
    tl.from_storage(enough, layout, dtype=dtype, reinterpret=True)


@pytest.mark.parametrize(
    ("storage", "dtype", "stored"),
    [
        (np.ones(4), "float32", "float64"),
        (np.ones(4), "int64", "float64"),
        (np.ones(4, np.float32), "uint8", "float32"),
        (np.ones(4, np.int8), "uint8", "int8"),
        (np.ones(4, ">f4"), "float32", "byte-swapped float32"),
        (np.ones(4, ml_dtypes.bfloat16), "float16", "bfloat16"),
        (np.ones(4, ml_dtypes.float8_e5m2), "float8_e4m3", "float8_e5m2"),
        (np.ones(4, "M8[s]"), "int64", "datetime64[s]"),
        (array.array("d", [1.0] * 4), "float32", "float64"),
        (memoryview(bytearray(16)).cast("I"), "int32", "uint32"),
        ((ctypes.c_long * 4)(), "int16", f"int{8 * ctypes.sizeof(ctypes.c_long)}"),
        (np.complex64(1), "float32", "complex64"),
    ],
)
def test_from_storage_refuses_elements_of_another_dtype(storage, dtype, stored):
    expected = (
        f"from_storage: the storage holds {stored}, not {dtype}; to read its bytes as {dtype},"
        " pass reinterpret=True"
    )
    with pytest.raises(TypeError, match=f"^{re.escape(expected)}$"):
        tl.from_storage(storage, "(2,):(1,)", dtype=dtype)
    assert tl.from_storage(storage, "(2,):(1,)", dtype=dtype, reinterpret=True).shape == (2,)


def test_from_storage_refuses_elements_in_bytes_of_their_own_for_packed_ones():
    nibbles = np.asarray([1, 2, 3, 4], ml_dtypes.int4)
    assert tl.from_storage(nibbles, "(4,):(1,)", dtype="int4").tolist() == [1, 2, 3, 4]
    expected = (
        "from_storage: the storage holds int4, one to a byte, not packed int4; to read its bytes as"
        " packed int4, pass reinterpret=True"
    )
    with pytest.raises(TypeError, match=f"^{re.escape(expected)}$"):
        tl.from_storage(nibbles, "(4,):(1,) bits=4", dtype="int4")
    octets = np.asarray([0x21, 0x43], np.uint8)
    assert tl.from_storage(octets, "(4,):(1,) bits=4", dtype="int4").tolist() == [1, 2, 3, 4]


def test_from_storage_accepts_equal_dtypes_and_plain_bytes():
    ones = np.ones(2)
    for storage in (
        *(ones, ones.view(np.uint8), ones.view("V16"), ones.view("S4"), ones.tobytes()),
        ones.view([("a", "f8")]).view(np.recarray),
        *(memoryview(ones), bytearray(ones), array.array("d", ones), (ctypes.c_double * 2)(*ones)),
    ):
        assert tl.all(tl.from_storage(storage, "(2,):(1,)", dtype="float64") == 1)
    assert (
        tl.from_storage(np.ones(2), "(4,):(1,)", dtype="uint32", reinterpret=True)[1] == 0x3FF00000
    )
    long = np.dtype("long")
    assert tl.from_storage((ctypes.c_long * 2)(3, 4), "(2,):(1,)", dtype=long)[1] == 4
    with pytest.raises(TypeError, match=r"^from_storage: reinterpret must be True or False, got"):
        tl.from_storage(ones, "(2,):(1,)", dtype="int64", reinterpret=1)


def test_from_storage_writes_padding_only_when_asked_to():
    layout = tl.Layout.padded((2, 2), (2, 4), padding_value=tl.PaddingValue.HIGHEST)
    storage = bytearray(8)
    tl.from_storage(storage, layout, dtype=tl.uint8)
    assert storage == bytes(8)
    tl.from_storage(storage, layout, dtype=tl.uint8, fill_padding=True)
    assert storage == b"\0\0\xff\xff\0\0\xff\xff"


def test_deepcopy_keeps_what_was_one_tensor_one():
    x = tl.zeros(3)
    first, second = copy.deepcopy([x, x])
    assert first is second is not x


def test_pickles_of_read_only_and_of_equal_tensors():
    fixed = tl.from_storage(b"ab", "(2,):(1,)", dtype=tl.uint8)
    assert not pickle.loads(pickle.dumps(fixed, 4)).readonly
    layout = tl.Layout.padded((3,), (64,))  # padding that holds anything
    full = np.full(64, 255, np.uint8)
    first = tl.from_storage(full, layout, dtype=tl.uint8)
    second = tl.from_storage(np.zeros(64, np.uint8), layout, dtype=tl.uint8)
    first[...] = second[...] = 7
    assert pickle.dumps(first) == pickle.dumps(second)


FOREIGN = [Exporting, Making, Described, memoryview, np.asarray]
KEYS = [(..., (2, 3)), (np.s_[:, 1:], (2, 2)), (1, (3,)), (([1, 0, 1], [2, 0, 0]), (3,))]
KEYS += [(np.asarray([[True, False, True], [False, True, False]]), (3,))]


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("wrap", FOREIGN)
@pytest.mark.parametrize(("key", "shape"), KEYS)
def test_values_of_other_libraries_are_assigned(key, shape, wrap):
    array = np.zeros((2, 3))
    x = tl.zeros((2, 3))
    values = np.arange(10, 10 + math.prod(shape), dtype=np.float32).reshape(shape)
    x[key] = wrap(values)
    array[key] = values
    assert x.tolist() == array.tolist()


def test_values_that_are_the_tensors_own_memory_are_taken_as_if_copied_first():
    for wrap in FOREIGN:
        memory = np.arange(6)
        x = tl.asarray(memory, device="cpu")
        x[1:] = wrap(memory[:-1])
        assert memory.tolist() == [0, 0, 1, 2, 3, 4]


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"abc", "value must be a tensor, an array or numbers, got b'abc'"),
        ({1: 2}, "value must be a tensor, an array or numbers"),
        (Making("no array"), ".* gives no array by __array__"),
    ],
    ids=["bytes", "dict", "no array"],
)
def test_values_that_are_no_arrays_are_refused(value, words):
    x = tl.zeros(3)
    with pytest.raises(TypeError, match=f"^__setitem__: {words}"):
        x[:] = value
    assert x.tolist() == [0.0, 0.0, 0.0]
