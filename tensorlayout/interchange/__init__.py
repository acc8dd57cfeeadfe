"""Protocols of other array libraries: NumPy's, and registrations with Dask and autoray.

Above `functions`, which it calls for NumPy; only the package imports it. The implementation of a
protocol is imported at its first use, and a registration after the library's import.
"""

from __future__ import annotations

from typing import Any

from tensorlayout.support.lazy_imports import call_register_after_import, import_lazily
from tensorlayout.tensor import Tensor


def _add_numpy_protocol(name: str, module: str, function: str) -> None:
    """Add a protocol method of NumPy to `Tensor`."""

    def install_then_call(self: Tensor, *args: Any, **options: Any) -> Any:
        implementation = getattr(import_lazily(f"tensorlayout.interchange.{module}"), function)
        # Python finds special methods in the class, so this one replaces itself there.
        setattr(Tensor, name, implementation)
        return implementation(self, *args, **options)

    install_then_call.__name__, install_then_call.__qualname__ = name, f"Tensor.{name}"
    setattr(Tensor, name, install_then_call)


def register_protocols() -> None:
    """Add NumPy's protocols to `Tensor`, and register tensors with other libraries."""
    _add_numpy_protocol("__array_ufunc__", "numpy_ufuncs", "apply_ufunc")
    _add_numpy_protocol("__array_function__", "numpy_functions", "apply_function")
    call_register_after_import("dask.array", "tensorlayout.interchange.dask")
    call_register_after_import("autoray", "tensorlayout.interchange.autoray")
