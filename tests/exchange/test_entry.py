"""Memory of others: what comes in by each protocol, what is refused, and what nobody can change."""

import array
import contextlib
import ctypes
import mmap
import pickle
import warnings
import weakref

import ml_dtypes
import numpy as np
import pytest
from foreign import LEFT_OUT, Described, Making, WithStructure
from simulated import needs_compiler, simulator
from test_dlpack import new_capsule

import tensorlayout as tl
from tensorlayout.functions import interchange

VALUES = np.arange(6, dtype=np.int16).reshape(2, 3)

# What an exchange may raise.
EXPECTED = (AttributeError, TypeError, NotImplementedError, BufferError, ValueError)


def list_of(x):
    return np.array(x).tolist()


# --- Dtypes: one rule for every way in --------------------------------------------------------

TEXTS = ["2T", "T", ",", "i4,i4", "(2,)f4", "f4,", "V3", "S2", "O", "m8", "M8[s]", "g", "="]
TEXTS += ["float128", "int3", "f1", "float8", "", " f4", "f4\0", "\0", "é", "float\uff13\uff12"]
NOT_OURS = {
    **{text: text for text in (*TEXTS, "i04096", "bfloat16 ")},
    "long": "f4," * 10**5,
    "list": ["f4"],
    "dict": {"names": ["a"], "formats": ["f4"]},
    "tuple": ("f4", (2,)),
    "bytes": b"f4",
    "large number": 10**5000,
    "array": np.arange(3.0),
    "scalar": np.float32(1),
    **{
        f"class {kind.__name__}": kind
        for kind in (object, str, np.ndarray, np.number, np.longdouble, np.dtypes.Float32DType)
    },
    "complex32": np.dtype(ml_dtypes.complex32),
    **{f"dtype {text}": np.dtype(text) for text in ("g", "V2", "O", "m8", "T", "i4,i4")},
    "strings with a missing value": np.dtypes.StringDType(na_object=[]),
}

# `tests/project/test_errors.py` tries all functions.
TAKES_A_DTYPE = [
    lambda d: tl.zeros(1, dtype=d),
    lambda d: tl.asarray(VALUES, dtype=d),
    lambda d: tl.from_storage(bytes(8), "(1,):(1,)", dtype=d),
]


@pytest.mark.parametrize("kind", NOT_OURS)
def test_what_is_no_dtype_of_ours_is_refused_with_words(kind):
    for function in TAKES_A_DTYPE:
        with pytest.raises(TypeError, match=r"must be a dtype of this namespace, got") as refused:
            function(NOT_OURS[kind])
        assert len(str(refused.value)) < 310


@pytest.mark.parametrize("dtype", [">c16", np.dtype(">i8")], ids=str)
def test_another_byte_order_is_refused_with_the_fix(dtype):
    words = rf"must have the byte order of this machine, got .*; use {np.dtype(dtype).name}; asarr"
    for function in TAKES_A_DTYPE:
        with pytest.raises(TypeError, match=words):
            function(dtype)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        *((name, name) for name in ("bool", "uint64", "float16", "bfloat16", "complex64")),
        ("<f4", "float32"),
        ("=i8", "int64"),
        ("?", "bool"),
        ("d", "float64"),
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        (complex, "complex128"),
        (np.float32, "float32"),
        (np.longlong, "int64"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (np.dtype("f4", metadata={"a": 1}), "float32"),
    ],
)
def test_names_and_types_of_ours(arguments, expected):
    result = tl.zeros(1, dtype=arguments).dtype
    assert (result, result.metadata) == (getattr(tl, expected), None)


class Rebuilt:
    """Pickle of a tensor that no function created."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __reduce__(self):
        return interchange._unpickle_tensor, self.arguments


LINE = "(2,):(1,)"


def test_pickles_of_no_tensor_are_refused():
    kinds = ("2T", ",", "T", ">f4", 3, "float8")
    others = [("float32", 3, bytearray(8)), ("float32", LINE, [1, 2])]
    for item in (("float32", LINE, bytearray(7)), *((k, LINE, bytes(8)) for k in kinds), *others):
        error = ValueError if len(item[2]) == 7 else TypeError
        with pytest.raises(error, match=r"^from_storage: "):
            pickle.loads(pickle.dumps(Rebuilt(*item)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [">u2", ">i4", ">f8", ">c8"])
def test_arrays_of_another_byte_order_are_converted_in_a_copy_that_a_trace_shows(dtype, order):
    argument = np.asarray([[1, 2, 3], [4, 5, 6]], dtype, order=order)
    native = argument.dtype.newbyteorder("=")
    with tl.trace() as seen:
        x = tl.asarray(argument)
    assert (x.dtype, list_of(x)) == (native, [[1, 2, 3], [4, 5, 6]])
    assert x.strides == ((3, 1) if order == "C" else (1, 2))
    assert [(r.name, r.kind, r.bytes_read, r.bytes_written) for r in seen] == [
        ("asarray", "copy", argument.nbytes, argument.nbytes)
    ]
    x[0, 0] = 9
    assert argument[0, 0] == 1
    with pytest.raises(ValueError, match=r"unable to avoid a copy, .* cannot be shared"):
        tl.asarray(argument, copy=False)


# --- Nobody changes what a tensor reads -----------------------------------------------------------


def reshaped(array):
    array.shape = (array.size,)


def retyped(array):
    array.dtype = np.int8


def resized(array):
    array.resize((10**6,), refcheck=False)


CHANGES = [reshaped, retyped, resized]


def changed(change, array):
    """Try to change an array that may be somebody's, in ways that NumPy may warn of."""
    with warnings.catch_warnings(action="ignore"), contextlib.suppress(ValueError, AttributeError):
        change(array)


def over(memory):
    return tl.from_storage(memory, "(2,3):(3,1)", dtype="int16")


SHARES = {
    "asarray": lambda a: tl.asarray(a),
    "asarray of a view": lambda a: tl.asarray(a[:])[...],
    "asarray of a memoryview": lambda a: tl.asarray(memoryview(a)),
    "from_storage": lambda a: over(a),
    "from_storage, memoryview": lambda a: over(memoryview(a)),
    "through NumPy": lambda a: tl.asarray(np.asarray(tl.asarray(a))),
    "from_dlpack": lambda a: tl.from_dlpack(a),
    "from_dlpack of a view": lambda a: tl.from_dlpack(a[:]),
    "through DLPack": lambda a: tl.from_dlpack(tl.asarray(a)),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", SHARES)
def test_what_is_done_to_an_array_does_not_change_the_tensor_over_it(way, change):
    argument = VALUES.copy()
    x = SHARES[way](argument)
    changed(change, argument)
    assert (x.shape, list_of(x)) == ((2, 3), VALUES.tolist())
    x[1, 2] = 77
    assert argument.view(np.int16).reshape(-1)[5] == 77


@pytest.mark.parametrize("way", SHARES)
def test_an_array_may_be_resized_once_no_tensor_uses_it(way):
    argument = VALUES.copy()
    x = SHARES[way](argument)
    seen = np.asarray(x)
    del x
    with pytest.raises(ValueError, match="resize"):
        argument.resize((100,), refcheck=False)
    del seen
    argument.resize((100,), refcheck=False)
    assert argument.shape == (100,)


MADE = {
    "zeros": lambda: tl.zeros((2, 3), dtype="int16"),
    "slice": lambda: tl.zeros((4, 3), dtype="int16")[1:3],
    "shared": lambda: tl.asarray(np.zeros((2, 3), np.int16)),
    "imported": lambda: tl.from_dlpack(np.zeros((2, 3), np.int16)),
}
SHOWN = {
    "asarray": np.asarray,
    "no copy": lambda x: np.asarray(x, copy=False),
    "DLPack": np.from_dlpack,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", SHOWN)
@pytest.mark.parametrize("kind", MADE)
def test_what_is_done_to_the_array_of_a_tensor_does_not_change_the_tensor(kind, way, change):
    x = MADE[kind]()
    strides = x.strides
    seen = SHOWN[way](x)
    changed(change, seen)
    x += 1
    assert (x.shape, x.strides, list_of(x)) == ((2, 3), strides, [[1, 1, 1], [1, 1, 1]])
    assert SHOWN[way](x) is not SHOWN[way](x)


class Odd(np.ndarray):
    """A subclass whose attributes are not to be believed."""

    base = property(lambda self: self)
    shape = property(lambda self: (1000,))
    strides = property(lambda self: (1,))
    dtype = property(lambda self: np.dtype("f8"))
    view = reshape = copy = property(lambda self: 1 / 0)

    def __array_finalize__(self, _):
        pass

    def __len__(self):
        return 10**9


SUBCLASSES = {
    "matrix": lambda a: a.view(np.matrix),
    "recarray": lambda a: a.view(np.recarray),
    "masked, nothing masked": lambda a: np.ma.masked_array(a, np.zeros(a.shape, bool)),
    "odd": lambda a: a.view(Odd),
}


@pytest.mark.parametrize("kind", SUBCLASSES)
def test_subclasses_are_their_memory(kind):
    argument = VALUES.copy()
    for take in (tl.asarray, over):
        x = take(SUBCLASSES[kind](argument))
        assert (x.shape, x.dtype, x.strides) == ((2, 3), np.int16, (3, 1))
        assert type(np.asarray(x)) is np.ndarray
        x[0, 0] = 50
        assert argument[0, 0] == 50
        argument[0, 0] = 0


# --- Buffers stay what they are -------------------------------------------------------------------

IN_USE = (tl.asarray, lambda b: tl.from_storage(b, "(2,2):(2,1)", dtype="uint8"))
BUFFERS = {
    "bytearray": (lambda: bytearray(4), bytearray.clear),
    "array of the standard library": (lambda: array.array("B", bytes(4)), lambda b: b.append(1)),
    "mapped file": (lambda: mmap.mmap(-1, 4), mmap.mmap.close),
}


@pytest.mark.parametrize("take", IN_USE)
@pytest.mark.parametrize("kind", BUFFERS)
def test_a_buffer_in_use_cannot_be_resized(kind, take):
    make, resize = BUFFERS[kind]
    memory = make()
    x = take(memory)
    x[...] = 7
    assert bytes(memory[:4]) == b"\7\7\7\7"
    seen = np.asarray(x[1:])
    del x
    with pytest.raises(BufferError):
        resize(memory)
    del seen
    resize(memory)
    if kind == "mapped file":
        with pytest.raises(ValueError, match=r"^(asarray|from_storage): .*has no memory now: "):
            take(memory)


BELOW_AN_ARRAY = {
    "buffer": lambda b: np.ndarray(4, np.uint8, b),
    "buffer, memoryview": lambda b: np.ndarray(4, np.uint8, memoryview(b)),
    "buffer, offset": lambda b: np.ndarray(2, np.uint8, b, offset=2).view(),
    "array of an array": lambda b: np.ndarray(4, np.uint8, np.ndarray(4, np.int8, b)),
    "frombuffer": lambda b: np.frombuffer(b, np.uint8),
    "made as a subclass": lambda b: Odd(4, np.uint8, b),
}
TAKEN = {
    "asarray": tl.asarray,
    "view": lambda a: tl.asarray(a)[1:],
    "NumPy": lambda a: np.asarray(tl.asarray(a)),
    "memoryview": lambda a: tl.asarray(memoryview(plain(a))),
    "__array__": lambda a: tl.asarray(Making(a)),
    "from_storage": lambda a: tl.from_storage(a, "(2,):(1,)", dtype="uint8"),
    "from_dlpack": lambda a: tl.from_dlpack(plain(a)),
}


def plain(arguments):
    return np.ndarray.view(arguments, np.ndarray)


# One parameter, so that a default run tries every pair.
@pytest.mark.parametrize("pair", [(take, kind) for take in TAKEN for kind in BELOW_AN_ARRAY])
def test_memory_below_an_array_in_use_cannot_be_resized_or_closed(pair):
    take, kind = pair
    octets = bytearray(4)
    x = TAKEN[take](BELOW_AN_ARRAY[kind](octets))
    with pytest.raises(BufferError):
        octets.clear()
    del x
    octets.clear()
    memory = mmap.mmap(-1, 4)
    argument = BELOW_AN_ARRAY[kind](memory)
    x = TAKEN[take](argument)
    with pytest.raises(BufferError):
        memory.close()
    x[...] = 7
    assert 7 in memory[:4]
    if kind == "frombuffer":  # NumPy's view keeps it open
        return
    del x
    memory.close()
    with pytest.raises(ValueError, match=r"^(asarray|from_\w+): .*has no memory now: "):
        TAKEN[take](argument)


@pytest.mark.parametrize("take", IN_USE)
def test_a_released_view_has_no_memory(take):
    view = memoryview(bytearray(4))
    below = np.frombuffer(bytearray(4), np.uint8)
    view.release()
    below.base.release()
    for item in (view, below):
        with pytest.raises(ValueError, match=r"^(asarray|from_storage): .*has no memory now: "):
            take(item)


class Holder(ctypes.Structure):
    _fields_ = (("O", ctypes.c_int), ("kept", ctypes.py_object))


class Numbers(ctypes.Structure):
    _fields_ = (("O", ctypes.c_int), ("two", ctypes.c_int))


OBJECTS = {
    "object array": lambda: np.array([1, "a"], object),
    "objects in fields": lambda: np.zeros(2, [("a", "O"), ("b", "i4")]),
    "strings": lambda: np.array(["a"], np.dtypes.StringDType()),
    "py_object": lambda: (ctypes.py_object * 2)(1, 2),
    "py_object in a structure": lambda: (Holder * 2)(),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_memory_that_holds_python_objects_is_no_storage(kind):
    argument = OBJECTS[kind]()
    with pytest.raises(TypeError, match=r"^from_storage: storage must hold numbers, not Python ob"):
        tl.from_storage(argument, "(2,):(1,)", dtype="uint8")
    with pytest.raises(EXPECTED, match=r"^asarray: "):
        tl.asarray(argument)


def test_a_field_may_be_called_as_objects_are():
    x = tl.from_storage((Numbers * 2)((1, 2), (3, 4)), "(4,):(1,)", dtype="int32")
    assert list_of(x) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (memoryview(b"\1\0").cast("?"), ("bool", [True, False])),
        (memoryview(bytearray(8)).cast("@i"), ("int32", [0, 0])),
        (memoryview(bytearray(16)).cast("N"), ("uint64", [0, 0])),
        (memoryview(bytearray(4)).cast("B", (2, 2)), ("uint8", [[0, 0], [0, 0]])),
        ((ctypes.c_bool * 2)(True, False), ("bool", [True, False])),
        ((ctypes.c_int.__ctype_be__ * 2)(1, 2), ("int32", [1, 2])),
        (((ctypes.c_float * 2) * 1)(), ("float32", [[0, 0]])),
        (ctypes.c_double(2.5), ("float64", 2.5)),
    ],
)
def test_buffers_of_numbers(arguments, expected):
    x = tl.asarray(arguments)
    assert (str(x.dtype), list_of(x)) == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (memoryview(bytearray(16)).cast("P"), ".*: no numbers have the format 'P'$"),
        ((ctypes.c_char_p * 2)(), ".*: no numbers have the format '<z'$"),
        ((ctypes.CFUNCTYPE(None) * 2)(), r".*: no numbers have the format 'X\{\}'$"),
        (memoryview(b"abc").cast("c"), ""),
        ((ctypes.c_wchar * 2)("a", "b"), ""),
        ((ctypes.c_longdouble * 2)(), ""),
        ((Numbers * 2)(), ""),
    ],
    ids=lambda arguments: type(arguments).__name__,
)
def test_buffers_of_no_numbers_are_refused_with_words(arguments, words):
    with pytest.raises((TypeError, ValueError), match=f"^asarray: {words}"):
        tl.asarray(arguments)


# --- NumPy's array interface ----------------------------------------------------------------------


ONLY = [Described, WithStructure]


@pytest.mark.parametrize("kind", ONLY)
def test_the_array_interface_shares_memory_keeps_it_and_says_who_may_write(kind):
    argument = VALUES.copy()
    described = kind(argument)
    watch = None if kind is WithStructure else weakref.ref(described)
    x = tl.asarray(described)[:1]
    del described
    x[0, 0] = 9
    assert argument[0, 0] == 9
    assert watch is None or watch() is not None
    assert np.shares_memory(np.asarray(tl.asarray(kind(argument), copy=False)), argument)
    argument.flags.writeable = False
    x = tl.asarray(kind(argument))
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    assert not tl.asarray(kind(argument), copy=True).readonly
    with pytest.raises(ValueError, match="copy=False"):
        tl.asarray(kind(argument.astype(">i2")), copy=False)


def test_the_array_interface_over_a_buffer():
    octets = bytearray(VALUES.tobytes())
    x = tl.asarray(Described(VALUES, data=octets))
    x[0, 0] = 7
    assert octets[0] == 7
    with pytest.raises(BufferError):
        octets.clear()
    part = tl.asarray(Described(VALUES, data=octets, offset=6, shape=(3,), strides=None))
    assert list_of(part) == [3, 4, 5]
    assert tl.asarray(Described(VALUES, data=bytes(octets))).readonly
    backwards = Described(VALUES, data=octets, offset=4, shape=(3,), strides=(-2,))
    assert list_of(tl.asarray(backwards)) == [2, 1, 7]


@pytest.mark.parametrize(
    "changes",
    [
        {"data": b"abc"},
        {"data": bytes(12), "offset": 1},
        {"data": bytes(12), "offset": -1},
        {"data": bytes(12), "strides": (6, -2)},
        {"data": bytes(12), "strides": (2**40, 2)},
        {"data": bytes(12), "offset": 2**64},
    ],
)
def test_elements_beyond_their_buffer_are_refused(changes):
    with pytest.raises(BufferError, match=r"^asarray: Described gives no array by __array_interf"):
        tl.asarray(Described(VALUES, **changes))


# Each key of an interface with what it cannot hold.
FAR = 2**63
BAD_KEYS = {
    "typestr": [
        *(LEFT_OUT, None, 3, b"<i2", "", "i2", "<i", "<i3", "<i16", "<f1", "<c4", "<b2", "<V2"),
        *("|O8", "<M8[s]", "|S2", "<U1", "|t1", "<i2,<i2", "2T", ",", "(2,)<i2", "<i2" * 10**5),
    ],
    "shape": [
        *(LEFT_OUT, None, 3, "ab", {2, 3}, (2.0, 3), ("2", 3), (None, 3), (2, True), (-2, 3)),
        *((2**64, 3), (2**63, 3), (FAR // 2, 3), (10**5000, 3), (1,) * 65),
    ],
    "strides": [
        *(3, "ab", (6,), (6, 2, 2), (6.0, 2), ("6", 2), (None, 2), (2**63, 2), (-(2**63), 2)),
        (-(2**70), 2),
        (2**62, 2**62),
        (-(2**62), -(2**62)),
        (10**5000, 2),
    ],
    "data": [
        (0, False),
        (-1, False),
        (-8, True),
        (2**64, False),
        (2**64 - 2, False),
        (2**63, False),
        (2**63 - 4, False),
        (2**63 + 4096, True),
        (10**5000, False),
        (None, False),
        ("0x10", False),
        (1.5, False),
        (True, False),
        *((64,), (), (64, False, 1), (64, None), (64, "no"), [64, False]),
    ],
    "version": [None, "3", 2.5, -1, 99, 10**5000],
    "descr": [3, [], [("", "<f4")], [("a", "<i1"), ("b", "<i1")], [("", "<i2", (2,))], ["<i2"]],
    "mask": [VALUES, 1],
}
CASES = [(key, number) for key, values in BAD_KEYS.items() for number in range(len(values))]


@pytest.mark.parametrize(("key", "number"), CASES)
def test_a_malformed_array_interface_is_refused_with_words(key, number):
    with pytest.raises(EXPECTED, match=r"^asarray: ") as refused:
        tl.asarray(Described(VALUES, **{key: BAD_KEYS[key][number]}))
    assert len(str(refused.value)) < 400


class OnCuda:
    """The same for CUDA's interface, over a tensor there."""

    def __init__(self, tensor, **changes):
        self.kept = tensor
        interface = {**tensor.__cuda_array_interface__, **changes}
        self.__cuda_array_interface__ = {k: v for k, v in interface.items() if v is not LEFT_OUT}


@pytest.fixture(scope="module")
def cuda_tensor():
    with simulator(1):
        yield tl.asarray(VALUES, device="cuda", copy=True)


CUDA_CASES = [
    *CASES,
    *(("data", value) for value in (LEFT_OUT, None, bytes(12), 64)),
    *(("stream", value) for value in (0, "a", 1.5, -1)),
    *(("shape", value) for value in ((2, 4), (7,), (300, 3))),
    *(("strides", value) for value in ((-6, 2), (2**20, 2))),
]


@needs_compiler
@pytest.mark.parametrize(("key", "value"), CUDA_CASES)
def test_a_malformed_cuda_array_interface_is_refused_with_words(cuda_tensor, key, value):
    argument = BAD_KEYS[key][value] if (key, value) in CASES else value
    with pytest.raises(EXPECTED, match=r"^asarray: ") as refused:
        tl.asarray(OnCuda(cuda_tensor, **{key: argument}))
    assert len(str(refused.value)) < 400


@needs_compiler
def test_a_cuda_array_interface_in_order(cuda_tensor):
    assert list_of(tl.asarray(OnCuda(cuda_tensor)).to_device("cpu")) == VALUES.tolist()
    odd = OnCuda(cuda_tensor, shape=(1, 6), strides=(2**62 + 1, 2))
    assert tl.asarray(odd).strides == (6, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("__array_interface__", value) for value in (None, 3, "abc", [], {}, object())),
        *(("__array_struct__", value) for value in (None, 3, "abc", [], np.arange(3))),
        *(("__array__", lambda *_, g=g, **__: g) for g in (3, [1], np.float64(1), np.array("a"))),
        ("__array__", None),
    ],
)
def test_protocols_that_give_no_array(name, value):
    with pytest.raises((TypeError, ValueError), match=r"^asarray: "):
        tl.asarray(type("Q", (), {name: value})())


class Counted:
    """A number that says how often it was asked."""

    asked = 0

    def __index__(self):
        Counted.asked += 1
        return 1


@pytest.mark.parametrize("key", ["shape", "strides"])
def test_the_rank_of_an_interface_is_looked_at_before_its_numbers(key):
    with pytest.raises(ValueError, match=rf"'{key}' must be at most 64 integers, got 100000$"):
        tl.asarray(Described(VALUES, **{key: (Counted(),) * 100_000}))
    assert Counted.asked == 0


class Structure(ctypes.Structure):
    """``PyArrayInterface``, written down a second time."""

    _fields_ = (
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("shape", "strides", "data", "descr")),
    )


class Made:
    """An object whose structure is written by hand."""

    def __init__(self, name=None, **changes):
        self.sizes = (ctypes.c_ssize_t * 4)(2, 3, 6, 2)
        sizes, address = ctypes.addressof(self.sizes), VALUES.ctypes.data
        self.kept = Structure(2, 2, b"i", 2, 0x701, sizes, sizes + 16, address, None)
        for field, value in changes.items():
            if field in ("sizes", "steps"):
                first = 0 if field == "sizes" else 2
                self.sizes[first : first + 2] = value
            else:
                setattr(self.kept, field, value)
        self.__array_struct__ = new_capsule(ctypes.addressof(self.kept), name, None)


def test_a_structure_written_by_hand():
    assert list_of(tl.asarray(Made())) == VALUES.tolist()
    assert tl.asarray(Made(sizes=(1, 3), steps=(2**62 + 1, 2))).strides == (3, 1)


@pytest.mark.parametrize(
    "changes",
    [
        *({"two": 3}, {"nd": -1}, {"nd": 65}, {"nd": 2**31 - 1}, {"typekind": b"V"}),
        *({"typekind": b"O", "itemsize": 8}, {"itemsize": 3}, {"itemsize": -2}, {"itemsize": 0}),
        *({"typekind": b"\xff"}, {"shape": None}, {"strides": None}, {"data": None}),
        *({"sizes": (-1, 3)}, {"sizes": (2**62, 2**62)}, {"steps": (2**62, 2**62)}),
        *({"steps": (-(2**62), -(2**62))}, {"data": 2**64 - 2}, {"name": b"other"}),
    ],
    ids=repr,
)
def test_a_malformed_array_structure_is_refused_with_words(changes):
    with pytest.raises(EXPECTED, match=r"^asarray: Made gives no array by __array_struct__: "):
        tl.asarray(Made(**changes))


# --- Which of several protocols counts ------------------------------------------------------------


PROTOCOLS = {
    "__dlpack__": lambda self, **_: np.asarray([1]).__dlpack__(**_),
    "__array_interface__": property(lambda self: self.kept[0].__array_interface__),
    "__array_struct__": property(lambda self: self.kept[1].__array_struct__),
    "__array__": lambda self: np.asarray([4]),
}


@pytest.mark.parametrize("first", range(4))
def test_the_first_protocol_counts(first):
    methods = dict(list(PROTOCOLS.items())[first:])
    methods["kept"] = np.asarray([2]), np.asarray([3])
    methods["__dlpack_device__"] = lambda self: (1, 0)
    methods["__len__"] = lambda self: 1
    methods["__getitem__"] = lambda self, _: 6
    x = tl.asarray(type("Some", (), methods)())
    assert list_of(x) == [first + 1]


# --- Objects that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyError, OSError, TypeError])
@pytest.mark.parametrize("name", [*PROTOCOLS, "__cuda_array_interface__"])
def test_properties_and_methods_that_raise(name, error):
    def fail(self, dtype=None, copy=None):
        raise error("odd" + "x" * 100_000)

    for failing in (property(fail), *[fail] * (name == "__array__")):
        kind = type("Failing", (), {name: failing})
        words = rf"^asarray: Failing gives no array by {name}: .*odd"
        with pytest.raises(EXPECTED, match=words) as refused:
            tl.asarray(kind())
        assert len(str(refused.value)) < 2000


def test_memory_that_cannot_be_had_is_a_memory_error():
    def fail(self, dtype=None, copy=None):
        raise MemoryError("none left")

    with pytest.raises(MemoryError, match="none left"):
        tl.asarray(type("Failing", (), {"__array__": fail})())


class Sequence:
    """A sequence of three items, as far as it says."""

    def __init__(self, length, item):
        self.length, self.item = length, item

    def __len__(self):
        return self.length

    def __getitem__(self, number):
        if number >= 3:
            raise IndexError
        return self.item(number)


@pytest.mark.parametrize(
    "arguments",
    [
        *(Sequence(length, lambda _: 1) for length in (-1, 2**70, 2)),
        *(Sequence(3, lambda _: "a"), [1, Sequence(3, lambda _: 1)], [Sequence(3, len)]),
        *(tl.Tensor, np.float32, type, iter([1, 2]), {1: 2}, lambda: 1, ...),
    ],
    ids=lambda arguments: type(arguments).__name__,
)
def test_what_is_no_sequence_of_numbers(arguments):
    with pytest.raises((*EXPECTED, MemoryError), match=r"^(asarray: |object of type 'int')"):
        tl.asarray(arguments)


def test_a_sequence_of_others_is_taken_as_far_as_it_goes():
    assert list_of(tl.asarray(Sequence(2**60, lambda _: 1))) == [1, 1, 1]
    assert list_of(tl.asarray(range(3))) == [0, 1, 2]


def test_a_list_that_holds_itself():
    arguments = []
    arguments.append(arguments)
    with pytest.raises(ValueError, match=r"^asarray: .*more than 64 levels"):
        tl.asarray(arguments)


@pytest.mark.parametrize("strides", [(2**62, 2), (-(2**62), 2), (2**63 - 1, 2)])
def test_strides_of_one_step_that_is_never_taken(strides):
    argument = np.lib.stride_tricks.as_strided(VALUES, (1, 3), strides)
    x = tl.asarray(argument)
    assert (x.strides, list_of(x)) == ((3, 1), [[0, 1, 2]])
    assert list_of(tl.to_layout(x, (0, 1)) + x) == [[0, 2, 4]]
    assert list_of(tl.asarray(tl.flip(x), copy=True)) == [[2, 1, 0]]
