"""Positions outside a dimension, found by kernels: the IndexError comes at the next waiting call.

A launch does not wait, so a kernel leaves a record in device memory (``kernels/faults.cuh``), reads
0 and writes nothing at such a position. `check` looks at the record wherever the host waits anyway,
when a tensor is read to the host; and when one is given to another library or device. Strictly, it
looks right after the launch, which then waits: see `strict_indexing`.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
from weakref import WeakKeyDictionary

import numpy as np

from tensorlayout.cuda.driver import Buffer, Driver, driver
from tensorlayout.cuda.ranges import lock_kept_over_forks
from tensorlayout.scopes import Block, Scope
from tensorlayout.words import shown

VARIABLE = "TENSORLAYOUT_STRICT_INDEXING"

# Tensors of positions that a launch takes, as in kernels/faults.cuh.
MAX_POSITIONS = 4

_LEAST, _MOST = -(2**63), 2**63 - 1


class _Record(ctypes.Structure):
    """``Faults`` of kernels/faults.cuh."""

    _fields_ = (
        ("owner", ctypes.c_uint64),
        ("lowest", ctypes.c_int64 * MAX_POSITIONS),
        ("highest", ctypes.c_int64 * MAX_POSITIONS),
        ("size", ctypes.c_int64 * MAX_POSITIONS),
    )


_NOTHING = np.frombuffer(
    bytes(_Record(0, (_MOST,) * MAX_POSITIONS, (_LEAST,) * MAX_POSITIONS)), np.uint8
)

# ---- Strictness

_strict: Scope[bool] = Scope("strict")
_strict_process: bool | None = None


def set_strict_indexing(strict: bool | None) -> None:
    """Whether reads and writes at positions on CUDA wait and raise at once, in all threads.

    None: as ``TENSORLAYOUT_STRICT_INDEXING`` says (1 or 0; without it, they do not wait). A
    `strict_indexing` block keeps its own.
    """
    global _strict_process
    _strict_process = strict


def strict_indexing(strict: bool = True) -> Block[bool, None]:
    """Wait after each read or write at positions on CUDA, and raise at once, inside the block.

    >>> with strict_indexing():
    ...     pass
    """
    return _strict.giving(strict, None)


@functools.cache
def _strict_by_the_variable() -> bool:
    value = os.environ.get(VARIABLE, "0")
    if value not in ("", "0", "1"):
        msg = f"cuda: {VARIABLE} must be 0 or 1, got {shown(value)}"
        raise ValueError(msg)
    return value == "1"


def _is_strict() -> bool:
    for found in (_strict.get(), _strict_process):
        if found is not None:
            return found
    return _strict_by_the_variable()


# ---- Records


class _Seen(threading.local):
    """How many launches there had been when this thread last looked."""

    launches = 0


class _Device:
    """The record of one device."""

    def __init__(self, gpu: Driver, number: int) -> None:
        self.number = number
        self.launches = 0  # that may have left something
        self.seen = _Seen()
        self.buffer: Buffer = gpu.allocate(_NOTHING.size, number)
        self.clear(gpu)

    def clear(self, gpu: Driver) -> None:
        """Empty it, before any stream goes on."""
        with gpu.using(self.number):
            gpu.to_device(self.buffer.pointer, _NOTHING)
            gpu.synchronize()

    def take(self, gpu: Driver) -> _Record | None:
        """What was left since this thread last looked; it is then forgotten."""
        if self.seen.launches == self.launches:
            return None
        launches = self.launches
        found = np.empty(_NOTHING.size, np.uint8)
        with gpu.using(self.number):
            gpu.to_host(found, self.buffer.pointer)
        self.seen.launches = launches
        record = _Record.from_buffer_copy(found.tobytes())
        if not record.owner:
            return None
        self.clear(gpu)
        return record


_devices: WeakKeyDictionary[Driver, dict[int, _Device]] = WeakKeyDictionary()
_making = lock_kept_over_forks()


def _device(number: int) -> _Device:
    gpu = driver()
    found = _devices.get(gpu, {}).get(number)
    if found is None:
        with _making:
            devices = _devices.setdefault(gpu, {})
            found = devices.get(number) or devices.setdefault(number, _Device(gpu, number))
    return found


def address(device: int) -> int:
    """Where kernels on a device leave what they found."""
    return _device(device).buffer.pointer


_serials = itertools.count(1)
_names: dict[str, int] = {}
_BITS = 16  # of a number of a name; above, the serial number of a launch's plan


def owner_of(name: str) -> int:
    """What stands for one launch of the operation `name`, another one each time it is asked for."""
    with _making:
        number = _names.setdefault(name, len(_names))
    return next(_serials) << _BITS | number


def launched(device: int) -> None:
    """To be called after a launch that may have found a position outside."""
    _device(device).launches += 1
    if _is_strict():
        check()


def check() -> None:
    """Raise IndexError for what kernels have found since this thread last looked; then it is gone.

    To be called where the host has waited for their stream. Costs nothing, if there was no launch.
    """
    gpu = driver()
    for device in tuple(_devices.get(gpu, {}).values()):
        record = device.take(gpu)
        if record is not None:
            raise _error(record)


def _error(record: _Record) -> IndexError:
    name = list(_names)[record.owner & (1 << _BITS) - 1]
    for lowest, highest, size in zip(record.lowest, record.highest, record.size, strict=True):
        if lowest <= highest:
            bad = lowest if lowest < -size else highest
            return IndexError(f"{name}: index {bad} is outside a dimension of size {size}")
    msg = f"the record of {name} is empty"
    raise AssertionError(msg)
