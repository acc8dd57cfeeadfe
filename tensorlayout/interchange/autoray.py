"""Tensors for autoray, and by it for cotengra and quimb.

autoray calls functions by the names and with the signatures of NumPy. `register` is called once
both packages are imported, whichever comes first (`late.follow`): it names the functions that
NumPy's own call when they are given tensors. New arrays come from the namespace itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout import linalg
from tensorlayout.devices import default_device
from tensorlayout.functions import creation, elementwise, interchange, transfers
from tensorlayout.interchange.numpy_functions import TABLE
from tensorlayout.support.lazy_imports import loaded
from tensorlayout.tensor import Tensor


def register() -> None:
    """Enter functions into autoray's table; again without effect."""
    named = {f"{numpys.__module__}.{numpys.__name__}": ours for numpys, ours in TABLE.items()}
    for name, function in (named | _OWN).items():
        loaded("autoray").register_function("tensorlayout", name.removeprefix("numpy."), function)


def _drawn(name: str) -> Any:
    """Return numbers of NumPy's generator as a tensor on the default device."""

    def draw(*args: Any, **options: Any) -> Tensor:
        found = getattr(np.random.default_rng(), name)(*args, **options)
        return creation.asarray(found, device=default_device())

    return draw


def _host(x: Tensor) -> Any:
    x = transfers.on_host(x)
    return interchange.handed_over("to_numpy", x, interchange.to_numpy(x))


_OWN: dict[str, Any] = {
    "array": creation.asarray,
    "complex": lambda real, imag: elementwise.add(real, elementwise.multiply(imag, 1j)),
    "dag": lambda x: elementwise.conj(x if x.ndim < 2 else x.mT),
    "linalg.svd": lambda x: linalg.svd(x, full_matrices=False),  # as autoray has it
    "power": elementwise.pow,
    "random.normal": _drawn("normal"),
    "random.uniform": _drawn("uniform"),
    "to_numpy": _host,
}
