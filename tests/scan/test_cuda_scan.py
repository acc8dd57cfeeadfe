"""Running sums and products on CUDA, here the simulator: borders, races, coalescing, cost.

Values in every layout: `ops/reducing_cases.py`.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from cuda_memory import ARCHITECTURES
from layouts import STRIDED
from reducing_oracle import scanned_by_numpy
from simulated import needs_compiler, simulator
from tensors import as_dtype, fits, same, tensor_in
from test_cuda_matmul import count_second_call
from waves import WAVES, wave

import tensorlayout as tl
from benchmarks import resources
from tensorlayout import plan
from tensorlayout.cuda import scan
from tensorlayout.cuda.engine.kernel_shapes import (
    c_type,
    kernels_in_file,
    parameter_struct_type,
)
from tensorlayout.cuda.engine.launch_log import checking, launch_log
from tensorlayout.cuda.scan import CAPACITY, plan_scan
from tensorlayout.devices import Device
from tensorlayout.functions import dispatch
from tensorlayout.plan.scan import Scan
from tensorlayout.tensor import TensorSpec


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator() as result:
        yield result


# Elements of a tile of `scan_lines`, of at most 4 bytes.
SLOTS = 4096


def on_host(x):
    assert str(x.device) == "cuda:0"
    return x.to_device("cpu")


def scanned_exactly(array, axis, initial=False, **options):
    """Sums of integers, which wrap alike in any order."""
    result = tl.cumulative_sum(
        tl.asarray(array, device="cuda", **options),
        axis=axis,
        include_initial=initial,
        dtype="int8",
    )
    same(
        on_host(result),
        scanned_by_numpy("cumulative_sum", array, axis, initial, np.int8),
        f"{array.shape}",
    )


def integers(shape):
    return np.random.default_rng(len(shape)).integers(-128, 128, shape).astype(np.int8)


# ---- Into a tensor that is given

_SUM = Scan("sums", "numeric", "sum")


def sums_into(out, x, axis, initial=False):
    assert dispatch.call_into(out, _SUM, (x.spec, axis, initial, initial), (x,)) is out
    return out


def others(array):
    """These elements in row-major order, column-major, and backwards."""
    yield tl.asarray(array, device="cuda")
    yield tl.to_layout(tl.asarray(array, device="cuda"), tuple(range(array.ndim)))
    yield tl.flip(tl.asarray(np.flip(array).copy(), device="cuda"))


@needs_compiler
def test_into_every_layout(driver):
    suitable = [x for x in STRIDED if x.size and not x.is_overlapping and fits(x, np.dtype("int8"))]
    for layout in suitable[::4]:
        out = tensor_in(layout, np.full(layout.required_size, 77, np.int8))[0].to_device("cuda")
        array = integers(layout.shape)
        for axis in range(layout.ndim):
            expected = scanned_by_numpy("cumulative_sum", array, axis, False, np.int8)
            for x in others(array):
                with checking("bounds", "barriers", "initialized", "races"):
                    before = driver.counters.launches, driver.counters.allocations
                    sums_into(out, x, axis)
                    after = driver.counters.launches, driver.counters.allocations
                assert (after[0] - before[0], after[1] - before[1]) == (1, 0)
                same(on_host(out), expected, f"{layout} along {axis}")


@needs_compiler
@pytest.mark.parametrize("initial", [False, True])
def test_into_a_window_nothing_else_is_touched(driver, initial):
    for shape in ((CAPACITY // 2 + 1, 2), (8 * CAPACITY + 1,), (70, 33), (600, 33), (3, 40, 5)):
        axis = max(len(shape) - 2, 0)
        array = integers(shape)
        expected = scanned_by_numpy("cumulative_sum", array, axis, initial, np.int8)
        large = tl.full([2 * n + 1 for n in expected.shape], 77, dtype="int8", device="cuda")
        window = large[tuple(slice(1, None, 2) for _ in shape)]
        for out in (window, tl.flip(window), tl.flip(window, axis=axis)):
            with checking("bounds", "barriers", "initialized", "races"):
                sums_into(out, tl.asarray(array, device="cuda"), axis, initial)
            same(on_host(out), expected, f"{shape}")
        whole = np.full(large.shape, 77, np.int8)
        whole[tuple(slice(1, None, 2) for _ in shape)] = np.flip(expected, axis)
        same(on_host(large), whole)


@needs_compiler
@pytest.mark.parametrize("initial", [False, True])
def test_short_columns(driver, initial):
    """A thread has a whole one: in batches of 8 positions, and with other axes around."""
    shapes = [(n, 40) for n in (1, 2, 7, 8)] + [(n, 33_000) for n in (8, 9, 17, 63)]
    for shape in [*shapes, (3, 5, 34), (2, 3, 2, 17, 2)]:
        array = integers(shape)
        for axis in range(len(shape) - 1):
            with checking("bounds", "initialized") as record:
                scanned_exactly(array, axis, initial)
            for kernel in record.counts:
                tasks = dict(kernel.shape)
                assert tasks.get("COLUMNS", "whole_columns") == "whole_columns"
    floats = np.where(np.arange(8 * 50).reshape(8, 50) % 7, 2.0**-600, 2.0**600)
    product = on_host(tl.cumulative_prod(tl.asarray(floats, device="cuda"), axis=0))
    np.testing.assert_array_equal(np.asarray(product)[1], floats[0] * floats[1])


@needs_compiler
@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("int64", "int8")])
def test_lines_that_begin_anywhere(driver, dtypes):
    """Inside packs of the source and of the result, alike or not; around the ends of tiles."""
    source, result = dtypes
    slots = SLOTS if result == source else SLOTS // 2
    shapes = [
        *((n,) for d in (-17, -1, 0, 1, 16) for n in (slots + d, 4 * slots + d)),
        *((7, n) for n in (16, 17, 100, slots // 2, slots - 16, slots + 1)),
        (3, 4 * slots + 5),
    ]
    for number, shape in enumerate(shapes):
        array = integers(shape).astype(source)
        size = array.size
        for first, to in ((0, 0), (1, 1), (13, 6)):
            memory = tl.asarray(np.append(np.zeros(first, source), array), device="cuda")
            x = tl.reshape(memory[first:], shape, copy=False)
            whole = tl.full(size + to + 1, 77, dtype=result, device="cuda")
            out = tl.reshape(whole[to : to + size], shape, copy=False)
            with checking("bounds", "barriers", "initialized", *["races"] * (number % 4 == 0)):
                spec = (x.spec, len(shape) - 1, False, False, getattr(tl, result))
                dispatch.call_into(out, _SUM, spec, (x,))
            actual = np.asarray(on_host(whole))
            expected = np.cumsum(array, axis=-1, dtype=result).ravel()
            same(actual[to : to + size], expected, f"{shape}, {first}, {to}")
            assert (actual[:to] == 77).all()
            assert actual[-1] == 77


AROUND = (-1, 0, 1)
# Along the last axis, with other lines inside: where a tile, a chunk, a step or a warp ends.
SHAPES = [
    *((CAPACITY + d,) for d in AROUND),
    *((8 * CAPACITY + d,) for d in AROUND),
    *((CAPACITY // 2 + d, 2) for d in AROUND),
    *((n, 31) for n in (72, 73, 74, 600)),
    *((n, inner) for n in (7, 63, 64, 65, 511, 513) for inner in (32, 33)),
    *((3, n, 1) for n in (1, 2, CAPACITY // 3, CAPACITY - 1)),
    *((700, n, 3) for n in (1, 2, 4)),
    (50, 9, 40),
]


@needs_compiler
@pytest.mark.parametrize("initial", [False, True])
def test_lengths_around_the_borders_of_blocks(driver, initial):
    for shape in SHAPES:
        with checking("bounds", "barriers", "initialized"):
            scanned_exactly(integers(shape), max(len(shape) - 2, 0), initial)


@needs_compiler
def test_indices_of_64_bits_and_many_dimensions(driver, monkeypatch):
    array = integers((2, 3, 2, 5, 2, 3, 2))
    x = np.ascontiguousarray(array[:, ::-1, :, ::2])
    wide = tl.asarray(array, device="cuda")[:, ::-1, :, ::2]
    with checking("bounds", "initialized", "count") as record:
        for axis in range(7):
            result = tl.cumulative_sum(wide, axis=axis)
            same(on_host(result), scanned_by_numpy("cumulative_sum", x, axis, False))
    assert any("_0_int32_t" in kernel.symbol for kernel in record.counts)
    monkeypatch.setattr(scan, "narrowest_index_type", lambda count, furthest: "int64_t")
    plan.run.cache_clear()
    for shape in ((20, 50, 3), (20, 3, 50), (9 * CAPACITY,), (600, 40)):
        with checking("bounds", "initialized", "count") as record:
            scanned_exactly(integers(shape), max(len(shape) - 2, 0), initial=True)
        assert all("int64_t" in kernel.symbol for kernel in record.counts)
    plan.run.cache_clear()


@needs_compiler
@pytest.mark.parametrize("dtype", WAVES)
@pytest.mark.parametrize("initial", [False, True])
def test_products_stay_in_range_whatever_the_pieces(driver, dtype, initial):
    for shape, axis in (
        ((17_000,), 0),
        ((40, 300), 1),
        ((6000, 3), 0),
        ((3, 90, 5), 1),
        ((600, 40), 0),
    ):
        elements, products = wave(dtype, shape, axis)
        checks = ("bounds", "barriers", "initialized", *["races"] * (len(shape) > 1))
        with checking(*checks):
            result = tl.cumulative_prod(
                tl.asarray(elements, device="cuda"), axis=axis, include_initial=initial
            )
        if initial:
            products = np.concatenate([np.ones_like(products.take([0], axis)), products], axis)
        np.testing.assert_array_equal(np.asarray(on_host(result)), products, f"{dtype}, {shape}")


@needs_compiler
@pytest.mark.parametrize("first", [0.0, -0.0, np.inf, -np.inf, np.nan])
def test_products_that_are_no_ordinary_numbers_stay_so(driver, first):
    for shape, axis in (((20_000,), 0), ((1000,), 0), ((600, 40), 0), ((3, 2000, 2), 1)):
        for factor in (10.0, 0.1):
            array = np.full(shape, factor)
            array[(slice(None),) * axis + (0,)] = first
            for device in ("cpu", "cuda"):
                result = tl.cumulative_prod(tl.asarray(array, device=device), axis=axis)
                same(result.to_device("cpu"), np.full(shape, first), f"{device}, {shape}")


@needs_compiler
def test_products_of_any_numbers(driver):
    """Against long double, whose range no part of them leaves: up, and down again."""
    half = np.exp(np.random.default_rng(3).uniform(-1, 9, (150, 40)))
    array = np.concatenate([half[:1] * 1e-300, half, 1 / half])
    for x, axis in ((array, 0), (np.ascontiguousarray(array.T), 1), (array[:, :3].copy(), 0)):
        result = on_host(tl.cumulative_prod(tl.asarray(x, device="cuda"), axis=axis))
        expected = np.cumprod(x.astype(np.longdouble), axis)
        assert (abs(expected) < np.finfo(float).max).all()
        np.testing.assert_allclose(np.asarray(result), expected.astype(float), 1e-13)


@needs_compiler
def test_parts_of_complex_products_may_be_far_apart(driver):
    array = np.array([2.0**500 + 2.0**-500 * 1j, 1, 1j, 2.0**-500, 2.0**-1000])
    result = np.asarray(on_host(tl.cumulative_prod(tl.asarray(array, device="cuda"))))
    near, far = 2.0**500, 2.0**-500
    expected = [
        near + far * 1j,
        near + far * 1j,
        -far + near * 1j,
        -(2.0**-1000) + 1j,
        2.0**-1000 * 1j,
    ]
    assert result.tolist() == expected


@needs_compiler
def test_differences_are_one_launch(driver):
    array = integers((70, 40)).astype(np.float32)
    x = tl.asarray(array, device="cuda")
    assert count_second_call(driver, lambda: tl.diff(x, axis=0))["launches"] == 1
    same(on_host(tl.diff(x, axis=0)), np.diff(array, axis=0))


# ---- Cost


@needs_compiler
@pytest.mark.parametrize(
    ("shape", "launches"), [((40, 300), 1), ((300, 40), 1), ((20_000,), 2), ((600, 40), 2)]
)
def test_launches_and_allocations(driver, shape, launches):
    x = tl.ones(shape, dtype=tl.float32, device="cuda")
    axis = 0 if shape != (40, 300) else 1
    done = count_second_call(driver, lambda: tl.cumulative_sum(x, axis=axis))
    assert done == Counter(launches=launches, allocations=launches)


EFFICIENT = [
    # shape, axis, kernel
    ((64, 1000), 1, "scan_lines"),
    ((16, 1001), 1, "scan_lines"),
    ((2, 10_000), 1, "scan_lines"),
    ((40_000,), 0, "scan_lines"),
    ((20, 100, 3), 1, "scan_rows"),
    ((5000, 3), 0, "scan_rows"),
    ((1000, 4), 0, "scan_rows"),
    ((64, 1024), 0, "scan_columns"),
    ((1024, 64), 0, "scan_columns"),
    ((10, 30, 104), 1, "scan_columns"),
]


@needs_compiler
@pytest.mark.parametrize(("shape", "axis", "kernel"), EFFICIENT)
def test_coalesced(driver, shape, axis, kernel):
    for dtype in ("float32", "complex64"):  # of 4 bytes and of 8
        x = tl.ones(shape, dtype=dtype, device="cuda")
        with checking("bounds", "count") as record:
            tl.cumulative_sum(x, axis=axis)
        counts = record.total_of_kernel(kernel)
        is_linked = any("linked_tiles" in kernel.symbol for kernel in record.counts)
        assert len(record.counts) == counts.launches + is_linked  # one more clears flags
        assert counts.sector_efficiency_read >= 0.9
        assert counts.sector_efficiency_write >= 0.9
        assert counts.lane_activity >= (0.85 if is_linked else 0.9)
        assert counts.bank_conflict_ratio <= 1.1
        octets = x.dtype.itemsize * x.size
        reads = counts.launches
        # With chunks, all but the last one is read twice, and totals besides, which are few. Linked
        # tiles read the totals of those before.
        assert (
            1.0 <= counts.loads.bytes / octets <= (1.1 if is_linked else 1.0 if reads == 1 else 2.2)
        )
        assert 1.0 <= counts.stores.bytes / octets <= 1.05


# Groups of tiles hand on the totals of 256 tiles, here of 1024 elements each.
@needs_compiler
@pytest.mark.parametrize("order", ["forward", "random"])
def test_tiles_wait_for_those_before(driver, order):
    rng = np.random.default_rng(7)
    values = rng.integers(-99, 99, 2 * 530_000).astype(np.float64).view(np.complex128)
    x = tl.asarray(values, device="cuda", copy=True)
    with checking("bounds", order=order), launch_log() as log:
        result = tl.cumulative_sum(x)
    assert [kernel.name for kernel in log] == ["fill_flat", "scan_lines"]
    np.testing.assert_array_equal(on_host(result), np.cumsum(values))


@needs_compiler
def test_the_same_bits_each_time(driver):
    values = np.random.default_rng(8).standard_normal(3 * SLOTS * 5)
    x = tl.asarray(values, device="cuda", copy=True)
    results = []
    for order in ("forward", "reverse", "random"):
        with checking("bounds", order=order):
            results.append(on_host(tl.cumulative_sum(x)))
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


# ---- Plans


def case(shape, axis, minor_to_major=None, initial=False):
    layout = tl.Layout.packed(shape, minor_to_major)
    spec = TensorSpec(tl.float32, layout, Device("cuda", 0))
    return plan_scan(_SUM.plan(spec, axis, initial, initial))


def name(shape, axis, minor_to_major=None):
    return case(shape, axis, minor_to_major).launches[-1].kernel.name


def test_the_case_of_each_shape():
    assert case((0, 3), 1) is None
    assert name((5, 31), 0) == "scan_rows"
    assert name((5, 32), 0) == name((5, 2**15), 0) == "scan_columns"
    for shape, alone in (
        ((8, 40), True),
        ((9, 40), False),
        ((64, 2**15), True),
        ((65, 2**15), False),
    ):
        task = dict(case(shape, 0).launches[-1].kernel.shape)["COLUMNS"]
        assert task == ("whole_columns" if alone else "results")
    assert name((5, 32), 0, (0, 1)) == "scan_rows"
    assert name((5, 15), 1) == "scan_rows"  # shorter than what a thread has
    assert name((5, 16), 1) == "scan_lines"
    # enough lines to keep a GPU busy, and too short for two passes
    assert len(case((600, 10**5), 1).launches) == 1
    assert len(case((4 * SLOTS,), 0).launches) == 2
    assert len(case((3 * SLOTS - 16,), 0).launches) == 1
    assert len(case((8 * CAPACITY, 2), 0).launches) == 2
    assert len(case((3 * CAPACITY, 2), 0).launches) == 1


def test_lines_with_gaps():
    def of(shape, strides, initial=False):
        spec = TensorSpec(tl.float32, tl.Layout(shape, strides=strides), Device("cuda", 0))
        return plan_scan(_SUM.plan(spec, 1, initial, initial)).launches[-1].kernel.name

    assert of((5, SLOTS // 2), (SLOTS, 1)) == "scan_lines"
    assert of((5, SLOTS // 2 - 1), (SLOTS, 1)) == "scan_rows"  # a tile would be less than half full
    assert of((5, SLOTS), (2 * SLOTS, 2)) == "scan_rows"
    assert of((5, SLOTS), (SLOTS, 1), initial=True) == "scan_rows"


def test_tensors_of_any_size():
    for shape, axis in itertools.product(((2**33,), (2**20, 2**14), (2**14, 2**20)), (0, -1)):
        result = case(shape, axis % len(shape))
        for launch in result.launches:
            assert launch.grid < 2**31
            assert dict(launch.kernel.shape).get("INDEX", "int64_t") == "int64_t"
        assert sum(result.scratch) <= 2**25


def test_positions_fit_their_index():
    """Up to the end of the last chunk, which is of whole tiles, and a step of a loop behind it."""
    counts = 1, 2, 3, 32, 200, 2**20, 2**27
    behind = 1, 2**9, 2**15, 2**17, 2**20, 2**21 + 1, 2**22
    for lines, rest, axis, initial in itertools.product(counts, behind, (0, 1), (False, True)):
        shape = (lines, (2**31 - rest) // lines)[:: 1 if axis else -1]
        launches = case(shape, axis, None, initial).launches
        for launch in (item for item in launches if item.kernel.file == "scan.cu"):
            members = parameter_struct_type(launch.kernel).from_buffer_copy(launch.parameters)
            chunk = getattr(members, "chunk", 0)  # kernels without chunks walk the tiles
            furthest = max(math.prod(shape), members.chunks.divisor * chunk if chunk else 0) + SLOTS
            assert dict(launch.kernel.shape)["INDEX"] == "int64_t" or furthest < 2**31, launch


def kernels(dtype, operation="add"):
    """From and to one dtype."""
    types = (("SOURCE", c_type(dtype)), ("RESULT", c_type(dtype)))
    scaled = operation == "multiply" and dtype.kind not in "iu"
    return kernels_in_file("scan.cu", (*types, ("SCALED", "1")) if scaled else types, operation)


COMPILED = itertools.product(
    ("int64", "bfloat16", "float32", "complex128"), ("add", "multiply"), ARCHITECTURES
)


@pytest.mark.parametrize(
    ("dtype", "operation", "architecture"),
    [
        pytest.param(*case, marks=[] if case == ("float32", "add", "sm_90") else pytest.mark.long)
        for case in COMPILED
    ],
)
def test_compiled_for_a_gpu_without_spills(dtype, operation, architecture):
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: cupy")
    for kernel in kernels(as_dtype(dtype), operation):
        result = resources.compiled(kernel, int(architecture[3:])).resources[kernel.name]
        assert (kernel, result.spilled, result.registers <= 128) == (kernel, 0, True)
