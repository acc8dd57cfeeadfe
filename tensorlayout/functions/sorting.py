"""Sorting functions."""

from __future__ import annotations

from typing import SupportsIndex

from tensorlayout.dtypes import is_narrow, wider
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.indexing import take_along_axis
from tensorlayout.plan.sort import Sort
from tensorlayout.tensor import Tensor

__all__ = ["argsort", "sort"]

_ARGSORT = Sort("argsort", "positions")
_SORT = Sort("sort", "values")


def argsort(
    x: Tensor, /, *, axis: SupportsIndex = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The positions that sort each line along `axis`; equal elements stay in their order.

    `descending`: the greatest first. NaN counts as greater than all else. dtypes: real numeric and
    narrow; the result is int64. Layout: packed in the input's order. With ``stable=False``, equal
    numbers of 64 bits may come in any order. TypeError for other dtypes, and for an axis that is no
    integer; ValueError (AxisError) for one outside the rank.

    >>> import tensorlayout as tl
    >>> tl.argsort(tl.asarray([3, 1, 3]), descending=True)
    Tensor([0, 2, 1], dtype=int64, device='cpu')
    """
    return _sorted(_ARGSORT, x, axis, descending, stable)


def sort(
    x: Tensor, /, *, axis: SupportsIndex = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The elements along `axis` in ascending order, or `descending`; equal ones keep their order.

    Zeros of both signs are equal. NaN counts as greater than all else. dtypes: real numeric and
    narrow, kept. Layout: packed in the input's order. With ``stable=False`` zeros of both signs may
    come in any order. TypeError for other dtypes, and for an axis that is no integer; ValueError
    (AxisError) for one outside the rank.

    >>> import tensorlayout as tl
    >>> tl.sort(tl.asarray([3, 1, 2]), descending=True)
    Tensor([3, 2, 1], dtype=int64, device='cpu')
    """
    return _sorted(_SORT, x, axis, descending, stable)


def _sorted(
    operation: Sort, x: Tensor, axis: SupportsIndex, descending: bool, stable: bool
) -> Tensor:
    plain = type(axis) is int and type(descending) is type(stable) is bool
    # A dtype that is not narrow; to ask `is_narrow` is a call more.
    if plain and type(x) is Tensor and ((d := x._spec.dtype).itemsize > 1 or d.kind in "biu"):
        return dispatch.call(operation, (x._spec, axis, descending, stable), (x,))
    name = operation.name
    x, dim = arguments.tensor(name, x), arguments.integer(name, "axis", axis)
    down = arguments.truth(name, "descending", descending)
    if is_narrow(x.dtype):  # by their values; the elements stay as they are, bit for bit
        wide = astype(x, wider(x.dtype))
        positions = argsort(wide, axis=dim, descending=down, stable=stable)
        return positions if operation is _ARGSORT else take_along_axis(x, positions, axis=dim)
    key = (x._spec, dim, down, arguments.truth(name, "stable", stable))
    return dispatch.call(operation, key, (x,))
