"""Names of orders, and short texts of layouts in tables, errors and ``repr``."""

import itertools
import re

import pytest

import tensorlayout as tl
from tensorlayout import Layout
from tensorlayout.layout import describe_order, order_name, short_layout, short_order_change


@pytest.mark.parametrize("rank", range(7))
def test_a_name_stands_for_its_layout(rank):
    shape = (2, 3, 4, 5, 3, 2)[:rank]
    for order in itertools.islice(itertools.permutations(range(rank)), 200):
        layout = Layout.packed(shape, order)
        name = order_name(layout)
        assert (name is None) == (
            rank > 5 and order not in (tuple(range(rank)), (5, 4, 3, 2, 1, 0))
        )
        if name is not None:
            assert tl.zeros(shape, layout=name).layout is layout


def test_sizes_of_one_keep_their_order():
    layout = Layout.labelled((2, 1, 4, 5), "NHWC")
    assert (order_name(layout), short_layout(layout)) == ("NHWC", "NHWC (2,1,4,5)")


@pytest.mark.parametrize(
    "layout",
    [
        Layout((2, 3), (5, 1)),
        Layout((2, 3), (-3, 1), offset=3),
        Layout((2, 3), (0, 1)),
        Layout((2, 3), (3, 1), offset=1),
        Layout.padded((2, 3), (2, 4)),
        Layout.tiled((4, 4), [(2, 2)]),
        Layout.parse("(4,):(1,) bits=4"),
        Layout.packed((2, 3, 2, 2, 2, 2), (1, 0, 2, 3, 4, 5)),
    ],
    ids=str,
)
def test_what_has_no_name(layout):
    assert order_name(layout) is None
    x = tl.zeros(layout.shape, dtype=tl.int4, layout=layout.form)
    text = re.search(r"layout='(.*)'", repr(x))
    assert text is None or tl.zeros(x.shape, dtype=tl.int4, layout=text[1]).layout is x.layout


def test_short_texts():
    assert short_layout(Layout.row_major(())) == "()"
    assert short_layout(Layout.row_major((0, 3))) == "(0,3)"
    assert short_layout(Layout((4, 3), (1, 4), offset=9)) == "F (4,3)"
    assert short_layout(Layout((3,), (-1,), offset=7)) == "(3,):(-1,)+2"
    long = short_layout(Layout((1000, 1000, 1000, 1000), (2**40, 2**30, 2**20, 3)))
    assert long == "(1000,1000,1000,1000…73741824,1048576,3)"


def test_changes_of_order():
    nchw, nhwc = (Layout.labelled((2, 3, 4, 5), labels) for labels in ("NCHW", "NHWC"))
    assert short_order_change(nchw, nhwc) == "NCHW -> NHWC (2,3,4,5)"
    assert (
        short_order_change(Layout.column_major((2, 3)), Layout.row_major((2, 3))) == "F -> C (2,3)"
    )
    assert short_order_change(nchw, nchw) is None
    assert short_order_change(nchw, Layout.row_major((6, 20))) is None
    assert short_order_change(Layout((2, 3), (5, 1)), Layout.row_major((2, 3))) is None


def test_orders_in_sentences():
    nhwc, gaps = Layout.labelled((2, 3, 4, 5), "NHWC"), Layout((2, 3), (5, 1))
    assert describe_order(Layout.row_major((2, 3, 4, 5)), nhwc) == "NCHW"
    assert describe_order(Layout.row_major((2, 3)), gaps) == "row-major order"
    assert describe_order(Layout.column_major((2, 3)), gaps) == "column-major order"
    assert describe_order(gaps, gaps) == "layout (2,3):(5,1)"
