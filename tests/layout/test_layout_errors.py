"""Bad input to layouts: the error names the argument, what came and what is allowed."""

import contextlib
import time

import numpy as np
import pytest

from tensorlayout.layout import BitPattern, Layout, PaddingValue, coalesce

ROWS = Layout.row_major((3, 4))
TILES = Layout((4, 6), parts=[((2, 12), (2, 2)), ((3, 4), (2, 1))])
DEEP = Layout.row_major((1,) * 64)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layout((2, -3)), r"shape: sizes must not be negative, got \(2, -3\)"),
        (lambda: Layout((1,) * 65), "shape: at most 64 dimensions are allowed, got 65"),
        (
            lambda: Layout((2, 3), (3,)),
            r"strides: must have length 2, .* size of \(2, 3\), got \(3,\)",
        ),
        (lambda: Layout((2, 3), (3, 1), parts=[[(2, 3)], [(3, 1)]]), "strides and parts: .* both"),
        (
            lambda: Layout((2, 3), parts=[[(2, 3)]]),
            r"parts: must have length 2, .*, got \(\(\(2, 3\),\),\)",
        ),
        (lambda: Layout((5,), parts=[[(2, 2), (2, 1)]]), "parts: .* span the size 5; 3 first w"),
        (lambda: Layout((6,), parts=[[(1, 1), (-2, 1), (-3, 1)]]), "parts: .* at least 1, got"),
        (lambda: Layout((2, 3), minor_to_major=(0, 0)), r"minor_to_major: .* 0 to 1 .* \(0, 0\)"),
        (lambda: Layout((), minor_to_major=(0,)), r"minor_to_major: must be \(\) .* got \(0,\)"),
        (lambda: Layout((2, 3), (3, 1), minor_to_major=(0, 1)), "minor_to_major: .* contradicts"),
        (lambda: Layout.padded((2, 3), (2, 2)), r"padded_shape: .* \(2, 3\), got \(2, 2\)"),
        (lambda: Layout((2, 3), (9, 1), padded_shape=(2, 5)), "padded_shape: .* whole block"),
        (lambda: Layout((3,), (-1,), offset=1), "offset: 1 puts .* down to -1; .* at least 2"),
        (lambda: Layout((3,), offset=-1), "offset: -1 puts .* at least 0"),
        (lambda: Layout.padded((2,), (3,), None, "NULL"), "padding_value: .* ZERO, .* got 'NULL'"),
        (lambda: Layout.tiled((0,), [(2,)], None, "x"), "padding_value: .* got 'x'"),
        (lambda: Layout.parse("NHWC"), r"layout text: .* Layout.labelled\(.*, got 'NHWC'"),
        (lambda: Layout.pitched((4, 5), 30, 4), "pitch: .* multiple of .* 4 bytes, got 30"),
        (lambda: Layout.pitched((4, 5), 16, 0), "itemsize: must be at least one byte, got 0"),
        (lambda: ROWS.nbytes(-1), "itemsize: must be at least one byte, got -1"),
        (lambda: ROWS.permute((0, 0)), r"dims: must be a permutation of 0 to 1 .* got \(0, 0\)"),
        (lambda: ROWS.flip((-1,)), r"dims: must be dimensions from 0 to 1 .* got \(-1,\)"),
        (lambda: ROWS.squeeze((0,)), r"dims: dimension 0 of shape \(3, 4\) has size 3, not 1"),
        (lambda: ROWS.expand_dims(3), r"dim: must be dimensions from 0 to 2 .* got \(3,\)"),
        (lambda: DEEP.expand_dims(0), "shape: at most 64 dimensions are allowed, got 65"),
        (lambda: ROWS.broadcast_to((3, 5)), r"shape: \(3, 4\) could not be broadcast to \(3, 5\)"),
        (lambda: ROWS.reshape((5,)), r"shape: \(5,\) has 5 elements, the layout has 12"),
        (lambda: ROWS.reshape((-1, 2)), "shape: sizes must not be negative"),
        (lambda: ROWS.sliding_window((5,), (1,)), "window_shape: .* 1 to 4 along dimension 1, g"),
        (lambda: ROWS.sliding_window((2,), (0, 1)), r"window_shape: .* \(0, 1\), got \(2,\)"),
        (lambda: TILES.sliding_window((2,), (0,)), "dims: dimension 0 is tiled"),
        (lambda: ROWS.table("abc"), "values: must be the 12 elements, got 3"),
        (lambda: ROWS.slice((slice(None, None, 0),)), "slice step cannot be zero"),
        (lambda: coalesce(), "layouts: must be at least one, got none"),
        (lambda: coalesce(ROWS, DEEP), "layouts: must have one shape"),
        (lambda: coalesce(TILES), "strides: a tiled layout has none"),
        (lambda: BitPattern(-1, "int8"), r"bits: must be at least 0 and below 2\*\*128, got -1"),
        (lambda: BitPattern(1, "float 32"), "dtype: must be a name of letters.* got 'float 32'"),
        (lambda: Layout((3,), slot_bits=3), "slot_bits: must be 1, 2, 4 or 6, or None .*, got 3"),
        (lambda: Layout((3,), slot_bits=2**70), "slot_bits: must be 1, 2, 4 or 6, or None"),
        (lambda: ROWS.with_slot_bits(8), "slot_bits: must be 1, 2, 4 or 6, or None .*, got 8"),
        (lambda: ROWS.with_slot_bits(4).component(0, 2), "slots of 4 bits have no parts"),
        (lambda: Layout.parse("[3]{0:E(8)}"), r"E\(…\) of other bits than 1, 2, 4 or 6"),
        (lambda: Layout.tiled((4, 4), [()]), "tiles: sizes must be at least 1"),
        (lambda: Layout.tiled((4, 4), [(2, 3), (2, -(2**63))]), "tiles: sizes must be at least 1"),
        (lambda: Layout.tiled((8, 8), [(4, 4), (3, 3)]), "cannot be expressed as parts of dimens"),
        (lambda: Layout.tiled((1, 1), [(2**40, 2**40)]), r"2\*\*63 slots or more"),
        (lambda: Layout.scale_factors(-1, 4), "scale_factors: sizes must not be negative"),
        (lambda: Layout.scale_factors(2**40, 2**40), r"multiply to more than 2\*\*63 - 1"),
        (lambda: Layout.scale_factors(4, 4, "NULL"), "padding_value: must be ZERO, ONE"),
    ],
)
def test_wrong_values(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layout(5), "shape: must be a sequence of integers, got 5"),
        (lambda: Layout((2,), (1.5,)), r"strides: must be a sequence of integers, got \(1.5,\)"),
        (lambda: Layout((2,), parts=[(2, 1)]), r"parts: .* pairs .*, got \[\(2, 1\)\]"),
        (lambda: Layout((2,), parts=[[(2, 0.5)]]), "parts: .* pairs of integers"),
        (lambda: Layout((2,), offset=0.5), "offset: must be an integer, got 0.5"),
        (lambda: Layout.padded((2,), (3,), None, 0.0), "padding_value: .* exact bits.*, got 0.0"),
        (lambda: Layout({2, 3}), r"shape: must be a sequence of integers, got \{2, 3\}"),
        (lambda: Layout.pitched((2,), 16.0, 4), "pitch: must be an integer, got 16.0"),
        (lambda: ROWS.nbytes("float32"), "itemsize: must be an integer, got 'float32'"),
        (lambda: ROWS.permute(None), "dims: must be a sequence of integers, got None"),
        (lambda: ROWS.offset_of((0, 1.0)), "index: must be a sequence of integers, got"),
        (lambda: ROWS.index_of(1.0), "slot: must be an integer, got 1.0"),
        (lambda: ROWS.moved(0.5), "slots_up: must be an integer, got 0.5"),
        (lambda: ROWS.slice(1.0), "index: must be integers, slices, None and Ellipsis, got 1.0"),
        (lambda: ROWS.slice((True, 0)), "index: must be integers, .* got True"),
        (lambda: ROWS.slice([0]), r"index: must be integers, .* got \[0\]"),
        (lambda: ROWS.component("a", 2), "component: must be an integer, got 'a'"),
        (lambda: ROWS.same_placement(3), "same_placement: must be called with a layout, got 3"),
        (lambda: ROWS.table(3), "values: must be a sequence of the 12 elements, got 3"),
        (lambda: Layout.labelled((2, 3), 5), "labels: must be text, got 5"),
        (lambda: BitPattern(0.0, "float32"), "bits: must be an integer, got 0.0"),
        (lambda: BitPattern(0, np.dtype("int8")), "dtype: must be the name of a dtype"),
        (lambda: ROWS.with_slot_bits("4"), "slot_bits: must be an integer, got '4'"),
        (lambda: Layout.scale_factors(2.0, 4), "scale_factors: must be a sequence of integers"),
    ],
)
def test_wrong_types(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ((3,), r"index: 3 is out of bounds for axis 0 with size 3"),
        ((0, -5), r"index: -5 is out of bounds for axis 1 with size 4"),
        ((0, 0, 0), r"index: \(0, 0, 0\) has too many indices for shape \(3, 4\)"),
        ((..., ...), "has more than a single ellipsis"),
    ],
)
def test_indices_outside(key, message):
    with pytest.raises(IndexError, match=message):
        ROWS.slice(key)


def test_layouts_cannot_be_changed():
    with pytest.raises(AttributeError, match="a Layout is immutable: cannot set shape"):
        ROWS.shape = (1,)
    with pytest.raises(AttributeError, match="a Layout is immutable: cannot delete offset"):
        del ROWS.offset


def test_numpy_integers_are_integers():
    four = np.int64(4)
    order = np.array([1, 0])
    layout = Layout(np.array([3, 4]), np.array([4, 1]), offset=four, minor_to_major=order)
    assert layout is ROWS.moved(4)
    assert all(type(n) is int for n in (*layout.shape, *layout.minor_to_major, layout.offset))
    assert ROWS.slice(np.int8(1)) is ROWS.slice(1)
    assert ROWS.permute(np.array([1, 0])) is ROWS.permute((1, 0))
    assert ROWS.offset_of(np.array([2, 3])) == 11
    assert ROWS.nbytes(np.dtype("float32")) == 48


def test_padding_without_padding_is_no_difference():
    assert Layout.padded((2, 3), (2, 3), None, PaddingValue.ONE) is Layout.row_major((2, 3))


# --- ranks and sizes ---------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [0, 1, 2, 32, 63, 64])
def test_ranks_up_to_64(rank):
    layout = Layout.column_major((1,) * max(rank - 20, 0) + (2,) * min(rank, 20))
    assert layout.ndim == rank
    assert Layout.parse(str(layout)) is layout
    assert layout.reshape((layout.size,)) is not None or rank > 1
    assert layout.offset_of((0,) * rank) == 0
    assert layout.index_of(layout.size - 1) == tuple(n - 1 for n in layout.shape)


def test_slots_beyond_32_bits():
    layout = Layout.row_major((2**20, 2**20))
    assert layout.offset_of((2**20 - 1, 5)) == (2**20 - 1) * 2**20 + 5
    assert layout.index_of(2**33 + 7) == (2**13, 7)
    assert layout.flip((0, 1)).offset == 2**40 - 1
    assert layout.reshape((2**40,)) is Layout.row_major((2**40,))
    assert layout.nbytes(8) == 2**43
    assert layout.slice((slice(2**19, None), slice(None, None, -2))).shape == (2**19, 2**19)


def test_the_last_slot_of_all():
    most = 2**63 - 1
    assert Layout((most,)).required_size == most
    assert Layout((2,), (most - 1,)).required_size == most
    assert Layout((1,), offset=most - 1).required_size == most
    assert Layout((most,)).flip((0,)).offset == most - 1
    assert Layout((1, most)).strides == (most, 1)
    assert Layout((2,), (2**62,)).reshape((1, 2)).strides == (1, 2**62)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Layout((2**63,)),
        lambda: Layout((0, 2**62, 2**62)),
        lambda: Layout((2,), (2**63 - 1,)),
        lambda: Layout((1,), (2**63,)),
        lambda: Layout((1,), parts=[[(1, 2**63)]]),
        lambda: Layout((1,), offset=2**63),
        lambda: Layout((2,)).moved(2**63 - 2),
        lambda: Layout.padded((1, 1), (2**32, 2**32)),
        lambda: Layout.pitched((2**40, 1), 2**40, 1),
        lambda: Layout((1,)).broadcast_to((2**63,)),
        lambda: Layout((2**33,)).sliding_window((2**32,), (0,)),
    ],
)
def test_slots_beyond_64_bits_are_refused(make):
    with pytest.raises(ValueError, match=r"(shape|strides|parts|offset): .*2\*\*63 - 1"):
        make()


# --- strides that are hard to search -----------------------------------------------------------


HARD = [
    Layout((10**6,) * 3, (10**11 + 3, 10**11 + 19, 10**11 + 61)),
    Layout((50,) * 9, [2**40 + 7 * i * i + i for i in range(9)]),
    Layout((2,) * 40, [10**15 + i**7 for i in range(40)]),
    Layout((10**6, 10**6), (2, 4)),
    Layout((10**6, 10**6, 2), (0, 0, 5)),
    Layout.parse(f"({2**21 + 1},{2**21 + 1}):({2**20 + 1}*3+2*5,{2**20 + 1}*-7+2*9)+{2**30}"),
    Layout.parse(f"({','.join(['5'] * 12)}):({','.join(['3*6+2*-1'] * 12)})+12"),
]


@pytest.mark.parametrize("layout", HARD, ids=lambda layout: f"rank {layout.ndim}")
def test_searches_are_bounded(layout):
    start = time.perf_counter()
    assert layout.is_overlapping in (True, False)
    for slot in (1, 3, layout.required_size // 2, layout.required_size - 1):
        with contextlib.suppress(ValueError):
            layout.index_of(slot)
    assert time.perf_counter() - start < 5


def test_slots_that_nothing_reaches_need_no_search():
    assert Layout((10**6, 10**6), (2, 4)).index_of(10**6 + 1) is None
    assert Layout((10**6, 10**6, 2), (0, 0, 5)).index_of(3) is None


def test_what_is_too_hard_to_decide_counts_as_overlapping():
    assert HARD[2].is_overlapping
    with pytest.raises(ValueError, match=r"slot: cannot tell which indices of .* share slot"):
        HARD[2].index_of(20 * 10**15)
