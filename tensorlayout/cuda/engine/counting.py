"""What launches on the simulator check and count: accesses to memory, as a GPU would make them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from typing import Any, Literal, NamedTuple, cast

from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.errors import shown
from tensorlayout.support.context_blocks import Block, Scope
from tensorlayout.support.interning import once

CHECKS = {
    name: constant("simulator/launch.hpp", name.upper())
    for name in ("bounds", "initialized", "barriers", "count", "races")
}
ORDERS = ("forward", "reverse", "random")  # as `Order`
Order = Literal["forward", "reverse", "random"]


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
    """The accesses of a kernel, over `launches`, and how long a GPU took. Ratios of nothing are 1.

    >>> Counts("copy", 1, loads=Tally(8, 256, 1024, 64, 32)).sector_efficiency_read
    0.5
    """

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
        return _ratio(self.loads.ideal, self.loads.units)

    @property
    def sector_efficiency_write(self) -> float:
        """The fewest possible sectors over those stored to: 1.0 is coalesced."""
        return _ratio(self.stores.ideal, self.stores.units)

    @property
    def lane_activity(self) -> float:
        """Which part of the lanes took part in accesses to global memory."""
        both = self.loads + self.stores
        return _ratio(both.lanes, 32 * both.accesses)

    @property
    def bytes_per_access(self) -> float:
        """How many bytes a thread moved at a time to or from global memory."""
        both = self.loads + self.stores
        return _ratio(both.bytes, both.lanes)

    @property
    def bank_conflict_ratio(self) -> float:
        """Wavefronts in shared memory over the fewest possible: 1.0 is without conflicts."""
        both = self.shared_loads + self.shared_stores
        return _ratio(both.units, both.ideal)

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]  # under one name
        return Counts(self.kernel, *map(add, self[1:], other[1:]))


def _ratio(part: int, whole: int) -> float:
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

    def of(self, name: str) -> Counts:
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
                msg = f"checking: no check is called {shown(check)}; there are {', '.join(CHECKS)}"
                raise ValueError(msg)
        if self.order not in ORDERS:
            msg = f"checking: order must be one of {', '.join(ORDERS)}, got {shown(self.order)}"
            raise ValueError(msg)

    @cached_property
    def flags(self) -> int:
        """The checks as bits."""
        return sum(CHECKS[check] for check in set(self.checks))


_active: Scope[Mode] = Scope("active")


def checking(*checks: str, order: Order = "forward", seed: int = 0) -> Block[Mode, KernelCounts]:
    """Launch with these checks, and no others, inside the block; `simulator` has their names.

    `order`: in which order blocks, and the threads of each, take turns; `seed` tells random ones
    apart. Gives the `KernelCounts` of what "count" counted.

    >>> with checking("bounds", "count") as record:
    ...     pass
    >>> record.of("copy_rows").launches
    0
    """
    mode = Mode(checks, order, seed)
    return _active.giving(mode, mode.record)


@once
def _mode_of_the_process() -> Mode:
    names = os.environ.get("TENSORLAYOUT_SIMULATOR_CHECKS", "bounds,barriers")
    order, _, seed = os.environ.get("TENSORLAYOUT_SIMULATOR_ORDER", "forward").partition(":")
    checks = tuple(name.strip() for name in names.split(",") if name.strip())
    return Mode(checks, cast("Order", order), int(seed or 0))


def mode() -> Mode:
    """Return the mode of the block of `checking`, or else of the process's variables."""
    return _active.get() or _mode_of_the_process()


def record() -> KernelCounts:
    """Return what was counted so far, in the block of `checking` or else in the process."""
    return mode().record
