"""Time on a GPU: by its own events, in rounds in which the libraries take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from math import ceil
from typing import Any

from benchmarks.gpu_peers import Library
from benchmarks.measure import Call, Timing

# A turn is about so many seconds, in at most so many calls; CUDA queues about a thousand launches.
TURN = 0.002
MOST_CALLS = 256
ROUNDS = (3, 9)


class EventClock:
    """The device's time, between two events on CUDA's default stream.

    `seconds` is for all calls together; `ahead`: how long the host takes to enqueue them. Before
    the first event the device gets work for as long as the host will enqueue, so that it does not
    wait for the host between the calls.
    """

    # Of the copy that keeps the device busy.
    BYTES = 1 << 28

    def __init__(self, cupy: Any) -> None:
        self._cuda = cupy.cuda
        self._start, self._stop = cupy.cuda.Event(), cupy.cuda.Event()
        scratch = cupy.ones(2 * self.BYTES, "uint8")
        self._halves = scratch[: self.BYTES], scratch[self.BYTES :]
        self._busy = 0.0
        self._busy = max(min(self.seconds([self._occupy], 0) for _ in range(5)), 1e-5)

    def seconds(self, calls: Sequence[Call], ahead: float) -> float:
        """Between the events."""
        for _ in range(min(64, ceil(1.5 * ahead / self._busy)) if ahead else 0):
            self._occupy()
        stream = self._cuda.Stream.null
        self._start.record(stream)
        for call in calls:
            call()
        self._stop.record(stream)
        self._stop.synchronize()
        return float(self._cuda.get_elapsed_time(self._start, self._stop)) / 1e3

    def _occupy(self) -> None:
        to, from_ = self._halves
        runtime = self._cuda.runtime
        kind = runtime.memcpyDeviceToDevice
        runtime.memcpyAsync(to.data.ptr, from_.data.ptr, self.BYTES, kind, 0)


@dataclass
class HostClock:
    """The host's time until the results are there, of a library with streams of its own.

    `alone`: that of the calls; what they enqueue is waited for afterwards.
    """

    wait: Callable[[Any], None]
    alone: bool = False

    def seconds(self, calls: Sequence[Call], ahead: float) -> float:
        """Enqueued, and waited for once."""
        start = time.perf_counter()
        result: Any = None
        for call in calls:
            result = call()
        returned = time.perf_counter()
        self.wait(result)
        return (returned if self.alone else time.perf_counter()) - start


Clock = EventClock | HostClock


@dataclass
class Turns:
    """The calls of one library: one for each set of memory, by turns.

    Attributes:
        ahead: seconds of the host for a call.
        count: calls of a turn.

    """

    calls: Sequence[Call]
    clock: Clock
    ahead: float = 0.0
    count: int = 1
    _next: Any = field(init=False)

    def __post_init__(self) -> None:
        self._next = cycle(self.calls)

    def settle(self, wait: Callable[[], None]) -> float:
        """Warm up, and choose how many calls are a turn; seconds of a turn."""
        for call in self.calls:
            call()
        wait()
        few = self._take(4)
        start = time.perf_counter()
        for call in few:
            call()
        self.ahead = (time.perf_counter() - start) / 4
        wait()
        one = self.clock.seconds(self._take(4), 4 * self.ahead) / 4
        self.count = min(max(1, ceil(TURN / max(one, 1e-9))), MOST_CALLS)
        return max(one, self.ahead) * self.count

    def turn(self) -> float:
        """Seconds of a call, on average over a turn."""
        calls = self._take(self.count)
        return self.clock.seconds(calls, self.count * self.ahead) / self.count

    def _take(self, count: int) -> list[Call]:
        return list(islice(self._next, count))


def clock_of(library: Library, events: Clock | None, *, on_host: bool) -> Clock:
    """Return the clock for a library's calls; `events` is None if the device has no events."""
    if on_host:
        return HostClock(library.wait, alone=True)
    if events is None or library.own_stream:
        return HostClock(library.wait)
    return events


def in_rounds(turns: Mapping[str, Turns], seconds: float, wait: Callable[[], None]) -> Timing:
    """As many rounds as fit the time, 3 to 9, in each of which every library has its turn."""
    spent = sum(turn.settle(wait) for turn in turns.values())
    least, most = ROUNDS
    rounds = min(max(least, int(seconds / max(spent, 1e-9))), most)
    by_name: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(rounds):
        for name, timer in turns.items():
            by_name[name].append(timer.turn())
    return Timing({name: tuple(times) for name, times in by_name.items()})
