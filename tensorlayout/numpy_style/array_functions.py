"""NumPy's functions on tensors: what `__array_function__` gives.

One table, NumPy's function → ours, which has NumPy's signature. `LIKE` are functions that make
arrays, called with ``like=`` a tensor. `CONVERTED` are functions whose result is no array; they see
the memory of tensors of the CPU. `ABOUT` ask for dtypes alone. All else is refused: a conversion
that nobody asked for would lose layout and device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from tensorlayout import fft, linalg
from tensorlayout.calling import leaving
from tensorlayout.dtypes import in_category
from tensorlayout.functions import (
    aliases,
    arguments,
    comparing,
    composed,
    covariance,
    creation,
    data_types,
    diagonals,
    differences,
    grids,
    histograms,
    interchange,
    joining,
    layouts,
    linear_algebra,
    manipulation,
    mapping,
    methods_of_arrays,
    nan_statistics,
    padding,
    placing,
    positions,
    products,
    quantiles,
    rearranging,
    searching,
    selecting,
    sets,
    sorting,
    statistical,
    utility,
)
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.operands import unsupported
from tensorlayout.numpy_style import comparing as parts
from tensorlayout.numpy_style import elements
from tensorlayout.tensor import Tensor
from tensorlayout.words import REFUSALS, refuse

Function = Callable[..., Any]


# --- what tells of tensors ---------------------------------------------------------------------


def _shape(a: Tensor) -> tuple[int, ...]:
    return arguments.tensor("shape", a).shape


def _ndim(a: Tensor) -> int:
    return arguments.tensor("ndim", a).ndim


def _size(a: Tensor, axis: Any = None) -> int:
    x = arguments.tensor("size", a)
    dims = () if axis == () else arguments.dims("size", axis, x.ndim)
    found = 1
    for d in dims:
        found *= x.shape[d]
    return found


def _iscomplexobj(x: Tensor) -> bool:
    return bool(in_category(arguments.tensor("iscomplexobj", x).dtype, "complex floating"))


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
    unsupported("sliding_window_view", writeable=writeable)
    return manipulation.sliding_window(x, window_shape, axis)


# Not in the namespace, or something else there.
_ONE_LINE: dict[Function, Function] = {
    np.iscomplexobj: _iscomplexobj,
    np.isrealobj: _isrealobj,
    np.ndim: _ndim,
    np.shape: _shape,
    np.size: _size,
    np.trace: methods_of_arrays.trace,
    np.lib.stride_tricks.sliding_window_view: _sliding_window_view,
}

# --- what is made like a tensor ----------------------------------------------------------------


def _array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    device: Any,
) -> Tensor:
    unsupported("array", ndmax=ndmax or None)
    found = asarray(object, dtype, order, device=device, copy=copy or None)
    return found[(None,) * max(ndmin - found.ndim, 0)]


def _ascontiguousarray(a: Any, dtype: Any = None, *, device: Any) -> Tensor:
    return asarray(a, dtype, "C", device=device)


def _asfortranarray(a: Any, dtype: Any = None, *, device: Any) -> Tensor:
    return asarray(a, dtype, "F", device=device)


def _tri(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803 - NumPy's name
    k: int = 0,
    dtype: Any = None,
    *,
    device: Any,
) -> Tensor:
    return diagonals.tril(creation.ones((N, N if M is None else M), dtype, device=device), k)


def _identity(n: int, dtype: Any = None, *, device: Any) -> Tensor:
    return diagonals.eye(n, dtype=dtype, device=device)


# Functions called with ``like=`` a tensor: what they make is beside it.
LIKE: dict[Function, Function] = {
    np.arange: creation.arange,
    np.array: _array,
    np.asanyarray: asarray,
    np.asarray: asarray,
    np.ascontiguousarray: _ascontiguousarray,
    np.asfortranarray: _asfortranarray,
    np.empty: creation.empty,
    np.eye: diagonals.eye,
    np.full: creation.full,
    np.identity: _identity,
    np.ones: creation.ones,
    np.tri: _tri,
    np.zeros: creation.zeros,
}
LIKE_CONVERTED = {
    *(np.frombuffer, np.fromfile, np.fromfunction, np.fromiter, np.fromstring),
    *(np.genfromtxt, np.loadtxt, np.require),
}

# --- the table ---------------------------------------------------------------------------------


def _named(namespace: Any, *chapters: ModuleType) -> dict[Function, Function]:
    """The functions of `chapters` by those of NumPy of the same name that ask for the protocol."""
    return {
        theirs: getattr(chapter, name)
        for chapter in chapters
        for name in chapter.__all__
        if hasattr(theirs := vars(namespace).get(name), "_implementation") and theirs not in LIKE
    }


TABLE: dict[Function, Function] = {
    **_named(np, statistical, nan_statistics, quantiles, histograms, covariance, utility),
    **_named(np, aliases, searching, selecting, placing, positions, sorting, sets),
    **_named(np, linear_algebra, products, comparing, composed, elements, parts),
    **_named(np, manipulation, joining, rearranging, padding, layouts, differences, mapping),
    **_named(np, creation, diagonals, grids),
    **_named(np.linalg, linalg),
    **_named(np.fft, fft),
    np.around: elements.round,
    np.astype: data_types.astype,
    **_ONE_LINE,
}

# Whose result is no array.
CONVERTED = {
    *(np.array2string, np.array_repr, np.array_str),
    *(np.save, np.savetxt, np.savez, np.savez_compressed),
}
OVERLAP = {np.may_share_memory, np.shares_memory}

# Whose result is a dtype, or is about one.
ABOUT = {np.can_cast, np.common_type, np.min_scalar_type, np.result_type}

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
    """What a function of NumPy called on tensors gives, on the device of the tensors.

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
    called = f"{func.__module__}.{func.__name__}"
    way = WAYS.get(func.__name__)
    way = f"use tensorlayout.{way}, or" if way else "use the functions of tensorlayout, or"
    return refuse(called, f"takes no tensors; {way} make arrays with numpy.asarray(x)", TypeError)


def _converted(func: Function, args: Any, kwargs: dict[str, Any]) -> Any:
    given = {name: _replaced(each, interchange.to_numpy) for name, each in kwargs.items()}
    return func(*[_replaced(each, interchange.to_numpy) for each in args], **given)


def _replaced(given: Any, by: Callable[[Tensor], Any]) -> Any:
    """What was given, `by` something else for each tensor in it."""
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
        refuse("shares_memory", f"not on {x.device}; use to_device('cpu') first", TypeError)
    return x._memory
