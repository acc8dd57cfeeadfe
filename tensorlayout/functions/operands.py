"""Operands as NumPy's callers give them: numbers and lists beside tensors, integers as floats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.elementwise import not_equal
from tensorlayout.functions.manipulation import reshape
from tensorlayout.functions.transfers import moved
from tensorlayout.tensor import Tensor

# Arguments of NumPy's that are off where they are false.
_FLAGS = {"wrap", "writeable"}


def unsupported(**given: Any) -> None:
    """Raise TypeError that names the first argument that is not left out."""
    for argument, value in given.items():
        if value is not None and not (value is False and argument in _FLAGS):
            raise TypeError(f"takes no {argument}={arguments.shown(value)} with tensors")


def check_finite(number: Any, kind: dtypes.DType) -> None:
    """Refuse NaN (ValueError) and infinities (OverflowError) for an integer dtype."""
    if type(number) is float and kind.kind in "iu":
        int(number)


def tensors(*given: Any, weak: bool = True) -> list[Tensor]:
    """All of `given`, a tensor or an array among them, as tensors where the first of these is."""
    if {*map(type, given)} == {Tensor}:
        return [*given]
    first = next((x for x in given if isinstance(x, Tensor)), None)
    if first is None:
        arrays = (x for x in given if isinstance(x, (np.ndarray, np.generic)))
        first = arguments.tensor(next(arrays, given[0] if given else None))
    return [x if isinstance(x, Tensor) else beside(x, first, weak=weak) for x in given]


def sequence(given: Any, argument: str = "arrays") -> list[Tensor]:
    """A sequence of tensors (such as a tensor), or of what stands for some; at least one."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{argument} must be a sequence, got {arguments.shown(given)}")
    found = list(given)
    if not found:
        raise ValueError(f"{argument} must hold at least one tensor, got none")
    return tensors(*found, weak=False)


def line(x: Any, axis: SupportsIndex | None) -> tuple[Tensor, int]:
    """Return a tensor and the dimension `axis` of it; for None its elements in index order."""
    found: Tensor = x if type(x) is Tensor else arguments.tensor(x)
    rank = len(found.spec.layout.shape)
    if axis is None:
        return found if rank == 1 else reshape(found, (-1,)), 0
    return found, arguments.dim(axis, rank)


def lines(*given: Any, weak: bool = True) -> list[Tensor]:
    """Return `tensors` with their elements in index order."""
    return [reshape(x, (-1,)) for x in tensors(*given, weak=weak)]


def floating(x: Any) -> Tensor:
    """`x`, integers and bool as float64."""
    found = arguments.tensor(x)
    if dtypes.is_in_category(found.dtype, "integer or boolean"):
        return astype(found, dtypes.float64)
    return found


def counted(x: Any, kind: dtypes.DType = dtypes.int64) -> Tensor:
    """`x`, bool as integers, which can be added and have an order."""
    found = arguments.tensor(x)
    return astype(found, kind) if found.dtype == dtypes.bool else found


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
        kind = dtypes.promote_dtypes(kind, x.dtype)
    return [astype(x, kind, copy=False) for x in given]


def mean_dtype(x: Tensor, dtype: Any) -> dtypes.DType:
    """The dtype of a mean: the one asked for, that of `x`, or float64."""
    if dtype is None:
        return x.dtype if dtypes.is_in_category(x.dtype, "floating-point") else dtypes.float64
    kind = arguments.dtype_in("floating-point", dtype)
    if x.dtype.kind == "c" and dtypes.is_in_category(kind, "real floating"):
        raise TypeError(f"{x.dtype} cannot become {kind}; take real() or abs() first")
    return kind


def beside(x: Any, other: Tensor, *, weak: bool = True) -> Tensor:
    """Return a tensor, a number or a list of numbers as a tensor where `other` is.

    A Python number gets the dtype that it has in an operation with `other`, or, where it is not
    `weak`, that of an array made of it.
    """
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, (list, tuple)) or (type(x) in dtypes.SCALARS and not weak):
        return asarray(x, device=other.device)
    given = arguments.operand(x)
    if isinstance(given, Tensor):
        arguments.refuse_arrays((x,), other.device)
        return moved(given, other.device) if isinstance(x, np.generic) else given
    kind = dtypes.promote_with_scalar(other.dtype, type(given))
    try:
        return asarray(given, dtype=kind, device=other.device)
    except OverflowError:
        raise dtypes.integer_overflow_error(given, kind) from None


def there(x: Any, other: Tensor) -> Tensor:
    """Return whatever `asarray` takes as a tensor where `other` is; a tensor stays where it is."""
    return x if isinstance(x, Tensor) else asarray(x, device=other.device)


def truths(condition: Any, x: Tensor) -> Tensor:
    """Return numbers of any dtype as a tensor of bool where `x` is."""
    return astype(beside(condition, x), dtypes.bool, copy=False)
