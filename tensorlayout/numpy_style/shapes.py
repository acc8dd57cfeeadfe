"""Shapes with NumPy's signatures: other shapes, orders, diagonals; views where layouts allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlayout.functions import arguments, extra, manipulation, statistical
from tensorlayout.functions.outputs import given
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "diagonal",
    "flatten",
    "permute",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "trace",
    "transpose",
]


def reshape(
    a: Tensor, /, *shape: int | Sequence[int], order: str = "C", copy: bool | None = None
) -> Tensor:
    """The elements under another shape, given as sizes or as one sequence; one may be -1.

    `order`: in which the elements are read and put: ``C``, row-major, the last index fastest;
    ``F``, the first one; ``A``, ``F`` for a column-major tensor and else ``C``. A view wherever the
    strides allow it; else a packed copy of that order (ValueError if `copy` is False).

    >>> import tensorlayout as tl
    >>> tl.arange(6).reshape(2, -1)
    Tensor([[0, 1, 2],
            [3, 4, 5]], dtype=int64, device='cpu')
    """
    a = arguments.tensor("reshape", a)
    sizes: Any = shape[0] if len(shape) == 1 else shape
    arguments.choice("reshape", "order", order, "'C', 'F' or 'A'", ("C", "F", "A"))
    if order == "C" or (order == "A" and not is_column_major(a)):
        return manipulation.reshape(a, sizes, copy=copy)
    wanted = arguments.shape("reshape", sizes)
    return extra.transpose(manipulation.reshape(extra.transpose(a), wanted[::-1], copy=copy))


def is_column_major(a: Tensor) -> bool:
    """Whether the elements stand in column-major order, and in no row-major one."""
    layout = a._spec.layout
    return layout.is_column_major and not layout.is_row_major


def ravel(a: Tensor, order: str = "C") -> Tensor:
    """The elements in one row without gaps, a view where they are so already.

    `order`: as in `reshape`, or ``K``: as the dimensions are ordered in memory.
    """
    found = _in_a_row("ravel", a, order, None)
    return found if found._spec.layout.is_row_major else _in_a_row("ravel", a, order, True)


def flatten(a: Tensor, order: str = "C") -> Tensor:
    """The elements in one row, in memory of their own; `order` as in `ravel`."""
    return _in_a_row("flatten", a, order, True)


def _in_a_row(name: str, a: Any, order: str, copy: bool | None) -> Tensor:
    a = arguments.tensor(name, a)
    arguments.choice(name, "order", order, "'C', 'F', 'A' or 'K'", ("C", "F", "A", "K"))
    if order == "K":
        a = manipulation.permute_dims(a, a._spec.layout.minor_to_major[::-1])
    elif order == "F" or (order == "A" and is_column_major(a)):
        a = extra.transpose(a)
    return manipulation.reshape(a, (-1,) if a.size else (0,), copy=copy)


def squeeze(a: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    """The dimensions `axis`, which must have size 1, gone; by default all of size 1. A view."""
    if axis is None:
        shape = arguments.tensor("squeeze", a).shape
        axis = tuple([d for d, n in enumerate(shape) if n == 1])
    return manipulation.squeeze(a, axis)


def transpose(a: Tensor, *axes: int | Sequence[int] | None) -> Tensor:
    """The dimensions in the order `axes`, given one by one or as a sequence; else reversed. A view.

    >>> import tensorlayout as tl
    >>> tl.zeros((2, 3, 4)).transpose(1, 0, 2).shape
    (3, 2, 4)
    """
    order: Any = axes[0] if len(axes) == 1 else axes or None
    return extra.transpose(a, (order,) if isinstance(order, int) else order)


def permute(a: Tensor, *dims: int | Sequence[int]) -> Tensor:
    """The dimensions in the order `dims`, given one by one or as a sequence. A view."""
    order: Any = dims[0] if len(dims) == 1 else dims
    return manipulation.permute_dims(a, order)


def swapaxes(a: Tensor, axis1: int, axis2: int) -> Tensor:
    """Two dimensions exchanged. A view."""
    a = arguments.tensor("swapaxes", a)
    first = arguments.dim("swapaxes", axis1, a.ndim, "axis1")
    second = arguments.dim("swapaxes", axis2, a.ndim, "axis2")
    order = [*range(a.ndim)]
    order[first], order[second] = second, first
    return manipulation.permute_dims(a, order)


def diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal `offset` of the matrices in dimensions `axis1` and `axis2`, last. A view.

    It can be written to if `a` can. ValueError below rank 2, and for one dimension twice.
    """
    return _diagonal("diagonal", a, offset, axis1, axis2)


def _diagonal(name: str, a: Any, offset: int, axis1: int, axis2: int) -> Tensor:
    a = arguments.tensor(name, a)
    if a.ndim < 2:
        refuse(name, f"needs a rank of at least 2, got shape {a.shape}")
    pair = [arguments.dim(name, d, a.ndim, s) for d, s in ((axis1, "axis1"), (axis2, "axis2"))]
    if pair[0] == pair[1]:
        refuse(name, f"axis1 and axis2 must differ, got {axis1} and {axis2}")
    order = [d for d in range(a.ndim) if d not in pair] + pair
    from tensorlayout import linalg  # few need it

    return linalg.diagonal(manipulation.permute_dims(a, order), offset=offset)


def trace(
    a: Tensor,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum along the diagonal `offset` of the matrices in two dimensions; dtype as in `sum`."""
    line = _diagonal("trace", a, offset, axis1, axis2)
    return given("trace", statistical.sum(line, axis=-1, dtype=dtype), out)
