"""What launches on the simulator check and count: accesses to memory, as a GPU would make them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from typing import Literal, NamedTuple, cast

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


@dataclass(slots=True)
class KernelCounts:
    """What was counted, by kernel."""

    counts: dict[Kernel, Counts] = field(default_factory=dict)

    def of(self, name: str) -> Counts:
        """All launches of kernels called `name`, whatever their types, shapes and operations."""
        those = (counts for kernel, counts in self.counts.items() if kernel.name == name)
        return sum(those, start=Counts(name))

    def add(self, kernel: Kernel, counts: Counts) -> None:
        """Count one more launch."""
        self.counts[kernel] = self.counts.get(kernel, Counts(kernel.name)) + counts

    def extend(self, other: KernelCounts) -> None:
        """Count what another has counted."""
        for kernel, counts in other.counts.items():
            self.add(kernel, counts)


@dataclass(frozen=True)
class Mode:
    """How launches run. ValueError for checks and orders that are not known."""

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
        """The checks as kernels are told of them."""
        return sum(CHECKS[check] for check in set(self.checks))


_active: Scope[Mode] = Scope("active")


def checking(*checks: str, order: Order = "forward", seed: int = 0) -> Block[Mode, KernelCounts]:
    """Launch with these checks, and no others, inside the block; `simulator` has their names.

    `order`: in which order blocks, and the threads of each, take turns; `seed` tells random ones
    apart. Gives the `KernelCounts` of what "count" counted. ValueError for unknown names.

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
    """How launches run now: as the block of `checking` says, or else the process's variables."""
    return _active.get() or _mode_of_the_process()


def record() -> KernelCounts:
    """What was counted so far: in the block of `checking`, or else in the whole process."""
    return mode().record
