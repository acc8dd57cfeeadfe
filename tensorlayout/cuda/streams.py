"""Streams of other libraries, numbered as the array API standard numbers them."""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda import faults
from tensorlayout.cuda.driver import driver

# "Producer must not perform any synchronization."
NO_WAIT = -1


def ready(name: str, stream: Any) -> None:
    """See to it that work on `stream` finds all that this thread has enqueued before done.

    None or 1: the legacy default stream; 2: the per-thread default stream; above: the address of a
    stream; -1: the caller sees to it. The host waits, whichever stream it is: that is right for
    all. `name` is for errors: TypeError for what is no integer, ValueError for 0 and below -1.
    """
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int)):
        msg = f"{name}: stream must be an integer or None, got a {type(stream).__name__}"
        raise TypeError(msg)
    if stream is not None and (stream < NO_WAIT or stream == 0):
        hint = "; 0 could mean several streams: 1 is the legacy default" if stream == 0 else ""
        msg = f"{name}: stream must be -1, 1, 2 or the address of a stream, got {stream}{hint}"
        raise ValueError(msg)
    if stream != NO_WAIT:
        driver().synchronize()
        faults.check()
