"""NumPy's functions on tensors: the implementation of `__array_function__`.

`TABLE` maps functions of NumPy to ours, with NumPy's signatures. `LIKE` has functions that create
arrays, called with ``like=`` a tensor. `ON_ARRAYS` has functions whose result is not an array; they
get arrays over the memory of CPU tensors, or only their dtypes. All other functions raise: an
implicit conversion would lose layout and device.
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
from tensorlayout.functions.operands import refuse_unsupported_arguments
from tensorlayout.tensor import Tensor

Function = Callable[..., Any]

# Completely imported by now, because NumPy calls the protocol only for an existing tensor.
_PACKAGE = sys.modules["tensorlayout"]


def _size_along_axes(a: Tensor, axis: Any = None) -> int:
    dims = () if axis == () else arguments.normalize_axes(axis, a.ndim)
    return math.prod(a.shape[d] for d in dims)


def _sliding_window_view(
    x: Tensor, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tensor:
    refuse_unsupported_arguments(writeable=writeable)
    return sliding_window(x, window_shape, axis)


# Functions called with ``like=`` a tensor; their results are on its device.
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


def _cpu_memory(x: Tensor) -> Any:
    if not isinstance(x.memory, np.ndarray):
        raise TypeError(f"not on {x.device}; use to_device('cpu') first")
    return x.memory


# Functions whose result is not an array, and the array that each gets for a tensor: the elements,
# the memory as it is, or one arbitrary element of the dtype.
ON_ARRAYS: dict[Function, Callable[[Tensor], Any]] = {
    **dict.fromkeys((np.array2string, np.array_repr, np.array_str), interchange.to_numpy),
    **dict.fromkeys((np.save, np.savetxt, np.savez, np.savez_compressed), interchange.to_numpy),
    **dict.fromkeys((np.may_share_memory, np.shares_memory), _cpu_memory),
    **dict.fromkeys((np.can_cast, np.common_type), lambda x: np.empty(1, x.dtype)),
    **dict.fromkeys((np.min_scalar_type, np.result_type), lambda x: np.empty(1, x.dtype)),
}


def _match_functions_by_name(
    numpy_module: ModuleType, tensor_module: ModuleType
) -> dict[Function, Function]:
    """Return our functions, without their wrappers, by NumPy's functions of the same name."""
    return {
        function: inspect.unwrap(getattr(tensor_module, name))
        for name in tensor_module.__all__
        if (function := vars(numpy_module).get(name)) is not None
        # NumPy calls the protocol only for functions that have this attribute.
        and hasattr(function, "_implementation")
        and function not in LIKE
        and function not in ON_ARRAYS
    }


TABLE: dict[Function, Function] = {
    **_match_functions_by_name(np, _PACKAGE),
    **_match_functions_by_name(np.linalg, linalg),
    **_match_functions_by_name(np.fft, fft),
    np.clip: methods_of_arrays.clip,
    np.trace: methods_of_arrays.trace,
    # Functions that are not in our namespace, or have another meaning there.
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape,
    np.size: _size_along_axes,
    np.lib.stride_tricks.sliding_window_view: _sliding_window_view,
}

# Alternatives for unsupported functions, in our namespace unless the text says otherwise.
WAYS = {"sort_complex": "lexsort of imag(x) and real(x)", "trim_zeros": "nonzero()"}


def apply_function(
    x: Tensor, func: Function, types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a function of NumPy that was called on tensors, on their device.

    TypeError with an alternative for an unsupported function; NotImplemented if other types than
    tensors and NumPy's arrays take part.
    """
    # NumPy then asks the protocol of the other type.
    if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        return NotImplemented
    # Callers that forward NumPy's defaults pass its marker of omitted arguments.
    kwargs = {name: value for name, value in kwargs.items() if value is not np._NoValue}
    implementation = TABLE.get(func)
    if implementation is not None:
        # The destination is NumPy's, so NumPy fills it; tensors are only read.
        if func is np.copyto and isinstance((args or [kwargs.get("dst")])[0], np.ndarray):
            return _call_on_arrays(func, interchange.to_numpy, args, kwargs)
        try:
            result = implementation(*args, **kwargs)
            return kwargs["out"] if isinstance(kwargs.get("out"), np.ndarray) else result
        except REFUSALS as error:
            raise finalize_public_error(error, func.__name__) from error.__cause__
    if func in LIKE:
        return call_with_error_name(
            func.__name__, LIKE[func], *args, **{"device": x.device, **kwargs}
        )
    if func in LIKE_CONVERTED:
        return asarray(func(*args, **kwargs), device=x.device)
    if func in ON_ARRAYS:
        return _call_on_arrays(func, ON_ARRAYS[func], args, kwargs)
    advice = WAYS.get(func.__name__)
    advice = f"use tensorlayout.{advice}, or" if advice else "use the functions of tensorlayout, or"
    message = f"takes no tensors; {advice} make arrays with numpy.asarray(x)"
    raise prefix_operation_name(f"{func.__module__}.{func.__name__}", TypeError(message))


def _call_on_arrays(
    func: Function, convert: Callable[[Tensor], Any], args: Any, kwargs: Any
) -> Any:
    converted_kwargs = {name: _replace_tensors(value, convert) for name, value in kwargs.items()}
    return func(*[_replace_tensors(value, convert) for value in args], **converted_kwargs)


def _replace_tensors(argument: Any, convert: Callable[[Tensor], Any]) -> Any:
    """Return an argument with ``convert(x)`` in place of each tensor x in it."""
    if isinstance(argument, Tensor):
        return convert(argument)
    if isinstance(argument, (list, tuple)):
        return type(argument)(_replace_tensors(item, convert) for item in argument)
    return argument
