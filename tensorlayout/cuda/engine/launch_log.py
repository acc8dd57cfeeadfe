"""Which kernels were launched in a block, and at what cost. Other launches cost nothing more.

On the simulator the cost is what it counts. On a GPU it is time, taken by events around each
launch, which is waited for: the class of the launchers gets another ``__call__`` while a block
lasts, so that elsewhere a launch need not even ask whether there is a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorlayout.cuda.engine.counting import Counts, KernelCounts, checking
from tensorlayout.cuda.engine.driver import Kernel, driver
from tensorlayout.cuda.engine.ranges import lock_kept_over_forks
from tensorlayout.scopes import Scope

_logs: Scope[KernelCounts] = Scope("launch_log")
_exchanging = lock_kept_over_forks()
_plain: dict[type, Callable[..., None]] = {}


@contextmanager
def launch_log() -> Iterator[dict[Kernel, Counts]]:
    """What this thread launches inside the block, by first launch, to be read after it.

    Of what the driver cannot see, accesses or seconds, there are zeros. Blocks nest; the innermost
    one logs.
    """
    opened: Any = driver()
    if opened.name == "simulator":
        with checking("bounds", "barriers", "count") as record:
            yield record.counts
        return
    record = KernelCounts()
    try:
        with _logs.saying(record):
            _exchange(opened.launcher_type)
            yield record.counts
    finally:
        _exchange(opened.launcher_type)


def _exchange(kind: type) -> None:
    """How `kind` is called depends on whether code is inside of any block."""
    with _exchanging:
        plain = _plain.setdefault(kind, kind.__call__)
        kind.__call__ = _logged if _logs.blocks else plain  # type: ignore[method-assign]


def _logged(launcher: Any, grid: Any, parameters: bytearray) -> None:
    plain, log = _plain[type(launcher)], _logs.get()
    if log is None:  # of another thread
        plain(launcher, grid, parameters)
        return
    seconds = _seconds(lambda: plain(launcher, grid, parameters))
    log.add(launcher.kernel, Counts(launcher.kernel.name, 1, seconds=seconds))


def _seconds(launch: Callable[[], None]) -> float:
    """How long the device took; 0 where the driver has no events."""
    cuda: Any = getattr(driver(), "cuda", None)
    if cuda is None:
        launch()
        return 0.0
    start, stop = cuda.Event(disable_timing=False), cuda.Event(disable_timing=False)
    start.record(cuda.get_current_stream())
    launch()
    stop.record(cuda.get_current_stream())
    stop.synchronize()
    return float(cuda.get_elapsed_time(start, stop)) / 1e3
