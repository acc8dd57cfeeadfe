"""Searches in sorted lines on CUDA, here the simulator: lengths, one launch, no wait.

Values in every layout and dtype: `ops/reducing_cases.py`.
"""

from collections import Counter

import numpy as np
import pytest
from simulated import needs_compiler, simulator
from tensors import same
from test_cuda_matmul import count_second_call

import tensorlayout as tl
from tensorlayout.cuda import sort as planning
from tensorlayout.cuda.engine.simulator import checking
from tensorlayout.cuda.sort import plan_sorted_search
from tensorlayout.devices import Device
from tensorlayout.tensor import TensorSpec


@pytest.fixture(scope="module", name="driver")
def _driver():
    with simulator() as result:
        yield result


@needs_compiler
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
                    same(tl.searchsorted(x, y, side=side).to_device("cpu"), expected, f"{n}")
                same(tl.isin(y, x).to_device("cpu"), np.isin(values, line), f"{n}")


@needs_compiler
def test_indices_of_64_bits_and_many_dimensions(driver, monkeypatch):
    monkeypatch.setattr(planning, "narrowest_index_type", lambda count, furthest: "int64_t")
    values = np.arange(2 * 3 * 2 * 5, dtype=np.float32).reshape(2, 3, 2, 5)[:, ::2, :, ::2]
    line = np.arange(0, 60, 7, dtype=np.float32)
    x, y = tl.asarray(line, device="cuda"), tl.asarray(values, device="cuda")
    with checking("bounds", "initialized", "count") as record:
        same(tl.searchsorted(x, y).to_device("cpu"), np.searchsorted(line, values))
    assert [kernel.symbol for kernel in record.counts] == ["search_line_1_int64_t_positions"]
    strided = tl.asarray(np.arange(60, dtype=np.float32).reshape(2, 3, 2, 5), device="cuda")
    with checking("bounds", "initialized", "count") as record:
        result = tl.searchsorted(x, strided[:, ::2, :, ::2]).to_device("cpu")
    assert [kernel.symbol for kernel in record.counts] == ["search_line_0_int64_t_positions"]
    same(result, np.searchsorted(line, values))


@needs_compiler
def test_cost(driver):
    x = tl.arange(1000, dtype=tl.float32, device="cuda")
    y = tl.ones((64, 32), dtype=tl.float32, device="cuda")
    for call, expected in (
        (lambda: tl.searchsorted(x, y), Counter(launches=1, allocations=1)),
        # of those that are looked among a copy, and a sort of it
        (lambda: tl.isin(y, x), Counter(launches=2, allocations=3)),
    ):
        assert count_second_call(driver, call) == expected
        with checking("bounds", "count") as record:
            call()
        counts = record.total_of_kernel("search_line")
        assert counts.sector_efficiency_write == counts.lane_activity == 1.0


# ---- Plans


def test_no_values_and_huge_ones():
    device = Device("cuda", 0)
    line = TensorSpec(tl.float32, tl.Layout.row_major((2**33,)), device)
    assert (
        plan_sorted_search(
            line, TensorSpec(tl.float32, tl.Layout.row_major((0, 3)), device), tl.float32
        )
        is None
    )
    few = TensorSpec(tl.float32, tl.Layout.row_major((3,)), device)
    assert dict(plan_sorted_search(line, few, tl.float32).kernel.shape)["INDEX"] == "int64_t"
    assert dict(plan_sorted_search(few, few, tl.float32).kernel.shape)["INDEX"] == "int32_t"
    assert plan_sorted_search(few, line, tl.float32).grid == 2**25
