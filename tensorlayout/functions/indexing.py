"""Indexing: ``x[key]`` and ``x[key] = value`` for every key of the standard."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Any

import numpy as np

from tensorlayout import dtypes, plan
from tensorlayout.errors import REFUSALS, finalize_public_error, prefix_operation_name
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import primitives as xp
from tensorlayout.functions.arrays import import_array, tensor_from_sequence
from tensorlayout.functions.transfers import ensure_strided, move_to_device
from tensorlayout.layout import MOST_ENTRIES, Layout
from tensorlayout.tensor import Tensor


def _view_layout_of_tiled(layout: Layout, key: tuple[Any, ...]) -> Layout | None:
    """Apply a basic index, with slices as tuples, to a tiled layout; None if there is no view."""
    return layout.slice(tuple(slice(*e) if isinstance(e, tuple) else e for e in key))


_INDEX = {name: plan.Index(name) for name in ("__getitem__", "__setitem__")}
_CUT = {name: plan.View(name, _view_layout_of_tiled) for name in _INDEX}
_ROW = plan.Row()
_ROW_TO_WRITE = plan.Row("__setitem__")
_GATHER = plan.Gather()
_SELECT = plan.Select()
_SCATTER = plan.Scatter()
_MASKED = plan.Masked()
_ASSIGN = plan.Assign()


def getitem(x: Tensor, key: Any) -> Tensor:
    """Return ``x[key]``: a view for integers, slices, Ellipsis and None, otherwise a packed tensor.

    Raises `IndexError` if a position is out of bounds, before anything is read.
    """
    name = "__getitem__"
    try:
        # The most frequent keys come first, without the steps that prepare other keys. A tensor of
        # rank 0 is not among them: it counts as an integer or as a bool.
        if type(key) is int:
            return dispatch.call_view(_ROW, x, None, key)
        if type(key) is Tensor and key.spec.layout.shape and x.spec.layout.shape:
            if key.spec.dtype.kind in "iu":
                return dispatch.call(_GATHER, (x.spec, (0,), False, key.spec), (x, key))
            if key.spec.dtype.kind == "b":
                return dispatch.call(_SELECT, (x.spec, 0, False, key.spec), (x, key))
        result = _basic_view_or_none(name, x, key if type(key) is tuple else (key,))
        if result is not None:
            return result
        # Entries such as NumPy's integers become plain ones, which may make the key basic after
        # all.
        items = _normalize_key(name, x, key)
        result = _basic_view_or_none(name, x, items)
        if result is not None:
            return result
        view, data, dims, positions_first = _split_advanced_key(name, x, items)
        if _has_single_mask(data):
            of = (view.spec, dims[0], positions_first, data[0].spec)
            return dispatch.call(_SELECT, of, (view, *data))
        data, dims = _masks_to_positions(view, data, dims)
        specs = (p.spec for p in data)
        return dispatch.call(_GATHER, (view.spec, dims, positions_first, *specs), (view, *data))
    except REFUSALS as error:
        raise finalize_public_error(error, name) from error.__cause__


def setitem(x: Tensor, key: Any, value: Any) -> None:
    """Assign ``x[key] = value``, as if `value` and the tensors in `key` had been copied first.

    The layout of `x` stays; `value` is converted and broadcast, without surplus leading dimensions
    of size 1. The last write to a repeated position wins. Raises `IndexError` as ``x[key]`` does.
    """
    try:
        write_at_key(_SCATTER, x, key, value)
    except REFUSALS as error:
        raise finalize_public_error(error, "__setitem__") from error.__cause__


def write_at_key(scatter: plan.Scatter, x: Tensor, key: Any, value: Any) -> None:
    """Run `setitem` under the name of another function, which `scatter` carries."""
    name = scatter.name
    arguments.check_writable(x)
    if type(value) is not Tensor and type(value) not in dtypes.SCALARS:
        value = _as_assigned_value(name, x, value)
    # Writes behind views need strides. The tensor is written as a strided copy and then assigned as
    # a whole, so that elements outside of the key are written as they were.
    if not x.spec.layout.is_strided and not _is_view_or_whole(name, x, key):
        whole = ensure_strided("__setitem__", x)
        write_at_key(scatter, whole, key, value)
        key, value = ..., whole
    items: tuple[Any, ...] = ()
    if key is ...:
        part: Tensor | None = x
    elif type(key) is int:
        part = dispatch.call_view(_ROW_TO_WRITE, x, None, key)
    else:
        part = _basic_view_or_none(name, x, key if type(key) is tuple else (key,))
        if part is None:
            items = _normalize_key(name, x, key)
            part = _basic_view_or_none(name, x, items)
    if part is not None:
        kind: Any = type(value)
        if kind is Tensor:
            # NumPy drops leading dimensions of size 1: x[0] = y works for a `y` of shape (1, 3).
            surplus = value.ndim - part.ndim
            if surplus > 0 and set(value.shape[:surplus]) == {1}:
                value = _basic_view(name, value, (0,) * surplus)
            kind = value.spec
        dispatch.call(_ASSIGN, (part.spec, kind), (part, value))
        return
    kind = value.spec if type(value) is Tensor else type(value)
    view, data, dims, positions_first = _split_advanced_key(name, x, items)
    if _has_single_mask(data):
        key = (view.spec, kind, dims[0], positions_first, data[0].spec)
        dispatch.call(_MASKED, key, (view, value, *data))
        return
    data, dims = _masks_to_positions(view, data, dims)
    key = (view.spec, kind, dims, positions_first, *(p.spec for p in data))
    dispatch.call(scatter, key, (view, value, *data))


def _is_view_or_whole(name: str, x: Tensor, key: Any) -> bool:
    """Return True if a key selects a view of a tensor without strides, or the whole tensor."""
    if key is ...:
        return True
    layout, items = x.spec.layout, _normalize_key(name, x, key)
    if _basic_cuts_and_first_slot(layout, items) is None:
        # One tensor indexes `x` itself, which the executor can replace by a copy. More items mean a
        # view in between, and tiles may have no such view.
        return len(items) == 1
    view = layout.slice(items)
    # A view must begin at a whole byte, because memory is addressed in bytes.
    return view is not None and (view.slot_bits is None or view.lowest * view.slot_bits % 8 == 0)


def _as_assigned_value(name: str, x: Tensor, value: Any) -> Any:
    """Convert a value to assign: an array to a tensor on x's device, a number to a scalar."""
    if isinstance(value, (list, tuple)):  # range-checked like a single number
        whole = dtypes.is_in_category(x.dtype, "integral")
        result = tensor_from_sequence(name, value, x.dtype if whole else None)
    elif isinstance(value, (np.generic, int, float, complex)):
        result = arguments.as_operand(value)
    else:
        try:
            # Bytes have the buffer protocol, but are not numbers to assign.
            shared = None if isinstance(value, bytes) else import_array(value, None, None)
        except TypeError:
            if not isinstance(value, np.ndarray):
                raise
            raise TypeError(f"value must be an array of numbers, got {value.dtype}") from None
        if shared is None:
            msg = (
                "value must be a tensor, an array or numbers, got "
                f"{arguments.format_argument(value)}"
            )
            raise TypeError(msg)
        result = shared[0]
    return move_to_device(result, x.device) if isinstance(result, Tensor) else result


def _has_single_mask(data: tuple[Tensor, ...]) -> bool:
    return len(data) == 1 and data[0].dtype == dtypes.bool


def _masks_to_positions(
    view: Tensor, data: tuple[Tensor, ...], dims: tuple[int, ...]
) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """Replace masks by the positions of True, one tensor for each dimension."""
    results: list[Tensor] = []
    reached: list[int] = []
    for item, first in zip(data, dims, strict=True):
        item_positions: tuple[Tensor, ...] = (item,)
        if item.dtype == dtypes.bool:
            plan.check_mask_shape(item.shape, view.shape[first : first + item.ndim])
            item_positions = xp.nonzero(item)
        results += item_positions
        reached += range(first, first + len(item_positions))
    # NumPy checks no bounds if there is nothing to index. Broadcast, each of the tensors is empty.
    if len(results) > 1 and any(p.size == 0 for p in results):
        spread = plan.positions_broadcast_shape([p.spec for p in results])
        results = [xp.broadcast_to(p, spread) for p in results]
    return tuple(results), tuple(reached)


def _split_advanced_key(
    name: str, x: Tensor, items: tuple[Any, ...]
) -> tuple[Tensor, tuple[Tensor, ...], tuple[int, ...], bool]:
    """Split a key with tensors, as NumPy does, into a view, tensors, and the dimensions they index.

    The tensors index dimensions of the view from `dims` on. The last item is True if slices stand
    between them (an integer counts as a tensor): their dimensions then come first in the result.
    """
    if len(items) == 1 and isinstance(items[0], Tensor) and x.ndim:
        only = items[0]
        if only.dtype != dtypes.bool or only.ndim <= x.ndim:
            return x, items, (0,), False  # fast path for the most common key
    basic: list[Any] = []
    data: list[Tensor] = []
    dims: list[int] = []
    dim = 0  # in the view
    # Each entry of the key contributes to `basic`, the key of the view, in which ':' stands for a
    # dimension that a tensor indexes. In x[:, p, 0] the view is x[:, :, 0], and `p` indexes its
    # dimension 1.
    for item in _fill_ellipsis(x, items):
        kind: list[Any]
        if isinstance(item, bool):  # a new dimension of size 1 or 0
            item, kind = xp.asarray([item], device=x.device), [None]
        elif isinstance(item, Tensor) and item.dtype == dtypes.bool and not item.ndim:
            item, kind = item[None], [None]
        elif isinstance(item, Tensor):
            kind = [slice(None)] * (item.ndim if item.dtype == dtypes.bool else 1)
        else:
            kind = [item]
        if isinstance(item, Tensor):
            data.append(item)
            dims.append(dim)
        basic += kind
        # An integer has removed its dimension from the view.
        dim += sum(k is None or isinstance(k, slice) for k in kind)
    view = x if all(k == slice(None) for k in basic) else _basic_view(name, x, tuple(basic))
    # NumPy's rule: tensors, integers and bools side by side leave the result's dimensions in place;
    # runs with anything between them, even an Ellipsis for no dimensions, put theirs first.
    # `starts` marks the first item of each run.
    advanced = [isinstance(item, (int, Tensor)) for item in items]
    starts = [a and not b for a, b in zip(advanced, [False, *advanced], strict=False)]
    return view, tuple(data), tuple(dims), sum(starts) > 1


_ONE_ELLIPSIS = "an index can only have a single ellipsis ('...')"


def _fill_ellipsis(x: Tensor, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key with an entry for every dimension of `x`, without an Ellipsis."""
    used, at, ellipses = 0, len(items), 0  # indexed dimensions, position of the Ellipsis
    for i, item in enumerate(items):
        if item is ...:
            at, ellipses = i, ellipses + 1
        elif isinstance(item, Tensor) and item.dtype == dtypes.bool:
            used += item.ndim
        elif item is not None and not isinstance(item, bool):
            used += 1
    rest = x.spec.layout.ndim - used
    if ellipses > 1:
        raise IndexError(_ONE_ELLIPSIS)
    if rest < 0:
        raise plan.too_many_indices_error(used, x.shape)
    # An Ellipsis that stands for no dimensions is left out below.
    if not rest and not ellipses:
        return items
    return (*items[:at], *[slice(None)] * rest, *items[at + 1 :])


def _normalize_key(name: str, x: Tensor, key: Any) -> tuple[Any, ...]:
    if isinstance(key, tuple):
        if len(key) > MOST_ENTRIES:
            raise plan.too_many_indices_error(len(key), x.shape)
        return tuple([_normalize_key_entry(name, x, item) for item in key])
    return (_normalize_key_entry(name, x, key),)


def _normalize_key_entry(name: str, x: Tensor, item: Any) -> Any:
    """Convert an entry of a key to an int, slice, None, Ellipsis, bool, or tensor of positions."""
    if type(item) is int or item is None or item is ... or isinstance(item, (bool, slice)):
        return item
    if isinstance(item, (np.ndarray, list)):
        item = _index_array_to_tensor(name, item)
        # An empty list has no kind of number, so it was read as float64. It is a valid index, as in
        # NumPy.
        if item.size == 0 and item.dtype == dtypes.float64:
            item = xp.asarray(np.empty(item.shape, np.int64))
        is_integer = item.ndim == 0 and item.dtype != dtypes.bool
        item = item if is_integer else move_to_device(item, x.device)
    if isinstance(item, Tensor):
        if not dtypes.is_in_category(item.dtype, "integer or boolean"):
            raise IndexError(f"positions must be integers or booleans, got dtype {item.dtype}")
        return int(item) if item.ndim == 0 and item.dtype != dtypes.bool else item
    if isinstance(item, np.bool_):
        return bool(item)
    if hasattr(item, "__index__"):
        return item.__index__()
    rule = "an index must be an integer, a slice, None, Ellipsis, or an integer or boolean tensor"
    raise IndexError(f"{rule}, got {arguments.format_argument(item)}")


def _index_array_to_tensor(name: str, item: Any) -> Tensor:
    """Convert an array or a list of positions to a tensor."""
    try:
        return (
            xp.asarray(item)
            if isinstance(item, np.ndarray)
            else tensor_from_sequence(name, item, None)
        )
    except (TypeError, OverflowError):
        msg = f"positions must be integers or booleans, got {arguments.format_argument(item)}"
        raise IndexError(msg) from None


def _basic_view_or_none(name: str, x: Tensor, items: tuple[Any, ...]) -> Tensor | None:
    """Return the view that a basic key selects; None for a key with other entries."""
    key_cuts = _basic_cuts_and_first_slot(x.spec.layout, items)
    if key_cuts is None:
        return None
    cuts, first = key_cuts
    if x.spec.layout.is_tiled:
        key = list(items)
        # The layout itself cuts tiles. Slices become tuples, since they have hashes only from
        # Python 3.12 on.
        for at, item in enumerate(items):
            if isinstance(item, slice):  # bounds may have `__index__`
                bounds = (item.start, item.stop, item.step)
                key[at] = tuple([None if bound is None else index(bound) for bound in bounds])
        return dispatch.call(_CUT[name], (x.spec, tuple(key)), (x,))
    return dispatch.call_view(_INDEX[name], x, tuple(cuts), first)


def _basic_view(name: str, x: Tensor, items: tuple[Any, ...]) -> Tensor:
    """Return the view that a key of integers, slices and None selects."""
    result = _basic_view_or_none(name, x, items)
    assert result is not None
    return result


def _basic_cuts_and_first_slot(
    layout: Layout, items: tuple[Any, ...]
) -> tuple[list[Any], int] | None:
    """Return a basic key's cut for each dimension and its first slot; None for other keys.

    The entries are `Cut`s; for a tiled layout, they and the slot are meaningless. None for a key
    with entries other than exact integers, slices, Ellipsis or None.
    """
    shape = layout.shape
    # A tiled dimension has no single stride, so any numbers serve: for tiles only the checks and
    # the kind of key matter here.
    strides = shape if layout.is_tiled else layout.strides
    ndim, dim, first = len(shape), 0, layout.offset
    cuts: list[Any] = []
    for item in items:
        kind = type(item)
        if kind is int or kind is slice:
            if dim == ndim:
                _refuse_long_basic_key(items, shape)
                return None
            size, stride = shape[dim], strides[dim]
            dim += 1
        if kind is int:
            # Checked here, because the position becomes part of the first slot, and the plan never
            # sees it.
            if not -size <= item < size:
                raise plan.index_out_of_bounds_error(item, dim - 1, shape)
            cuts.append("int")
            first += (item if item >= 0 else item + size) * stride
        elif kind is slice:
            try:
                start, stop, step = item.indices(size)
            except ValueError:
                msg = f"the step of a slice must not be 0, got {arguments.format_argument(item)}"
                raise ValueError(msg) from None
            except TypeError:
                msg = f"a slice must be of integers or None, got {arguments.format_argument(item)}"
                raise TypeError(msg) from None
            # The length rounded up, for either sign of the step: 1 for 0 to 2 by 5, and 2 for 3 to
            # 0 by -2.
            count = (stop - start + step - (1 if step > 0 else -1)) // step
            # The start of an empty slice may be behind the last element, and no view may begin
            # there.
            if count > 0:
                first += start * stride
            # With less than two elements the step has no meaning. All such slices share one plan.
            if count < 2:
                count, step = max(count, 0), 1
            cuts.append((count, step))
        elif item is None:
            cuts.append("new")
        elif item is ...:
            kinds = [*map(type, items)]
            # The dimensions left for the Ellipsis: all but those of the integers and slices in the
            # key.
            rest = ndim - len(items) + kinds.count(type(None)) + 1
            if not {*kinds} <= _BASIC or rest < 0 or kinds.count(type(...)) > 1:
                _refuse_long_basic_key(items, shape)
                return None
            cuts += [(n, 1) for n in shape[dim : dim + rest]]
            dim += rest
        else:
            return None
    if dim < ndim:
        cuts += [(n, 1) for n in shape[dim:]]
    if len(items) > MOST_ENTRIES:
        _refuse_long_basic_key(items, shape)
        return None
    return cuts, first


_BASIC = {int, slice, type(None), type(...)}


def _refuse_long_basic_key(items: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Raise the error for a basic key with too many entries; other keys are checked later."""
    if {*map(type, items)} <= _BASIC:
        if items.count(...) > 1:
            raise IndexError(_ONE_ELLIPSIS)
        count = len([item for item in items if item is not None and item is not ...])
        # New dimensions count only towards the limit of entries.
        raise plan.too_many_indices_error(count if count > len(shape) else len(items), shape)


def iterate_slices(x: Tensor) -> Iterator[Tensor]:
    """Return the slices along the first dimension."""
    layout = x.spec.layout
    if not layout.shape:
        raise prefix_operation_name("iter", TypeError("a tensor of rank 0 cannot be iterated over"))
    view = dispatch.call_view
    # An expression and not `yield`, so that rank 0 raises the error in iter(), not in the first
    # next().
    return (view(_ROW, x, None, at) for at in range(layout.shape[0]))
