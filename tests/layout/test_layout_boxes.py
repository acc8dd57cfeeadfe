"""Boxes of indices: together they hold each index once, each a strided run in every layout."""

import itertools

import layouts
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorlayout.layout import Layout, boxes, digits


def slots_in(box, layout):
    """The slots of a box, by its strides."""
    steps = zip(box.shape, box.strides_in(layout), strict=True)
    start = box.offset_in(layout)
    return [
        start + sum(at) for at in itertools.product(*([i * s for i in range(n)] for n, s in steps))
    ]


def indices_of(box):
    """The indices of a box, in the same order."""
    runs = []
    for first, steps in zip(box.first, box.steps, strict=True):
        digits = itertools.product(*([i * unit for i in range(n)] for n, unit in steps))
        runs.append([first + sum(at) for at in digits])
    return list(itertools.product(*runs))


@settings(max_examples=60)
@given(st.one_of(layouts.tiled(), layouts.tiled_anyhow(), layouts.strided()), st.data())
def test_boxes_hold_each_index_once(layout, data):
    ranges = []
    for n in layout.shape:
        start = data.draw(st.integers(0, n))
        ranges.append((start, data.draw(st.integers(start, n))))
    found = boxes.boxes(ranges, layout)
    seen = [index for box in found for index in indices_of(box)]
    assert sorted(seen) == list(itertools.product(*(range(a, b) for a, b in ranges)))
    for box in found:
        assert slots_in(box, layout) == [layouts.slot_of(layout, i) for i in indices_of(box)]


def test_whole_tiles_and_rests_are_few_boxes():
    layout = Layout.tiled((20, 300), [(8, 128)])
    found = boxes.boxes(boxes.whole(layout), layout, Layout.row_major((20, 300)))
    assert [(box.first, box.shape) for box in found] == [
        ((0, 0), (2, 8, 2, 128)),
        ((0, 256), (2, 8, 44)),
        ((16, 0), (4, 2, 128)),
        ((16, 256), (4, 44)),
    ]


def test_tiles_of_two_sizes():
    fine, coarse = (Layout.tiled((16,), [(n,)]) for n in (4, 8))
    assert digits.common_units([fine.parts[0], Layout.tiled((16, 2), [(8, 1)]).parts[0]]) == [8, 1]
    assert boxes.boxes([(0, 16)], fine, coarse) is not None
    six = Layout((16, 2), parts=[[(3, 12), (6, 1)], [(2, 6)]])
    assert boxes.boxes([(0, 16), (0, 2)], six, Layout.tiled((16, 2), [(4, 1)])) is None


@pytest.mark.parametrize(
    "layout", [x for x in layouts.TILED if x.is_padded and x.form is x], ids=str
)
def test_padding_ranges_hold_all_padding_once(layout):
    found = [
        slot
        for ranges in boxes.padding_ranges(layout)
        for box in boxes.boxes(ranges, layout)
        for slot in slots_in(box, layout)
    ]
    assert sorted(found) == sorted(layouts.padding_of(layout))
