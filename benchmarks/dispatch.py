"""Host time of small calls, from the function to the launch, without the launch itself.

On CUDA two drivers take part, neither with a GPU: CuPy's, on the stand-in of
``tests/harness/fake_cupy.py`` with calls that do nothing in place of CuPy's, and the simulator with
launches that do nothing. So a figure is the cost of this package's Python; CuPy's pool and CUDA's
launch come on top of it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import tensorlayout as tl
from benchmarks.gpu_plans import reopened
from benchmarks.measure import Call, measure
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


def _calls(xp: Any, x: Any, y: Any, indices: Any, relayout: Callable[[Any], Any]) -> Calls:
    """The rows, on two arrays of one library, of shape (4, 4)."""
    turned = y.mT
    return {
        "`x + y`": lambda: x + y,
        "`x + y.mT`": lambda: x + turned,
        "`x + 1.5`": lambda: x + 1.5,
        "`x += y`": lambda: _add_in_place(x, y),
        "`x[...] = y.mT`": lambda: _assign(x, turned),
        "in another layout": lambda: relayout(x),
        "`x.copy()`": lambda: x.copy(),
        "`sum(x)`": lambda: xp.sum(x),
        "`x.mT`": lambda: x.mT,
        "`x.__dlpack__()`": lambda: x.__dlpack__(max_version=(1, 0)),
        # Last, for reads at positions leave a record that the export to a library would read.
        "`take(x, indices)`": lambda: xp.take(x, indices, axis=0),
    }


def _on(device: str) -> Calls:
    x, y = (tl.full((4, 4), 1.0, dtype="float32", device=device) for _ in range(2))
    indices = tl.arange(3, device=device)
    return _calls(tl, x, y, indices, lambda x: tl.to_layout(x, (0, 1)))


def _numpy() -> Calls:
    x, y = np.ones((4, 4), np.float32), np.ones((4, 4), np.float32)
    return _calls(np, x, y, np.arange(3), np.asfortranarray)


# ---- Drivers


class _Memory(NamedTuple):
    """Device memory that nobody reads."""

    ptr: int


class _Stream(SimpleNamespace):
    """The default stream, in which all work is done."""

    ptr = 0

    def synchronize(self) -> None:
        """There is nothing to wait for."""


def null_cupy(device_count: int) -> Any:
    """CuPy's stand-in, with nothing behind the calls that a warm call makes.

    They are functions in C, as CuPy's are, so that each function in Python of a call is ours.
    """
    sys.path.insert(0, str(TESTS))
    fake = importlib.import_module("fake_cupy")
    sys.path.remove(str(TESTS))
    cupy = fake.fake_cupy(fake.Recorder(device_count))
    memories = map(partial(tuple.__new__, _Memory), zip(count(1 << 40, 512)))
    do_nothing = "".format  # whatever the arguments
    cupy.cuda.alloc = partial(next, memories)  # the size is what `next` returns at the end
    cupy.cuda.get_current_stream = partial({0: _Stream()}.get, 0)
    cupy.cuda.driver.launchKernel = do_nothing
    cupy.cuda.runtime.getDevice = int
    cupy.cuda.runtime.memcpyAsync = do_nothing
    return cupy


@contextmanager
def without_gpu(device_count: int = 1) -> Iterator[None]:
    """Inside the block, "cuda" is CuPy's driver with nothing behind it."""
    cupy = patch.dict(sys.modules, cupy=null_cupy(device_count))
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
    rounds = 5 if quick else 40
    seconds = {NUMPY: _least(_numpy(), rounds), CPU: _least(_on("cpu"), rounds)}
    drivers = (CUPY, without_gpu()), (CUPY_2, without_gpu(2)), (SIMULATOR, _simulator())
    for name, opened in drivers:
        with opened:
            seconds[name] = _least(_on("cuda"), rounds)
    return seconds


def _least(calls: Calls, rounds: int) -> dict[str, float]:
    # One row after the other, so that `take` can be the last.
    timed = {name: measure({name: call}, rounds, 0.003, 0.0) for name, call in calls.items()}
    return {name: min(timing.rounds[name]) for name, timing in timed.items()}


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
