"""Modules of this package that are imported at first use, or after a library that they serve."""

import functools
import importlib
import os
import sys
import threading
import warnings
from typing import Any

# A fork waits for imports: in the child, one that another thread has begun would never end.
_import_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_import_lock.acquire,
        after_in_parent=_import_lock.release,
        after_in_child=_import_lock.release,
    )


@functools.cache
def import_lazily(module_name: str) -> Any:
    """Return the module of a dotted name; later ``import`` statements need not wait.

    The lock is taken the first time only, for an interrupt might leave it taken.
    """
    with _import_lock:
        return importlib.import_module(module_name)


def call_on_import(library_name: str, module_name: str) -> None:
    """Call ``register()`` of a module of this package once a library is imported: now, or then."""
    if library_name in sys.modules:
        _register_integration(library_name, module_name)
    else:
        sys.meta_path.insert(0, _PostImportHook(library_name, module_name))


def _register_integration(library_name: str, module_name: str) -> None:
    """Register an integration module; warn if the installed library lacks what it needs."""
    try:
        importlib.import_module(module_name).register()
    except (ImportError, AttributeError) as error:
        text = f"{module_name} does not fit the {library_name} that is installed: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


class _PostImportHook:
    """A finder that finds no module of its own: it waits for one, and leaves."""

    def __init__(self, library_name: str, module_name: str) -> None:
        self._library_name, self._module_name = library_name, module_name

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find the library as the other finders do, and let the module follow it."""
        if name != self._library_name or self not in sys.meta_path:
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute_module = spec.loader.exec_module

        def execute_and_register(module: Any) -> None:
            execute_module(module)
            if module.__name__ == self._library_name:
                _register_integration(self._library_name, self._module_name)

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
