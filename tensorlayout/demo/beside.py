"""The same steps by NumPy and PyTorch, and how long a warm call of any of them takes."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
SHORT = 5e-5  # seconds: shorter calls are timed several at once
LONG = 0.5  # seconds: where all runs of a step would take longer, there are fewer


class Library(NamedTuple):
    """Who does the steps too: its name, its functions as the array API spells them, and arrays."""

    name: str
    names: Any
    array: Callable[[Array], Any]
    host: Callable[[Any], Array]


def torch_module() -> Any:
    """PyTorch, or the reason why it is not used, as a text."""
    if importlib.util.find_spec("torch") is None:
        return "not installed, not tried"
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError):  # installed, but a library of its own is missing
        return "cannot be imported, not tried"


def libraries() -> list[Library]:
    """NumPy, and PyTorch where it can be imported."""
    found = [Library("NumPy", np, lambda x: x, np.asarray)]
    if not isinstance(torch := torch_module(), str):
        found.append(Library("PyTorch", _TorchNames(torch), _tensor_of(torch), lambda x: x.numpy()))
    return found


def median(call: Callable[[], Any], repeat: int) -> tuple[float, int]:
    """The seconds of a warm call, the median of `repeat` runs or fewer, and how many there were.

    >>> median(int, 3)[1]
    3
    """
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    calls, runs = max(1, min(100, int(SHORT / once))), max(1, min(repeat, int(LONG / once)))
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - start) / calls)
    return statistics.median(found), runs


def _tensor_of(torch: Any) -> Callable[[Array], Any]:
    """What makes PyTorch's tensor over the memory of an array; negative strides it has none."""

    def made(array: Array) -> Any:
        with warnings.catch_warnings(action="ignore"):  # of memory that is read-only
            return torch.from_numpy(array.copy("K") if min((0, *array.strides)) < 0 else array)

    return made


class _TorchNames:
    """PyTorch's functions under the names and arguments of the array API that the demo uses."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def permute_dims(self, x: Any, axes: Sequence[int]) -> Any:
        return x.permute(*axes)

    def ascontiguousarray(self, x: Any) -> Any:
        return x.contiguous()

    def astype(self, x: Any, dtype: Any) -> Any:
        return x.to(dtype)

    def flip(self, x: Any, axis: int | tuple[int, ...]) -> Any:
        return x.flip(axis)

    def unstack(self, x: Any) -> Any:
        return x.unbind()

    def sort(self, x: Any, axis: int) -> Any:
        return x.sort(axis).values

    def take_along_axis(self, x: Any, indices: Any, axis: int) -> Any:
        return x.gather(axis, indices)

    def cumulative_sum(self, x: Any, axis: int, dtype: Any, include_initial: bool) -> Any:
        sums = x.cumsum(axis, dtype=dtype)
        return self.concat([sums.new_zeros(sums.narrow(axis, 0, 1).shape), sums], axis=axis)
