"""The first of sorted lines on CUDA, here the simulator: one launch, against Python's order."""

from collections import Counter

import numpy as np
import pytest
from directml_facts import _column_major, _gaps, _padded, _row_major
from reducing_cases import sorted_positions
from simulated import needs_compiler, simulator
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout import directml, plan
from tensorlayout.cuda import sort as planning
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.sort import CAPACITY, TILE
from tensorlayout.devices import Device
from tensorlayout.plan.sort import TopKPlan
from tensorlayout.tensor import TensorSpec

DIRECTIONS = {False: "INCREASING", True: "DECREASING"}


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator(1) as result:
        yield result


def some(shape, dtype, most=7):
    """Elements of which most are equal to some other, with NaN and both zeros of floats."""
    array = np.random.default_rng(len(shape)).integers(0, most, shape).astype(dtype)
    if array.dtype.kind == "f":
        array[array == 1] = np.nan
        array[array == 2] = -0.0
    return array


def there(array, make=_row_major):
    """A tensor on the device with these elements, and the memory around them: of 99."""
    layout = make(array.shape)
    storage = tl.full((layout.required_size,), 99, dtype=array.dtype, device="cuda")
    x = tl.Tensor._from_memory(
        storage.memory, TensorSpec(storage.dtype, layout, storage.device), storage.home
    )
    x[...] = tl.asarray(array, device="cuda")
    return x, storage


def on_host(x):
    return np.asarray(x.to_device("cpu"))


def checked(array, axis, k, down, *, makes=(_row_major,) * 3, index="uint32"):
    """Both results against the oracle; what is between their elements stays as it was."""
    order = np.take(sorted_positions(array, axis, down), range(k), axis)
    expected = np.take_along_axis(array, order, axis), order.astype(index)
    x, _ = there(array, makes[0])
    outs = [
        there(np.zeros_like(item), make) for item, make in zip(expected, makes[1:], strict=True)
    ]
    directml.top_k1(x, axis, k, DIRECTIONS[down], out=[out for out, _ in outs])
    for (out, storage), wanted, make in zip(outs, expected, makes[1:], strict=True):
        message = f"{k} of {array.dtype} {array.shape} along {axis}"
        np.testing.assert_array_equal(octets(on_host(out)), octets(wanted), err_msg=message)
        _, untouched = there(wanted, make)
        np.testing.assert_array_equal(octets(on_host(storage)), octets(on_host(untouched)))


def octets(array):
    """The bits of elements: zeros of both signs differ, NaN of one kind are equal."""
    return np.ascontiguousarray(array).view(np.uint8)


# Where lines end: at a thread's run, at a tile's whole sectors, at a tile; alone and many together.
SIZES = [((3, 1), 1), ((300, 9), 1), ((41, 61), 1), ((3, CAPACITY), 1), ((2, TILE), 1)]


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_lengths_and_counts(driver, dtype):
    for shape, axis in (*SIZES, ((61, 50), 0), ((2, 30, 47), 1), ((TILE, 3), 0)):
        array, n = some(shape, dtype), shape[axis]
        for k, down in (((n + 1) // 2 | 1, False), (n, True)):
            with checking("bounds", "barriers", "initialized"):
                checked(array, axis, min(k, n), down)


@needs_compiler
def test_no_thread_depends_on_another(driver):
    for shape, axis in (((40, 60), 1), ((60, 40), 0), ((TILE,), 0)):
        with checking("bounds", "races"):
            checked(some(shape, "float32"), axis, 7, True)


@needs_compiler
def test_many_dimensions_and_indices_of_64_bits(driver, monkeypatch):
    array = some((2, 3, 2, 5, 2, 3), "uint8")
    with checking("bounds", "initialized", "count") as record:
        for axis in range(6):
            checked(array, axis, 2, True, makes=(_gaps, _padded, _row_major))
    assert any("leading_tiles_0_int32_t" in kernel.symbol for kernel in record.counts)
    monkeypatch.setattr(planning, "narrowest_index_type", lambda count, furthest: "int64_t")
    plan.run.cache_clear()
    with checking("bounds", "initialized", "count") as record:
        checked(some((20, 50), "uint8"), 1, 3, False)
        checked(array, 1, 2, False, makes=(_gaps,) * 3)
    results = {kernel.symbol for kernel in record.counts if kernel.name == "leading_tiles"}
    assert results == {"leading_tiles_1_int64_t", "leading_tiles_0_int64_t"}
    plan.run.cache_clear()


# ---- Cost


def costs(driver, array, axis, make):
    """Return the launches and allocations of a second call."""
    x, _ = there(array, make)
    to = np.take(array, range(3), axis).shape
    outs = [there(np.zeros(to, dtype), make)[0] for dtype in ("float32", "uint32")]
    return count_second_call(driver, lambda: directml.top_k(x, axis, 3, out=outs))


@needs_compiler
@pytest.mark.parametrize("make", [_row_major, _column_major, _gaps])
def test_one_launch_for_lines_that_a_tile_holds(driver, make):
    for shape, axis in (((4, TILE), 1), ((90, 5), 0), ((1, 3), 1)):
        assert costs(driver, some(shape, "float32"), axis, make) == Counter(launches=1)
    # longer ones: two tiles and what merges them, the positions, the elements
    longer = some((TILE + 1,), "float32")
    assert costs(driver, longer, 0, make)["launches"] == 5
    for k, down in ((1, False), (TILE, True), (TILE + 1, False)):
        checked(longer, 0, k, down, makes=(make, _gaps, make))


@needs_compiler
def test_coalesced(driver):
    rng = np.random.default_rng(0)
    for dtype in ("uint8", "float32"):
        for shape, axis in (((96, 200), 1), ((64, 96), 0), ((8, 10, 512), 1)):
            array = rng.integers(0, 200, shape).astype(dtype)
            x = tl.asarray(array, device="cuda")
            with checking("bounds", "count") as record:
                directml.top_k(x, axis, 8)
            result = record.total_of_kernel("leading_tiles")
            assert result.sector_efficiency_read == 1.0, (dtype, shape)
            assert result.sector_efficiency_write >= 0.95, (dtype, shape)
            assert result.lane_activity >= 0.9


@needs_compiler
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_a_trace_shows_what_is_read_and_written(driver, where):
    x = tl.zeros((4, 10), dtype=tl.float16, device=where)
    with tl.trace() as seen:
        directml.top_k(x, 1, 3, index_data_type="UINT64")
    (results,) = [item for item in seen if item.name == "TOP_K"]
    assert (results.kind, results.bytes_read, results.bytes_written) == ("compute", 80, 24 + 96)
    assert results.inputs == (x.layout,)


# ---- Plans


def test_tensors_of_any_size():
    # The last tile of the last of these ends behind 2**31.
    for shape, axis in (
        ((2**23, 2048), 1),
        ((2048, 2**23), 0),
        ((2**30, 1), 1),
        ((2**29 - 1, 4), 1),
    ):
        layout = tl.Layout.row_major(shape)
        to = tl.Layout.row_major([1 if d == axis else n for d, n in enumerate(shape)])
        device = Device("cuda", 0)
        source, values, positions = (
            TensorSpec(dtype, item, device)
            for dtype, item in ((tl.float32, layout), (tl.float32, to), (tl.uint32, to))
        )
        launch = planning.plan_top_k_of_short_lines(
            TopKPlan("TOP_K", values, positions, source, axis, True)
        )
        assert launch.grid < 2**31
        wide = "int64_t" if shape[axis] > 1 else "int32_t"
        assert dict(launch.kernel.shape)["INDEX"] == wide


def test_the_function_is_one_launch(driver):
    x = tl.asarray(np.random.default_rng(0).standard_normal((40, 30)), device="cuda")
    for y in (x, x.mT):
        done = count_second_call(driver, lambda y=y: tl.top_k(y, 3))
        assert done == {"allocations": 2, "launches": 1}
        assert tl.top_k(y, 3).values.layout.minor_to_major == y.layout.minor_to_major
