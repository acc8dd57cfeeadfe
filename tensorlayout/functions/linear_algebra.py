"""Linear algebra functions: products of matrices and of tensors, and transposed matrices.

A product of two bool tensors is bool: True if any of the products to add up is True.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, SupportsIndex

from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.operands import as_tensors, call_product_allowing_bools
from tensorlayout.layout import Layout
from tensorlayout.plan import Library, Matmul, View, matrices
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


_MATMUL = Matmul()
_TENSORDOT = Library("tensordot", "numeric", matrices.tensordot_result)
_VECDOT = Library("vecdot", "numeric", matrices.vecdot_result)


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Multiply matrices: the last two dimensions, with leading dimensions broadcast.

    Shapes (…, m, k) and (…, k, n) give (…, m, n). A vector (k,) on the left stands for (1, k), on
    the right for (k, 1), and that 1 is not in the result.

    Returns a new tensor; dtypes: numeric and bool. Layout: row-major.

    Raises `ValueError` for shapes that do not match, and `TypeError` for other dtypes.

    Integers wrap; 16-bit floats are multiplied in float32 and rounded once. Transposed, padded and
    flipped operands go to BLAS without a copy. An operand is copied only if its elements are not
    adjacent in either dimension, and if it is of 16-bit floats (into float32). On CUDA, large
    products of `int8` and `uint8` also copy operands that are not contiguous along k.

    >>> import tensorlayout as tl
    >>> tl.matmul(tl.asarray([[1, 2], [3, 4]]), tl.asarray([1, 10]))
    Tensor([21, 43], dtype=int64, device='cpu')
    """
    if type(x1) is type(x2) is Tensor and x1.spec.dtype.kind != "b":
        return dispatch.call(_MATMUL, (x1.spec, x2.spec), (x1, x2))
    return call_product_allowing_bools(
        lambda x, y: dispatch.call(_MATMUL, (x.spec, y.spec), (x, y)), *as_tensors(x1, x2)
    )


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return a view with the last two dimensions exchanged.

    Any dtype.

    Raises `ValueError` if the rank is below 2; `TypeError` if `x` is not a tensor.

    >>> import tensorlayout as tl
    >>> tl.matrix_transpose(tl.zeros((5, 2, 3))).layout
    Layout.parse('(5,3,2):(6,1,3)')
    """
    return dispatch.call_view(_TRANSPOSE, arguments.as_tensor(x), None)


def transpose_matrix_layout(layout: Layout, _: None) -> Layout:
    """Exchange the last two dimensions of a layout; ValueError for a rank below 2."""
    end = layout.ndim - 1
    if end < 1:
        raise ValueError(f"needs a rank of at least 2, got shape {layout.shape}")
    return layout.permute((*range(end - 1), end, end - 1))


_TRANSPOSE = View("matrix_transpose", transpose_matrix_layout)


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: SupportsIndex | Sequence[SupportsIndex | Sequence[SupportsIndex]] = 2,
) -> Tensor:
    """Sum products over pairs of axes.

    - `axes`: the number of last axes of `a` and first axes of `b`, or the axes of each operand in
      matching order.

    Returns a new tensor with the other axes of `a`, then those of `b`. dtypes: numeric and bool;
    integers wrap. Layout: row-major. An operand is copied if its paired axes, or its other axes,
    are not contiguous.

    Raises `ValueError` if sizes of paired axes differ, and if axes are out of bounds, repeated, or
    not in pairs.

    >>> import tensorlayout as tl
    >>> tl.tensordot(tl.ones((2, 3, 4)), tl.ones((4, 2, 5)), axes=((2, 0), (0, 1))).shape
    (3, 5)
    """
    x, y = as_tensors(a, b)
    return call_product_operation(_TENSORDOT, x, y, axes=_contracted_axes(axes, x.ndim, y.ndim))


def _contracted_axes(
    axes: Any, first_rank: int, second_rank: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of both operands that tensordot sums over, counted from the front."""
    # A bool has `__index__`, too, but is not a number of axes.
    if hasattr(axes, "__index__") and not isinstance(axes, bool):
        count = arguments.as_integer("axes", axes)
        if not 0 <= count <= min(first_rank, second_rank):
            rule = f"must be from 0 to {min(first_rank, second_rank)} (the ranks)"
            raise ValueError(f"axes {rule}, got {arguments.format_argument(count)}")
        return tuple(range(first_rank - count, first_rank)), tuple(range(count))
    try:
        left_axes, right_axes = (arguments.as_integers(n, "axes", allow_none=False) for n in axes)
    except (TypeError, ValueError):
        rule = "axes must be an integer or two sequences of integers"
        raise TypeError(f"{rule}, got {arguments.format_argument(axes)}") from None
    # Either item may also be one integer, as in axes=(1, 0); here both become tuples.
    left_dims = arguments.normalize_axes(left_axes, first_rank, "axes")
    right_dims = arguments.normalize_axes(right_axes, second_rank, "axes")
    if len(left_dims) != len(right_dims):
        raise ValueError(
            f"axes must have equal lengths for both operands, got {left_dims} and {right_dims}"
        )
    return left_dims, right_dims


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: SupportsIndex = -1) -> Tensor:
    """Sum products along `axis`, with complex elements of `x1` conjugated; other axes broadcast.

    `axis` is negative and inside both shapes. dtypes: numeric and bool; integers wrap. Layout:
    row-major.

    Raises `ValueError` if the sizes along `axis` differ, the other sizes do not broadcast, or
    `axis` is out of bounds; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.vecdot(tl.asarray([1j, 2]), tl.asarray([1j, 1]))
    Tensor((3+0j), dtype=complex128, device='cpu')
    """
    return call_product_operation(_VECDOT, x1, x2, axis=arguments.as_integer("axis", axis))


def call_product_operation(operation: Library, a: Any, b: Any, **options: Any) -> Tensor:
    """Call a product operation on two tensors, or on operands converted to tensors."""
    if type(a) is type(b) is Tensor and a.spec.dtype.kind != "b":
        # The key that `call_library` would build, without its conversions.
        return dispatch.call(operation, (2, a.spec, b.spec, *options.items()), (a, b))
    call = partial(dispatch.call_library, operation, **options)
    return call_product_allowing_bools(call, *as_tensors(a, b))
