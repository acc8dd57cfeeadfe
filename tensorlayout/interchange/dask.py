"""Dask arrays with tensors as chunks: registration, and functions that Dask needs.

`register` is called once both packages are imported, in either order
(`call_register_after_import`). Most of Dask uses NumPy's functions, which tensors implement
(`numpy_functions`). The others are here: functions that Dask would apply to NumPy arrays, sizes,
and the backend ``array.backend: tensorlayout``.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tensorlayout.devices import default_device
from tensorlayout.functions import creation, interchange, transfers
from tensorlayout.functions.manipulation import broadcast_to
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import Tensor


def register() -> None:
    """Register tensors with Dask; repeated calls have no further effect."""
    dispatch = import_lazily("dask.array.dispatch")
    dispatch.empty_lookup.register(Tensor, creation.empty)
    dispatch.numel_lookup.register(Tensor, _numel)
    dispatch.percentile_lookup.register(Tensor, _chunk_percentile)
    dispatch.to_numpy_dispatch.register(Tensor, to_numpy)
    import_lazily("dask.sizeof").sizeof.register(Tensor, _sizeof)
    # Without this, operators between tensors and Dask's arrays fail.
    import_lazily("dask.array.chunk_types").register_chunk_type(Tensor)
    import_lazily("dask.array.backends").array_creation_dispatch.register_backend(
        "tensorlayout", array_backend_class()
    )
    _wrap_module_function(
        import_lazily("dask.array.utils"), "scipy_linalg_safe", _call_scipy_linalg
    )
    _wrap_module_function(import_lazily("dask.array.rechunk"), "_compute_rechunk", _rechunk_empty)


def _wrap_module_function(module: Any, name: str, wrapper: Any) -> None:
    """Replace a module's function once by `wrapper`, which takes the original first."""
    function = getattr(module, name)
    # `functools.wraps` sets the attribute, which tells that this has been done before.
    if not hasattr(function, "__wrapped__"):
        setattr(module, name, functools.wraps(function)(functools.partial(wrapper, function)))


def _numel(x: Tensor, axis: Any = None, keepdims: bool = False, dtype: Any = None, **_: Any) -> Any:
    """Return the number of elements in each sum of `x`, in the shape of the sum."""
    dims = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    dims = {dim % x.ndim for dim in dims}
    count = math.prod(x.shape[d] for d in dims)
    shape = tuple(1 if d in dims else n for d, n in enumerate(x.shape) if keepdims or d not in dims)
    kind = np.float64 if dtype is None else dtype
    return broadcast_to(creation.asarray(count, dtype=kind, device=x.device), shape)


def _chunk_percentile(x: Tensor, q: Any, method: str = "linear") -> tuple[Tensor | None, int]:
    """Return percentiles of a chunk, and its number of elements."""
    if not x.size:
        return None, 0
    return np.percentile(x, q, method=method), x.size  # type: ignore[call-overload]


def _to_host_array(x: Tensor, **options: Any) -> Any:
    return np.asarray(transfers.move_to_cpu(x), **options)


def to_numpy(x: Tensor, **options: Any) -> Any:
    """Return the elements as a NumPy array; a trace records an export."""
    x = transfers.move_to_cpu(x)
    return interchange.note_export("to_numpy", x, _to_host_array(x, **options))


def _sizeof(x: Tensor) -> int:
    """Return the bytes of the elements and of block padding; broadcast elements count once."""
    layout, spanned = x.spec.layout, x.spec.layout.nbytes(x.dtype)
    return spanned if layout.covers_block else min(spanned, x.nbytes)


def _call_scipy_linalg(function: Any, name: str, *args: Any, **options: Any) -> Any:
    """Call a function of `scipy.linalg` on host arrays, and return tensors.

    Replaces Dask's own dispatch, which knows only NumPy and CuPy.
    """
    x = next((item for item in args if isinstance(item, Tensor)), None)
    if x is None:
        return function(name, *args, **options)
    arrays = [_to_host_array(item) if isinstance(item, Tensor) else item for item in args]
    results = function(name, *arrays, **options)
    result_tuple = results if isinstance(results, tuple) else (results,)
    tensors = tuple(creation.asarray(item, device=x.device) for item in result_tuple)
    return tensors if isinstance(results, tuple) else tensors[0]


def _rechunk_empty(function: Any, x: Any, chunks: Any) -> Any:
    """Rechunk `x`; without elements, Dask would create new chunks of another array type."""
    if x.size or not isinstance(x._meta, Tensor):
        return function(x, chunks)
    new: Any = import_lazily("dask.array").empty
    return new(x.shape, chunks=chunks, dtype=x.dtype, meta=x._meta)


class RandomState:
    """NumPy's random generator; its samples become tensors on the default device."""

    def __init__(self, seed: Any = None) -> None:
        self._numpy = np.random.RandomState(seed)

    def __getattr__(self, name: str) -> Any:
        draw = getattr(self._numpy, name)
        device = default_device()
        return lambda *args, **options: creation.asarray(draw(*args, **options), device=device)


def _make_dask_creation_with_meta(name: str) -> Any:
    """Return Dask's own creation function, with chunks like a tensor.

    It runs under the NumPy backend, because it would call this method again otherwise.
    """
    argument = "like" if name == "arange" else "meta"

    def create_with_meta(*args: Any, **options: Any) -> Any:
        if options.get(argument) is None:
            options[argument] = creation.empty(0)
        with import_lazily("dask.config").set({"array.backend": "numpy"}):
            return getattr(import_lazily("dask.array"), name)(*args, **options)

    return staticmethod(create_with_meta)


def _to_backend(data: Any, **options: Any) -> Any:
    """Return the same array with chunks converted by ``tl.asarray(chunk, **options)``."""
    if isinstance(data._meta, Tensor) and not options:
        return data
    return data.map_blocks(creation.asarray, **options)


def _raise_no_bit_generator(_: Any) -> Any:
    raise TypeError(
        "dask: tensorlayout has no bit generators; use da.random.RandomState, or draw with the "
        "backend 'numpy', and then x.to_backend('tensorlayout')"
    )


@functools.cache
def array_backend_class() -> Any:
    """Return the class of Dask's array backend ``tensorlayout``."""
    names = ("ones", "zeros", "empty", "full", "arange")
    body = {
        **{name: _make_dask_creation_with_meta(name) for name in names},
        "RandomState": property(lambda _: RandomState),
        "default_bit_generator": property(_raise_no_bit_generator),
        "to_backend": staticmethod(_to_backend),
        "to_backend_dispatch": staticmethod(lambda: creation.asarray),
    }
    base = import_lazily("dask.array.backends").ArrayBackendEntrypoint
    return type("TensorBackend", (base,), body)()
