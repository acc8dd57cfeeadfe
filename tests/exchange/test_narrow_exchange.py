"""Narrow types come in and go out: NumPy's arrays, numbers, buffers, pickles, DLPack, print.

What a byte is worth is asked of ml_dtypes, and what a capsule says is read field by field.
"""

import copy
import ctypes
import math
import pickle

import ml_dtypes
import numpy as np
import pytest
from tensors import elements
from test_dlpack import STRUCTURES, Exporter, address, opened

import tensorlayout as tl

# By name: the code and the bits of DLPack 1.1, and the bits of a value in a byte.
NARROW = {
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
    "int1": (0, 1),
    "int2": (0, 2),
    "int4": (0, 4),
    "uint1": (1, 1),
    "uint2": (1, 2),
    "uint4": (1, 4),
}
FLOATS = [name for name in NARROW if name.startswith("float")]
INTEGERS = [name for name in NARROW if "int" in name]
PARTS = [name for name, (_, bits) in NARROW.items() if bits < 8]  # of a byte
PADDED = 4  # a flag of DLPack 1.1
every_type = pytest.mark.parametrize("name", NARROW)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name))


def every_byte(name):
    """An array of each of the 256 bytes."""
    return np.arange(256, dtype=np.uint8).view(dtype_of(name))


def worth(name, byte):
    """The value of the low bits of a byte, as a Python number."""
    scalar = np.array(byte & (1 << NARROW[name][1]) - 1, np.uint8).view(dtype_of(name))[()]
    return int(scalar) if name in INTEGERS else float(scalar)


def octets(x):
    return np.asarray(x).view(np.uint8)


def same_number(one, other):
    if one != one or other != other:
        return one != one and other != other
    return (one, math.copysign(1, one)) == (other, math.copysign(1, other))


def packed(numbers, bits):
    """Numbers in as many bits each, the first in the lowest bits of the first byte."""
    whole = sum((n & (1 << bits) - 1) << bits * i for i, n in enumerate(numbers))
    return whole.to_bytes(-(-len(numbers) * bits // 8), "little")


def bytes_of(array):
    """An array of bytes whose memory is writable."""
    return np.frombuffer(bytearray(array), np.uint8)


# --- NumPy -----------------------------------------------------------------------------------


@every_type
def test_memory_is_shared_and_held(name):
    array = every_byte(name).copy()
    x = tl.asarray(array)
    assert address(x) == array.ctypes.data
    array.view(np.uint8)[3] = 0
    assert octets(x)[3] == 0
    with pytest.raises(ValueError, match="resize"):
        array.resize(3, refcheck=False)
    copied = tl.asarray(array.reshape(16, 16), copy=True, layout="WH")
    assert copied.strides == (1, 16)
    assert octets(copied).ravel().tolist() == octets(array).tolist()
    x[7:] = x[0]
    assert (array.view(np.uint8)[7:] == 0).all()
    array.flags.writeable = False
    assert tl.asarray(array).readonly
    assert tl.from_dlpack(tl.asarray(array[::-3])).strides == (-3,)


def test_scalars_in_lists():
    half, four = tl.asarray(0.5, dtype=tl.bfloat16), tl.asarray(0.5, dtype=tl.float4_e2m1fn)
    assert tl.asarray([[four, four]]).dtype == tl.asarray(np.asarray(four)[()]).dtype == four.dtype
    assert tl.asarray([half, 1]).dtype == tl.float64
    for other in (1, half):
        with pytest.raises(TypeError, match=r"^asarray: float4_e2m1fn and \w+ promote to no dtype"):
            tl.asarray([four, other])


@every_type
def test_numbers_of_python(name):
    x = tl.asarray(every_byte(name))
    expected = [worth(name, byte) for byte in range(256)]
    result = x.tolist()
    assert all(map(same_number, result, expected))
    kind = int if name in INTEGERS else float
    assert {type(value) for value in result} == {kind}
    for element, value in zip(x, expected, strict=True):
        assert same_number(element.item(), value)
        assert type(element.item()) is kind
        assert same_number(float(element), float(value))
        assert same_number(complex(element).real, float(value))
        assert bool(element) is (value != 0)
        if math.isfinite(value):
            assert int(element) == int(value)
            assert f"{element:.3f}" == f"{value:.3f}"
        else:
            with pytest.raises((ValueError, OverflowError), match="to an integer"):
                int(element)


@pytest.mark.parametrize(
    ("number", "name", "byte"),
    [
        (448.0, "float8_e4m3fn", 0x7E),
        (464.0, "float8_e4m3fn", 0x7E),  # the tie goes to the even 448
        (464.0000001, "float8_e4m3fn", 0x7F),
        (1.0625, "float8_e4m3fn", 0x38),  # a tie of 1 and 1.125, and what float32 holds not beside
        (1.0625 + 2**-40, "float8_e4m3fn", 0x39),
        (2**60 + 2**56, "float8_e8m0fnu", 0xBB),
        (2**60 + 2**59, "float8_e8m0fnu", 0xBC),  # a tie, which goes up
        (2**60 + 2**59 - 1, "float8_e8m0fnu", 0xBB),
        (0, "float8_e8m0fnu", 0x00),
        (-1, "float8_e8m0fnu", 0xFF),
        (1.5 * 2.0**-9 * (1 - 2**-40), "float8_e4m3fn", 0x01),  # beside a tie of 1 and 2 units
        (1.5 * 2.0**-9, "float8_e4m3fn", 0x02),
        (2**15 + 2**12, "float8_e5m2", 0x78),  # a tie
        (2**15 + 2**12 + 1, "float8_e5m2", 0x79),
        (2**16, "float8_e5m2", 0x7C),
        (10**30, "float8_e5m2", 0x7C),
        (10**30, "float6_e2m3fn", 0x1F),
        (-7, "float4_e2m1fn", 0xF),
        (math.nan, "float4_e2m1fn", 0x8),
        (-0.0, "float8_e5m2fnuz", 0x00),
        (True, "float6_e3m2fn", 0x0C),
        (7.9, "int4", 0x7),
        (-100.0, "int4", 0x8),
        (math.nan, "uint2", 0x0),
        (True, "uint1", 0x1),
    ],
)
def test_a_python_number_is_rounded_once(number, name, byte):
    bits, written = (1 << NARROW[name][1]) - 1, tl.zeros(1, dtype=name)
    written[0] = number
    result = tl.asarray(number, dtype=name), tl.asarray([[number]], dtype=name), written
    for x in (*result, tl.full(2, number, dtype=name)[1:]):
        assert int(octets(x).item()) & bits == byte


@pytest.mark.parametrize(
    ("number", "name"),
    [(8, "int4"), (-9, "int4"), (16, "uint4"), (-1, "uint1"), (1, "int1"), (2, "uint1"),
     (2**64, "uint2"), (-(2**70), "int2")],
)  # fmt: skip
def test_integers_that_do_not_fit(number, name):
    x = tl.zeros((2,), dtype=name)
    for call in (
        lambda: tl.asarray(number, dtype=name),
        lambda: tl.asarray([0, number], dtype=name),
        lambda: tl.full((2,), number, dtype=name),
        lambda: x.__setitem__(0, number),
    ):
        with pytest.raises(
            OverflowError, match=f"Python integer {number} out of bounds for {name}"
        ):
            call()
    if -128 < number < 2:
        with pytest.raises(OverflowError, match=f"{number} out of bounds for {name}"):
            tl.asarray([np.int16(number)], dtype=name)


def test_numpy_gets_another_dtype_by_our_rules():
    x = tl.asarray([448.0, -3.7, math.nan], dtype=tl.float8_e4m3fn)
    assert np.asarray(x, np.float32)[:2].tolist() == [448.0, -3.75]
    assert np.asarray(x, np.int8).tolist() == [127, -3, 0]
    assert np.asarray(x, np.bool_).tolist() == [True] * 3
    assert np.asarray(x, np.complex64)[1] == -3.75
    assert np.asarray(x[:2], object).tolist() == [448.0, -3.75]
    wide = tl.asarray([465.0, 100.0, math.nan])
    result = wide.__array__(dtype_of("float8_e4m3fn")).astype(float)
    assert np.isnan(result).tolist() == [True, False, True]
    assert wide.__array__(dtype_of("int4")).astype(int).tolist() == [7, 7, 0]
    assert tl.asarray([-1, 17]).__array__(dtype_of("uint4")).astype(int).tolist() == [15, 1]
    assert np.asarray(tl.asarray([-8], dtype=tl.int4), ml_dtypes.uint4).astype(int) == [8]
    with pytest.raises(TypeError, match="complex64 cannot become int4"):
        np.asarray(tl.ones(2, dtype=tl.complex64), dtype=dtype_of("int4"))
    with pytest.raises(ValueError, match=r"int4 cannot be seen as .*int8.* without a copy"):
        np.asarray(tl.zeros(2, dtype=tl.int4), np.int8, copy=False)


@every_type
def test_what_numpy_has_no_word_for_is_refused(name):
    x = tl.asarray(every_byte(name))
    assert not hasattr(x, "__array_interface__")
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(BufferError, match=f"__buffer__: not for {name} on the cpu"):
        x.__buffer__(0)
    with pytest.raises((TypeError, BufferError)):
        memoryview(x)


# --- pickles ---------------------------------------------------------------------------------


PACKED = {
    "row-major": "(3,5):(5,1)",
    "column-major": "(3,8):(1,3)",
    "flipped": "(4,6):(6,-1)+5",
    "padded": "(3,5):(8,1) padded=(4,8) padding=ONE",
    "tiled": "(3,5):(2*12+2*2,3*4+2*1) order=(1,0)",
    "gaps": "(2,3):(24,4)",
    "rank 0": "():()",
    "empty": "(0,3):(3,1)",
}


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("name", PARTS)
def test_packed_below_a_byte_to_numpy_to_pickles_and_in_print(name, kind):
    bits = NARROW[name][1]
    layout = tl.Layout.parse(f"{PACKED[kind]} bits={bits}")
    slots = np.arange(layout.required_size, dtype=np.uint8) * 7 + 3 & (1 << bits) - 1
    memory = bytes_of(packed(slots.tolist(), bits))
    x = tl.from_storage(memory, layout, dtype=name)
    expected = elements(layout, slots)
    array = np.asarray(x)
    assert (array.dtype, array.view(np.uint8).tolist()) == (dtype_of(name), expected.tolist())
    buffers = []
    beside = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert sum(buffer.raw().nbytes for buffer in buffers) == layout.form.nbytes(1)
    copies = (pickle.loads(pickle.dumps(x, 2)), pickle.loads(beside, buffers=buffers), copy.copy(x))
    for y in copies:
        assert (y.dtype, y.layout.form) == (x.dtype, x.layout.form)
        assert octets(y).tolist() == expected.tolist()
    unpacked = tl.to_layout(x, x.layout.form.with_slot_bits(None))
    assert str(x) == str(unpacked)
    assert f" bits={bits}'" in repr(x)
    assert x.tolist() == unpacked.tolist()
    if layout.size == 1:
        assert float(x) == float(unpacked)
        assert f"{x:.2f}" == f"{unpacked:.2f}"


# --- prints ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("byte", "name", "text"),
    [
        (0x7F, "float8_e4m3fn", "nan"),
        (0x80, "float8_e4m3fn", "-0.0"),
        (0x01, "float8_e4m3fn", "0.001953125"),
        (0xFC, "float8_e5m2", "-inf"),
        (0x00, "float8_e8m0fnu", "5.877472e-39"),
        (0x89, "float8_e8m0fnu", "1024.0"),
        (0xFF, "float6_e3m2fn", "-28.0"),
        (0xF1, "float4_e2m1fn", "0.5"),
        (0x02, "int2", "-2"),
        (0x0F, "uint4", "15"),
    ],
)
def test_a_number_prints(byte, name, text):
    x = tl.asarray(np.array(byte, np.uint8).view(dtype_of(name)))
    assert str(x) == f"{x}" == text
    assert repr(x) == f"Tensor({text}, dtype={name}, device='cpu')"
    assert f"first values</th><td>{text}</td>" in x._repr_html_()


def test_several_numbers_print():
    bytes_ = np.array([[0x38, 0x80], [0x7E, 0x7F]], np.uint8)
    x = tl.asarray(bytes_.view(ml_dtypes.float8_e4m3fn).T)
    assert repr(x) == (
        "Tensor([[  1., 448.],\n"
        "        [ -0.,  nan]], dtype=float8_e4m3fn, device='cpu', layout='F')"
    )
    assert str(tl.asarray([[1, -8], [7, 0]], dtype=tl.int4)) == "[[ 1, -8],\n [ 7,  0]]"
    large = tl.to_layout(tl.zeros((64, 64), dtype=tl.float4_e2m1fn), "{1,0:T(8,8)}")
    assert str(large).startswith("[[0., 0., 0., ..., 0., 0., 0.],\n")


# --- DLPack: what a capsule says -----------------------------------------------------------------


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 1), (1, 3), (2, 0)])
@every_type
def test_a_capsule_says_the_type_and_that_values_are_padded_to_bytes(name, version):
    x = tl.asarray(every_byte(name).reshape(16, 16)[::2, 1:].T)
    code, bits = NARROW[name]
    if bits < 8 and (version is None or version < (1, 1)):
        with pytest.raises(BufferError, match=r"max_version=\(1, 1\), or hand over x\.view\(uint8"):
            x.__dlpack__(max_version=version)
        return
    result = opened(x.__dlpack__(max_version=version))
    t = result.dl_tensor
    assert (t.code, t.bits, t.lanes, t.byte_offset) == (code, bits, 1, 0)
    assert (tuple(t.shape[:2]), tuple(t.strides[:2])) == ((15, 8), (1, 32))
    assert ctypes.c_uint8.from_address(t.data).value == 1
    if version is not None and version >= (1, 0):
        assert result.flags == (PADDED if bits < 8 else 0)
        assert tuple(result.version) <= version
    fixed = tl.from_storage(bytes(4), "(4,):(1,)", dtype=name)
    flags = [opened(fixed.__dlpack__(max_version=(1, 1), copy=c)).flags for c in (None, True)]
    assert flags == [1 | PADDED * (bits < 8), 2 | PADDED * (bits < 8)]


# --- DLPack: what comes in -----------------------------------------------------------------------


def exporter(array, name, capsule=b"dltensor_versioned", **fields):
    code, bits = NARROW[name]
    said = {"code": code, "bits": bits, **fields}
    if capsule == b"dltensor_versioned":
        said.setdefault("flags", PADDED * (bits < 8))
    return Exporter(array, capsule, **said)


# --- DLPack: packed below a byte -----------------------------------------------------------------


@pytest.mark.parametrize("take", [tl.from_dlpack, tl.asarray])
@pytest.mark.parametrize("capsule", STRUCTURES)
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize(
    ("shape", "strides"),
    [((3, 8), (8, 1)), ((8, 3), (1, 8)), ((3, 5), (5, 1)), ((2, 3), (16, 2)), ((3, 8), None),
     ((4, 2), (0, 1)), ((24,), (1,)), ((), ()), ((0, 3), (3, 1)), ((3, 1, 2), (2, 7, 1))],
    ids=str,
)  # fmt: skip
def test_packed_elements_come_in_as_they_lie(name, shape, strides, capsule, take):
    bits = NARROW[name][1]
    slots = [(7 * i + 3) & (1 << bits) - 1 for i in range(24)]
    memory = bytes_of(packed(slots, bits))
    said = {"ndim": len(shape), "shape": shape, "strides": strides}
    if capsule == b"dltensor_versioned":
        said["flags"] = 0
    x = take(exporter(memory, name, capsule, **said))
    steps = (8, 1) if strides is None else strides
    at = [sum(i * s for i, s in zip(index, steps, strict=True)) for index in np.ndindex(shape)]
    assert (x.dtype, x.shape, x.layout.slot_bits) == (getattr(tl, name), shape, bits)
    assert octets(x).ravel().tolist() == [slots[slot] for slot in at]
    assert x.readonly == (capsule == b"dltensor")
    if not x.readonly and 0 not in steps:
        x[...] = tl.asarray(np.array(1, np.uint8).view(dtype_of(name)))
        left = [1 if slot in at else number for slot, number in enumerate(slots)]
        assert memory.tobytes() == packed(left, bits)


def test_packed_elements_that_run_backwards():
    memory = bytes_of(packed(range(8), 4))
    array = memory[3:]  # the byte of elements 6 and 7
    argument = exporter(array, "uint4", flags=0, ndim=1, shape=(4,), strides=(-2,))
    x = tl.from_dlpack(argument)[:]
    assert (octets(x).tolist(), argument.deleted) == ([6, 4, 2, 0], [])
    del x
    assert len(argument.deleted) == 1
    argument = exporter(array, "uint4", flags=0, ndim=1, shape=(4,), strides=(-1,))
    with pytest.raises(BufferError, match="begins inside a byte"):
        tl.from_dlpack(argument)
    assert argument.deleted == []


@pytest.mark.parametrize(("name", "lanes"), [("float4_e2m1fn", 2), ("int2", 4), ("uint1", 8)])
def test_lanes_that_fill_a_byte_are_elements_of_the_last_dimension(name, lanes):
    bits = NARROW[name][1]
    slots = [i * 5 & (1 << bits) - 1 for i in range(6 * lanes)]
    memory = bytes_of(packed(slots, bits)).reshape(2, 3)
    said = {"lanes": lanes, "flags": 0}
    x = tl.from_dlpack(exporter(memory, name, **said))
    assert (x.shape, x.strides) == ((2, 3 * lanes), (3 * lanes, 1))
    assert octets(x).ravel().tolist() == slots
    cut = tl.from_dlpack(exporter(memory[:, 1:], name, **said))
    assert octets(cut).tolist() == np.reshape(slots, (2, -1))[:, lanes:].tolist()
    for odd in (memory.T, memory[:, ::2], memory[0, 0, ...]):
        with pytest.raises(BufferError, match="must follow each other along the last dimension"):
            tl.from_dlpack(exporter(odd, name, **said))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        *(
            ("float8_e4m3fn", {"flags": PADDED, **said})
            for said in ({"lanes": 2}, {"bits": 4}, {"bits": 16}, {"code": 18}, {"code": 200})
        ),
        *(("int4", {"flags": 0, "lanes": lanes}) for lanes in (0, 3, 4, 8)),
        ("int4", {"flags": PADDED, "lanes": 2}),
    ],
)
def test_what_is_none_of_the_types_is_refused(name, fields):
    argument = exporter(np.arange(6, dtype=np.uint8), name, **fields)
    with pytest.raises(BufferError, match="no dtype here"):
        tl.from_dlpack(argument)
    assert argument.deleted == []


@pytest.mark.parametrize("version", [None, (1, 0), (1, 1)])
@pytest.mark.parametrize("name", PARTS)
def test_packed_tensors_go_out_without_the_flag(name, version):
    code, bits = NARROW[name]
    slots = [(7 * i + 3) & (1 << bits) - 1 for i in range(24)]
    memory = bytes_of(packed(slots, bits))
    x = tl.from_storage(memory, f"(3,8):(8,1) bits={bits}", dtype=name)
    for view, strides in ((x, (8, 1)), (x.T, (1, 8)), (x[:, ::4], (8, 4))):
        result = opened(view.__dlpack__(max_version=version))
        t = result.dl_tensor
        assert (t.code, t.bits, t.lanes, t.data) == (code, bits, 1, memory.ctypes.data)
        assert tuple(t.strides[:2]) == strides
        assert getattr(result, "flags", 0) == 0
    copied = opened(x.__dlpack__(max_version=(1, 1), copy=True))
    assert copied.flags == 2
    assert ctypes.string_at(copied.dl_tensor.data, 3 * bits) == memory.tobytes()
    back = tl.from_dlpack(x.T)
    assert (back.layout, octets(back).tolist()) == (x.T.layout, octets(x.T).tolist())


def test_packed_tensors_that_begin_inside_a_byte_do_not_go_out():
    x = tl.from_storage(bytearray(packed(range(4), 4)), "(4,):(1,) bits=4", dtype=tl.uint4)
    assert octets(tl.from_dlpack(tl.flip(x)[1:])).tolist() == [2, 1, 0]
    with pytest.raises(BufferError, match=r"begins inside a byte; use x\.copy\(\)"):
        tl.flip(x).__dlpack__(max_version=(1, 1), copy=None)
    assert octets(tl.from_dlpack(tl.flip(x).copy())).tolist() == [3, 2, 1, 0]


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", ["float8_e5m2", "float6_e3m2fn", "int4"])
def test_every_device_exchanges_prints_and_pickles(name):
    bits = NARROW[name][1]
    array = (np.arange(48, dtype=np.uint8) & (1 << bits) - 1).view(dtype_of(name)).reshape(6, 8)
    x = tl.asarray(array, device=tl.default_device())
    for y in (x, tl.to_layout(x, f"{{1,0:E({bits})}}")) if bits < 8 else (x,):
        for view, expected in ((y.T, array.T), (y[::2, 4:], array[::2, 4:])):
            back = tl.from_dlpack(view)
            results = (back.device, back.dtype, back.layout)
            assert results == (x.device, x.dtype, view.layout.at_origin)
            again = pickle.loads(pickle.dumps(view))
            for host in (back.to_device("cpu"), again.to_device("cpu")):
                assert octets(host).tolist() == expected.view(np.uint8).tolist()
            assert str(view) == str(tl.asarray(expected))
        assert not hasattr(y, "__cuda_array_interface__")


# --- Other libraries -----------------------------------------------------------------------------

# What PyTorch 2.13 and JAX 0.10 know of a byte each; JAX of parts of one, too, but not by DLPack.
TORCH = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
EIGHTS = [name for name in FLOATS if name not in PARTS]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="optional: PyTorch")


@pytest.fixture
def jax():
    return pytest.importorskip("jax", reason="optional: JAX")


@pytest.mark.parametrize("name", TORCH)
def test_torch_shares_floats_of_8_bits_both_ways(torch, name):
    x = tl.asarray(every_byte(name).copy().reshape(16, 16))
    for view in (x, x.T, x[::2, 3:], x[:0], x[1, 1], tl.broadcast_to(x[0], (3, 16))):
        theirs = torch.from_dlpack(view)
        assert theirs.dtype == getattr(torch, name)
        assert theirs.view(torch.uint8).tolist() == octets(view).tolist()
        if view.size:
            assert theirs.data_ptr() == address(view)
        back = tl.from_dlpack(theirs)
        assert (back.dtype, back.strides) == (view.dtype, view.strides)
        assert octets(back).tolist() == octets(view).tolist()
    theirs = torch.from_dlpack(x)
    theirs.view(torch.uint8)[0, 0] = 77
    assert octets(x)[0, 0] == 77
    assert f"{float(theirs[3, 4])}" == f"{float(x[3, 4])}"


@pytest.mark.parametrize("name", [n for n in NARROW if n not in TORCH])
def test_what_torch_refuses_goes_as_bytes(torch, name):
    x = tl.asarray(every_byte(name).copy())
    with pytest.raises(BufferError, match=r"Unsupported code|x\.view\(uint8\)"):
        torch.from_dlpack(x)
    assert torch.from_dlpack(x.view(tl.uint8)).tolist() == list(range(256))
    assert tl.from_dlpack(torch.arange(256, dtype=torch.uint8)).view(name).dtype == x.dtype


@pytest.mark.parametrize("name", EIGHTS)
def test_jax_takes_and_gives_floats_of_8_bits(jax, name):
    x = tl.asarray(every_byte(name).copy().reshape(16, 16))
    theirs = jax.numpy.from_dlpack(x)
    assert theirs.dtype == dtype_of(name)
    assert octets(theirs).tolist() == octets(x).tolist()
    back = tl.from_dlpack(theirs)
    assert (back.dtype, back.readonly) == (x.dtype, True)
    assert octets(back).tolist() == octets(x).tolist()
    assert octets(tl.asarray(theirs)).tolist() == octets(x).tolist()


def test_torch_has_pairs_of_4_bits(torch):
    theirs = torch.arange(12, dtype=torch.uint8).reshape(3, 4).view(torch.float4_e2m1fn_x2)
    x = tl.from_dlpack(theirs)
    assert (x.dtype, x.layout) == (tl.float4_e2m1fn, tl.Layout.parse("(3,8):(8,1) bits=4"))
    expected = [[part for i in range(4) for part in (4 * row + i & 15, 0)] for row in range(3)]
    assert octets(x).tolist() == expected
    x[0, :2] = -6.0
    assert theirs.view(torch.uint8)[0].tolist() == [0xFF, 1, 2, 3]
    memory = torch.zeros(12, dtype=torch.uint8)  # and back: in memory of PyTorch's
    there = tl.from_storage(memory.numpy(), x.layout, dtype=x.dtype)
    there[...] = x
    pairs = memory.reshape(3, 4).view(torch.float4_e2m1fn_x2)
    assert pairs.view(torch.uint8).tolist() == theirs.view(torch.uint8).tolist()
    with pytest.raises(BufferError, match="lanes 1"):
        torch.from_dlpack(x)


def test_jax_packs_4_bits(jax):
    values = [[0.0, 0.5, -6.0], [1.5, -0.0, 4.0]]
    theirs = jax.numpy.asarray(values, dtype=jax.numpy.float4_e2m1fn)
    x = tl.from_dlpack(theirs)
    assert (x.dtype, str(x.layout)) == (tl.float4_e2m1fn, "(2,3):(3,1) bits=4")
    assert (x.tolist(), x.readonly) == (values, True)
    assert octets(x).tolist() == octets(theirs).tolist()
