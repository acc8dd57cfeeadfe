"""Elementwise operations on CUDA over operands in different orders, which go through tiles."""

from collections import Counter

import layouts
import numpy as np
import pytest
from cuda_memory import TILES, assert_coalesced, planned_with
from simulated import needs_compiler, simulator
from tensors import close, same
from test_cuda_elementwise import ALIGNED, Operand, convert, operation, run, spec, usual
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout.cuda.elementwise import plan_elementwise
from tensorlayout.cuda.engine.launch import bind_launches
from tensorlayout.cuda.engine.memory import overlaps_at_other_elements
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.layout import Layout, PaddingValue

row_major, column_major = Layout.row_major, Layout.column_major


def nhwc(shape):
    return Layout.labelled(shape, "NHWC")


@pytest.fixture(scope="module")
def driver():
    with simulator() as result:
        yield result


# ---- Which case


def planned(name, *operands, in_place=False):
    arguments = [o if isinstance(o, type) else spec(*o) for o in operands]
    plan = operation(name).plan(*arguments)
    plan = plan.with_destination(arguments[0]) if in_place else plan
    return plan_elementwise(plan, [ALIGNED] * (1 + len(operands)))


BIG, TALL = row_major((300, 400)), column_major((300, 400))
IMAGES = (2, 3, 150, 150)
PIXELS, PIXELS_IN_COLUMNS = row_major((120, 880, 4)), Layout.packed((120, 880, 4), (2, 0, 1))


@pytest.mark.parametrize(
    ("case", "operands"),
    [
        # x + y.T, either way round
        ("tiles", [(BIG, "float32"), (TALL, "float32")]),
        ("tiles", [(TALL, "float32"), (BIG, "float32")]),
        # channels before and behind
        ("tiles", [(row_major(IMAGES), "float32"), (nhwc(IMAGES), "float32")]),
        ("tiles", [(nhwc(IMAGES), "int8"), (row_major(IMAGES), "int8")]),
        ("tiles", [(BIG, "int8"), (TALL, "float64")]),  # elements of different sizes
        # the same order: one run, or rows
        ("flat", [(TALL, "float32"), (TALL, "float32")]),
        ("rows", [(BIG, "float32"), (row_major((400,)), "float32")]),
        # small: a launch takes longer, in whatever order
        ("strided", [(row_major((60, 70)), "float32"), (column_major((60, 70)), "float32")]),
        # backwards, and coalesced as it is
        ("strided", [(row_major((300, 512)), "int8"), (row_major((300, 512)).flip((1,)), "int8")]),
        ("strided", [(BIG, "float32"), (BIG.flip((1,)), "float32")]),
        # every second element: no other order would be better
        ("strided", [(BIG, "float32"), (Layout((300, 400), (800, 2)), "float32")]),
        # rows that begin elsewhere in sectors, which the cache keeps
        ("rows", [(row_major((300, 513)), "int8"), (Layout((300, 513), (1024, 1)), "int8")]),
        # pixels that lie together, in rows and in columns: half a sector each
        ("tiles", [(PIXELS, "float32"), (PIXELS_IN_COLUMNS, "float32")]),
        # a whole sector each, so that tiles would win nothing
        ("rows", [(PIXELS, "float64"), (PIXELS_IN_COLUMNS, "float64")]),
        # one row for all stays in the caches
        ("rows", [(row_major((300, 513)), "int8"), (row_major((513,)), "int8")]),
    ],
)
def test_the_case_of_each_pair(case, operands):
    assert planned("add", *operands).case == case


def test_an_operand_where_the_result_is_has_no_tile():
    """Not even one that is read badly, since its sectors are those of the result."""
    thin = (Layout((300, 400), (3200, 8)), "float32")
    assert planned("add", thin, thin, in_place=True).case == "strided"
    assert planned("add", thin, (TALL, "float32"), in_place=True).case == "tiles"


def test_one_launch_covers_a_tebibyte():
    square = row_major((2**20, 2**20)), column_major((2**20, 2**20))
    images = row_major((2**12, 3, 2**14, 2**14)), nhwc((2**12, 3, 2**14, 2**14))
    for first, second in (square, images):
        plan = planned("add", (first, "int8"), (second, "int8"))
        assert plan.case == "tiles"
        assert plan.launches[0].grid < 2**31


@needs_compiler
def test_one_launch_and_one_allocation():
    with simulator() as driver:
        x = tl.ones((2, 3, 64, 96), device="cuda", dtype=tl.float32)
        y = tl.to_layout(x, "NHWC")
        padded = tl.Layout.padded(x.shape, (2, 3, 70, 100), None, PaddingValue.ONE)
        z = tl.to_layout(x, padded)
        for left, right in ((x, y), (y, x), (z, y)):
            done = count_second_call(driver, lambda x=left, y=right: x + y)
            assert done == Counter(launches=1, allocations=1)


# ---- Every element, and nothing else


PAIRS = [(x, y) for x in layouts.STRIDED for y in layouts.STRIDED if x.shape == y.shape][::3]


@needs_compiler
@pytest.mark.parametrize(
    ("name", "dtypes", "function"),
    [
        ("add", ("int8", "float64"), np.add),
        ("multiply", ("complex128", "complex128"), np.multiply),
        pytest.param("add", ("float16", "float16"), np.add, marks=pytest.mark.long),
        pytest.param("add", ("uint8", "int16"), np.add, marks=pytest.mark.long),
        pytest.param("less", ("float32", "float32"), np.less, marks=pytest.mark.long),
    ],
)
def test_two_operands_in_pairs_of_layouts(driver, name, dtypes, function):
    with checking("bounds", "barriers", "initialized"):
        for first, second in PAIRS:
            x, y = Operand(driver, first, dtypes[0], 1), Operand(driver, second, dtypes[1], 2)
            _, result = run(driver, name, x, y, tuning=TILES)
            close(result, usual(function)(x.array, y.array), f"{first} {second}")


@needs_compiler
@pytest.mark.parametrize(
    ("name", "dtypes", "function"),
    [
        ("where", ("bool", "complex128", "complex128"), np.where),
        pytest.param("clip", ("float64",) * 3, np.clip, marks=pytest.mark.long),
    ],
)
def test_three_operands_in_three_orders(driver, name, dtypes, function):
    orders = [Layout.packed((7, 9, 11), order) for order in ((2, 1, 0), (0, 2, 1), (1, 0, 2))]
    orders += [orders[0].flip((1,)), Layout((7, 9, 11), (0, 1, 9)), row_major((7, 1, 1))]
    with checking("bounds", "barriers", "initialized"):
        for first, second in zip(orders, (*orders[1:], orders[0]), strict=True):
            for third in orders:
                argument = zip((first, second, third), dtypes, strict=True)
                x, y, z = (
                    Operand(driver, o, d, k, finite=True) for k, (o, d) in enumerate(argument)
                )
                _, result = run(driver, name, x, y, z, tuning=TILES)
                same(result, function(x.array, y.array, z.array), f"{first} {second} {third}")


LONGER = [
    # more dimensions than a box
    (row_major((2,) * 11), Layout.packed((2,) * 11, tuple(range(11)))),
    (row_major((3, 4, 5, 6, 7)), Layout.packed((3, 4, 5, 6, 7), (1, 3, 0, 4, 2))),
    # pixels of three elements, transposed; flipped, in every dimension and in one
    (row_major((40, 30, 3)), Layout.packed((40, 30, 3), (2, 0, 1))),
    (row_major((40, 30, 3)), Layout.packed((40, 30, 3), (2, 0, 1)).flip((0, 1, 2))),
    (row_major((40, 30, 3)).flip((1,)), Layout.packed((40, 30, 3), (2, 0, 1))),
    # repeated, along and across
    (row_major((40, 5, 30)), Layout((40, 5, 30), (1, 0, 40))),
    (row_major((40, 30, 3)), Layout((40, 30, 3), (1, 40, 0))),
    (row_major((40, 50)), Layout((40, 50), (2, 100))),  # steps
    # odd everything
    (nhwc((2, 3, 17, 29)), row_major((2, 3, 17, 29))),
    (row_major((2, 3, 17, 29)), nhwc((2, 3, 17, 29))),
    (row_major((131, 77)), column_major((131, 77))),
    # padding, written by the same launch
    (Layout.padded((31, 129), (32, 144), None, PaddingValue.ONE), column_major((31, 129))),
    (nhwc((2, 3, 17, 29)), Layout.padded((2, 3, 17, 29), (2, 4, 18, 32), None, PaddingValue.ZERO)),
]


@needs_compiler
@pytest.mark.parametrize(
    ("dtypes", "shifts"),
    [
        (("int8", "float64"), (0, 0, 0)),
        *[
            pytest.param((dtype, other), shifts, marks=pytest.mark.long)
            for dtype, other in [("float16", "float16"), ("int8", "float64")]
            for shifts in [(1, 0, 3), (0, 1, 1)]
        ],
    ],
)
def test_larger_layouts(driver, dtypes, shifts):
    """Also in memory that is aligned for elements alone."""
    with checking("bounds", "barriers", "initialized"):
        for layouts_ in LONGER:
            for one, other in (layouts_, layouts_[::-1]):
                x = Operand(driver, one, dtypes[0], 1, shift=shifts[0])
                y = Operand(driver, other, dtypes[1], 2, shift=shifts[1])
                plan, result = run(driver, "add", x, y, shift=shifts[2], tuning=TILES)
                assert plan.case == "tiles"
                assert len(plan.launches) == 1
                close(result, usual(np.add)(x.array, y.array), f"{one} {other}")


@needs_compiler
def test_conversions_from_one_order_into_another(driver):
    with checking("bounds", "barriers", "initialized"):
        for first, second in LONGER:
            x = Operand(driver, second, "int8", 1)
            plan, result = convert(driver, x, "float64", first.form, TILES)
            assert plan.case == "tiles"
            same(result, x.array.astype(np.float64), f"{first} {second}")


@needs_compiler
def test_scalars_beside_tiles(driver):
    x = Operand(driver, row_major((40, 30)), "bool", 1)
    y = Operand(driver, column_major((40, 30)), "complex128", 2)
    with checking("bounds", "barriers", "initialized"):
        plan, result = run(driver, "where", x, y, 2.5, tuning=TILES)
    assert plan.case == "tiles"
    same(result, np.where(x.array, y.array, 2.5))


@needs_compiler
def test_offsets_beyond_32_bits(driver):
    """Of memory that is never touched but for a few bytes."""
    far = 2**31 + 100
    x = Operand(driver, row_major((3, 2, 4)), "int8", 1)
    y = Operand(driver, row_major((3, 2, 4)), "int8", 2)
    y.spec = spec(Layout((3, 2, 4), (1, far, 3)), "int8")
    y.buffer = driver.allocate(far + 12, 0)
    y.pointer = y.buffer.pointer
    for index in range(2):
        column = np.ascontiguousarray(y.array[:, index].T).view(np.uint8).ravel()
        driver.copy_to_device(y.pointer + index * far, column)
    with checking("bounds"):
        plan, result = run(driver, "add", x, y, tuning=TILES)
    assert plan.case == "tiles"
    same(result, x.array + y.array)


# ---- In place


def in_place(driver, x, y, tuning=TILES):
    """x += y; the case, and all of the memory of x before and after."""
    size = x.layout.required_size * x.dtype.itemsize
    before, after = np.empty(size, np.uint8), np.empty(size, np.uint8)
    driver.copy_to_host(before, x.pointer)
    plan = operation("add").plan(x.spec, y.spec).with_destination(x.spec)
    assert not overlaps_at_other_elements(x.spec, x.pointer, y.spec, y.pointer)
    with planned_with(tuning):
        ready = plan_elementwise(plan, [x.alignment, x.alignment, y.alignment], None)
    bind_launches(ready, 0)([x.pointer, x.pointer, y.pointer])
    driver.copy_to_host(after, x.pointer)
    expected = before.copy().view(x.dtype)
    expected[layouts.slot_array(x.layout)] += y.array
    return ready.case, after.view(x.dtype), expected


@needs_compiler
def test_in_place(driver):
    """Whatever is no element stays as it was, padding too; in whatever order threads run."""
    for pair in LONGER:
        x, y = (Operand(driver, o, "float64", k, finite=True) for k, o in enumerate(pair))
        with checking("bounds", "barriers", "races"):
            case, result, expected = in_place(driver, x, y)
        assert case == "tiles"
        same(result, expected, f"{pair}")


@needs_compiler
def test_in_place_beside_another_view_of_the_same_memory(driver):
    """Rows of one half, plus columns of the other: no byte is shared, sectors are."""
    x = Operand(driver, row_major((64, 2, 64)), "float64", 1, finite=True)
    left = x.layout.slice((slice(None), 0))
    right = x.layout.slice((slice(None), 1)).permute((1, 0))
    shift = right.offset * 8
    plan = (
        operation("add")
        .plan(spec(left, "float64"), spec(right.at_origin, "float64"))
        .with_destination(spec(left, "float64"))
    )
    addresses = [x.pointer, x.pointer + shift]
    assert not overlaps_at_other_elements(plan.result, addresses[0], plan.operands[1], addresses[1])
    with planned_with(TILES):
        ready = plan_elementwise(plan, [ALIGNED] * 3, None)
    assert ready.case == "tiles"
    with checking("bounds", "barriers", "races"):
        bind_launches(ready, 0)([x.pointer, x.pointer, addresses[1]])
    result = np.empty(x.array.nbytes, np.uint8)
    driver.copy_to_host(result, x.pointer)
    expected = x.array.copy()
    expected[:, 0] += x.array[:, 1].T
    same(result.view(np.float64).reshape(x.array.shape), expected)


# ---- Memory accesses


def accesses(driver, name, *operands):
    with checking("bounds", "count") as record:
        plan, _ = run(driver, name, *operands)
    assert plan.case == "tiles"
    return record.total_of_kernel("elementwise_tiles")


COUNTED = [
    ("x + y.T, small", row_major((256, 256)), column_major((256, 256))),
    ("x + y.T", row_major((512, 512)), column_major((512, 512))),
    ("x + y.T, odd", row_major((1031, 513)), column_major((1031, 513))),
    ("NCHW + NHWC", row_major((2, 3, 64, 96)), nhwc((2, 3, 64, 96))),
    ("NHWC + NCHW", nhwc((2, 32, 24, 40)), row_major((2, 32, 24, 40))),
    ("NCHW + NHWC, odd", row_major((2, 3, 101, 131)), nhwc((2, 3, 101, 131))),
    ("NCHW + NHWC, 64 channels", row_major((2, 64, 20, 20)), nhwc((2, 64, 20, 20))),
]


COUNTED_ALWAYS = {
    ("x + y.T, small", "float16"),
    ("NCHW + NHWC", "float64"),
    ("NHWC + NCHW", "float16"),
}


# One byte a thread, and rows that begin anywhere; bytes in multiples of 8 alone. Each: the least
# share of sectors read and written and of lanes, the most conflicts of banks.
WORST_OF_BYTES = {
    "x + y.T, odd": (0.9, 0.9, 0.85, 1.2),
    "NCHW + NHWC, 64 channels": (0.9, 0.9, 0.9, 1.7),
}


@needs_compiler
@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        pytest.param(
            first, second, dtype, id=f"{name}: {dtype}",
            marks=[] if (name, dtype) in COUNTED_ALWAYS else pytest.mark.long,
        )
        for name, first, second in COUNTED
        for dtype in ("float16", "float32", "float64", "int8")
        if dtype != "int8" or name not in WORST_OF_BYTES
    ],
)  # fmt: skip
def test_mixed_orders_are_coalesced(driver, first, second, dtype):
    x, y = (Operand(driver, o, dtype, k, finite=True) for k, o in enumerate((first, second)))
    counts = accesses(driver, "add", x, y)
    assert_coalesced(counts)
    assert counts.loads.bytes == 2 * counts.stores.bytes


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("name", WORST_OF_BYTES)
def test_the_worst_of_bytes(driver, name):
    first, second = next((x, y) for label, x, y in COUNTED if label == name)
    counts = accesses(driver, "add", *(Operand(driver, o, "int8", 1) for o in (first, second)))
    read, written, lanes, conflicts = WORST_OF_BYTES[name]
    assert counts.sector_efficiency_read >= read
    assert counts.sector_efficiency_write >= written
    assert counts.lane_activity >= lanes
    assert counts.bank_conflict_ratio <= conflicts


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "operands"),
    [
        # elements of different sizes, either of them staged
        ("add", [(row_major((512, 512)), "int8"), (column_major((512, 512)), "float64")]),
        ("add", [(column_major((512, 512)), "int8"), (row_major((512, 512)), "float64")]),
        # a result of bytes
        ("less", [(row_major((512, 512)), "float64"), (column_major((512, 512)), "float64")]),
        # a condition in another order
        ("where", [(TALL, "bool"), (BIG, "complex128"), (BIG, "complex128")]),
        # three orders
        (
            "clip",
            [
                (Layout.packed((60, 64, 72), order), "float64")
                for order in ((2, 1, 0), (0, 2, 1), (1, 0, 2))
            ],
        ),
    ],
)
def test_mixed_sizes_are_coalesced(driver, name, operands):
    arguments = [Operand(driver, *o, k, finite=True) for k, o in enumerate(operands)]
    counts = accesses(driver, name, *arguments)
    # The pitches that are tried suit one order of the two that are staged, not both.
    assert_coalesced(counts, conflicts=1.3 if name == "clip" else 1.1)
