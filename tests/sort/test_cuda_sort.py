"""Sorts on CUDA, here the simulator: borders of blocks, sorts by digits, races, cost.

Values in every layout: `ops/reducing_cases.py`.
"""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from reducing_cases import sorted_positions
from simulated import needs_compiler, simulator
from tensors import DTYPES, as_dtype, same, slots
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.cuda import sort as planning
from tensorlayout.cuda.engine.launch import bind_launches
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.sort import TILE, SortLines, plan_sort
from tensorlayout.devices import Device
from tensorlayout.plan.sort import SortPlan
from tensorlayout.tensor import TensorSpec


def lines_of(count, length, dtype=np.float32, *, positions=False):
    kind = np.dtype(dtype)
    return SortLines(count, length, kind, (), "int32_t", positions, False, 8 * kind.itemsize)


DIGITS = planning.radix_tile_size(
    lines_of(1, 1, positions=True)
)  # what a block sorts by a digit at once


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator() as result:
        yield result


@pytest.fixture
def by_digits(monkeypatch):
    """Lines longer than a tile are sorted by digits, whatever it costs."""
    monkeypatch.setattr(planning, "is_radix_cheaper", lambda lines: True)
    plan.run.cache_clear()
    yield
    plan.run.cache_clear()


def on_host(x):
    assert str(x.device) == "cuda:0"
    return x.to_device("cpu")


def sorted_well(x, array, axis, descending, message):
    """Both functions against the oracle; `x` is on the device, `array` has its elements."""
    expected = sorted_positions(array, axis, descending)
    order = tl.argsort(x, axis=axis, descending=descending)
    same(on_host(order), expected, message)
    result = tl.sort(x, axis=axis, descending=descending)
    wanted = np.take_along_axis(array, expected, axis)
    assert np.asarray(on_host(result)).tobytes() == wanted.tobytes(), message


OTHERS = [dtype for dtype in DTYPES["real numeric"] if dtype not in ("float32", "uint8")]


@needs_compiler
@pytest.mark.usefixtures("by_digits")
@pytest.mark.parametrize(
    "dtype", ["float32", "uint8", *[pytest.param(item, marks=pytest.mark.long) for item in OTHERS]]
)
def test_dtypes_by_digits(driver, dtype):
    array = slots(as_dtype(dtype), 2 * 2500, seed=4).reshape(2, 2500)
    x = tl.asarray(array, device="cuda")
    for axis, down in itertools.product((0, 1), (False, True)):
        with checking("bounds", "barriers", "initialized"):
            sorted_well(x, array, axis, down, f"{dtype} along {axis}")


# Where lines end: at a tile of digits, at a chunk, at the sector that a chunk leaves; many and few.
LINES = [
    *((n,) for n in (TILE + 1, DIGITS - 33, DIGITS - 32, DIGITS - 31, DIGITS, DIGITS + 1)),
    (2 * DIGITS - 32,),
    (3, DIGITS + 3),
]


@needs_compiler
@pytest.mark.usefixtures("by_digits")
def test_lengths_around_the_borders_of_digits(driver, monkeypatch):
    with checking("bounds", "barriers", "initialized"):
        for shape in LINES:
            checked(shape, len(shape) - 1, values=300)
        checked((TILE + 3, 4), 0, values=300)
        # As of many lines: a chunk is a line; and two lines, of which a block has several tiles.
        for blocks in (1, 4):
            monkeypatch.setattr(planning, "BLOCKS", blocks)
            plan.run.cache_clear()
            checked((2, 2 * DIGITS + 5), 1, values=300)
            checked((3 * DIGITS + 5,), 0, values=300)
        checked(
            (40 * DIGITS,), 0, values=300, dtype=np.uint8
        )  # counts of more chunks than one adds up


@needs_compiler
@pytest.mark.usefixtures("by_digits")
def test_digits_of_views_that_begin_inside_sectors(driver):
    array = np.random.default_rng(3).integers(-999, 999, (2, 2 * TILE, 2)).astype(np.float32)
    x = tl.asarray(array, device="cuda")
    with checking("bounds", "barriers", "initialized"):
        for key in (
            (0, slice(5, None), 1),
            (1, slice(None, None, -1), 0),
            (slice(None), slice(3, None)),
        ):
            sorted_well(x[key], array[key], min(1, array[key].ndim - 1), True, f"{key}")


def checked(shape, axis, values=6, dtype=np.int16):
    """Sort few values, of which most are equal to some other."""
    array = np.random.default_rng(len(shape)).integers(0, values, shape).astype(dtype)
    x = tl.asarray(array, device="cuda")
    for down in (False, True):
        sorted_well(x, array, axis, down, f"{shape} along {axis}")


# Where lines end: at a thread's run, at a tile, at a merge of tiles; alone and many together.
SHAPES = [
    *((n,) for n in (1, 2, 9, 10, TILE - 1, TILE, TILE + 1, 2 * TILE, 2 * TILE + 1, 5 * TILE - 7)),
    *((500, n) for n in (1, 2, 8, 9, 10)),
    *((5, n) for n in (255, 257, TILE // 2, TILE // 2 + 1, TILE - 1, TILE, TILE + 1)),
    (3, 2 * TILE + 5),
]


@needs_compiler
def test_lengths_around_the_borders_of_blocks(driver):
    for shape in SHAPES:
        with checking("bounds", "barriers", "initialized"):
            checked(shape, len(shape) - 1)
    with checking("bounds", "barriers", "initialized"):
        checked((TILE + 3, 4), 0)
        checked((4, 3000), 1, values=100)


@needs_compiler
def test_no_thread_depends_on_another(driver, monkeypatch):
    with checking("bounds", "races"):
        for shape in ((40, 60), (2 * TILE + 9,)):
            checked(shape, len(shape) - 1)
        monkeypatch.setattr(planning, "is_radix_cheaper", lambda lines: True)
        plan.run.cache_clear()
        checked((2 * DIGITS,), 0, values=300)
    plan.run.cache_clear()


@needs_compiler
def test_orders_that_are_easy_to_get_wrong(driver, monkeypatch):
    n = 3 * TILE
    for line in (
        np.arange(n),
        np.arange(n)[::-1],
        np.zeros(n),
        np.arange(n) % 2,
        np.arange(n) // 2,
    ):
        array = line.astype(np.float32)
        for ways in (planning.is_radix_cheaper, lambda lines: True):
            monkeypatch.setattr(planning, "is_radix_cheaper", ways)
            plan.run.cache_clear()
            for down in (False, True):
                sorted_well(tl.asarray(array, device="cuda"), array, 0, down, f"{line[:3]}")
    plan.run.cache_clear()


@needs_compiler
def test_indices_of_64_bits_and_many_dimensions(driver, monkeypatch):
    array = np.random.default_rng(1).integers(0, 5, (2, 3, 2, 5, 2, 3)).astype(np.int8)
    x = tl.asarray(array, device="cuda")[:, ::-1, :, ::2]
    with checking("bounds", "initialized", "count") as record:
        for axis in range(6):
            sorted_well(x, array[:, ::-1, :, ::2], axis, False, f"{axis}")
    assert any("sort_tiles_0_int32_t" in kernel.symbol for kernel in record.counts)
    monkeypatch.setattr(planning, "narrowest_index_type", lambda count, furthest: "int64_t")
    plan.run.cache_clear()
    for shape, kernel in (((20, 50), "sort"), ((3, TILE + 8), "merge"), ((2, 2 * TILE), "scatter")):
        if kernel == "scatter":
            monkeypatch.setattr(planning, "is_radix_cheaper", lambda lines: True)
        with checking("bounds", "initialized", "count") as record:
            checked(shape, 1)
        names = [item.symbol for item in record.counts if item.name != "fill_flat"]
        assert all("int64_t" in name for name in names)
        assert any(kernel in item.symbol for item in record.counts)
    plan.run.cache_clear()


# ---- Cost


@needs_compiler
@pytest.mark.parametrize(
    ("shape", "axis", "sort", "argsort"),
    [
        # launches and allocations
        ((40, 300), 1, (1, 1), (1, 1)),
        ((TILE + 1,), 0, (3, 2), (3, 2)),
        ((3 * TILE,), 0, (5, 2), (5, 2)),
        # by four digits, after counts and what clears them
        ((50_000,), 0, (6, 2), (6, 2)),
        # lines that are not in one piece: a copy before, and one after
        ((300, 40), 0, (3, 3), (3, 3)),
    ],
)
def test_launches_and_allocations(driver, shape, axis, sort, argsort):
    x = tl.ones(shape, dtype=tl.float32, device="cuda")
    for function, (launches, allocations) in ((tl.sort, sort), (tl.argsort, argsort)):
        done = count_second_call(driver, lambda f=function: f(x, axis=axis))
        assert done == Counter(launches=launches, allocations=allocations)


@needs_compiler
def test_coalesced(driver):
    rng = np.random.default_rng(0)
    for shape in ((96, 700), (4 * TILE,)):
        array = rng.permutation(np.prod(shape)).reshape(shape).astype(np.float32)
        x = tl.asarray(array, device="cuda")
        for function in (tl.sort, tl.argsort):
            with checking("bounds", "count") as record:
                function(x)
            tiles = record.total_of_kernel("sort_tiles")
            assert tiles.sector_efficiency_read == tiles.sector_efficiency_write == 1.0, shape
            assert tiles.lane_activity >= 0.9
            merged = record.total_of_kernel("merge_tiles")
            # The parts of two runs begin anywhere.
            assert merged.sector_efficiency_read >= 0.8
            assert merged.sector_efficiency_write == 1.0
            assert merged.lane_activity >= 0.9
            assert merged.launches == (0 if len(shape) > 1 else 2)


@needs_compiler
def test_coalesced_by_digits(driver):
    array = np.random.default_rng(0).permutation(2**16).astype(np.float32)
    x = tl.asarray(array, device="cuda")
    for function in (tl.sort, tl.argsort):
        with checking("bounds", "count") as record:
            function(x)
        for name, launches in (("count_digits", 1), ("scatter_digits", 4)):
            result = record.total_of_kernel(name)
            assert result.launches == launches
            assert result.sector_efficiency_read >= 0.99
            # Runs of equal digits begin and end anywhere; of random digits there are 19 in a tile.
            assert result.sector_efficiency_write >= (0.6 if name == "scatter_digits" else 0.99)
            assert result.lane_activity >= 0.8


@needs_compiler
def test_a_tile_goes_back_to_the_last_published_sum(driver):
    """Blocks of the simulator end before the next begins, so all but one sum is taken back here."""
    tile = planning.radix_tile_size(lines_of(1, 2**16, np.uint8)) - 32
    values = np.random.default_rng(3).integers(1, 256, 5 * tile).astype(np.uint8)
    spec = TensorSpec(tl.uint8, tl.Layout.row_major(values.shape), Device("cuda", 0))
    result = plan_sort(SortPlan("sort", "values", spec, spec, 0, False, True))
    x, y = tl.asarray(values, device="cuda"), tl.zeros(values.shape, dtype="uint8", device="cuda")
    scratch = tl.empty((result.scratch[0] // 4,), dtype="uint32", device="cuda")
    memories = [tensor.memory.address for tensor in (y, x, scratch)]
    bind_launches(replace(result, scratch=()), 0)(memories)
    words = np.asarray(scratch.to_device("cpu")).copy()
    published = words[512:].reshape(5, 256)
    of_tile, of_all = 1 << 30, 2 << 30
    sums = published - of_all
    published[1:4] = sums[1:4] - sums[:3] + of_tile
    words[0] = 4  # the next tile is the last
    scratch[...] = tl.asarray(words, device="cuda")
    y[...] = 0
    bind_launches(replace(result.launches[-1], grid=1), 0)(memories)
    order = np.argsort(values, kind="stable")
    expected = np.where(order >= 4 * tile, values[order], 0)
    np.testing.assert_array_equal(on_host(y), expected)


# ---- Plans


def planned(shape, axis, *, positions=False):
    layout = tl.Layout.row_major(shape)
    spec = TensorSpec(tl.float32, layout, Device("cuda", 0))
    gives = "positions" if positions else "values"
    return plan_sort(SortPlan("sort", gives, spec, spec, axis, False, True))


MERGE = ["split_runs", "merge_tiles"]
DIGITS_OF_FLOATS = ["fill_flat", "count_digits", *["scatter_digits"] * 4]


def test_the_launches_of_each_length():
    for shape, launches in [
        ((0, 3), []),
        ((5, TILE), ["sort_tiles"]),
        ((5, TILE + 1), ["sort_tiles", *MERGE]),
        ((4 * TILE,), ["sort_tiles", *MERGE * 2]),
        ((2**24,), DIGITS_OF_FLOATS),
        ((1000, 4800), DIGITS_OF_FLOATS),
    ]:
        result = planned(shape, len(shape) - 1).launches
        assert [item.kernel.name for item in result] == launches


def test_tensors_of_any_size():
    for shape in ((2**33,), (2**20, 2**14), (2**32, 2)):
        result = planned(shape, len(shape) - 1, positions=True)
        for launch in result.launches:
            assert launch.grid < 2**31
            assert dict(launch.kernel.shape).get("INDEX", "int64_t") == "int64_t"


def test_what_is_sorted_by_digits():
    # One line of floats from 4 tiles on; of many lines, also shorter ones.
    for size, result in (
        ((1, 4 * TILE), False),
        ((1, 4 * TILE + 1), True),
        ((10, 4800), False),
        ((600, 4800), True),
        ((10**5, TILE + 1), False),  # which would fill less than half of a block
    ):
        assert planning.is_radix_cheaper(lines_of(*size)) == result, size
    assert planning.is_radix_cheaper(lines_of(1, TILE + 1, np.uint8, positions=True))


@needs_compiler
def test_a_trace_shows_what_is_moved(driver):
    x = tl.ones((8, 16), dtype=tl.float32, device="cuda")
    # Of lines side by side a copy is sorted, line after line.
    for axis, moved in ((1, []), (0, [("sort", "relayout", 512)] * 2)):
        with tl.trace() as seen:
            tl.sort(x, axis=axis)
        assert [(r.name, r.kind, r.bytes_written) for r in seen if r.kind != "compute"] == moved
