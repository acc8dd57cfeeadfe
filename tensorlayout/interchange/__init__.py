"""Arrays of other libraries: NumPy's protocols, Dask's and autoray's registrations.

Above `functions`, whose functions NumPy's call; only the package imports it. What carries out a
protocol is imported at its first use, what a library asks for when that library is imported, too.
"""

from __future__ import annotations

from typing import Any

from tensorlayout.support.lazy_imports import call_on_import, import_lazily
from tensorlayout.tensor import Tensor


def _add_numpy_protocol(name: str, module: str, function: str) -> None:
    """Give `Tensor` a protocol of NumPy's."""

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        implementation = getattr(import_lazily(f"tensorlayout.interchange.{module}"), function)
        setattr(Tensor, name, implementation)
        return implementation(self, *args, **options)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    setattr(Tensor, name, method)


def register_protocols() -> None:
    """Give `Tensor` NumPy's protocols, and tensors to the libraries that want to know of them."""
    _add_numpy_protocol("__array_ufunc__", "numpy_ufuncs", "apply_ufunc")
    _add_numpy_protocol("__array_function__", "numpy_functions", "apply_function")
    call_on_import("dask.array", "tensorlayout.interchange.dask")
    call_on_import("autoray", "tensorlayout.interchange.autoray")
