"""NumPy's protocols, bound to `Tensor`: what carries them out is imported at the first use."""

from __future__ import annotations

from typing import Any

from tensorlayout.tensor import Tensor


def _array_ufunc(self: Tensor, *args: Any, **options: Any) -> Any:
    from tensorlayout.interchange.numpy_ufuncs import apply_ufunc

    Tensor.__array_ufunc__ = apply_ufunc  # type: ignore[assignment, method-assign]
    return apply_ufunc(self, *args, **options)


def _array_function(self: Tensor, *args: Any) -> Any:
    from tensorlayout.interchange.numpy_functions import apply_function

    Tensor.__array_function__ = apply_function  # type: ignore[assignment, method-assign]
    return apply_function(self, *args)


def bind() -> None:
    """Give `Tensor` NumPy's protocols."""
    protocols = {"__array_ufunc__": _array_ufunc, "__array_function__": _array_function}
    for name, method in protocols.items():
        method.__name__, method.__qualname__ = name, f"Tensor.{name}"
        setattr(Tensor, name, method)
