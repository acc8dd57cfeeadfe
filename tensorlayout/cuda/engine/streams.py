"""Streams of other libraries, numbered as the array API standard numbers them.

The host does not wait: one stream is made to wait for another, by an event. But after a read or a
write at positions it does, once, so that a position outside is told to whom it concerns. Ours is
the current stream of the device, of this thread: an exchange puts it in order with the other
library's. CUDA refuses that while one of the two captures a graph of which the other is no part.
When memory is let go of, nobody waits: a consumer on another stream than ours has to have finished
by then.
"""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda.engine import faults
from tensorlayout.cuda.engine.driver import LEGACY_STREAM, PER_THREAD_STREAM, Stream, driver
from tensorlayout.devices import Device
from tensorlayout.errors import kind_of, named, shown
from tensorlayout.tensor import Tensor

# "Producer must not perform any synchronization."
NO_WAIT = -1


def current_stream(device: Device) -> int:
    """Return the number of our stream on a device."""
    return driver().current_stream(device.number).number


def exported_stream(x: Tensor) -> int:
    """Return the number of our stream for those who will wait for it, and keep it with `x`."""
    faults.check()
    stream = driver().current_stream(x.device.number)
    if stream.number > PER_THREAD_STREAM and x._home is not None:
        x._home[0].keep(stream)
    return stream.number


def ready(name: str, stream: Any, device: Device) -> None:
    """Make work on `stream` wait for what our stream of `device` holds.

    None or 1: the legacy default stream; 2: the per-thread default stream; above: the address of a
    stream; -1: the caller sees to it. `name` is for errors.
    """
    _check(name, stream, "-1, 1, 2", NO_WAIT)
    faults.check()
    if stream != NO_WAIT:
        ours = driver().current_stream(device.number)
        theirs = LEGACY_STREAM if stream is None else stream
        driver().order(ours, Stream(device.number, theirs))


def wait_for(name: str, stream: Any, device: Device) -> None:
    """Make our stream of `device` wait for `stream`, another library's; None: for nothing."""
    _check(name, stream, "1, 2", 1)
    if stream is not None:
        driver().order(Stream(device.number, stream), driver().current_stream(device.number))


def _check(name: str, stream: Any, words: str, least: int) -> None:
    if stream is None:
        return
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise named(name, TypeError(f"stream must be an integer or None, got a {kind_of(stream)}"))
    if stream < least or stream == 0:
        hint = "; 0 could mean several streams: 1 is the legacy default" if stream == 0 else ""
        msg = f"stream must be {words} or the address of a stream, got {shown(stream)}{hint}"
        raise named(name, ValueError(msg))
