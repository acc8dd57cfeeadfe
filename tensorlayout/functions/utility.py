"""Utility functions."""

from __future__ import annotations

from tensorlayout import dtypes
from tensorlayout.cpu import reducing
from tensorlayout.functions.statistical import Axis, reduced
from tensorlayout.plan.reducing import Reduce
from tensorlayout.tensor import Tensor

__all__ = ["all", "any"]

_ALL = Reduce("all", "any", reducing.all_, dtypes.bool)
_ANY = Reduce("any", "any", reducing.any_, dtypes.bool)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether every element along `axis` is nonzero (NaN counts as such); True of none."""
    return reduced(_ALL, x, axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether some element along `axis` is nonzero (NaN counts as such); False of none."""
    return reduced(_ANY, x, axis, keepdims)
