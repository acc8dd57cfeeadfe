"""Loops: whatever is done to one, the same bytes belong together. Oracle: every index."""

import math
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorlayout.layout import Layout
from tensorlayout.layout.loop import (
    Axis,
    Loop,
    Window,
    max_offset_of_axes,
    merge_axes,
    narrowest_index_type,
)

WIDEST = 16
SOME = settings(max_examples=50)


def visited(loop):
    """For each element, where it begins in each memory, in bytes; of tables in entries."""
    results = []
    for index in product(*[range(axis.size) for axis in loop.axes]):
        place = list(loop.firsts)
        for k, axis in zip(index, loop.axes, strict=True):
            for m, stride in enumerate(axis.strides):
                place[m] += k * stride * loop.widths[m]
        results.append(tuple(place))
    return results


def bytes_of(loop):
    """For each byte of an element, where it is in each memory; its entry in each table."""
    count = len(loop.widths) - loop.tables
    return sorted(
        tuple(at + byte for at in place[:count]) + place[count:]
        for place in visited(loop)
        for byte in range(loop.width)
    )


@st.composite
def layouts(draw, shape, *, overlap):
    """A strided layout with gaps, turned dimensions, and repeated ones if it may `overlap`."""
    strides, step = [0] * len(shape), draw(st.sampled_from((1, 1, 1, 2, 3)))
    for d in draw(st.permutations(range(len(shape)))):
        strides[d] = draw(st.sampled_from((1, 1, -1, 0) if overlap else (1, 1, -1))) * step
        step *= shape[d] + draw(st.sampled_from((0, 0, 0, 1, 4)))
    below = sum((n - 1) * -s for n, s in zip(shape, strides, strict=True) if s < 0)
    return Layout(shape, strides, offset=below + draw(st.sampled_from((0, 0, 0, 1, 8))))


@st.composite
def cases(draw, most=3):
    """Layouts of one shape, the first without overlap; how many are tables; bytes of an element."""
    shape = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 4, 8)), max_size=4)))
    others = draw(st.lists(layouts(shape, overlap=True), max_size=most - 1))
    given_ = [draw(layouts(shape, overlap=False)), *others]
    tables = draw(st.integers(0, len(others)))
    return given_, tables, draw(st.sampled_from((1, 2, 4, 8, 16)))


def loop_of(case, alignments):
    given_, tables, itemsize = case
    widths = [itemsize] * (len(given_) - tables) + [1] * tables
    aligned = [alignments] * (len(given_) - tables) + [1] * tables
    return Loop.over_layouts(given_, widths, aligned, tables)


def places(case):
    """Return the positions that `visited` must yield, computed from the layouts."""
    given_, tables, itemsize = case
    widths = [itemsize] * (len(given_) - tables) + [1] * tables
    return sorted(
        tuple(layout.offset_of(index) * w for layout, w in zip(given_, widths, strict=True))
        for index in product(*map(range, given_[0].shape))
    )


@SOME
@given(cases())
def test_a_loop_visits_what_the_layouts_hold_forwards_and_merged(case):
    loop = loop_of(case, 32)
    assert sorted(visited(loop)) == places(case)
    to = [axis.strides[0] for axis in loop.axes]
    assert to == sorted(to, reverse=True)
    assert min(to) > 0
    assert loop.element_count == math.prod(case[0][0].shape)
    assert loop.element_count == 1 or all(axis.size > 1 for axis in loop.axes)
    assert not any(slower.can_merge_with(faster) for slower, faster in pairwise(loop.axes))
    ends = [max(abs(p[m] - first) for p in visited(loop)) for m, first in enumerate(loop.firsts)]
    assert loop.max_offset >= max(end // w for end, w in zip(ends, loop.widths, strict=True))


@SOME
@given(cases(), st.sampled_from((1, 2, 4, 8, 16, 32)))
def test_wide_elements_hold_the_same_bytes(case, alignment):
    plain = loop_of(case, max(alignment, case[2]))
    for loop in (plain.with_wider_elements(WIDEST), plain.with_widest_elements(WIDEST)):
        assert bytes_of(loop) == bytes_of(plain)
        assert loop.width % plain.width == 0
    fitted = plain.with_widest_elements(WIDEST)
    assert fitted.width <= max(alignment, case[2])
    elements = len(case[0]) - case[1]
    for place in visited(fitted):
        assert not any(at % fitted.width for at in place[:elements])
    assert fitted.element_count == 1 or all(axis.size > 1 for axis in fitted.axes)


@SOME
@given(cases(), st.sampled_from((1, 2, 4, 8, 16, 32)))
def test_packs_are_aligned_and_in_every_memory_one_run_or_one_element(case, alignment):
    loop = loop_of(case, alignment)
    if alignment < loop.width:
        return
    pack = loop.max_pack_size(WIDEST)
    assert pack * loop.width <= WIDEST
    assert loop.axes[-1].size % pack == 0
    for m in loop.element_memories if pack > 1 else ():
        stride = loop.axes[-1].strides[m]
        assert stride == 1 or (m and stride == 0)
        starts = [place[m] for place in visited(loop)[::pack]]
        assert stride == 0 or not any(at % (pack * loop.width) for at in starts)
        assert loop.row_alignment(m) == math.gcd(
            alignment, *[p[m] for p in visited(loop)[:: loop.sizes[-1]]]
        )


@SOME
@given(cases())
def test_packs_begin_where_their_first_elements_do(case):
    loop = loop_of(case, 32)
    times = max(n for n in (1, 2, 4) if loop.axes[-1].size % n == 0)
    packs = loop.loop_over_packs(times, ())
    assert visited(packs) == visited(loop)[::times]
    assert packs.widths == loop.widths
    assert packs.max_offset <= loop.max_offset


def test_axes_merge_with_their_own_kind_only():
    rows = [Axis(3, (4,), "kept"), Axis(2, (2,), "reduced"), Axis(2, (1,), "reduced")]
    assert merge_axes(rows) == [Axis(3, (4,), "kept"), Axis(4, (1,), "reduced")]
    assert merge_axes(rows, lambda slower, faster: False) == rows
    assert merge_axes([Axis(1, (5,)), Axis(1, (7,))]) == []


def absorbs(slower, faster):
    step = slower.window_or_whole_axis.step
    return faster.tag is None and step == 1 and slower.step_spans_axis(faster)


def test_windows_merge_with_axes_that_all_have():
    rows = [Axis(6, (4, 4), Window((6, 3), 2)), Axis(4, (1, 1))]
    assert merge_axes(rows) == rows
    assert merge_axes(rows, absorbs) == [Axis(24, (1, 1), Window((24, 12), 8))]
    # Of one index no step is taken; what follows a window is another's.
    assert merge_axes([Axis(6, (4, 9), Window((6, 1))), rows[1]], absorbs)[0].size == 24
    assert len(merge_axes([Axis(6, (4, 9), Window((6, 2))), rows[1]], absorbs)) == 2
    assert len(merge_axes([rows[1], Axis(4, (1, 1), Window((4, 2)))], absorbs)) == 2
    assert merge_axes([Axis(1, (1, 1), Window((1, 0)))]) == [Axis(1, (1, 1), Window((1, 0)))]
    assert (max_offset_of_axes(rows), max_offset_of_axes([Axis(6, (1, 9), Window((6, 1)))])) == (
        23,
        5,
    )


@pytest.mark.parametrize(("count", "first", "pack"), [(4, 2, 2), (6, 4, 2), (4, 4, 4), (8, 0, 8)])
def test_packs_begin_and_end_where_windows_do(count, first, pack):
    loop = Loop((Axis(8, (1, 1), Window((8, count), first)),), (1, 1), (0, 0), (16, 16))
    assert loop.max_pack_size(WIDEST) == pack
    window = Window((8 // pack, count // pack), first // pack)
    assert loop.with_wider_elements(WIDEST).axes == (Axis(8 // pack, (1, 1), window),)


def test_scalars_have_strides_of_zero():
    x = Layout((4, 6), (6, 1))
    loop = Loop.over_layouts((x, None, x.permute((0, 1))), (4, 0, 2), (32, 1, 32))
    assert loop == Loop((Axis(24, (1, 0, 1)),), (4, 0, 2), (0, 0, 0), (32, 1, 32))
    assert (loop.row_alignment(0), loop.max_pack_size(16), loop.index_c_type) == (32, 4, "int32_t")
    assert Loop.over_layouts((Layout(()), None), (4, 0), (32, 1)).axes == (Axis(1, (1, 0)),)


def test_what_an_image_of_three_bytes_becomes():
    # Rows of 30 bytes, 32 apart: pairs of bytes, as the rows' length allows.
    loop = Loop.over_layouts([Layout((20, 10, 3), (32, 3, 1))], [1], [32]).with_widest_elements(
        WIDEST
    )
    assert loop == Loop((Axis(20, (16,)), Axis(15, (1,))), (2,), (0,), (32,))


@pytest.mark.parametrize(
    ("count", "furthest", "expected"),
    [(2**31 - 1, 5, "int32_t"), (5, 2**31, "int64_t"), (2**31, 0, "int64_t")],
)
def test_the_narrowest_index(count, furthest, expected):
    assert narrowest_index_type(count, furthest) == expected
    loop = Loop((Axis(count, (1,)),), (1,), (0,), (1,))
    assert loop.index_c_type == ("int32_t" if count < 2**31 else "int64_t")
