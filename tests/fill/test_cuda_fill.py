"""Fills on CUDA: every element, the padding, nothing else; memory accesses."""

import layouts
import numpy as np
import pytest
from cuda_memory import UNTOUCHED, Storage, alignment_of, elements, padding_slots
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import needs_compiler, simulator

from tensorlayout.cuda.engine.launch import bind_launches
from tensorlayout.cuda.engine.scalars import repeat_to_16_bytes
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.fill import plan_fill
from tensorlayout.layout import Layout, PaddingValue

pytestmark = needs_compiler

ITEMSIZES = (1, 2, 4, 8, 16)


@pytest.fixture(scope="module")
def driver():
    with simulator() as result:
        yield result


def value_of(itemsize, first=1):
    """A value of which no two bytes are equal."""
    return bytes(range(first, first + itemsize))


def run(driver, layout, itemsize, shift=0, padding=None):
    """Fill a new storage, and hold all its bytes against brute force."""
    layout = layout.at_origin
    hidden = padding_slots(layout) if padding is not None else []
    slots = max([layout.required_size, *[slot + 1 for slot in hidden]])
    plan = plan_fill(layout, itemsize, alignment_of(shift), padding)
    # One byte more on either side, which must stay.
    storage = Storage(driver, slots * itemsize + 1, shift)
    bind_launches(plan, 0)([storage.pointer], repeat_to_16_bytes(value_of(itemsize)))
    expected = np.full((slots, itemsize), UNTOUCHED, np.uint8)
    if padding is not None:
        expected[hidden] = np.frombuffer(padding, np.uint8)
    expected[layouts.slots_of(layout)] = np.frombuffer(value_of(itemsize), np.uint8)
    result = storage.get()
    np.testing.assert_array_equal(elements(result, itemsize)[:slots], expected)
    assert result[slots * itemsize] == UNTOUCHED
    return plan


CASES = [
    # no element, no padding
    ([], Layout.row_major((0, 3))),
    # no element, but a block
    (["fill_strided"], Layout.padded((0, 3), (2, 3), None, PaddingValue.ONE)),
    # one run of slots
    (["fill_flat"], Layout.column_major((30, 40))),
    # one run of slots, walked backwards
    (["fill_flat"], Layout.row_major((30, 40)).flip((0, 1))),
    # one run of slots, and one of padding
    (["fill_flat"], Layout.padded((30, 40), (32, 40), None, PaddingValue.ONE)),
    # gaps, which nobody owns
    (["fill_strided"], Layout((30, 40), (41, 1))),
    # more dimensions than a kernel is made for
    (["fill_strided"], Layout((2,) * 9, [3**k for k in range(9)])),
    # padding in every dimension
    (["fill_strided"], Layout.padded((2, 1, 3), (3, 2, 4), (0, 1, 2), PaddingValue.ONE)),
    # a row of padding after each row
    (["fill_strided"], Layout.pitched((30, 40), 64, 1, None, PaddingValue.ONE)),
]


@pytest.mark.parametrize("itemsize", ITEMSIZES)
@pytest.mark.parametrize(("names", "layout"), CASES)
def test_every_case_writes_all(driver, names, layout, itemsize):
    with checking("bounds", "races"):
        plan = run(driver, layout, itemsize, padding=value_of(itemsize, 101))
    assert [launch.kernel.name for launch in plan.launches] == names


@pytest.mark.parametrize("itemsize", ITEMSIZES)
@pytest.mark.parametrize("slot", [1, 2, 3, 4, 5, 8, 12, 15, 16, 21])
def test_any_address(driver, itemsize, slot):
    shift = slot * itemsize
    for count in (1, 2, 17, 400):
        run(driver, Layout.row_major((count,)), itemsize, shift)
    run(driver, Layout((7, 9), (20, 2)), itemsize, shift)
    run(driver, Layout.padded((5, 9), (6, 16)), itemsize, shift, value_of(itemsize, 101))


@settings(max_examples=30)
@given(st.data())
def test_any_layout(driver, data):
    layout = data.draw(layouts.layouts(st.one_of(layouts.packed(), layouts.padded())))
    if layout.is_overlapping or layout.is_tiled:
        return
    itemsize = data.draw(st.sampled_from(ITEMSIZES))
    padding = data.draw(st.sampled_from([None, value_of(itemsize, 101)]))
    run(driver, layout, itemsize, data.draw(st.sampled_from([0, 1, 2, 6])) * itemsize, padding)


@pytest.mark.parametrize("itemsize", ITEMSIZES)
@pytest.mark.parametrize(
    ("layout", "width"),
    [
        (Layout.row_major((2**16,)), 16),
        # rows that begin at multiples of 16 bytes
        (Layout((256, 256), (512, 1)), 16),
    ],
)
def test_stores_are_coalesced(driver, layout, itemsize, width):
    plan = plan_fill(layout, itemsize)
    storage = Storage(driver, layout.required_size * itemsize)
    with checking("bounds", "count") as record:
        bind_launches(plan, 0)([storage.pointer], repeat_to_16_bytes(value_of(itemsize)))
    (counts,) = record.counts.values()
    assert counts.sector_efficiency_write == 1.0
    assert counts.lane_activity == 1.0
    assert counts.bytes_per_access == width


def test_one_launch_covers_a_tebibyte():
    for layout in (Layout.row_major((2**40,)), Layout((2**20, 2**20), (2**21, 2))):
        (item,) = plan_fill(layout, 1).launches
        assert item.grid < 2**31


def test_indices_have_64_bits_only_where_the_furthest_offset_asks_for_it():
    def index(layout):
        (item,) = plan_fill(layout, 4).launches
        return dict(item.kernel.shape)["INDEX"]

    assert index(Layout((2, 5), (2**31 - 1 - 8, 2))) == "int32_t"
    assert index(Layout((2, 5), (2**31 - 8, 2))) == "int64_t"
