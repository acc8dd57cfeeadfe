"""Raw XLA memory as tensors and back: all types, orders, tiles, paddings; what is shared."""

import math
import re
from functools import partial

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layouts import LAYOUTS
from simulated import needs_compiler, simulator
from tensors import tensor_in
from xla_facts import FACTS
from xla_shapes import tiles

import tensorlayout as tl
from tensorlayout import xla
from tensorlayout.xla import PrimitiveType, Shape, XlaLayout, from_buffer, parse_shape, to_buffer

ARRAYS = [kind for kind in PrimitiveType if kind.is_array]
EXAMPLES = [e for e in FACTS["tiling"]["examples"] if e["linear_index"] is not None]


def same(x, expected):
    array = np.asarray(x)
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    assert array.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("f32[2,3]{1,0}", tl.Layout.row_major((2, 3))),
        ("f32[2,3]{0,1}", tl.Layout.column_major((2, 3))),
        ("f32[5,9]{1,0:T(8,128)}", tl.Layout.padded((5, 9), (8, 128))),
        ("f32[2,3]{1,0:L(8)S(5)}", tl.Layout.row_major((2, 3))),
        ("f32[0,3]{1,0:T(2,2)}", tl.Layout.row_major((0, 3))),
        ("f8e4m3fn[2,3]{0,1}", tl.Layout.column_major((2, 3))),
        ("s4[2,3]{0,1}", tl.Layout.column_major((2, 3))),
    ],
)
def test_strided_memory_is_shared(text, layout):
    memory = bytearray(xla.shape_util.physical_byte_size(parse_shape(text)))
    x = from_buffer(memory, text)
    assert x.layout is layout
    if x.size:
        x[...] = 1
        assert np.frombuffer(memory, np.asarray(x).dtype).astype(int).sum() == x.size
        view = np.asarray(x)
        assert np.shares_memory(view, np.frombuffer(memory, np.uint8))


def test_without_a_layout_memory_is_row_major():
    x = from_buffer(bytes(24), Shape.array(PrimitiveType.F32, (2, 3)))
    assert x.layout is tl.Layout.row_major((2, 3))


def test_shared_memory_is_not_indexed():
    with tl.trace() as seen:
        from_buffer(bytes(60), "f32[3,5]{0,1}")
    assert len(seen) == 0


def test_errors_name_the_shape_that_was_given():
    """Shapes with another prefix are equal; they are no memory that can be read."""
    for text in ("f32[7]{0:M(8)}", "f32[7]{0}"):
        with pytest.raises(ValueError, match=re.escape(text)):
            from_buffer(b"", text)


def test_packed_memory_is_shared():
    memory = bytearray(b"\x21\x43\x05")
    x = from_buffer(memory, "s4[5]{0:E(4)}")
    assert x.dtype == tl.int4
    assert x.layout is tl.Layout((5,), slot_bits=4)
    x[2:] = -1
    assert memory == b"\x21\xff\x0f"
    y = from_buffer(memory + b"\0", "u2[2,5]{0,1:T(4,2)E(2)}")
    assert (y.dtype, str(y.layout)) == (tl.uint2, "(2,5):(1,2) padded=(2,8) bits=2")


def test_tiled_and_packed_memory_is_gathered():
    memory = bytes([0x21, 0x43, 0x65, 0x87])  # 1 to 8, in two tiles of 2 by 2
    x = from_buffer(memory, "u4[2,4]{1,0:T(2,2)E(4)}")
    assert x.layout is tl.Layout.row_major((2, 4))
    assert np.asarray(x).astype(int).tolist() == [[1, 2, 5, 6], [3, 4, 7, 8]]
    over = tl.from_storage(memory, xla.layout_of("u4[2,4]{1,0:T(2,2)E(4)}"), dtype="uint4")
    assert np.asarray(over).astype(int).tolist() == [[1, 2, 5, 6], [3, 4, 7, 8]]


def test_tiled_memory_is_gathered_in_the_order_of_the_shape():
    memory = bytearray(96)
    x = from_buffer(memory, "f32[3,5]{0,1:T(2,2)}")
    assert x.layout is tl.Layout.column_major((3, 5))
    x[...] = 1
    assert not any(memory)


def test_arrays_of_any_shape_and_dtype_are_memory():
    memory = np.arange(6, dtype=np.float32).reshape(3, 2)
    same(from_buffer(memory, "f32[6]"), memory.ravel())
    same(from_buffer(memory.view(np.uint16), "f32[6]"), memory.ravel())


def test_the_device_and_who_may_write():
    assert from_buffer(bytes(8), "f32[2]", device="cpu").device == "cpu"
    assert from_buffer(bytes(8), "f32[2]").readonly
    with pytest.raises(ValueError, match="no-such-device"):
        from_buffer(bytes(8), "f32[2]", device="no-such-device")


@needs_compiler
def test_buffers_of_the_simulated_device():
    """The seed page's memory, and a tiled one, moved to the device and back."""
    with simulator():
        x = from_buffer(b"adbecf", "u8[2,3]{0,1}", device="cuda:1")
        assert x.device == "cuda:1"
        assert x.layout is tl.Layout.column_major((2, 3))
        assert to_buffer(x, "u8[2,3]{1,0}") == b"abcdef"
        old = xla.PaddedLayout2017((0, 1), (3, 5), xla.PaddingValue2017.ZERO_PAD)
        padded = tl.to_layout(x, old.layout_of((2, 3)))
        assert to_buffer(padded, "u8[2,3]{0,1:T(5,3)}") == b"ad\0be\0cf" + bytes(7)
        memory = np.arange(24, dtype=np.float32)
        tiled = from_buffer(memory, "f32[3,5]{1,0:T(2,2)}", device="cuda")
        same(tiled.to_device("cpu"), memory[np.asarray(EXAMPLES[2]["linear_index"])])


@pytest.mark.parametrize(
    ("text", "values", "memory"),
    [
        ("s4[3]{0:E(4)}", [1, -2, 3], b"\xe1\x03"),
        ("u2[5]{0:E(2)}", [1, 2, 3, 0, 1], b"\x39\x01"),
        ("u1[9]{0:E(1)}", [1, 0, 0, 0, 0, 0, 1, 1, 1], b"\xc1\x01"),
        ("s4[2]{0:E(8)}", [-8, 7], b"\xf8\x07"),
        ("s4[1,3]{1,0:T(2,4)E(4)}", [[1, 2, 3]], b"\x21\x03\x00\x00"),
    ],
)
def test_packed_integers_begin_at_the_little_end(text, values, memory):
    signed = text[0] == "s"
    x = tl.asarray(values, dtype=tl.int8 if signed else tl.uint8)
    assert to_buffer(x, text) == memory
    y = from_buffer(memory, text)
    assert y.dtype == f"{'' if signed else 'u'}int{text[1]}"
    same(tl.astype(y, x.dtype), np.asarray(x))
    assert to_buffer(y, text) == memory


def test_high_bits_of_an_unpacked_nibble_do_not_count():
    for text, values in (("s4[2]", [1, -1]), ("u4[2]", [1, 15])):
        x = from_buffer(b"\xf1\x1f", text)
        same(tl.astype(x, tl.int16), np.asarray(values, np.int16))
        assert to_buffer(x, text) == b"\xf1\x1f"


def test_small_floats_are_rounded_to_the_nearest():
    x = tl.asarray([1.0, 1.06, 500.0, float("nan"), -0.0], dtype=tl.float32)
    memory = to_buffer(x, "f8e5m2[5]")
    back = np.asarray(tl.astype(from_buffer(memory, "f8e5m2[5]"), tl.float32))
    np.testing.assert_array_equal(back, np.asarray([1, 1, 512, np.nan, -0.0], np.float32))
    assert np.signbit(back[4])


@st.composite
def filled(draw):
    """An array shape with everything that a buffer may have, and values for it."""
    kind = draw(st.sampled_from(ARRAYS))
    sizes = draw(st.lists(st.integers(0, 6), max_size=4))
    assume(math.prod(sizes) <= 300)
    packs = kind.is_sub_byte and draw(st.booleans())
    layout = XlaLayout(
        minor_to_major=draw(st.permutations(range(len(sizes)))),
        tiles=draw(st.lists(tiles(), max_size=2)),
        tail_padding_alignment=draw(st.sampled_from([1, 3, 16])),
        element_size_in_bits=kind.bit_width if packs else 0,
        memory_space=draw(st.sampled_from([0, 1])),
    )
    seed = draw(st.integers(0, 2**32 - 1))
    octets = np.random.default_rng(seed).integers(0, 256, math.prod(sizes) * kind.byte_width)
    values = octets.astype(np.uint8)
    if kind is PrimitiveType.PRED:
        values &= 1
    if kind.is_sub_byte:
        values &= np.uint8(2**kind.bit_width - 1)
    return Shape.array(kind, sizes, layout), values.view(kind.dtype).reshape(sizes)


@settings(max_examples=100)
@given(filled())
def test_each_element_is_written_at_its_position_and_read_from_there(case):
    shape, values = case
    kind, bits = shape.element_type, xla.shape_util.element_size_in_bits(shape)
    written = to_buffer(tl.asarray(values), shape)
    assert len(written) == xla.shape_util.physical_byte_size(shape)
    x = from_buffer(written, str(shape))
    same(x, values)
    assert to_buffer(x, shape) == written
    memory = np.frombuffer(written, np.uint8)
    if bits % 8:
        stream, count = int.from_bytes(memory, "little"), xla.shape_util.physical_size(shape)
        numbers = [stream >> (bits * i) & (2**bits - 1) for i in range(count)]
        memory = np.asarray(numbers, np.uint8)
    slots = memory.view(kind.dtype)
    seen = np.zeros(slots.size, bool)
    for index in np.ndindex(*values.shape):
        at = xla.layout_util.linear_index_for_nested_tiling(shape, index)
        seen[at] = True
        assert slots[at].tobytes() == values[index].tobytes()
    assert not slots[~seen].view(np.uint8).any()


def read(text):
    return from_buffer(bytes(96), text)


def write(values, text, **options):
    return to_buffer(tl.asarray(values), text, **options)


ZEROS, UNSIGNED = np.zeros((3, 5), np.float32), np.asarray([4], np.uint8)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: read("(f32[2])"), ValueError, "must be an array of known sizes"),
        (lambda: read("f32[?]"), ValueError, "must be an array of known sizes"),
        (lambda: read("f32[2]{0:M(8)}"), ValueError, "a dynamic shape has metadata"),
        (lambda: read("f32[2]{0:E(16)}"), ValueError, "f32 does not take 16 bits"),
        (lambda: read("s4[2]{0:E(2)}"), ValueError, "s4 does not take 2 bits"),
        (lambda: read("f32[2,3]{1,0:T(2,*)}"), ValueError, "the last no star"),
        (lambda: read("f32[25]"), ValueError, r"f32\[25\]\{0\} takes 100 bytes, the buffer has 96"),
        (lambda: read("f32[9223372036854775807]"), ValueError, r"2\*\*63 bytes or more"),
        (lambda: read(3), TypeError, "must be a Shape or its text, got 3"),
        (lambda: from_buffer([1, 2, 3], "f32[2]"), TypeError, "buffer protocol"),
        (lambda: from_buffer(ZEROS[:, :2], "f32[2]"), ValueError, "one run of bytes"),
        (lambda: write(ZEROS, "f32[5,3]"), ValueError, r"got \(3, 5\)"),
        (lambda: write(ZEROS, "f64[3,5]"), TypeError, "x must be float64 for .* got float32"),
        (lambda: write(ZEROS, "s4[3,5]"), TypeError, "x must be int4 or int8 for .* got float32"),
        (lambda: write(UNSIGNED, "f8e5m2[1]"), TypeError, "x must be float8_e5m2 or float32 for"),
        (lambda: write(np.asarray([8], np.int8), "s4[1]"), ValueError, "s4 holds -8 to 7, got 8"),
        (lambda: write(UNSIGNED, "u2[1]"), ValueError, "u2 holds 0 to 3, got 4"),
        (lambda: to_buffer(np.zeros(2, ">f4"), "f32[2]"), TypeError, "to_buffer: "),
        (lambda: write(ZEROS, "f32[3,5]", out=bytes(60)), ValueError, "got 60 bytes, read-only"),
        (lambda: write(ZEROS, "f32[3,5]", out=bytearray(59)), ValueError, "60 writable bytes"),
        (lambda: write(ZEROS, "f32[3,5]", out=ZEROS.T), ValueError, "out must be one run of bytes"),
        (lambda: write(ZEROS, "f32[3,5]", out=3), TypeError, "out must have the buffer protocol"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_tiles_may_make_more_dimensions_than_arrays_have():
    """Tiles of ones move nothing."""
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    plain, long = (f"f32[2,3,4]{{2,1,0:T(*,2,3){'(1,1,1,1,1,1,1,1)' * n}}}" for n in (0, 9))
    assert write(cube, long) == write(cube, plain)
    same(from_buffer(write(cube, plain), long), cube)
    with pytest.raises(ValueError, match="at most 64 dimensions are allowed, got 65"):
        read(f"f32[{'1,' * 64}1]")


@pytest.mark.parametrize("tile", [10**14, 2**63 - 1])
def test_more_bytes_than_there_are(tile):
    text = f"f32[1]{{0:T({tile})}}"
    with pytest.raises(MemoryError, match=f"takes {4 * tile} bytes, which cannot be allocated"):
        to_buffer(tl.ones((1,), dtype=tl.float32), text)
    with pytest.raises(ValueError, match=f"takes {4 * tile} bytes, the buffer has 4"):
        from_buffer(bytes(4), text)


@pytest.mark.parametrize(
    "text",
    [
        "f32[3,5]{1,0}",
        "f32[3,5]{0,1:T(2,2)}",
        "f32[3,5]{1,0:T(2,2)L(32)}",
        "f32[3,5]{1,0:T(*,2,2)(2,1)}",
        "s4[3,5]{1,0:T(2,2)E(4)}",
        "s4[3]{0:E(4)}",
        "f32[0,5]{1,0:T(2,2)}",
    ],
)
def test_out(text):
    shape = parse_shape(text)
    values = np.arange(math.prod(shape.dimensions)).reshape(shape.dimensions) % 8
    x = tl.asarray(values.astype(shape.element_type.dtype))
    expected = to_buffer(x, text)
    for out in (bytearray(b"?" * 200), np.full((25, 8), 7, np.uint8)):
        assert to_buffer(x, text, out=out) is out
        assert bytes(out)[: len(expected)] == expected
        assert set(bytes(out)[len(expected) :]) in ({ord("?")}, {7})  # the rest is left alone


@pytest.mark.parametrize(("name", "layout"), LAYOUTS, ids=[name for name, _ in LAYOUTS])
def test_tensors_in_any_layout_are_written_alike(name, layout):
    """Views, padded, column-major and tiled tensors: the elements count, not where they were."""
    x, values = tensor_in(layout, np.arange(500, dtype=np.float32))
    xla_layout = XlaLayout(minor_to_major=range(len(layout.shape)), tiles=[(2, 3)])
    shape = Shape.array(PrimitiveType.F32, layout.shape, xla_layout)
    assert to_buffer(x, shape) == to_buffer(tl.asarray(values.copy()), shape)


@settings(max_examples=50)
@given(filled())
def test_padding_may_hold_anything(case):
    """Memory of noise is read; what is written of that has the same elements, and zeros."""
    shape, values = case
    size = xla.shape_util.physical_byte_size(shape)
    noise = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    if shape.element_type in (PrimitiveType.PRED, PrimitiveType.C64, PrimitiveType.C128):
        noise &= 1
    x = from_buffer(noise.tobytes(), shape)
    assert x.shape == values.shape
    again = from_buffer(to_buffer(x, shape), shape)
    # The bits: noise holds NaNs of all kinds, of which some warn when they are compared.
    assert np.asarray(again).tobytes() == np.asarray(x).tobytes()


def test_memory_is_read_and_written_anew_each_time():
    memory = np.arange(24, dtype=np.float32)
    for text in ("f32[3,5]{1,0:T(2,2)}", "f32[2,3,4]", "f32[2,3,4]{2,1,0:T(*,2,4)}"):
        before = np.asarray(from_buffer(memory, text)).copy()
        memory += 1
        x = from_buffer(memory, text)
        same(x, before + 1)
        assert to_buffer(x * 2.0, text) != to_buffer(x, text)


@pytest.mark.parametrize("first", ["f32[2]{0}", "f32[2]{0:M(8)}"])
def test_a_metadata_prefix_is_seen_whoever_came_first(first):
    """Shapes are equal with and without it."""
    for text in (first, "f32[2]{0}", "f32[2]{0:M(8)}"):
        shape = parse_shape(text)
        if "M" in text:
            with pytest.raises(ValueError, match="a dynamic shape has metadata"):
                from_buffer(bytes(8), shape)
        else:
            assert from_buffer(bytes(8), shape).shape == (2,)


def test_shapes_that_are_no_keys():
    plain = XlaLayout(minor_to_major=(0,))
    for odd in (plain.replace(metadata_prefix_bytes=[]), plain.replace(metadata_prefix_bytes=0)):
        shape = Shape.array(PrimitiveType.F32, (2,), odd)
        assert from_buffer(bytes(8), shape).shape == (2,)
    shape = Shape.array(PrimitiveType.F32, (2,), plain.replace(physical_shape=[]))
    for call in (xla.layout_of, partial(from_buffer, bytes(8))):
        with pytest.raises(ValueError, match="physical_shape belongs to sparse arrays"):
            call(shape)


def test_texts_are_taken_by_their_letters():
    class Sly(str):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return hash("f32[2]{0}")

    assert str(parse_shape("f32[2]{0}")) == "f32[2]{0}"
    assert str(parse_shape(Sly("s8[3]{0}"))) == "s8[3]{0}"
    assert parse_shape("f32[2]", default_layout=[]).layout is None
    listed = xla.parse_shapes("{f32[2]}")
    listed.clear()
    assert len(xla.parse_shapes("{f32[2]}")) == 1


@pytest.fixture
def jax():
    return pytest.importorskip("jax", reason="optional: JAX")


# jax hands out arrays of one byte an element; in compiled programs they are ``E(4)`` and ``E(2)``.
TYPES = {"s4": "int4", "u4": "uint4", "s2": "int2", "u2": "uint2", "f4e2m1fn": "float4_e2m1fn"}


@pytest.mark.parametrize("text", TYPES)
def test_bits_of_bytes_are_elements_in_this_order(jax, text):
    dtype = np.dtype(getattr(ml_dtypes, TYPES[text]))
    bits = xla.PrimitiveType[text.upper()].bit_width
    octets = np.random.default_rng(0).integers(0, 256, 40, np.uint8)
    cast = jax.jit(lambda x: jax.lax.bitcast_convert_type(x, dtype))
    theirs = np.asarray(cast(octets)).reshape(-1)
    ours = xla.from_buffer(octets, f"{text}[{theirs.size}]{{0:E({bits})}}")
    np.testing.assert_array_equal(np.asarray(ours).astype(float), theirs.astype(float))
    back = jax.jit(lambda x: jax.lax.bitcast_convert_type(x, np.uint8))
    again = np.asarray(back(theirs.reshape(40, -1)))
    assert again.tobytes() == octets.tobytes()
    assert xla.to_buffer(ours, f"{text}[{theirs.size}]{{0:E({bits})}}") == again.tobytes()


def test_layouts_of_compiled_programs_are_read(jax):
    program = jax.jit(lambda x: x.T).lower(np.zeros((3, 5), ml_dtypes.int4)).compile()
    shape = xla.parse_hlo(program.as_text()).parameter_shapes[0]
    assert xla.layout_of(shape) is tl.Layout((3, 5), slot_bits=4)
