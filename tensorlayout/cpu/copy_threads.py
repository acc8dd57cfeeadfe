"""Threads for large copies: numpy releases the interpreter lock while it moves elements.

One pool for the process, made when a copy first asks for it. A copy never depends on the pool:
the calling thread takes part in the work and can do all of it, so a pool that is busy, not yet
awake, or gone (an interpreter that is shutting down) costs speed and nothing else.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # imported with the pool: it costs a sixth of NumPy's own import
    from concurrent.futures import Future, ThreadPoolExecutor

Piece = TypeVar("Piece")

# A guess, not a measurement (the machine at hand has two cores): copies are limited by memory,
# and threads that hand the interpreter lock round stop paying somewhere near this number.
MOST_THREADS = 8

_processors: set[int] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def available_threads() -> int:
    """How many threads a copy may use: the processors this process may run on, at most 8."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        processors = os.process_cpu_count()
    elif hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count()
    return max(1, min(processors or 1, MOST_THREADS))


def share(work: Callable[[], None], threads: int) -> None:
    """Call `work` in this thread and in up to ``threads - 1`` others, and wait for all of them.

    The calls divide the work among themselves, by taking pieces from a common iterator until
    none is left. A helper that has not begun when this thread runs out of pieces is called off.
    """
    here = _processor()

    def help_out() -> None:
        _leave(here)
        work()

    helpers = _start(help_out, threads - 1)
    try:
        work()
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]
        # All must have ended before the caller may touch the memory, whatever went wrong.
        errors = [helper.exception() for helper in begun]
    for error in errors:
        if error is not None:
            raise error


def share_pieces(pieces: Iterator[Piece], move: Callable[[Piece], None], threads: int) -> None:
    """Call `move` with each piece once, in this thread and in up to ``threads - 1`` others."""
    if threads == 1:
        for piece in pieces:
            move(piece)
        return
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                piece = next(pieces, None)
            if piece is None:
                return
            move(piece)

    share(work, threads)


def _processor() -> int:
    """The number of the processor that this thread runs on, or -1 where nobody tells."""
    return -1


if sys.platform == "linux":
    with contextlib.suppress(AttributeError, OSError):  # a C library without it
        _processor = ctypes.PyDLL(None).sched_getcpu


def _leave(processor: int) -> None:
    """Move this helper to another processor than the one of the thread that it helps.

    Linux often wakes a helper where its caller runs although another processor is idle, keeps
    both there until the next balancing (milliseconds later), and does so copy after copy. Two
    threads, a copy of 330 us: 358 us then, 196 on two processors (2026-11-21, Linux 6 on a
    virtual machine with two cores). The mask stays set, so a helper moves once, not each time.
    """
    if processor >= 0 and _processor() == processor:
        with contextlib.suppress(OSError):  # that one only, or processors came and went
            os.sched_setaffinity(0, _processors - {processor})


def _start(work: Callable[[], None], count: int) -> list[Future[None]]:
    helpers: list[Future[None]] = []
    try:
        pool = _the_pool()
        for _ in range(count):
            helpers.append(pool.submit(work))
    except RuntimeError:  # no new threads: shutting down, or a platform without them
        pass
    return helpers


def _the_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            from concurrent.futures import ThreadPoolExecutor

            size = max(1, available_threads() - 1)
            _pool = ThreadPoolExecutor(size, thread_name_prefix="tensorlayout-copy")
        return _pool


def _forget_pool() -> None:
    """In a forked child: the threads did not come along, and the lock may have been held."""
    global _lock, _pool
    _lock = threading.Lock()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
