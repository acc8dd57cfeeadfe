"""Tensors put together and taken apart: joins, stacks, blocks, splits, insertions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlayout import dtypes
from tensorlayout.functions import arguments, indexing, manipulation, utility
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.creation import arange, ones
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import broadcast_to, concat, moveaxis, reshape
from tensorlayout.functions.operands import beside, check_finite, sequence, tensors
from tensorlayout.functions.outputs import CASTINGS, can_cast, given
from tensorlayout.functions.sorting import argsort
from tensorlayout.functions.transfers import on_host
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "column_stack",
    "concatenate",
    "delete",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "insert",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]

Arrays = Sequence[Tensor]


def concatenate(
    arrays: Arrays,
    /,
    axis: int | None = 0,
    out: Tensor | None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Tensor:
    """`tl.concat`, in a dtype, or into a tensor."""
    name = "concatenate"
    found = concat(_cast(name, sequence(name, arrays), dtype, casting), axis=axis)
    return given(name, found, out)


def _cast(name: str, parts: list[Tensor], dtype: Any, casting: str) -> list[Tensor]:
    arguments.choice(name, "casting", casting, f"one of {', '.join(CASTINGS)}", CASTINGS)
    if dtype is None:
        return parts
    kind = dtypes.as_dtype(dtype, f"{name}: dtype")
    for x in parts:
        if not can_cast(x.dtype, kind, casting):
            rule = f"{x.dtype} cannot become {kind} by the rule {casting!r}"
            refuse(name, f"{rule}; use astype() first", TypeError)
    return [astype(x, kind, copy=False) for x in parts]


def stack(
    arrays: Arrays,
    axis: int = 0,
    out: Tensor | None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Tensor:
    """`tl.stack`, in a dtype, or into a tensor."""
    parts = _cast("stack", sequence("stack", arrays), dtype, casting)
    return given("stack", manipulation.stack(parts, axis=axis), out)


def vstack(tup: Arrays, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Tensors one below the other; those of rank 1 are rows."""
    parts = [atleast_2d(x) for x in sequence("vstack", tup)]
    return concat(_cast("vstack", parts, dtype, casting))


def hstack(tup: Arrays, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Tensors side by side: along the second dimension, at rank 1 along the first."""
    parts = _cast("hstack", [atleast_1d(x) for x in sequence("hstack", tup)], dtype, casting)
    return concat(parts, axis=0 if parts[0].ndim == 1 else 1)


def dstack(tup: Arrays) -> Tensor:
    """Tensors one behind the other, along the third dimension."""
    return concat([atleast_3d(x) for x in sequence("dstack", tup)], axis=2)


def column_stack(tup: Arrays) -> Tensor:
    """Tensors side by side; those of rank 1 are columns."""
    parts = [x if x.ndim > 1 else reshape(x, (-1, 1)) for x in sequence("column_stack", tup)]
    return concat(parts, axis=1)


def _each(name: str, function: Any, arys: Sequence[Any]) -> Any:
    found = tuple(function(x) for x in tensors(name, *arys))
    return found[0] if len(found) == 1 else found


def atleast_1d(*arys: Tensor) -> Any:
    """Tensors of rank 0 as ones of a single element. Views; a tuple of several."""
    return _each("atleast_1d", lambda x: x if x.ndim else x[None], arys)


def atleast_2d(*arys: Tensor) -> Any:
    """Tensors of rank 1 as rows of a matrix. Views; a tuple of several."""
    return _each("atleast_2d", lambda x: x[(None,) * max(2 - x.ndim, 0)], arys)


def atleast_3d(*arys: Tensor) -> Any:
    """Tensors of rank 2 as one of depth 1, of rank 1 as a row of it. Views; a tuple of several."""
    keys = {0: (None, None, None), 1: (None, ..., None), 2: (..., None)}
    return _each("atleast_3d", lambda x: x[keys.get(x.ndim, ...)], arys)


def block(arrays: Any) -> Tensor:
    """Tensors in nested lists: the innermost joined along the last dimension, and so on."""
    depth = _depth(arrays)
    leaves = _leaves(arrays)
    device = next((x for x in leaves if isinstance(x, Tensor)), None)
    if device is None or not leaves:
        refuse("block", "needs at least one tensor", TypeError)
    rank = max(depth, *(x.ndim for x in leaves if isinstance(x, Tensor)))
    found = _joined(arrays, depth, rank, device)
    return astype(found, found.dtype) if isinstance(arrays, Tensor) else found


def _leaves(arrays: Any) -> list[Any]:
    if not isinstance(arrays, list):
        return [arrays]
    return [leaf for each in arrays for leaf in _leaves(each)]


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(each) for each in arrays}
    if len(depths) != 1:
        refuse("block", "lists must not be empty, and equally deep")
    return 1 + depths.pop()


def _joined(arrays: Any, depth: int, rank: int, device: Tensor) -> Tensor:
    if not isinstance(arrays, list):
        x = arrays if isinstance(arrays, Tensor) else beside("block", arrays, device, weak=False)
        return x[(None,) * (rank - x.ndim)]
    parts = [_joined(each, depth - 1, rank, device) for each in arrays]
    return concat(parts, axis=rank - depth)


# --- taken apart -------------------------------------------------------------------------------


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """`tl.unstack`."""
    return manipulation.unstack(x, axis=axis)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Equal parts along `axis`, or the parts between indices. Views."""
    return _split("split", ary, indices_or_sections, axis, equal=True)


def array_split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Parts along `axis`, the first ones one longer where they cannot be equal. Views."""
    return _split("array_split", ary, indices_or_sections, axis, equal=False)


def _split(name: str, ary: Any, given: Any, axis: int, *, equal: bool) -> list[Tensor]:
    x = arguments.tensor(name, ary)
    dim = arguments.dim(name, axis, x.ndim)
    size, before = x.shape[dim], (slice(None),) * dim
    if isinstance(given, Tensor):
        given = on_host(given)._memory
    bounds = arguments.integers(
        given.tolist() if hasattr(given, "tolist") else given,
        name,
        "indices_or_sections",
        none=False,
    )
    if isinstance(bounds, int):
        if bounds < 1:
            refuse(name, f"the number of parts must be at least 1, got {bounds}")
        if equal and size % bounds:
            refuse(name, f"{size} elements cannot be split into {bounds} equal parts")
        each, longer = divmod(size, bounds)
        bounds = tuple(i * each + min(i, longer) for i in range(1, bounds))
    ends = zip((0, *bounds), (*bounds, None), strict=True)
    return [x[(*before, slice(first, last))] for first, last in ends]


def hsplit(ary: Tensor, indices_or_sections: Any) -> list[Tensor]:
    """`split` along the second dimension, at rank 1 along the first."""
    return _split_at("hsplit", ary, indices_or_sections, 1, 1)


def vsplit(ary: Tensor, indices_or_sections: Any) -> list[Tensor]:
    """`split` along the first dimension."""
    return _split_at("vsplit", ary, indices_or_sections, 0, 2)


def dsplit(ary: Tensor, indices_or_sections: Any) -> list[Tensor]:
    """`split` along the third dimension."""
    return _split_at("dsplit", ary, indices_or_sections, 2, 3)


def _split_at(name: str, ary: Any, given: Any, axis: int, least: int) -> list[Tensor]:
    x = arguments.tensor(name, ary)
    if x.ndim < least:
        refuse(name, f"needs a rank of at least {least}, got shape {x.shape}")
    return _split(name, x, given, min(axis, x.ndim - 1), equal=True)


# --- more or fewer elements --------------------------------------------------------------------


def append(arr: Tensor, values: Any, axis: int | None = None) -> Tensor:
    """`values` behind `arr` along `axis`, or behind all elements in index order."""
    return concat(tensors("append", arr, values, weak=False), axis=axis)


def delete(arr: Tensor, obj: Any, axis: int | None = None) -> Tensor:
    """`arr` without the slices `obj` (integers, a slice, a mask) along `axis`."""
    x, dim = _line("delete", arr, axis)
    kept = ones((x.shape[dim],), dtype=dtypes.bool, device=x.device)
    indexing.setitem(kept, obj, False)
    return x[(*(slice(None),) * dim, kept)]


def _line(name: str, arr: Any, axis: int | None) -> tuple[Tensor, int]:
    x = arguments.tensor(name, arr)
    if axis is None:
        return reshape(x, (-1,)), 0
    return x, arguments.dim(name, axis, x.ndim)


def insert(arr: Tensor, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """`arr` with `values`, converted to its dtype, before the positions `obj` along `axis`."""
    x, dim = _line("insert", arr, axis)
    size = x.shape[dim]
    if isinstance(obj, slice):
        obj = list(range(*obj.indices(size)))
    places = beside("insert", obj, arange(1, device=x.device))
    if places.dtype == dtypes.bool:
        refuse("insert", "positions must be integers, got bool; use nonzero() first", TypeError)
    single, scalar = places.size == 1, places.ndim == 0
    places = reshape(astype(places, dtypes.int64, copy=False), (-1,))
    outside = ew.logical_or(ew.less(places, -size), ew.greater(places, size))
    if utility.any(outside):
        first = int(places[outside][0])
        msg = f"insert: index {first} is out of bounds for axis {dim} with size {size}"
        raise IndexError(msg)
    places = ew.add(places, ew.multiply(astype(ew.less(places, 0), dtypes.int64), size))
    check_finite("insert", values, x.dtype)
    new = astype(beside("insert", values, x), x.dtype, copy=False)
    if single and new.ndim:
        new = new[(None,) * (x.ndim - new.ndim)]
        new = moveaxis(new, 0, dim) if scalar else new
    number = places.shape[0] if not single else (new.shape[dim] if new.ndim == x.ndim else 1)
    places = broadcast_to(places, (number,)) if single else places
    shape = (*x.shape[:dim], number, *x.shape[dim + 1 :])
    new = broadcast_to(new, shape)
    # New slices sort in front of the old ones of the same position.
    keys = concat([places, arange(size, device=x.device)])
    order = argsort(keys)
    return concat([new, x], axis=dim)[(*(slice(None),) * dim, order)]
