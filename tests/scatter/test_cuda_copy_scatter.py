"""Few elements of a tensor replaced, on CUDA: launches, positions outside, accesses."""

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import same
from test_cuda_matmul import counted

import tensorlayout as tl
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.gather import index_loop
from tensorlayout.cuda.scatter import copy_scatter
from tensorlayout.cuda.scatter.copy_scatter import FEW
from tensorlayout.functions import dispatch
from tensorlayout.plan.scatter import CopyScatter

SCATTER = CopyScatter("scatter")


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulator() as found:
        yield found


def on_cuda(values, dtype=None):
    return tl.asarray(np.asarray(values, dtype)).to_device("cuda")


def rng(seed=0):
    return np.random.default_rng(seed)


def along(out, x, value, axis, at):
    with checking("bounds", "initialized", "races", "count") as record:
        key = (x._spec, out._spec, value._spec, (axis,), None, at._spec)
        assert dispatch.call(SCATTER, key, (out, x, value, at)) is out
    return record.counts


def by_tuples(out, x, value, dims, *at):
    with checking("bounds", "initialized", "races", "count") as record:
        key = (x._spec, out._spec, value._spec, dims, False, *(p._spec for p in at))
        dispatch.call(SCATTER, key, (out, x, value, *at))
    return record.counts


def replaced(array, value, axis, at):
    """NumPy writes in index order, line by line."""
    found = array.copy()
    lines, values, places = (np.moveaxis(a, axis, -1) for a in (found, value, at))
    for line in np.ndindex(lines.shape[:-1]):
        for k, place in enumerate(places[line]):
            lines[(*line, place)] = values[(*line, k)]
    return found


def is_one(found):
    return [k.name for k in found] == ["replace_elements"]


# --- Values --------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
def test_rows_and_elements_by_tuples(index, monkeypatch):
    for module in (index_loop, copy_scatter):
        monkeypatch.setattr(module, "index_type", lambda count, furthest: index)
    values = np.arange(3 * 4 * 5 * 8, dtype=np.int16).reshape(3, 4, 5, 8)
    i, j = rng().integers(-3, 3, (2, 4)), rng(1).integers(-4, 4, (2, 4))
    for dims, key in (((0,), (i,)), ((0, 1), (i, j)), ((0, 1, 2), (i, j, i))):
        new = -1 - np.arange(values[key].size, dtype=np.int16).reshape(values[key].shape)
        expected = values.copy()
        expected[key] = new
        for order in (None, (1, 3, 0, 2)):
            out = tl.empty(values.shape, dtype="int16", device="cuda", layout=order)
            found = by_tuples(out, on_cuda(values), on_cuda(new), dims, *map(on_cuda, key))
            assert is_one(found)
            assert all(dict(k.shape)["INDEX"] == index for k in found)
            same(out.to_device("cpu"), expected)
    tl.plan.run.cache_clear()


@needs_compiler
@pytest.mark.parametrize(("count", "launches"), [(1, 1), (FEW, 1), (FEW + 1, 4)])
def test_one_launch_for_few_positions(gpu, count, launches):
    values = np.arange(200, dtype=np.float32).reshape(5, 40)
    at = rng().integers(0, 40, (5, count))
    out, operands = on_cuda(np.zeros_like(values)), (on_cuda(values), on_cuda(-1.0 - at, "float32"))
    places = on_cuda(at)
    done = counted(gpu, lambda: along(out, *operands, 1, places))
    assert (done["launches"], done["allocations"]) == (launches, launches > 1)
    same(out.to_device("cpu"), replaced(values, -1.0 - at.astype("float32"), 1, at))


@needs_compiler
def test_positions_that_are_not_evenly_apart_take_a_copy_and_a_scatter():
    values, at = np.arange(60, dtype=np.float32), np.asarray([[3, 7], [59, 3]])
    large = on_cuda(np.arange(15).reshape(3, 5))
    large[:2, :2] = on_cuda(at)
    out = on_cuda(np.zeros_like(values))
    new = np.asarray([[-1, -2], [-3, -4]], np.float32)
    found = by_tuples(out, on_cuda(values), on_cuda(new), (0,), large[:2, :2])
    assert not is_one(found)
    expected = values.copy()
    expected[[3, 7, 59]] = [-4, -2, -3]
    same(out.to_device("cpu"), expected)


# --- Positions outside ---------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "bad"), [("int64", 4), ("int64", -5), ("int8", -128), ("uint64", 2**63 - 1)]
)
def test_a_position_outside(kind, bad):
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


# --- Cost ----------------------------------------------------------------------------------------


@needs_compiler
def test_accesses_fill_sectors_and_warps():
    values = np.zeros((64, 1024), np.float32)
    for axis, shape in ((0, (2, 1024)), (1, (64, 2))):
        at = on_cuda(np.zeros(shape, np.int32))
        out, new = on_cuda(values), on_cuda(np.ones(shape, np.float32))
        ((_, counts),) = along(out, on_cuda(values), new, axis, at).items()
        assert counts.sector_efficiency_write == 1.0
        assert counts.lane_activity >= 0.9
        if axis == 0:  # else all lanes ask for one position
            assert counts.sector_efficiency_read >= 0.9
