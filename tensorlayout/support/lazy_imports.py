"""Lazy imports of modules: at first use, or after a library that they support."""

import functools
import importlib
import sys
import warnings
from typing import Any

from tensorlayout.support.forks import fork_safe_lock

# A fork waits for lazy imports: one that another thread has begun would never end in the child.
_import_lock = fork_safe_lock()


@functools.cache
def import_lazily(module_name: str) -> Any:
    """Return a module by its dotted name.

    The lock is taken only on the first call: an interrupt could leave it locked.
    """
    with _import_lock:
        return importlib.import_module(module_name)


def call_register_after_import(library_name: str, module_name: str) -> None:
    """Call ``register()`` of a module of this package after a library's import, past or future."""
    if library_name in sys.modules:
        _register_integration(library_name, module_name)
    else:
        sys.meta_path.insert(0, _PostImportHook(library_name, module_name))


def _register_integration(library_name: str, module_name: str) -> None:
    """Call `register`; warn if the library lacks something, for example because it is old."""
    try:
        importlib.import_module(module_name).register()
    except (ImportError, AttributeError) as error:
        text = f"{module_name} does not fit the {library_name} that is installed: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


class _PostImportHook:
    """Import finder that finds no module itself; it removes itself once the library is imported."""

    def __init__(self, library_name: str, module_name: str) -> None:
        self._library_name, self._module_name = library_name, module_name

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find the library with the other finders, and register after its execution."""
        if name != self._library_name or self not in sys.meta_path:
            return None
        from importlib.util import find_spec

        # Removed first, so that find_spec below does not call this finder again.
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute_module = spec.loader.exec_module

        def execute_and_register(module: Any) -> None:
            execute_module(module)
            # A loader may serve several modules, as zipimport's does for all of an archive.
            if module.__name__ == self._library_name:
                _register_integration(self._library_name, self._module_name)

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
