"""The text form: written, read, and refused; slots of fewer bits than a byte."""

import copy
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import LAYOUTS, every_layout, layouts

from tensorlayout.layout import BitPattern, Layout, PaddingValue, coalesce


@every_layout
def test_parse_and_eval_read_what_was_written(layout):
    assert Layout.parse(str(layout)) is layout
    assert Layout.parse(repr(layout)) is layout
    assert eval(repr(layout), {"Layout": Layout}) is layout
    loose = re.sub(r"([,():+])", r" \1 ", str(layout)).replace(" padding", "\t\n  padding")
    assert Layout.parse(f"  {layout}\n") is layout
    if "0x" not in loose:
        assert Layout.parse(loose.replace("= (", "=(")) is layout


ONE = BitPattern(0x3F800000, "float32")


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (Layout.row_major(()), "():()"),
        (Layout.row_major((3,)), "(3,):(1,)"),
        (Layout.row_major((2, 3)), "(2,3):(3,1)"),
        (Layout.column_major((2, 3)), "(2,3):(1,2)"),
        (Layout.padded((2, 3), (2, 5), None, "ZERO"), "(2,3):(5,1) padded=(2,5) padding=ZERO"),
        (Layout((2, 3), (0, 1), offset=4), "(2,3):(0,1)+4"),
        (Layout((2, 3), (-3, -1), offset=5), "(2,3):(-3,-1)+5"),
        (Layout((3, 5), parts=[((2, 12), (2, 2)), ((3, 4), (2, 1))]), "(3,5):(2*12+2*2,3*4+2*1)"),
        (Layout.packed((1, 3), (0, 1)), "(1,3):(1,1) order=(0,1)"),
        (Layout.padded((2,), (3,), None, ONE), "(2,):(1,) padded=(3,) padding=0x3f800000:float32"),
        (Layout((3,), parts=[((2, 3), (2, 1))]).slice(None).moved(2), "(1,3):(1,2*3+2*1)+2"),
    ],
)
def test_text_forms(layout, text):
    assert str(layout) == text
    assert repr(layout) == f"Layout.parse('{text}')"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must have the form"),
        ("(2,3)", "must have the form"),
        ("2,3:3,1", "must have the form"),
        ("(2,3):(3,1))", "must have the form"),
        ("(2,3):(3,1)-1", "must have the form"),
        ("(-2,3):(3,1)", "must have the form"),
        ("(2,3):(5,1) padding=ZERO padded=(2,5)", "must have the form"),
        ("(2,3):(3,1) extra", "must have the form"),
        ("{1,0:T(2,2)}", "needs the sizes in front of an order and tiles"),
        ("Layout.parse('(2,3):(3,1)'", "must have the form"),
        ("(٢,3):(3,1)", "must have the form"),
        ("(2,3):(3,)", "has 2 sizes but 1 strides"),
        ("(2,,3):(3,1)", "empty place between commas"),
        ("(2,3):(3,-)", "where an integer belongs"),
        ("(4,3):(2*6+3,1)", "where extent*stride belongs"),
        ("(4,3):(2*6+2*,1)", "where an integer belongs"),
        ("(2,):(1,)+" + "9" * 5000, "where an integer belongs"),
        ("(2,3):(5,1) padded=(2,5) padding=null", "padding must be one of ZERO, ONE"),
        ("(2,3):(5,1) padded=(2,5) padding=0x1", "padding must be one of ZERO, ONE"),
        ("(2,3):(5,1) padded=(2,5) padding=0xfg:float32", "padding must be one of ZERO"),
    ],
)
def test_other_texts_are_refused(text, complaint):
    with pytest.raises(ValueError, match=f"layout text: .*{re.escape(complaint)}.*, got") as caught:
        Layout.parse(text)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("thing", [None, 5, b"(2,):(1,)", (2, 3), Layout.row_major((2,))])
def test_what_is_no_text_is_refused(thing):
    with pytest.raises(TypeError, match="layout text: must be a str, got"):
        Layout.parse(thing)


TEXTS = st.one_of(st.sampled_from([str(layout) for _, layout in LAYOUTS]), layouts(most=1).map(str))
BITS = st.sampled_from([*"(),:+-*=0123456789x ", "padded=", "order=", "padding=", "ZERO", "é", "²"])


ARGUMENTS = ["layout text", "shape", "strides", "parts", "offset", "minor_to_major", "padded_shape"]


@settings(max_examples=100)
@given(TEXTS, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 3), BITS), max_size=3))
def test_mutated_texts_give_a_layout_or_a_value_error(text, changes):
    for at, cut, new in changes:
        text = text[:at] + new + text[at + cut :]
    try:
        layout = Layout.parse(text)
    except ValueError as error:
        complaint = str(error)
    else:
        assert Layout.parse(str(layout)) is layout
        return
    assert complaint.split(":")[0] in ARGUMENTS


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
    def kin(arguments):
        yield arguments.form
        yield arguments.moved(8)
        yield arguments.moved(8).at_origin
        yield arguments.permute((1, 0))
        yield arguments.slice((slice(2), slice(None)))
        yield arguments.slice(1)
        yield arguments.expand_dims(1)
        yield arguments.expand_dims(1).squeeze((1,))
        yield arguments.slice(0).broadcast_to((2, 5))
        yield arguments.reshape((1, 3, 5))
        yield arguments.with_padding_value(PaddingValue.ONE)
        yield from () if arguments.is_tiled else coalesce(arguments)

    for one, plain in zip(kin(layout), kin(layout.with_slot_bits(None)), strict=True):
        assert one.slot_bits == 4
        assert one is plain.with_slot_bits(4)
        assert one.parts == plain.parts


def test_placement_is_another():
    assert not ROWS.same_placement(ROWS.with_slot_bits(None))
    assert ROWS.same_placement(Layout((3, 5), (5, 1), slot_bits=4))
    strided = [layout.is_strided for layout in (ROWS, TILES, ROWS.with_slot_bits(None))]
    assert strided == [False, False, True]
    assert not TILES.with_slot_bits(None).is_strided
