"""NumPy's functions on tensors: what `__array_function__` gives.

One table, NumPy's function → ours, which has NumPy's signature. `LIKE` are functions that make
arrays, called with ``like=`` a tensor. `CONVERTED` are functions whose result is no array; they see
the memory of tensors of the CPU. `ABOUT` ask for dtypes alone. All else is refused: a conversion
that nobody asked for would lose layout and device.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from tensorlayout import fft, linalg
from tensorlayout.dtypes import in_category
from tensorlayout.errors import REFUSALS, leaving, named
from tensorlayout.functions import arguments, interchange, methods_of_arrays
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.manipulation import sliding_window
from tensorlayout.functions.operands import unsupported
from tensorlayout.tensor import Tensor

Function = Callable[..., Any]

# Complete, as NumPy asks for the protocol when there is a tensor.
_PACKAGE = sys.modules["tensorlayout"]


# --- what tells of tensors ---------------------------------------------------------------------


def _shape(a: Tensor) -> tuple[int, ...]:
    return arguments.tensor(a).shape


def _ndim(a: Tensor) -> int:
    return arguments.tensor(a).ndim


def _size(a: Tensor, axis: Any = None) -> int:
    x = arguments.tensor(a)
    dims = () if axis == () else arguments.dims(axis, x.ndim)
    found = 1
    for d in dims:
        found *= x.shape[d]
    return found


def _iscomplexobj(x: Tensor) -> bool:
    return bool(in_category(arguments.tensor(x).dtype, "complex floating"))


def _isrealobj(x: Tensor) -> bool:
    return not _iscomplexobj(x)


def _sliding_window_view(
    x: Tensor,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Tensor:
    unsupported(writeable=writeable)
    return sliding_window(x, window_shape, axis)


# Not in the namespace, or something else there.
_ONE_LINE: dict[Function, Function] = {
    np.iscomplexobj: _iscomplexobj,
    np.isrealobj: _isrealobj,
    np.ndim: _ndim,
    np.shape: _shape,
    np.size: _size,
    np.lib.stride_tricks.sliding_window_view: _sliding_window_view,
}

# --- what is made like a tensor ----------------------------------------------------------------


# Functions called with ``like=`` a tensor: what they make is beside it.
LIKE: dict[Function, Function] = {
    getattr(np, name): inspect.unwrap(getattr(_PACKAGE, name))
    for name in (
        *("arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray"),
        *("empty", "eye", "full", "identity", "ones", "tri", "zeros"),
    )
}
LIKE_CONVERTED = {
    *(np.frombuffer, np.fromfile, np.fromfunction, np.fromiter, np.fromstring),
    *(np.genfromtxt, np.loadtxt, np.require),
}

# Whose result is no array.
CONVERTED = {
    *(np.array2string, np.array_repr, np.array_str),
    *(np.save, np.savetxt, np.savez, np.savez_compressed),
}
OVERLAP = {np.may_share_memory, np.shares_memory}

# Whose result is a dtype, or is about one.
ABOUT = {np.can_cast, np.common_type, np.min_scalar_type, np.result_type}

# --- the table ---------------------------------------------------------------------------------


def _named(theirs: ModuleType, ours: ModuleType) -> dict[Function, Function]:
    """Our functions, without their guards, by those of NumPy of the same name."""
    return {
        function: inspect.unwrap(getattr(ours, name))
        for name in ours.__all__
        if (function := vars(theirs).get(name)) is not None
        and hasattr(function, "_implementation")
        and function not in (*LIKE, *CONVERTED, *ABOUT)
    }


_PACKAGE = sys.modules[
    "tensorlayout"
]  # complete: NumPy asks for the protocol when a tensor is there

TABLE: dict[Function, Function] = {
    **_named(np, _PACKAGE),
    **_named(np.linalg, linalg),
    **_named(np.fft, fft),
    np.clip: methods_of_arrays.clip,
    np.trace: methods_of_arrays.trace,
    **_ONE_LINE,
}

# What to use for functions that are not here; of our namespace, unless it says otherwise.
WAYS = {
    "sort_complex": "lexsort of imag(x) and real(x)",
    "trim_zeros": "nonzero()",
}


def apply_function(
    x: Tensor,
    func: Function,
    types: Iterable[type],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Carry out a function of NumPy that was called on tensors, on their device.

    TypeError, which names the way out, for a function that is not here; NotImplemented where other
    types than tensors and NumPy's arrays take part.
    """
    if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        return NotImplemented
    kwargs = {name: given for name, given in kwargs.items() if given is not np._NoValue}
    ours = TABLE.get(func)
    if ours is not None:
        if func is np.copyto and isinstance((args or [kwargs.get("dst")])[0], np.ndarray):
            return _converted(func, args, kwargs)
        try:
            found = ours(*args, **kwargs)
            return kwargs["out"] if isinstance(kwargs.get("out"), np.ndarray) else found
        except REFUSALS as error:
            raise leaving(error, func.__name__) from error.__cause__
    if func in LIKE:
        return LIKE[func](*args, **{"device": x.device, **kwargs})
    if func in LIKE_CONVERTED:
        return asarray(func(*args, **kwargs), device=x.device)
    if func in CONVERTED:
        return _converted(func, args, kwargs)
    if func in ABOUT:
        return func(*[_replaced(each, _of_dtype) for each in args], **kwargs)
    if func in OVERLAP:
        return func(*[_replaced(each, _memory_of) for each in args], **kwargs)
    way = WAYS.get(func.__name__)
    way = f"use tensorlayout.{way}, or" if way else "use the functions of tensorlayout, or"
    text = f"takes no tensors; {way} make arrays with numpy.asarray(x)"
    raise named(f"{func.__module__}.{func.__name__}", TypeError(text))


def _converted(func: Function, args: Any, kwargs: dict[str, Any]) -> Any:
    given = {name: _replaced(each, interchange.to_numpy) for name, each in kwargs.items()}
    return func(*[_replaced(each, interchange.to_numpy) for each in args], **given)


def _replaced(given: Any, by: Callable[[Tensor], Any]) -> Any:
    """Return an argument with `by(x)` in place of each tensor `x` in it."""
    if isinstance(given, Tensor):
        return by(given)
    if isinstance(given, (list, tuple)):
        return type(given)(_replaced(each, by) for each in given)
    return given


def _of_dtype(x: Tensor) -> Any:
    """An array that stands for the dtype of a tensor."""
    return np.empty(1, x.dtype)


def _memory_of(x: Tensor) -> Any:
    if not isinstance(x._memory, np.ndarray):
        raise TypeError(f"not on {x.device}; use to_device('cpu') first")
    return x._memory
