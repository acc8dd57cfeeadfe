"""NumPy's functions on tensors: what `__array_function__` gives.

One table, NumPy's function → ours, which has NumPy's signature. `LIKE` are functions that make
arrays, called with ``like=`` a tensor. `ON_ARRAYS` are functions whose result is no array; they see
the memory of tensors of the CPU, or their dtypes alone. All else is refused: a conversion that
nobody asked for would lose layout and device.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from tensorlayout import fft, linalg
from tensorlayout.errors import (
    REFUSALS,
    call_with_error_name,
    finalize_public_error,
    prefix_operation_name,
)
from tensorlayout.functions import arguments, interchange, methods_of_arrays
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.manipulation import sliding_window
from tensorlayout.functions.operands import unsupported
from tensorlayout.tensor import Tensor

Function = Callable[..., Any]

# Complete, as NumPy asks for the protocol when there is a tensor.
_PACKAGE = sys.modules["tensorlayout"]


def _size(a: Tensor, axis: Any = None) -> int:
    dims = () if axis == () else arguments.dims(axis, a.ndim)
    return math.prod(a.shape[d] for d in dims)


def _sliding_window_view(
    x: Tensor, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tensor:
    unsupported(writeable=writeable)
    return sliding_window(x, window_shape, axis)


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


def _memory_of(x: Tensor) -> Any:
    if not isinstance(x.memory, np.ndarray):
        raise TypeError(f"not on {x.device}; use to_device('cpu') first")
    return x.memory


# Functions whose result is no array, and the array that each gets for a tensor: the elements, the
# memory as it is, or nothing but the dtype.
ON_ARRAYS: dict[Function, Callable[[Tensor], Any]] = {
    **dict.fromkeys((np.array2string, np.array_repr, np.array_str), interchange.to_numpy),
    **dict.fromkeys((np.save, np.savetxt, np.savez, np.savez_compressed), interchange.to_numpy),
    **dict.fromkeys((np.may_share_memory, np.shares_memory), _memory_of),
    **dict.fromkeys((np.can_cast, np.common_type), lambda x: np.empty(1, x.dtype)),
    **dict.fromkeys((np.min_scalar_type, np.result_type), lambda x: np.empty(1, x.dtype)),
}


def _named(theirs: ModuleType, ours: ModuleType) -> dict[Function, Function]:
    """Our functions, without their guards, by those of NumPy of the same name."""
    return {
        function: inspect.unwrap(getattr(ours, name))
        for name in ours.__all__
        if (function := vars(theirs).get(name)) is not None
        and hasattr(function, "_implementation")
        and function not in LIKE
        and function not in ON_ARRAYS
    }


TABLE: dict[Function, Function] = {
    **_named(np, _PACKAGE),
    **_named(np.linalg, linalg),
    **_named(np.fft, fft),
    np.clip: methods_of_arrays.clip,
    np.trace: methods_of_arrays.trace,
    # Not in the namespace, or something else there.
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape,
    np.size: _size,
    np.lib.stride_tricks.sliding_window_view: _sliding_window_view,
}

# What to use for functions that are not here; of our namespace, unless it says otherwise.
WAYS = {
    "sort_complex": "lexsort of imag(x) and real(x)",
    "trim_zeros": "nonzero()",
}


def apply_function(
    x: Tensor, func: Function, types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]
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
            return _on_arrays(func, interchange.to_numpy, args, kwargs)
        try:
            found = ours(*args, **kwargs)
            return kwargs["out"] if isinstance(kwargs.get("out"), np.ndarray) else found
        except REFUSALS as error:
            raise finalize_public_error(error, func.__name__) from error.__cause__
    if func in LIKE:
        return call_with_error_name(
            func.__name__, LIKE[func], *args, **{"device": x.device, **kwargs}
        )
    if func in LIKE_CONVERTED:
        return asarray(func(*args, **kwargs), device=x.device)
    if func in ON_ARRAYS:
        return _on_arrays(func, ON_ARRAYS[func], args, kwargs)
    way = WAYS.get(func.__name__)
    way = f"use tensorlayout.{way}, or" if way else "use the functions of tensorlayout, or"
    text = f"takes no tensors; {way} make arrays with numpy.asarray(x)"
    raise prefix_operation_name(f"{func.__module__}.{func.__name__}", TypeError(text))


def _on_arrays(func: Function, by: Callable[[Tensor], Any], args: Any, kwargs: Any) -> Any:
    given = {name: _replaced(each, by) for name, each in kwargs.items()}
    return func(*[_replaced(each, by) for each in args], **given)


def _replaced(given: Any, by: Callable[[Tensor], Any]) -> Any:
    """Return an argument with `by(x)` in place of each tensor `x` in it."""
    if isinstance(given, Tensor):
        return by(given)
    if isinstance(given, (list, tuple)):
        return type(given)(_replaced(each, by) for each in given)
    return given
