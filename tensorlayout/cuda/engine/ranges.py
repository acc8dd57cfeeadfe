"""Which addresses are device memory: what the simulator checks every access against."""

from __future__ import annotations

import gc
import os
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tensorlayout.cuda.engine.driver import Bytes


def lock_kept_over_forks() -> AbstractContextManager[Any]:
    """A lock that no other thread holds when the process forks, so that a child never waits for it.

    Nor does a finalizer, or the handler of a signal, in the thread that holds it. Where a thread
    holds several, it takes those made later first: so does a fork.
    """
    lock = threading.RLock()
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )
    return lock


_lock = lock_kept_over_forks()


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """No garbage is collected: finalizers would come in the midst of what is done here."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Ranges:
    """The live ranges of one device.

    Those that overlap (two wraps of one memory) are merged when a launch asks for the table.
    """

    def __init__(self) -> None:
        # Buffers are collected at any moment, inside a method of this object too: hence later.
        self._removed: deque[tuple[int, int]] = deque()
        self._live = array("Q")  # sorted: of each the first byte, bytes, address of written
        self._written: dict[int, Bytes] = {}  # by address
        self._overlap = False  # whether some may
        self._table: tuple[array[int], int] | None = None

    def add(self, begin: int, nbytes: int, written: Bytes | None = None) -> None:
        """A range is live. `written`: a byte for each byte, 1 where it was written."""
        if not nbytes:
            return
        row = array("Q", (begin, nbytes, 0 if written is None else written.ctypes.data))
        with _lock, collecting_nothing():
            self._remove_all()
            self._table = None
            if written is not None:
                self._written[row[2]] = written
            at = 3 * bisect_left(self._live[::3], begin)
            below, above = self._live[max(0, at - 3) : at], self._live[at : at + 3]
            if (below and sum(below[:2]) > begin) or (above and above[0] < begin + nbytes):
                self._overlap = True
            self._live[at:at] = row

    def remove_later(self, begin: int, nbytes: int) -> None:
        """A range is no longer live; safe at any moment, without a lock."""
        if nbytes:
            self._removed.append((begin, nbytes))

    def table(self) -> tuple[array[int], int]:
        """The ranges in order of address, apart from each other, and how many. Never changed."""
        with _lock, collecting_nothing():
            self._remove_all()
            if self._table is None:
                table = self._merged() if self._overlap else self._live[:]
                self._table = table, len(table) // 3
            return self._table

    def total(self) -> int:
        """The bytes of all ranges."""
        table, _ = self.table()
        return sum(table[1::3])

    def holds(self, pointer: int, nbytes: int) -> bool:
        """Whether all these bytes are in one range."""
        return not nbytes or self._home(pointer, nbytes) is not None

    def written(self, pointer: int, nbytes: int) -> Bytes | None:
        """Which of these bytes were written, if that is followed."""
        begin, address = self._home(pointer, nbytes) or (0, 0)
        followed = self._written.get(address)
        return None if followed is None else followed[pointer - begin :][:nbytes]

    def mark_written(self, pointer: int, nbytes: int, written: Bytes | None = None) -> None:
        """These bytes were written, or those that `written` says."""
        mine = self.written(pointer, nbytes)
        if mine is not None:
            mine[...] = 1 if written is None else written

    def stop_following(self) -> None:
        """Take all that is live for written: stores will go unseen."""
        if self._written:
            with _lock, collecting_nothing():
                self._written.clear()
                self._live[2::3] = array("Q", bytes(8 * (len(self._live) // 3)))
                self._table = None

    def _home(self, pointer: int, nbytes: int) -> tuple[int, int] | None:
        """The range that holds these bytes: its first one, and the address of its `written`."""
        table, _ = self.table()
        at = 3 * (bisect_right(table[::3], pointer) - 1)
        if at < 0 or pointer + nbytes > table[at] + table[at + 1]:
            return None
        return table[at], table[at + 2]

    def _remove_all(self) -> None:
        while self._removed:
            begin, nbytes = self._removed.popleft()
            at = 3 * bisect_left(self._live[::3], begin)
            while self._live[at + 1] != nbytes:
                at += 3
            self._written.pop(self._live[at + 2], None)
            del self._live[at : at + 3]
            self._table = None

    def _merged(self) -> array[int]:
        """The table with the overlapping ranges in one."""
        merged = self._live[:3]
        for at in range(3, len(self._live), 3):
            row = self._live[at : at + 3]
            size = row[0] + row[1] - merged[-3]  # of both
            if row[0] >= merged[-3] + merged[-2]:
                merged += row
            elif row[:2] == merged[-3:-1]:
                merged[-1] = merged[-1] or row[2]
            elif size > merged[-2]:
                # The bytes of one are no longer all that there are: they are not followed.
                merged[-2:] = array("Q", (size, 0))
        self._overlap = len(merged) < len(self._live)
        return merged
