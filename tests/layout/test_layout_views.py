"""Views of layouts: NumPy does the same to an array of the slots."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layouts import (
    EXAMPLES,
    LAYOUTS,
    bases,
    every_layout,
    has_tails,
    layouts,
    operations,
    orders,
    packed,
    padded,
    padding_of,
    reshapes,
    shapes,
    slot_array,
    slots_of,
    strided,
    tiled,
)

from tensorlayout.layout import Layout, PaddingValue, coalesce

NUMPY = {
    "permute": np.transpose,
    "slice": lambda array, key: array[key],
    "flip": np.flip,
    "expand_dims": np.expand_dims,
    "squeeze": np.squeeze,
    "broadcast_to": np.broadcast_to,
    "reshape": np.reshape,
    "sliding_window": np.lib.stride_tricks.sliding_window_view,
}


def check(layout, array):
    """`layout` assigns the slots in `array`."""
    assert layout.shape == array.shape
    assert slots_of(layout) == array.ravel().tolist()


def as_numpy(layout):
    """A strided array of the slots, over a buffer that NumPy holds the strides against."""
    buffer = np.arange(layout.required_size)
    if layout.size == 0:
        return np.empty(layout.shape, buffer.dtype)
    strides = [s * buffer.itemsize for s in layout.strides]
    return np.ndarray(layout.shape, buffer.dtype, buffer, layout.offset * buffer.itemsize, strides)


@settings(max_examples=150)
@given(st.data(), st.one_of(st.sampled_from([layout for _, layout in LAYOUTS]), layouts()))
def test_a_view_has_the_slots_that_numpy_finds_and_leaves_no_storage(data, layout):
    name, *arguments = data.draw(operations(layout))
    view = getattr(layout, name)(*arguments)
    if view is None:
        assert name == "reshape" or (name in ("slice", "flip") and layout.is_tiled)
    else:
        check(view, NUMPY[name](slot_array(layout), *arguments))
        assert view.required_size <= layout.required_size


@settings(max_examples=60)
@given(st.data(), st.one_of(padded(least=1), tiled()))
def test_a_view_owns_the_padding_of_its_parent_or_none(data, layout):
    name, *arguments = data.draw(operations(layout))
    view = getattr(layout, name)(*arguments)
    assume(view is not None)
    if view.is_padded:
        assert padding_of(view) == padding_of(layout)
        assert view.padding_value is layout.padding_value
    if set(slots_of(view)) != set(slots_of(layout)):
        assert not view.is_padded


@settings(max_examples=EXAMPLES)
@given(st.data(), st.one_of(padded(), tiled()))
def test_views_that_keep_all_elements_keep_the_padding(data, layout):
    rank = layout.ndim
    views = [
        layout.permute(data.draw(orders(rank))),
        None if has_tails(layout) else layout.flip(range(rank)),
        layout.slice(...),
        layout.slice((None, ..., None)),
        layout.expand_dims(data.draw(st.integers(0, rank))),
        layout.broadcast_to((1, *layout.shape)),
        layout.squeeze([d for d in range(rank) if layout.shape[d] == layout.padded_shape[d] == 1]),
        layout.moved(3).at_origin.moved(layout.lowest),
    ]
    for view in views:
        if view is not None:
            assert padding_of(view) == padding_of(layout)
            assert view.padding_value is layout.padding_value


def test_reshapes_that_leave_padded_dimensions_alone_keep_the_padding():
    layout = Layout.padded((2, 3, 4), (2, 3, 6), None, PaddingValue.ONE)
    for shape in [(6, 4), (6, 1, 4), (2, 1, 3, 4, 1), (3, 2, 4)]:
        view = layout.reshape(shape)
        assert view.padding_value is PaddingValue.ONE
        assert padding_of(view) == padding_of(layout)
    assert not layout.reshape((2, 3, 2, 2)).is_padded


def test_slices_cut_padding_off():
    layout = Layout.padded((3, 4), (3, 6), None, PaddingValue.ZERO)
    assert layout.slice((slice(0, 3), slice(0, 4))) is layout
    for key in [0, slice(1, 3), (slice(None), slice(0, 3)), (..., 0)]:
        assert layout.slice(key).padding_size == 0


@every_layout
def test_views_that_change_nothing_are_the_same_layout(layout):
    turned = tuple(range(layout.ndim))[::-1]
    assert layout.permute(turned).permute(turned) is layout
    assert layout.permute(range(layout.ndim)) is layout
    assert layout.slice(...) is layout
    assert layout.slice(()) is layout
    assert layout.slice(tuple(slice(0, n) for n in layout.shape)) is layout
    for dim in range(layout.ndim + 1):
        assert layout.expand_dims(dim).squeeze([dim]) is layout
    assert layout.broadcast_to(layout.shape) is layout
    assert layout.reshape(layout.shape) is layout
    flipped = layout.flip(range(layout.ndim))
    if flipped is not None:
        assert flipped.flip(range(layout.ndim)).same_placement(layout)


@every_layout
def test_views_that_keep_their_elements(layout):
    """Orders are carried along, broadcasting is seen, tiles without tails are dimensions."""
    dims = tuple(range(layout.ndim))[::-1]
    expected = tuple(dims.index(d) for d in layout.minor_to_major)
    assert layout.permute(dims).minor_to_major == expected
    wider = layout.broadcast_to((2, *layout.shape))
    assert wider.is_broadcast == wider.is_overlapping == (layout.size > 0)
    flat = layout.untiled()
    if flat is None:
        assert has_tails(layout)
    else:
        assert not flat.is_tiled
        check(flat, slot_array(layout).reshape(flat.shape))
        assert padding_of(flat) == padding_of(layout) or not flat.is_padded


@pytest.mark.parametrize("dim", range(4))
def test_expand_dims_keeps_row_major_and_column_major(dim):
    expanded = (*(2, 3, 4)[:dim], 1, *(2, 3, 4)[dim:])
    for make in (Layout.row_major, Layout.column_major):
        result = make((2, 3, 4)).expand_dims(dim)
        assert result.minor_to_major == make(expanded).minor_to_major
        assert result.same_placement(make(expanded))


@settings(max_examples=EXAMPLES)
@given(st.data(), tiled())
def test_slices_of_whole_tiles_exist(data, layout):
    key = []
    for n, parts in zip(layout.shape, layout.parts, strict=True):
        inner = math.prod(e for e, _ in parts[1:])
        start = data.draw(st.integers(0, n // inner)) * inner
        key.append(slice(start, start + inner * data.draw(st.integers(0, 3))))
    check(layout.slice(tuple(key)), slot_array(layout)[tuple(key)])


def test_slices_inside_a_tile_and_steps_over_tiles():
    layout = Layout((4, 6), parts=[((2, 12), (2, 2)), ((3, 4), (2, 1))])
    assert str(layout.slice((slice(2, 4), slice(4, 6)))) == "(2,2):(2,1)+20"
    assert str(layout.slice((slice(None, None, 2), slice(1, None, 2)))) == "(2,3):(12,4)+1"
    assert str(layout.slice((3, slice(None, None, -2)))) == "(3,):(-4,)+23"
    assert layout.slice((slice(1, 3),)) is None
    assert layout.slice((slice(None, None, 3),)) is None


@settings(max_examples=EXAMPLES)
@given(layouts(strided(), most=1), st.data())
def test_a_slice_of_one_index_keeps_the_stride(layout, data):
    assume(layout.size and layout.ndim)
    at = data.draw(st.integers(0, layout.shape[0] - 1))
    one = layout.slice(slice(at, at + 1, 10**30))
    assert one.strides == layout.strides


def numpy_has_a_view(array, shape):
    try:
        array.reshape(shape, copy=False)
    except ValueError:
        return False
    return True


@settings(max_examples=50)
@given(st.data(), layouts(st.one_of(packed(), padded(), strided()), most=3))
def test_reshape_is_none_exactly_where_numpy_copies(data, layout):
    shape = data.draw(reshapes(layout.size))
    view = layout.reshape(shape)
    assert (view is not None) == numpy_has_a_view(as_numpy(layout), shape)
    if view is not None:
        check(view, slot_array(layout).reshape(shape))


@settings(max_examples=EXAMPLES)
@given(packed())
def test_a_reshaped_row_major_layout_is_the_row_major_one(layout):
    row_major = Layout.row_major(layout.shape)
    for shape in [(layout.size,), (1, layout.size, 1), (*layout.shape, 1), (1, *layout.shape)]:
        assert row_major.reshape(shape) is Layout.row_major(shape)


@settings(max_examples=EXAMPLES)
@given(st.data(), layouts(bases(), most=1))
def test_sliding_windows_over_several_dimensions(data, layout):
    dims = [d for d, n in enumerate(layout.shape) if n and len(layout.parts[d]) == 1]
    windows = [data.draw(st.integers(1, layout.shape[d])) for d in dims]
    result = layout.sliding_window(windows, dims)
    array = slot_array(layout)
    check(result, np.lib.stride_tricks.sliding_window_view(array, windows, dims))


def test_two_windows_over_one_dimension():
    layout = Layout.row_major((7,)).sliding_window((3, 2), (0, 0))
    array = np.lib.stride_tricks.sliding_window_view(np.arange(7), (3, 2), (0, 0))
    check(layout, array)


@st.composite
def alike(draw, count):
    """Layouts of one shape."""
    shape = draw(shapes())
    result = []
    for _ in range(count):
        order = draw(orders(len(shape)))
        strides = [draw(st.integers(-6, 6)) for _ in shape]
        offset = sum((n - 1) * -s for n, s in zip(shape, strides, strict=True) if n and s < 0)
        loose = Layout(shape, strides, offset=offset)
        flips = draw(st.sampled_from([(), range(len(shape))]))
        whole = Layout.packed(shape, order)
        choices = [loose, whole, whole.flip(flips), Layout.row_major(shape).flip(flips)]
        result.append(draw(st.sampled_from(choices)))
    return result


@settings(max_examples=100)
@given(st.integers(1, 3).flatmap(alike))
def test_coalesce_keeps_the_tuples_of_slots_and_leaves_nothing_to_coalesce(layouts):
    merged = coalesce(*layouts)
    before = sorted(zip(*map(slots_of, layouts), strict=True))
    assert sorted(zip(*map(slots_of, merged), strict=True)) == before
    assert len({layout.shape for layout in merged}) == 1
    assert coalesce(*merged) == merged
    shape = merged[0].shape
    assert 1 not in shape
    for d in range(len(shape) - 1):
        assert any(m.strides[d] != shape[d + 1] * m.strides[d + 1] for m in merged)


def test_coalesce_puts_the_first_layouts_most_minor_dimension_last():
    row, column = Layout.row_major((3, 4)), Layout.column_major((3, 4))
    assert [str(m) for m in coalesce(row, column)] == ["(3,4):(4,1)", "(3,4):(1,3)"]
    assert [str(m) for m in coalesce(column, row)] == ["(4,3):(3,1)", "(4,3):(1,4)"]
    wide = Layout.row_major((3, 1)).broadcast_to((3, 4))
    assert [str(m) for m in coalesce(wide, row)] == ["(4,3):(0,1)", "(4,3):(1,4)"]
    assert [str(m) for m in coalesce(row, wide)] == ["(3,4):(4,1)", "(3,4):(1,0)"]


def test_coalesce_flips_what_runs_backwards_everywhere():
    forwards, backwards = Layout.row_major((3, 4)), Layout.row_major((3, 4)).flip((0, 1))
    assert coalesce(backwards, backwards) == (Layout((12,), (1,)),) * 2
    assert [str(m) for m in coalesce(forwards, backwards)] == ["(12,):(1,)", "(12,):(-1,)+11"]
