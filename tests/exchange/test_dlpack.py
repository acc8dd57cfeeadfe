"""DLPack both ways: capsules read field by field, consumers, exporters, lifetimes."""

import ctypes
import pathlib
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_interchange import ARRAYS, VALUES

import tensorlayout as tl

# --- The structures of dlpack.h, written down a second time ---------------------------------------


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        *((name, ctypes.POINTER(ctypes.c_int64)) for name in ("shape", "strides")),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]


STRUCTURES = {b"dltensor": Managed, b"dltensor_versioned": ManagedVersioned}
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
api = ctypes.pythonapi
name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", api))
pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", api)
)


def opened(capsule):
    """The structure in a capsule, by the capsule's name; it keeps the capsule."""
    name = name_of(capsule)
    structure = STRUCTURES[name].from_address(pointer_in(capsule, name))
    structure.capsule = capsule  # whose end frees the structure's memory
    return structure


ALIVE = []


class Exporter:
    """A library that exports an array of NumPy by hand, and counts calls of the deleter.

    `keywords`: those that its ``__dlpack__`` knows; `fields`: what its structure says otherwise.
    """

    def __init__(self, array, name=b"dltensor_versioned", keywords=("max_version",), **fields):
        self.name, self.keywords, self.asked, self.deleted = name, keywords, {}, []
        self.device = fields.get("device", (1, 0))
        kept = self.managed = STRUCTURES[name]()
        t = kept.dl_tensor
        t.data, t.ndim, t.lanes = array.ctypes.data, array.ndim, 1
        t.device[:] = self.device
        t.code, t.bits = "iufxxcb".index(array.dtype.kind), 8 * array.itemsize
        t.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        t.strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
        for field, value in fields.items():
            if field in ("shape", "strides") and value is not None:
                value = (ctypes.c_int64 * len(value))(*value)
            if field != "device":
                setattr(t if hasattr(DLTensor, field) else kept, field, value)
        if name == b"dltensor_versioned" and "version" not in fields:
            kept.version[:] = (1, 0)
        callback = Deleter(self.deleted.append)
        kept.deleter = ctypes.cast(callback, ctypes.c_void_p)
        ALIVE.append((kept, callback, array))  # a tensor may outlive its exporter

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        for keyword in asked:
            if keyword not in self.keywords:
                raise TypeError(f"__dlpack__() got an unexpected keyword argument '{keyword}'")
        self.asked = asked
        self.capsule = new_capsule(ctypes.addressof(self.managed), self.name, None)
        return self.capsule


class Given:
    """An exporter of one capsule that exists already."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return self.capsule


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="optional: PyTorch")


# --- Tensors of every kind ------------------------------------------------------------------------

DTYPES = {"bool": (6, 8), "bfloat16": (4, 16), "complex64": (5, 64), "complex128": (5, 128)}
DTYPES |= {"int8": (0, 8), "int16": (0, 16), "int32": (0, 32), "int64": (0, 64)}
DTYPES |= {"uint8": (1, 8), "uint16": (1, 16), "uint32": (1, 32), "uint64": (1, 64)}
DTYPES |= {"float16": (2, 16), "float32": (2, 32), "float64": (2, 64)}

PADDED = tl.Layout.padded((2, 3, 4), (2, 4, 8), padding_value=tl.PaddingValue.ONE)

# Of a row-major tensor of shape (2, 3, 4) with elements 0 … 23: what is made of it, its strides and
# the element at index (0, …, 0).
KINDS = {
    "row-major": (lambda x: x, (12, 4, 1), 0),
    "column-major": (lambda x: tl.to_layout(x, (0, 1, 2)), (1, 2, 6), 0),
    "permuted": (lambda x: tl.permute_dims(x, (2, 0, 1)), (1, 12, 4), 0),
    "padded": (lambda x: tl.to_layout(x, PADDED), (32, 8, 1), 0),
    "padded, sliced": (lambda x: tl.to_layout(x, PADDED)[:, 1:, 1:3], (32, 8, 1), 5),
    "broadcast": (lambda x: tl.broadcast_to(x[:, 1:2], (2, 3, 4)), (12, 0, 1), 4),
    "window": (lambda x: tl.sliding_window(x[0, 0], 2), (1, 1), 0),
    "flipped": (lambda x: tl.flip(x, axis=(0, 2)), (-12, 4, -1), 15),
    "sliced": (lambda x: x[:, 1:, ::2], (12, 4, 2), 4),
    "size 1": (lambda x: x[1:, 2:, :1], (12, 4, 1), 20),
    "rank 0": (lambda x: x[1, 2, 3], (), 23),
    "size 0": (lambda x: x[:, :0], (12, 4, 1), None),
}
NEGATIVE = {"flipped"}
SHARING = {"broadcast", "window"}


def base(dtype="int32"):
    return tl.astype(tl.reshape(tl.arange(24), (2, 3, 4)), tl.asarray(0, dtype=dtype).dtype)


def exporter_of(kind, dtype="int32"):
    return KINDS[kind][0](base(dtype))


def address(x):
    return np.asarray(x).__array_interface__["data"][0]


def same_bits(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


# --- Export: what a capsule says ------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_structure_says_shape_strides_and_the_address_of_the_first_element(kind):
    x = exporter_of(kind)
    capsule = x.__dlpack__(max_version=(1, 0), copy=None)
    t = opened(capsule).dl_tensor
    assert (tuple(t.shape[: t.ndim]), tuple(t.strides[: t.ndim])) == (x.shape, KINDS[kind][1])
    assert (tuple(t.device), t.lanes, t.byte_offset) == ((1, 0), 1, 0)
    if KINDS[kind][2] is None:
        assert t.data is None
    else:
        assert ctypes.c_int32.from_address(t.data).value == KINDS[kind][2]
        assert t.data == address(x)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_codes_of_dtypes_in_both_directions(dtype, name):
    code, bits = DTYPES[dtype]
    x = tl.zeros(3, dtype=dtype)
    version = (1, 0) if name == b"dltensor_versioned" else None
    t = opened(x.__dlpack__(max_version=version)).dl_tensor
    assert (t.code, t.bits) == (code, bits)
    octets = np.arange(2 * bits // 8, dtype=np.uint8) % 2
    exporter = Exporter(octets, name, code=code, bits=bits, shape=(2,), strides=(1,))
    back = tl.from_dlpack(exporter)
    assert (str(back.dtype), np.asarray(back).tobytes()) == (dtype, octets.tobytes())


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        *((version, b"dltensor") for version in (None, (0, 8))),
        *((version, b"dltensor_versioned") for version in ((1, 0), (1, 3), (2, 0))),
    ],
)
def test_the_version_asked_for_decides_the_kind_of_capsule(max_version, name):
    for kind in ("row-major", "size 0"):
        capsule = exporter_of(kind).__dlpack__(max_version=max_version)
        assert name_of(capsule) == name
        structure = opened(capsule)
        assert structure.dl_tensor.strides  # of row-major memory, too
        assert name == b"dltensor" or structure.version[0] == 1


READ_ONLY, IS_COPIED = 1, 2


def test_flags_say_read_only_and_copied():
    x, fixed = base(), tl.from_storage(bytes(8), "(2,):(1,)", dtype=tl.float32)

    def flags(tensor, copy):
        capsule = tensor.__dlpack__(max_version=(1, 0), copy=copy)
        return opened(capsule).flags

    assert [flags(x, c) for c in (None, False, True)] == [0, 0, IS_COPIED]
    assert [flags(fixed, c) for c in (None, False, True)] == [READ_ONLY, READ_ONLY, IS_COPIED]
    assert name_of(fixed.__dlpack__(copy=True)) == b"dltensor"


@pytest.mark.parametrize("kind", sorted(SHARING))
def test_elements_that_share_slots_are_exported_read_only(kind):
    x = exporter_of(kind)
    assert not x.readonly
    assert [opened(x.__dlpack__(max_version=(1, 0), copy=c)).flags for c in (None, True)] == [1, 2]
    with pytest.raises(BufferError, match=r"share slots, of layout \(.* max_version=\(1, 0\)"):
        x.__dlpack__()
    assert name_of(x.__dlpack__(copy=True)) == b"dltensor"
    for seen in (np.from_dlpack(x), tl.from_dlpack(x)):
        with pytest.raises(ValueError, match="read-only"):
            seen[...] = 0


def test_a_copy_keeps_the_padded_layout():
    x = exporter_of("padded")
    capsule = x.__dlpack__(copy=True)
    t = opened(capsule).dl_tensor
    assert tuple(t.strides[:3]) == (32, 8, 1)
    assert t.data != address(x)


def test_the_device_and_the_devices_that_can_be_asked_for():
    assert base().__dlpack_device__() == (1, 0)
    assert name_of(base().__dlpack__(dl_device=(1, 0))) == b"dltensor"
    for stream in (-1, 0):
        with pytest.raises(ValueError, match="no streams"):
            base().__dlpack__(stream=stream)


def test_memory_that_is_not_aligned_to_its_elements_is_refused_but_for_a_copy():
    octets = bytearray(17)
    shift = 1 - np.frombuffer(octets, np.uint8).ctypes.data % 4
    odd = tl.from_storage(memoryview(octets)[shift % 4 :][:12], "(3,):(1,)", dtype=tl.int32)
    with pytest.raises(BufferError, match="not aligned to int32; use copy=True"):
        odd.__dlpack__()
    assert np.array_equal(np.from_dlpack(odd, copy=True), [0, 0, 0])
    assert tl.from_dlpack(odd, copy=True)[1] == 0


# --- Export: consumers ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [k for k in KINDS if k not in NEGATIVE])
def test_torch_takes_every_layout_and_dtype_and_gives_it_back(torch, kind, dtype):
    x = exporter_of(kind, dtype)
    there = torch.from_dlpack(x)
    back = tl.from_dlpack(there)
    assert (str(there.dtype), tuple(there.shape)) == (f"torch.{dtype}", x.shape)
    assert x.size == 0 or (there.data_ptr(), there.stride()) == (address(x), x.strides)
    assert (back.dtype, back.shape) == (x.dtype, x.shape)
    assert same_bits(back, x)
    assert x.size == 0 or address(back) == address(x)


def test_torch_knows_no_negative_strides_but_takes_a_copy(torch):
    # PyTorch 2.13 ends the process on them, also for an array of NumPy.
    x = exporter_of("flipped")
    with pytest.raises(BufferError, match="negative"):
        torch.from_dlpack(x)
    assert torch.from_dlpack(x, copy=True).tolist() == np.asarray(x).tolist()


# How consumers ask: NumPy 2 and CuPy 14 name `copy` or `dl_device` as None; PyTorch 2.13 and JAX
# 0.10 name what their user gave, and nothing else.
V1 = {"max_version": (1, 0)}
ASKED = [
    *((V1 | {"dl_device": None, "copy": copy}, True) for copy in (None, False)),
    (V1 | {"dl_device": (1, 0), "copy": None}, True),
    ({"max_version": (1, 3), "copy": None}, True),
    *((V1 | more, False) for more in ({}, {"copy": False}, {"dl_device": (1, 0)})),
    (V1 | {"dl_device": (1, 0), "copy": False}, False),
    ({"stream": None}, False),
    ({}, False),
]


@pytest.mark.parametrize(("options", "accepted"), ASKED, ids=str)
def test_negative_strides_go_to_who_takes_them(options, accepted):
    x = exporter_of("flipped")
    if accepted:
        t = opened(x.__dlpack__(**options)).dl_tensor
        assert tuple(t.strides[: t.ndim]) == (-12, 4, -1)
    else:
        way_out = r"^__dlpack__: .* x.copy\(\), ask with copy=True, .*allow_negative_strides"
        with pytest.raises(BufferError, match=way_out):
            x.__dlpack__(**options)


def test_negative_strides_go_to_all_inside_a_block_of_this_thread():
    x = exporter_of("flipped")
    with tl.allow_negative_strides():
        t = opened(x.__dlpack__(max_version=(1, 0))).dl_tensor
        assert tuple(t.strides[: t.ndim]) == (-12, 4, -1)
        with ThreadPoolExecutor(1) as pool, pytest.raises(BufferError, match="negative"):
            pool.submit(x.__dlpack__).result()
    with pytest.raises(BufferError, match="negative"):
        x.__dlpack__()


@pytest.mark.parametrize(
    ("shape", "axis"), [((1,), 0), ((1, 1), None), ((1, 3), 0), ((0,), 0), ((0, 3), None)]
)
def test_strides_that_lead_nowhere_are_exported_forwards(shape, axis):
    x = tl.flip(tl.zeros(shape), axis=axis)
    t = opened(x.__dlpack__(max_version=(1, 0))).dl_tensor
    assert all(n >= 0 for n in t.strides[: t.ndim])


# A batch of one channel, channels last; DLPack says nothing of where the channel was.
@pytest.mark.parametrize("take", [tl.from_dlpack, tl.asarray])
def test_a_layout_says_which_order_dimensions_of_size_1_were_in(take):
    memory = np.arange(24).reshape(2, 3, 4, 1)
    argument = memory.transpose(0, 3, 1, 2)
    assert take(argument).layout == tl.Layout.parse("(2,1,3,4):(12,12,4,1)")
    x = take(argument, layout="NHWC", copy=False)
    assert x.layout == tl.Layout.parse("(2,1,3,4):(12,1,4,1) order=(1,3,2,0)")
    x[0, 0, 0, 0] = 100
    assert memory[0, 0, 0, 0] == 100


# --- Import ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("kind", ARRAYS)
def test_an_imported_tensor_has_the_strides_of_the_exporter(kind, name):
    array, layout = ARRAYS[kind]
    x = tl.from_dlpack(Exporter(array, name))
    assert x.shape == array.shape
    assert x.size == 0 or x.layout.same_placement(tl.Layout.parse(layout))
    assert same_bits(x, array)
    assert x.size == 0 or address(x) == array.ctypes.data


def test_memory_that_is_described_in_other_ways():
    assert tl.from_dlpack(Exporter(VALUES, strides=None)).strides == (12, 4, 1)
    pinned = tl.from_dlpack(Exporter(VALUES, device=(3, 0)))
    assert (address(pinned), pinned.device) == (VALUES.ctypes.data, "cpu")
    assert tl.from_dlpack(Exporter(np.zeros((1,) * 63 + (2,), np.int8))).ndim == 64


def test_the_byte_offset_counts():
    x = tl.from_dlpack(Exporter(VALUES, byte_offset=6, shape=(4,), strides=(1,), ndim=1))
    assert np.asarray(x).tolist() == [3, 4, 5, 6]


def test_the_read_only_flag_counts():
    for array in (VALUES, VALUES[:0]):
        results = [tl.from_dlpack(Exporter(array, flags=flags)).readonly for flags in range(4)]
        assert results == [False, True, False, True]


@pytest.mark.parametrize("take", [tl.from_dlpack, tl.asarray])
def test_legacy_capsules_are_read_only_for_they_cannot_say_what_may_be_written(take):
    array = VALUES.copy()
    x = take(Exporter(array, b"dltensor"))
    with pytest.raises(ValueError, match=r"read-only; copy\(\) it first"):
        x[0, 0, 0] = 99
    assert not np.asarray(x).flags.writeable
    copied = take(Exporter(array, b"dltensor"), copy=True)
    copied += 100
    assert np.asarray(copied).tolist() == (VALUES + 100).tolist()
    assert array.tolist() == VALUES.tolist()


# --- Import: copies -------------------------------------------------------------------------------

NEW = ("max_version", "dl_device", "copy")


def test_the_exporter_is_asked_for_no_more_than_is_needed():
    exporter = Exporter(VALUES, keywords=NEW)
    tl.from_dlpack(exporter)
    assert exporter.asked == {"max_version": (1, 1)}
    tl.from_dlpack(exporter, copy=False)
    assert exporter.asked == {"max_version": (1, 1), "copy": False}


@pytest.mark.parametrize("take", [tl.from_dlpack, tl.asarray])
def test_copies_are_made_when_asked_for(take):
    array = VALUES.transpose(2, 0, 1)
    shared, never, copied = (
        take(Exporter(array, keywords=NEW), copy=c) for c in (None, False, True)
    )
    assert address(shared) == address(never) == array.ctypes.data
    assert address(copied) != array.ctypes.data
    assert same_bits(copied, array)
    assert copied.strides == (1, 12, 4)


def test_a_copy_made_by_the_exporter_is_not_copied_again():
    array = VALUES.copy()
    assert address(tl.from_dlpack(Exporter(array, flags=2), copy=True)) == array.ctypes.data
    assert tl.from_dlpack(Exporter(array, flags=3), copy=True).readonly is False


@pytest.mark.parametrize("take", [tl.from_dlpack, tl.asarray])
def test_copy_false_refuses_an_exporter_that_copied(take):
    with pytest.raises(BufferError, match="made a copy, and copy=False"):
        take(Exporter(VALUES, flags=2, keywords=NEW), copy=False)


@pytest.mark.parametrize("keywords", [(), ("stream",), ("max_version",)])
def test_exporters_without_the_newer_keywords(keywords):
    exporter = Exporter(VALUES, b"dltensor", keywords=keywords)
    assert address(tl.from_dlpack(exporter)) == VALUES.ctypes.data
    with tl.trace() as seen:
        copied = tl.from_dlpack(exporter, copy=True)
    assert address(copied) != VALUES.ctypes.data
    assert [(r.name, r.kind, r.bytes_written) for r in seen] == [("from_dlpack", "copy", 48)]
    with pytest.raises(BufferError, match="cannot be asked for copy=False"):
        tl.from_dlpack(exporter, copy=False)


# --- Import: refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lanes": 4}, "4 lanes"),
        ({"code": 18, "bits": 8}, "type 18 with 8 bits.*convert them in the other library"),
        ({"code": 2, "bits": 128}, "type 2 with 128 bits"),
        ({"code": 3, "bits": 64}, "no dtype here"),
        ({"ndim": -1}, "rank"),
        ({"ndim": 65}, "rank of at most 64"),
        ({"shape": (2, -3, 4)}, "shape"),
        ({"shape": None}, "shape"),
        ({"data": None}, "at address None"),
        ({"data": 2**64 - 8}, "where no memory can be"),
        ({"byte_offset": 2**64 - 8}, "where no memory can be"),
        ({"shape": (2**62, 3, 4)}, "more than can be counted"),
        ({"shape": (2**62, 2**62, 0)}, "more than can be counted"),
        ({"strides": (2**62, 1, 1)}, "where no memory can be"),
        ({"strides": (-(2**62), 1, 1)}, "where no memory can be"),
        ({"strides": (-(2**63), -(2**63), -(2**63))}, "where no memory can be"),
        ({"ndim": 2**31 - 1}, "rank"),
        ({"code": 2, "bits": 8}, "no dtype here"),
        ({"lanes": 0}, "0 lanes"),
    ],
)
def test_what_has_no_tensor_is_refused_and_stays_the_exporters(fields, message, name):
    exporter = Exporter(VALUES, name, **fields)
    with pytest.raises(BufferError, match=message):
        tl.from_dlpack(exporter)
    assert (name_of(exporter.capsule), exporter.deleted) == (name, [])


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("stride", [2**62, 2**63 - 1, -(2**63)])
def test_strides_that_are_never_taken_may_be_anything(stride, name):
    exporter = Exporter(VALUES[:1, :, :1], name, strides=(stride, 4, stride))
    x = tl.from_dlpack(exporter)
    assert (x.strides, np.asarray(x).tolist()) == ((12, 4, 1), VALUES[:1, :, :1].tolist())


@pytest.mark.parametrize("take", [tl.from_dlpack, tl.asarray])
@pytest.mark.parametrize("says", [None, 1, (), (1,), (1, 0, 0), "ab", (None, 0), (1.5, "x")])
def test_a_device_that_is_none(says, take):
    exporter = Exporter(VALUES)
    exporter.device = says
    with pytest.raises((TypeError, ValueError, BufferError), match=r"r could not be exchanged: "):
        take(exporter)


def test_what_is_no_capsule_of_a_tensor_is_refused():
    managed = ctypes.addressof(Exporter(VALUES).managed)
    names = (b"other", b"used_dltensor", b"dltensor ", None)
    for item in (*(new_capsule(managed, name, None) for name in names), None, 7, "capsule"):
        with pytest.raises(BufferError, match="no unused capsule"):
            tl.from_dlpack(Given(item))
    with pytest.raises(BufferError, match="speaks DLPack 2"):
        tl.from_dlpack(Exporter(VALUES, version=(ctypes.c_uint32 * 2)(2, 0)))


@pytest.mark.parametrize("take", [tl.from_dlpack, tl.asarray])
@pytest.mark.parametrize(
    ("place", "text"), [((2, 1), "CUDA, number 1"), ((99, 0), "DLPack type 99")]
)
def test_memory_of_another_device_is_refused_with_the_remedy(take, place, text):
    exporter = Exporter(VALUES, device=place)
    with pytest.raises(BufferError, match=rf'{text}.*use from_dlpack\(x, device="cpu"\)'):
        take(exporter)
    assert exporter.asked == {}


def test_the_device_in_the_capsule_counts_too():
    exporter = Exporter(VALUES, device=(2, 0))
    exporter.device = (1, 0)  # what __dlpack_device__ says
    with pytest.raises(BufferError, match="CUDA, number 0"):
        tl.from_dlpack(exporter)


@pytest.mark.parametrize("take", [tl.from_dlpack, tl.asarray])
def test_with_a_device_the_exporter_is_asked_to_move_the_memory(take):
    exporter = Exporter(VALUES, keywords=NEW, flags=2)
    exporter.device = (2, 0)  # until it is asked to move the memory
    assert same_bits(take(exporter, device="cpu"), VALUES)
    assert exporter.asked == {"max_version": (1, 1), "dl_device": (1, 0)}
    exporter.keywords = ("max_version",)
    with pytest.raises(BufferError, match=r"cannot be asked for dl_device=\(1, 0\)"):
        take(exporter, device="cpu")


def test_a_capsule_is_used_once():
    capsule = base().__dlpack__()
    tl.from_dlpack(Given(capsule))
    assert name_of(capsule) == b"used_dltensor"
    with pytest.raises(BufferError, match="no unused capsule"):
        tl.from_dlpack(Given(capsule))


class Failing(Given):
    def __dlpack__(self, **_):
        raise self.capsule


EXPECTED = [BufferError, TypeError, NotImplementedError, AttributeError, ValueError]


@pytest.mark.parametrize("error", [RuntimeError, KeyError, *EXPECTED])
def test_only_the_errors_that_consumers_expect_come_out(error):
    for take in (tl.from_dlpack, tl.asarray):
        with pytest.raises(error if error in EXPECTED else BufferError, match="no"):
            take(Failing(error("no")))


# --- Lifetimes ------------------------------------------------------------------------------------


def exported(version):
    """A capsule of a tensor that is gone, and whether its memory is still there."""
    memory = np.arange(6.0)
    watch = weakref.ref(memory)
    return tl.asarray(memory).__dlpack__(max_version=version), watch


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("library", ["numpy", "torch", "tensorlayout"])
def test_the_consumer_keeps_the_memory_and_gives_it_back(request, library, version):
    take = {"numpy": np.from_dlpack, "tensorlayout": tl.from_dlpack}.get(library)
    take = take or request.getfixturevalue("torch").from_dlpack
    capsule, watch = exported(version)
    there = take(Given(capsule))
    assert watch() is not None
    assert float(there[5]) == 5.0
    del there
    assert watch() is None
    del capsule  # gives nothing back a second time
    unused, watch = exported(version)
    assert watch() is not None
    del unused
    assert watch() is None


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_deleter_of_the_exporter_is_called_once_when_the_last_view_is_gone(name):
    exporter = Exporter(VALUES, name)
    x = tl.from_dlpack(exporter)
    view, array = x[1, ::2].T, np.asarray(x)[0]
    del x, view
    assert exporter.deleted == []
    del array
    assert exporter.deleted == [ctypes.addressof(exporter.managed)]
    del exporter.capsule
    assert len(exporter.deleted) == 1


@pytest.mark.parametrize("name", STRUCTURES)
def test_no_elements_and_no_deleter(name):
    """Memory without elements is released at once; an exporter need not have a deleter."""
    exporter = Exporter(VALUES[:0], name)
    x = tl.from_dlpack(exporter)
    assert (x.shape, len(exporter.deleted)) == ((0, 3, 4), 1)
    exporter = Exporter(VALUES, name)
    exporter.managed.deleter = None
    assert same_bits(tl.from_dlpack(exporter), VALUES)


def test_an_exception_on_its_way_survives_the_deleters():
    # The temporaries die while the interpreter carries the exception.
    exporter = Exporter(VALUES)
    with pytest.raises(ZeroDivisionError):
        print(tl.from_dlpack(exporter), base().__dlpack__(), np.from_dlpack(base()), 1 / 0)
    assert len(exporter.deleted) == 1


def test_a_consumer_that_refuses_a_capsule_keeps_its_own_error():
    with pytest.raises((BufferError, RuntimeError), match="dtype"):
        np.from_dlpack(exporter_of("row-major", "bfloat16"))


def test_the_last_reference_may_go_in_another_thread():
    capsule, watch = exported((1, 0))
    box = [np.from_dlpack(Given(capsule))]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert watch() is None


ENDING = """
import builtins, sys
import numpy as np, tensorlayout as tl
take = np.from_dlpack
if sys.argv[1] == "torch":
    import torch
    take = torch.from_dlpack
x = tl.ones(5)
builtins.kept = [take(x), tl.from_dlpack(take(tl.zeros(3))), x.__dlpack__()]
cycle = [take(x), tl.from_dlpack(take(x))]
cycle.append(cycle)
"""


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_python_ends_well_with_exchanges_alive(request, library):
    if library == "torch":
        request.getfixturevalue("torch")
    root = pathlib.Path(tl.__file__).parents[1]
    command = [sys.executable, "-c", ENDING, library]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
