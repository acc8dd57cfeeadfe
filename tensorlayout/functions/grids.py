"""Numbers evenly spaced, and grids of coordinates.

If an end is a tensor, there is one line of numbers for each of its elements, on its device; with
numbers alone, the result is on the default device.
"""

from __future__ import annotations

import math
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import primitives as xp
from tensorlayout.functions.creation import create_tensor
from tensorlayout.functions.operands import (
    as_tensor_sequence,
    as_tensors,
    integers_to_float64,
    promote_tensors,
)
from tensorlayout.functions.transfers import copy_tensor
from tensorlayout.functions.utility import all as all_true
from tensorlayout.layout import Layout
from tensorlayout.plan import Create
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, DeviceLike, DTypeLike, Number

__all__ = ["geomspace", "ix_", "linspace", "logspace", "meshgrid"]

_LINSPACE = Create("linspace", "linspace")
# With such an end, `linspace` returns one line for each of its elements.
_ARRAYS = (Tensor, np.ndarray, list, tuple)


@overload
def linspace(
    start: Number | ArrayLike,
    stop: Number | ArrayLike,
    num: SupportsIndex = ...,
    endpoint: bool = ...,
    retstep: Literal[False] = ...,
    dtype: DTypeLike | None = ...,
    axis: SupportsIndex = ...,
    *,
    device: DeviceLike | None = ...,
) -> Tensor: ...
@overload
def linspace(
    start: Number | ArrayLike,
    stop: Number | ArrayLike,
    num: SupportsIndex = ...,
    endpoint: bool = ...,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = ...,
    axis: SupportsIndex = ...,
    device: DeviceLike | None = ...,
) -> tuple[Tensor, Tensor]: ...
def linspace(
    start: Number | ArrayLike,
    stop: Number | ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: SupportsIndex = 0,
    *,
    device: DeviceLike | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return `num` evenly spaced numbers from `start` to `stop`, inclusive unless not `endpoint`.

    - `start`, `stop`: numbers, or tensors; with tensors the numbers are along a new dimension
      `axis`.
    - `retstep`: also return the distance between neighbours.
    - `dtype`: by default float64, complex128 if either end is complex, or the dtype of tensors.
      Integers are rounded down, and values out of range become the nearest limit.
    - `device`: by default the device of the tensors, or the default device.

    Returns a new tensor, or a pair of tensors. Layout: row-major.

    Raises `ValueError` for a negative `num`, and `TypeError` for complex numbers in a real dtype.

    >>> import tensorlayout as tl
    >>> tl.linspace(0, 1, 4, endpoint=False)
    Tensor([0.  , 0.25, 0.5 , 0.75], dtype=float64, device='cpu')
    """
    length = arguments.as_nonnegative_integer("num", num)
    closed = arguments.check_bool("endpoint", endpoint)
    if isinstance(start, _ARRAYS) or isinstance(stop, _ARRAYS):
        first, last = as_tensors(start, stop)
        result, step = _linspace_from_ends(first, last, length, closed, dtype)
        result = xp.moveaxis(result, 0, axis).astype(result.dtype, copy=False, device=device)
        return (result, step) if retstep else result
    begin = arguments.as_number("start", start)
    end = arguments.as_number("stop", stop)
    either = isinstance(begin, complex) or isinstance(end, complex)
    default = dtypes.complex128 if either else dtypes.float64
    kind = default if dtype is None else arguments.as_dtype_in_category("numeric", dtype)
    if either and not dtypes.is_in_category(kind, "complex floating"):
        raise TypeError(f"complex numbers cannot become {kind}")
    # Numbers give one line, whose only dimension is 0 or -1.
    if type(axis) is not int or axis:
        arguments.normalize_axis(axis, 1)
    result = create_tensor(_LINSPACE, length, kind, device, None, begin, end, closed)
    if not retstep:
        return result
    steps = length - 1 if closed else length
    # Without any step the distance is NaN, as in NumPy.
    return result, xp.asarray((end - begin) / steps if steps > 0 else math.nan, device=device)


def _linspace_from_ends(
    start: Tensor, stop: Tensor, length: int, closed: bool, dtype: Any
) -> tuple[Tensor, Tensor]:
    """Return numbers spaced evenly from `start` to `stop`, along axis 0, and their steps."""
    first, last = integers_to_float64(start), integers_to_float64(stop)
    steps = length - 1 if closed else length
    width = last - first
    nothing = xp.asarray(math.nan, device=first.device)  # as in NumPy: rank 0, float64
    step = width / steps if steps > 0 else nothing
    places = xp.arange(length, device=first.device).astype(width.dtype)
    # As one dimension before those of the ends, with which it broadcasts.
    places = xp.reshape(places, (length, *(1,) * width.ndim))
    result = places * (step if steps > 0 else width) + first
    # A multiple of the rounded step may miss `last` by a rounding.
    if closed and length > 1:
        result[-1, ...] = last
    if dtype is None:
        return result, step
    # Rounded down, also below 0, as NumPy does since 1.20. The conversion would truncate.
    whole = dtypes.is_in_category(dtypes.as_dtype(dtype, "dtype"), "integral")
    return (xp.floor(result) if whole else result).astype(dtype, copy=False), step


def logspace(
    start: Number | ArrayLike,
    stop: Number | ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    base: Number | ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: SupportsIndex = 0,
    *,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return `num` powers of `base`, their exponents evenly spaced from `start` to `stop`.

    `base` is a number or a tensor. `start`, `stop`, `endpoint`, `dtype`, `axis` and `device` are as
    in `linspace`. Layout: row-major.

    Raises `ValueError` and `TypeError` as `linspace` does.

    >>> import tensorlayout as tl
    >>> tl.logspace(0, 3, 4)
    Tensor([   1.,   10.,  100., 1000.], dtype=float64, device='cpu')
    """
    factor: Any
    # Bases broadcast with the ends; each one applies to a whole line along `axis`.
    if isinstance(base, _ARRAYS):
        start, stop, factor = xp.broadcast_arrays(*as_tensors(start, stop, base))
        factor = xp.expand_dims(factor, axis)
    else:
        factor = arguments.as_number("base", base)
    result: Tensor = factor ** linspace(start, stop, num, endpoint, axis=axis, device=device)
    return result if dtype is None else result.astype(dtype, copy=False)


def geomspace(
    start: Number | ArrayLike,
    stop: Number | ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: SupportsIndex = 0,
    *,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return `num` numbers from `start` to `stop` with a constant ratio.

    `dtype` is by default the dtype of the ends, float64 for integers. `start`, `stop`, `endpoint`,
    `axis` and `device` are as in `linspace`. Layout: row-major.

    Raises `ValueError` and `TypeError` as `linspace` does; `ValueError` if an end is 0, too.

    Numbers between real ends of different signs are NaN.

    >>> import tensorlayout as tl
    >>> tl.geomspace(1, 8, 4)
    Tensor([1., 2., 4., 8.], dtype=float64, device='cpu')
    """
    if isinstance(start, _ARRAYS) or isinstance(stop, _ARRAYS):
        ends = as_tensors(start, stop, weak=False)
    else:
        ends = [xp.asarray(end, device=device) for end in (start, stop)]
    first, last = promote_tensors([integers_to_float64(end) for end in ends])
    if not (all_true(first) and all_true(last)):
        raise ValueError("start and stop must not be 0")
    ratio = last / first
    # Powers of ten are exact in decimal logarithms: from 1 to 1000 the numbers between are 10 and
    # 100. Two negative ends become positive for that; of ends with different signs one logarithm is
    # NaN.
    if ratio.dtype.kind == "f":
        decades = linspace(xp.log10(abs(first)), xp.log10(last * xp.sign(first)), num, endpoint)
        result = xp.copysign(xp.pow(10.0, decades), first)
    else:
        # Exponents from 0 to 1, one line for each pair of ends: `ratio * 0` has their shape and
        # dtype.
        result = first * ratio ** linspace(ratio * 0, ratio * 0 + 1, num, endpoint)
    # Powers are rounded, but the ends are known exactly.
    if result.shape[0]:
        result[0, ...] = first
    if endpoint and result.shape[0] > 1:
        result[-1, ...] = last
    kind = result.dtype if dtype is None else dtype
    return xp.moveaxis(result, 0, axis).astype(kind, copy=False, device=device)


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Tensor, ...]:
    """Return the coordinates of a grid, one tensor for each vector of coordinates.

    - `copy`: False returns views.
    - `sparse`: size 1 in all dimensions but the vector's own.
    - `indexing`: ``"xy"`` puts the second input's dimension first, ``"ij"`` keeps the order.

    Any dtypes, kept. Layout: new, row-major.

    Raises `ValueError` for any other `indexing`; `TypeError` if there is no tensor.

    >>> import tensorlayout as tl
    >>> across, down = tl.meshgrid(tl.asarray([1, 2, 3]), tl.asarray([8, 9]))
    >>> across
    Tensor([[1, 2, 3],
            [1, 2, 3]], dtype=int64, device='cpu')
    >>> down
    Tensor([[8, 8, 8],
            [9, 9, 9]], dtype=int64, device='cpu')
    """
    arguments.check_choice("indexing", indexing, ("xy", "ij"), "'xy' or 'ij'")
    lines = as_tensors(*xi) if xi else []
    dims = list(range(len(lines)))
    if indexing == "xy" and len(dims) > 1:
        # In Cartesian indexing the first input runs along columns, that is, along dimension 1.
        dims[:2] = [1, 0]
    whole = [1] * len(lines)
    results = []
    for x, d in zip(lines, dims, strict=True):
        alone = [1] * len(lines)
        alone[d] = whole[d] = x.size
        results.append(xp.reshape(x, tuple(alone)))
    # Either kind shares memory with the inputs, and broadcast views cannot be written to: hence the
    # copies below, unless the caller asks for none.
    if not sparse:
        results = [xp.broadcast_to(x, tuple(whole)) for x in results]
    if not copy:
        return tuple(results)
    return tuple([copy_tensor("meshgrid", x, Layout.row_major(x.shape)) for x in results])


def ix_(*args: ArrayLike) -> tuple[Tensor, ...]:
    """Return views of positions for each dimension, which together index a grid of elements.

    `args` are integers, or bool, which stand for the positions of True.

    Raises `ValueError` if a rank is not 1; `TypeError` if there is no tensor.

    >>> import tensorlayout as tl
    >>> x = tl.reshape(tl.arange(6), (2, 3))
    >>> x[tl.ix_(tl.asarray([1, 0]), tl.asarray([0, 2]))]
    Tensor([[3, 5],
            [0, 2]], dtype=int64, device='cpu')
    """
    lines = as_tensor_sequence(args, "args")
    if any(x.ndim != 1 for x in lines):
        shapes = arguments.format_argument([x.shape for x in lines])
        raise ValueError(f"positions must be of rank 1, got shapes {shapes}")
    results = [x.nonzero()[0] if x.dtype == dtypes.bool else x for x in lines]
    return meshgrid(*results, copy=False, sparse=True, indexing="ij")
