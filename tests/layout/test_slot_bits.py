"""Slots of fewer bits than a byte: a field of layouts that all kin keep."""

import copy
import pickle

import pytest

from tensorlayout.layout import Layout, PaddingValue, coalesce

ROWS = Layout.row_major((3, 5)).with_slot_bits(4)
TILES = Layout.tiled((3, 5), [(2, 2)], slot_bits=4, padding_value="ZERO")


@pytest.mark.parametrize(
    "layout", [ROWS, TILES, Layout((), slot_bits=1), Layout((0,), slot_bits=6)]
)
def test_text_and_copies_are_the_same_object(layout):
    assert Layout.parse(str(layout)) is layout
    assert Layout.parse(repr(layout)) is layout
    assert pickle.loads(pickle.dumps(layout)) is layout
    assert copy.deepcopy(layout) is layout


def test_text():
    assert str(ROWS) == "(3,5):(5,1) bits=4"
    assert str(TILES) == "(3,5):(2*12+2*2,3*4+2*1) padding=ZERO bits=4"
    assert ROWS is not Layout.row_major((3, 5))
    assert ROWS.with_slot_bits(None) is Layout.row_major((3, 5))


def test_text_of_xla():
    assert Layout.parse("[3,5]{1,0:E(4)}") is ROWS
    assert Layout.parse("[3,5]{1,0:T(2,2)E(4)}").with_padding_value("ZERO") is TILES
    assert Layout.parse("[0,5]{0,1:T(2,2)E(2)}") is Layout.packed((0, 5), (0, 1)).with_slot_bits(2)


@pytest.mark.parametrize(
    ("bits", "slots", "octets"),
    [(1, 0, 0), (1, 9, 2), (2, 5, 2), (4, 1, 1), (4, 3, 2), (6, 4, 3), (6, 5, 4), (None, 5, 10)],
)
def test_bytes_are_rounded_up(bits, slots, octets):
    assert Layout((slots,), slot_bits=bits).nbytes(2) == octets


@pytest.mark.parametrize("layout", [ROWS, TILES])
def test_kin_keep_the_bits_and_the_slots(layout):
    def kin(given):
        yield given.form
        yield given.moved(8)
        yield given.moved(8).at_origin
        yield given.permute((1, 0))
        yield given.slice((slice(2), slice(None)))
        yield given.slice(1)
        yield given.expand_dims(1)
        yield given.expand_dims(1).squeeze((1,))
        yield given.slice(0).broadcast_to((2, 5))
        yield given.reshape((1, 3, 5))
        yield given.with_padding_value(PaddingValue.ONE)
        yield from () if given.is_tiled else coalesce(given)

    for one, plain in zip(kin(layout), kin(layout.with_slot_bits(None)), strict=True):
        assert one.slot_bits == 4
        assert one is plain.with_slot_bits(4)
        assert one.parts == plain.parts


def test_placement_is_another():
    assert not ROWS.same_placement(ROWS.with_slot_bits(None))
    assert ROWS.same_placement(Layout((3, 5), (5, 1), slot_bits=4))
    assert [layout.is_strided for layout in (ROWS, TILES, ROWS.with_slot_bits(None))] == [
        False,
        False,
        True,
    ]
    assert not TILES.with_slot_bits(None).is_strided
