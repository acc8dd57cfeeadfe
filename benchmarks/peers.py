"""The libraries that take part, and how each of them sees memory that NumPy made."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import tensorlayout as tl

OURS = "tensorlayout"

Array = np.ndarray[Any, np.dtype[Any]]


def installed(name: str) -> Any:
    """The module of a library; None where it, or a library of its own, is missing."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError):
        return None


strict = installed("array_api_strict")
torch = installed("torch")
numexpr = installed("numexpr")


def share(array: Array) -> dict[str, Any]:
    """A memory as an array of each library, in the order of their turns: PyTorch last.

    Libraries that cannot take it are left out.
    """
    seen: dict[str, Any] = {"numpy": array, OURS: tl.asarray(array, copy=False)}
    if strict is not None:
        seen["array-api-strict"] = strict.asarray(array, copy=False)
    if torch is not None and min(array.strides, default=0) >= 0:  # it has no negative strides
        seen["torch"] = torch.from_numpy(array)
    return seen


def versions() -> dict[str, str]:
    """Return the versions of the libraries that take part."""
    numbers = {"numpy": np.__version__, OURS: tl.__version__}
    if strict is not None:
        numbers["array-api-strict"] = strict.__version__
    if numexpr is not None:
        numbers["numexpr"] = f"{numexpr.__version__}, {numexpr.nthreads} threads"
    if torch is not None:
        numbers["torch"] = f"{torch.__version__}, {torch.get_num_threads()} threads"
    return numbers
