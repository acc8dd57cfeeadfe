"""Sorting functions."""

from __future__ import annotations

from tensorlayout import dtypes
from tensorlayout.cpu import sorting
from tensorlayout.functions import calling
from tensorlayout.plan.along import Along
from tensorlayout.tensor import Tensor

__all__ = ["argsort", "sort"]

_ARGSORT = Along("argsort", "real numeric", sorting.argsort, dtypes.int64)
_SORT = Along("sort", "real numeric", sorting.sort)


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The positions that sort each line along `axis`; equal elements stay in their order.

    NaN counts as greater than all else. dtypes: real numeric; the result is int64. Layout: packed
    in the input's order. The sort is stable whether asked for or not.
    """
    x = calling.tensor("argsort", x)
    return calling.call(_ARGSORT, (x._spec, int(axis), 0, None, bool(descending), bool(stable)), (x,))


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along `axis` in ascending order, or descending; equal ones stay in their order.

    NaN counts as greater than all else. dtypes: real numeric. Layout: packed in the input's order.

    >>> import tensorlayout as tl
    >>> tl.sort(tl.asarray([3, 1, 2]), descending=True)
    Tensor([3, 2, 1], dtype=int64, device='cpu')
    """
    x = calling.tensor("sort", x)
    return calling.call(_SORT, (x._spec, int(axis), 0, None, bool(descending), bool(stable)), (x,))
