"""Host time of small calls, from the function to the launch, without the launch itself.

On CUDA two drivers take part, neither with a GPU: CuPy's, on the stand-in of
``tests/harness/fake_cupy.py`` with calls that do nothing in place of CuPy's, and the simulator with
launches that do nothing. So a figure is the cost of this package's Python; CuPy's pool and CUDA's
launch come on top of it.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import tensorlayout as tl
from benchmarks.gpu_plans import reopened
from benchmarks.measure import Call, Timing, measure
from benchmarks.report import table
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.driver import driver

Calls = Mapping[str, Call]

TESTS = Path(__file__).parent.parent / "tests" / "harness"

NUMPY, CPU = "NumPy", "CPU"
CUPY = "CUDA, CuPy's driver"
CUPY_2 = "CUDA, CuPy's driver, 2 devices"
SIMULATOR = "CUDA, simulator"
COLUMNS = (NUMPY, CPU, CUPY, CUPY_2, SIMULATOR)


# ---- Calls


def _add_in_place(x: Any, y: Any) -> None:
    x += y


def _assign(x: Any, y: Any) -> None:
    x[...] = y


def _calls(x: Any, y: Any, relayout: Callable[[Any], Any]) -> Calls:
    """The rows, on two arrays of one library, of shape (4, 4)."""
    turned = y.mT
    return {
        "`x + y`": lambda: x + y,
        "`x + y.mT`": lambda: x + turned,
        "`x + 1.5`": lambda: x + 1.5,
        "`x += y`": lambda: _add_in_place(x, y),
        "`x[...] = y.mT`": lambda: _assign(x, turned),
        "in another layout": lambda: relayout(x),
        "`x.mT`": lambda: x.mT,
    }


def _on(device: str) -> Calls:
    x, y = (tl.full((4, 4), 1.0, dtype="float32", device=device) for _ in range(2))
    return _calls(x, y, lambda x: tl.to_layout(x, (0, 1)))


def _numpy() -> Calls:
    x, y = np.ones((4, 4), np.float32), np.ones((4, 4), np.float32)
    return _calls(x, y, np.asfortranarray)


# ---- Drivers


class _Memory:
    """Device memory that nobody reads."""

    __slots__ = ("ptr",)

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


def _null_cupy(device_count: int) -> Any:
    """CuPy's stand-in, with nothing behind the calls that a warm call makes."""
    sys.path.insert(0, str(TESTS))
    fake = importlib.import_module("fake_cupy")
    sys.path.remove(str(TESTS))
    cupy = fake.fake_cupy(fake.Recorder(device_count))
    address, stream = count(1 << 40, 512).__next__, SimpleNamespace(ptr=0)
    cupy.cuda.alloc = lambda size: _Memory(address())
    cupy.cuda.get_current_stream = lambda device=-1: stream
    cupy.cuda.driver.launchKernel = lambda *arguments: None
    cupy.cuda.runtime.getDevice = lambda: 0
    cupy.cuda.runtime.memcpyAsync = lambda *arguments: None
    return cupy


@contextmanager
def _cupy(device_count: int) -> Iterator[None]:
    cupy = patch.dict(sys.modules, cupy=_null_cupy(device_count))
    architecture = patch.object(
        nvrtc, "newest_runnable_architecture", lambda capability: capability
    )
    compiled = patch.object(nvrtc, "read_cubin", lambda *arguments: b"machine code")
    with cupy, architecture, compiled, reopened(simulator="0"):
        yield


@contextmanager
def _simulator() -> Iterator[None]:
    with reopened(simulator="1"):
        opened: Any = driver()
        opened.launcher = lambda kernel: lambda grid, parameters: None
        yield


# ---- The table


def timings(quick: bool) -> dict[str, dict[str, float]]:
    """For each column and row, the least time of a call, in seconds."""
    timed = functools.partial(measure, rounds=5 if quick else 40, batch=0.003, pause=0.0)
    seconds = {NUMPY: _least(timed(_numpy())), CPU: _least(timed(_on("cpu")))}
    for name, opened in ((CUPY, _cupy(1)), (CUPY_2, _cupy(2)), (SIMULATOR, _simulator())):
        with opened:
            seconds[name] = _least(timed(_on("cuda")))
    return seconds


def _least(timing: Timing) -> dict[str, float]:
    return {name: min(times) for name, times in timing.rounds.items()}


def markdown(seconds: Mapping[str, Mapping[str, float]], machine: list[str]) -> str:
    """The page."""
    figures = [[row, *(f"{1e6 * seconds[c][row]:.2f}" for c in COLUMNS)] for row in seconds[NUMPY]]
    rows = table(["float32, (4, 4)", *COLUMNS], figures)
    notes = [
        "`python -m benchmarks dispatch`: microseconds of a warm call on the host; the least of",
        "all rounds, for the machine had other work.",
        "",
        "On CUDA nothing is launched: functions that do nothing stand for CuPy's, and for launches",
        "on the simulator. So this is the Python between the call and the launch: CuPy's",
        "allocation and CUDA's launch come on top, and the simulator's list of allocations is in",
        "its column.",
    ]
    return "\n".join(["# Host cost of small calls", "", *notes, "", *machine, "", *rows, ""])
