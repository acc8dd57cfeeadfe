"""Which kernels were launched in a block, and at what cost. Other launches cost nothing more.

On the simulator the cost is what it counts. On a GPU it is time, taken by events around each
launch, which is waited for: the class of the launchers gets another ``__call__`` while a block
lasts, so that elsewhere a launch need not even ask whether there is a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tensorlayout.cuda.engine.counting import Counts, checking
from tensorlayout.cuda.engine.driver import Kernel, driver
from tensorlayout.cuda.engine.ranges import lock_kept_over_forks
from tensorlayout.scopes import Scope


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel, and all its launches in the block together.

    `seconds`: on a GPU, else None. `counts`: on the simulator, else None.
    """

    kernel: Kernel
    launches: int
    seconds: float | None = None
    counts: Counts | None = None

    def __add__(self, other: Launched) -> Launched:
        """Both together, under the kernel of the first."""
        return Launched(
            self.kernel,
            self.launches + other.launches,
            _sum(self.seconds, other.seconds),
            self.counts and other.counts and self.counts + other.counts,
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


Log = list[Launched]

_logs: Scope[Log] = Scope("launch_log")
_exchanging = lock_kept_over_forks()
_plain: dict[type, Callable[..., None]] = {}


@contextmanager
def launch_log() -> Iterator[Log]:
    """The kernels that this thread launches inside the block, by first launch, to be read after it.

    Blocks nest; the innermost one logs.
    """
    log: Log = []
    opened: Any = driver()
    if opened.name == "simulator":
        yield from _counted(log)
        return
    try:
        with _logs.saying(log):
            _exchange(opened.launcher_type)
            yield log
    finally:
        _exchange(opened.launcher_type)


def _counted(log: Log) -> Iterator[Log]:
    with checking("bounds", "barriers", "count") as record:
        yield log
    log += [Launched(k, counts.launches, None, counts) for k, counts in record.counts.items()]


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
    new = Launched(launcher.kernel, 1, _seconds(lambda: plain(launcher, grid, parameters)))
    for number, each in enumerate(log):
        if each.kernel == new.kernel:
            log[number] = each + new
            return
    log.append(new)


def _seconds(launch: Callable[[], None]) -> float | None:
    """How long the device took; None where the driver has no events."""
    cuda: Any = getattr(driver(), "cuda", None)
    if cuda is None:
        launch()
        return None
    start, stop = cuda.Event(disable_timing=False), cuda.Event(disable_timing=False)
    start.record(cuda.get_current_stream())
    launch()
    stop.record(cuda.get_current_stream())
    stop.synchronize()
    return float(cuda.get_elapsed_time(start, stop)) / 1e3
