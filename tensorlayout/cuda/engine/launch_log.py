"""Logs of the kernels launched inside a block, with their cost. Other launches pay nothing.

On the simulator the cost is memory accesses. On a GPU it is time, measured by events around each
launch; the host waits for them only when the time is read. While a block is active, the launcher
class has another ``__call__``, so other launches need not even test whether there is a log.
Launches that are captured in a graph have no time: they run later, or never.
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
    """Memory accesses of one kind.

    `accesses`: by warps; `lanes`: by threads; `bytes`: requested by threads; `units`: 32-byte
    sectors (global memory) or wavefronts (shared memory) used; `ideal`: the fewest units for these
    bytes.
    """

    accesses: int = 0
    lanes: int = 0
    bytes: int = 0
    units: int = 0
    ideal: int = 0

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override]  # of numbers, one by one
        return Tally(*map(add, self, other))


class Counts(NamedTuple):
    """Memory accesses and GPU seconds of a kernel, summed over `launches`."""

    kernel: str
    launches: int = 0
    loads: Tally = Tally()
    stores: Tally = Tally()
    shared_loads: Tally = Tally()
    shared_stores: Tally = Tally()
    seconds: float = 0.0

    @property
    def sector_efficiency_read(self) -> float:
        """Fewest possible sectors divided by the sectors loaded: 1.0 is coalesced."""
        return _ratio_or_one(self.loads.ideal, self.loads.units)

    @property
    def sector_efficiency_write(self) -> float:
        """Fewest possible sectors divided by the sectors stored to: 1.0 is coalesced."""
        return _ratio_or_one(self.stores.ideal, self.stores.units)

    @property
    def lane_activity(self) -> float:
        """Fraction of a warp's lanes that are active in accesses to global memory."""
        both = self.loads + self.stores
        return _ratio_or_one(both.lanes, 32 * both.accesses)

    @property
    def bytes_per_access(self) -> float:
        """**Bytes** per thread and access to global memory."""
        both = self.loads + self.stores
        return _ratio_or_one(both.bytes, both.lanes)

    @property
    def bank_conflict_ratio(self) -> float:
        """Shared-memory wavefronts divided by the fewest possible: 1.0 has no bank conflicts."""
        both = self.shared_loads + self.shared_stores
        return _ratio_or_one(both.units, both.ideal)

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]  # under one name
        return Counts(self.kernel, *map(add, self[1:], other[1:]))


def _ratio_or_one(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


class KernelCounts(Mapping[Kernel, Counts]):
    """Counts by kernel, in the order of their first launches.

    `timed`: launches on a GPU with their events; their seconds are added when the counts are read.
    """

    def __init__(self) -> None:
        self._counts: dict[Kernel, Counts] = {}
        self.timed: list[tuple[Kernel, Any]] = []

    @property
    def counts(self) -> dict[Kernel, Counts]:
        """Counts of all kernels; waits for launches that are timed."""
        while self.timed:
            kernel, span = self.timed.pop()
            self.add(kernel, Counts(kernel.name, seconds=span.seconds))
        return self._counts

    def total_of_kernel(self, name: str) -> Counts:
        """Return the sum over all kernels with this name."""
        those = (counts for kernel, counts in self.counts.items() if kernel.name == name)
        return sum(those, start=Counts(name))

    def add(self, kernel: Kernel, counts: Counts) -> None:
        """Add to the counts of a kernel."""
        self._counts[kernel] = self._counts.get(kernel, Counts(kernel.name)) + counts

    def extend(self, other: KernelCounts) -> None:
        """Add the counts of another log."""
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
    """Checks and thread order of simulated launches."""

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
    """Run launches inside the block with exactly these checks; `simulator` lists them.

    `order`: the order in which blocks, and the threads of a block, run; `seed`: of random orders.
    The block's value is the `KernelCounts` of the check "count".
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
    """Return the mode of the innermost `checking` block, else of the environment variables."""
    return _active.innermost_value() or _mode_from_environment()


# ---- Logs


class _EventSpan:
    """Time between two events on the current stream; `record_end` records the second one."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._start, self._stop = (cuda.Event(disable_timing=False) for _ in range(2))
        self._start.record(cuda.get_current_stream())

    def record_end(self) -> None:
        self._stop.record(self._cuda.get_current_stream())

    @property
    def seconds(self) -> float:
        """Seconds between the events; waits for the second one."""
        self._stop.synchronize()
        return float(self._cuda.get_elapsed_time(self._start, self._stop)) / 1e3


@dataclass
class DeviceWork:
    """Work of a device for one call."""

    kernels: KernelCounts
    span: _EventSpan | None = None  # around a call with a library or a copy of CUDA's

    @property
    def seconds(self) -> float | None:
        """Seconds of the device, for which it waits; None on the simulator and in captures."""
        if self.span is not None:
            return self.span.seconds
        return sum(counts.seconds for counts in self.kernels.values()) or None


_logs: Scope[KernelCounts] = Scope("launch_log")
_exchanging = fork_safe_lock()
_plain: dict[type, Callable[..., None]] = {}


@contextmanager
def launch_log() -> Iterator[KernelCounts]:
    """Log the launches of this thread inside the block; read the counts after it.

    Counts that the driver cannot measure (accesses or seconds) are 0. Blocks nest: outer logs, and
    the counts of an outer `checking` block, include the launches of inner ones.
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
    """Observe the device work of this thread inside the block."""
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
    """Select the ``__call__`` of the launcher class `kind`: with logging if any block is active."""
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
    """Begin a span; None if the driver has no events or a graph is being captured."""
    opened = driver()
    cuda: Any = getattr(opened, "cuda", None)
    if cuda is None or opened.is_capturing(opened.current_device()):
        return None
    return _EventSpan(cuda)
