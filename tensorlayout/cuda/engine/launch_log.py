"""Logs of the kernels launched in a block, and of their cost.

On the simulator the cost is its counts. On a GPU it is the time between events around each launch;
the host waits for them only when the time is read. The class of launchers gets another ``__call__``
while a block is open, so that without a block, launches have no overhead. Launches captured in a
graph have no time: they run later, or never.
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
from tensorlayout.cuda.engine.structs import constant_value
from tensorlayout.errors import raise_named_error, short_repr
from tensorlayout.support.context_blocks import Scope, ScopeContext
from tensorlayout.support.forks import fork_safe_lock
from tensorlayout.support.interning import memoize

THREADS = constant_value("include/platform.cuh", "THREADS")  # of a block

# ---- Counts

CHECKS = {
    name: constant_value("simulator/launch.hpp", name.upper())
    for name in ("bounds", "initialized", "barriers", "count", "races")
}
Order = Literal["forward", "reverse", "random"]
ORDERS = get_args(Order)


class Tally(NamedTuple):
    """Memory accesses of one kind.

    - `accesses`: accesses of warps.
    - `lanes`: accesses of threads.
    - `bytes`: bytes requested by threads.
    - `units`: 32-byte sectors (global memory) or wavefronts (shared memory) moved.
    - `ideal`: least number of units for the same bytes.
    """

    accesses: int = 0
    lanes: int = 0
    bytes: int = 0
    units: int = 0
    ideal: int = 0

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override]  # of numbers, one by one
        return Tally(*map(add, self, other))


class Counts(NamedTuple):
    """Accesses of a kernel in a number of `launches`, and the seconds on a GPU."""

    kernel: str
    launches: int = 0
    loads: Tally = Tally()
    stores: Tally = Tally()
    shared_loads: Tally = Tally()
    shared_stores: Tally = Tally()
    seconds: float = 0.0

    @property
    def sector_efficiency_read(self) -> float:
        """Least possible sectors over sectors loaded; 1.0 is coalesced."""
        return _ratio_or_one(self.loads.ideal, self.loads.units)

    @property
    def sector_efficiency_write(self) -> float:
        """Least possible sectors over sectors stored to; 1.0 is coalesced."""
        return _ratio_or_one(self.stores.ideal, self.stores.units)

    @property
    def lane_activity(self) -> float:
        """Fraction of lanes that were active in accesses to global memory."""
        both = self.loads + self.stores
        return _ratio_or_one(both.lanes, 32 * both.accesses)

    @property
    def bytes_per_access(self) -> float:
        """Mean bytes per access of a thread to global memory."""
        both = self.loads + self.stores
        return _ratio_or_one(both.bytes, both.lanes)

    @property
    def bank_conflict_ratio(self) -> float:
        """Wavefronts in shared memory over the least possible; 1.0 is free of conflicts."""
        both = self.shared_loads + self.shared_stores
        return _ratio_or_one(both.units, both.ideal)

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]  # under one name
        return Counts(self.kernel, *map(add, self[1:], other[1:]))


def _ratio_or_one(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


class KernelCounts(Mapping[Kernel, Counts]):
    """Counts by kernel, in the order of first launches.

    `timed`: launches on a GPU with their event spans, whose seconds are added when counts are read.
    """

    def __init__(self) -> None:
        self._counts: dict[Kernel, Counts] = {}
        self._arguments: dict[Kernel, tuple[Any, bytes]] = {}
        self.timed: list[tuple[Kernel, Any]] = []

    def __repr__(self) -> str:
        launches = [f"{kernel.symbol}: {n.launches}" for kernel, n in self._counts.items()]
        return f"<KernelCounts of launches, {', '.join(launches) or 'none'}>"

    @property
    def counts(self) -> dict[Kernel, Counts]:
        """Counts of all kernels; waits for timed launches."""
        while self.timed:
            kernel, span = self.timed.pop()
            self.add(kernel, Counts(kernel.name, seconds=span.seconds))
        return self._counts

    def total_of_kernel(self, name: str) -> Counts:
        """Return the sum over all kernels called `name`."""
        counts_of_kernel = (counts for kernel, counts in self.counts.items() if kernel.name == name)
        return sum(counts_of_kernel, start=Counts(name))

    def note_arguments(self, kernel: Kernel, grid: Any, parameters: bytearray) -> None:
        """Keep the arguments of a launch for `last_launch`."""
        self._arguments[kernel] = grid, bytes(parameters)

    def last_launch(self, kernel: Kernel) -> tuple[tuple[int, ...], tuple[int], tuple[bytes]]:
        """Return ``grid, block, args`` of a kernel's last launch, for a `raw_kernel` of it.

        The addresses in `args` are valid as long as the tensors of that call, results included, are
        alive. A call's scratch memory is freed with the call. Raises ValueError for a kernel
        that was not launched.
        """
        if kernel not in self._arguments:
            raise_named_error("last_launch", f"no launch of {short_repr(kernel)} was logged")
        grid, parameters = self._arguments[kernel]
        return (grid,) if isinstance(grid, int) else grid, (THREADS,), (parameters,)

    def add(self, kernel: Kernel, counts: Counts) -> None:
        """Add `counts` to those of a kernel."""
        self._counts[kernel] = self._counts.get(kernel, Counts(kernel.name)) + counts

    def extend(self, other: KernelCounts) -> None:
        """Add the counts of `other`."""
        for kernel, counts in other._counts.items():
            self.add(kernel, counts)
        self._arguments.update(other._arguments)
        self.timed += other.timed

    def __getitem__(self, kernel: Kernel) -> Counts:
        return self.counts[kernel]

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)


@dataclass(frozen=True)
class Mode:
    """Checks and order with which the simulator runs launches."""

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
    def checks_bit_mask(self) -> int:
        """Checks as a bit mask."""
        return sum(CHECKS[check] for check in set(self.checks))


_active: Scope[Mode] = Scope("active")


def checking(
    *checks: str, order: Order = "forward", seed: int = 0
) -> ScopeContext[Mode, KernelCounts]:
    """Run launches with exactly these checks inside the block; see `simulator` for their names.

    `order`: order of blocks and of threads in a block; `seed`: for a random order. The block's
    target is the `KernelCounts` of the check "count".

    Raises ValueError for an unknown check or order.
    """
    mode = Mode(checks, order, seed)
    return _active.scope_with_target(mode, mode.record)


@memoize
def _simulator_mode_from_environment() -> Mode:
    names = os.environ.get("TENSORLAYOUT_SIMULATOR_CHECKS", "bounds,barriers")
    order, _, seed = os.environ.get("TENSORLAYOUT_SIMULATOR_ORDER", "forward").partition(":")
    checks = tuple(name.strip() for name in names.split(",") if name.strip())
    return Mode(checks, cast("Order", order), int(seed or 0))


def current_mode() -> Mode:
    """Return the mode of the innermost `checking` block, or of the environment variables."""
    return _active.innermost_value() or _simulator_mode_from_environment()


# ---- Logs


class _EventSpan:
    """Time between two events on the current stream; `record_end` records the second."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._start, self._stop = (cuda.Event(disable_timing=False) for _ in range(2))
        self._start.record(cuda.get_current_stream())

    def record_end(self) -> None:
        self._stop.record(self._cuda.get_current_stream())

    @property
    def seconds(self) -> float:
        """Seconds between the events; waits for the device."""
        self._stop.synchronize()
        return float(self._cuda.get_elapsed_time(self._start, self._stop)) / 1e3


@dataclass
class DeviceWork:
    """Work of a device for one call."""

    kernels: KernelCounts
    span: _EventSpan | None = None  # for calls with library calls or copies, which no launch times

    @property
    def seconds(self) -> float | None:
        """Seconds on the device, for which this waits; None on the simulator and in captures."""
        if self.span is not None:
            return self.span.seconds
        return sum(counts.seconds for counts in self.kernels.values()) or None


_logs: Scope[KernelCounts] = Scope("launch_log")
_exchanging = fork_safe_lock()
_plain: dict[type, Callable[..., None]] = {}


@contextmanager
def launch_log() -> Iterator[KernelCounts]:
    """Log the launches of this thread inside the block; read the counts after it.

    A GPU has no counts of accesses, and the simulator no seconds: those are 0. Blocks nest, and
    outer ones log, too. The checks of an outer `checking` block remain on; its record grows if it
    counts.
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
            _patch_call_for_logging(opened.launcher_type)
            yield log
    finally:
        # The scope has ended, so that the last open block restores the plain call.
        _patch_call_for_logging(opened.launcher_type)
        around = _logs.innermost_value()
        if around is not None:
            around.extend(log)


@contextmanager
def observe_device_work(device: int) -> Iterator[DeviceWork]:
    """Observe the work that this thread gives a device inside the block."""
    opened: Any = driver()
    counters = opened.counters
    with launch_log() as kernels:
        work = DeviceWork(kernels)
        with opened.using_device(device):
            span = _begin_event_span()
        before = counters.launches, counters.library_calls
        yield work
        launched, library_calls = counters.launches - before[0], counters.library_calls - before[1]
        # Without library calls, launches are timed one by one, and the span is not needed.
        if span is not None and (library_calls or not launched):
            with opened.using_device(device):
                span.record_end()
            work.span = span


def _patch_call_for_logging(kind: type) -> None:
    """Set the ``__call__`` of launchers: the logging one while any block is open."""
    with _exchanging:
        # Calls look up __call__ on the class and not on the object; so the class is patched, which
        # reaches the launchers that plans already hold.
        plain = _plain.setdefault(kind, kind.__call__)
        kind.__call__ = _launch_and_log if _logs.open_entries else plain  # type: ignore[method-assign]


def _launch_and_log(launcher: Any, grid: Any, parameters: bytearray) -> None:
    plain, log = _plain[type(launcher)], _logs.innermost_value()
    if log is None:  # of another thread
        plain(launcher, grid, parameters)
        return
    span = _begin_event_span()
    plain(launcher, grid, parameters)
    kernel = launcher.kernel
    log.add(kernel, Counts(kernel.name, 1))
    log.note_arguments(kernel, grid, parameters)
    if span is not None:
        span.record_end()
        log.timed.append((kernel, span))


def _begin_event_span() -> _EventSpan | None:
    """Begin a span; None if the driver has no events, or while a graph is captured."""
    opened = driver()
    cuda: Any = getattr(opened, "cuda", None)
    if cuda is None or opened.is_capturing(opened.current_device()):
        return None
    return _EventSpan(cuda)
