"""Locks and callbacks for ``os.fork``, which Windows lacks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


def fork_safe_lock() -> AbstractContextManager[Any]:
    """Return a reentrant lock that no other thread holds while the process forks.

    It is reentrant for finalizers and signal handlers in the thread that holds it. A thread that
    needs several must take those created later first, because a fork does so, too.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock


def call_in_forked_children(function: Callable[[], None]) -> None:
    """Call a function in each child that this process forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
