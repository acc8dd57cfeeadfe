"""Properties and methods of layouts, compared with brute force over all indices."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import (
    EXAMPLES,
    OFFSETS,
    bases,
    every_layout,
    indices,
    layouts,
    orders,
    padding_of,
    shapes,
    slot_of,
    slots_of,
    strided,
    tiled,
    tiled_anyhow,
)

from tensorlayout.layout import Layout, row_major_order


@every_layout
def test_slots_by_digits_times_strides(layout):
    result = slots_of(layout)
    for index in indices(layout.shape):
        assert layout.offset_of(index) == slot_of(layout, index)
    assert (layout.ndim, layout.size) == (len(layout.shape), len(result))
    assert layout.lowest == min(result, default=layout.offset)
    assert layout.required_size == max({*result, *padding_of(layout)}, default=-1) + 1
    assert layout.nbytes(4) == 4 * layout.required_size
    expected = sorted(indices(layout.shape), key=lambda index: (slot_of(layout, index), index))
    assert list(layout.elements()) == expected


@every_layout
def test_indices_and_slots_outside_are_refused(layout):
    wrong = [(0,) * (layout.ndim + 1), (0,) * max(layout.ndim - 1, 0) + (-1,)]
    for d, n in enumerate(layout.shape):
        wrong.append((*(0,) * d, n, *(0,) * (layout.ndim - d - 1)))
    for index in wrong:
        with pytest.raises(IndexError, match=r"index: must lie inside the shape .* got"):
            layout.offset_of(index)
    for slot in (-1, layout.required_size, 2**70):
        with pytest.raises(IndexError, match=r"slot: must be at least 0 and below .* got"):
            layout.index_of(slot)


@every_layout
def test_index_of_is_the_inverse_of_offset_of(layout):
    owners = {}
    for index in indices(layout.shape):
        owners.setdefault(slot_of(layout, index), []).append(index)
    for slot in range(layout.required_size):
        result = owners.get(slot, [])
        if len(result) > 1:
            with pytest.raises(ValueError, match=f"slot: {slot} is shared by"):
                layout.index_of(slot)
        else:
            assert layout.index_of(slot) == (result[0] if result else None)


@every_layout
def test_strides_are_those_of_the_single_parts_and_sorted_by_the_order(layout):
    assert sorted(layout.minor_to_major) == list(range(layout.ndim))
    if layout.is_tiled:
        with pytest.raises(ValueError, match="strides: a tiled layout has none"):
            _ = layout.strides
    else:
        pairs = zip(layout.shape, layout.strides, strict=True)
        assert layout.parts == tuple((pair,) for pair in pairs)
        known = [d for d in layout.minor_to_major if layout.padded_shape[d] > 1]
        steps = [abs(layout.strides[d]) for d in known if layout.strides[d]]
        assert steps == sorted(steps)


def fills_a_block(layout):
    """The elements stand in `size` neighbouring slots, one in each."""
    result = sorted(slots_of(layout))
    return not result or result == list(range(result[0], result[0] + len(result)))


@every_layout
def test_kinds_by_the_slots(layout):
    results, padding = slots_of(layout), padding_of(layout)
    assert (layout.is_padded, layout.padding_size) == (len(padding) > 0, len(padding))
    assert layout.is_overlapping == (max(Counter(results).values(), default=1) > 1)
    assert layout.is_packed == (fills_a_block(layout) and not layout.is_tiled and not padding)
    if layout.is_packed and layout.size:
        forwards = layout.flip([d for d, s in enumerate(layout.strides) if s < 0])
        again = Layout.packed(layout.shape, layout.minor_to_major).moved(layout.lowest)
        assert forwards.same_placement(again)
    if layout.padded_shape != layout.shape and layout.size:  # padding is of a covered block
        assert len(set(results)) == len(results)
        assert max(results) < layout.lowest + math.prod(layout.padded_shape)


@every_layout
def test_row_major_and_column_major_slots_count_up(layout):
    backwards = [slot_of(layout, index[::-1]) for index in indices(layout.shape[::-1])]
    plain = not padding_of(layout) and (layout.size > 0 or not layout.is_tiled)
    block = list(range(layout.lowest, layout.lowest + layout.size))
    assert layout.is_row_major == (plain and slots_of(layout) == block)
    assert layout.is_column_major == (plain and backwards == block)


@every_layout
def test_covers_block(layout):
    padded = layout.padded_shape != layout.shape
    inner = [math.prod(extent for extent, _ in parts[1:]) for parts in layout.parts]
    ends_within = any(n % extent for n, extent in zip(layout.shape, inner, strict=True))
    empty = 0 in layout.shape
    assert layout.covers_block == (padded or empty or (fills_a_block(layout) and not ends_within))


@every_layout
def test_is_broadcast_where_a_step_along_a_dimension_stays_in_place(layout):
    steps = []
    for d, parts in enumerate(layout.parts):
        below = [math.prod(e for e, _ in parts[p + 1 :]) for p in range(len(parts))]
        steps += [(d, size) for size in below if size < layout.shape[d]]
    origin = (0,) * layout.ndim
    expected = layout.size > 0 and any(
        slot_of(layout, (*origin[:d], size, *origin[d + 1 :])) == layout.offset for d, size in steps
    )
    assert layout.is_broadcast == expected


@given(strided() | tiled_anyhow())
def test_is_overlapping_for_any_strides(layout):
    assert layout.is_overlapping == (len(set(slots_of(layout))) < layout.size)


@pytest.mark.parametrize("text", ["(6,3,3):(28,2*9+2*-2,2*27+2*3)+114", "(3,):(2*1+2*-2,)+2"])
def test_a_slot_that_only_a_tail_shares_is_not_shared(text):
    layout = Layout.parse(text)
    assert len(set(slots_of(layout))) == layout.size
    assert not layout.is_overlapping


@every_layout
def test_moved_layouts(layout):
    assert slots_of(layout.moved(3)) == [slot + 3 for slot in slots_of(layout)]
    assert layout.at_origin.lowest == 0
    assert layout.at_origin.moved(layout.lowest) is layout
    assert layout.at_origin.at_origin is layout.at_origin


@every_layout
def test_the_form_is_that_block_run_forwards_or_packed(layout):
    form = layout.form
    assert (form.shape, form.minor_to_major) == (layout.shape, layout.minor_to_major)
    assert form.covers_block
    assert form.offset == form.lowest == 0
    assert all(stride > 0 for parts in form.parts for _, stride in parts)
    assert form.form is form
    if not layout.covers_block:
        assert form is Layout.packed(layout.shape, layout.minor_to_major)
        return
    assert form.padded_shape == layout.padded_shape
    assert form.padding_value is layout.padding_value
    for old, new, p in zip(layout.parts, form.parts, layout.padded_shape, strict=True):
        assert p <= 1 or not form.size or tuple((e, abs(s)) for e, s in old) == new


@settings(max_examples=EXAMPLES)
@given(st.data(), st.one_of(strided(), tiled(), tiled_anyhow()))
def test_same_placement_compares_slots(data, layout):
    other = data.draw(layouts(st.just(layout)))
    assert layout.same_placement(other) == (
        layout.shape == other.shape and slots_of(layout) == slots_of(other)
    )


@settings(max_examples=EXAMPLES)
@given(st.data(), shapes(max_dims=3), OFFSETS)
def test_same_placement_ignores_strides_of_size_1(data, shape, offset):
    def draw():
        strides = [data.draw(st.integers(0, 4)) for _ in shape]
        return Layout(shape, strides, offset=offset)

    one, other = draw(), draw()
    assert one.same_placement(other) == (slots_of(one) == slots_of(other))
    assert one.same_placement(one.form) == (slots_of(one) == slots_of(one.form))


@every_layout
def test_table_shows_each_slot(layout):
    if layout.ndim == 0 or layout.required_size == 0 or layout.is_overlapping:
        return
    words = layout.table().splitlines()[1].removeprefix("Value:").split()
    names = layout.table(range(layout.size)).splitlines()[1].removeprefix("Value:").split()
    filler = {"ZERO": "0", "ONE": "1"}.get(getattr(layout.padding_value, "name", ""), "x")
    assert len(words) == layout.required_size
    for slot, name in enumerate(names):
        if slot in padding_of(layout):
            assert name == words[slot] == filler
        elif slot not in slots_of(layout):
            assert name == words[slot] == "x"
    ordered = [names[slot] for slot in slots_of(layout)]
    assert ordered == list(map(str, range(layout.size)))


@settings(max_examples=EXAMPLES)
@given(st.data(), shapes(least=1))
def test_packed_counts_slots_minor_to_major(data, shape):
    order = data.draw(orders(len(shape)))
    layout = Layout.packed(shape, order)
    major_first = sorted(indices(shape), key=lambda index: [index[d] for d in reversed(order)])
    assert [slot_of(layout, index) for index in major_first] == list(range(layout.size))
    assert layout.minor_to_major == order


@settings(max_examples=EXAMPLES)
@given(st.data(), shapes(least=1))
def test_padded_is_the_corner_of_a_packed_block(data, shape):
    order = data.draw(orders(len(shape)))
    block = tuple(n + data.draw(st.integers(0, 2)) for n in shape)
    whole = Layout.packed(block, order)
    layout = Layout.padded(shape, block, order)
    assert slots_of(layout) == [slot_of(whole, index) for index in indices(shape)]
    assert layout.required_size == whole.size


@pytest.mark.parametrize("rank", range(5))
def test_row_major_and_column_major(rank):
    shape = tuple(range(2, 2 + rank))
    assert Layout.row_major(shape) is Layout(shape) is Layout.packed(shape, row_major_order(rank))
    assert Layout.column_major(shape) is Layout.packed(shape, tuple(range(rank)))


@pytest.mark.parametrize(
    ("shape", "pitch", "itemsize", "order", "padded"),
    [
        ((4, 100), 256, 4, None, (4, 128)),
        ((4, 64), 256, 4, None, (4, 64)),
        ((4, 65), 256, 4, None, (4, 128)),
        ((100, 4), 256, 2, (0, 1), (128, 4)),
        ((2, 0), 16, 1, None, (2, 0)),
        ((), 16, 1, None, ()),
    ],
)
def test_pitched_rows_begin_at_multiples_of_the_pitch(shape, pitch, itemsize, order, padded):
    layout = Layout.pitched(shape, pitch, itemsize, order)
    assert layout.padded_shape == padded
    assert layout is Layout.padded(shape, padded, order)


@settings(max_examples=EXAMPLES)
@given(bases())
def test_the_fields_of_a_layout_make_it_again(layout):
    fields = ("parts", "offset", "minor_to_major", "padded_shape", "padding_value")
    assert Layout(layout.shape, **{name: getattr(layout, name) for name in fields}) is layout
