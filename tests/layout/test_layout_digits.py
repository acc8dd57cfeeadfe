"""Loops over tiled layouts and boxes of indices: each index once, tails masked; by brute force."""

import itertools
from itertools import product

import layouts
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tensorlayout.layout import Layout, boxes
from tensorlayout.layout.digits import (
    Bound,
    TiledLoop,
    make_tiled_loop,
    sizes_to_write,
    split_off_tails,
)
from tensorlayout.layout.loop import Axis
from tensorlayout.layout.slots import part_units


def visited(loop):
    """For each place of the walk where it is in each memory, and the index of each bound."""
    results = []
    for at in product(*[range(axis.size) for axis in loop.axes]):
        slots, inside = list(loop.firsts), [bound.first for bound in loop.bounds]
        for d, (k, axis) in enumerate(zip(at, loop.axes, strict=True)):
            slots = [s + k * step for s, step in zip(slots, axis.strides, strict=True)]
            inside = [i + k * moves[d] for i, moves in zip(inside, loop.weights, strict=True)]
        results.append((tuple(slots), tuple(inside)))
    return results


def masked(loop, written=False):
    """The slots of the places that are inside."""
    limits = [bound.written if written else bound.size for bound in loop.bounds]
    return sorted(
        slots
        for slots, at in visited(loop)
        if all(0 <= i < n for i, n in zip(at, limits, strict=True))
    )


def loop_over(given_, written=None):
    ones = (1,) * len(given_)
    return make_tiled_loop(given_, ones, ones, given_[0].shape if written is None else written)


def any_layout():
    return st.one_of(layouts.tiled(), layouts.tiled(), layouts.tiled_anyhow(), layouts.packed())


@settings(max_examples=60)
@given(any_layout(), st.data())
def test_masked_digits_are_the_elements(first, data):
    assume(first.size)
    others = [Layout.packed(first.shape, data.draw(layouts.orders(first.ndim))), None]
    given_ = [first, *data.draw(st.permutations(others))[: data.draw(st.integers(0, 2))]]
    loop = loop_over(given_)
    assert loop is not None  # one layout's units divide each other, and all have 1
    rows = [0 if layout is None else layout for layout in given_]
    expected = sorted(
        tuple(layout and layouts.slot_of(layout, index) for layout in rows)
        for index in layouts.indices(first.shape)
    )
    assert masked(loop) == expected
    assert min(axis.strides[0] for axis in loop.axes) >= 0


@settings(max_examples=40)
@given(st.one_of(layouts.tiled(), layouts.padded(least=1)))
def test_written_sizes_hold_the_padding_of_tiles(layout):
    written = sizes_to_write(layout, b"x")
    if not layout.is_tiled:
        assert written == layout.shape
        return
    loop = loop_over([layout], written)
    if loop is not None:
        block = sorted({*layouts.slots_of(layout), *layouts.padding_of(layout)})
        assert masked(loop, written=True) == [(slot,) for slot in block]
        assert masked(loop) == [(slot,) for slot in sorted(layouts.slots_of(layout))]


@settings(max_examples=40)
@given(layouts.tiled(), st.sampled_from((1, 2, 4)))
def test_packs_are_inside_as_a_whole(layout, width):
    loop = make_tiled_loop([layout], [width], [32], layout.shape)
    pack = loop.max_pack_size(16)
    assert loop.axes[-1].size % pack == 0
    places = visited(loop)
    limits = [bound.size for bound in loop.bounds]
    for start in range(0, len(places), pack):
        part = places[start : start + pack]
        kept = {all(i < n for i, n in zip(at, limits, strict=True)) for _, at in part}
        assert len(kept) == 1
        ((begin,), _), first = part[0], loop.firsts[0]
        assert pack == 1 or [slot - begin for (slot,), _ in part] == list(range(pack))
        assert (first + (begin - first) * width) % (pack * width) == 0
    packs = loop.loop_over_packs(pack, (0,))
    assert [at for _, at in visited(packs)] == [at for _, at in places[::pack]]


@settings(max_examples=40)
@given(layouts.tiled(), st.data())
def test_pieces_without_tails_hold_all_elements(layout, data):
    other = Layout.packed(layout.shape, data.draw(layouts.orders(layout.ndim)))
    results = []
    for pieces in split_off_tails((layout, other)):
        loop = loop_over(pieces)
        assert loop.bounds == ()
        results += masked(loop)
    pairs = zip(layouts.slots_of(layout), layouts.slots_of(other), strict=True)
    assert sorted(results) == sorted(pairs)


def test_tiles_with_a_tail():
    tiled = Layout.tiled((5, 6), [(4, 2)])
    loop = make_tiled_loop((Layout.row_major((5, 6)), tiled), (4, 4), (32, 32), (5, 6))
    # Rows in tiles of 4: the tile, then the row inside; columns in tiles of 2.
    axes = (Axis(2, (24, 24)), Axis(4, (6, 2)), Axis(3, (2, 8)), Axis(2, (1, 1)))
    bounds, weights = (Bound(0, 5, 5),), ((4, 1, 0, 0),)
    assert loop == TiledLoop(axes, (4, 4), (0, 0), (32, 32), 0, bounds, weights)
    assert (loop.max_pack_size(16), loop.index_upper_bound) == (2, 7)


def test_tiles_that_do_not_divide_each_other():
    eight, twelve = (Layout.tiled((24, 2), [(n, 1)]) for n in (8, 12))
    assert loop_over([eight, twelve]) is None
    assert boxes.nested_units_of_dim([eight.parts[0], twelve.parts[0]]) is None


@pytest.mark.parametrize(
    ("below", "expected"), [(float("inf"), [8, 2, 1]), (8, [2, 1]), (2, [1]), (1, [1])]
)
def test_units_of_two_layouts(below, expected):
    nested, flat = ((3, 1), (4, 5), (2, 9)), ((24, 1),)
    assert part_units(nested) == [8, 2, 1]
    assert boxes.nested_units_of_dim([flat, nested], below) == expected


def slots_in(box, layout):
    """The slots of a box, by its strides."""
    steps = zip(box.shape_by_digits, box.strides_in(layout), strict=True)
    start = box.slot_of_first_index(layout)
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
    result = boxes.split_into_boxes(ranges, layout)
    seen = [index for box in result for index in indices_of(box)]
    assert sorted(seen) == list(itertools.product(*(range(a, b) for a, b in ranges)))
    for box in result:
        assert slots_in(box, layout) == [layouts.slot_of(layout, i) for i in indices_of(box)]


def test_whole_tiles_and_rests_are_few_boxes():
    layout = Layout.tiled((20, 300), [(8, 128)])
    result = boxes.split_into_boxes(
        boxes.index_range_per_dim(layout), layout, Layout.row_major((20, 300))
    )
    assert [(box.first, box.shape_by_digits) for box in result] == [
        ((0, 0), (2, 8, 2, 128)),
        ((0, 256), (2, 8, 44)),
        ((16, 0), (4, 2, 128)),
        ((16, 256), (4, 44)),
    ]


def test_tiles_of_two_sizes():
    fine, coarse = (Layout.tiled((16,), [(n,)]) for n in (4, 8))
    assert boxes.nested_units_of_dim([fine.parts[0], Layout.tiled((16, 2), [(8, 1)]).parts[0]]) == [
        8,
        1,
    ]
    assert boxes.split_into_boxes([(0, 16)], fine, coarse) is not None
    six = Layout((16, 2), parts=[[(3, 12), (6, 1)], [(2, 6)]])
    assert boxes.split_into_boxes([(0, 16), (0, 2)], six, Layout.tiled((16, 2), [(4, 1)])) is None


@pytest.mark.parametrize(
    "layout", [x for x in layouts.TILED if x.is_padded and x.form is x], ids=str
)
def test_padding_ranges_hold_all_padding_once(layout):
    results = [
        slot
        for ranges in boxes.padding_boxes(layout)
        for box in boxes.split_into_boxes(ranges, layout)
        for slot in slots_in(box, layout)
    ]
    assert sorted(results) == sorted(layouts.padding_of(layout))
