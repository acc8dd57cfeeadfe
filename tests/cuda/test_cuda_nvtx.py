"""NVTX ranges, where a variable asks for them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from simulated import hybrid, needs_compiler

import tensorlayout as tl
from tensorlayout.cuda.engine import profiling

pytestmark = needs_compiler


@pytest.fixture
def ranges(monkeypatch):
    """Names of ranges in the order of pushes; None for each pop."""
    results = []
    nvtx = SimpleNamespace(RangePush=results.append, RangePop=lambda: results.append(None))
    monkeypatch.setitem(sys.modules, "cupy.cuda.nvtx", nvtx)
    return results


def test_ranges(ranges, monkeypatch):
    monkeypatch.setenv(profiling.VARIABLE, "1")
    with hybrid():
        x = tl.asarray(np.ones((2, 3), np.float32), device="cuda")
        ranges.clear()
        y = x + x
        assert ranges == ["add float32 (2,3):(3,1)", None]
        y.T[:, 0]  # views launch nothing
        assert len(ranges) == 2
        y[1:] = x[1:]
        tl.cumulative_sum(y, axis=0)
        assert ranges[2:] == [
            "__setitem__ float32 (1,3):(3,1)",
            None,
            "cumulative_sum float32 (2,3):(3,1)",
            None,
        ]
        with pytest.raises(np.linalg.LinAlgError):
            tl.linalg.cholesky(-tl.eye(2, device="cuda"))
        assert ranges.count(None) * 2 == len(ranges)


@pytest.mark.parametrize("value", [None, "0", ""])
def test_no_ranges(ranges, monkeypatch, value):
    monkeypatch.delenv(profiling.VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(profiling.VARIABLE, value)
    with hybrid():
        assert tl.ones(8, device="cuda") is not None
    assert ranges == []
