"""Logs of the kernels launched in a block, and of their cost. Other launches cost nothing more.

On the simulator the cost is what it counts. On a GPU it is time, taken by events around each
launch, for which nobody waits before the time is read: the class of the launchers gets another
``__call__`` while a block lasts, so that elsewhere a launch need not even ask whether there is a
log. What a stream captures in a graph has no time: it runs later, or never.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from typing import Any, Literal, NamedTuple, cast, get_args

from tensorlayout.cuda.engine.driver import Kernel, driver
from tensorlayout.cuda.engine.ranges import fork_safe_lock
from tensorlayout.cuda.engine.structs import constant_value
from tensorlayout.errors import short_repr
from tensorlayout.support.context_blocks import Scope, ScopeContext
from tensorlayout.support.interning import memoize

# ---- Counts

CHECKS = {
    name: constant_value("simulator/launch.hpp", name.upper())
    for name in ("bounds", "initialized", "barriers", "count", "races")
}
Order = Literal["forward", "reverse", "random"]
ORDERS = get_args(Order)


class Tally(NamedTuple):
    """Accesses of one kind, by whole warps.

    `accesses`: of warps; `lanes`: of threads; `bytes`: asked for by threads; `units`: 32-byte
    sectors (global memory) or wavefronts (shared memory) that this took; `ideal`: the fewest that
    could have brought the same bytes.
    """

    accesses: int = 0
    lanes: int = 0
    bytes: int = 0
    units: int = 0
    ideal: int = 0

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override]  # of numbers, one by one
        return Tally(*map(add, self, other))


class Counts(NamedTuple):
    """The accesses of a kernel, over `launches`, and the seconds that a GPU took."""

    kernel: str
    launches: int = 0
    loads: Tally = Tally()
    stores: Tally = Tally()
    shared_loads: Tally = Tally()
    shared_stores: Tally = Tally()
    seconds: float = 0.0

    @property
    def sector_efficiency_read(self) -> float:
        """The fewest possible sectors over those loaded: 1.0 is coalesced."""
        return _ratio_or_one(self.loads.ideal, self.loads.units)

    @property
    def sector_efficiency_write(self) -> float:
        """The fewest possible sectors over those stored to: 1.0 is coalesced."""
        return _ratio_or_one(self.stores.ideal, self.stores.units)

    @property
    def lane_activity(self) -> float:
        """The part of the lanes that took part in accesses to global memory."""
        both = self.loads + self.stores
        return _ratio_or_one(both.lanes, 32 * both.accesses)

    @property
    def bytes_per_access(self) -> float:
        """The bytes that a thread moved at a time to or from global memory."""
        both = self.loads + self.stores
        return _ratio_or_one(both.bytes, both.lanes)

    @property
    def bank_conflict_ratio(self) -> float:
        """Wavefronts in shared memory over the fewest possible: 1.0 is without conflicts."""
        both = self.shared_loads + self.shared_stores
        return _ratio_or_one(both.units, both.ideal)

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]  # under one name
        return Counts(self.kernel, *map(add, self[1:], other[1:]))


def _ratio_or_one(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


class KernelCounts(Mapping[Kernel, Counts]):
    """Counts by kernel, in the order of the first launches.

    `timed`: launches on a GPU and what knows their seconds, which are added when they are read.
    """

    def __init__(self) -> None:
        self._counts: dict[Kernel, Counts] = {}
        self.timed: list[tuple[Kernel, Any]] = []

    @property
    def counts(self) -> dict[Kernel, Counts]:
        """All of them; waits for the launches that are timed."""
        while self.timed:
            kernel, span = self.timed.pop()
            self.add(kernel, Counts(kernel.name, seconds=span.seconds))
        return self._counts

    def total_of_kernel(self, name: str) -> Counts:
        """Add up all launches of kernels called `name`."""
        those = (counts for kernel, counts in self.counts.items() if kernel.name == name)
        return sum(those, start=Counts(name))

    def add(self, kernel: Kernel, counts: Counts) -> None:
        """Add to the counts of a kernel."""
        self._counts[kernel] = self._counts.get(kernel, Counts(kernel.name)) + counts

    def extend(self, other: KernelCounts) -> None:
        """Count what another has counted."""
        for kernel, counts in other._counts.items():
            self.add(kernel, counts)
        self.timed += other.timed

    def __getitem__(self, kernel: Kernel) -> Counts:
        return self.counts[kernel]

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)


@dataclass(frozen=True)
class Mode:
    """A way to run launches."""

    checks: tuple[str, ...]
    order: Order = "forward"
    seed: int = 0
    record: KernelCounts = field(default_factory=KernelCounts)

    def __post_init__(self) -> None:
        for check in self.checks:
            if check not in CHECKS:
                msg = (
                    f"checking: no check is called {short_repr(check)}; there are "
                    f"{', '.join(CHECKS)}"
                )
                raise ValueError(msg)
        if self.order not in ORDERS:
            msg = (
                f"checking: order must be one of {', '.join(ORDERS)}, got {short_repr(self.order)}"
            )
            raise ValueError(msg)

    @cached_property
    def flags(self) -> int:
        """The checks as bits."""
        return sum(CHECKS[check] for check in set(self.checks))


_active: Scope[Mode] = Scope("active")


def checking(
    *checks: str, order: Order = "forward", seed: int = 0
) -> ScopeContext[Mode, KernelCounts]:
    """Launch with these checks, and no others, inside the block; `simulator` has their names.

    `order`: in which order blocks, and the threads of each, take turns; `seed` tells random ones
    apart. Gives the `KernelCounts` of what "count" counted.
    """
    mode = Mode(checks, order, seed)
    return _active.scope_with_target(mode, mode.record)


@memoize
def _mode_from_environment() -> Mode:
    names = os.environ.get("TENSORLAYOUT_SIMULATOR_CHECKS", "bounds,barriers")
    order, _, seed = os.environ.get("TENSORLAYOUT_SIMULATOR_ORDER", "forward").partition(":")
    checks = tuple(name.strip() for name in names.split(",") if name.strip())
    return Mode(checks, cast("Order", order), int(seed or 0))


def current_mode() -> Mode:
    """Return the mode of the block of `checking`, or else of the process's variables."""
    return _active.innermost_value() or _mode_from_environment()


# ---- Logs


class _EventSpan:
    """The time from one event on the current stream to another, which `end` records."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._start, self._stop = (cuda.Event(disable_timing=False) for _ in range(2))
        self._start.record(cuda.get_current_stream())

    def record_end(self) -> None:
        self._stop.record(self._cuda.get_current_stream())

    @property
    def seconds(self) -> float:
        """The seconds that the device took; waits for it."""
        self._stop.synchronize()
        return float(self._cuda.get_elapsed_time(self._start, self._stop)) / 1e3


@dataclass
class DeviceWork:
    """The work of a device for one call."""

    kernels: KernelCounts
    span: _EventSpan | None = None  # around a call with a library or a copy of CUDA's

    @property
    def seconds(self) -> float | None:
        """Seconds that the device took; None on the simulator and in captures. Waits."""
        if self.span is not None:
            return self.span.seconds
        return sum(counts.seconds for counts in self.kernels.values()) or None


_logs: Scope[KernelCounts] = Scope("launch_log")
_exchanging = fork_safe_lock()
_plain: dict[type, Callable[..., None]] = {}


@contextmanager
def launch_log() -> Iterator[KernelCounts]:
    """Count what this thread launches inside the block, to be read after it.

    Of what the driver cannot see, accesses or seconds, there are zeros. Blocks nest, and the outer
    ones log too; so do the records of `checking`, whose checks go on.
    """
    opened: Any = driver()
    if opened.name == "simulator":
        outer = current_mode()
        with checking(*{*outer.checks, "count"}, order=outer.order, seed=outer.seed) as log:
            yield log
        if "count" in outer.checks:
            outer.record.extend(log)
        return
    log = KernelCounts()
    try:
        with _logs.scope_with_value(log):
            _select_call_method(opened.launcher_type)
            yield log
    finally:
        _select_call_method(opened.launcher_type)
        around = _logs.innermost_value()
        if around is not None:
            around.extend(log)


@contextmanager
def observe_device_work(device: int) -> Iterator[DeviceWork]:
    """Observe what this thread has a device do inside the block."""
    opened: Any = driver()
    counters = opened.counters
    with launch_log() as kernels:
        work = DeviceWork(kernels)
        with opened.using_device(device):
            span = _begin_span()
        before = counters.launches, counters.library_calls
        yield work
        launched, device_number = counters.launches - before[0], counters.library_calls - before[1]
        if span is not None and (device_number or not launched):
            with opened.using_device(device):
                span.record_end()
            work.span = span


def _select_call_method(kind: type) -> None:
    """Choose how `kind` is called: it depends on whether code is inside of any block."""
    with _exchanging:
        plain = _plain.setdefault(kind, kind.__call__)
        kind.__call__ = _launch_and_log if _logs.open_entries else plain  # type: ignore[method-assign]


def _launch_and_log(launcher: Any, grid: Any, parameters: bytearray) -> None:
    plain, log = _plain[type(launcher)], _logs.innermost_value()
    if log is None:  # of another thread
        plain(launcher, grid, parameters)
        return
    span = _begin_span()
    plain(launcher, grid, parameters)
    kernel = launcher.kernel
    log.add(kernel, Counts(kernel.name, 1))
    if span is not None:
        span.record_end()
        log.timed.append((kernel, span))


def _begin_span() -> _EventSpan | None:
    """Begin a span; None where the driver has no events, or a graph is captured."""
    opened = driver()
    cuda: Any = getattr(opened, "cuda", None)
    if cuda is None or opened.is_capturing(opened.current_device()):
        return None
    return _EventSpan(cuda)
