"""Fused functions that convert to layouts without strides, of operands with and without strides."""

import numpy as np
import pytest
from tensors import host

import tensorlayout as tl
from tensorlayout.layout import Layout

pytestmark = pytest.mark.usefixtures("device")

SHAPE = (5, 6)
ROWS, TILES, OTHERS = (1, 0), "{1,0:T(2,2)}", "{1,0:T(3,4)}"
NIBBLES = Layout.row_major(SHAPE).with_slot_bits(4)
VALUES = np.arange(30).reshape(SHAPE) % 3


def tensor(layout):
    return tl.to_layout(tl.asarray(VALUES, dtype=tl.float32), layout)


@pytest.mark.parametrize("wanted", [ROWS, TILES, OTHERS])
@pytest.mark.parametrize("second", [ROWS, TILES, OTHERS])
@pytest.mark.parametrize("first", [ROWS, TILES, OTHERS])
def test_the_result_has_the_layout_that_the_function_asks_for(first, second, wanted):
    x, y = tensor(first), tensor(second)
    converted = tl.fuse(lambda x, y: tl.to_layout(x + y, wanted))(x, y)
    assert converted.layout == tl.to_layout(x, wanted).layout
    np.testing.assert_array_equal(host(converted), 2 * VALUES)
    then_used = tl.fuse(lambda x, y: tl.to_layout(x, wanted) * tl.to_layout(y, wanted))(x, y)
    np.testing.assert_array_equal(host(then_used), VALUES * VALUES)
    alone = tl.fuse(lambda x: tl.to_layout(x, wanted))(x)
    np.testing.assert_array_equal(host(alone), VALUES)


@pytest.mark.parametrize("layout", [ROWS, TILES])
def test_a_result_below_a_byte(layout):
    fused = tl.fuse(lambda x: tl.to_layout(tl.astype(x + 1, tl.int4), NIBBLES))
    result = fused(tensor(layout))
    assert result.layout == NIBBLES
    assert result.tolist() == (VALUES + 1).tolist()


def test_operands_with_strides_need_no_copy():
    x = tensor(ROWS)
    with tl.no_copies():
        result = tl.fuse(lambda x, y: tl.to_layout(x + y, TILES) * 2)(x, x)
    np.testing.assert_array_equal(host(result), 4 * VALUES)


def test_no_copy_into_the_layout_that_is_there():
    x = tensor(TILES)
    fused = tl.fuse(lambda x: tl.to_layout(x + 1, OTHERS))
    fused(x)
    with tl.trace() as seen:
        fused(x)
    assert [record.kind for record in seen][-1] == "compute"
    assert "copy" not in [record.kind for record in seen]
