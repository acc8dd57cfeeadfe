"""Modules of this package that are imported at first use."""

import functools
import importlib
import os
import threading
from typing import Any

# A fork waits for imports: in the child, one that another thread has begun would never end.
_importing = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_importing.acquire,
        after_in_parent=_importing.release,
        after_in_child=_importing.release,
    )


@functools.cache
def loaded(name: str) -> Any:
    """The module of a dotted name; after it, an ``import`` of the module has nothing to wait for.

    The lock is taken the first time only, for an interrupt might leave it taken.
    """
    with _importing:
        return importlib.import_module(name)
