"""Elements chosen by conditions and positions, and written there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import (
    arguments,
    creation,
    elementwise,
    extra,
    indexing,
    searching,
    utility,
)
from tensorlayout.functions.creation import arange, asarray
from tensorlayout.functions.data_types import astype, result_type
from tensorlayout.functions.manipulation import broadcast_to, reshape, stack
from tensorlayout.functions.operands import (
    beside,
    check_finite,
    promoted,
    sequence,
    tensors,
    unsupported,
)
from tensorlayout.functions.outputs import CASTINGS, can_cast, given
from tensorlayout.plan.rules import broadcast_shape
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "argwhere",
    "choose",
    "compress",
    "copyto",
    "diag_indices_from",
    "extract",
    "fill_diagonal",
    "flatnonzero",
    "piecewise",
    "place",
    "put",
    "put_along_axis",
    "putmask",
    "ravel_multi_index",
    "select",
    "take_along_axis",
    "tril_indices_from",
    "triu_indices_from",
    "unravel_index",
    "where",
]


def _truths(name: str, condition: Any, x: Any = None) -> Tensor:
    """Truths of any numbers."""
    if not isinstance(condition, Tensor):
        condition = beside(name, condition, x) if isinstance(x, Tensor) else asarray(condition)
    return astype(condition, dtypes.bool, copy=False)


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """`tl.where` of truths of any numbers; of a condition alone, `nonzero`."""
    if x is None and y is None:
        return searching.nonzero(arguments.tensor("where", condition))
    if x is None or y is None:
        refuse("where", "x and y must be given both, or neither")
    anywhere = next(each for each in (condition, x, y) if isinstance(each, Tensor))
    first, second = (beside("where", v, anywhere) if isinstance(v, list) else v for v in (x, y))
    return searching.where(_truths("where", condition, anywhere), first, second)


def flatnonzero(a: Tensor) -> Tensor:
    """The positions, in index order, of the elements that are not zero."""
    return searching.nonzero(reshape(arguments.tensor("flatnonzero", a), (-1,)))[0]


def argwhere(a: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one in each row."""
    x = arguments.tensor("argwhere", a)
    if not x.ndim:
        count = searching.count_nonzero(x)
        return creation.zeros((int(count), 0), dtype=dtypes.int64, device=x.device)
    return stack(searching.nonzero(x), axis=1)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """Of each element the choice whose condition is the first that is true."""
    if len(condlist) != len(choicelist) or not condlist:
        refuse("select", "conditions and choices must be equally many, and at least one")
    anywhere = tensors("select", *choicelist, *condlist)[0]
    choices = [*choicelist, default]
    arrays = [beside("select", x, anywhere) for x in choices if type(x) not in dtypes.SCALARS]
    anywhere = promoted(arrays)[0] if arrays else anywhere  # numbers take the dtype of all others
    choices = promoted([beside("select", x, anywhere) for x in choices])
    condlist = [beside("select", x, anywhere) for x in condlist]
    shape = broadcast_shape([x.shape for x in (*condlist, *choices)])
    found = broadcast_to(choices[-1], shape)
    for condition, choice in reversed(list(zip(condlist, choices, strict=False))):
        found = searching.where(_truths("select", condition, choice), choice, found)
    return found


def extract(condition: Any, arr: Tensor) -> Tensor:
    """The elements, in index order, where `condition` is true."""
    flat = reshape(arguments.tensor("extract", arr), (-1,))
    return compress(reshape(_truths("extract", condition, flat), (-1,)), flat)


def compress(
    condition: Any, a: Tensor, axis: int | None = None, out: Tensor | None = None
) -> Tensor:
    """The slices along `axis`, or the elements in index order, whose `condition` is true."""
    x = arguments.tensor("compress", a)
    chosen = _truths("compress", condition, x)
    if chosen.ndim != 1:
        refuse("compress", f"the condition must be of rank 1, got shape {chosen.shape}")
    if axis is None:
        x = reshape(x, (-1,))
    dim = 0 if axis is None else arguments.dim("compress", axis, x.ndim)
    places = searching.nonzero(chosen)[0]
    return given("compress", indexing.take(x, places, axis=dim), out)


def wrapped(name: str, places: Tensor, size: int, mode: str) -> Tensor:
    """Positions as int64; those outside of `size` brought inside, unless `mode` is ``raise``."""
    arguments.choice(name, "mode", mode, "'raise', 'wrap' or 'clip'", ("raise", "wrap", "clip"))
    if places.dtype.kind not in "biu" and places.size:  # an empty list has another dtype
        refuse(name, f"positions must be integers, got {places.dtype}", TypeError)
    wraps = mode == "wrap" and size > 0
    if places.dtype == dtypes.uint64:  # int64 cannot hold the largest
        places = (elementwise.remainder if wraps else elementwise.minimum)(places, size)
    places = astype(places, dtypes.int64, copy=False)
    if wraps:
        return elementwise.remainder(places, size)
    return elementwise.clip(places, 0, size - 1) if mode == "clip" and size else places


def take_along_axis(arr: Tensor, indices: Any, axis: int | None = -1) -> Tensor:
    """`tl.take_along_axis`; of all elements in index order for None."""
    x = arguments.tensor("take_along_axis", arr)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return indexing.take_along_axis(x, beside("take_along_axis", indices, x), axis=axis)


def put_along_axis(arr: Tensor, indices: Any, values: Any, axis: int | None) -> None:
    """`tl.put_along_axis`."""
    x = arguments.tensor("put_along_axis", arr)
    places = beside("put_along_axis", indices, x)
    check_finite("put_along_axis", values, x.dtype)
    value = beside("put_along_axis", values, x) if isinstance(values, list) else values
    if axis is not None:
        return extra.put_along_axis(x, places, value, axis)
    if places.ndim != 1:
        refuse("put_along_axis", f"indices must be of rank 1 for axis=None, got {places.shape}")
    places = wrapped("put_along_axis", places, x.size, "raise")
    _write(x, _inside("put_along_axis", places, x), value)
    return None


def put(a: Tensor, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values, again and again where they are too few, at positions in index order.

    IndexError for a position outside in mode ``raise``, before anything is written. Of positions
    that occur twice the last one wins.
    """
    x = arguments.writable("put", arguments.tensor("put", a))
    places = reshape(beside("put", ind, x), (-1,))
    if places.size and not x.size:
        refuse("put", "index is out of bounds for a tensor without elements", IndexError)
    values = _line("put", v, x, "unsafe")
    if not (places.size and values.size):
        return
    places = _inside("put", wrapped("put", places, x.size, mode), x)
    if values.size != 1:
        values = values[elementwise.remainder(arange(places.size, device=x.device), values.size)]
    _write(x, places, values)


def _line(name: str, given: Any, x: Tensor, casting: str) -> Tensor:
    """Return `given` with rank 1, to be written into `x`. TypeError if `casting` forbids that.

    Scalars and numbers in a list are made in the dtype of `x`, as NumPy does: no rule forbids them.
    """
    casting = casting if isinstance(given, (Tensor, np.ndarray)) else "unsafe"
    check_finite(name, given, x.dtype)
    value = reshape(beside(name, given, x), (-1,))
    loses_a_part = value.dtype.kind == "c" and x.dtype.kind != "c"
    if value.size and (loses_a_part or not can_cast(value.dtype, x.dtype, casting)):
        rule = f"{value.dtype} cannot become {x.dtype} by the rule {casting!r}"
        refuse(name, f"{rule}; use astype() first", TypeError)
    return value


def _inside(name: str, places: Tensor, x: Tensor) -> Tensor:
    """Positions in index order, counted from the front. IndexError for one outside of `x`."""
    outside = elementwise.logical_or(
        elementwise.less(places, -x.size), elementwise.greater_equal(places, x.size)
    )
    if utility.any(outside):
        first = int(places[outside][0])
        refuse(name, f"index {first} is out of bounds for {x.size} elements", IndexError)
    return elementwise.remainder(places, x.size) if x.size else places


def _write(x: Tensor, places: Tensor, values: Any) -> None:
    """Write at positions in index order, whatever the layout; those are inside."""
    if x.ndim:
        x[unravel_index(places, x.shape)] = values
    elif places.size:  # all positions are the same element
        x[()] = values[-1] if isinstance(values, Tensor) and values.ndim else values


def place(arr: Tensor, mask: Any, vals: Any) -> None:
    """Write values, one after the other and again, where `mask` is true."""
    x = arguments.writable("place", arguments.tensor("place", arr))
    places = flatnonzero(reshape(_truths("place", mask, x), x.shape))
    values = _line("place", vals, x, "safe")
    if not places.size:
        return
    if not values.size:
        refuse("place", "vals must have at least one element, as mask is true somewhere")
    put(x, places, values)


def putmask(a: Tensor, /, mask: Any, values: Any) -> None:
    """Write values where `mask` is true, each at its own position; repeated if too few."""
    x = arguments.writable("putmask", arguments.tensor("putmask", a))
    chosen = reshape(_truths("putmask", mask, x), (-1,))
    if chosen.size != x.size:
        refuse("putmask", f"mask must have {x.size} elements, as a has, got {chosen.size}")
    value = _line("putmask", values, x, "safe")
    places = searching.nonzero(chosen)[0]
    if places.size and value.size:
        _write(x, places, value[elementwise.remainder(places, value.size)])


def copyto(dst: Tensor, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src`, broadcast, into `dst`, where `where` is true."""
    x = arguments.writable("copyto", arguments.tensor("copyto", dst))
    if isinstance(src, np.ndarray):  # as in x[...] = src
        src = asarray(src, device=x.device)
    weak = type(src) is not bool  # whose dtype no operation changes
    value = src if isinstance(src, Tensor) else beside("copyto", src, x, weak=weak)
    arguments.choice("copyto", "casting", casting, f"one of {', '.join(CASTINGS)}", CASTINGS)
    if not can_cast(value.dtype, x.dtype, casting):
        rule = f"{value.dtype} cannot become {x.dtype} by the rule {casting!r}"
        refuse("copyto", f"{rule}; use astype() first", TypeError)
    if where is not True:
        mask = _truths("copyto", where, x)
        value = searching.where(mask, astype(value, x.dtype, copy=False), x)
    surplus = max(value.ndim - x.ndim, 0)
    dropped = value.shape[:surplus].count(1) == surplus  # dimensions of size 1 in front
    if not dropped or broadcast_shape([value.shape[surplus:], x.shape]) != x.shape:
        refuse("copyto", f"shape {value.shape} could not be broadcast to {x.shape}")
    x[...] = value


def choose(a: Tensor, choices: Any, out: Tensor | None = None, mode: str = "raise") -> Tensor:
    """Of each element that of the choice whose number `a` has there."""
    if len(choices) == 0:
        refuse("choose", "choices must be at least one tensor, got none")
    kind = result_type(*[each for each in choices if not isinstance(each, (list, tuple))], bool)
    parts = [astype(x, kind, copy=False) for x in tensors("choose", *choices, a)[:-1]]
    which = wrapped("choose", beside("choose", a, parts[0]), len(parts), mode)
    outside = elementwise.logical_or(
        elementwise.less(which, 0), elementwise.greater_equal(which, len(parts))
    )
    if utility.any(outside):
        refuse("choose", f"a must be at least 0 and below {len(parts)}, the number of choices")
    shape = broadcast_shape([which.shape, *(x.shape for x in parts)])
    found = broadcast_to(parts[0], shape)
    for number, part in enumerate(parts[1:], 1):
        found = searching.where(elementwise.equal(which, number), part, found)
    found = found.copy() if len(parts) == 1 else found
    return given("choose", found, out)


def piecewise(x: Tensor, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """What the last function whose condition is true makes of each element; a number is itself.

    One function more than conditions is for the rest, which is 0 by default.
    """
    x = arguments.tensor("piecewise", x)
    if isinstance(condlist, Tensor):
        alone = condlist.ndim < 2 and x.ndim != 0
    else:
        several = isinstance(condlist, (list, tuple))
        alone = not several or (x.ndim != 0 and not isinstance(condlist[0], (list, Tensor)))
    conditions = [_truths("piecewise", c, x) for c in ([condlist] if alone else condlist)]
    if len(funclist) == len(conditions) + 1:
        rest = functools.reduce(elementwise.logical_or, conditions)
        conditions.append(elementwise.logical_not(rest))
    if len(funclist) != len(conditions):
        refuse("piecewise", f"funclist must have {len(conditions)} functions, or one more")
    found = creation.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            found[condition] = function
        elif (values := x[condition]).size:
            found[condition] = function(values, *args, **kw)
    return found


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tensor, ...]:
    """The index in each dimension of positions in index order."""
    unsupported("unravel_index", order=None if order == "C" else order)
    places = astype(arguments.indices("unravel_index", indices), dtypes.int64, copy=False)
    sizes = arguments.shape("unravel_index", shape)
    total = 1
    for n in sizes:
        total *= n
    if total > np.iinfo(np.int64).max:
        refuse("unravel_index", f"shape {sizes} has more than 2**63 - 1 elements")
    outside = elementwise.logical_or(
        elementwise.less(places, 0), elementwise.greater_equal(places, total)
    )
    if utility.any(outside):
        refuse("unravel_index", f"a position is out of bounds for shape {sizes}")
    found: list[Tensor] = []
    for n in reversed(sizes):
        found.insert(0, elementwise.remainder(places, n))
        places = elementwise.floor_divide(places, n)
    return tuple(found)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Tensor:
    """The positions in index order of indices, one tensor for each dimension."""
    unsupported("ravel_multi_index", order=None if order == "C" else order)
    sizes = arguments.shape("ravel_multi_index", dims)
    parts = sequence("ravel_multi_index", multi_index, "multi_index")
    if len(parts) != len(sizes):
        refuse("ravel_multi_index", f"{len(parts)} indices for {len(sizes)} dimensions")
    found = asarray(0, device=parts[0].device)
    for part, n in zip(parts, sizes, strict=True):
        part = wrapped("ravel_multi_index", part, n, mode)
        outside = elementwise.logical_or(
            elementwise.less(part, 0), elementwise.greater_equal(part, n)
        )
        if utility.any(outside):
            refuse("ravel_multi_index", f"an index is out of bounds for size {n}")
        found = elementwise.add(elementwise.multiply(found, n), part)
    return found


# --- diagonals and triangles -------------------------------------------------------------------


def _matrix(name: str, arr: Any) -> Tensor:
    x = arguments.tensor(name, arr)
    if x.ndim != 2:
        refuse(name, f"needs a rank of 2, got shape {x.shape}")
    return x


def _triangle(name: str, function: Callable[..., Tensor], arr: Any, k: int) -> tuple[Tensor, ...]:
    x = _matrix(name, arr)
    ones = creation.ones(x.shape, dtype=dtypes.bool, device=x.device)
    return searching.nonzero(function(ones, k=k))


def tril_indices_from(arr: Tensor, k: int = 0) -> tuple[Tensor, ...]:
    """The indices of the elements on and below the diagonal `k` of a matrix."""
    return _triangle("tril_indices_from", creation.tril, arr, k)


def triu_indices_from(arr: Tensor, k: int = 0) -> tuple[Tensor, ...]:
    """The indices of the elements on and above the diagonal `k` of a matrix."""
    return _triangle("triu_indices_from", creation.triu, arr, k)


def diag_indices_from(arr: Tensor) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of a tensor of equal sizes."""
    x = arguments.tensor("diag_indices_from", arr)
    if x.ndim < 2 or len({*x.shape}) != 1:
        refuse("diag_indices_from", f"sizes must be equal, and two at least, got {x.shape}")
    return (arange(x.shape[0], device=x.device),) * x.ndim


def fill_diagonal(a: Tensor, val: Any, wrap: bool = False) -> None:
    """Write values on the main diagonal, repeated if too few."""
    unsupported("fill_diagonal", wrap=wrap)
    x = arguments.writable("fill_diagonal", arguments.tensor("fill_diagonal", a))
    if x.ndim < 2 or (x.ndim > 2 and len({*x.shape}) != 1):
        refuse("fill_diagonal", f"needs a matrix, or equal sizes, got shape {x.shape}")
    along = arange(min(x.shape), device=x.device)
    value = _line("fill_diagonal", val, x, "unsafe")
    if not value.size:
        return
    x[(along,) * x.ndim] = value[elementwise.remainder(along, value.size)]
