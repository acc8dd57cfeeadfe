"""Examples in the documents of DirectML, XLA and cuBLAS, number by number."""

import numpy as np
import pytest

from tensorlayout.layout import Layout, PaddingValue

# --- DirectML: "Using strides to express padding and memory layout" ----------------------------


def table(layout, values):
    """The offsets and the values of a table, as lists of words."""
    offsets, row = layout.table(values).splitlines()
    return offsets.removeprefix("Offset:").split(), row.removeprefix("Value:").split()


COLUMNS = Layout.padded((2, 3), (3, 5), (0, 1), PaddingValue.ZERO)


@pytest.mark.parametrize(
    ("layout", "values", "memory"),
    [
        (Layout((2, 3), (3, 1)), "ABCDEF", "A B C D E F"),
        (Layout((2, 3), (1, 2)), "ABCDEF", "A D B E C F"),
        (Layout((2, 3), (0, 1)), "ABCABC", "A B C"),
        (Layout((2, 3), (5, 1)), "ABCDEF", "A B C x x D E F"),
        (Layout.padded((2, 3), (2, 5)), "ABCDEF", "A B C x x D E F x x"),
        # the padded layouts of XLA in 2017
        (COLUMNS, "ABCDEF", "A D 0 B E 0 C F 0 0 0 0 0 0 0"),
        (COLUMNS.permute((1, 0)), "ADBECF", "A D 0 B E 0 C F 0 0 0 0 0 0 0"),
    ],
)
def test_memory_as_the_documents_draw_it(layout, values, memory):
    offsets, row = table(layout, values)
    assert row == memory.split()
    assert offsets == list(map(str, range(len(row))))


def test_letters_are_the_default_values():
    assert table(Layout((2, 3), (1, 2)), None)[1] == list("ADBECF")
    assert table(Layout((2, 3), (0, 1)), None)[1] == ["A", "B", "C"]
    letters = table(Layout((28,), (1,)), None)[1]
    assert letters[24:] == ["Y", "Z", "AA", "AB"]


def test_columns_of_the_table_are_aligned():
    assert Layout((2, 3), (5, 1)).table().splitlines() == [
        "Offset: 0 1 2 3 4 5 6 7",
        "Value:  A B C x x D E F",
    ]
    assert Layout.row_major((11,)).table(range(100, 111)).splitlines()[0] == (
        "Offset:   0   1   2   3   4   5   6   7   8   9  10"
    )


# --- XLA: tiled layouts ------------------------------------------------------------------------


def test_tiles_that_continue_each_other_are_no_tiles():
    rows = Layout((16, 128), parts=[((2, 1024), (8, 128)), ((1, 1024), (128, 1))])
    assert rows is Layout.row_major((16, 128))
    five = Layout((5, 128), parts=[((1, 1024), (8, 128)), ((1, 1024), (128, 1))])
    assert five is Layout.padded((5, 128), (8, 128))


def test_one_index_in_several_parts_has_the_stride_of_the_last():
    assert Layout((1, 4), parts=[[(1, 7), (1, 9)], [(4, 1)]]).strides == (9, 1)


def test_padding_of_no_dimension_belongs_to_the_first():
    # The second tile is longer than the first, which ends each line of it: every other slot.
    layout = Layout.tiled((1, 2), [(1,), (2,)])
    assert (layout.padded_shape, layout.parts) == ((2, 2), (((1, 1),), ((2, 2),)))


def test_padding_that_continues_other_padding_makes_no_tiles():
    layout = Layout.tiled((1, 1), [(2, 1), (4,)])
    assert (layout.padded_shape, layout.is_tiled) == ((8, 1), False)


# --- cuBLAS: "1D Block Scaling Factors Layout" ------------------------------------------------

# It has an offset inside of a tile, and that of a tile, whose rows are counted in tiles there.
SIZES = [
    *((1, 1), (1, 5), (31, 3), (32, 4), (33, 3), (127, 1), (128, 4), (128, 8), (129, 1)),
    *((130, 6), (256, 4), (300, 17), (384, 12)),
]


def slots(rows, columns):
    """The documented offset of each factor, in whole tiles, and how many slots those take."""
    inner = -(-columns // 4) * 4
    outer = -(-rows // 128) * 128
    places = np.empty((rows, columns), np.int64)
    for row in range(rows):
        for column in range(columns):
            tile = (column // 4 * 4 + row // 128 * inner) * 128
            within = row % 128
            places[row, column] = tile + (within % 32) * 16 + (within // 32) * 4 + column % 4
    return places, outer * inner


@pytest.mark.parametrize("size", SIZES)
def test_each_factor_is_where_the_documents_put_it(size):
    layout = Layout.scale_factors(*size)
    places, count = slots(*size)
    results = [[layout.offset_of((i, j)) for j in range(size[1])] for i in range(size[0])]
    np.testing.assert_array_equal(results, places)
    assert (layout.shape, layout.required_size, layout.offset) == (size, count, 0)
    assert layout.covers_block


def test_without_factors():
    for size in ((0, 4), (5, 0), (0, 0)):
        layout = Layout.scale_factors(*size)
        assert (layout.shape, layout.required_size) == (size, 0)


def test_huge():
    layout = Layout.scale_factors(2**40 + 1, 2**20)
    assert layout.offset_of((2**40, 2**20 - 1)) == 2**60 + (2**18 - 1) * 512 + 3
    assert layout.required_size == (2**40 + 128) * 2**20


def test_padding():
    assert Layout.scale_factors(130, 6).padding_value is PaddingValue.ZERO
    assert Layout.scale_factors(130, 6).padding_size == 256 * 8 - 130 * 6
    assert Layout.scale_factors(130, 6, "ONE").padding_value is PaddingValue.ONE
    assert Layout.scale_factors(128, 4).padding_size == 0
