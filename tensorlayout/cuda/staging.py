"""Copies between a device and pageable memory of the host, by way of two pinned buffers.

While one half is on its way to or from the device, the processor empties or fills the other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorlayout.cuda.driver import Bytes

HALF = 4 << 20  # bytes; from here on, a copy outweighs what it costs to start one


class _Half:
    """Pinned memory, and the event after which it is free again."""

    def __init__(self, cupy: Any) -> None:
        self._owner = cupy.cuda.alloc_pinned_memory(HALF)
        self.pointer: int = self._owner.ptr
        self.bytes: Bytes = np.frombuffer(self._owner, np.uint8, HALF)
        self.event = cupy.cuda.Event(disable_timing=True)


class Staging:
    """Two halves for one device (an event belongs to one); threads take turns.

    They are kept, for what leaves them may be on its way long after a copy has returned.
    """

    def __init__(self, cupy: Any) -> None:
        self._lock = threading.Lock()
        self._runtime = cupy.cuda.runtime
        self._halves = (_Half(cupy), _Half(cupy))

    def to_device(self, pointer: int, source: Bytes, stream: Any) -> None:
        """Copy; when it returns, `source` has been read, and the last parts are on their way."""
        kind = self._runtime.memcpyHostToDevice
        with self._lock:
            for first, size, half in self._parts(source.size):
                half.event.synchronize()
                half.bytes[:size] = source[first : first + size]
                self._runtime.memcpyAsync(pointer + first, half.pointer, size, kind, stream.ptr)
                half.event.record(stream)

    def to_host(self, destination: Bytes, pointer: int, stream: Any) -> None:
        """Copy; when it returns, all of `destination` has been written."""
        with self._lock:
            self._to_host(destination, pointer, stream)

    def _to_host(self, destination: Bytes, pointer: int, stream: Any) -> None:
        kind = self._runtime.memcpyDeviceToHost
        arriving: deque[tuple[int, int, _Half]] = deque()

        def unload() -> None:
            first, size, half = arriving.popleft()
            half.event.synchronize()
            destination[first : first + size] = half.bytes[:size]

        for first, size, half in self._parts(destination.size):
            if len(arriving) == len(self._halves):
                unload()
            half.event.synchronize()  # a copy to the device, on another stream perhaps
            self._runtime.memcpyAsync(half.pointer, pointer + first, size, kind, stream.ptr)
            half.event.record(stream)
            arriving.append((first, size, half))
        while arriving:
            unload()

    def _parts(self, nbytes: int) -> Iterator[tuple[int, int, _Half]]:
        for number, first in enumerate(range(0, nbytes, HALF)):
            yield first, min(HALF, nbytes - first), self._halves[number % 2]
