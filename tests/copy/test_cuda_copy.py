"""Copies on CUDA: the case of each layout, every element and nothing else, and memory accesses."""

import ctypes
import math
import operator

import layouts
import numpy as np
import pytest
from cuda_memory import (
    NEVER_SMALL,
    TILES,
    UNTOUCHED,
    Storage,
    alignment_of,
    assert_coalesced,
    elements,
    numbered,
    padding_slots,
    planned_with,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import needs_compiler, simulator

from tensorlayout.cuda.copy import plan_copy
from tensorlayout.cuda.engine import structs
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import bind_launches
from tensorlayout.cuda.engine.shared_tiles import tile as tiles
from tensorlayout.cuda.engine.shared_tiles.choice import choose_tile_of_copy
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.layout import Layout, PaddingValue
from tensorlayout.layout.loop import Loop

pytestmark = needs_compiler

ITEMSIZES = (1, 2, 4, 8, 16)

row_major, column_major = Layout.row_major, Layout.column_major


def nhwc(shape):
    return Layout.labelled(shape, "NHWC")


@pytest.fixture(scope="module")
def driver():
    with simulator() as result:
        yield result


def run(driver, destination, source, itemsize, *, shifts=(0, 0), padding=None, tuning=()):
    """Copy between new storages, and hold all bytes of the destination against brute force."""
    destination, source = destination.at_origin, source.at_origin
    slots = destination.required_size
    if padding is not None:
        slots = max([slots, *[slot + 1 for slot in padding_slots(destination)]])
    alignments = tuple(map(alignment_of, shifts))
    with planned_with(dict(tuning)):
        plan = plan_copy(destination, source, itemsize, alignments, padding)
    content = numbered(source.required_size * itemsize)
    to = Storage(driver, slots * itemsize, shifts[0])
    from_ = Storage(driver, len(content), shifts[1], content)
    bind_launches(plan, 0)([to.pointer, from_.pointer])
    expected = np.full((slots, itemsize), UNTOUCHED, np.uint8)
    if padding is not None:
        expected[padding_slots(destination)] = np.frombuffer(padding, np.uint8)
    expected[slot_numbers(destination)] = elements(content, itemsize)[slot_numbers(source)]
    np.testing.assert_array_equal(elements(to.get(), itemsize), expected)
    return plan


def slot_numbers(layout):
    """The slots of all elements, in row-major order of the indices."""
    if layout.is_tiled:
        return np.array(layouts.slots_of(layout), np.int64)
    slots = np.full(layout.shape, layout.offset, np.int64)
    for d, (size, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        slots += (np.arange(size) * stride).reshape(-1, *[1] * (layout.ndim - 1 - d))
    return slots.ravel()


FLIPPED = column_major((300, 400)).flip((0, 1))


# --- Which case ----------------------------------------------------------------------------------

CASES = [
    ("empty", row_major((0, 3)), row_major((0, 3)), 4, (32, 32)),  # no element
    # one run on both sides, whatever the shape
    ("flat", row_major((300, 400)), row_major((300, 400)), 4, (32, 32)),
    ("flat", FLIPPED, FLIPPED, 4, (32, 32)),  # one run on both sides, in the same order, backwards
    # small: whatever it costs, it is less than a launch
    ("flat", row_major((300,)), row_major((300,)), 1, (1, 1)),
    ("flat", row_major((301,)), row_major((301,)), 1, (32, 32)),  # bytes behind the last 16
    # rows of 4096 bytes that begin at multiples of 16 on both sides
    ("rows", Layout.pitched((300, 1000), 4096, 4), row_major((300, 1000)), 4, (32, 32)),
    # rows without an element of the source left out, each read again and again
    ("rows", row_major((300, 1000)), Layout((300, 1000), (0, 1)), 4, (32, 32)),
    # pixels of 4 bytes, of which every second is taken: elements of 4 bytes
    ("rows", row_major((300, 300, 4)), Layout((300, 300, 4), (2400, 8, 1)), 1, (32, 32)),
    # every second element: no run, and no order better than that of the destination
    ("strided", row_major((90000,)), Layout((90000,), (2,)), 4, (32, 32)),
    ("strided", row_major((60, 70)), column_major((60, 70)), 4, (32, 32)),  # transposed, but small
    # one value for each row of the destination
    ("repeated", row_major((300, 400)), Layout((300, 400), (1, 0)), 4, (32, 32)),
    # one value for all of every second element, or of bytes that end inside of 16
    ("strided", Layout((20000,), (2,)), Layout((20000,), (0,)), 4, (32, 32)),
    ("strided", row_major((99999,)), Layout((99999,), (0,)), 1, (32, 32)),
    # one value for all
    ("repeated", row_major((300, 400)), Layout((300, 400), (0, 0)), 1, (32, 32)),
    # transposed: the sides differ in their fastest dimension
    ("tiles", row_major((300, 400)), column_major((300, 400)), 4, (32, 32)),
    # interleaved channels become planes
    ("tiles", row_major((2, 3, 150, 150)), nhwc((2, 3, 150, 150)), 1, (32, 32)),
    # rows of an odd number of elements begin in the midst of sectors, which the cache keeps
    ("rows", Layout.pitched((100, 1001), 4096, 4), row_major((100, 1001)), 4, (32, 32)),
    ("rows", row_major((298, 398)), row_major((300, 400)).slice((slice(1, -1),) * 2), 2, (32, 32)),
    # planes of three channels become pixels: three runs, read side by side
    ("strided", nhwc((2, 3, 101, 131)), row_major((2, 3, 101, 131)), 2, (32, 32)),
    # a flip: read backwards, but whole sectors
    ("strided", row_major((300, 512)), row_major((300, 512)).flip((1,)), 1, (32, 32)),
    # one run on both sides, but of bytes at an odd address
    ("flat", row_major((90000,)), row_major((90000,)), 1, (32, 1)),
]  # fmt: skip


KERNELS = {
    "empty": "",
    "flat": "copy_flat",
    "rows": "copy_strided",
    "strided": "copy_strided",
    "repeated": "copy_strided",
    "tiles": "copy_tiles",
}


@pytest.mark.parametrize(("case", "destination", "source", "itemsize", "alignments"), CASES)
def test_the_case_of_each_layout(driver, case, destination, source, itemsize, alignments):
    shifts = tuple([0 if a == 32 else a for a in alignments])
    with checking("bounds", "barriers", "initialized", "races"):
        plan = run(driver, destination, source, itemsize, shifts=shifts)
    assert plan.case == case
    assert [launch.kernel.name for launch in plan.launches] == [KERNELS[case]] * (case != "empty")


def depth(destination, source, itemsize):
    """Return the number of dimensions of a box."""
    loop = Loop.over_layouts((destination.at_origin, source.at_origin), (itemsize,) * 2, (32, 32))
    return len(choose_tile_of_copy(loop.with_widest_elements(16)).axes)


def test_boxes_are_deep_where_three_dimensions_have_no_long_runs():
    """And nowhere else, since tables of their places take longer."""
    for shape in [(2, 3, 427, 400), (8, 8, 8, 8, 8), (4, 5, 6, 7, 8, 9), (2,) * 16]:
        assert depth(column_major(shape), row_major(shape), 1) > 3
    for shape in [(300, 400), (20, 30, 40), (16, 12, 197, 64)]:
        assert depth(column_major(shape), row_major(shape), 4) <= 3
    images = (8, 64, 56, 56)
    assert depth(nhwc(images), row_major(images), 2) <= 3
    weights = (256, 256, 3, 3)
    assert depth(Layout.packed(weights, (1, 0, 3, 2)), row_major(weights), 4) <= 3


@pytest.mark.parametrize("itemsize", ITEMSIZES)
def test_accesses_are_16_bytes_wide_where_all_is_aligned(itemsize):
    for d, s in [
        (row_major((4096,)), row_major((4096,))),
        (Layout.pitched((64, 48), 1024, itemsize), row_major((64, 48))),
        (row_major((64, 64)), Layout((64, 64), (1, 0))),
    ]:
        (launch,) = plan_copy(d, s, itemsize).launches
        assert dict(launch.kernel.shape)["WIDTH"] == "16"


def test_indices_have_64_bits_only_where_the_furthest_offset_asks_for_it():
    def index(destination, source):
        (launch,) = plan_copy(destination, source, 4).launches
        return dict(launch.kernel.shape)["INDEX"]

    one = Layout((2, 3, 5), (100, 30, 2))
    assert index(one, Layout((2, 3, 5), (2**31 - 1 - 68, 30, 2))) == "int32_t"
    assert index(one, Layout((2, 3, 5), (2**31 - 68, 30, 2))) == "int64_t"
    assert index(Layout((2, 3, 5), (2**31 - 68, 30, 2)), one) == "int64_t"
    # many elements in few slots
    assert index(Layout((2**16, 2**16), (2**17, 2)), Layout((2**16, 2**16), (0, 2))) == "int64_t"


@pytest.mark.parametrize(
    ("destination", "source"),
    [
        (row_major((2**40,)), row_major((2**40,))),
        (row_major((2**20, 2**20)), column_major((2**20, 2**20))),
        (row_major((2**20, 2**20)), Layout((2**20, 2**20), (2**21, 2))),
        (nhwc((2**12, 3, 2**14, 2**14)), row_major((2**12, 3, 2**14, 2**14))),
    ],
)
def test_one_launch_covers_a_tebibyte(destination, source):
    plan = plan_copy(destination, source, 1)
    assert [launch.grid < 2**31 for launch in plan.launches] == [True]


# --- Every element, and nothing else -------------------------------------------------------------


# Layouts of a copy through boxes, which have more than three dimensions for elements of up to so
# many bytes.
BOXES = [
    # more dimensions than any kernel is made for: all are short, and none is whole in the box
    (row_major((2,) * 13), column_major((2,) * 13), 16),
    (column_major((2,) * 13), row_major((2,) * 13), 16),
    # a box of three dimensions: pixels of three elements, transposed, and flipped on one side
    (row_major((40, 30, 3)), Layout.packed((40, 30, 3), (2, 0, 1)).flip((0, 1, 2)), 0),
    (row_major((40, 70)).flip((0,)), column_major((40, 70)), 0),
    # two short dimensions before a long one
    (Layout.packed((700, 6, 5), (0, 1, 2)), row_major((700, 6, 5)), 0),
    # a broadcast dimension between transposed ones
    (row_major((40, 5, 30)), Layout((40, 5, 30), (1, 0, 40)), 0),
    # steps of two on both sides, transposed
    (Layout((40, 50), (200, 2)), Layout((40, 50), (2, 100)), 0),
    # odd everything
    (nhwc((2, 3, 17, 29)), row_major((2, 3, 17, 29)), 0),
    (Layout.pitched((31, 129), 4096, 16, None, PaddingValue.ONE), row_major((31, 129)), 0),
    # many dimensions of other sizes
    (column_major((7, 5, 9, 6, 8)), row_major((7, 5, 9, 6, 8)), 8),
    (Layout.packed((4, 5, 6, 7, 8, 3), (1, 3, 5, 0, 2, 4)), row_major((4, 5, 6, 7, 8, 3)), 4),
    # short ones before a long one, of which the last box ends early
    (column_major((2, 3, 61, 67)), row_major((2, 3, 61, 67)), 4),
    # read backwards, in all and in some; written backwards
    (column_major((5, 4, 7, 9, 6)), row_major((5, 4, 7, 9, 6)).flip((0, 1, 2, 3, 4)), 4),
    (column_major((2, 3, 61, 67)).flip((2,)), row_major((2, 3, 61, 67)).flip((0, 3)), 4),
    # one that is repeated; steps on both sides
    (column_major((4, 3, 5, 6, 7, 2)), Layout((4, 3, 5, 6, 7, 2), (420, 140, 0, 14, 2, 1)), 2),
    (Layout((4, 3, 5, 6, 7), (2, 8, 24, 120, 720)), row_major((4, 3, 5, 6, 7)), 2),
    # padding
    (
        Layout.padded((3, 4, 5, 6, 7), (4, 5, 5, 6, 8), (0, 1, 2, 3, 4), PaddingValue.ONE),
        row_major((3, 4, 5, 6, 7)), 2,
    ),
]  # fmt: skip


@pytest.mark.parametrize("itemsize", ITEMSIZES)
def test_boxes(driver, itemsize):
    with checking("bounds", "barriers", "initialized", "races"):
        for number, (destination, source, deepest) in enumerate(BOXES, ITEMSIZES.index(itemsize)):
            shifts = [(0, 0), (itemsize, 0), (0, 3 * itemsize)][number % 3]
            plan = run(
                driver, destination, source, itemsize,
                shifts=shifts, padding=b"\7" * itemsize, tuning=TILES,
            )  # fmt: skip
            assert plan.case == "tiles"
            assert itemsize > deepest or depth(destination, source, itemsize) > 3


# Elements of 1 and 2 bytes that are turned in registers: rows of whole sectors in the source, of
# whole words in the destination.
SQUARES = [
    (row_major((64, 96)), column_major((64, 96))),
    (row_major((160, 292)), column_major((160, 292))),  # boxes that end early along both
    # read backwards along a row, from row to row, and both
    (row_major((64, 96)), column_major((64, 96)).flip((0,))),
    (row_major((64, 96)), column_major((64, 96)).flip((1,))),
    (row_major((64, 96)), column_major((64, 96)).flip((0, 1))),
    # as many channels as a word has, more, and a run of several dimensions in either memory
    (nhwc((2, 4, 32, 32)), row_major((2, 4, 32, 32))),
    (nhwc((2, 12, 32, 17)), Layout((2, 12, 32, 17), (12 * 576, 576, 17, 1))),
    (row_major((2, 32, 9, 12)), nhwc((2, 32, 9, 12))),
    (column_major((8, 32, 5, 4)), row_major((8, 32, 5, 4))),
    # four rows of the source, far from each other, and padding
    (Layout.pitched((72, 4), 16, 1, None, PaddingValue.ONE), Layout((72, 4), (1, 4096))),
]


@pytest.mark.parametrize("itemsize", [1, 2])
def test_squares(driver, itemsize):
    with checking("bounds", "barriers", "initialized", "races"):
        for destination, source in SQUARES:
            plan = run(
                driver, destination, source, itemsize, padding=b"\7" * itemsize, tuning=TILES
            )
            (launch,) = plan.launches
            assert dict(launch.kernel.shape)["TILE"] == "4", (destination, source)
            # words of a destination, and sectors of a source, that begin elsewhere
            for shifts in [(itemsize, 0), (0, 4)]:
                (launch,) = run(
                    driver, destination, source, itemsize, shifts=shifts, tuning=TILES
                ).launches
                assert dict(launch.kernel.shape)["TILE"] == str(itemsize)


def test_no_squares_where_rows_of_the_destination_would_be_short():
    """Words of rows of 35 elements: no box has more than 2 words of a row of 13."""
    shape = (26, 16, 37, 35)
    (launch,) = plan_copy(column_major(shape), row_major(shape), 2).launches
    assert dict(launch.kernel.shape)["TILE"] == "2"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_box(driver, data):
    """Two to four dimensions around the sizes of words, sectors and warps, in rows of any pitch."""
    sizes = st.sampled_from([2, 3, 4, 5, 8, 12, 31, 32, 33, 64, 96, 129, 256])
    shape = data.draw(st.lists(sizes, min_size=2, max_size=4))
    while math.prod(shape) > 20000:
        shape.pop()
    pads = st.tuples(*[st.sampled_from([0, 0, 1, 4, 32])] * len(shape))
    orders, turned = st.permutations(range(len(shape))), st.sets(st.sampled_from(range(len(shape))))

    def layout():
        padded = tuple(map(operator.add, shape, data.draw(pads)))
        return Layout.padded(tuple(shape), padded, tuple(data.draw(orders)), PaddingValue.ONE)

    itemsize = data.draw(st.sampled_from([1, 1, 2, 2, 4, 8, 16]))
    shifts = data.draw(st.tuples(*[st.sampled_from([0, 0, itemsize, 2 * itemsize, 16])] * 2))
    destination, source = layout(), layout().flip(tuple(data.draw(turned)))
    padding = data.draw(st.sampled_from([None, bytes(range(1, itemsize + 1))]))
    with checking("bounds", "barriers", "initialized", "races"):
        run(driver, destination, source, itemsize, shifts=shifts, padding=padding, tuning=TILES)


@pytest.mark.parametrize("itemsize", [1, 4])
def test_padding_of_more_regions_than_a_launch_holds(driver, itemsize):
    padded = Layout.padded((1, 2, 1, 2, 1, 2), (2, 3, 2, 3, 2, 3), None, PaddingValue.ONE)
    plan = run(driver, padded, row_major(padded.shape), itemsize, padding=b"\1" * itemsize)
    assert len(plan.launches) == 7


def test_offsets_beyond_32_bits(driver):
    far = 2**31 + 100
    for case, destination, source, tuning in [
        ("rows", row_major((2, 3000)), Layout((2, 3000), (far - 4, 1)), {}),
        ("strided", Layout((2, 300), (far, 2)), row_major((2, 300)), {}),
        ("tiles", row_major((30, 2, 20)), Layout((30, 2, 20), (1, far, 30)), TILES),
        ("tiles", Layout((30, 2, 20), (1, far, 30)), row_major((30, 2, 20)), TILES),
        # a box of all rows would reach further than its places say
        ("tiles", row_major((50, 40)), Layout((50, 40), (1, 2**27)), TILES),
        ("tiles", Layout((50, 40), (1, 2**27)), row_major((50, 40)), TILES),
    ]:
        with planned_with(tuning):
            plan = plan_copy(destination, source, 1)
        assert plan.case == case
        # Memory that nobody touches costs nothing: only the first and the last pages exist.
        to, from_ = (driver.allocate(x.required_size, 0) for x in (destination, source))
        content = numbered(destination.size)
        view(source, from_.pointer)[...] = content.reshape(source.shape)
        bind_launches(plan, 0)([to.pointer, from_.pointer])
        np.testing.assert_array_equal(
            view(destination, to.pointer), content.reshape(destination.shape)
        )


def view(layout, address):
    """The elements of one byte of a layout in simulated memory."""
    memory = (ctypes.c_uint8 * layout.required_size).from_address(address)
    return np.ndarray(layout.shape, np.uint8, memory, 0, layout.strides)


# --- Memory accesses -----------------------------------------------------------------------------

# (name, destination, source, itemsizes): powers of two, odd sizes, three channels.
WEIGHTS, HEADS = (128, 128, 3, 3), (3, 12, 97, 64)
COUNTED = [
    ("2-D transpose", row_major((256, 512)), column_major((256, 512)), (1, 2, 4, 8, 16)),
    ("2-D transpose of 8s", row_major((300, 400)), column_major((300, 400)), (2, 4, 8)),
    ("2-D transpose, odd", row_major((531, 513)), column_major((531, 513)), (2, 4, 8)),
    ("NCHW to NHWC", nhwc((2, 3, 64, 96)), row_major((2, 3, 64, 96)), (1, 2, 4, 8)),
    ("NHWC to NCHW", row_major((2, 3, 64, 96)), nhwc((2, 3, 64, 96)), (1, 2, 4, 8)),
    ("NCHW to NHWC, odd", nhwc((2, 3, 101, 131)), row_major((2, 3, 101, 131)), (1, 2, 4, 8)),
    ("NHWC to NCHW, odd", row_major((2, 3, 101, 131)), nhwc((2, 3, 101, 131)), (1, 2, 4, 8)),
    ("NHWC to NCHW, 64 channels", row_major((2, 64, 15, 15)), nhwc((2, 64, 15, 15)), (2, 4, 8)),
    # squares, of which a warp has two rows
    ("32 x 32, 64 channels", row_major((2, 64, 32, 32)), nhwc((2, 64, 32, 32)), (1, 2)),
    ("to padded rows of 513", Layout((300, 513), (1024, 1)), row_major((300, 513)), (1, 2, 4, 8)),
    ("from padded rows of 513", row_major((300, 513)), Layout((300, 513), (1024, 1)), (1, 2, 4, 8)),
    ("to padded rows of 512", Layout((70, 512), (768, 1)), row_major((70, 512)), (1, 2, 4, 8)),
    ("reversed pairs", column_major((2,) * 16), row_major((2,) * 16), (1, 2, 4, 8, 16)),
    ("reversed eights", column_major((8,) * 5), row_major((8,) * 5), (1, 2, 4, 8)),
    ("NCHW to columns", column_major((2, 3, 128, 128)), row_major((2, 3, 128, 128)), (1, 2, 4, 8)),
    ("NCHW to columns, odd", column_major((2, 3, 101, 131)), row_major((2, 3, 101, 131)), (4, 8)),
    ("weights", Layout.packed(WEIGHTS, (1, 0, 3, 2)), row_major(WEIGHTS), (1, 2, 4)),
    ("heads", column_major(HEADS), row_major(HEADS), (4, 8)),
    ("seven sizes", column_major((4, 5, 6, 7, 8, 9, 10)), row_major((4, 5, 6, 7, 8, 9, 10)), (2,)),
    ("flipped rows", row_major((70, 512)), row_major((70, 512)).flip((1,)), (1, 2, 4, 8)),
]  # fmt: skip


def run_counted(driver, destination, source, itemsize):
    with checking("bounds", "count") as record:
        plan = run(driver, destination, source, itemsize, tuning=NEVER_SMALL)
    (counts,) = record.counts.values()
    return plan, counts


@pytest.mark.parametrize("itemsize", ITEMSIZES)
def test_flat_copies_touch_no_sector_twice(driver, itemsize):
    plan, counts = run_counted(driver, row_major((2**16,)), row_major((2**16,)), itemsize)
    assert plan.case == "flat"
    assert counts.sector_efficiency_read == counts.sector_efficiency_write == 1.0
    assert counts.lane_activity >= 0.99
    assert counts.bytes_per_access == 16


@pytest.mark.parametrize(
    ("destination", "source", "itemsize"),
    [
        pytest.param(destination, source, itemsize, id=f"{name}: {itemsize}")
        for name, destination, source, itemsizes in COUNTED
        for itemsize in itemsizes
    ],
)
def test_copies_are_coalesced_on_both_sides(driver, destination, source, itemsize):
    plan, counts = run_counted(driver, destination, source, itemsize)
    assert_coalesced(counts, plan.case)


def test_rows_of_400_bytes_in_512_padding_included(driver):
    """13 sectors of elements and 4 of padding, for 16 of memory: 0.94 at best."""
    padded = Layout.pitched((300, 400), 512, 1, None, PaddingValue.ONE)
    with checking("bounds", "count") as record:
        run(driver, padded, row_major((300, 400)), 1, padding=b"\1")
    (counts,) = record.counts.values()
    assert counts.sector_efficiency_write >= 0.9


# --- What kernels are given ----------------------------------------------------------------------


def test_division_by_multiplication(driver):
    edges = [2**k + d for k in range(31) for d in (-1, 0, 1)]
    draws = np.random.default_rng(5).integers(1, 2**31, 200).tolist()
    divisors = sorted({d for d in [*range(1, 300), *edges, *draws, 2**31 - 1] if 0 < d < 2**31})
    numbers = np.array(
        sorted({n for n in [*range(300), *edges, *draws, 2**31 - 1] if 0 <= n < 2**31}), np.uint32
    )
    constants = b"".join([bytes(structs.divisor32_struct(d)) for d in divisors])
    quotients = Storage(driver, 4 * len(divisors) * len(numbers))
    given_divisors = Storage(driver, len(constants), 0, np.frombuffer(constants, np.uint8))
    given_numbers = Storage(driver, numbers.nbytes, 0, numbers.view(np.uint8))
    count = len(divisors) * len(numbers)
    pointers = [x.pointer for x in (quotients, given_divisors, given_numbers)]
    packed = np.array([*pointers, len(numbers), count], np.int64).tobytes()
    kernel = Kernel(f"{layouts.__file__[:-10]}../kernels/dividing.cu", "divide")
    driver.launcher(kernel)(-(-count // 256), bytearray(packed))
    expected = numbers[None, :] // np.array(divisors, np.uint32)[:, None]
    np.testing.assert_array_equal(quotients.get().view(np.uint32), expected.ravel())


def test_division_by_one_multiplication():
    """As far as threads of a box are numbered."""
    edges = [2**k + d for k in range(1, 17) for d in (-1, 0, 1)]
    for divisor in sorted({d for d in [*range(2, 300), *edges] if 1 < d < 2**16}):
        result = tiles.small_divisor_struct(divisor)
        assert 2**32 - result.minus == divisor
        most = min(2**32 // divisor, 80000)
        numbers = np.arange(max(most, divisor), dtype=np.uint64)
        np.testing.assert_array_equal(numbers * result.magic >> 32, numbers // divisor)
