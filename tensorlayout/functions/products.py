"""Products of vectors, matrices and tensors with NumPy's names, and polynomials.

One operand must be a tensor; the other may also be a number or a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex

from tensorlayout import dtypes, errors
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.linear_algebra import call_product_operation
from tensorlayout.functions.operands import as_tensors, bools_to_integers, flatten_operands
from tensorlayout.functions.outputs import store_in_out
from tensorlayout.functions.padding import pad
from tensorlayout.plan import Library, matrices
from tensorlayout.plan.matrices import expand_einsum_subscripts
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike

__all__ = [
    "convolve",
    "correlate",
    "cross",
    "dot",
    "einsum",
    "inner",
    "kron",
    "outer",
    "polyval",
    "vander",
    "vdot",
]


_CROSS = Library("cross", "numeric", matrices.cross_product_result)
_EINSUM = Library(
    "einsum",
    "any",
    lambda shapes, dtype, *, subscripts: [
        (expand_einsum_subscripts(subscripts, tuple(shapes))[1], dtype)
    ],
)
_OUTER = Library("outer", "numeric", matrices.outer_product_result)

# NumPy's search for an order of products takes cubic time.
_MOST_OPERANDS = 64
# Letters of subscripts: as many as 64 operands of rank 64 have.
_MOST_LETTERS = 4096


def dot(a: Tensor, b: ArrayLike, out: Tensor | None = None) -> Tensor:
    """Multiply over the last axis of `a` and the second to last axis (or the only one) of `b`.

    The result is the matrix product for two matrices, and the elementwise product if one operand is
    a number. `out` receives the result. dtypes: numeric and bool; integers wrap. Layout: row-major;
    for a product with a number the form of the tensor.

    Raises `ValueError` if sizes do not match; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.dot(tl.asarray([1, 2]), tl.asarray([3, 4]))
    Tensor(11, dtype=int64, device='cpu')
    """
    x, y = as_tensors(a, b, weak=False)
    if not x.ndim or not y.ndim:
        result = _elementwise_product(x, y)
    elif x.ndim <= 2 and y.ndim <= 2:
        result = xp.matmul(x, y)
    else:
        # The axes of NumPy's dot, unlike those of matmul, where leading dimensions broadcast.
        result = xp.tensordot(x, y, axes=(-1, -1 if y.ndim == 1 else -2))
    return store_in_out("dot", result, out)


def _elementwise_product(x: Tensor, y: Tensor) -> Tensor:
    truths = x.spec.dtype.kind == y.spec.dtype.kind == "b"
    return (xp.logical_and if truths else xp.multiply)(x, y)


def vdot(a: ArrayLike, b: ArrayLike, /) -> Tensor:
    """Return the sum of products of all elements in index order, those of `a` conjugated.

    dtypes: numeric and bool; integers wrap. Layout: row-major, of rank 0.

    Raises `ValueError` if the numbers of elements differ; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.vdot(tl.asarray([1j, 2]), tl.asarray([1j, 1]))
    Tensor((3+0j), dtype=complex128, device='cpu')
    """
    return xp.vecdot(*flatten_operands(a, b, weak=False))


def inner(a: ArrayLike, b: ArrayLike, /) -> Tensor:
    """Return sums of products along the last dimensions; the product if one is a number.

    dtypes: numeric and bool; integers wrap. Layout: row-major; for a product with a number the form
    of the tensor.

    Raises `ValueError` if the last sizes differ; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.inner(tl.asarray([1, 2]), tl.asarray([3, 4]))
    Tensor(11, dtype=int64, device='cpu')
    """
    x, y = as_tensors(a, b, weak=False)
    if not x.ndim or not y.ndim:
        return _elementwise_product(x, y)
    return xp.tensordot(x, y, axes=(-1, -1))


def outer(a: ArrayLike, b: ArrayLike, out: Tensor | None = None) -> Tensor:
    """Return the matrix of all products of an element of `a` and one of `b`, both in index order.

    `out` receives the result. dtypes: numeric and bool; integers wrap. Layout: row-major.

    Raises `ValueError` if `out` has another shape; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.outer(tl.asarray([1, 2]), tl.asarray([3, 4]))
    Tensor([[3, 4],
            [6, 8]], dtype=int64, device='cpu')
    """
    if type(a) is type(b) is Tensor and a.ndim == b.ndim == 1:
        return store_in_out("outer", call_product_operation(_OUTER, a, b), out)
    return store_in_out(
        "outer", call_product_operation(_OUTER, *flatten_operands(a, b, weak=False)), out
    )


def kron(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Return the Kronecker product: the blocks of `b` times each element of `a`.

    dtypes: numeric and bool; integers wrap. Layout: row-major.

    Raises `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.kron(tl.asarray([1, 10]), tl.asarray([1, 2]))
    Tensor([ 1,  2, 10, 20], dtype=int64, device='cpu')
    """
    x, y = as_tensors(a, b, weak=False)
    rank = max(x.ndim, y.ndim)
    x, y = (operand[(None,) * (rank - operand.ndim)] for operand in (x, y))
    # Sizes interleave: (n, 1) times (1, m) gives (n, m), in which position i * m + j is the product
    # of elements i and j. So merging both dimensions is the Kronecker product.
    left = xp.reshape(x, [size for n in x.shape for size in (n, 1)])
    right = xp.reshape(y, [size for n in y.shape for size in (1, n)])
    shape = [n * m for n, m in zip(x.shape, y.shape, strict=True)]
    return xp.reshape(_elementwise_product(left, right), shape)


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: SupportsIndex = -1,
    axisb: SupportsIndex = -1,
    axisc: SupportsIndex = -1,
    axis: SupportsIndex | None = None,
) -> Tensor:
    """Compute the cross product of 3-element vectors in `a` and `b`; other dimensions broadcast.

    `axisa` and `axisb` are the axes of the vectors, `axisc` is the axis of the results; `axis` sets
    all three. dtypes: numeric; integers wrap. Layout: row-major, with the vectors along the last
    axis, except for a negative `axis`.

    Raises `ValueError` if a size along an axis is not 3 or the other sizes do not broadcast, and
    (`AxisError`) if an axis is out of bounds; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.cross(tl.asarray([1, 0, 0]), tl.asarray([0, 1, 0]))
    Tensor([0, 0, 1], dtype=int64, device='cpu')
    """
    x, y = as_tensors(a, b)
    if axis is not None:
        axisa = axisb = axisc = arguments.as_integer("axis", axis)
    # The standard's function has one negative axis. Other axes are moved there and back.
    if axisa == axisb == axisc and arguments.as_integer("axisa", axisa) < 0:
        return dispatch.call_library(_CROSS, x, y, axis=axisa)
    return xp.moveaxis(cross(xp.moveaxis(x, axisa, -1), xp.moveaxis(y, axisb, -1)), -1, axisc)


def einsum(
    *operands: ArrayLike | str, out: Tensor | None = None, optimize: Any = False, **kwargs: Any
) -> Tensor:
    """Sum products over labelled dimensions, in NumPy's Einstein notation.

    - `operands`: subscripts such as ``"ij,jk->ik"``, in which ``...`` stands for dimensions without
      a label; then the tensors.
    - `out`: a tensor that receives the result.
    - `optimize`: accepted for NumPy's sake, without effect. Other keywords (`kwargs`) are refused.

    Returns a new tensor; dtype: the promoted one, with 16-bit floats computed in float32. Layout:
    row-major.

    Raises `ValueError` for subscripts that do not match the tensors.

    >>> import tensorlayout as tl
    >>> tl.einsum("ij,j->i", tl.asarray([[1, 2], [3, 4]]), tl.asarray([1, 10]))
    Tensor([21, 43], dtype=int64, device='cpu')
    """
    for name, value in kwargs.items():
        raise TypeError(f"takes no {name}={arguments.format_argument(value)} with tensors")
    subscripts = operands[0] if operands else None
    if not isinstance(subscripts, str):
        subscripts_text = arguments.format_argument(subscripts)
        raise TypeError(f"the first argument must be the subscripts, got {subscripts_text}")
    if len(operands) == 1:
        raise ValueError("operands must hold at least one tensor, got none")
    parts = as_tensors(*operands[1:])
    terms = subscripts.partition("->")[0].count(",") + 1
    if terms != len(parts) or terms > _MOST_OPERANDS or len(subscripts) > _MOST_LETTERS:
        limits_text = f"at most {_MOST_OPERANDS}, in at most {_MOST_LETTERS} letters"
        raise _subscripts_error(subscripts, parts, f"each operand is named once, {limits_text}")
    try:
        explicit_subscripts, _ = expand_einsum_subscripts(
            subscripts, tuple([x.shape for x in parts])
        )
    except ValueError as error:
        raise _subscripts_error(subscripts, parts, str(error)) from None
    return store_in_out(
        "einsum", dispatch.call_library(_EINSUM, *parts, subscripts=explicit_subscripts), out
    )


def _subscripts_error(subscripts: str, parts: Sequence[Tensor], reason: str) -> ValueError:
    shapes = errors.truncate(", ".join(str(x.shape) for x in parts))
    mismatch = f"{arguments.format_argument(subscripts)} does not fit shapes {shapes}"
    return ValueError(f"{mismatch}: {errors.truncate(reason)}")


def convolve(a: ArrayLike, v: ArrayLike, mode: Literal["full", "same", "valid"] = "full") -> Tensor:
    """Return the sums of products of the lines `a` and `v`, with `v` reversed, at each shift.

    `mode` is ``full`` for all shifts with an overlap; ``same`` for as many as the longer line has
    elements; ``valid`` for shifts with a full overlap. dtypes: numeric and bool. Layout: row-major.

    Raises `ValueError` if a rank exceeds 1, a line is empty, or `mode` is unknown; `TypeError` for
    any other dtype.

    >>> import tensorlayout as tl
    >>> tl.convolve(tl.asarray([1, 2, 3]), tl.asarray([1, 10]))
    Tensor([ 1, 12, 23, 30], dtype=int64, device='cpu')
    """
    x, y = as_tensors(a, v, weak=False)
    x, y = (operand if operand.ndim else xp.reshape(operand, (1,)) for operand in (x, y))
    _check_1d_and_nonempty(x, y)
    # The order of the operands does not matter, and windows must be taken of the longer line.
    if x.size < y.size:
        x, y = y, x
    return _sliding_dot_products(x, y[::-1], mode)


def correlate(
    a: ArrayLike, v: ArrayLike, mode: Literal["full", "same", "valid"] = "valid"
) -> Tensor:
    """Correlate two lines `a` and `v`: sums of products at each shift; `v` is conjugated.

    `mode` is as in `convolve`. dtypes: numeric and bool. Layout: row-major, or its reverse.

    Raises `ValueError` if the rank is not 1, a line is empty, or `mode` is unknown; `TypeError` for
    any other dtype.

    >>> import tensorlayout as tl
    >>> tl.correlate(tl.asarray([1, 2, 3]), tl.asarray([1, 10]))
    Tensor([21, 32], dtype=int64, device='cpu')
    """
    x, y = as_tensors(a, v, weak=False)
    _check_1d_and_nonempty(x, y)
    conjugate = xp.conj(y) if y.dtype.kind == "c" else y
    if x.size >= y.size:
        return _sliding_dot_products(x, conjugate, mode)
    # Exchanging the operands reverses the order of the shifts.
    return _sliding_dot_products(conjugate, x, mode)[::-1]


def _check_1d_and_nonempty(x: Tensor, y: Tensor) -> None:
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        raise ValueError(f"needs two lines of elements, got shapes {x.shape} and {y.shape}")


def _sliding_dot_products(x: Tensor, y: Tensor, mode: str) -> Tensor:
    """Return the sums of products of `y` with each window of the longer `x`."""
    arguments.check_choice("mode", mode, ("full", "same", "valid"), "'full', 'same' or 'valid'")
    n = y.size
    # Zeros before and after `x`: n - 1 of them, or none. An odd number has its larger half in
    # front, as in NumPy.
    widths = {"full": (n - 1, n - 1), "same": (n // 2, n - 1 - n // 2), "valid": (0, 0)}[mode]
    # The windows are a view, so that padding is the only copy before one matrix product.
    return xp.matmul(xp.sliding_window(pad(x, widths), n), y)


def polyval(p: ArrayLike, x: ArrayLike) -> Tensor:
    """Return the values of the polynomial with coefficients `p`, highest power first, at `x`.

    dtypes: numeric; the result has the promoted one. Layout: the form of `x`.

    Raises `ValueError` if the rank of `p` is not 1; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.polyval([1, 0, -1], tl.asarray([2, 3]))
    Tensor([3, 8], dtype=int64, device='cpu')
    """
    factors, points = as_tensors(p, x, weak=False)
    if factors.ndim != 1:
        raise ValueError(f"p must be coefficients of rank 1, got shape {factors.shape}")
    result = xp.zeros_like(points)
    # Horner's rule: for coefficients a, b, c it computes ((0 * x + a) * x + b) * x + c.
    for factor in factors:
        result = xp.add(xp.multiply(result, points), factor)
    return result


def vander(x: Tensor, N: SupportsIndex | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Return the Vandermonde matrix of `x`: a row with the powers of each element.

    `N` is the number of powers (default: the number of elements); `increasing` puts the least power
    first, not last. dtypes: numeric and bool, promoted with int64. Layout: row-major.

    Raises `ValueError` if the rank is not 1 or `N` is negative; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.vander(tl.asarray([2, 3]), 3)
    Tensor([[4, 2, 1],
            [9, 3, 1]], dtype=int64, device='cpu')
    """
    vector = bools_to_integers(x)
    if vector.ndim != 1:
        raise ValueError(f"needs a rank of 1, got shape {vector.shape}")
    column_count = vector.size if N is None else arguments.as_nonnegative_integer("N", N)
    powers = xp.arange(column_count, device=vector.device)
    powers = powers if increasing else powers[::-1]
    # As in NumPy, integers have at least 64 bits.
    kind = dtypes.promote_dtypes(vector.dtype, dtypes.int64)
    return xp.pow(xp.astype(vector, kind, copy=False)[:, None], powers[None])
