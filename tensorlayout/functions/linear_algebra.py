"""Linear algebra functions."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlayout.cpu import transforms
from tensorlayout.functions import calling
from tensorlayout.functions.manipulation import permute_dims
from tensorlayout.plan.library import Library
from tensorlayout.plan.products import MatrixProduct
from tensorlayout.tensor import Tensor

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]

_MATMUL = MatrixProduct()
_TENSORDOT = Library("tensordot", "numeric", transforms.tensordot)
_VECDOT = Library("vecdot", "numeric", transforms.vecdot, rank=1)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix product over the last two dimensions; vectors at rank 1, batches above 2.

    dtypes: numeric. Layout: row-major; transposed and padded operands are not copied.
    """
    a, b = calling.tensor("matmul", x1), calling.tensor("matmul", x2)
    return calling.call(_MATMUL, (a._spec, b._spec), (a, b))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two dimensions exchanged. A view."""
    x = calling.tensor("matrix_transpose", x)
    if x.ndim < 2:
        msg = f"matrix_transpose: needs a rank of at least 2, got shape {x.shape}"
        raise ValueError(msg)
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """The sum of products over pairs of axes: the last of `x1` and first of `x2`, or as given.

    `axes`: how many axes, or the axes of each operand. dtypes: numeric. Layout: row-major.
    ValueError where sizes of paired axes differ.
    """
    if isinstance(axes, int):
        pairs: tuple[tuple[int, ...], tuple[int, ...]] = (
            tuple(range(-axes, 0)),
            tuple(range(axes)),
        )
    else:
        pairs = (tuple(axes[0]), tuple(axes[1]))
    found: Tensor = calling.library(_TENSORDOT, x1, x2, static=(pairs,))
    return found


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sum of products along `axis`, complex elements of `x1` conjugated; others broadcast.

    dtypes: numeric. Layout: row-major. ValueError where the sizes along `axis` differ.
    """
    a, b = calling.tensor("vecdot", x1), calling.tensor("vecdot", x2)
    if not a.ndim or not b.ndim or not -min(a.ndim, b.ndim) <= axis < 0:
        msg = (
            f"vecdot: axis must be negative and inside both shapes {a.shape} and {b.shape},"
            f" got {axis}"
        )
        raise ValueError(msg)
    if a.shape[axis] != b.shape[axis]:
        msg = f"vecdot: sizes along axis {axis} differ in shapes {a.shape} and {b.shape}"
        raise ValueError(msg)
    found: Tensor = calling.library(_VECDOT, a, b, static=(axis,))
    return found
