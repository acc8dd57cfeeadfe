"""The examples that the DirectML and XLA documents print, number by number."""

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
