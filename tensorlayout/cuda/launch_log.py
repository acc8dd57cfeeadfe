"""Which kernels were launched in a block, and at what cost. Other launches cost nothing more.

On the simulator the cost is what it counts. On a GPU it is time, taken by events around each
launch, which is waited for: the class of the launchers gets another ``__call__`` while a block
lasts, so that elsewhere a launch need not even ask whether there is a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import Any

from tensorlayout.cuda.counting import Counts
from tensorlayout.cuda.driver import Kernel, driver


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

_current: ContextVar[Log | None] = ContextVar("launch_log", default=None)
_active = 0
_lock = Lock()
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
    kind = opened.launcher_type
    token = _current.set(log)
    _count(kind, 1)
    try:
        yield log
    finally:
        _count(kind, -1)
        _current.reset(token)


def _counted(log: Log) -> Iterator[Log]:
    from tensorlayout.cuda.simulator import checking

    with checking("bounds", "barriers", "count") as record:
        yield log
    log += [Launched(k, counts.launches, None, counts) for k, counts in record.counts.items()]


def _count(kind: type, by: int) -> None:
    """One block more or less; the first and the last one exchange how `kind` is called."""
    global _active
    with _lock:
        _active += by
        if by > 0 and _active == 1:
            _plain.setdefault(kind, kind.__call__)
            kind.__call__ = _logged  # type: ignore[method-assign]
        elif not _active:
            kind.__call__ = _plain[kind]  # type: ignore[method-assign]


def _logged(launcher: Any, grid: Any, parameters: bytearray) -> None:
    plain, log = _plain[type(launcher)], _current.get()
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
