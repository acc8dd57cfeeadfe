"""Out-of-bounds positions found by kernels; the next call that waits raises the IndexError.

A launch is asynchronous. So for such a position a kernel writes a record to device memory
(``faults.cuh``), reads 0 and writes nothing. `raise_pending_errors` checks the records wherever the
host waits anyway, when a tensor goes to another library or device, and with `strict_indexing` after
each launch. Each stream has its own record, which is checked when its launches are complete;
launches in graphs have one, too.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tensorlayout.cuda.engine.driver import (
    LEGACY_STREAM,
    PER_THREAD_STREAM,
    Buffer,
    Driver,
    Stream,
    driver,
)
from tensorlayout.cuda.engine.structs import constant_value, struct_type
from tensorlayout.errors import prefix_operation_name, short_repr
from tensorlayout.support.context_blocks import Scope, ScopeContext

VARIABLE = "TENSORLAYOUT_STRICT_INDEXING"

# Tensors of positions that a launch takes.
MAX_POSITIONS = constant_value("include/faults.cuh", "MAX_POSITIONS")

_LEAST, _MOST = -(2**63), 2**63 - 1

_Record = struct_type("include/faults.cuh", "Faults")

_NOTHING = np.frombuffer(
    bytes(_Record(0, (_MOST,) * MAX_POSITIONS, (_LEAST,) * MAX_POSITIONS)), np.uint8
)

# ---- Strictness

_strict: Scope[bool] = Scope("strict")
_strict_process: bool | None = None


def set_strict_indexing(strict: bool | None) -> None:
    """Set whether reads and writes at positions on CUDA wait and raise immediately, in all threads.

    None: use ``TENSORLAYOUT_STRICT_INDEXING`` (1 or 0, by default 0). A `strict_indexing` block
    takes precedence.
    """
    global _strict_process
    _strict_process = strict


def strict_indexing(strict: bool = True) -> ScopeContext[bool, None]:
    """Wait after each read or write at positions on CUDA and raise immediately, inside the block.

    >>> with strict_indexing():
    ...     pass
    """
    return _strict.scope_with_target(strict, None)


@functools.cache
def _is_strict_by_environment() -> bool:
    value = os.environ.get(VARIABLE, "0")
    if value not in ("", "0", "1"):
        raise ValueError(f"cuda: {VARIABLE} must be 0 or 1, got {short_repr(value)}")
    return value == "1"


# ---- Records

_serials = itertools.count(1)


class FaultRecord:
    """The record of the launches on one stream, or of all launches in graphs."""

    def __init__(self, gpu: Driver, device: int, key: int | None) -> None:
        self._buffer: Buffer = gpu.allocate(_NOTHING.size, device)
        self.pointer = self._buffer.pointer
        self._device = device
        self.key = key  # of the stream; None of graphs
        # What says whether launches are over after which nobody has looked; a list for each launch.
        self.unseen: list[Callable[[], bool]] = []
        with gpu.using_device(device):
            gpu.copy_to_device(self.pointer, _NOTHING)

    def take_error(self, gpu: Driver) -> IndexError | None:
        """Return and clear the pending error; None without one.

        The record of another stream that still has work is left for later.
        """
        unseen, key = self.unseen, self.key
        is_over = next(iter(unseen), None)
        if is_over is None or gpu.is_capturing(self._device):
            return None
        ordered = key is None or key == _stream_key(gpu.current_stream(self._device))
        if not ordered and not is_over():
            return None
        content = np.empty(_NOTHING.size, np.uint8)
        with gpu.using_device(self._device):
            gpu.copy_to_host(content, self.pointer)
            record = _Record.from_buffer_copy(content.tobytes())
            outside = _position_out_of_bounds(record)
            if key is not None:
                unseen.clear()  # and none that came since
            elif outside is None:  # a graph may be in the midst of it
                return None
            if not record.owner:
                return None
            gpu.copy_to_device(self.pointer, _NOTHING)
            gpu.synchronize()  # before any stream goes on
        name = _names[record.owner & (1 << _BITS) - 1]
        assert outside is not None, f"the record of {name} is empty"
        position, size = outside
        return prefix_operation_name(
            name, IndexError(f"index {position} is out of bounds for size {size}")
        )


class _ThreadNumber(threading.local):
    """A number for the current thread that is never reused."""

    def __init__(self) -> None:
        self.number = next(_serials)


_thread = _ThreadNumber()


def _stream_key(stream: Stream) -> int:
    """Return a number that identifies a stream of a device, also a per-thread default stream."""
    number = stream.number
    return -_thread.number if number == PER_THREAD_STREAM else number


class DeviceFaultRecords:
    """The records of one device by stream key; graphs share the record of key None."""

    def __init__(self, gpu: Driver, number: int) -> None:
        self._number = number
        # While a graph is captured, it could not be made.
        self.by_stream: dict[int | None, FaultRecord] = {None: FaultRecord(gpu, number, None)}
        with gpu.using_device(number):
            gpu.synchronize()  # for all streams

    def record_of_current_stream(self, gpu: Driver) -> tuple[FaultRecord, Stream]:
        """Return the record for kernels on the current stream, and the stream."""
        stream = gpu.current_stream(self._number)
        captured = stream.number != LEGACY_STREAM and gpu.is_capturing(self._number)
        key = None if captured else _stream_key(stream)
        report = self.by_stream.get(key)
        if report is None:
            report = self.by_stream.setdefault(key, FaultRecord(gpu, self._number, key))
        return report, stream


_devices: WeakKeyDictionary[Driver, dict[int, DeviceFaultRecords]] = WeakKeyDictionary()


def fault_records(device: int) -> DeviceFaultRecords:
    """Return the records of a device, kept as long as its driver."""
    gpu = driver()
    devices = _devices.setdefault(gpu, {})
    records = devices.get(device)
    return (
        devices.setdefault(device, DeviceFaultRecords(gpu, device)) if records is None else records
    )


def note_launches(report: FaultRecord, stream: Stream) -> None:
    """Note that launches on a stream may write to its record, so that it is checked later."""
    report.unseen = [bool] if report.key is None else [driver().completion_test(stream)]
    strict = _strict.innermost_value()
    if strict is None:
        strict = _is_strict_by_environment() if _strict_process is None else _strict_process
    if strict:
        raise_pending_errors()


def raise_pending_errors() -> None:
    """Raise and clear the pending IndexError of kernels, if there is one.

    Call this where the host has waited, or may wait, for the current stream. The record of another
    stream is checked once its work is complete, that of graphs every time. Without launches since
    the last check, it costs nothing.
    """
    gpu = driver()
    for device in tuple(_devices.get(gpu, {}).values()):
        for report in tuple(device.by_stream.values()):
            error = report.take_error(gpu)
            if error is not None:
                raise error


_names: list[str] = []
_BITS = 16  # of the place of a name; above, the serial number of a launch's plan


def new_launch_number(name: str) -> int:
    """Return a new number that identifies one launch of the operation `name`."""
    if name not in _names:
        _names.append(name)
    return next(_serials) << _BITS | _names.index(name)


def _position_out_of_bounds(record: Any) -> tuple[int, int] | None:
    """Return an out-of-bounds position and its dimension's size; None if there is no report."""
    for lowest, highest, size in zip(record.lowest, record.highest, record.size, strict=True):
        if lowest <= highest:
            return (lowest if lowest < -size else highest), size
    return None
