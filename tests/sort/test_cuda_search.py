"""Searches in sorted lines on CUDA, here the simulator: NumPy's positions, one launch, no wait."""

import numpy as np
import pytest
from cuda_memory import NEEDS_COMPILER
from layouts import STRIDED
from simulated import simulator
from tensors import DTYPES, as_dtype, fits, kind, placed, same, slots, tensor_in

import tensorlayout as tl
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.sort import SEARCHES, plan_search, search
from tensorlayout.devices import Device
from tensorlayout.tensor import TensorSpec


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator() as found:
        yield found


def prepared(name, x, y, option):
    """The function of operands like these."""
    dtype = np.result_type(x.dtype, y.dtype)
    found = tl.int64 if name == "searchsorted" else tl.bool
    shape = y.shape if name == "searchsorted" else x.shape
    result = TensorSpec(found, tl.Layout.row_major(shape), x.device)
    return SEARCHES[name]((x._spec, y._spec), dtype, result, option)


def searched(name, x, y, option):
    return prepared(name, x, y, option)(x, y).to_device("cpu")


def exact(array):
    """What NumPy compares, bfloat16 as float64."""
    return array if kind(array.dtype) in "iu" else array.astype(np.float64)


def check_layouts(dtype):
    line = np.sort(exact(slots(as_dtype(dtype), 9, seed=1))).astype(as_dtype(dtype))
    x = tl.asarray(line, device="cuda")
    for layout in STRIDED:
        if not fits(layout, as_dtype(dtype)):
            continue
        host, values = tensor_in(layout, slots(as_dtype(dtype), layout.required_size))
        y = placed(host)
        with checking("bounds", "initialized"):
            for side in ("left", "right"):
                expected = np.asarray(np.searchsorted(exact(line), exact(values), side))
                same(searched("searchsorted", x, y, side), expected, f"{dtype} in {layout}")
            for invert in (False, True):
                expected = np.isin(exact(values), exact(line), invert=invert)
                same(searched("isin", y, x, invert), expected, f"{dtype} in {layout}")
                expected = np.isin(exact(line), exact(values), invert=invert)
                same(searched("isin", x, y, invert), expected, f"{dtype} in {layout}")


@NEEDS_COMPILER
@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_every_layout(driver, dtype):
    check_layouts(dtype)


@NEEDS_COMPILER
@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES["real numeric"])
def test_every_layout_and_dtype(driver, dtype):
    check_layouts(dtype)


@NEEDS_COMPILER
def test_lines_of_any_length_and_any_step(driver):
    values = np.arange(-3, 700, dtype=np.float32)
    y = tl.asarray(values, device="cuda")
    for n in (0, 1, 2, 3, 255, 256, 257):
        line = np.sort(np.random.default_rng(n).integers(0, 600, n).astype(np.float32))
        wide = tl.asarray(np.repeat(line[::-1], 2), device="cuda")
        for x in (tl.asarray(line, device="cuda"), wide[::-2]):
            with checking("bounds", "initialized", "races"):
                for side in ("left", "right"):
                    expected = np.searchsorted(line, values, side)
                    same(searched("searchsorted", x, y, side), expected, f"{n}")
                same(searched("isin", y, x, False), np.isin(values, line), f"{n}")


@NEEDS_COMPILER
def test_operands_of_two_dtypes(driver):
    line, values = np.array([-5, 2, 2, 9], np.int8), np.array([300, 2, -5, -300], np.int16)
    x, y = tl.asarray(line, device="cuda"), tl.asarray(values, device="cuda")
    same(searched("searchsorted", x, y, "right"), np.searchsorted(line, values, "right"))


@NEEDS_COMPILER
def test_indices_of_64_bits_and_many_dimensions(driver, monkeypatch):
    monkeypatch.setattr(search, "index_type", lambda count, furthest: "int64_t")
    values = np.arange(2 * 3 * 2 * 5, dtype=np.float32).reshape(2, 3, 2, 5)[:, ::2, :, ::2]
    line = np.arange(0, 60, 7, dtype=np.float32)
    x, y = tl.asarray(line, device="cuda"), tl.asarray(values, device="cuda")
    with checking("bounds", "initialized", "count") as record:
        same(searched("searchsorted", x, y, "left"), np.searchsorted(line, values))
    assert [kernel.symbol for kernel in record.counts] == ["search_line_1_int64_t_positions"]
    strided = tl.asarray(np.arange(60, dtype=np.float32).reshape(2, 3, 2, 5), device="cuda")
    with checking("bounds", "initialized", "count") as record:
        found = searched("searchsorted", x, strided[:, ::2, :, ::2], "left")
    assert [kernel.symbol for kernel in record.counts] == ["search_line_0_int64_t_positions"]
    same(found, np.searchsorted(line, values))


@NEEDS_COMPILER
def test_cost(driver):
    x = tl.arange(1000, dtype=tl.float32, device="cuda")
    y = tl.ones((64, 32), dtype=tl.float32, device="cuda")
    names = ("launches", "allocations", "synchronisations")
    for name, operands, expected in (
        ("searchsorted", (x, y), [1, 1, 0]),
        # of those that are looked among a copy, and a sort of it
        ("isin", (y, x), [2, 3, 0]),
    ):
        call = prepared(name, *operands, "left" if name == "searchsorted" else False)
        before = [getattr(driver.counters, each) for each in names]
        with checking("bounds", "count") as record:
            call(*operands)
        after = [getattr(driver.counters, each) for each in names]
        assert [b - a for a, b in zip(before, after, strict=True)] == expected
        counts = record.of("search_line")
        assert counts.sector_efficiency_write == counts.lane_activity == 1.0


# ---- Plans


def test_no_values_and_huge_ones():
    device = Device("cuda", 0)
    line = TensorSpec(tl.float32, tl.Layout.row_major((2**33,)), device)
    assert (
        plan_search(line, TensorSpec(tl.float32, tl.Layout.row_major((0, 3)), device), tl.float32)
        is None
    )
    few = TensorSpec(tl.float32, tl.Layout.row_major((3,)), device)
    assert dict(plan_search(line, few, tl.float32).kernel.shape)["INDEX"] == "int64_t"
    assert dict(plan_search(few, few, tl.float32).kernel.shape)["INDEX"] == "int32_t"
    assert plan_search(few, line, tl.float32).grid == 2**25
