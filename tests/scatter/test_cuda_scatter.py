"""Writes at positions on CUDA: duplicates, overlaps, positions outside, accesses.

Values in every layout: `ops/indexing_cases.py`.
"""

from collections import Counter

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import placed, same, slots, tensor_in
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout.cuda import gather, scatter
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.scatter import FEW
from tensorlayout.functions import dispatch
from tensorlayout.plan.scatter import CopyScatter, Scatter
from tensorlayout.tensor import TensorSpec

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as result:
        yield result


def on_cuda(values, dtype=None):
    return tl.asarray(np.asarray(values, dtype)).to_device("cuda")


def rng(seed=0):
    return np.random.default_rng(seed)


def written(array, key, value):
    """Return NumPy's result; NumPy writes in index order."""
    result = array.copy()
    result[key] = value
    return result


def as_cuda_key(key):
    return tuple(on_cuda(k) if isinstance(k, np.ndarray) else k for k in key)


# --- Values --------------------------------------------------------------------------------------


def test_more_positions_and_dimensions_than_a_kernel_is_made_for():
    layout = tl.Layout((2,) * 9, [3**k for k in range(9)])
    x, array = tensor_in(layout, np.arange(layout.required_size, dtype=np.uint8))
    x, i = placed(x), np.asarray([1, 0, 0, -1])
    for key in ((slice(None),) * 3 + (i,), (i, i, i, i, -1 - i, i, i)):
        value = slots(np.dtype("uint8"), array[key].size).reshape(array[key].shape)
        array = written(array, key, value)
        x[as_cuda_key(key)] = on_cuda(value)
        same(x.to_device("cpu"), array)


def test_indices_of_64_bits(monkeypatch):
    monkeypatch.setattr(gather, "narrowest_index_type", lambda count, furthest: "int64_t")
    values = np.zeros((3, 4, 5), np.float32)
    for axis in range(3):
        key = (slice(None),) * axis + (np.asarray([2, 0, 1, 2]),)
        value = rng().random(values[key].shape, np.float32)
        x = on_cuda(values)
        with checking("bounds", "races"):
            x[as_cuda_key(key)] = on_cuda(value)
        same(x.to_device("cpu"), written(values, key, value))
    tl.plan.run.cache_clear()


# --- Values for one place ------------------------------------------------------------------------


@pytest.mark.parametrize("places", [1, 2, 100])
def test_the_last_in_index_order_wins(places):
    i = rng().integers(0, places, (40, 50))
    value = rng().random((40, 50, 3), np.float32)
    expected = np.zeros((places, 3), np.float32)
    for at, row in zip(i.ravel(), value.reshape(-1, 3), strict=True):
        expected[at] = row
    for order in ((1, 0), (0, 1)):
        x = on_cuda(np.zeros((places, 3), np.float32))
        with checking("bounds", "races"):
            x[tl.to_layout(on_cuda(i), order)] = on_cuda(value)
        same(x.to_device("cpu"), expected)


def test_a_position_outside_is_reported_by_the_function_that_was_called():
    for layout in (None, "{1,0:T(2,2)}"):
        x = on_cuda(np.zeros((2, 3), np.float32))
        x = x if layout is None else tl.to_layout(x, layout)
        tl.put_along_axis(x, on_cuda(np.array([[5]])), 1)
        with pytest.raises(IndexError, match=r"^put_along_axis: index 5 is out of bounds"):
            x.to_device("cpu")


# --- Positions outside ---------------------------------------------------------------------------

BAD = [
    ("int64", 4), ("int64", -5), ("int64", 2**63 - 1), ("int64", -(2**63)), ("int32", -(2**31)),
    ("int8", -128), ("uint8", 255), ("uint32", 2**32 - 1), ("uint64", 2**63 - 1),
]  # fmt: skip


@pytest.mark.parametrize("value", [7.0, "many"])
@pytest.mark.parametrize(("dtype", "bad"), BAD)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_position_outside(dtype, bad, axis, value):
    values, i = np.zeros((4, 4), np.float32), np.asarray([1, bad, 3, bad], dtype)
    x, source = on_cuda(values), np.full((4, 4), 7, np.float32)
    key = (slice(None),) * axis + (i,)
    with checking("bounds", "initialized", "races"):
        x[as_cuda_key(key)] = on_cuda(source) if value == "many" else value
    with pytest.raises(IndexError) as caught:
        x.to_device("cpu")
    assert str(caught.value) == f"__setitem__: index {bad} is out of bounds for size 4"
    values[(slice(None),) * axis + ([1, 3],)] = 7
    same(x.to_device("cpu"), values)


def test_one_of_seven_outside():
    x, i = on_cuda(np.zeros((2,) * 7, np.float32)), on_cuda([0, 1])
    x[i, i, i, on_cuda([2, 1]), i, i, i] = on_cuda(np.asarray([1, 2], np.float32))
    with pytest.raises(IndexError, match="__setitem__: index 2 is out of bounds for size 2"):
        x.to_device("cpu")
    expected = np.zeros((2,) * 7, np.float32)
    expected[(1,) * 7] = 2
    same(x.to_device("cpu"), expected)


def test_positions_of_an_empty_write_are_checked():
    x = on_cuda(np.zeros((3, 0)))
    x[on_cuda([3])] = 1
    with pytest.raises(IndexError, match="__setitem__: index 3 is out of bounds for size 3"):
        x.to_device("cpu")


# --- What it costs -------------------------------------------------------------------------------


def test_launches_and_no_waiting(gpu):
    x, i, rows = (on_cuda(a) for a in (np.zeros((50, 8)), [3, 5, 3], np.ones((3, 8))))
    assert count_second_call(gpu, lambda: x.__setitem__(i, 5)) == Counter(launches=1)
    assert count_second_call(gpu, lambda: x.__setitem__(i, rows[0])) == Counter(launches=1)
    assert count_second_call(gpu, lambda: x.__setitem__(i[:1], rows[:1])) == Counter(launches=1)
    assert count_second_call(gpu, lambda: x.__setitem__(i, rows)) == Counter(
        launches=3, allocations=1
    )


@pytest.mark.parametrize("columns", [256, 8])
def test_rows_are_coalesced(columns):
    x = tl.zeros((1000, columns), dtype=tl.float32, device="cuda")
    i = on_cuda(rng().permutation(1000), "int32")
    value = tl.ones((1000, columns), dtype=tl.float32, device="cuda")
    with checking("bounds", "count") as record:
        x[i] = value
    result = record.total_of_kernel("scatter_elements")
    assert result.sector_efficiency_write >= 0.99
    # The table of winners is read at random: a sector for each row.
    assert result.sector_efficiency_read >= (0.95 if columns == 256 else 0.6)
    assert result.lane_activity >= 0.9
    kernels = {kernel.name: dict(kernel.shape) for kernel in record.counts}
    assert kernels["scatter_elements"]["WIDTH"] == "16"


def test_64_bits_only_where_offsets_ask_for_it():
    for rows, index in ((2**29, "int32_t"), (2**29 + 8, "int64_t")):
        cuda = tl.Device("cuda")
        x = TensorSpec(tl.float32, tl.Layout.row_major((rows, 16)), cuda)
        i = TensorSpec(tl.int32, tl.Layout.row_major((5,)), cuda)
        value = TensorSpec(tl.float32, tl.Layout.row_major((5, 16)), cuda)
        plan = Scatter().plan(x, value, (0,), False, i)
        result = scatter.plan_scatter(plan, (32, 32))
        names = [launch.kernel.name for launch in result.launches]
        assert names == ["mark_positions", "mark_positions", "scatter_elements"]
        assert {dict(launch.kernel.shape)["INDEX"] for launch in result.launches} == {index}
        assert result.scratch == (rows * (4 if index == "int32_t" else 8),)


# --- Few elements of a copy replaced --------------------------------------------------------------

FEW_REPLACED = CopyScatter("scatter")


def along(out, x, value, axis, at):
    with checking("bounds", "initialized", "races", "count") as record:
        key = (x.spec, value.spec, (axis,), None, at.spec)
        assert dispatch.call_into(out, FEW_REPLACED, key, (x, value, at)) is out
    return record.counts


def by_tuples(out, x, value, dims, *at):
    with checking("bounds", "initialized", "races", "count") as record:
        key = (x.spec, value.spec, dims, False, *(p.spec for p in at))
        dispatch.call_into(out, FEW_REPLACED, key, (x, value, *at))
    return record.counts


def replaced(array, value, axis, at):
    """NumPy writes in index order, line by line."""
    result = array.copy()
    lines, values, places = (np.moveaxis(a, axis, -1) for a in (result, value, at))
    for line in np.ndindex(lines.shape[:-1]):
        for k, place in enumerate(places[line]):
            lines[(*line, place)] = values[(*line, k)]
    return result


def is_one(result):
    return [k.name for k in result] == ["replace_elements"]


@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
def test_few_rows_and_elements_by_tuples(index, monkeypatch):
    for module in (gather, scatter):
        monkeypatch.setattr(module, "narrowest_index_type", lambda count, furthest: index)
    values = np.arange(3 * 4 * 5 * 8, dtype=np.int16).reshape(3, 4, 5, 8)
    i, j = rng().integers(-3, 3, (2, 4)), rng(1).integers(-4, 4, (2, 4))
    for dims, key in (((0,), (i,)), ((0, 1), (i, j)), ((0, 1, 2), (i, j, i))):
        new = -1 - np.arange(values[key].size, dtype=np.int16).reshape(values[key].shape)
        expected = values.copy()
        expected[key] = new
        for order in (None, (1, 3, 0, 2)):
            out = tl.empty(values.shape, dtype="int16", device="cuda", layout=order)
            result = by_tuples(out, on_cuda(values), on_cuda(new), dims, *map(on_cuda, key))
            assert is_one(result)
            assert all(dict(k.shape)["INDEX"] == index for k in result)
            same(out.to_device("cpu"), expected)
    tl.plan.run.cache_clear()


@pytest.mark.parametrize(("count", "launches"), [(1, 1), (FEW, 1), (FEW + 1, 4)])
def test_one_launch_for_few_positions(gpu, count, launches):
    values = np.arange(200, dtype=np.float32).reshape(5, 40)
    at = rng().integers(0, 40, (5, count))
    out, operands = on_cuda(np.zeros_like(values)), (on_cuda(values), on_cuda(-1.0 - at, "float32"))
    places = on_cuda(at)
    done = count_second_call(gpu, lambda: along(out, *operands, 1, places))
    assert (done["launches"], done["allocations"]) == (launches, launches > 1)
    same(out.to_device("cpu"), replaced(values, -1.0 - at.astype("float32"), 1, at))


def test_positions_that_are_not_evenly_apart_take_a_copy_and_a_scatter():
    values, at = np.arange(60, dtype=np.float32), np.asarray([[3, 7], [59, 3]])
    large = on_cuda(np.arange(15).reshape(3, 5))
    large[:2, :2] = on_cuda(at)
    out = on_cuda(np.zeros_like(values))
    new = np.asarray([[-1, -2], [-3, -4]], np.float32)
    result = by_tuples(out, on_cuda(values), on_cuda(new), (0,), large[:2, :2])
    assert not is_one(result)
    expected = values.copy()
    expected[[3, 7, 59]] = [-4, -2, -3]
    same(out.to_device("cpu"), expected)


@pytest.mark.parametrize(
    ("kind", "bad"), [("int64", 4), ("int64", -5), ("int8", -128), ("uint64", 2**63 - 1)]
)
def test_a_position_outside_of_few(kind, bad):
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    at = np.asarray([[1, bad, 3]] * 4, kind)
    around = tl.full((4, 9), 77, dtype="float32", device="cuda")
    out = around[:, 1::2]
    along(out, on_cuda(values), on_cuda(-values[:, :3]), 1, on_cuda(at))
    with pytest.raises(IndexError, match=f"scatter: index {bad} is out of bounds for size 4"):
        out.to_device("cpu")
    expected = values.copy()
    expected[:, [1, 3]] = -values[:, [0, 2]]
    same(out.to_device("cpu"), expected)
    same(around[:, ::2].to_device("cpu"), np.full((4, 5), 77, np.float32))


def test_accesses_of_few_fill_sectors_and_warps():
    values = np.zeros((64, 1024), np.float32)
    for axis, shape in ((0, (2, 1024)), (1, (64, 2))):
        at = on_cuda(np.zeros(shape, np.int32))
        out, new = on_cuda(values), on_cuda(np.ones(shape, np.float32))
        ((_, counts),) = along(out, on_cuda(values), new, axis, at).items()
        assert counts.sector_efficiency_write == 1.0
        assert counts.lane_activity >= 0.9
        if axis == 0:  # else all lanes ask for one position
            assert counts.sector_efficiency_read >= 0.9
