"""Flat positions and indices of elements, diagonals and triangles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, SupportsIndex

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import as_tensor_sequence, refuse_unsupported_arguments
from tensorlayout.layout import MAX_SLOTS
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Integers

__all__ = [
    "argwhere",
    "diag_indices_from",
    "ravel_multi_index",
    "tril_indices_from",
    "triu_indices_from",
    "unravel_index",
]

Mode = Literal["raise", "wrap", "clip"]


def as_integer_tensor(x: Any) -> Tensor:
    """Return `x`, which must be a tensor of integers."""
    positions = x if type(x) is Tensor else arguments.as_tensor(x, "indices")
    if (dtype := positions.spec.dtype).kind not in "iu":
        raise TypeError(f"indices must be of an integer dtype, got {dtype}")
    return positions


def wrap_or_clip_positions(positions: Tensor, size: int, mode: str) -> Tensor:
    """Return positions as int64, clipped or wrapped to `size` unless `mode` is ``raise``."""
    arguments.check_choice("mode", mode, ("raise", "wrap", "clip"), "'raise', 'wrap' or 'clip'")
    if positions.dtype.kind not in "biu" and positions.size:  # an empty list has dtype float64
        raise TypeError(f"positions must be integers, got {positions.dtype}")
    wraps = mode == "wrap" and size > 0
    # Int64 cannot hold the largest uint64. Positions beyond `size` become `size`, which is out of
    # bounds, too.
    if positions.dtype == dtypes.uint64:
        positions = (xp.remainder if wraps else xp.minimum)(positions, size)
    positions = xp.astype(positions, dtypes.int64, copy=False)
    if wraps:
        return xp.remainder(positions, size)
    return xp.clip(positions, 0, size - 1) if mode == "clip" and size else positions


def first_position_outside(positions: Tensor, size: int, lowest: int = 0) -> int | None:
    """Return the first position below `lowest` or not below `size`; None if there is none."""
    outside = xp.logical_or(xp.less(positions, lowest), xp.greater_equal(positions, size))
    return int(positions[outside][0]) if xp.any(outside) else None


def check_positions(positions: Tensor, size: int, dim: int, end: int) -> Tensor:
    """Return positions as int64; IndexError for the first below ``-size`` or not below `end`."""
    # Int64 cannot hold the largest uint64, so these are compared as they are.
    is_uint64 = positions.dtype == dtypes.uint64
    if not is_uint64:
        positions = xp.astype(positions, dtypes.int64, copy=False)
    outside = first_position_outside(positions, end, 0 if is_uint64 else -size)
    if outside is not None:
        raise IndexError(f"index {outside} is out of bounds for axis {dim} with size {size}")
    return xp.astype(positions, dtypes.int64, copy=False)


def unravel_index(
    indices: Tensor, shape: Integers, order: Literal["C"] = "C"
) -> tuple[Tensor, ...]:
    """Convert positions in row-major order to an index in each dimension of `shape`, as int64.

    `order` must be row-major. dtypes: integers. Layout: packed in the order of `indices`.

    Raises `ValueError` if a position is out of bounds; `TypeError` for any other dtype or `order`.

    >>> import tensorlayout as tl
    >>> tl.unravel_index(tl.asarray([1, 5]), (2, 3))[0]
    Tensor([0, 1], dtype=int64, device='cpu')
    """
    refuse_unsupported_arguments(order=None if order == "C" else order)
    places = xp.astype(arguments.as_indices(indices), dtypes.int64, copy=False)
    sizes = arguments.as_shape(shape)
    total = math.prod(sizes)
    if total > MAX_SLOTS:
        raise ValueError(f"shape {sizes} has more than 2**63 - 1 elements")
    if (wrong := first_position_outside(places, total)) is not None:
        raise ValueError(f"position {wrong} is out of bounds for shape {sizes}")
    coordinates: list[Tensor] = []
    # From the fastest dimension on, the remainder is the index there, and the quotient counts the
    # rest: 5 in shape (2, 3) leaves 2 and a quotient of 1, so the index is (1, 2).
    for n in reversed(sizes):
        coordinates.insert(0, xp.remainder(places, n))
        places = xp.floor_divide(places, n)
    return tuple(coordinates)


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Integers,
    mode: Mode = "raise",
    order: Literal["C"] = "C",
) -> Tensor:
    """Convert indices along each dimension of `dims` to positions in row-major order, as int64.

    - `multi_index`: a tensor of integers for each dimension (numbers, too, if one is a tensor);
      their shapes broadcast.
    - `mode`: for an index out of bounds: ``raise`` a ValueError, ``clip`` to the nearest, ``wrap``
      around.
    - `order`: must be row-major.

    dtypes: integers. Layout: the form of the indices.

    Raises `ValueError` as `mode` says, for an unknown `mode`, and if `multi_index` and `dims`
    differ in length; `TypeError` for any other dtype or `order`.

    >>> import tensorlayout as tl
    >>> tl.ravel_multi_index((tl.asarray([0, 1]), tl.asarray([1, 2])), (2, 3))
    Tensor([1, 5], dtype=int64, device='cpu')
    """
    refuse_unsupported_arguments(order=None if order == "C" else order)
    sizes = arguments.as_shape(dims)
    parts = as_tensor_sequence(multi_index, "multi_index")
    if len(parts) != len(sizes):
        raise ValueError(f"{len(parts)} indices for {len(sizes)} dimensions")
    positions = xp.asarray(0, device=parts[0].device)
    for part, n in zip(parts, sizes, strict=True):
        part = wrap_or_clip_positions(part, n, mode)
        if (wrong := first_position_outside(part, n)) is not None:
            raise ValueError(f"index {wrong} is out of bounds for size {n}")
        # Horner's rule: index (1, 2) in shape (2, 3) is position 1 * 3 + 2.
        positions = xp.add(xp.multiply(positions, n), part)
    return positions


def tril_indices_from(arr: Tensor, k: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Return the indices of the elements on and below the diagonal `k` of a matrix, as int64.

    Any dtype. Layout: row-major.

    Raises `ValueError` if the rank is not 2; `TypeError` if `k` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.tril_indices_from(tl.ones((2, 2)))[1]
    Tensor([0, 0, 1], dtype=int64, device='cpu')
    """
    return _triangle_indices(xp.tril, arr, k)


def triu_indices_from(arr: Tensor, k: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Return the indices of the elements on and above the diagonal `k` of a matrix, as int64.

    Any dtype. Layout: row-major.

    Raises `ValueError` if the rank is not 2; `TypeError` if `k` is not an integer.

    >>> import tensorlayout as tl
    >>> tl.triu_indices_from(tl.ones((2, 2)))[1]
    Tensor([0, 1, 1], dtype=int64, device='cpu')
    """
    return _triangle_indices(xp.triu, arr, k)


def _triangle_indices(
    triangle_function: Callable[..., Tensor], arr: Any, k: SupportsIndex
) -> tuple[Tensor, ...]:
    x = arguments.as_tensor(arr)
    if x.ndim != 2:
        raise ValueError(f"needs a rank of 2, got shape {x.shape}")
    return xp.nonzero(triangle_function(xp.ones(x.shape, dtype=dtypes.bool, device=x.device), k=k))


def diag_indices_from(arr: Tensor) -> tuple[Tensor, ...]:
    """Return the indices of the main diagonal of a tensor of equal sizes, as int64.

    Any dtype. Layout: row-major.

    Raises `ValueError` if the sizes differ or the rank is below 2; `TypeError` if `arr` is not a
    tensor.

    >>> import tensorlayout as tl
    >>> tl.diag_indices_from(tl.ones((2, 2)))[1]
    Tensor([0, 1], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(arr)
    if x.ndim < 2 or len({*x.shape}) != 1:
        raise ValueError(f"sizes must be equal, and two at least, got {x.shape}")
    return (xp.arange(x.shape[0], device=x.device),) * x.ndim


def argwhere(a: Tensor) -> Tensor:
    """Return the indices of the elements that are not zero, one in each row, as int64.

    NaN is not zero; the rows are in index order. Any dtype. Layout: packed in the order of a
    column-major matrix.

    Raises `TypeError` if `a` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.argwhere(tl.asarray([[0, 7], [8, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    x = arguments.as_tensor(a)
    if not x.ndim:
        # As in NumPy, one row without columns if the number is not 0, else no row. nonzero()
        # accepts no rank 0.
        return xp.zeros((int(xp.count_nonzero(x)), 0), dtype=dtypes.int64, device=x.device)
    return xp.stack(xp.nonzero(x), axis=1)
