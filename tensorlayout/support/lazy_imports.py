"""Modules of this package that are imported at first use, or after a library that they serve."""

import functools
import importlib
import os
import sys
import threading
import warnings
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


def follow(library: str, module: str) -> None:
    """Call ``register()`` of a module of this package once a library is imported: now, or then."""
    if library in sys.modules:
        _register(library, module)
    else:
        sys.meta_path.insert(0, _Follower(library, module))


def _register(library: str, module: str) -> None:
    """Call `register`; warn of a library, such as an old one, that lacks what it needs."""
    try:
        importlib.import_module(module).register()
    except (ImportError, AttributeError) as error:
        text = f"{module} does not fit the {library} that is installed: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


class _Follower:
    """A finder that finds no module of its own: it waits for one, and leaves."""

    def __init__(self, library: str, module: str) -> None:
        self._library, self._module = library, module

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find the library as the other finders do, and let the module follow it."""
        if name != self._library or self not in sys.meta_path:
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_both(module: Any) -> None:
            execute(module)
            if module.__name__ == self._library:
                _register(self._library, self._module)

        spec.loader.exec_module = execute_both  # type: ignore[method-assign]
        return spec
