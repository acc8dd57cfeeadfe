"""Logs of the kernels launched in a block, and of their cost. Other launches cost nothing more.

On the simulator the cost is what it counts. On a GPU it is time, taken by events around each
launch, for which nobody waits before the time is read: the class of the launchers gets another
``__call__`` while a block lasts, so that elsewhere a launch need not even ask whether there is a
log. What a stream captures in a graph has no time: it runs later, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorlayout.cuda.engine.counting import Counts, KernelCounts, checking, mode
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.ranges import lock_kept_over_forks
from tensorlayout.support.context_blocks import Scope


class _Span:
    """From one event on the current stream to another, which `end` records."""

    __slots__ = ("_cuda", "_start", "_stop")

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._start, self._stop = (cuda.Event(disable_timing=False) for _ in range(2))
        self._start.record(cuda.get_current_stream())

    def end(self) -> None:
        self._stop.record(self._cuda.get_current_stream())

    @property
    def seconds(self) -> float:
        """The seconds that the device took; waits for it."""
        self._stop.synchronize()
        return float(self._cuda.get_elapsed_time(self._start, self._stop)) / 1e3


class DeviceWork:
    """The work of a device for one call."""

    def __init__(self) -> None:
        self.kernels = KernelCounts()
        self._span: _Span | None = None

    @property
    def seconds(self) -> float | None:
        """The sum of the kernels, or the time around a call with a library or a copy of CUDA's.

        None on the simulator, and of what is captured. Waits for the device.
        """
        if self._span is not None:
            return self._span.seconds
        return sum(each.seconds for each in self.kernels.values()) or None


_logs: Scope[KernelCounts] = Scope("launch_log")
_exchanging = lock_kept_over_forks()
_plain: dict[type, Callable[..., None]] = {}


@contextmanager
def launch_log() -> Iterator[KernelCounts]:
    """Count what this thread launches inside the block, to be read after it.

    Of what the driver cannot see, accesses or seconds, there are zeros. Blocks nest, and the outer
    ones log too; so do the records of `checking`, whose checks go on.
    """
    opened: Any = driver()
    if opened.name == "simulator":
        outer = mode()
        with checking(*{*outer.checks, "count"}, order=outer.order, seed=outer.seed) as log:
            yield log
        if "count" in outer.checks:
            outer.record.extend(log)
        return
    log = KernelCounts()
    try:
        with _logs.saying(log):
            _exchange(opened.launcher_type)
            yield log
    finally:
        _exchange(opened.launcher_type)
        around = _logs.get()
        if around is not None:
            around.extend(log)


@contextmanager
def device_work(device: int) -> Iterator[DeviceWork]:
    """Observe what this thread has a device do inside the block."""
    opened: Any = driver()
    work, counters = DeviceWork(), opened.counters
    with launch_log() as work.kernels:
        with opened.using(device):
            span = _span()
        before = counters.launches, counters.library_calls
        yield work
        launched, asked = counters.launches - before[0], counters.library_calls - before[1]
        if span is not None and (asked or not launched):
            with opened.using(device):
                span.end()
            work._span = span


def _exchange(kind: type) -> None:
    """Choose how `kind` is called: it depends on whether code is inside of any block."""
    with _exchanging:
        plain = _plain.setdefault(kind, kind.__call__)
        kind.__call__ = _logged if _logs.blocks else plain  # type: ignore[method-assign]


def _logged(launcher: Any, grid: Any, parameters: bytearray) -> None:
    plain, log = _plain[type(launcher)], _logs.get()
    if log is None:  # of another thread
        plain(launcher, grid, parameters)
        return
    span = _span()
    plain(launcher, grid, parameters)
    kernel = launcher.kernel
    log.add(kernel, Counts(kernel.name, 1))
    if span is not None:
        span.end()
        log.timed.append((kernel, span))


def _span() -> _Span | None:
    """Begin a span; None where the driver has no events, or a graph is captured."""
    opened = driver()
    cuda: Any = getattr(opened, "cuda", None)
    if cuda is None or opened.is_capturing(opened.current_device()):
        return None
    return _Span(cuda)
