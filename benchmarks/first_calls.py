"""``python -m benchmarks first``: first calls on CUDA, with and without kernels on disk.

A fresh process makes common calls, each for the first time. Kernels are compiled by NVRTC, which
needs CuPy and no GPU; nothing is loaded or launched (`dispatch.null_cupy`).
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from benchmarks.report import table

ARCHITECTURE = 90

# Targets in seconds, for the list as a whole.
COLD, WARM = 5.0, 0.25


def _calls(tl: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the calls, in float32 of shape (64, 48) where nothing else is said."""
    x = tl.full((64, 48), 1.5, dtype="float32", device="cuda")
    yield "full", lambda: x
    indices = tl.arange(6, device="cuda")
    yield "arange", lambda: indices
    y, square = tl.full_like(x, 2.0), tl.full((512, 512), 1.5, dtype="float32", device="cuda")
    integers = tl.ones((8, 8), dtype="int32", device="cuda")
    images = tl.ones((2, 16, 24, 24), dtype="float32", device="cuda")
    mask = x > 1
    yield "x > 1", lambda: mask
    yield "astype", lambda: tl.astype(indices, tl.int32)
    yield "x + y", lambda: x + y
    yield "x * 2", lambda: x * 2
    yield "x + x.T, (512, 512)", lambda: square + square.T
    yield "exp", lambda: tl.exp(x)
    yield "sum", lambda: tl.sum(x)
    yield "sum of rows", lambda: tl.sum(x, axis=1)
    yield "sum of columns", lambda: tl.sum(x, axis=0)
    yield "argmax", lambda: tl.argmax(x)
    yield "mean", lambda: tl.mean(x)
    yield "var", lambda: tl.var(x)
    yield "cumulative_sum", lambda: tl.cumulative_sum(x, axis=1)
    yield "sort", lambda: tl.sort(x)
    yield "argsort", lambda: tl.argsort(x)
    yield "take", lambda: tl.take(x, indices, axis=0)
    yield "x[mask]", lambda: x[mask]
    yield "concat", lambda: tl.concat([x, y])
    yield "stack", lambda: tl.stack([x, y])
    yield "another order, (512, 512)", lambda: tl.to_layout(square, (0, 1))
    yield "reshape that copies", lambda: tl.reshape(square.T, (-1,))
    yield "matmul of int32", lambda: integers @ integers
    yield "where", lambda: tl.where(mask, x, y)
    yield "clip", lambda: tl.clip(x, 0.0, 1.0)
    yield "x[indices] = 0", lambda: x.__setitem__(indices, 0.0)
    yield "pad", lambda: tl.pad(x, 1)
    yield "tril", lambda: tl.tril(x)
    yield "NHWC", lambda: tl.to_layout(images, "NHWC")


def main() -> None:
    """Print the seconds of each call in this process, and of NVRTC in it, as JSON."""
    import tensorlayout as tl
    from benchmarks.dispatch import null_cupy
    from tensorlayout.cuda.engine import nvrtc

    nvrtc.nvrtc_version()  # loads NVRTC, while CuPy itself can still be imported
    in_nvrtc, compile_program = [0.0], nvrtc._compile_program

    def timed_compile(*program: Any) -> Any:
        start = time.perf_counter()
        try:
            return compile_program(*program)
        finally:
            in_nvrtc.append(time.perf_counter() - start)

    cupy, seconds = null_cupy(1), {}
    runtime = cupy.cuda.runtime

    def copy(destination: int, source: int, size: int, kind: int, stream: int) -> None:
        if kind == runtime.memcpyDeviceToHost:
            ctypes.memset(destination, 0, size)

    runtime.memcpyAsync, sys.modules["cupy"] = copy, cupy
    architecture = patch.object(nvrtc, "newest_runnable_architecture", lambda _: ARCHITECTURE)
    with architecture, patch.object(nvrtc, "_compile_program", timed_compile):
        calls, start, compiled = _calls(tl), time.perf_counter(), 0.0
        for name, call in calls:
            call()
            compiled, before = sum(in_nvrtc), compiled
            seconds[name] = time.perf_counter() - start, compiled - before
            start = time.perf_counter()
    print(json.dumps(seconds))


Seconds = Mapping[str, tuple[float, float]]


def timings(rounds: int) -> tuple[Seconds, Seconds]:
    """For each call the seconds, and those in NVRTC: with an empty cache, and with its kernels.

    The rounds in which the calls took least.
    """
    cold, warm = [], []
    for _ in range(rounds):
        with TemporaryDirectory() as folder:
            cold.append(_in_fresh_process(folder))
            warm.append(_in_fresh_process(folder))
    return min(cold, key=total), min(warm, key=total)


def _in_fresh_process(folder: str) -> Seconds:
    environment = {
        **os.environ,
        "TENSORLAYOUT_CACHE_DIR": folder,
        "TENSORLAYOUT_CUDA_SIMULATOR": "",
    }
    command, where = [sys.executable, "-m", "benchmarks.first_calls"], Path(__file__).parents[1]
    done = subprocess.run(command, env=environment, cwd=where, stdout=subprocess.PIPE, check=True)
    result: Seconds = json.loads(done.stdout)
    return result


def total(seconds: Seconds) -> float:
    """Seconds of all calls."""
    return sum(whole for whole, _ in seconds.values())


def markdown(cold: Seconds, warm: Seconds, machine: list[str]) -> str:
    """The page."""
    from tensorlayout.cuda.engine.nvrtc import nvrtc_version

    rows = [
        [name, f"{1e3 * whole:.0f}", f"{1e3 * compiling:.0f}", f"{1e3 * warm[name][0]:.1f}"]
        for name, (whole, compiling) in cold.items()
    ]
    sums = f"cold {total(cold):.2f} s (target {COLD}), warm {total(warm):.3f} s (target {WARM})"
    notes = [
        "`python -m benchmarks first`: milliseconds of common calls, each for the first time in a",
        "fresh process, on the host alone. Cold: no kernel is on disk. Warm: all kernels are.",
        "",
        f"{len(cold)} calls together: {sums}.",
        "",
        *machine[:1],
        f"{machine[1]}, NVRTC {nvrtc_version()} for sm_{ARCHITECTURE}",
    ]
    lines = table(["first call", "cold", "of which NVRTC", "warm"], rows)
    return "\n".join(["# First calls on CUDA", "", *notes, "", *lines, ""])


if __name__ == "__main__":
    main()
