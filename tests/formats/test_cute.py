"""Layouts in CuTe's notation: literal ones, its definition by brute force, and other libraries."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from layouts import LAYOUTS, every_layout, has_tails, indices, slot_array, slots_of

from tensorlayout import Layout, PaddingValue

# Each with the text of CuTe, and the slots that its definition gives by hand.
LITERAL = [
    ("(2,3):(3,1)", "(2,3):(3,1)", [[0, 1, 2], [3, 4, 5]]),
    ("(2,3):(1,2)", "(2,3):(1,2)", [[0, 2, 4], [1, 3, 5]]),
    ("(4,):(2,)", "(4):(2)", [0, 2, 4, 6]),
    ("():()", "():()", 0),
    ("(0,3):(3,1)", "(0,3):(3,1)", [[], [], []][:0]),
    ("(2,3):(0,1)", "(2,3):(0,1)", [[0, 1, 2], [0, 1, 2]]),
    # the mode's fastest digit is CuTe's first and our last
    ("(4,3):(2*6+2*1,2)", "((2,2),3):((1,6),2)", [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]),
    ("(8,):(2*1+2*2+2*4,)", "((2,2,2)):((4,2,1))", [0, 4, 2, 6, 1, 5, 3, 7]),
]


@pytest.mark.parametrize(("ours", "theirs", "slots"), LITERAL)
def test_literal_layouts(ours, theirs, slots):
    layout = Layout.parse(ours)
    assert str(layout.to_cute()) == theirs
    assert Layout.from_cute(theirs) is layout
    assert slot_array(layout).tolist() == slots


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("4:2", "(4,):(2,)"),
        ("(_4,_2):(_2,_1)", "(4,2):(2,1)"),
        ("(_1,2):(_-1,_1)", "(1,2):(-1,1)"),
        (" ( 2 , 3 ) : ( 3 , 1 ) ", "(2,3):(3,1)"),
        ("(4,):(1,)", "(4,):(1,)"),
        ("((4),2):((2),1)", "(4,2):(2,1)"),
        ("((2,(2,2)),3):((1,(2,12)),4)", "(8,3):(2*12+4*1,4)"),
        ("((),3):((),1)", "(1,3):(3,1)"),
        ("((0,2),3):((1,2),4)", "(0,3):(2,4)"),
        ("((2,0),3):((1,2),4)", "(0,3):(1,4)"),
    ],
)
def test_spellings(text, ours):
    result = Layout.from_cute(text)
    assert result.same_placement(Layout.parse(ours))


def test_tuples_and_lists():
    layout = Layout.parse("(4,3):(2*6+2*1,2)")
    assert Layout.from_cute((((2, 2), 3), ((1, 6), 2))) is layout
    assert Layout.from_cute([[[2, 2], 3], [[np.int64(1), 6], 2]]) is layout
    assert Layout.from_cute((4, 2)) is Layout((4,), (2,))
    assert Layout.from_cute((((2, 2), 3), ((1, 6), 2), 5)) is layout.moved(5)
    assert layout.to_cute() == (((2, 2), 3), ((1, 6), 2), 0)


def test_offsets_stand_beside():
    flipped = Layout.row_major((2, 3)).flip((1,))
    assert flipped.to_cute() == ((2, 3), (3, -1), 2)
    assert str(flipped.to_cute()) == "(2,3):(3,-1)"
    assert Layout.from_cute(flipped.to_cute()) is flipped
    assert Layout.from_cute("(2,3):(3,-1)", offset=2) is flipped
    assert Layout.from_cute(flipped.to_cute(), offset=4) is flipped.moved(4)
    with pytest.raises(ValueError, match="slot"):
        Layout.from_cute("(2,3):(3,-1)")


def test_padding_is_said_or_refused():
    rows = Layout.padded((2, 3), (2, 5), padding_value=PaddingValue.ZERO)
    with pytest.raises(ValueError, match=r"to_cute: dimension 1 has 5 slots .*padded=True"):
        rows.to_cute()
    assert str(rows.to_cute(padded=False)) == "(2,3):(5,1)"
    assert str(rows.to_cute(padded=True)) == "(2,5):(5,1)"
    assert Layout.from_cute("(2,5):(5,1)", (2, 3), padding_value="ZERO") is rows
    tiles = Layout.tiled((3, 5), [(2, 2)], padding_value="ONE")
    with pytest.raises(ValueError, match="ends inside a tile"):
        tiles.to_cute(padded=False)
    assert str(tiles.to_cute(padded=True)) == "((2,2),(2,3)):((2,12),(1,4))"
    assert Layout.from_cute(tiles.to_cute(padded=True), (3, 5), padding_value="ONE") is tiles


@pytest.mark.parametrize(
    ("text", "shape"),
    [("3:8", (2,)), ("(4,5):(8,1)", (3, 5)), ("(4,5):(0,1)", (3, 5)), ("3:8", None)],
)
def test_gaps_hold_no_value(text, shape):
    assert not Layout.from_cute(text, shape).is_padded
    with pytest.raises(ValueError, match=r"^from_cute: the modes are no block .*'ZERO'"):
        Layout.from_cute(text, shape, padding_value="ZERO")


def test_tiles_of_a_parent_are_no_padding():
    """Slots 5 and 7 are elements of the parent: no mode may reach them."""
    block = Layout((4, 2), parts=[[(2, 1), (2, 2)], [(2, 4)]])
    view = block.slice((slice(0, 3), slice(None)))
    assert slots_of(view) == [0, 4, 2, 6, 1, 5]
    for padded in (None, False, True):
        with pytest.raises(ValueError, match=r"^to_cute: dimension 0 of size 3 ends inside .* own"):
            view.to_cute(padded=padded)
    assert view.slice((slice(0, 2), slice(None))).to_cute() == ((2, 2), (2, 4), 0)


def cute_slots(cute, shape):
    """CuTe's definition: a natural coordinate by colexicographic order, inner product, offset."""

    def slot(index, size, stride):
        if isinstance(size, int):
            return index * stride
        result = 0
        for inner, step in zip(size, stride, strict=True):
            count = extent(inner)
            result += slot(index % count, inner, step)
            index //= count
        return result

    def extent(size):
        return size if isinstance(size, int) else math.prod(map(extent, size))

    modes = list(zip(cute.shape, cute.stride, strict=True))
    return [
        cute.offset + sum(slot(i, *mode) for i, mode in zip(index, modes, strict=True))
        for index in indices(shape)
    ]


def ends_in_a_tile(layout):
    """Return True if a tile continues past the last slot that the layout owns."""
    return has_tails(layout) and not layout.is_padded


@every_layout
def test_every_element_has_its_slot_there_and_back(layout):
    if not has_tails(layout):
        assert cute_slots(layout.to_cute(padded=False), layout.shape) == slots_of(layout)
    if ends_in_a_tile(layout):
        return
    cute = layout.to_cute(padded=True)
    assert cute_slots(cute, layout.shape) == slots_of(layout)
    said = {"minor_to_major": layout.minor_to_major, "padding_value": layout.padding_value}
    back = Layout.from_cute(cute, layout.shape, **said).with_slot_bits(layout.slot_bits)
    assert back.same_placement(layout)
    assert back.padded_shape == layout.padded_shape
    by_text = Layout.from_cute(str(cute), layout.shape, offset=layout.offset, **said)
    assert by_text is back.with_slot_bits(None)


class Unknown:
    """A number that is known only as a kernel runs, as CuTe's DSL refuses to tell one."""

    def __index__(self):
        raise NotImplementedError("staged")


READ = "must have the form shape:stride"
STATIC = "^from_cute: shape and stride must be static"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("",), ValueError, READ),
        (("(2,3):",), ValueError, READ),
        (("(2,3):(3,1):(1,1)",), ValueError, READ),
        (("(2,,3):(3,1,1)",), ValueError, READ),
        (("(2,3)):(3,1)",), ValueError, READ),
        (("2,3:3,1",), ValueError, READ),
        (("(2" + "0" * 50 + ",3):(3,1)",), ValueError, r"2\*\*63"),
        (("(2" + "0" * 5000 + ",3):(3,1)",), ValueError, READ),
        (("(2-1,3):(3,1)",), ValueError, READ),
        (("(2_,3):(3,1)",), ValueError, READ),
        (("(" * 5000 + ":1",), ValueError, READ),
        (("(?,3):(3,1)",), ValueError, "not known yet"),
        (("Sw<3,4,3> o _0 o (8,8):(8,1)",), ValueError, "swizzles"),
        (("(2,3):(1@0,1@1)",), ValueError, "several bases"),
        (("(2,3):3",), ValueError, "nested as shape is"),
        (("((2,2),3):(1,2)",), ValueError, "nested as shape is"),
        (("(2,-3):(3,1)",), ValueError, "sizes must not be negative"),
        ((f"{'(' * 100}2{')' * 100}:{'(' * 100}1{')' * 100}",), ValueError, "levels"),
        ((((2, -3), (3, 1)),), ValueError, "sizes must not be negative"),
        ((((2,) * 70, (1,) * 70),), ValueError, "at most 64"),
        (("(4,5):(5,1)", (3,)), ValueError, "shape"),
        (("(4,5):(5,1)", (5, 5)), ValueError, "shape"),
        (("(4,5):(5,1)", (3, -1)), ValueError, "shape"),
        ((SimpleNamespace(shape=(Unknown(), 3), stride=(3, 1)),), ValueError, STATIC),
        ((((2, 3), (Unknown(), 1)),), ValueError, STATIC),
        ((None,), TypeError, "from_cute: "),
        ((((2, 3.5), (3, 1)),), TypeError, "from_cute: "),
        ((("ab", "cd"),), TypeError, "from_cute: "),
        (((1,),), TypeError, "from_cute: "),
    ],
)
def test_what_is_no_layout(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        Layout.from_cute(*arguments)
    assert len(str(caught.value)) < 600


def test_modes_that_hold_one_mode_many_times_over():
    """2**40 modes in 40 tuples, and a list that holds itself: refused before they are counted."""
    many, endless = 1, []
    for _ in range(40):
        many = (many, many)
    endless.append(endless)
    for wrong in (many, ((1,) * 10**6), endless):
        with pytest.raises(ValueError, match=r"^from_cute: at most 64 levels .* 8192 in all"):
            Layout.from_cute((wrong, wrong))
    whole = Layout((1,) * 64, parts=[[(1, 1)] + [(1, 1)] * 63] * 64)
    assert Layout.from_cute((((1,) * 64,) * 64, ((1,) * 64,) * 64)) is whole


@pytest.fixture(scope="module")
def tensor_layouts():
    return pytest.importorskip("tensor_layouts", reason="optional: tensor-layouts")


@every_layout
def test_layouts_as_tensor_layouts_has_them(tensor_layouts, layout):
    if ends_in_a_tile(layout):
        return
    cute = layout.to_cute(padded=True)
    there = tensor_layouts.Layout(cute.shape, cute.stride)
    for index, slot in zip(indices(layout.shape), slots_of(layout), strict=True):
        assert cute.offset + there(*index) == slot
    back = Layout.from_cute(there, layout.shape, offset=cute.offset)
    assert back.same_placement(layout.with_slot_bits(None))
    assert Layout.from_cute(str(there), layout.shape, offset=cute.offset) is back


def test_swizzles_of_tensor_layouts_are_refused(tensor_layouts):
    plain = tensor_layouts.Layout((4, 4), (4, 1))
    with pytest.raises(TypeError, match="no swizzle"):
        Layout.from_cute(tensor_layouts.compose(tensor_layouts.Swizzle(2, 0, 2), plain))


def test_layouts_as_cutlass_has_them():
    cute = pytest.importorskip("cutlass.cute", reason="optional: nvidia-cutlass-dsl")
    known = [x for _, x in LAYOUTS if 0 < x.ndim < 6 and x.size and not ends_in_a_tile(x)]
    compared = []

    @cute.jit
    def compare():
        for layout in known:
            modes = layout.to_cute(padded=True)
            there = cute.make_layout(modes.shape, stride=modes.stride)
            results = [modes.offset + there(index) for index in indices(layout.shape)]
            back = Layout.from_cute(there, layout.shape, offset=modes.offset)
            compared.append((layout, results, back, str(there)))

    compare()
    assert len(compared) == len(known)
    for layout, result, back, text in compared:
        assert result == slots_of(layout)
        assert back.same_placement(layout)
        assert Layout.from_cute(text, layout.shape, offset=layout.offset) is back
