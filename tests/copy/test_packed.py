"""Tensors packed below a byte, on every device, by an independent packer of Python integers."""

import pickle

import layouts
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensors import host

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.tensor import TensorSpec

pytestmark = pytest.mark.usefixtures("device")

DTYPES = {1: "uint1", 2: "int2", 4: "int4", 6: "float6_e2m3fn"}
GRAIN = {1: 8, 2: 4, 4: 2, 6: 4}  # slots that take whole bytes

# Every third layout, the others in `long` runs; of patterns of bits there are none below a byte.
NO_PATTERNS = [each for each in layouts.LAYOUTS if isinstance(each[1].padding_value, PaddingValue)]
LAYOUTS = [
    pytest.param(layout.at_origin, id=name, marks=[pytest.mark.long] * (number % 3 > 0))
    for number, (name, layout) in enumerate(NO_PATTERNS)
]
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_width = pytest.mark.parametrize("bits", DTYPES)


def as_int(octets):
    return int.from_bytes(bytes(octets), "little")


def taken(number, bits, slot):
    return number >> (bits * slot) & (2**bits - 1)


def put(number, bits, slot, value):
    mask = 2**bits - 1
    return number & ~(mask << (bits * slot)) | (int(value) & mask) << (bits * slot)


def read(number, bits, layout, first=0):
    """The elements of a layout whose slots are in an integer: an array of bytes."""
    slots = layouts.slots_of(layout)
    values = [taken(number, bits, first + slot) for slot in slots]
    return np.array(values, np.uint8).reshape(layout.shape)


def random_octets(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, count, np.uint8)


def over(octets, layout, bits, first=0):
    """A tensor over a copy of bytes, its lowest slot `first` slots on."""
    placed, device = layout.with_slot_bits(bits), tl.default_device()
    if device == "cpu":
        storage = bytearray(octets)
        return tl.from_storage(storage, placed.moved(first), dtype=DTYPES[bits]), storage
    from tensorlayout.cuda.engine.memory import moved_slots

    storage = tl.asarray(np.array(octets), device=device)
    spec = TensorSpec(tl.asarray(0, dtype=DTYPES[bits]).dtype, placed, device)
    return moved_slots(storage, spec, first), storage


def octets_of(storage):
    """The bytes of a storage as `over` gives it."""
    return bytes(storage) if isinstance(storage, bytearray) else host(storage).tobytes()


def memory(x):
    """The bytes of a tensor from its lowest slot on."""
    return plan.base.backend(x.device).read(x).tobytes()


def plain(values, layout, dtype):
    """A tensor of one byte an element in a layout, padding left as it comes."""
    octets = random_octets(layout.required_size, 9)
    octets[np.array(layouts.slots_of(layout), int)] = values.reshape(-1)
    x = tl.from_storage(octets, layout, dtype=dtype)
    device = tl.default_device()
    if device == "cpu":
        return x
    from tensorlayout.cuda.engine.memory import moved_slots

    return moved_slots(tl.asarray(octets, device=device), TensorSpec(x.dtype, layout, device), 0)


def bits_of(values):
    return np.asarray(values).view(np.uint8)


def padding_number(value, dtype):
    """What padding holds: the bits of its value; None for anything."""
    dtype = np.dtype(getattr(ml_dtypes, dtype))
    if value is PaddingValue.UNSPECIFIED:
        return None
    ends = (ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo)(dtype)
    number = {"ZERO": 0, "ONE": 1, "LOWEST": ends.min, "HIGHEST": ends.max}[value.name]
    return int(np.asarray(number).astype(dtype).view(np.uint8))


def orders_of(layout):
    yield Layout.row_major(layout.shape)
    yield Layout.packed(layout.shape, tuple(range(layout.ndim)))
    yield layout.form
    if 0 not in layout.shape:
        yield Layout.tiled(layout.shape, [(2,) * min(layout.ndim, 2)] if layout.ndim else [])


@every_width
@every_layout
def test_unpacked_into_any_layout(layout, bits):
    octets = random_octets(layout.with_slot_bits(bits).nbytes(1) + 5)
    for first in (0, GRAIN[bits]):
        x, _ = over(octets, layout, bits, first)
        expected = read(as_int(octets), bits, layout, first)
        for target in orders_of(layout):
            found = tl.to_layout(x, target, copy=True)
            assert found.layout is target
            np.testing.assert_array_equal(bits_of(host(found)), expected)


@every_width
@every_layout
def test_packed_from_any_layout(layout, bits):
    form = layout.form.with_slot_bits(bits)
    values = random_octets(layout.size, 1).reshape(layout.shape)  # high bits mean nothing
    for source in orders_of(layout):
        y = tl.to_layout(plain(values, source, DTYPES[bits]), form)
        assert y.layout is form
        check_memory(memory(y), form, bits, values)


def check_memory(octets, form, bits, values):
    assert len(octets) == -(-form.required_size * bits // 8)
    number, filled = as_int(octets), padding_number(form.padding_value, DTYPES[bits])
    expected = 0
    for slot, value in zip(layouts.slots_of(form), values.reshape(-1), strict=True):
        expected = put(expected, bits, slot, value)
    for slot in layouts.padding_of(form):
        held = taken(number, bits, slot) if filled is None else filled
        expected = put(expected, bits, slot, held)
    assert number == expected


# Rows that are runs in both, of whole tiles and not.
RUNS = {
    "whole tiles": ((16, 256), [(8, 128)]),
    "tails": ((19, 267), [(8, 128)]),
    "one row": ((1, 517), [(4, 64)]),
    "a tail of one": ((3, 5, 65), [(2, 16)]),
    "one dimension": ((301,), [(24,)]),
    "a row at a time": ((4, 2, 33), [(2, 2, 16)]),
    "short runs": ((9, 30), [(4, 8)]),
}


@every_width
@pytest.mark.parametrize(("shape", "tiles"), RUNS.values(), ids=RUNS)
def test_runs(shape, tiles, bits):
    rows = Layout.row_major(shape)
    tiled = Layout.tiled(shape, tiles, padding_value=PaddingValue.ONE)
    wide = Layout.padded(shape, [n + 3 for n in shape], padding_value=PaddingValue.ONE)
    for source, target in ((rows, tiled), (tiled, rows), (wide, tiled), (tiled, wide)):
        values = random_octets(rows.size, 2).reshape(shape)
        form = target.with_slot_bits(bits)
        check_memory(
            memory(tl.to_layout(plain(values, source, DTYPES[bits]), form)), form, bits, values
        )
        octets = random_octets(source.with_slot_bits(bits).nbytes(1) + 3, 3)
        for first in (0, GRAIN[bits]):  # also from the midst of a word
            x, _ = over(octets, source, bits, first)
            found = tl.to_layout(x, target, copy=True)
            expected = read(as_int(octets), bits, source, first)
            np.testing.assert_array_equal(bits_of(host(found)), expected)


@every_width
@every_layout
def test_packed_into_packed(layout, bits):
    octets = random_octets(layout.with_slot_bits(bits).nbytes(1) + 3)
    x, _ = over(octets, layout, bits)
    values = read(as_int(octets), bits, layout)
    for target in (layout.form, Layout.packed(layout.shape, range(layout.ndim))):
        y = tl.to_layout(x, target.with_slot_bits(bits), copy=True)
        check_memory(memory(y), y.layout, bits, values)
    check_memory(memory(x.copy()), layout.form.with_slot_bits(bits), bits, values)


@every_width
@every_layout
def test_assigned_into_packed_views_others_stay(layout, bits):
    if layout.is_overlapping:
        return
    octets = random_octets(layout.with_slot_bits(bits).nbytes(1) + 9)
    values = random_octets(layout.size, 2).reshape(layout.shape)
    for first in (0, GRAIN[bits]):
        for source in orders_of(layout):
            x, storage = over(octets, layout, bits, first)
            x[...] = plain(values, source, DTYPES[bits])
            expected = as_int(octets)
            for slot, value in zip(layouts.slots_of(layout), values.reshape(-1), strict=True):
                expected = put(expected, bits, first + slot, value)
            assert as_int(octets_of(storage)) == expected


@every_width
@pytest.mark.parametrize("tiles", [[], [(2, 4)]], ids=str)
def test_broadcast_into_packed(tiles, bits):
    values = random_octets(6, 7).reshape(3, 1, 2)
    small = tl.to_layout(
        plain(values, Layout.row_major((3, 1, 2)), DTYPES[bits]), Layout.tiled((3, 1, 2), tiles)
    )
    few = tl.to_layout(small, small.layout.with_slot_bits(bits))
    wide = np.broadcast_to(values & (2**bits - 1), (3, 5, 2))
    for x in (small, few):
        for layout in (Layout.row_major((3, 5, 2)), Layout.tiled((3, 5, 2), [(2, 3)])):
            y = tl.zeros((3, 5, 2), dtype=DTYPES[bits], layout=layout.with_slot_bits(bits))
            y[...] = x
            np.testing.assert_array_equal(bits_of(host(y)), wide)
        z = tl.zeros((3, 5, 2), dtype=DTYPES[bits])
        z[...] = x
        np.testing.assert_array_equal(bits_of(host(z)) & (2**bits - 1), wide)


@every_width
@every_layout
def test_a_number_in_all_elements(layout, bits):
    if layout.is_overlapping:
        return
    octets = random_octets(layout.with_slot_bits(bits).nbytes(1) + 9)
    x, storage = over(octets, layout, bits)
    x[...] = 1
    expected, one = as_int(octets), padding_number(PaddingValue.ONE, DTYPES[bits])
    found = as_int(octets_of(storage))
    for slot in layouts.slots_of(layout):
        expected = put(expected, bits, slot, one)
    if layout.padding_value is PaddingValue.UNSPECIFIED:  # which may hold anything
        for slot in layouts.padding_of(layout):
            expected = put(expected, bits, slot, taken(found, bits, slot))
    assert found == expected


@every_width
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (5, 300), (70001,)])
def test_sizes(shape, bits):
    values = random_octets(int(np.prod(shape)), 3).reshape(shape)
    x = plain(values, Layout.row_major(shape), DTYPES[bits])
    y = tl.to_layout(x, x.layout.with_slot_bits(bits))
    assert y.nbytes == y.layout.nbytes(1) == -(-values.size * bits // 8)
    check_memory(memory(y), y.layout, bits, values) if values.size < 9000 else None
    back = tl.to_layout(y, y.layout.with_slot_bits(None))
    np.testing.assert_array_equal(bits_of(host(back)), values & (2**bits - 1))


@every_width
@given(data=st.data())
@settings(max_examples=25)
def test_views_begin_whole_bytes(bits, data):
    shape = data.draw(layouts.shapes(3))
    layout = Layout.packed(shape, data.draw(layouts.orders(len(shape))))
    key = data.draw(layouts.keys(shape))
    octets = random_octets(layout.with_slot_bits(bits).nbytes(1), 4)
    x, storage = over(octets, layout, bits)
    values, slots = read(as_int(octets), bits, layout), layouts.slot_array(layout)
    part = slots[key]
    if part.size and int(np.min(part)) * bits % 8:
        with pytest.raises(ValueError, match=r"^__getitem__: a tensor of . bits a slot must begin"):
            x[key]
    else:
        found = x[key]
        assert found.layout.slot_bits == bits
        np.testing.assert_array_equal(bits_of(host(found)), values[key])
    x[key] = 0
    expected = as_int(octets)
    for slot in np.ravel(part).tolist():
        expected = put(expected, bits, slot, 0)
    assert as_int(octets_of(storage)) == expected


@pytest.fixture
def x():
    return tl.asarray([[1, -2, 3], [4, 5, -6]], dtype="int4", layout="{1,0:E(4)}")


def test_made_and_kept(x):
    assert str(x.layout) == "(2,3):(3,1) bits=4"
    assert memory(x) == bytes([0xE1, 0x43, 0xA5])
    for like in (x.copy(), tl.empty_like(x), tl.astype(x, tl.uint4), tl.astype(x, tl.int4)):
        assert like.layout is x.layout
    assert tl.permute_dims(x, (1, 0)).layout is Layout((3, 2), (1, 3), slot_bits=4)
    assert memory(tl.full((3,), -1, dtype=tl.int4, layout="{0:E(4)}")) == b"\xff\x0f"
    assert memory(tl.zeros_like(x)) == bytes(3)


def test_converted(x):
    y = tl.astype(x, tl.float32)
    assert y.layout is Layout.row_major((2, 3))
    np.testing.assert_array_equal(host(y), [[1, -2, 3], [4, 5, -6]])
    x[...] = y * 2
    f4 = tl.astype(x, tl.float4_e2m1fn)
    assert f4.layout is x.layout
    np.testing.assert_array_equal(host(tl.astype(f4, tl.float32)), [[2, -4, 6], [6, 6, -6]])
    assert tl.astype(y, tl.int4).layout is Layout.row_major((2, 3))


def test_all_else_goes_by_copies(x):
    y = tl.to_layout(x, x.layout.with_slot_bits(None))
    with tl.trace() as seen:
        equal = x == y
        chosen = tl.where(equal, x, x)
        picked = tl.take(x, tl.asarray([2, 0], device=x.device), axis=1)
        joined = tl.concat([x, x])
    assert host(equal).all()
    assert chosen.layout is x.layout
    assert memory(chosen) == memory(x)
    assert bits_of(host(picked)).tolist() == [[3, 1], [10, 4]]
    assert host(joined).shape == (4, 3)
    assert sum(record.kind == "relayout" for record in seen.records) == 1 + 3 + 1 + 2


def test_taken_elsewhere(x):
    assert memory(x.to_device("cpu")) == memory(x)
    again = pickle.loads(pickle.dumps(x))
    assert again.layout is x.layout
    assert memory(again) == memory(x)
    assert x.tolist() == [[1, -2, 3], [4, 5, -6]]
    assert "bits=4" in repr(x)
    assert "3 of elements" in x._repr_html_()
    large = tl.to_layout(tl.zeros((3, 1001), dtype=tl.int4), "{1,0:E(4)}")
    assert "[0, 0, 0, ..., 0, 0, 0]" in str(large)


def test_numpy_gets_a_copy(x):
    x = x.to_device("cpu")
    assert np.asarray(x).astype(int).tolist() == [[1, -2, 3], [4, 5, -6]]
    with pytest.raises(ValueError, match="NumPy has no elements below a byte"):
        np.asarray(x, copy=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tl.zeros(3, layout="{0:E(4)}"), r"zeros: slots of 4 bits hold no float64, .* 64"),
        (
            lambda: tl.to_layout(tl.zeros(3, dtype=tl.bool), "(3,):(1,) bits=1"),
            r"to_layout: slots of 1 bits hold no bool, which has 8; layout \(3,\):\(1,\) bits=1",
        ),
        (
            lambda: tl.from_storage(bytes(9), "(3,):(1,)+3 bits=4", dtype="int4"),
            "from_storage: a tensor of 4 bits a slot must begin with a whole byte, slot 3 begins",
        ),
        (
            lambda: tl.from_storage(bytes(1), "(3,):(1,) bits=4", dtype="int4"),
            r"from_storage: layout \(3,\):\(1,\) bits=4 of int4 requires 2 bytes",
        ),
        (
            lambda: tl.zeros(3, dtype=tl.int4, layout="{0:E(4)}")[1],
            r"__getitem__: .* slot 1 begins bit 4 of one; to_layout\(x, x.layout.with_slot_bits",
        ),
        (
            lambda: tl.zeros(4, dtype=tl.int4, layout="{0:E(4)}").view(tl.int8),
            "view: slots of 4 bits hold no int8",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def test_read_only_and_shared():
    storage = bytearray([0x21, 0x43])
    x = tl.from_storage(storage, "(2,2):(2,1) bits=4", dtype="int4")
    x[1] = 7
    assert storage == bytes([0x21, 0x77])
    assert x.T[0].layout.slot_bits == 4
    y = tl.from_storage(bytes(storage), "(2,2):(2,1) bits=4", dtype="int4")
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1


def test_padding_is_filled_in_storage():
    storage = bytearray(b"\xff" * 3)
    tl.from_storage(
        storage, "(2,2):(3,1) padded=(2,3) padding=ZERO bits=4", dtype="int4", fill_padding=True
    )
    assert storage == bytes([0xFF, 0xF0, 0x0F])
