"""The host's memory as a device's, for CuPy and CUB on a machine without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.launches import Launch, Work

# Attributes of an H100 that CuPy or CUB ask for, by CUDA's numbers; of others, 1.
ATTRIBUTES = {
    1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2**31 - 1, 6: 65535, 7: 65535, 8: 49152, 10: 32, 12: 65536,
    16: 132, 38: 50 * 2**20, 39: 2048, 75: 9, 76: 0, 81: 233472, 82: 65536, 97: 232448, 106: 32,
    111: 1024,
}  # fmt: skip


class HostMemory:
    """Allocations in the host's memory, as a device's: at multiples of 512 bytes."""

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[Any, int]] = {}

    def allocate(self, nbytes: int) -> int:
        array = np.zeros(nbytes + 1024, np.uint8)
        begin = -(-array.ctypes.data // 512) * 512
        self._arrays[begin] = array, nbytes
        return begin

    def free(self, begin: int) -> None:
        self._arrays.pop(begin, None)

    def ranges(self) -> list[tuple[int, int]]:
        """Return the first byte and the number of bytes of each allocation, in order."""
        return [(begin, nbytes) for begin, (_, nbytes) in sorted(self._arrays.items())]


class Launched:
    """Launches, which run when they are added, and their work in a block of `counting`."""

    def __init__(self) -> None:
        self._work = Work()

    def add(self, launch: Launch) -> None:
        """Run a launch on the host's memory."""
        self._work.run(launch, MEMORY.ranges())

    @contextmanager
    def counting(self) -> Iterator[Work]:
        """Count the work of the launches in the block."""
        before, self._work = self._work, Work()
        try:
            yield self._work
        finally:
            self._work = before


MEMORY = HostMemory()
LAUNCHED = Launched()
