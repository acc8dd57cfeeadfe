"""Joining and splitting of tensors.

Numbers and lists among the arguments become tensors on the device of the first tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, SupportsIndex

import numpy as np

from tensorlayout.dtypes import as_dtype
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.manipulation import broadcast_shapes, moveaxis, reshape
from tensorlayout.functions.operands import as_tensor_on_device_of, as_tensor_sequence, as_tensors
from tensorlayout.functions.outputs import store_in_out
from tensorlayout.layout import Layout
from tensorlayout.plan import Join, View
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, DTypeLike, Integers

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]

Arrays = Tensor | Sequence[ArrayLike]

_CONCAT, _STACK = Join(), Join("stack")
_LEAD = View("stack", Layout.broadcast_to)
_BROADCAST = View("broadcast_arrays", Layout.broadcast_to)
_SELECT = View("unstack", lambda layout, dim, at: layout.slice((*[slice(None)] * dim, at)))
_SPEC = attrgetter("spec")


def _tensors_in_requested_dtype(arrays: Any, dtype: Any, casting: str) -> tuple[Tensor, ...]:
    """Return the tensors to join, in the requested dtype."""
    are_all_tensors = type(arrays) in (list, tuple) and {*map(type, arrays)} == {Tensor}
    parts = tuple(arrays if are_all_tensors else as_tensor_sequence(arrays))
    if dtype is None and type(casting) is str and casting == "same_kind":
        return parts
    kind = None if dtype is None else as_dtype(dtype, "dtype")
    for x in parts:
        arguments.check_casting(x.dtype, kind or x.dtype, casting)
    return parts if kind is None else tuple([x.astype(kind, copy=False) for x in parts])


def concat(
    arrays: Arrays,
    /,
    axis: SupportsIndex | None = 0,
    out: Tensor | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Tensor:
    """Join tensors along an existing axis.

    - `arrays`: tensors whose sizes are equal except along `axis`.
    - `axis`: the dimension to join along; None joins all elements in index order.
    - `out`: a tensor that receives the result.
    - `dtype`: the dtype of the result, if `casting` permits it; by default the promoted one.

    Returns a new tensor. Layout: packed in the order of the first tensor.

    Raises `ValueError` for no tensors and for unequal sizes, `AxisError` (a `ValueError`) for an
    axis that is out of bounds, and `TypeError` for an item that is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.concat([tl.asarray([[1, 2]]), tl.asarray([[3, 4], [5, 6]])])
    Tensor([[1, 2],
            [3, 4],
            [5, 6]], dtype=int64, device='cpu')
    """
    parts = _tensors_in_requested_dtype(arrays, dtype, casting)
    if axis is None:
        parts, axis = tuple(reshape(x, (-1,)) for x in parts), 0
    dim = axis if type(axis) is int else _axis_as_integer("concat", axis, arrays)
    result = dispatch.call(_CONCAT, (dim, *map(_SPEC, parts)), parts)
    return result if out is None else store_in_out("concat", result, out)


concatenate = concat


def _axis_as_integer(function_name: str, axis: Any, arrays: Arrays) -> int:
    # concat(x, y) passes the second tensor as `axis`.
    if isinstance(axis, (Tensor, np.ndarray)) and isinstance(arrays, (Tensor, np.ndarray)):
        raise TypeError(f"the tensors must be one sequence: {function_name}([x, y])")
    return arguments.as_integer("axis", axis)


def stack(
    arrays: Arrays,
    axis: SupportsIndex = 0,
    out: Tensor | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Tensor:
    """Join tensors of one shape along a new dimension at `axis`.

    - `arrays`: tensors of equal shapes.
    - `axis`: position of the new dimension in the result.
    - `out`: a tensor that receives the result.
    - `dtype`: the dtype of the result, if `casting` permits it; by default the promoted one.

    Returns a new tensor. Layout: packed in the order of the first tensor, with the new dimension
    slowest.

    Raises `ValueError` for no tensors and for unequal shapes, `AxisError` (a `ValueError`) for an
    axis that is out of bounds in the result, and `TypeError` for an item that is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.stack([tl.asarray([1, 2]), tl.asarray([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]], dtype=int64, device='cpu', layout='F')
    """
    parts = _tensors_in_requested_dtype(arrays, dtype, casting)
    # Equal specs are one object, so one look at the set settles most calls.
    if len({*map(_SPEC, parts)}) > 1 and any(x.shape != parts[0].shape for x in parts):
        raise ValueError(
            f"shapes must be equal, got {arguments.format_argument([x.shape for x in parts])}"
        )
    dim = arguments.normalize_axis(
        axis if type(axis) is int else _axis_as_integer("stack", axis, arrays), parts[0].ndim + 1
    )
    # A leading dimension that broadcasting adds is the most major one, whatever the order of the
    # rest (expand_dims keeps a column-major order); moved to its place afterwards, it stays so.
    lead_shape = (1, *parts[0].spec.layout.shape)
    parts = tuple([dispatch.call_view(_LEAD, x, lead_shape) for x in parts])
    joined = dispatch.call(_STACK, (0, *map(_SPEC, parts)), parts)
    result = moveaxis(joined, 0, dim) if dim else joined
    return result if out is None else store_in_out("stack", result, out)


def vstack(tup: Arrays, *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Tensor:
    """Stack the tensors `tup` vertically, along the first dimension; tensors of rank 1 are rows.

    `dtype` and `casting` are as in `concat`. Layout: packed in the order of the first tensor.

    Raises `ValueError` if `tup` is empty or other sizes than the first differ; `TypeError` if no
    element of `tup` is a tensor.

    >>> import tensorlayout as tl
    >>> tl.vstack([tl.asarray([1, 2]), tl.asarray([[3, 4], [5, 6]])]).shape
    (3, 2)
    """
    return concat([atleast_2d(x) for x in as_tensor_sequence(tup)], dtype=dtype, casting=casting)


def hstack(tup: Arrays, *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Tensor:
    """Join the tensors `tup` along the second dimension, or at rank 1 along the first.

    `dtype` and `casting` are as in `concat`. Layout: packed in the order of the first tensor.

    Raises `ValueError` if `tup` is empty or other sizes differ; `TypeError` if no element of `tup`
    is a tensor.

    >>> import tensorlayout as tl
    >>> tl.hstack([tl.asarray([[1], [2]]), tl.asarray([[3, 4], [5, 6]])]).shape
    (2, 3)
    """
    parts = [atleast_1d(x) for x in as_tensor_sequence(tup)]
    return concat(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Arrays) -> Tensor:
    """Stack the tensors `tup` along the third dimension.

    dtype: the promoted one. Layout: packed in the order of the first tensor.

    Raises `ValueError` if `tup` is empty or other sizes differ; `TypeError` if no element of `tup`
    is a tensor.

    >>> import tensorlayout as tl
    >>> tl.dstack([tl.asarray([1, 2]), tl.asarray([3, 4])]).shape
    (1, 2, 2)
    """
    return concat([atleast_3d(x) for x in as_tensor_sequence(tup)], 2)


def column_stack(tup: Arrays) -> Tensor:
    """Join the tensors `tup` along the second dimension; tensors of rank 1 are columns.

    dtype: the promoted one. Layout: packed in the order of the first tensor.

    Raises `ValueError` if `tup` is empty or other sizes differ; `TypeError` if no element of `tup`
    is a tensor.

    >>> import tensorlayout as tl
    >>> tl.column_stack([tl.asarray([1, 2]), tl.asarray([3, 4])])
    Tensor([[1, 3],
            [2, 4]], dtype=int64, device='cpu')
    """
    return concat([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in as_tensor_sequence(tup)], 1)


def append(arr: Tensor, values: ArrayLike, axis: SupportsIndex | None = None) -> Tensor:
    """Append `values` to `arr` along `axis`; None joins all elements in index order.

    dtype: the promoted one. Layout: packed in the order of `arr`.

    Raises `ValueError` if sizes other than along `axis` differ, and (`AxisError`) if `axis` is out
    of bounds; `TypeError` if `arr` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.append(tl.asarray([1, 2]), [3])
    Tensor([1, 2, 3], dtype=int64, device='cpu')
    """
    return concat(as_tensors(arr, values, weak=False), axis)


# --- to one rank, to one shape -----------------------------------------------------------------


def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[Tensor, ...]:
    """Return views of all tensors, broadcast to their common shape.

    `subok` has no effect. Any dtypes, kept. Repeated dimensions have stride 0; such views are
    read-only.

    Raises `ValueError` if the shapes do not broadcast; `TypeError` for arguments without a tensor.

    >>> import tensorlayout as tl
    >>> rows, columns = tl.broadcast_arrays(tl.asarray([[1], [2]]), tl.asarray([3, 4, 5]))
    >>> rows.layout, columns.layout
    (Layout.parse('(2,3):(1,0)'), Layout.parse('(2,3):(0,1)'))
    """
    parts = as_tensors(*args, weak=False) if args else []
    shape = broadcast_shapes(*[x.shape for x in parts])
    return tuple([dispatch.call_view(_BROADCAST, x, shape) for x in parts])


def _map_tensors(function: Callable[[Tensor], Tensor], arys: Sequence[Any]) -> Any:
    if not arys:
        raise TypeError("must be called with at least one tensor")
    results = tuple([function(x) for x in as_tensors(*arys)])
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: ArrayLike) -> Any:
    """Return views with rank at least 1; a tuple for several tensors.

    Any dtypes, kept.

    Raises `TypeError` if an argument is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.atleast_1d(tl.asarray(5)).shape
    (1,)
    """
    return _map_tensors(lambda x: x if x.ndim else x[None], arys)


def atleast_2d(*arys: ArrayLike) -> Any:
    """Return views with rank at least 2, vectors as rows; a tuple for several tensors.

    Any dtypes, kept.

    Raises `TypeError` if an argument is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.atleast_2d(tl.asarray([5, 6])).shape
    (1, 2)
    """
    return _map_tensors(lambda x: x[(None,) * max(2 - x.ndim, 0)], arys)


def atleast_3d(*arys: ArrayLike) -> Any:
    """Return views with rank at least 3; a tuple for several tensors.

    Any dtypes, kept.

    Raises `TypeError` if an argument is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.atleast_3d(tl.asarray([5, 6])).shape
    (1, 2, 1)
    """
    # NumPy's rule: a vector (n,) becomes (1, n, 1), and a matrix (m, n) becomes (m, n, 1).
    keys: dict[int, Any] = {0: (None, None, None), 1: (None, ..., None), 2: (..., None)}
    return _map_tensors(lambda x: x[keys.get(x.ndim, ...)], arys)


# --- blocks ------------------------------------------------------------------------------------


def block(arrays: Any) -> Tensor:
    """Join tensors in nested lists: innermost lists along the last dimension, and so on outwards.

    `arrays` are lists, equally deep, of tensors and numbers, with at least one tensor. dtype: the
    promoted one. Layout: packed in the order of the first tensor.

    Raises `ValueError` for empty lists, lists of unequal depth and sizes that do not match;
    `TypeError` if there is no tensor.

    >>> import tensorlayout as tl
    >>> tl.block([[tl.ones((1, 2)), tl.zeros((1, 1))], [tl.asarray([2.0, 2.0, 2.0])]])
    Tensor([[1., 1., 0.],
            [2., 2., 2.]], dtype=float64, device='cpu')
    """
    depth = _nesting_depth(arrays)
    parts = [x for x in _flatten_nested_lists(arrays) if isinstance(x, Tensor)]
    if not parts:
        raise TypeError("needs at least one tensor")
    result = _join_nested_lists(arrays, depth, max(depth, *[x.ndim for x in parts]), parts[0])
    # Without lists nothing is joined, and the result would be the argument itself.
    return result.copy() if isinstance(arrays, Tensor) else result


def _flatten_nested_lists(arrays: Any) -> list[Any]:
    if not isinstance(arrays, list):
        return [arrays]
    return [leaf for item in arrays for leaf in _flatten_nested_lists(item)]


def _nesting_depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_nesting_depth(item) for item in arrays}
    if len(depths) != 1:
        raise ValueError("lists must not be empty, and equally deep")
    return 1 + depths.pop()


def _join_nested_lists(arrays: Any, depth: int, rank: int, first: Tensor) -> Tensor:
    if not isinstance(arrays, list):
        x = (
            arrays
            if isinstance(arrays, Tensor)
            else as_tensor_on_device_of(arrays, first, weak=False)
        )
        # All parts get the rank of the result. A list at depth d is joined along the d-th dimension
        # from the end: innermost lists, of depth 1, along the last.
        return x[(None,) * (rank - x.ndim)]
    parts = [_join_nested_lists(item, depth - 1, rank, first) for item in arrays]
    return concat(parts, rank - depth)


# --- taken apart -------------------------------------------------------------------------------

# So many are already gigabytes of Python objects.
_MOST_VIEWS = 2**24


def unstack(x: Tensor, /, *, axis: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Return a tuple of views, the slices along `axis` without that dimension.

    Any dtype.

    Raises `ValueError` for more than 2**24 slices, and (`AxisError`) if `axis` is out of bounds;
    `TypeError` if `axis` is not an integer.

    >>> import tensorlayout as tl
    >>> left, right = tl.unstack(tl.asarray([[1, 2], [3, 4]]), axis=1)
    >>> right
    Tensor([2, 4], dtype=int64, device='cpu', layout='(2,):(2,)+1')
    """
    x = arguments.as_tensor(x)
    dim = arguments.normalize_axis(axis, x.ndim)
    # Every slice becomes a Python object, and a broadcast dimension of huge size costs no memory.
    if x.shape[dim] > _MOST_VIEWS:
        raise ValueError(f"at most {_MOST_VIEWS} tensors are made, got shape {x.shape}")
    return tuple(dispatch.call(_SELECT, (x.spec, dim, i), (x,)) for i in range(x.shape[dim]))


def split(
    ary: Tensor, indices_or_sections: Tensor | Integers, axis: SupportsIndex = 0
) -> list[Tensor]:
    """Split `ary` along `axis` into equal parts, or at indices.

    - `indices_or_sections`: the number of parts, or the first index of each part but the first.
    - `axis`: the dimension to split.

    Returns a list of views; any dtype.

    Raises `ValueError` if equal parts are not possible, and `AxisError` (a `ValueError`) for an
    axis that is out of bounds.

    >>> import tensorlayout as tl
    >>> [part.tolist() for part in tl.split(tl.arange(6), 3)]
    [[0, 1], [2, 3], [4, 5]]
    """
    return _split_along_axis(ary, indices_or_sections, axis, equal=True)


def array_split(
    ary: Tensor, indices_or_sections: Tensor | Integers, axis: SupportsIndex = 0
) -> list[Tensor]:
    """Split `ary` along `axis` into views; the first parts are one longer if needed.

    `indices_or_sections` is the number of parts, or the start of each part but the first. Any
    dtype.

    Raises `ValueError` for fewer parts than one, and (`AxisError`) if `axis` is out of bounds;
    `TypeError` if a number is not an integer.

    >>> import tensorlayout as tl
    >>> [part.tolist() for part in tl.array_split(tl.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    return _split_along_axis(ary, indices_or_sections, axis, equal=False)


def _split_along_axis(ary: Any, sections: Any, axis: Any, *, equal: bool) -> list[Tensor]:
    x = arguments.as_tensor(ary)
    dim = arguments.normalize_axis(axis, x.ndim)
    size, outer_slices = x.shape[dim], (slice(None),) * dim
    # Bounds are Python integers, which a tensor or an array of them gives as a list.
    plain_sections = sections.tolist() if hasattr(sections, "tolist") else sections
    bounds = arguments.as_integers(plain_sections, "indices_or_sections", allow_none=False)
    if isinstance(bounds, int):
        if bounds < 1:
            raise ValueError(f"the number of parts must be at least 1, got {bounds}")
        if equal and size % bounds:
            raise ValueError(f"{size} elements cannot be split into {bounds} equal parts")
        part_size, longer_count = divmod(size, bounds)
        # Part i begins after i parts, of which the first `longer_count` have one element more: 5
        # elements in 2 parts are split at 3.
        bounds = tuple(i * part_size + min(i, longer_count) for i in range(1, bounds))
    part_bounds = zip((0, *bounds), (*bounds, None), strict=True)
    return [x[(*outer_slices, slice(first, last))] for first, last in part_bounds]


def hsplit(ary: Tensor, indices_or_sections: Tensor | Integers) -> list[Tensor]:
    """Split `ary` along the second dimension, or at rank 1 along the first. Returns views.

    `indices_or_sections` is as in `split`. Any dtype.

    Raises `ValueError` at rank 0 and if the parts are not equal; `TypeError` if a number is not an
    integer.

    >>> import tensorlayout as tl
    >>> [part.shape for part in tl.hsplit(tl.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_with_min_rank(ary, indices_or_sections, 1, 1)


def vsplit(ary: Tensor, indices_or_sections: Tensor | Integers) -> list[Tensor]:
    """Split `ary` along the first dimension. Returns views.

    `indices_or_sections` is as in `split`. Any dtype.

    Raises `ValueError` below rank 2 and if the parts are not equal; `TypeError` if a number is not
    an integer.

    >>> import tensorlayout as tl
    >>> [part.shape for part in tl.vsplit(tl.zeros((2, 4)), 2)]
    [(1, 4), (1, 4)]
    """
    return _split_with_min_rank(ary, indices_or_sections, 0, 2)


def dsplit(ary: Tensor, indices_or_sections: Tensor | Integers) -> list[Tensor]:
    """Split `ary` along the third dimension. Returns views.

    `indices_or_sections` is as in `split`. Any dtype.

    Raises `ValueError` below rank 3 and if the parts are not equal; `TypeError` if a number is not
    an integer.

    >>> import tensorlayout as tl
    >>> [part.shape for part in tl.dsplit(tl.zeros((2, 3, 4)), [1])]
    [(2, 3, 1), (2, 3, 3)]
    """
    return _split_with_min_rank(ary, indices_or_sections, 2, 3)


def _split_with_min_rank(ary: Any, sections: Any, axis: int, min_rank: int) -> list[Tensor]:
    x = arguments.as_tensor(ary)
    if x.ndim < min_rank:
        raise ValueError(f"needs a rank of at least {min_rank}, got shape {x.shape}")
    # hsplit cuts a vector along its only dimension.
    return _split_along_axis(x, sections, min(axis, x.ndim - 1), equal=True)
