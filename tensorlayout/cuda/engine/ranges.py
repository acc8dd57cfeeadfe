"""Ranges of simulated device memory, with which the simulator checks every access."""

from __future__ import annotations

import gc
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

from tensorlayout.cuda.engine.driver import Bytes
from tensorlayout.support.forks import fork_safe_lock

_lock = fork_safe_lock()


@contextmanager
def garbage_collection_disabled() -> Iterator[None]:
    """Disable garbage collection in a block that finalizers must not interrupt."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class LiveRanges:
    """Live ranges of one device.

    Overlapping ranges (memory that is wrapped twice) are merged when a launch needs the table.
    """

    def __init__(self) -> None:
        # Buffers may be finalised at any moment, even inside a method of this object, so removals
        # are queued.
        self._removed: deque[tuple[int, int]] = deque()
        # Sorted (first byte, number of bytes, address of `written` or 0).
        self._live: list[tuple[int, int, int]] = []
        self._written: dict[int, Bytes] = {}  # by address
        self._table: array[int] | None = None

    def add_range(self, begin: int, nbytes: int, written: Bytes | None = None) -> None:
        """Add a live range; `written`: a flag for each byte, 1 once it is written."""
        if not nbytes:
            return
        address = 0 if written is None else written.ctypes.data
        with _lock, garbage_collection_disabled():
            self._apply_pending_removals()
            self._table = None
            if written is not None:
                self._written[address] = written
            insort(self._live, (begin, nbytes, address))

    def remove_later(self, begin: int, nbytes: int) -> None:
        """Mark a range for removal; safe at any moment, because it takes no lock."""
        if nbytes:
            self._removed.append((begin, nbytes))

    def sorted_range_table(self) -> tuple[array[int], int]:
        """Return a table of disjoint ranges by address, which never changes, and their number."""
        with _lock, garbage_collection_disabled():
            self._apply_pending_removals()
            if self._table is None:
                self._table = array("Q", chain.from_iterable(self._merge_overlapping()))
            return self._table, len(self._table) // 3

    def total_bytes(self) -> int:
        """Return the number of bytes in all ranges."""
        table, _ = self.sorted_range_table()
        return sum(table[1::3])

    def contains(self, pointer: int, nbytes: int) -> bool:
        """Return whether one range contains all these bytes."""
        return not nbytes or self._range_start_and_flags_address(pointer, nbytes) is not None

    def written_flags(self, pointer: int, nbytes: int) -> Bytes | None:
        """Return a flag for each byte, 1 if it was written; None if writes are not tracked."""
        begin, address = self._range_start_and_flags_address(pointer, nbytes) or (0, 0)
        followed = self._written.get(address)
        return None if followed is None else followed[pointer - begin :][:nbytes]

    def mark_written(self, pointer: int, nbytes: int, written: Bytes | None = None) -> None:
        """Mark bytes as written, or set their flags to `written`."""
        mine = self.written_flags(pointer, nbytes)
        if mine is not None:
            mine[...] = 1 if written is None else written

    def mark_all_written(self) -> None:
        """Mark all live bytes as written, because the next launch does not track its stores."""
        if self._written:
            with _lock, garbage_collection_disabled():
                self._written.clear()
                self._live = [(begin, nbytes, 0) for begin, nbytes, _ in self._live]
                self._table = None

    def _range_start_and_flags_address(self, pointer: int, nbytes: int) -> tuple[int, int] | None:
        """Return the first byte of the range with these bytes, and the address of its flags."""
        table, _ = self.sorted_range_table()
        # The table is flat: begin, bytes, and address of the flags of each range.
        at = 3 * (bisect_right(table[::3], pointer) - 1)
        if at < 0 or pointer + nbytes > table[at] + table[at + 1]:
            return None
        return table[at], table[at + 2]

    def _apply_pending_removals(self) -> None:
        while self._removed:
            # A tuple of two sorts before the tuples of three that it begins, so this finds the
            # first of them.
            at = bisect_left(self._live, self._removed.popleft())
            self._written.pop(self._live.pop(at)[2], None)
            self._table = None

    def _merge_overlapping(self) -> list[tuple[int, int, int]]:
        """Return the ranges, with overlapping ones merged."""
        merged: list[tuple[int, int, int]] = []
        for begin, nbytes, written in self._live:
            first, size, before = merged[-1] if merged else (0, 0, 0)
            if begin >= first + size:
                merged.append((begin, nbytes, written))
            elif (begin, nbytes) == (first, size):
                merged[-1] = first, size, before or written
            elif begin + nbytes > first + size:
                # The flags of neither cover the merged range, so writes to it are not tracked.
                merged[-1] = first, begin + nbytes - first, 0
        return merged
