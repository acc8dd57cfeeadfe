"""Linear algebra functions."""

from __future__ import annotations

from tensorlayout.functions import calling
from tensorlayout.functions.manipulation import permute_dims
from tensorlayout.plan.products import MatrixProduct
from tensorlayout.tensor import Tensor

__all__ = ["matmul", "matrix_transpose"]

_MATMUL = MatrixProduct()


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
