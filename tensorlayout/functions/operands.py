"""Conversion of operands as in NumPy: numbers and lists to tensors, integers to floats."""

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
from tensorlayout.functions.transfers import move_to_device
from tensorlayout.tensor import Tensor

# NumPy arguments for which False means omitted.
_FLAGS = {"wrap", "writeable"}


def refuse_unsupported_arguments(**options: Any) -> None:
    """Raise TypeError for the first argument that is not omitted."""
    for argument, value in options.items():
        if value is not None and not (value is False and argument in _FLAGS):
            raise TypeError(f"takes no {argument}={arguments.format_argument(value)} with tensors")


def check_finite(number: Any, kind: dtypes.DType) -> None:
    """Raise ValueError for NaN and OverflowError for infinities in an integer dtype."""
    if type(number) is float and kind.kind in "iu":
        # The conversion raises the right error by itself.
        int(number)


def as_tensors(*operands: Any, weak: bool = True) -> list[Tensor]:
    """Convert all `operands` to tensors on the device of the first tensor among them."""
    if {*map(type, operands)} == {Tensor}:
        return [*operands]
    first = next((x for x in operands if isinstance(x, Tensor)), None)
    if first is None:
        # Without any tensor, an array or NumPy scalar comes first: it gives Python numbers a dtype.
        arrays = (x for x in operands if isinstance(x, (np.ndarray, np.generic)))
        first = arguments.as_tensor(next(arrays, operands[0] if operands else None))
    return [
        x if isinstance(x, Tensor) else as_tensor_on_device_of(x, first, weak=weak)
        for x in operands
    ]


def as_tensor_sequence(value: Any, argument: str = "arrays") -> list[Tensor]:
    """Return a list of at least one tensor, from a tensor, or from tensors, numbers and lists."""
    if not isinstance(value, Iterable):
        raise TypeError(f"{argument} must be a sequence, got {arguments.format_argument(value)}")
    items = list(value)
    if not items:
        raise ValueError(f"{argument} must hold at least one tensor, got none")
    return as_tensors(*items, weak=False)


def operand_and_dim(x: Any, axis: SupportsIndex | None) -> tuple[Tensor, int]:
    """Return a tensor and its dimension `axis`; for None its elements in index order, and 0."""
    operand: Tensor = x if type(x) is Tensor else arguments.as_tensor(x)
    rank = len(operand.spec.layout.shape)
    if axis is None:
        return operand if rank == 1 else reshape(operand, (-1,)), 0
    return operand, arguments.normalize_axis(axis, rank)


def flatten_operands(*operands: Any, weak: bool = True) -> list[Tensor]:
    """Return `as_tensors` with each flattened in index order."""
    return [reshape(x, (-1,)) for x in as_tensors(*operands, weak=weak)]


def integers_to_float64(x: Any) -> Tensor:
    """Return `x`, integers and bool as float64."""
    operand = arguments.as_tensor(x)
    if dtypes.is_in_category(operand.dtype, "integer or boolean"):
        return astype(operand, dtypes.float64)
    return operand


def bools_to_integers(x: Any, kind: dtypes.DType = dtypes.int64) -> Tensor:
    """Return `x` as a tensor, with bools converted to `kind`."""
    operand = arguments.as_tensor(x)
    return astype(operand, kind) if operand.dtype == dtypes.bool else operand


def call_product_allowing_bools(
    function: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor
) -> Tensor:
    """Return a sum of products; for bool operands, whether any product is True."""
    if x.dtype != dtypes.bool or y.dtype != dtypes.bool:
        return function(x, y)
    # In int64, no count of products wraps around to 0.
    counts = function(astype(x, dtypes.int64), astype(y, dtypes.int64))
    return not_equal(counts, 0)


def promote_tensors(operands: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors in the dtype that all of them promote to."""
    kind = operands[0].dtype
    for x in operands:
        kind = dtypes.promote_dtypes(kind, x.dtype)
    return [astype(x, kind, copy=False) for x in operands]


def mean_dtype(x: Tensor, dtype: Any) -> dtypes.DType:
    """Return the dtype of a mean: the requested one, the dtype of `x`, or float64."""
    if dtype is None:
        return x.dtype if dtypes.is_in_category(x.dtype, "floating-point") else dtypes.float64
    kind = arguments.as_dtype_in_category("floating-point", dtype)
    if x.dtype.kind == "c" and dtypes.is_in_category(kind, "real floating"):
        raise TypeError(f"{x.dtype} cannot become {kind}; take real() or abs() first")
    return kind


def as_tensor_on_device_of(x: Any, other: Tensor, *, weak: bool = True) -> Tensor:
    """Return a tensor, number or list of numbers as a tensor on the device of `other`.

    A Python number gets the dtype that it has in an operation with `other`; without `weak`, the
    dtype of an array made of it.
    """
    # As NumPy's ufuncs do with arrays of rank 0. Beside CUDA tensors scalars are accepted, arrays
    # are not.
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, (list, tuple)) or (type(x) in dtypes.SCALARS and not weak):
        return asarray(x, device=other.device)
    operand = arguments.as_operand(x)
    if isinstance(operand, Tensor):
        arguments.check_no_numpy_arrays((x,), other.device)
        return move_to_device(operand, other.device) if isinstance(x, np.generic) else operand
    kind = dtypes.promote_with_scalar(other.dtype, type(operand))
    try:
        return asarray(operand, dtype=kind, device=other.device)
    except OverflowError:
        raise dtypes.integer_overflow_error(operand, kind) from None


def asarray_unless_tensor(x: Any, device_source: Tensor) -> Tensor:
    """Convert by `asarray` to a tensor on the device of `device_source`; tensors are not moved."""
    return x if isinstance(x, Tensor) else asarray(x, device=device_source.device)


def as_bool_tensor(condition: Any, x: Tensor) -> Tensor:
    """Return `condition` as a bool tensor on the device of `x`."""
    return astype(as_tensor_on_device_of(condition, x), dtypes.bool, copy=False)
