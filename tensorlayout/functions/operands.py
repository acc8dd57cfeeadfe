"""Operands as NumPy's callers give them: numbers and lists beside tensors, integers as floats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.functions import arguments, searching
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.elementwise import not_equal
from tensorlayout.functions.manipulation import broadcast_to
from tensorlayout.functions.searching import beside as beside
from tensorlayout.tensor import Tensor

# Arguments of NumPy's that are off where they are false.
_FLAGS = {"wrap", "writeable"}


def unsupported(**given: Any) -> None:
    """Raise TypeError that names the first argument that is not left out."""
    for argument, value in given.items():
        if value is not None and not (value is False and argument in _FLAGS):
            raise TypeError(f"takes no {argument}={arguments.shown(value)} with tensors")


def check_finite(number: Any, kind: DType) -> None:
    """Refuse NaN (ValueError) and infinities (OverflowError) for an integer dtype."""
    if type(number) is float and kind.kind in "iu":
        int(number)


_TENSORS = {Tensor}


def tensors(*given: Any, weak: bool = True) -> list[Tensor]:
    """All of `given`, a tensor or an array among them, as tensors where the first of these is."""
    if {*map(type, given)} == _TENSORS:
        return [*given]
    first = next((x for x in given if isinstance(x, Tensor)), None)
    if first is None:
        arrays = (x for x in given if isinstance(x, (np.ndarray, np.generic)))
        first = arguments.tensor(next(arrays, given[0] if given else None))
    return [x if isinstance(x, Tensor) else beside(x, first, weak=weak) for x in given]


def sequence(given: Any, argument: str = "arrays") -> list[Tensor]:
    """A sequence of tensors, or of what stands for some, as a list; at least one.

    A tensor is the sequence of its slices along the first dimension.
    """
    if not isinstance(given, Iterable):
        raise TypeError(f"{argument} must be a sequence, got {arguments.shown(given)}")
    found = list(given)
    if not found:
        raise ValueError(f"{argument} must be at least one tensor, got none")
    return tensors(*found, weak=False)


def floating(x: Any) -> Tensor:
    """`x`, integers and bool as float64."""
    found = arguments.tensor(x)
    if dtypes.in_category(found.dtype, "integer or boolean"):
        return astype(found, dtypes.float64)
    return found


def counted(x: Any) -> Tensor:
    """`x`, bool as int64."""
    found = arguments.tensor(x)
    return astype(found, dtypes.int64) if found.dtype == dtypes.bool else found


def ordered(x: Any) -> Tensor:
    """`x`, bool as uint8, which has an order."""
    found = arguments.tensor(x)
    return astype(found, dtypes.uint8) if found.dtype == dtypes.bool else found


def product(function: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
    """A sum of products; of truths, whether one of them is true."""
    if x.dtype != dtypes.bool or y.dtype != dtypes.bool:
        return function(x, y)
    counts = function(astype(x, dtypes.int64), astype(y, dtypes.int64))
    return not_equal(counts, 0)


def promoted(given: Sequence[Tensor]) -> list[Tensor]:
    """Tensors in the dtype that all of them promote to."""
    kind = given[0].dtype
    for x in given:
        kind = dtypes.promote(kind, x.dtype)
    return [astype(x, kind, copy=False) for x in given]


def mask_of(a: Tensor, where: Any) -> Tensor:
    """Return `where` as a mask of the shape of `a`."""
    if not isinstance(where, Tensor):
        where = asarray(where, device=a.device)
    if where.dtype != dtypes.bool:
        raise TypeError(f"where must be a tensor of bool, or truths, got {where.dtype}")
    return broadcast_to(where, a.shape)


def selected(a: Any, where: Any, nothing: Any) -> Tensor:
    """Return `a` with `nothing` in place of the elements that `where` leaves out."""
    a = arguments.tensor(a)
    if a.dtype == dtypes.bool:
        nothing = bool(nothing)
    return searching.where(mask_of(a, where), a, nothing)
