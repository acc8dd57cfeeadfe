"""What the simulator counts: the accesses of a kernel to memory, as a GPU would carry them out."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorlayout.cuda.engine.driver import Kernel


@dataclass(frozen=True, slots=True)
class Tally:
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

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.accesses + other.accesses,
            self.lanes + other.lanes,
            self.bytes + other.bytes,
            self.units + other.units,
            self.ideal + other.ideal,
        )


@dataclass(frozen=True, slots=True)
class Counts:
    """The accesses of a kernel, over `launches`. Ratios of nothing are 1.

    >>> Counts("copy", 1, loads=Tally(8, 256, 1024, 64, 32)).sector_efficiency_read
    0.5
    """

    kernel: str
    launches: int = 0
    loads: Tally = Tally()
    stores: Tally = Tally()
    shared_loads: Tally = Tally()
    shared_stores: Tally = Tally()

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

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.kernel,
            self.launches + other.launches,
            self.loads + other.loads,
            self.stores + other.stores,
            self.shared_loads + other.shared_loads,
            self.shared_stores + other.shared_stores,
        )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


@dataclass(slots=True)
class Record:
    """What was counted, by kernel."""

    counts: dict[Kernel, Counts] = field(default_factory=dict)

    def of(self, name: str) -> Counts:
        """All launches of kernels called `name`, whatever their types, shapes and operations."""
        those = (counts for kernel, counts in self.counts.items() if kernel.name == name)
        return sum(those, start=Counts(name))

    def add(self, kernel: Kernel, counts: Counts) -> None:
        """Count one more launch."""
        self.counts[kernel] = self.counts.get(kernel, Counts(kernel.name)) + counts
