"""Threads for large calls: NumPy releases the interpreter lock while it works on elements.

The calling thread takes part in the work and can do all of it. Helpers that are busy, not yet
awake, or cannot be started (an interpreter that is shutting down) cost speed and nothing else.

When a call has ended, by whatever exception, no helper writes any more, and none will: a helper
writes only while it holds the *seat* of its invitation, a lock, and the caller ends by taking all
seats, for good. So a helper that has begun is waited for, and one that has not begun never will.
The caller takes no other lock: a finalizer may begin another call in the middle of one.

A child of a fork has no helpers: it begins with a pool of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from operator import index
from pathlib import Path
from queue import SimpleQueue
from typing import Any, SupportsIndex, TypeVar

from tensorlayout.errors import short_repr
from tensorlayout.support.forks import call_in_forked_children

Piece = TypeVar("Piece")

# A guess, not a measurement (the machine at hand has two cores): copies are limited by memory,
# and threads that hand the interpreter lock round stop paying somewhere near this number.
MOST_THREADS = 8

VARIABLE = "TENSORLAYOUT_THREADS"


def _threads_from_environment() -> int:
    """Return the number of threads set by the environment variable; 0 if it is not set."""
    text = os.environ.get(VARIABLE, "").strip()
    if text and not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(f"{VARIABLE} must be a whole number from 1 on, got {short_repr(text)}")
    return int(text or 0)


# Number of threads set by the variable, which overrides the processor count; 0 if it is not set.
_forced = _threads_from_environment()


def _omp_threads_from_environment() -> int:
    """Return the first number of `OMP_NUM_THREADS`; Dask, Ray and joblib set it to 1 in workers."""
    text = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return max(1, int(text)) if text.isascii() and text.isdigit() else MOST_THREADS


_limits = {"OpenMP": _omp_threads_from_environment(), "set_num_threads": sys.maxsize}


def get_num_threads() -> int:
    """Return the number of threads that a large CPU call from this thread may use.

    Returns the value of the variable ``TENSORLAYOUT_THREADS`` if it is set. Otherwise the number is
    the smallest of: the processors that this thread may run on, the limit of the control group,
    ``OMP_NUM_THREADS``, and 8. In both cases, it is at most the limit of `set_num_threads`.

    >>> import tensorlayout as tl
    >>> tl.get_num_threads() >= 1
    True
    """
    if getattr(_own, "serves", False):  # our workers start no further threads
        return 1
    return min(available_threads(), _limits["set_num_threads"])


def set_num_threads(count: SupportsIndex | None) -> None:
    """Limit the number of threads per CPU call to `count`, including the calling thread.

    `count`: an integer of at least 1; None removes the limit.

    Raises `ValueError` if `count` is less than 1; `TypeError` if it is not an integer or None.

    The limit applies to the whole process from the next call on. It can only lower the number of
    threads that `get_num_threads` returns without it. ``threadpoolctl.threadpool_limits`` sets it
    for a block, if threadpoolctl is imported before tensorlayout or before its first large call.

    >>> import tensorlayout as tl
    >>> tl.set_num_threads(1)
    >>> tl.get_num_threads()
    1
    >>> tl.set_num_threads(None)
    """
    try:
        most = sys.maxsize if count is None else index(count)
    except TypeError:
        msg = f"set_num_threads: count must be an integer or None, got {short_repr(count)}"
        raise TypeError(msg) from None
    if most < 1:
        raise ValueError(f"set_num_threads: count must be at least 1, got {short_repr(count)}")
    _limits["set_num_threads"] = most


def available_threads() -> int:
    """Return the number of threads without the limit of `set_num_threads`, for cached plans."""
    if _forced:
        return _forced
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        processors = os.process_cpu_count()
    else:
        processors = len(_allowed_processors()) or os.cpu_count()
    return max(1, min(processors or 1, _cgroup_processor_limit(), MOST_THREADS, _limits["OpenMP"]))


@functools.cache
def _cgroup_processor_limit() -> int:
    """Return the CPU quota of this process's control group in processors, rounded up."""
    least = MOST_THREADS
    for quota_file, period_file in _QUOTAS.items():
        try:
            words = Path(quota_file).read_text("ascii").split()
            words += Path(period_file).read_text("ascii").split() if period_file else []
            quota, period_us = int(words[0]), int(words[1])  # ValueError for "max": no limit
        except (OSError, ValueError, IndexError):
            continue
        if quota > 0 < period_us:
            least = min(least, -(-quota // period_us))
    return max(1, least)


# Files with the CPU quota in microseconds, and with its period ("": in the same file), for versions
# 2 and 1 of control groups.
_QUOTAS = {
    "/sys/fs/cgroup/cpu.max": "",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
}

_own = threading.local()  # attribute `serves`: True in threads of our pool


def run_in_threads(
    work: Callable[[Iterator[Piece]], None], pieces: Iterable[Piece], threads: int
) -> None:
    """Call `work` in this thread and in up to ``threads - 1`` others, and wait for all of them.

    Each call takes pieces from its iterator until none are left or a call raises; the first
    exception is raised here.
    """
    if threads > 1:
        threads = min(threads, get_num_threads())
    todo = deque(pieces) if threads > 1 else deque()
    if len(todo) < 2:
        work(iter(todo or pieces))
        return
    call = _SharedCall(work, todo, min(threads, len(todo)) - 1)
    try:
        try:
            _invite_helpers(call)
            work(call.take_pieces())
        finally:
            call.drop_pieces_and_wait()
    finally:  # an interrupt may arrive before the inner `finally` has begun
        call.drop_pieces_and_wait()
    if call.errors:
        raise call.errors[0]


class _SharedCall:
    """State of one call: the pieces that are left, and a lock ("seat") for each helper."""

    def __init__(self, work: Callable[[Any], None], todo: deque[Any], helpers: int) -> None:
        self.work: Any = work  # None when the call has ended
        self.pending_pieces = todo
        # Reentrant, because `finish` starts again after an interrupt.
        self.helper_locks = [threading.RLock() for _ in range(helpers)]
        self.errors: list[BaseException] = []
        self.allowed_processors, self.caller_processor = _allowed_processors(), _current_processor()

    def take_pieces(self) -> Iterator[Any]:
        """Yield the pieces of one thread."""
        todo = self.pending_pieces
        while todo:
            try:
                piece = todo.popleft()
            except IndexError:  # another thread took the last one
                return
            yield piece

    def run_as_helper(self, seat: threading.RLock) -> None:
        """Work on pieces of the call, unless it has ended; collect errors."""
        if not seat.acquire(blocking=False):
            return
        try:
            self.work(self.take_pieces())
        except BaseException as error:
            self.errors.append(error)
            self.pending_pieces.clear()
        finally:
            seat.release()

    def drop_pieces_and_wait(self) -> None:
        """Drop all pieces and wait for the helpers, even if interrupts arrive meanwhile."""
        self.pending_pieces.clear()
        try:
            for seat in self.helper_locks:
                seat.acquire()
        except BaseException:
            self.drop_pieces_and_wait()
            raise
        self.work = None  # free its arrays: invitations may still wait in the queue


# The pool. Its threads are daemons, which is safe: they write nothing while they wait.
_invitations: SimpleQueue[tuple[_SharedCall, threading.RLock]] = SimpleQueue()
_helpers: list[threading.Thread] = []


def _reset_helpers_after_fork() -> None:
    """Reset the pool in a forked child, which does not inherit threads."""
    global _invitations
    _invitations = SimpleQueue()
    _helpers.clear()


call_in_forked_children(_reset_helpers_after_fork)


def _invite_helpers(call: _SharedCall) -> None:
    """Invite one helper per seat; start missing threads if possible."""
    with contextlib.suppress(RuntimeError):  # shutting down, or a platform without threads
        while len(_helpers) < len(call.helper_locks):
            _register_with_threadpoolctl()
            thread_arguments = _invitations, call.allowed_processors
            thread = threading.Thread(
                target=_helper_loop, args=thread_arguments, name="tensorlayout", daemon=True
            )
            thread.start()
            _helpers.append(thread)
    if _helpers:
        for seat in call.helper_locks:
            _invitations.put((call, seat))


def _helper_loop(
    invitations: SimpleQueue[tuple[_SharedCall, threading.RLock]], processors: set[int]
) -> None:
    """Serve invitations forever, in a thread that may run on `processors`."""
    _own.serves = True
    while True:
        call, seat = invitations.get()
        processors = _move_helper_off_caller(call, processors)
        if processors <= call.allowed_processors:
            call.run_as_helper(seat)
        del call  # free its arrays while this thread waits


def _move_helper_off_caller(call: _SharedCall, last_allowed_processors: set[int]) -> set[int]:
    """Move this helper to another processor than its caller's; return the caller's processors.

    Linux often wakes a helper on its caller's processor although another one is idle, and keeps
    both there for milliseconds. A copy of 330 us then takes 358 us with two threads, and 196 on two
    processors (Linux 6, virtual machine). The mask stays set, so a helper usually moves only once.
    """
    if (
        _current_processor() == call.caller_processor >= 0
        or last_allowed_processors != call.allowed_processors
    ) and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):  # the set of processors may have changed
            os.sched_setaffinity(0, call.allowed_processors - {call.caller_processor})
            return call.allowed_processors
    return last_allowed_processors


def _allowed_processors() -> set[int]:
    """Return the processors that this thread may run on; an empty set if unknown."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _current_processor() -> int:
    """Return the number of the current processor; -1 if unknown."""
    return -1


if sys.platform == "linux":
    with contextlib.suppress(AttributeError, OSError):  # a C library without it
        _current_processor = ctypes.PyDLL(None).sched_getcpu


_registrations: list[str] = []


def _register_with_threadpoolctl() -> None:
    """Register our thread pool with threadpoolctl once, if that is imported."""
    threadpoolctl = sys.modules.get("threadpoolctl")
    if _registrations or not hasattr(threadpoolctl, "register"):
        return
    _registrations.append("threadpoolctl")

    class Controller(threadpoolctl.LibController):  # type: ignore[name-defined, misc]
        """Controller for our thread pool."""

        user_api = internal_api = "tensorlayout"
        # threadpoolctl finds pools by their shared library. We have none, but NumPy's is loaded.
        filename_prefixes = ("_multiarray_umath",)

        def get_num_threads(self) -> int:
            return get_num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            set_num_threads(num_threads)

        def get_version(self) -> None:
            """Return None: the library is NumPy's, so its version says nothing about us."""

    threadpoolctl.register(Controller)  # type: ignore[union-attr]


_register_with_threadpoolctl()
