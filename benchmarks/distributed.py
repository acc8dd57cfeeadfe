"""``python -m benchmarks distributed``: memory on its way to another process, beside NumPy's.

Each round makes each array anew, so that nothing that an engine kept of the last one helps, and
begins with another. It needs `pip install -e '.[bench,engines]'`; engines that are not installed
are left out.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import tensorlayout as tl
from benchmarks.measure import Timing
from benchmarks.peers import installed
from benchmarks.report import table

SHAPE = (8192, 8192)
TARGET = 1.5  # times NumPy's, at most

# What is sent: 256 MB of float32 each; the padded one has rows of 32 kB that hold 8190 numbers.
_PITCHED = tl.Layout.pitched((8192, 8190), 256, 4)
SENT: dict[str, Callable[[], Any]] = {
    "numpy": lambda: np.ones(SHAPE, np.float32),
    "row-major": lambda: tl.ones(SHAPE, dtype=tl.float32),
    "column-major": lambda: tl.ones(SHAPE, dtype=tl.float32, layout="F"),
    "padded": lambda: tl.ones((8192, 8190), dtype=tl.float32, layout=_PITCHED),
}

Way = Callable[[Any], object]


def corner(x: Any) -> float:
    """A little of what came, so that it is known to be there."""
    return float(x[0, 0]) + float(x[-1, -1])


def same(x: Any) -> Any:
    """Return the argument: the cheapest task of a worker."""
    return x


def _out_of_band(x: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    buffers: list[pickle.PickleBuffer] = []
    return pickle.dumps(x, protocol=5, buffer_callback=buffers.append), buffers


def _there_and_back(x: Any) -> object:
    text, buffers = _out_of_band(x)
    return pickle.loads(text, buffers=buffers)


@contextlib.contextmanager
def _pickle() -> Iterator[dict[str, Way]]:
    yield {
        "pickle 5, out of band": _out_of_band,
        "pickle 5, out of band, and back": _there_and_back,
        "pickle 4, and back": lambda x: pickle.loads(pickle.dumps(x, 4)),
    }


@contextlib.contextmanager
def _futures() -> Iterator[dict[str, Way]]:
    with ProcessPoolExecutor(2) as pool:
        yield {
            "concurrent.futures, to a process": lambda x: pool.submit(corner, x).result(),
            "concurrent.futures, and back": lambda x: pool.submit(same, x).result(),
        }


@contextlib.contextmanager
def _joblib() -> Iterator[dict[str, Way]]:
    joblib = installed("joblib")
    with joblib.Parallel(n_jobs=2) as pool:
        yield {"joblib, to two processes": lambda x: pool([joblib.delayed(corner)(x)] * 2)}


@contextlib.contextmanager
def _distributed() -> Iterator[dict[str, Way]]:
    library = installed("distributed")
    protocol = installed("distributed.protocol")
    cluster = library.LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="4GB", dashboard_address=None
    )
    with cluster, library.Client(cluster) as client:
        first, second = client.scheduler_info()["workers"]

        def other(x: Any) -> object:
            held = client.submit(same, x, workers=[second], pure=False)
            return client.submit(corner, held, workers=[second], pure=False).result()

        def between(maker: str) -> float:
            source = client.submit(_make_source, maker, workers=[first], pure=False)
            library.wait(source)
            start = time.perf_counter()
            client.submit(corner, source, workers=[second], pure=False).result()
            return time.perf_counter() - start

        yield {
            "distributed.serialize": protocol.serialize,
            "distributed.serialize, and back": lambda x: protocol.deserialize(
                *protocol.serialize(x)
            ),
            "distributed, to a worker": other,
            "distributed, worker to worker": between,
        }


def _make_source(name: str) -> Any:
    return SENT[name]()


@contextlib.contextmanager
def _ray() -> Iterator[dict[str, Way]]:
    ray = installed("ray")
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        logging_level="ERROR",
        object_store_memory=2 << 30,
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    try:
        far = ray.remote(corner)
        yield {
            "ray.put": ray.put,
            "ray.put, and get": lambda x: ray.get(ray.put(x)),
            "ray, to a worker": lambda x: ray.get(far.remote(x)),
        }
    finally:
        ray.shutdown()


ENGINES: dict[str, Callable[[], Any]] = {
    "pickle": _pickle,
    "concurrent.futures": _futures,
    "joblib": _joblib,
    "distributed": _distributed,
    "ray": _ray,
}


def timings(only: str, rounds: int) -> dict[str, Timing]:
    """Seconds of each way, for each thing sent."""
    results: dict[str, Timing] = {}
    for engine, ways in ENGINES.items():
        if engine not in ("pickle", "concurrent.futures") and installed(engine) is None:
            continue
        with ways() as open_way:
            for name, way in open_way.items():
                if only in name:
                    results[name] = _timed(way, rounds, on_workers="worker to worker" in name)
    return results


def _timed(way: Way, rounds: int, *, on_workers: bool) -> Timing:
    """The first round is not counted: it starts processes, and has them import the package."""
    times: dict[str, list[float]] = {name: [] for name in SENT}
    names = list(SENT)
    for turn in range(rounds + 1):
        for name in [*names[turn % len(names) :], *names[: turn % len(names)]]:
            if on_workers:
                spent: Any = way(name)
            else:
                x = SENT[name]()
                start = time.perf_counter()
                kept = way(x)
                spent = time.perf_counter() - start
                del kept, x
            if turn:
                times[name].append(spent)
    return Timing({name: tuple(seconds) for name, seconds in times.items()})


def markdown(results: dict[str, Timing], machine: list[str]) -> str:
    """The page."""
    ours = [name for name in SENT if name != "numpy"]
    rows, missed = [], 0
    for way, timing in results.items():
        ratios = [timing.ratio(name, "numpy") for name in ours]
        # Less than a millisecond is as good as nothing, whatever NumPy takes.
        slow = [
            r.middle > TARGET and timing.middle(n) > 1e-3 for n, r in zip(ours, ratios, strict=True)
        ]
        missed += any(slow)
        cells = [
            f"{1e3 * timing.middle(name):.2f} ({r.middle:.2f}; {r.low:.2f} to {r.high:.2f})"
            for name, r in zip(ours, ratios, strict=True)
        ]
        rows.append([way, f"{1e3 * median(timing.rounds['numpy']):.2f}", *cells])
    engines = [f"{name} {installed(name).__version__}" for name in ENGINES if _has_version(name)]
    rounds = len(next(iter(results.values())).rounds["numpy"]) if results else 0
    notes = [
        "`python -m benchmarks distributed`: milliseconds to send 256 MB of float32 that nobody",
        f"has sent before, medians of {rounds} rounds, the first to go another in each; in",
        "brackets ours over NumPy's of the same round: median; least to greatest.",
        "",
        f"{missed} of {len(results)} rows miss the target: {TARGET} times NumPy's time, or 1 ms.",
    ]
    header = ["milliseconds", "numpy", *ours]
    page = [
        "# To another process",
        "",
        *notes,
        "",
        *machine,
        ", ".join(engines),
        "",
        *table(header, rows),
        "",
    ]
    return "\n".join(page)


def _has_version(name: str) -> bool:
    return hasattr(installed(name), "__version__")
