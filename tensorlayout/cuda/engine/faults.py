"""Positions outside a dimension, found by kernels: the IndexError comes at the next waiting call.

A launch does not wait, so a kernel leaves a record in device memory (``faults.cuh``), reads 0 and
writes nothing at such a position. `check` looks at the record wherever the host waits anyway, and
when a tensor is given to another library or device; with `strict_indexing`, after each launch.
Each stream has a record of its own, which is looked at when its launches are over; and so have
those in graphs.
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
    """Set whether reads and writes at positions on CUDA wait and raise at once, in all threads.

    None: as ``TENSORLAYOUT_STRICT_INDEXING`` says (1 or 0; without it, they do not wait). A
    `strict_indexing` block keeps its own.
    """
    global _strict_process
    _strict_process = strict


def strict_indexing(strict: bool = True) -> ScopeContext[bool, None]:
    """Wait after each read or write at positions on CUDA, and raise at once, inside the block.

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
    """The record of launches on one stream, or of those in graphs, which any stream may launch."""

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
        """Return the error for what was left since somebody last looked, and forget it.

        What is under way on another stream than the current one is left for later.
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
    """A number that no other thread has, nor will have."""

    def __init__(self) -> None:
        self.number = next(_serials)


_thread = _ThreadNumber()


def _stream_key(stream: Stream) -> int:
    """Return what tells a stream of a device from others, per-thread default streams too."""
    number = stream.number
    return -_thread.number if number == PER_THREAD_STREAM else number


class DeviceFaultRecords:
    """The records of one device, by the keys of streams; that of graphs under None."""

    def __init__(self, gpu: Driver, number: int) -> None:
        self._number = number
        # While a graph is captured, it could not be made.
        self.by_stream: dict[int | None, FaultRecord] = {None: FaultRecord(gpu, number, None)}
        with gpu.using_device(number):
            gpu.synchronize()  # for all streams

    def record_of_current_stream(self, gpu: Driver) -> tuple[FaultRecord, Stream]:
        """Return the record where kernels on the current stream leave faults, and the stream."""
        stream = gpu.current_stream(self._number)
        captured = stream.number != LEGACY_STREAM and gpu.is_capturing(self._number)
        key = None if captured else _stream_key(stream)
        report = self.by_stream.get(key)
        if report is None:
            report = self.by_stream.setdefault(key, FaultRecord(gpu, self._number, key))
        return report, stream


_devices: WeakKeyDictionary[Driver, dict[int, DeviceFaultRecords]] = WeakKeyDictionary()


def fault_records(device: int) -> DeviceFaultRecords:
    """Return the records of a device, which live as long as its driver."""
    gpu = driver()
    devices = _devices.setdefault(gpu, {})
    records = devices.get(device)
    return (
        devices.setdefault(device, DeviceFaultRecords(gpu, device)) if records is None else records
    )


def note_launches(report: FaultRecord, stream: Stream) -> None:
    """Note launches that may leave something in what `Reports.current` gave; graphs at any time."""
    report.unseen = [bool] if report.key is None else [driver().completion_test(stream)]
    strict = _strict.innermost_value()
    if strict is None:
        strict = _is_strict_by_environment() if _strict_process is None else _strict_process
    if strict:
        raise_pending_errors()


def raise_pending_errors() -> None:
    """Raise IndexError for what kernels have found since somebody last looked; then it is gone.

    Call it where the host has waited for the current stream, or may. Records of other streams are
    looked at once nothing is under way there, those of graphs each time. Costs nothing without a
    launch.
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
    """Return a new number that stands for one launch of the operation `name`."""
    if name not in _names:
        _names.append(name)
    return next(_serials) << _BITS | _names.index(name)


def _position_out_of_bounds(record: Any) -> tuple[int, int] | None:
    """Return a position outside, and the size of its dimension; None if none has been told yet."""
    for lowest, highest, size in zip(record.lowest, record.highest, record.size, strict=True):
        if lowest <= highest:
            return (lowest if lowest < -size else highest), size
    return None
