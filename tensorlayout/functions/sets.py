"""Set functions. The shapes of their results depend on data."""

from __future__ import annotations

from typing import NamedTuple

from tensorlayout.cpu import library
from tensorlayout.functions import calling
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.elementwise import logical_not
from tensorlayout.plan.library import Library
from tensorlayout.tensor import Tensor

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]

_ALL = Library("unique_all", "any", library.unique_all)
_COUNTS = Library("unique_counts", "any", library.unique_counts)
_INVERSE = Library("unique_inverse", "any", library.unique_inverse)
_VALUES = Library("unique_values", "any", library.unique_values)
_ISIN = Library("isin", "any", library.isin)


class UniqueAll(NamedTuple):
    """What `unique_all` finds."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` finds."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` finds."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct values, ascending, with first indices, inverse indices and counts.

    Every NaN is distinct; +0 and -0 are one. Layout: row-major.
    """
    return UniqueAll(*calling.library(_ALL, x))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct values, ascending, and how often each occurs."""
    return UniqueCounts(*calling.library(_COUNTS, x))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct values, ascending, and for each element the position of its value."""
    return UniqueInverse(*calling.library(_INVERSE, x))


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct values, ascending.

    >>> import tensorlayout as tl
    >>> tl.unique_values(tl.asarray([3, 1, 3]))
    Tensor([1, 3], dtype=int64, device='cpu')
    """
    return calling.library(_VALUES, x)  # type: ignore[no-any-return]


def isin(x1: Tensor | int, x2: Tensor | int, /, *, invert: bool = False) -> Tensor:
    """Whether each element of `x1` occurs in `x2`, or with `invert`, whether it does not.

    A NaN occurs nowhere. The result has the shape of `x1` and is row-major.
    """
    a = x1 if isinstance(x1, Tensor) else asarray(x1, dtype=_dtype(x2))
    b = x2 if isinstance(x2, Tensor) else asarray(x2, dtype=_dtype(x1))
    found: Tensor = calling.library(_ISIN, a, b)
    return logical_not(found) if invert else found


def _dtype(x: Tensor | int) -> object:
    return x.dtype if isinstance(x, Tensor) else None
