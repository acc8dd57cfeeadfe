"""NumPy's functions on tensors: what `__array_function__` gives.

One table, NumPy's function → ours, with NumPy's signature: `reductions`, `shapes` and `elements`,
whose functions are methods of tensors too, and the files of what are no methods. `CONVERTED` are
functions whose result is no array; they see the memory of tensors of the CPU. `ABOUT` ask for
dtypes alone. All else is refused: a conversion that nobody asked for would lose layout and device.
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
    extra,
    histograms,
    interchange,
    linear_algebra,
    nan_statistics,
    placing,
    positions,
    products,
    quantiles,
    searching,
    selecting,
    sets,
    sorting,
    statistical,
    utility,
)
from tensorlayout.functions.creation import asarray
from tensorlayout.numpy_style import comparing as parts
from tensorlayout.numpy_style import (
    creating,
    differences,
    elements,
    joining,
    mapping,
    rearranging,
    shapes,
)
from tensorlayout.tensor import Tensor
from tensorlayout.words import REFUSALS, refuse

Function = Callable[..., Any]


def _named(namespace: Any, *chapters: ModuleType) -> dict[Function, Function]:
    """The functions of `chapters` by those of NumPy of the same name that ask for the protocol."""
    return {
        theirs: getattr(chapter, name)
        for chapter in chapters
        for name in chapter.__all__
        if hasattr(theirs := vars(namespace).get(name), "_implementation")
    }


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


_ONE_LINE: dict[Function, Function] = {
    np.iscomplexobj: _iscomplexobj,
    np.isrealobj: _isrealobj,
    np.ndim: _ndim,
    np.shape: _shape,
    np.size: _size,
}

TABLE: dict[Function, Function] = {
    **_named(np, statistical, nan_statistics, quantiles, histograms, covariance, utility),
    **_named(np, aliases, searching, selecting, placing, positions, sorting, sets),
    **_named(np, linear_algebra, products, comparing, composed),
    **_named(np, shapes, elements, parts),
    **_named(np, rearranging, joining, differences),
    **_named(np, creating, mapping),
    **_named(np.linalg, linalg),
    **_named(np.fft, fft),
    np.diag: extra.diag,
    np.tril: creation.tril,
    np.triu: creation.triu,
    np.around: elements.round,
    np.lib.stride_tricks.sliding_window_view: rearranging.sliding_window_view,
    **_ONE_LINE,
}

# Functions called with ``like=`` a tensor: what they make is beside it.
LIKE: dict[Function, Function] = {getattr(np, name): found for name, found in creating.LIKE.items()}
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
        return LIKE[func](*args, **kwargs, like=x)
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
