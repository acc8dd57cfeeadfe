"""Searching functions."""

from __future__ import annotations

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.memory import Array
from tensorlayout.functions import calling
from tensorlayout.plan.elementwise import Elementwise
from tensorlayout.tensor import Tensor

__all__ = ["where"]


def _choose(condition: Array, x1: Array, x2: Array, out: Array) -> None:
    out[...] = x2
    np.copyto(out, x1, where=condition)


_WHERE = Elementwise("where", "any", _choose, abstain=(0,))


def where(condition: Tensor, x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """The elements of `x1` where `condition` is true, those of `x2` elsewhere.

    `condition`: a tensor of bool. Shapes broadcast. Layout: the form of `x1` and `x2`; the
    condition has a say only if neither has the shape of the result.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([-1.0, 2.0, -3.0])
    >>> tl.where(x > 0, x, 0.0)
    Tensor([0., 2., 0.], dtype=float64, device='cpu')
    """
    condition = calling.tensor("where", condition)
    if condition.dtype != dtypes.bool:
        msg = f"where: the condition must have dtype bool, got {condition.dtype}"
        raise TypeError(msg)
    return calling.elementwise(_WHERE, condition, x1, x2)
