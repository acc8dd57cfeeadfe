"""Comparisons of numbers that are only close, and of whole tensors.

One operand is a tensor; the other may also be a number or a list.
"""

from __future__ import annotations

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import basics as xp
from tensorlayout.functions.operands import floating, tensors
from tensorlayout.plan.rules import broadcast_shape
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike

__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]


def isclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Return whether each ``abs(a - b)`` is at most ``atol + rtol * abs(b)``, or the two are equal.

    Shapes broadcast. Any dtype; integers and bool are compared as float64. `rtol`, `atol`: numbers.
    `equal_nan`: NaN is close to NaN. Layout: in the form of ``a - b``. TypeError for anything else.

    >>> import tensorlayout as tl
    >>> tl.isclose(tl.asarray([1.0, 2.0, tl.nan]), tl.asarray([1.0, 2.1, tl.nan]), equal_nan=True)
    Tensor([ True, False,  True], dtype=bool, device='cpu')
    """
    x, y = (floating(each) for each in tensors(a, b))
    bound = xp.add(xp.multiply(xp.abs(y), rtol), atol)
    near = xp.logical_and(xp.less_equal(xp.abs(xp.subtract(x, y)), bound), xp.isfinite(y))
    found = xp.logical_or(near, xp.equal(x, y))
    if arguments.truth("equal_nan", equal_nan):
        found = xp.logical_or(found, xp.logical_and(xp.isnan(x), xp.isnan(y)))
    return found


def allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Return whether all elements of `a` and `b` are close, as `isclose` has it.

    Any dtype. The parameters `rtol`, `atol` and `equal_nan` and the errors (TypeError) are those of
    `isclose`. The answer is a Python bool; a CUDA device waits for it.

    >>> import tensorlayout as tl
    >>> tl.allclose(tl.asarray([1.0, 2.0]), tl.asarray([1.0, 2.0 + 1e-9]))
    True
    """
    return bool(xp.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Return whether the shapes and all elements of `a1` and `a2` are equal.

    `equal_nan`: NaN is equal to NaN. Any dtype. The answer is a Python bool; a CUDA device waits
    for it. TypeError for what is neither a tensor nor numbers.

    >>> import tensorlayout as tl
    >>> tl.array_equal(tl.asarray([1.0, 2.0]), [1, 2])
    True
    """
    x, y = tensors(a1, a2)
    if x.shape != y.shape:
        return False
    found = xp.equal(x, y)
    if equal_nan and all(dtypes.in_category(each.dtype, "floating-point") for each in (x, y)):
        found = xp.logical_or(found, xp.logical_and(xp.isnan(x), xp.isnan(y)))
    return bool(xp.all(found))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Return whether the shapes of `a1` and `a2` broadcast, and all elements are equal then.

    Any dtype. The answer is a Python bool; a CUDA device waits for it. TypeError for what is
    neither a tensor nor numbers.

    >>> import tensorlayout as tl
    >>> tl.array_equiv(tl.asarray([[1, 1]]), 1)
    True
    """
    x, y = tensors(a1, a2)
    try:
        broadcast_shape([x.shape, y.shape])
    except ValueError:
        return False
    return bool(xp.all(xp.equal(x, y)))
