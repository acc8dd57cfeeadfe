"""Which kernels were launched in a block, and at what cost. Other launches cost nothing more.

On the simulator the cost is what it counts. On a GPU it is time, taken by events around each
launch, for which nobody waits before the time is read: the class of the launchers gets another
``__call__`` while a block lasts, so that elsewhere a launch need not even ask whether there is a
log. What a stream captures in a graph has no time: it runs later, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tensorlayout.cuda.engine.counting import Counts, KernelCounts, checking, mode
from tensorlayout.cuda.engine.driver import Kernel, driver
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
        """How long the device took; waits for it."""
        self._stop.synchronize()
        return float(self._cuda.get_elapsed_time(self._start, self._stop)) / 1e3


class LaunchLog(Mapping[Kernel, Counts]):
    """The kernels of a block by their first launch, and what they cost."""

    def __init__(self) -> None:
        self.record = KernelCounts()
        self._timed: list[tuple[Kernel, _Span]] = []

    def add(self, kernel: Kernel, span: _Span | None) -> None:
        """Count one more launch on a GPU."""
        self.record.add(kernel, Counts(kernel.name, 1))
        if span is not None:
            self._timed.append((kernel, span))

    def take(self, inner: LaunchLog) -> None:
        """Count the launches of a block inside of this one, too."""
        self.record.extend(inner.record)
        self._timed += inner._timed

    def __getitem__(self, kernel: Kernel) -> Counts:
        """The counts, with the times; waits for the last launch."""
        while self._timed:
            timed, span = self._timed.pop()
            self.record.add(timed, Counts(timed.name, seconds=span.seconds))
        return self.record.counts[kernel]

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.record.counts)

    def __len__(self) -> int:
        return len(self.record.counts)


class DeviceWork:
    """What a call had a device do."""

    def __init__(self) -> None:
        self.kernels = LaunchLog()
        self._span: _Span | None = None

    @property
    def seconds(self) -> float | None:
        """How long the device took; waits for it. None on the simulator, and of what is captured.

        The sum of the kernels, or the time around the whole call, if a library or a copy of CUDA's
        had a part in it.
        """
        if self._span is not None:
            return self._span.seconds
        return sum(each.seconds for each in self.kernels.values()) or None


_logs: Scope[LaunchLog] = Scope("launch_log")
_exchanging = lock_kept_over_forks()
_plain: dict[type, Callable[..., None]] = {}


@contextmanager
def launch_log() -> Iterator[LaunchLog]:
    """What this thread launches inside the block, by first launch, to be read after it.

    Of what the driver cannot see, accesses or seconds, there are zeros. Blocks nest, and the outer
    ones log too; so do the records of `checking`, whose checks go on.
    """
    opened: Any = driver()
    log = LaunchLog()
    if opened.name == "simulator":
        outer = mode()
        checks = {*outer.checks, "count"}
        with checking(*checks, order=outer.order, seed=outer.seed) as log.record:
            yield log
        if "count" in outer.checks:
            outer.record.extend(log.record)
        return
    try:
        with _logs.saying(log):
            _exchange(opened.launcher_type)
            yield log
    finally:
        _exchange(opened.launcher_type)
        around = _logs.get()
        if around is not None:
            around.take(log)


@contextmanager
def device_work(device: int) -> Iterator[DeviceWork]:
    """What this thread has a device do inside the block, to be read after it."""
    opened: Any = driver()
    work, counters = DeviceWork(), opened.counters
    with launch_log() as work.kernels:
        span = None
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
    """How `kind` is called depends on whether code is inside of any block."""
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
    if span is not None:
        span.end()
    log.add(launcher.kernel, span)


def _span() -> _Span | None:
    """A span that begins now; None where the driver has no events, or a graph is captured."""
    opened = driver()
    cuda: Any = getattr(opened, "cuda", None)
    if cuda is None or opened.is_capturing(opened.current_device()):
        return None
    return _Span(cuda)
