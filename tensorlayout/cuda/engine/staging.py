"""Copies between a device and pageable memory of the host, by way of pinned buffers.

While one buffer is on its way to or from the device, the processor empties or fills another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorlayout.cuda.engine.driver import Bytes

HALF = 4 << 20  # bytes; from here on, a copy outweighs what it costs to start one
SLOT = 64 << 10  # bytes of a buffer for small copies


class _Pinned:
    """Pinned memory, and the event after which it is free again."""

    def __init__(self, cupy: Any, nbytes: int) -> None:
        self._owner = cupy.cuda.alloc_pinned_memory(nbytes)
        self.pointer: int = self._owner.ptr
        self.bytes: Bytes = np.frombuffer(self._owner, np.uint8, nbytes)
        self.event = cupy.cuda.Event(disable_timing=True)


class _Queue:
    """Buffers of one size, in the order in which they were used.

    They are taken and put back by one call of C each. So there is no lock for another thread to
    wait for, nor for a finalizer in the midst of a copy: each has a buffer of its own.
    """

    def __init__(self, cupy: Any, nbytes: int, enough: int) -> None:
        self._cupy, self._nbytes, self._enough = cupy, nbytes, enough
        self._all: list[_Pinned] = []
        self._waiting: deque[_Pinned] = deque()
        self.put = self._waiting.append

    def take(self) -> _Pinned:
        """A buffer that nothing is on its way from; where there are enough of them, it waits."""
        try:
            oldest = self._waiting.popleft()
        except IndexError:
            return self._new()
        if not oldest.event.done:
            if len(self._all) < self._enough:
                self._waiting.appendleft(oldest)
                return self._new()
            oldest.event.synchronize()
        return oldest

    def _new(self) -> _Pinned:
        made = _Pinned(self._cupy, self._nbytes)
        self._all.append(made)
        return made


class Staging:
    """Buffers for one device, to which events belong.

    They are kept, for what leaves them may be on its way long after a copy has returned.
    """

    def __init__(self, cupy: Any) -> None:
        self._runtime = cupy.cuda.runtime
        self._halves = _Queue(cupy, HALF, 2)
        self._slots = _Queue(cupy, SLOT, 16)  # so that many copies may wait in a busy stream

    def to_device(self, pointer: int, source: Bytes, stream: Any) -> None:
        """Copy; when it returns, `source` has been read, and the last parts are on their way."""
        kind = self._runtime.memcpyHostToDevice
        queue = self._slots if source.size <= SLOT else self._halves
        for first, size in _parts(source.size):
            buffer = queue.take()
            try:
                buffer.bytes[:size] = source[first : first + size]
                self._runtime.memcpyAsync(pointer + first, buffer.pointer, size, kind, stream.ptr)
            finally:
                buffer.event.record(stream)
                queue.put(buffer)

    def to_host(self, destination: Bytes, pointer: int, stream: Any) -> None:
        """Copy; when it returns, all of `destination` has been written."""
        kind = self._runtime.memcpyDeviceToHost
        arriving: deque[tuple[int, int, _Pinned]] = deque()

        def unload() -> None:
            first, size, buffer = arriving[0]
            buffer.event.synchronize()
            destination[first : first + size] = buffer.bytes[:size]
            arriving.popleft()
            self._halves.put(buffer)

        try:
            for first, size in _parts(destination.size):
                if len(arriving) == 2:
                    unload()
                buffer = self._halves.take()
                arriving.append((first, size, buffer))
                self._runtime.memcpyAsync(buffer.pointer, pointer + first, size, kind, stream.ptr)
                buffer.event.record(stream)
            while arriving:
                unload()
        finally:  # an error or an interrupt may have left some on their way
            for *_, buffer in arriving:
                buffer.event.record(stream)
                self._halves.put(buffer)


def _parts(nbytes: int) -> Iterator[tuple[int, int]]:
    for first in range(0, nbytes, HALF):
        yield first, min(HALF, nbytes - first)
