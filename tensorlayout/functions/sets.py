"""Set functions. The shapes of the results depend on data, but for `isin`.

Values are the same if they compare equal: +0 and -0 are one value, every NaN is a value of its own,
as is a complex number with a NaN part. Results are row-major.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.elementwise import greater_equal, less, logical_and, logical_or
from tensorlayout.functions.searching import beside
from tensorlayout.plan.library import Library, Results, Shape
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Scalar

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


def _each(shapes: Sequence[Shape], dtype: DType, *, invert: bool) -> Results:
    return [(shapes[0], dtypes.bool)]


_ALL = Library("unique_all", "any")
_COUNTS = Library("unique_counts", "any")
_INVERSE = Library("unique_inverse", "any")
_VALUES = Library("unique_values", "any")
_ISIN = Library("isin", "any", _each)


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

    Any dtype. Values (k,) of the dtype of `x`; for each of them the index of its first occurrence
    in `x` flattened, and how often it occurs, int64; inverse indices: for each element of `x` the
    position of its value, int64, of the shape of `x`. NaN comes last. Layout: row-major. TypeError
    for what is no tensor.

    >>> import tensorlayout as tl
    >>> found = tl.unique_all(tl.asarray([3, 1, 3]))
    >>> found.indices, found.inverse_indices
    (Tensor([1, 0], dtype=int64, device='cpu'), Tensor([1, 0, 1], dtype=int64, device='cpu'))
    """
    return UniqueAll(*dispatch.library(_ALL, x))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct values, ascending, and how often each occurs.

    Any dtype. Values (k,) of the dtype of `x`, NaN last, and counts (k,), int64. Layout: row-major.
    TypeError for what is no tensor.

    >>> import tensorlayout as tl
    >>> tl.unique_counts(tl.asarray([3, 1, 3])).counts
    Tensor([1, 2], dtype=int64, device='cpu')
    """
    return UniqueCounts(*dispatch.library(_COUNTS, x))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct values, ascending, and for each element the position of its value.

    Any dtype. Values (k,) of the dtype of `x`, NaN last, and positions of the shape of `x`, int64.
    Layout: row-major. TypeError for what is no tensor.

    >>> import tensorlayout as tl
    >>> tl.unique_inverse(tl.asarray([[3], [1]])).inverse_indices
    Tensor([[1],
            [0]], dtype=int64, device='cpu')
    """
    return UniqueInverse(*dispatch.library(_INVERSE, x))


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct values, ascending.

    Any dtype, kept; NaN comes last, each one for itself. Layout: row-major, of rank 1. TypeError
    for what is no tensor.

    >>> import tensorlayout as tl
    >>> tl.unique_values(tl.asarray([3, 1, 3]))
    Tensor([1, 3], dtype=int64, device='cpu')
    """
    found: Tensor = dispatch.library(_VALUES, x)
    return found


def isin(x1: Tensor | Scalar, x2: Tensor | Scalar, /, *, invert: bool = False) -> Tensor:
    """Whether each element of `x1` occurs in `x2`, or with `invert`, whether it does not.

    Any dtypes, compared in what they promote to, integers exactly; one operand may be a Python
    scalar. A NaN occurs nowhere. The result has the shape of `x1` and is row-major. TypeError for
    what is neither a tensor nor a number.

    >>> import tensorlayout as tl
    >>> tl.isin(tl.asarray([1, 2, 3]), tl.asarray([3, 1]))
    Tensor([ True, False,  True], dtype=bool, device='cpu')
    """
    a, b = arguments.operand("isin", x1), arguments.operand("isin", x2)
    if isinstance(x1, Tensor) or (isinstance(a, Tensor) and not isinstance(x2, Tensor)):
        b = beside("isin", x2, a)
    elif isinstance(b, Tensor):
        a = beside("isin", x1, b)
    else:
        msg = "isin: at least one operand must be a tensor, got only Python scalars"
        raise TypeError(msg)
    inverted = arguments.truth("isin", "invert", invert)
    kinds = a.dtype.kind + b.dtype.kind
    if kinds not in ("iu", "ui") or dtypes.promote(a.dtype, b.dtype) != dtypes.float64:
        found: Tensor = dispatch.library(_ISIN, a, b, invert=inverted)
        return found
    # float64 does not hold all integers. As int64, those that only one of the dtypes has are less
    # than 0, and occur nowhere.
    a, b = (astype(x, dtypes.int64, copy=False) for x in (a, b))
    found = dispatch.library(_ISIN, a, b, invert=inverted)
    return logical_or(found, less(a, 0)) if inverted else logical_and(found, greater_equal(a, 0))
