"""Elements selected by positions and conditions, left out, or inserted, in new tensors.

A condition is numbers of any dtype, a tensor, an array or a list; true is what is not 0.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import (
    as_bool_tensor,
    as_tensor_on_device_of,
    as_tensors,
    asarray_unless_tensor,
    check_finite,
    operand_and_dim,
    promote_tensors,
)
from tensorlayout.functions.outputs import store_in_out
from tensorlayout.functions.positions import (
    Mode,
    as_integer_tensor,
    check_positions,
    first_position_outside,
    wrap_or_clip_positions,
)
from tensorlayout.plan import Gather, broadcast_shape
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike

__all__ = [
    "choose",
    "compress",
    "delete",
    "extract",
    "insert",
    "piecewise",
    "select",
    "take",
    "take_along_axis",
]

_TAKE = Gather("take")
_TAKE_ALONG = Gather("take_along_axis")


def take(
    a: Tensor,
    indices: ArrayLike,
    axis: SupportsIndex | None = None,
    out: Tensor | None = None,
    mode: Mode = "raise",
) -> Tensor:
    """Take slices of `a` at `indices` along `axis`, or elements at positions in index order.

    - `indices`: integers of any shape.
    - `axis`: a dimension; None takes elements at positions in row-major index order.
    - `out`: a tensor that receives the result.
    - `mode`: rule for indices out of bounds: ``raise`` an IndexError (negative ones count from the
      end), ``clip`` to the nearest, or ``wrap`` around.

    Returns a new tensor of any dtype, kept; never a view. Layout: packed in the order of `a`, with
    the dimensions of `indices` in place of `axis`.

    Raises `TypeError` for indices of other dtypes, and `IndexError` as above.

    >>> import tensorlayout as tl
    >>> tl.take(tl.asarray([[1, 2, 3], [4, 5, 6]]), tl.asarray([2, 0]), axis=1)
    Tensor([[3, 1],
            [6, 4]], dtype=int64, device='cpu')
    """
    if type(a) is Tensor and type(axis) is int and 0 <= axis < len(a.spec.layout.shape):
        dim = axis  # the usual case, without a call
    else:
        a, dim = operand_and_dim(a, axis)
    # An integer beyond int64 is out of bounds as well, but as an array it would raise another
    # error.
    if type(indices) is int and mode == "raise" and not -a.shape[dim] <= indices < a.shape[dim]:
        msg = f"index {arguments.format_argument(indices)} is out of bounds for size {a.shape[dim]}"
        raise IndexError(msg)
    positions = indices if type(indices) is Tensor else xp.asarray(indices, device=a.device)
    # An empty list has no dtype, and was read as float64.
    if type(indices) in (list, tuple) and positions.size == 0:
        positions = xp.astype(positions, dtypes.int64)
    places = as_integer_tensor(positions)
    if mode != "raise":
        places = wrap_or_clip_positions(places, a.shape[dim], mode)
    result = dispatch.call(_TAKE, (a.spec, (dim,), False, places.spec), (a, places))
    return result if out is None else store_in_out("take", result, out)


def take_along_axis(arr: Tensor, indices: ArrayLike, axis: SupportsIndex | None = -1) -> Tensor:
    """Return the elements along `axis` at the positions in the matching line of `indices`.

    - `indices`: integers with the rank of `arr`; other sizes broadcast. Negative ones count from
      the end.
    - `axis`: a dimension; None treats `arr` as one line in index order.

    Returns a new tensor of any dtype, kept. Layout: packed in the order of `arr`.

    Raises `IndexError` for an index that is out of bounds.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[30, 10, 20]])
    >>> tl.take_along_axis(x, tl.argsort(x))
    Tensor([[10, 20, 30]], dtype=int64, device='cpu')
    """
    x, dim = operand_and_dim(arr, axis)
    places = indices if type(indices) is Tensor else as_tensor_on_device_of(indices, x)
    places = as_integer_tensor(places)
    if x.ndim != places.ndim:
        raise ValueError(f"ranks must be equal, got shapes {x.shape} and {places.shape}")
    # Sizes along `dim` may differ: the result has as many elements there as `indices`.
    shape, other = (_replace_size(s, dim, 1) for s in (x.shape, places.shape))
    if shape != other:
        shape = broadcast_shape((shape, other))
        x = xp.broadcast_to(x, _replace_size(shape, dim, x.shape[dim]))
        places = xp.broadcast_to(places, _replace_size(shape, dim, places.shape[dim]))
    return dispatch.call(_TAKE_ALONG, (x.spec, (dim,), None, places.spec), (x, places))


def _replace_size(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    return (*shape[:dim], size, *shape[dim + 1 :])


def compress(
    condition: ArrayLike, a: Tensor, axis: SupportsIndex | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the slices along `axis`, or the elements in index order, whose `condition` is true.

    `condition` has rank 1 and at most as many elements as there are to choose from; `out` receives
    the result. Any dtype, kept. Layout: packed in the order of `a`.

    Raises `ValueError` if the rank of `condition` is not 1, and (`AxisError`) if `axis` is out of
    bounds; `IndexError` if `condition` is true beyond the end.

    >>> import tensorlayout as tl
    >>> tl.compress([True, False], tl.asarray([[1, 2], [3, 4]]), axis=1)
    Tensor([[1],
            [3]], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(a)
    mask = as_bool_tensor(condition, x)
    if mask.ndim != 1:
        raise ValueError(f"the condition must be of rank 1, got shape {mask.shape}")
    size = x.size if axis is None else x.shape[arguments.normalize_axis(axis, x.ndim)]
    _check_true_elements_fit(mask, size)
    return take(x, xp.nonzero(mask)[0], axis, out)


def _check_true_elements_fit(mask: Tensor, size: int) -> None:
    """Raise IndexError, under the name of the caller, for a true element beyond `size`."""
    if mask.size > size:
        beyond = xp.nonzero(mask[size:])[0]
        if beyond.size:
            last = size + int(beyond[-1])
            raise IndexError(f"index {last} is out of bounds for size {size}")


def extract(condition: ArrayLike, arr: Tensor) -> Tensor:
    """Return the elements of `arr`, in index order, where `condition` is true.

    Any dtype, kept. Layout: row-major, of rank 1.

    Raises `IndexError` if `condition` is true beyond the last element; `TypeError` if `arr` is not
    a tensor.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[1, 2], [3, 4]])
    >>> tl.extract(x > 2, x)
    Tensor([3, 4], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(arr)
    mask = xp.reshape(as_bool_tensor(condition, x), (-1,))
    _check_true_elements_fit(mask, x.size)
    return take(x, xp.nonzero(mask)[0])


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Tensor:
    """Choose each element from the tensor whose condition is the first true one, else `default`.

    `condlist` and `choicelist` have the same length; their shapes broadcast. dtype: the promoted
    one of all choices. Layout: the form of the choices.

    Raises `ValueError` if the lists are empty, their lengths differ or the shapes do not broadcast;
    `TypeError` if there is no tensor.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([1, 2, 3])
    >>> tl.select([x < 2, x > 2], [x, x * 10], -1)
    Tensor([ 1, -1, 30], dtype=int64, device='cpu')
    """
    arguments.check_sequence(condlist, "condlist")
    arguments.check_sequence(choicelist, "choicelist")
    if len(condlist) != len(choicelist) or not condlist:
        sizes = f"got {len(condlist)} and {len(choicelist)}"
        raise ValueError(f"condlist and choicelist must have equal lengths of at least 1, {sizes}")
    reference = as_tensors(*choicelist, *condlist)[0]
    choices = [*choicelist, default]
    arrays = [
        as_tensor_on_device_of(x, reference) for x in choices if type(x) not in dtypes.SCALARS
    ]
    # Python numbers take the dtype of all others.
    if arrays:
        reference = promote_tensors(arrays)[0]
    parts = promote_tensors([as_tensor_on_device_of(x, reference) for x in choices])
    conditions = [as_bool_tensor(x, reference) for x in condlist]
    # The default first, and conditions from the last to the first, so that the first true one wins.
    result = parts.pop()
    for condition, part in reversed(list(zip(conditions, parts, strict=True))):
        result = xp.where(condition, part, result)
    return result


def choose(
    a: ArrayLike,
    choices: Sequence[ArrayLike] | Tensor,
    out: Tensor | None = None,
    mode: Mode = "raise",
) -> Tensor:
    """Choose each element from the tensor of `choices` with the number in `a`.

    - `a`: integers.
    - `choices`: tensors or numbers; `a` or one of them is a tensor. Shapes broadcast.
    - `out`: receives the result.
    - `mode`: for a number out of bounds: ``raise`` a ValueError, ``clip`` to the nearest, ``wrap``
      around.

    dtype: the promoted one of all choices. Layout: the form of the choices.

    Raises `ValueError` as `mode` says, and if shapes do not broadcast; `TypeError` if `a` is not of
    integers.

    >>> import tensorlayout as tl
    >>> tl.choose(tl.asarray([0, 1, 1]), [tl.asarray([1, 2, 3]), 10])
    Tensor([ 1, 10, 10], dtype=int64, device='cpu')
    """
    arguments.check_sequence(choices, "choices")
    if len(choices) == 0:
        raise ValueError("choices must hold at least one tensor, got none")
    # Numbers in a list have no dtype that counts. bool promotes with everything, and makes sure
    # that one dtype is there.
    typed: list[Any] = [choice for choice in choices if not isinstance(choice, (list, tuple))]
    kind = xp.result_type(*typed, bool)
    parts = [xp.astype(x, kind, copy=False) for x in as_tensors(*choices, a)[:-1]]
    choice_numbers = wrap_or_clip_positions(as_tensor_on_device_of(a, parts[0]), len(parts), mode)
    if first_position_outside(choice_numbers, len(parts)) is not None:
        raise ValueError(f"a must be at least 0 and below {len(parts)}, the number of choices")
    # Elements of the first choice, which the others replace where their number is.
    result = xp.broadcast_to(
        parts[0], broadcast_shape([choice_numbers.shape, *(x.shape for x in parts)])
    )
    for number, part in enumerate(parts[1:], 1):
        result = xp.where(xp.equal(choice_numbers, number), part, result)
    # A single choice is still a view of the operand.
    result = result.copy() if len(parts) == 1 else result
    return store_in_out("choose", result, out)


def piecewise(
    x: Tensor, condlist: Tensor | Sequence[Any], funclist: Sequence[Any], *args: Any, **kw: Any
) -> Tensor:
    """Apply to each element the last function whose condition is true; a number is the result.

    - `condlist`: a condition, or several, of the shape of `x`.
    - `funclist`: functions of tensors of rank 1, or numbers: one for each condition, and optionally
      one for all other elements, which are otherwise 0.
    - `args`, `kw`: passed on to the functions.

    Any dtype, kept. Layout: the form of `x`.

    Raises `ValueError` for any other number of functions; `TypeError` if `x` is not a tensor.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([-2.0, 1.0])
    >>> tl.piecewise(x, [x < 0], [tl.negative, 5])
    Tensor([2., 5.], dtype=float64, device='cpu')
    """
    x = arguments.as_tensor(x)
    conditions = [as_bool_tensor(item, x) for item in _condition_list(condlist, x)]
    if len(funclist) == len(conditions) + 1:
        conditions.append(xp.logical_not(functools.reduce(xp.logical_or, conditions)))
    if len(funclist) != len(conditions):
        raise ValueError(f"funclist must have {len(conditions)} functions, or one more")
    result = xp.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result[condition] = function
        elif (values := x[condition]).size:
            # NumPy does not call a function without elements, either: it may not accept them.
            result[condition] = function(values, *args, **kw)
    return result


def _condition_list(condlist: Any, x: Tensor) -> Sequence[Any]:
    """Return the conditions of `piecewise` as a list, also for a single one."""
    if isinstance(condlist, Tensor):
        is_single = condlist.ndim < 2 and x.ndim != 0
    else:
        is_sequence = isinstance(condlist, (list, tuple))
        if is_sequence and not condlist:
            raise ValueError("condlist must have at least one condition")
        is_single = not is_sequence or (x.ndim != 0 and not isinstance(condlist[0], (list, Tensor)))
    return [condlist] if is_single else condlist


def delete(arr: Tensor, obj: Any, axis: SupportsIndex | None = None) -> Tensor:
    """Return `arr` without some slices along `axis`, or without elements in index order.

    `obj` is integers, a slice or a mask. Any dtype, kept. Layout: packed in the order of `arr`.

    Raises `IndexError` if a position is out of bounds; `ValueError` (`AxisError`) if `axis` is;
    `TypeError` if `arr` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.delete(tl.asarray([[1, 2, 3], [4, 5, 6]]), 1, axis=1)
    Tensor([[1, 3],
            [4, 6]], dtype=int64, device='cpu')
    """
    x, dim = operand_and_dim(arr, axis)
    keep_mask = xp.ones((x.shape[dim],), dtypes.bool, device=x.device)
    # Checked here, because a device would report a position later, for another function.
    if isinstance(obj, (list, tuple)) or arguments.is_foreign_array(obj):
        positions = asarray_unless_tensor(obj, x)
        # An empty list has dtype float64.
        if positions.dtype.kind in "iu" or (not positions.size and positions.dtype.kind == "f"):
            obj = check_positions(positions, x.shape[dim], dim, x.shape[dim])
    # A mask, not a list of positions: `obj` may be anything that indexes, and name a position
    # twice.
    keep_mask[obj] = False
    return x[(*(slice(None),) * dim, keep_mask)]


def insert(arr: Tensor, obj: Any, values: ArrayLike, axis: SupportsIndex | None = None) -> Tensor:
    """Return `arr` with more slices along `axis`, or with more elements in index order.

    `obj` holds the positions to insert before, integers or a slice; `values` are the new elements,
    converted to the dtype of `arr`. Any dtype. Layout: packed in the order of `arr`.

    Raises `IndexError` if a position is out of bounds; `ValueError` (`AxisError`) if `axis` is, and
    if `values` do not broadcast; `TypeError` if `arr` is not a tensor or a position not an integer.

    >>> import tensorlayout as tl
    >>> tl.insert(tl.asarray([1, 2, 3]), 1, 9)
    Tensor([1, 9, 2, 3], dtype=int64, device='cpu')
    """
    x, dim = operand_and_dim(arr, axis)
    size = x.shape[dim]
    if isinstance(obj, slice):
        obj = list(range(*obj.indices(size)))
    # Beside an integer tensor, a Python number becomes int64 on the device of `x`.
    places = as_tensor_on_device_of(obj, xp.arange(1, device=x.device))
    if places.dtype == dtypes.bool:
        raise TypeError("positions must be integers, got bool; use nonzero() first")
    if places.size and places.dtype.kind not in "iu":
        raise TypeError(f"positions must be integers, got {places.dtype}")
    single, scalar = places.size == 1, places.ndim == 0
    # The position `size` is valid: it appends.
    places = check_positions(places.reshape(-1), size, dim, size + 1)
    places = places + (places < 0).astype(dtypes.int64) * size
    check_finite(values, x.dtype)
    inserted = as_tensor_on_device_of(values, x).astype(x.dtype, copy=False)
    # NumPy's rule for one position: `values` may be several slices. For a scalar position, their
    # first dimension runs along `axis`, so insert(x, 1, [7, 8], axis=1) adds one column.
    if single and inserted.ndim:
        inserted = inserted[(None,) * (x.ndim - inserted.ndim)]
        inserted = xp.moveaxis(inserted, 0, dim) if scalar else inserted
    new_count = (
        places.shape[0] if not single else (inserted.shape[dim] if inserted.ndim == x.ndim else 1)
    )
    places = xp.broadcast_to(places, (new_count,)) if single else places
    inserted = xp.broadcast_to(inserted, (*x.shape[:dim], new_count, *x.shape[dim + 1 :]))
    # Sort keys: new slices are even, old ones odd, so that a new slice precedes the old one.
    sort_keys = xp.concat([xp.arange(1, 2 * size, 2, device=x.device), places * 2])
    return xp.concat([x, inserted], dim)[(*(slice(None),) * dim, sort_keys.argsort())]
