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

    Those that overlap none are kept in the order and form in which the simulator reads them; those
    that do (two wraps of one memory) are merged when a launch asks for the table.
    """

    def __init__(self) -> None:
        # Buffers are collected at any moment, inside a method of this object too: hence later.
        self._removed: deque[tuple[int, int]] = deque()
        self._begins: list[int] = []
        self._table = array("Q")  # first byte, bytes, address of written, for each of _begins
        self._written: dict[int, Bytes] = {}
        self._overlapping: list[tuple[int, int]] = []
        self._snapshot: tuple[array[int], int] | None = None

    def add(self, begin: int, nbytes: int, written: Bytes | None = None) -> None:
        """A range is live. `written`: a byte for each byte, 1 where it was written."""
        if not nbytes:
            return
        with _lock, collecting_nothing():
            self._remove_all()
            self._snapshot = None
            at = bisect_left(self._begins, begin)
            if self._reaches_into(at, begin, nbytes):
                self._overlapping.append((begin, nbytes))
                return
            self._begins.insert(at, begin)
            address = 0
            if written is not None:
                self._written[begin] = written
                address = written.ctypes.data
            self._table[3 * at : 3 * at] = array("Q", (begin, nbytes, address))

    def remove_later(self, begin: int, nbytes: int) -> None:
        """A range is no longer live; safe at any moment, without a lock."""
        if nbytes:
            self._removed.append((begin, nbytes))

    def table(self) -> tuple[array[int], int]:
        """The ranges in order of address, apart from each other, and how many. Never changed."""
        with _lock, collecting_nothing():
            self._remove_all()
            if self._snapshot is None:
                table = array("Q", self._merged() if self._overlapping else self._table)
                self._snapshot = table, len(table) // 3
            return self._snapshot

    def total(self) -> int:
        """The bytes of all ranges."""
        table, _ = self.table()
        return sum(table[1::3])

    def holds(self, pointer: int, nbytes: int) -> bool:
        """Whether all these bytes are in one range."""
        return not nbytes or self._home(pointer, nbytes) is not None

    def written(self, pointer: int, nbytes: int) -> Bytes | None:
        """Which of these bytes were written, if that is followed."""
        home = self._home(pointer, nbytes)
        followed = None if home is None else self._written.get(home)
        if home is None or followed is None:
            return None
        return followed[pointer - home :][:nbytes]

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
                self._table[2::3] = array("Q", bytes(8 * len(self._begins)))
                self._snapshot = None

    def _home(self, pointer: int, nbytes: int) -> int | None:
        table, count = self.table()
        begins = self._begins if not self._overlapping else table[::3].tolist()
        at = bisect_right(begins, pointer, 0, count) - 1
        if at < 0:
            return None
        begin, size = table[3 * at], table[3 * at + 1]
        return begin if pointer + nbytes <= begin + size else None

    def _reaches_into(self, at: int, begin: int, nbytes: int) -> bool:
        """Whether a range to be put at `at` overlaps its neighbours."""
        below, above = self._table[3 * at - 3 : 3 * at], self._table[3 * at : 3 * at + 3]
        if at and below[0] + below[1] > begin:
            return True
        return bool(above) and above[0] < begin + nbytes

    def _remove_all(self) -> None:
        while self._removed:
            begin, nbytes = self._removed.popleft()
            self._snapshot = None
            if (begin, nbytes) in self._overlapping:
                self._overlapping.remove((begin, nbytes))
                continue
            at = bisect_left(self._begins, begin)
            del self._begins[at], self._table[3 * at : 3 * at + 3]
            self._written.pop(begin, None)

    def _merged(self) -> list[int]:
        """The table with the overlapping ranges in it."""
        single = zip(self._table[::3], self._table[1::3], self._table[2::3], strict=True)
        ranges = sorted([*single, *((begin, nbytes, 0) for begin, nbytes in self._overlapping)])
        merged: list[list[int]] = []
        for begin, nbytes, written in ranges:
            if not merged or begin >= merged[-1][0] + merged[-1][1]:
                merged.append([begin, nbytes, written])
                continue
            last = merged[-1]
            if begin + nbytes > last[0] + last[1] or (begin, nbytes) == (last[0], last[1]):
                # The bytes of one are no longer all that there are: they are not followed.
                last[1] = max(last[1], begin + nbytes - last[0])
                last[2] = last[2] or written if (begin, nbytes) == (last[0], last[1]) else 0
        return [number for each in merged for number in each]
