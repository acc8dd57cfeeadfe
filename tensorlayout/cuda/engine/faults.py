"""Positions out of bounds in kernels: the IndexError is raised at the next call that waits.

A launch does not wait, so a kernel leaves a record in device memory (``faults.cuh``), and reads 0
or writes nothing at such a position. `raise_pending_errors` checks the records wherever the host
waits anyway, and when a tensor is passed to another library or device; with `strict_indexing`,
after each launch. Each stream has its own record, which is checked when its launches have finished;
all graphs of a device share one.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

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
from tensorlayout.errors import check_flag, keep_operation_name, prefix_operation_name, short_repr
from tensorlayout.support.context_blocks import Scope, ScopeContext
from tensorlayout.support.forks import fork_safe_lock
from tensorlayout.support.interning import memoize

VARIABLE = "TENSORLAYOUT_STRICT_INDEXING"

# Most tensors of positions of a launch.
MAX_POSITIONS = constant_value("include/faults.cuh", "MAX_POSITIONS")

_LEAST, _MOST = -(2**63), 2**63 - 1

_Record = struct_type("include/faults.cuh", "Faults")

# The empty record: each minimum is the greatest number and each maximum the least one, so that
# kernels only take atomic minima and maxima.
_NOTHING = np.frombuffer(
    bytes(_Record(0, (_MOST,) * MAX_POSITIONS, (_LEAST,) * MAX_POSITIONS)), np.uint8
)

# ---- Strictness

_strict: Scope[bool] = Scope("strict")
_strict_process: bool | None = None


def set_strict_indexing(strict: bool | None) -> None:
    """Set whether reads and writes at positions on CUDA wait and raise immediately, in all threads.

    `strict`: None restores the setting of ``TENSORLAYOUT_STRICT_INDEXING`` (0 or 1; default 0).
    `strict_indexing` blocks keep their own setting.
    """
    global _strict_process
    if strict is not None:
        check_flag("set_strict_indexing", "strict", strict)
    _strict_process = strict


def strict_indexing(strict: bool = True) -> ScopeContext[bool, None]:
    """Raise CUDA's index errors at once inside the block, by waiting after each call.

    >>> import tensorlayout as tl
    >>> with tl.cuda.strict_indexing():
    ...     pass
    """
    return _strict.scope_with_target(check_flag("strict_indexing", "strict", strict), None)


@functools.cache
def _is_strict_by_environment() -> bool:
    value = os.environ.get(VARIABLE, "0")
    if value not in ("", "0", "1"):
        raise ValueError(f"cuda: {VARIABLE} must be 0 or 1, got {short_repr(value)}")
    return value == "1"


def is_strict() -> bool:
    """Return whether calls in this thread wait and raise at once."""
    strict = _strict.innermost_value() if _strict.open_entries else None
    if strict is None:
        strict = _is_strict_by_environment() if _strict_process is None else _strict_process
    return strict


@memoize
def checks_in_turn() -> AbstractContextManager[Any]:
    """Return the lock under which records are read, and strict calls launch and read theirs.

    No other thread can take the error of a strict call. The lock is made when it is first needed,
    later than those for launches, which are taken while it is held.
    """
    return fork_safe_lock()


# ---- Records

_serials = itertools.count(1)


class FaultRecord:
    """Record of launches on one stream, or of launches in graphs, which run on any stream."""

    def __init__(self, gpu: Driver, device: int, key: int | None) -> None:
        self._buffer: Buffer = gpu.allocate(_NOTHING.size, device)
        self.pointer = self._buffer.pointer
        self._device = device
        self.key = key  # key of the stream; None for graphs
        # A test whether the launches since the last check have finished; a new list per launch.
        self.unseen: list[Callable[[], bool]] = []
        with gpu.using_device(device):
            gpu.copy_to_device(self.pointer, _NOTHING)

    def take_error(self, gpu: Driver) -> IndexError | None:
        """Return the error recorded since the last check, and clear the record; None without one.

        Unfinished launches on another stream than the current one are left for a later check.
        """
        unseen, key = self.unseen, self.key
        is_over = next(iter(unseen), None)
        if is_over is None or gpu.is_capturing(self._device):
            return None
        ordered = key is None or key == _stream_key(gpu.current_stream(self._device))
        if not ordered and not is_over():
            return None
        content = np.empty(_NOTHING.size, np.uint8)
        with checks_in_turn(), gpu.using_device(self._device):
            gpu.copy_to_host(content, self.pointer)
            record = _Record.from_buffer_copy(content.tobytes())
            outside = _position_out_of_bounds(record)
            if key is not None:
                unseen.clear()  # not `self.unseen`, which a later launch may have replaced
            elif outside is None:  # a running graph may not have written the whole record yet
                return None
            if not record.owner:
                return None
            gpu.copy_to_device(self.pointer, _NOTHING)
            gpu.synchronize()  # the record must be clear before a kernel on another stream uses it
        name = _names[record.owner & (1 << _BITS) - 1]
        assert outside is not None, f"the record of {name} is empty"
        position, size = outside
        error = prefix_operation_name(
            name, IndexError(f"index {position} is out of bounds for size {size}")
        )
        # An earlier call has caused the error, not the one that waits.
        return keep_operation_name(error)


class _ThreadNumber(threading.local):
    """A number that no other thread ever has."""

    def __init__(self) -> None:
        self.number = next(_serials)


_thread = _ThreadNumber()


def _stream_key(stream: Stream) -> int:
    """Return a key of a stream on its device, also for per-thread default streams."""
    number = stream.number
    return -_thread.number if number == PER_THREAD_STREAM else number


class DeviceFaultRecords:
    """Records of one device by the keys of streams; the key of graphs is None."""

    def __init__(self, gpu: Driver, number: int) -> None:
        self._number = number
        # Created now, because memory for it cannot be initialised while a graph is captured.
        self.by_stream: dict[int | None, FaultRecord] = {None: FaultRecord(gpu, number, None)}
        with gpu.using_device(number):
            gpu.synchronize()  # its initial content must be visible to all streams

    def record_of_current_stream(self, gpu: Driver) -> tuple[FaultRecord, Stream]:
        """Return the record for kernels on the current stream, and the stream."""
        stream = gpu.current_stream(self._number)
        key: int | None = LEGACY_STREAM
        if stream.number != LEGACY_STREAM:
            key = None if gpu.is_capturing(self._number) else _stream_key(stream)
        report = self.by_stream.get(key)
        if report is None:
            report = self.by_stream.setdefault(key, FaultRecord(gpu, self._number, key))
        return report, stream


def fault_records(device: int) -> DeviceFaultRecords:
    """Return the records of a device; they live as long as its driver."""
    gpu = driver()
    records: DeviceFaultRecords | None = gpu.fault_records.get(device)
    if records is None:
        records = gpu.fault_records.setdefault(device, DeviceFaultRecords(gpu, device))
    return records


def note_launches(gpu: Driver, record: FaultRecord, stream: Stream) -> None:
    """Mark a record as used by launches, for the next check."""
    # When a graph runs is unknown, so its launches never count as finished: bool() is False.
    record.unseen = [bool] if record.key is None else [gpu.completion_test(stream)]


def raise_pending_errors() -> None:
    """Raise IndexError for a position out of bounds since the last check, and clear the record.

    Call this after the host has waited for the current stream, or where it may wait. Records of
    other streams are checked when their launches have finished, those of graphs each time. Without
    launches, the check costs nothing.
    """
    gpu = driver()
    for device in tuple(gpu.fault_records.values()):
        for record in tuple(device.by_stream.values()):
            error = record.take_error(gpu)
            if error is not None:
                raise error


_names: list[str] = []
_BITS = 16  # low bits of a launch number, with the index of a name; a serial number is above


def new_launch_number(name: str) -> int:
    """Return a new number for a planned launch, from which `take_error` finds `name`."""
    if name not in _names:
        _names.append(name)
    # With the serial number, planned launches of one name are different owners of a record, so that
    # it never mixes positions in dimensions of different sizes.
    return next(_serials) << _BITS | _names.index(name)


def _position_out_of_bounds(record: Any) -> tuple[int, int] | None:
    """Return a position out of bounds, and the size of its dimension; None if none is recorded."""
    for lowest, highest, size in zip(record.lowest, record.highest, record.size, strict=True):
        if lowest <= highest:
            return (lowest if lowest < -size else highest), size
    return None
