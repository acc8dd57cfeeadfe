"""Streams, events and graphs of CUDA: CuPy's, without importing CuPy, or the simulator's.

On the simulator all work is finished when it is enqueued, and graphs cannot be captured.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import (
    LEGACY_STREAM,
    PER_THREAD_STREAM,
    UsedByStreams,
    driver,
)
from tensorlayout.cuda.engine.memory import as_stream, device_of_stream
from tensorlayout.cuda.engine.pool import cuda_device_number
from tensorlayout.devices import Device
from tensorlayout.errors import check_flag, qualified_type_name, raise_named_error


class Stream:
    """A CUDA stream: work enqueued on it runs in order.

    ``with stream:`` makes it, and its device, current in this thread. It has ``__cuda_stream__``,
    so CuPy, `cuda.core` and other libraries accept it; `from_external` accepts theirs.

    - `device`: a CUDA device or its name; None for the current one.
    - `non_blocking`: True for a stream that does not synchronise with the legacy default stream.

    Raises ValueError for a device that is not available or no CUDA device, TypeError for other
    objects.
    """

    def __init__(self, device: Device | str | None = None, *, non_blocking: bool = False) -> None:
        gpu, number = driver(), cuda_device_number("Stream", device)
        check_flag("Stream", "non_blocking", non_blocking)
        with gpu.using_device(number):
            self._set_stream(number, gpu.streams.Stream(non_blocking=non_blocking))

    def _set_stream(self, device: int, stream: Any) -> None:
        self.device = Device("cuda", device)
        self._stream = stream
        self._blocks = threading.local()

    @classmethod
    def _wrap(cls, device: int, stream: Any) -> Stream:
        result = object.__new__(cls)
        result._set_stream(device, stream)
        return result

    @classmethod
    def current(cls, device: Device | str | None = None) -> Stream:
        """Return the current stream of a CUDA device; None for the current device.

        Raises ValueError for a `device` that is not available or no CUDA device.
        """
        number = cuda_device_number("Stream.current", device)
        return cls._wrap(number, driver().streams.get_current_stream(number))

    @classmethod
    def from_external(cls, stream: Any, device: Device | str | None = None) -> Stream:
        """Return a stream of another library.

        - `stream`: an object with ``__cuda_stream__``, which the result keeps alive; or an address,
          1 for the legacy default stream, 2 for the per-thread default stream.
        - `device`: the CUDA device to which it belongs; None for the one that the stream names, as
          ours and CuPy's do, else for the current one.

        Raises ValueError for 0 and negative numbers, and for another device than the stream names;
        TypeError for other objects.
        """
        if device is None and (named := device_of_stream(stream)) is not None:
            device = f"cuda:{named}"
        number = cuda_device_number("Stream.from_external", device)
        external = as_stream("Stream.from_external", stream, Device("cuda", number))
        library = driver().streams.Stream
        match external.number:
            case 1:  # LEGACY_STREAM
                return cls._wrap(number, library.null)
            case 2:  # PER_THREAD_STREAM
                return cls._wrap(number, library.ptds)
        return cls._wrap(number, library.from_external(_Handle(external.number, stream)))

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self._stream.ptr)

    def __repr__(self) -> str:
        return f"<Stream {self._stream.ptr:#x} of {self.device}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Device, int]:
        return self.device, self._stream.ptr

    def __enter__(self) -> Stream:
        stack = ExitStack()
        stack.enter_context(driver().using_device(self.device.number))
        stack.enter_context(self._stream)
        self._blocks.__dict__.setdefault("open", []).append(stack)
        return self

    def __exit__(self, *_: object) -> None:
        self._blocks.open.pop().close()

    @property
    def done(self) -> bool:
        """True if all work that was enqueued on the stream has finished."""
        return bool(self._stream.done)

    def synchronize(self) -> None:
        """Wait on the host until all work that was enqueued on the stream has finished.

        Raises IndexError if a position in that work was out of bounds.
        """
        self._stream.synchronize()
        faults.raise_pending_errors()

    def record(self, event: Event | None = None) -> Event:
        """Record an event after the work enqueued so far, by default a new one; return it.

        Raises ValueError for an `event` of another device.
        """
        event = Event() if event is None else _as_event("record", event)
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make later work on the stream wait for an event; the host does not wait.

        Raises ValueError for an `event` that was never recorded.
        """
        with driver().using_device(self.device.number):
            self._stream.wait_event(_as_event("wait_event", event)._recorded("wait_event"))

    def wait_stream(self, stream: Any) -> None:
        """Make later work on the stream wait for the work that another stream has now.

        `stream`: a stream of the same device, as in `from_external`. The host does not wait. Raises
        ValueError for 0 and negative numbers, TypeError for other objects.
        """
        first = as_stream("wait_stream", stream, self.device)
        driver().make_stream_wait(first, as_stream("wait_stream", self, self.device))


class _Handle:
    """An address under the protocol of streams; it keeps the owner alive."""

    def __init__(self, address: int, owner: object) -> None:
        self._address, self._owner = address, owner

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address


class Event:
    """A point in the work of a stream, on which hosts and streams can wait.

    `timing`: True for an event whose time `seconds_since` measures. It belongs to the device of the
    first stream on which it is recorded.
    """

    def __init__(self, *, timing: bool = False) -> None:
        self._timing = check_flag("Event", "timing", timing)
        self._event: Any = None
        self._device: Device | None = None

    def __repr__(self) -> str:
        state = "never recorded" if self._event is None else f"of {self._device}"
        return f"<Event {state}>"

    def record(self, stream: Stream | None = None) -> None:
        """Move the event after the work that a stream has now, by default the current one.

        Raises ValueError for a `stream` of another device.
        """
        stream = Stream.current() if stream is None else _as_own_stream(stream)
        gpu = driver()
        if self._device not in (None, stream.device):
            msg = f"the event is of {self._device}, and the stream of {stream.device}"
            raise_named_error("record", msg)
        with gpu.using_device(stream.device.number):
            if self._event is None:
                self._event = gpu.streams.Event(disable_timing=not self._timing)
                self._device = stream.device
            self._event.record(stream._stream)

    @property
    def done(self) -> bool:
        """True if the work before the event has finished. Raises ValueError if never recorded."""
        return bool(self._recorded("done").done)

    def synchronize(self) -> None:
        """Wait on the host for the work before the event.

        Raises ValueError if it was never recorded, and IndexError if a position in that work was
        out of bounds.
        """
        self._recorded("synchronize").synchronize()
        faults.raise_pending_errors()

    def seconds_since(self, start: Event) -> float:
        """Return the **seconds** from `start` to this event, for which the host waits.

        Raises ValueError if an event was never recorded, or has no timing, or if the two are of
        different devices.
        """
        for which, event in (("start", _as_event("seconds_since", start)), ("this event", self)):
            if not event._timing:
                msg = f"{which} has no timing; use Event(timing=True)"
                raise_named_error("seconds_since", msg)
            if event._event is None:
                raise_named_error("seconds_since", f"{which} was never recorded")
        if start._device != self._device:
            msg = f"start is of {start._device}, and this event of {self._device}"
            raise_named_error("seconds_since", msg)
        for event in (start, self):
            event._event.synchronize()
        return float(driver().streams.get_elapsed_time(start._event, self._event)) / 1e3

    def _recorded(self, name: str) -> Any:
        if self._event is None:
            raise_named_error(name, "the event was never recorded")
        return self._event


def _as_event(name: str, event: Any) -> Event:
    if not isinstance(event, Event):
        msg = f"event must be an Event, got {qualified_type_name(event)}"
        raise_named_error(name, msg, TypeError)
    return event


def _as_own_stream(stream: Any) -> Stream:
    """Return a `Stream`, also of a stream of another library on the current device."""
    return stream if isinstance(stream, Stream) else Stream.from_external(stream)


class Graph:
    """A CUDA graph of captured calls; `capture` makes it.

    It keeps the memory that the captured calls allocated, results included, until its last launch
    has finished. Keep the tensors that they read, and those that they write in place.
    """

    def __init__(self) -> None:
        self._graph: Any = None
        self._device = Device("cuda")
        self._memory = UsedByStreams(None, driver().keep_until_finished)

    def __repr__(self) -> str:
        state = "not captured" if self._graph is None else f"of {self._device}"
        return f"<Graph {state}>"

    def launch(self, stream: Stream | None = None) -> None:
        """Enqueue all work of the graph on a stream, by default the current one.

        Raises ValueError in the block that captures it, and after a capture that has failed.
        """
        if self._graph is None:
            raise_named_error("launch", "the graph has not been captured")
        stream = Stream.current(self._device) if stream is None else _as_own_stream(stream)
        self._memory.streams[as_stream("launch", stream, self._device)] = None
        with driver().using_device(self._device.number):
            self._graph.launch(stream._stream)


@contextmanager
def capture(stream: Stream | None = None) -> Iterator[Graph]:
    """Capture the calls of a block in a graph, which then can be launched; none of them runs.

    `stream`: a stream other than the default ones, which is current in the block; None for a new
    one. The calls must have run once before. A call that cannot be captured raises a RuntimeError
    that names the function; the guide to CUDA lists them.

    Raises ValueError for a default stream, and RuntimeError on the simulator.
    """
    stream = Stream(non_blocking=True) if stream is None else _as_own_stream(stream)
    if as_stream("capture", stream, stream.device).number in (LEGACY_STREAM, PER_THREAD_STREAM):
        raise_named_error("capture", "stream must not be a default stream")
    graph, gpu = Graph(), driver()
    with stream:
        stream._stream.begin_capture()
        try:
            yield graph
            memory = gpu.current_capture_memory(stream.device.number)
        except BaseException:
            with suppress(Exception):  # the error in the block says more than that of the capture
                stream._stream.end_capture()
            raise
        captured = stream._stream.end_capture()
    graph._graph, graph._device = captured, stream.device
    graph._memory = UsedByStreams((captured, memory), gpu.keep_until_finished)
