"""A layout is a value: equal fields are one object, for as long as somebody holds it."""

import copy
import gc
import pickle
import sys
import weakref

import pytest
from layouts import LAYOUTS, every_layout

from tensorlayout.layout import BitPattern, Layout, PaddingValue

V = PaddingValue


@every_layout
def test_copies_and_pickles_are_the_same_object(layout):
    assert copy.copy(layout) is copy.deepcopy(layout) is layout
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(layout, protocol)) is layout


def test_equality_and_hash_are_those_of_the_object():
    result = [layout for _, layout in LAYOUTS]
    assert len({*result, *result}) == len(set(map(id, result)))
    assert Layout((2, 3), (3, 1)) == Layout.row_major([2, 3])
    assert Layout((1, 3), (7, 1)) != Layout((1, 3), (3, 1))


def test_each_field_makes_a_difference():
    base = Layout.padded((1, 3), (1, 5), None, V.ZERO)
    others = [
        Layout.padded((1, 2), (1, 5), None, V.ZERO),
        Layout((1, 3), (9, 1), padded_shape=(1, 5), padding_value=V.ZERO),
        base.moved(1),
        Layout.padded((1, 3), (1, 5), (0, 1), V.ZERO),
        Layout.padded((1, 3), (1, 4), None, V.ZERO),
        *(Layout.padded((1, 3), (1, 5), None, v) for v in V if v is not V.ZERO),
        Layout.padded((1, 3), (1, 5), None, BitPattern(0, "float32")),
        Layout.padded((1, 3), (1, 5), None, BitPattern(0x80000000, "float32")),
        Layout.padded((1, 3), (1, 5), None, BitPattern(0, "int32")),
    ]
    assert len({base, *others}) == len(others) + 1


def test_true_is_stored_as_1():
    assert repr(Layout((True, 3), offset=False)) == "Layout.parse('(1,3):(3,1)')"


@pytest.mark.parametrize("ask", ["form", "at_origin", "strides", "covers_block", "is_overlapping"])
def test_a_layout_goes_with_its_last_holder(ask):
    gc.disable()
    try:
        for make in (lambda: Layout((91, 93)), lambda: Layout((91, 93), (200, 1), offset=5)):
            layout = make()
            getattr(layout, ask)
            seen = weakref.ref(layout)
            del layout
            assert seen() is None
    finally:
        gc.enable()


def _make_slices(count):
    base = Layout.row_major((count, 3))
    for i in range(count):
        base.slice(i)


def test_slices_leave_nothing_behind():
    _make_slices(10)
    gc.collect()
    before = sys.getallocatedblocks()
    _make_slices(5_000)
    gc.collect()
    assert sys.getallocatedblocks() - before < 500
