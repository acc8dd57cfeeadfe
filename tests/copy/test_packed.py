"""Tensors packed below a byte: runs of many elements, literal bytes, conversions and errors.

Copies, reads and writes in every layout: `ops/indexing_cases.py`.
"""

import numpy as np
import pytest
from indexing_cases import ONE_OF_EACH_WIDTH, held
from narrow_values import bits_of
from tensors import as_dtype, asarray, host, same
from test_errors import sessions

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.layout import Layout, PaddingValue

pytestmark = pytest.mark.usefixtures("device")

DTYPES = {bits_of(name): name for name in ONE_OF_EACH_WIDTH}
every_width = pytest.mark.parametrize("bits", DTYPES)


def memory(x):
    """The bytes of a tensor from its lowest slot on."""
    return plan.base.backend_of(x.device).read_bytes(x).tobytes()


# Rows that are runs in both, of whole tiles and not.
RUNS = {
    "flat": ((70001,), []),
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
    values = np.random.default_rng(2).integers(0, 2**bits, shape, np.uint8)
    for source, target in ((rows, tiled), (tiled, rows), (wide, tiled), (tiled, wide)):
        x = tl.to_layout(asarray(values.view(as_dtype(DTYPES[bits]))), source)
        few = tl.to_layout(x, target.with_slot_bits(bits))
        assert few.layout.slot_bits == bits
        same(held(few), values)
        same(held(tl.to_layout(few, source)), values)


@every_width
def test_other_slots_of_the_last_byte_stay(bits):
    values = np.random.default_rng(3).integers(0, 2**bits, (2, 99), np.uint8)
    y = asarray(values[1].view(as_dtype(DTYPES[bits])))
    for count in (1, 2, 3, 5, 33, 70):
        x = tl.to_layout(
            asarray(values[0].view(as_dtype(DTYPES[bits]))), Layout((99,), slot_bits=bits)
        )
        x[:count] = y[:count]
        same(held(x), np.concatenate([values[1, :count], values[0, count:]]))


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
    assert host(picked).view(np.uint8).tolist() == [[3, 1], [10, 4]]
    assert host(joined).shape == (4, 3)
    assert sum(record.kind == "relayout" for record in seen.records) == 1 + 3 + 1 + 2


def test_in_print(x):
    assert "3 of elements" in x._repr_html_()
    large = tl.to_layout(tl.zeros((3, 1001), dtype=tl.int4), "{1,0:E(4)}")
    assert "[0, 0, 0, ..., 0, 0, 0]" in str(large)


def test_numpy_gets_no_view(x):
    with pytest.raises(ValueError, match="NumPy has no elements below a byte"):
        np.asarray(x.to_device("cpu"), copy=False)


REFUSED = """
zeros(3, layout="{0:E(4)}")  # zeros: slots of 4 bits hold no float64, .* 64
to_layout(zeros(3, dtype=bool), "(3,):(1,) bits=1")
    to_layout: slots of 1 bits hold no bool, which has 8; layout .* bits=1
from_storage(bytes(9), "(3,):(1,)+3 bits=4", dtype="int4")
    from_storage: a tensor of 4 bits a slot must begin with a whole byte, slot 3 begins
from_storage(bytes(1), "(3,):(1,) bits=4", dtype="int4")
    from_storage: layout .* bits=4 of int4 requires 2 bytes
zeros(3, dtype=int4, layout="{0:E(4)}")[1]
    __getitem__: .* slot 1 begins bit 4 of one; to_layout.x, x.layout.with_slot_bits
zeros(4, dtype=int4, layout="{0:E(4)}").view(int8)  # view: slots of 4 bits hold no int8
"""


@pytest.mark.parametrize(("call", "message"), [*sessions(REFUSED)])
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        eval(call, {name: getattr(tl, name) for name in tl.__all__})


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
