"""Tiled layouts on CUDA: every element, tails and their padding, launches, and memory accesses."""

import math

import numpy as np
import pytest
from cuda_memory import (
    TILES,
    UNTOUCHED,
    Storage,
    assert_coalesced,
    elements,
    numbered,
    padding_slots,
)
from simulated import needs_compiler, simulator
from test_cuda_copy import ITEMSIZES, column_major, row_major, run, slot_numbers

import tensorlayout as tl
from tensorlayout.cuda.copy import intermediate_spec, plan_copy
from tensorlayout.cuda.elementwise import accepts_tiles
from tensorlayout.cuda.engine.launch import bind_launches
from tensorlayout.cuda.engine.memory import read_bytes
from tensorlayout.cuda.engine.scalars import repeat_to_16_bytes
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.fill import plan_fill, plan_padding
from tensorlayout.devices import Device
from tensorlayout.layout import Layout, PaddingValue, loop
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.tensor import TensorSpec

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def driver():
    with simulator() as result:
        yield result


def tiled(shape, *tiles, order=None, value=PaddingValue.UNSPECIFIED):
    """The fastest dimensions in tiles, and those in tiles again; `order`: slowest first."""
    return Layout.tiled(shape, tiles, order and order[::-1], value)


def blocked(shape, block, value=PaddingValue.UNSPECIFIED):
    """NCHW with blocks of channels innermost: nChw16c, nChw8c."""
    n, c, h, w = shape
    groups = -(-c // block)
    steps = [groups * h * w * block, h * w * block, w * block, block]
    parts = [[(n, steps[0])], [(groups, steps[1]), (block, 1)], [(h, steps[2])], [(w, steps[3])]]
    return Layout(shape, parts=parts, padding_value=value)


def tails(shape, *tiles, **options):
    """The same, with zeros in the tails."""
    return tiled(shape, *tiles, value=PaddingValue.ZERO, **options)


# Layouts of one shape, whose tiles divide each other.
KINDS = [
    # two tiles in each dimension, the last with a tail in both
    [
        row_major((13, 21)), column_major((13, 21)), tails((13, 21), (4, 8)),
        tails((13, 21), (8, 8), (2, 1)), tails((13, 21), (4, 8), order=(1, 0)),
    ],
    # tiles in tiles, of which either dimension ends inside several
    [
        row_major((3, 11, 9)), Layout.packed((3, 11, 9), (0, 2, 1)),
        tails((3, 11, 9), (4, 4), (2, 2)), tails((3, 11, 9), (2, 2, 4)), tails((3, 11, 9), (8,)),
    ],
    # one tile that is larger than the tensor; one dimension in tiles
    [row_major((5, 6)), tails((5, 6), (8, 8)), tails((5, 6), (4,)), tails((5, 6), (4, 4), (1, 2))],
    # blocks of channels, more of them than there are
    [row_major((2, 5, 3, 3)), blocked((2, 5, 3, 3), 4, PaddingValue.ONE),
     blocked((2, 5, 3, 3), 16, PaddingValue.ONE)],
]  # fmt: skip
PAIRS = [(d, s) for kind in KINDS for d in kind for s in kind if d.is_tiled or s.is_tiled]


def test_copies_move_every_element_and_nothing_else(driver):
    with checking("bounds", "barriers", "initialized", "races"):
        for number, (destination, source) in enumerate(PAIRS):
            itemsize = ITEMSIZES[number % len(ITEMSIZES)]
            padding = bytes(range(1, itemsize + 1)) if destination.is_padded else None
            for options in ({}, {"tuning": TILES, "padding": padding}):
                plan = run(driver, destination, source, itemsize, **options)
                assert len(plan.launches) == 1


WHOLE = tails((12, 24), (4, 8))
# Tiles backwards, tiles cut out, and steps; a view owns no padding.
VIEWS = [
    WHOLE.flip((0, 1)),
    WHOLE.permute((1, 0)),
    WHOLE.slice((slice(4, 12), slice(8, 21))),
    WHOLE.slice((slice(None), slice(3, 7))),
    WHOLE.slice((slice(None, None, 4), slice(None))),
    WHOLE.slice((slice(None, None, -1),)),
    WHOLE.slice((2,)),
]
# Padding behind elements that run backwards: it stands at the high end in memory.
TURNED = Layout.parse("(3,1,13,3):(-4,1,32,2*16+2*2)+8 padded=(4,2,13,4) padding=ZERO")
MIXED = Layout.parse("(4,3):(2*-8+2*2,2*4+2*1)+8 padded=(4,4) padding=ZERO")
BACKWARDS = [TURNED, TURNED.flip((2,)), MIXED]
AWKWARD = [
    # the source runs backwards along a dimension with a tail
    ("(13,2,2,2):(2*48+8*1,-16,8,96)+16 padded=(16,3,2,2)",
     "(13,2,2,2):(-128,4,1*1+2*64,16)+1536 padded=(13,4,8,4)"),
    # so does a strided destination with padding
    ("(20,13,20):(1,-40,520)+480 padded=(40,13,20)", "(20,13,20):(320,2*32+8*1,5*64+4*8)"),
    # the last box has no element
    ("(13,1,2):(2*96+2*16+4*1,4,32) padded=(16,4,3)", "(13,1,2):(7*32+2*4,1,8) padded=(14,4,4)"),
]  # fmt: skip
SPECIAL = [
    *((view.at_origin, row_major(view.shape), 4) for view in VIEWS),
    *((column_major(view.shape), view.at_origin, 4) for view in VIEWS),
    *((tails(view.shape, (8,)), view.at_origin, 2) for view in VIEWS),
    *((layout, row_major(layout.shape), 2) for layout in BACKWARDS),
    *((Layout.parse(destination), Layout.parse(source), 16) for destination, source in AWKWARD),
]


def test_special_copies(driver):
    with checking("bounds", "initialized"):
        for destination, source, itemsize in SPECIAL:
            padding = bytes(range(1, itemsize + 1)) if destination.is_padded else None
            for options in ({}, {"tuning": TILES}):
                run(driver, destination, source, itemsize, padding=padding, **options)


def test_tails_in_more_dimensions_than_a_launch_takes(driver):
    shape = (3, 3, 3, 3, 3)
    layout = tails(shape, (2,) * 5)
    for destination, source, padding in [
        (layout, row_major(shape), None),
        (layout, row_major(shape), b"\1\2"),
        (row_major(shape), layout, None),
    ]:
        assert run(driver, destination, source, 2, padding=padding).case == "pieces"
    check_fill(driver, layout, 2, b"\1\2")
    check_fill(driver, layout, 2, None)


def test_tiles_that_do_not_divide_each_other_have_no_common_walk():
    one, other = tails((13, 21), (4, 8)), tails((13, 21), (3, 8))
    specs = [TensorSpec(np.dtype("float32"), item, Device("cuda", 0)) for item in (one, other)]
    assert intermediate_spec(*specs, None).layout == row_major((13, 21))


def test_the_case_of_each_layout():
    def case(destination, source, itemsize=4, padding=None):
        plan = plan_copy(destination, source, itemsize, (32, 32), padding)
        return plan.case, plan.launches[0].kernel.name

    even, odd = (512, 512), (1000, 1000)
    # without tails, they are strided layouts of more dimensions
    assert case(tiled(even, (8, 128)), row_major(even)) == ("rows", "copy_strided")
    assert case(tiled(even, (8, 128), (2, 1)), row_major(even), 2) == ("strided", "copy_strided")
    # tiles of rows run along rows: no need of shared memory
    assert case(tiled(odd, (8, 128)), row_major(odd)) == ("bounded", "copy_bounded")
    # nor do pairs of rows, which a warp reads side by side
    assert case(tiled(odd, (8, 128), (2, 1)), row_major(odd), 2) == ("bounded", "copy_bounded")
    images = (2, 50, 28, 28)
    assert case(blocked(images, 16), row_major(images))[0] == "bounded boxes"
    # small: a launch takes longer than the bytes
    assert case(tiled((9, 9), (2, 2)), column_major((9, 9)))[0] == "bounded"


def test_indices_have_64_bits_where_slots_ask_for_it():
    def launch(shape):
        return plan_copy(tiled(shape, (8, 128)), row_major(shape), 4).launches[0]

    assert dict(launch((2**10 + 1, 2**20)).kernel.shape)["INDEX"] == "int32_t"
    huge = launch((2**11 + 1, 2**20))
    assert dict(huge.kernel.shape)["INDEX"] == "int64_t"
    assert huge.grid < 2**31


def test_kernels_of_64_bits(driver, monkeypatch):
    monkeypatch.setattr(loop, "narrowest_index_type", lambda *_: "int64_t")
    layout = tails((13, 21), (4, 8))
    for itemsize in ITEMSIZES:
        run(driver, layout, row_major((13, 21)), itemsize, padding=bytes(itemsize))
        check_fill(driver, layout, itemsize, bytes(itemsize))
    x = on_device(numbers((13, 21), np.float32), layout)
    check_tensor(x + x, 2 * numbers((13, 21), np.float32), 0)


def test_accesses_are_16_bytes_wide_where_tails_allow_it():
    def width(shape, itemsize, *tiles):
        launch = plan_copy(tiled(shape, *tiles), row_major(shape), itemsize).launches[0]
        return dict(launch.kernel.shape)["WIDTH"]

    assert width((1000, 1000), 4, (8, 128)) == "16"
    assert width((1000, 1000), 2, (8, 128)) == "16"
    assert width((1001, 1000), 4, (8, 128)) == "16"
    assert width((10, 13), 4, (8, 8)) == "4"


# --- Fills ---------------------------------------------------------------------------------------


def check_fill(driver, layout, itemsize, padding):
    plan = plan_fill(layout, itemsize, 32, padding)
    slots, value = layout.required_size, numbered(itemsize).tobytes()
    to = Storage(driver, slots * itemsize)
    bind_launches(plan, 0)([to.pointer], repeat_to_16_bytes(value))
    result = elements(to.get(), itemsize)
    places = [] if layout.size == 0 else slot_numbers(layout)
    assert (result[places] == np.frombuffer(value, np.uint8)).all()
    free = layout.is_padded and layout.padding_value is PaddingValue.UNSPECIFIED
    if padding is None and free:
        return plan
    rest = np.ones(slots, bool)
    rest[places] = False
    held = padding or bytes([UNTOUCHED]) * itemsize
    assert (result[rest] == np.frombuffer(held, np.uint8)).all()
    return plan


def test_fills_write_elements_and_padding_each_their_own(driver):
    with checking("bounds", "races"):
        for number, layout in enumerate(dict.fromkeys([d for d, _ in PAIRS])):
            for itemsize in (ITEMSIZES[number % 5], ITEMSIZES[(number + 2) % 5]):
                padding = bytes(range(1, itemsize + 1)) if layout.is_padded else None
                for held in (padding, None):
                    assert len(check_fill(driver, layout, itemsize, held).launches) == 1
        for layout in BACKWARDS:
            check_fill(driver, layout, 2, b"\1\2")
        check_fill(driver, VIEWS[2].at_origin, 4, None)


def test_padding_that_may_hold_anything_is_filled_along(driver):
    """One run over the block, which is what the memory can do best."""
    for layout, padding, name in (
        (tiled((13, 21), (4, 8)), None, "fill_flat"),
        (tails((13, 21), (4, 8)), b"\1\2\3\4", "fill_bounded"),
    ):
        (launch,) = check_fill(driver, layout, 4, padding).launches
        assert launch.kernel.name == name


def test_padding_alone(driver):
    for layout in (tails((13, 21), (4, 8)), blocked((2, 5, 3, 3), 4, PaddingValue.ONE)):
        plan = plan_padding(layout, 4, 32, b"\1\2\3\4")
        to = Storage(driver, 4 * layout.required_size)
        bind_launches(plan, 0)([to.pointer])
        result = elements(to.get(), 4)
        assert (result[slot_numbers(layout)] == UNTOUCHED).all()
        assert (result[padding_slots(layout)] == [1, 2, 3, 4]).all()


# --- Tensors -------------------------------------------------------------------------------------


def numbers(shape, dtype):
    return (np.arange(math.prod(shape)) % 100).reshape(shape).astype(dtype)


def on_device(values, layout):
    """A tensor on the device in a tiled layout, by way of a strided one there."""
    return tl.to_layout(tl.asarray(values, copy=True).to_device("cuda"), layout)


def storage_of(x):
    return read_bytes(x).view(x.dtype)


def check_tensor(x, values, padding=None):
    """The elements of a tiled tensor, where its layout says, and its padding."""
    slots = storage_of(x)
    np.testing.assert_array_equal(slots[slot_numbers(x.layout)], np.ravel(values))
    if padding is not None:
        assert (slots[padding_slots(x.layout)] == padding).all()


def test_tiles_that_do_not_divide_each_other_take_two_launches():
    values = numbers((13, 21), tl.float32)
    x = on_device(values, tails((13, 21), (4, 8)))
    with checking("bounds", "count") as record:
        y = tl.to_layout(x, tails((13, 21), (3, 8)))
    assert sum(counts.launches for counts in record.counts.values()) == 2
    check_tensor(y, values, 0)


def test_an_elementwise_function_of_tiles_is_one_launch_that_writes_the_padding():
    x = on_device(numbers((300, 300), np.float32), tails((300, 300), (8, 128)))
    with checking("bounds", "count") as record:
        y = x + 1.0
    (counts,) = record.counts.values()
    assert counts.launches == 1
    assert counts.sector_efficiency_read >= 0.9
    assert counts.sector_efficiency_write == 1.0
    assert counts.bytes_per_access == 16
    check_tensor(y, numbers((300, 300), np.float32) + 1, 0)


def test_which_operands_one_launch_takes():
    def plan(*layouts):
        specs = [TensorSpec(tl.float32, layout, Device("cuda", 0)) for layout in layouts]
        return ElementwisePlan(tl.add, tuple(specs), (tl.float32,) * len(specs), specs[0])

    shape, images = (300, 300), (2, 50, 28, 28)
    tiles = tails(shape, (8, 128))
    assert accepts_tiles(plan(tiles, tiles))
    assert accepts_tiles(plan(tiles, row_major(shape)))  # rows of tiles run along rows
    assert not accepts_tiles(plan(tiles, column_major(shape)))
    assert accepts_tiles(plan(blocked(images, 16), row_major(images)))  # 16 runs, side by side
    assert not accepts_tiles(plan(tiles, tails(shape, (12, 128))))  # no common digits
    assert not accepts_tiles(plan(tails((3,) * 5, (2,) * 5), row_major((3,) * 5)))  # too many tails
    # without tails they are strided, and there are boxes for those
    assert accepts_tiles(plan(tiled((512, 512), (8, 128)), column_major((512, 512))))


def test_conversions_between_equal_tiles_of_which_little_is_used(driver):
    values = np.arange(9 * 1000).reshape(9, 1, 1000).astype(np.float32)
    layout = "{1,0,2:T(4,128)(2,1)}"  # one of 128 columns
    x = tl.to_layout(tl.asarray(values, device="cuda", copy=True), layout)
    check_tensor(tl.astype(x, tl.float64), values.astype(np.float64))


def test_conversions_of_nothing_take_one_launch_at_most():
    nothing = tails((13, 21), (4, 8)).slice((slice(13, None),))
    whole = tails((0, 21), (4, 8))
    for layout in (nothing, whole):
        result = TensorSpec(tl.float32, layout, Device("cuda", 0))
        source = TensorSpec(tl.int16, row_major((0, 21)), Device("cuda", 0))
        assert intermediate_spec(source, result, None) is None


# --- Memory accesses -----------------------------------------------------------------------------

ODD, IMAGES = (5, 257, 129), (2, 48, 27, 29)


def f32_tiles(shape):
    return tails(shape, (8, 128))


def bf16_tiles(shape):
    return tails(shape, (8, 128), (2, 1))


def channels(shape):
    return blocked(shape, 16, PaddingValue.ZERO)


COUNTED = [
    ("T(8,128)", f32_tiles, (512, 512), (2, 4, 8)),
    ("T(8,128), tails", f32_tiles, (300, 500), (2, 4, 8)),
    ("T(8,128), odd", f32_tiles, ODD, (4, 8)),
    ("T(8,128)(2,1)", bf16_tiles, (512, 512), (2, 4)),
    ("T(8,128)(2,1), tails", bf16_tiles, (500, 1000), (2, 4)),
    ("nChw16c", channels, IMAGES, (2, 4, 8)),
]


@pytest.mark.parametrize(
    ("kind", "shape", "itemsize"),
    [
        pytest.param(kind, shape, itemsize, id=f"{name}: {itemsize}")
        for name, kind, shape, itemsizes in COUNTED
        for itemsize in itemsizes
    ],
)
def test_tiled_copies_are_coalesced_on_both_sides(driver, kind, shape, itemsize):
    tiles, rows = kind(shape), row_major(shape)
    padding = bytes(itemsize) if tiles.is_padded else None
    for destination, source, held in [(tiles, rows, padding), (rows, tiles, None)]:
        case, counts = run_counted(driver, destination, source, itemsize, held)
        # Of rows of 129 elements, every second tile has one column.
        assert_coalesced(counts, case, lanes=0.8 if shape is ODD else 0.9)


def run_counted(driver, destination, source, itemsize, padding):
    plan = plan_copy(destination, source, itemsize, (32, 32), padding)
    to = Storage(driver, destination.required_size * itemsize)
    from_ = Storage(driver, source.required_size * itemsize)
    with checking("bounds", "count") as record:
        bind_launches(plan, 0)([to.pointer, from_.pointer])
    (counts,) = record.counts.values()
    return plan.case, counts


@pytest.mark.parametrize("size", [(128, 4), (130, 6), (256, 256), (500, 510), (0, 4)])
def test_scale_factors_take_one_launch_each_way_and_few_sectors(size):
    """The order in which block scaled matrix products take them."""
    values = np.random.default_rng(0).integers(1, 256, size).astype(np.uint8)
    x = tl.asarray(values, copy=True).to_device("cuda")
    large = size[0] >= 256
    for layout in (Layout.scale_factors(*size), row_major(size)):
        with checking(*([] if large else ["bounds", "initialized", "races"]), "count") as record:
            x = tl.to_layout(x, layout)
        assert sum(counts.launches for counts in record.counts.values()) == (values.size > 0)
        if not large:
            check_tensor(x, values, 0)
        else:
            (counts,) = record.counts.values()
            assert counts.sector_efficiency_read >= 0.95
            assert counts.sector_efficiency_write >= 0.95
            assert counts.lane_activity >= 0.95
