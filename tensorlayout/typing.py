"""Named types of arguments of public functions, for annotations here and in callers' code."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    SupportsComplex,
    SupportsFloat,
    SupportsIndex,
)

import numpy as np

from tensorlayout.devices import Device
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout

Array = np.ndarray[Any, Any]

# An integer or several: a shape, axes, an order. Tensors and arrays of one integer are integers.
Integers = SupportsIndex | Sequence[SupportsIndex]
Axis = Integers | None

# Arguments that become Python numbers.
Real = SupportsFloat | SupportsIndex
Number = SupportsComplex | Real

# Operands besides tensors. In annotations, ``complex`` includes float and int, too.
NumpyScalar = np.number[Any] | np.bool
Scalar = complex | NumpyScalar
NumpyOperand = NumpyScalar | Array
Operand = complex | NumpyOperand

# A dtype, or a scalar type of NumPy or Python, or a name: ``float32``, ``float``, ``"float32"``.
TypeLike = DType | type[np.generic] | type[complex] | type[float] | type[int] | type[bool]
DTypeLike = TypeLike | str
Kind = Literal[
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
]

DeviceLike = Device | str

# Indices in brackets. A tensor has ``__index__``, so that type checkers take it for an integer.
if TYPE_CHECKING:
    _Slice = slice[SupportsIndex | None, SupportsIndex | None, SupportsIndex | None]
else:
    _Slice = slice
KeyEntry = SupportsIndex | _Slice | EllipsisType | None | Array | list[Any]
Key = KeyEntry | tuple[KeyEntry, ...]

# A layout, labels such as ``"NHWC"``, the text of a layout, or a minor-to-major sequence.
LayoutLike = Layout | str | Sequence[SupportsIndex]


class Buffer(Protocol):
    """An object with the buffer protocol: bytes, bytearray, memoryview, …."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


# NumPy's annotations declare arrays as buffers only from Python 3.12 on.
Storage = Buffer | Array


class SupportsDLPack(Protocol):
    """An object that exports its memory by DLPack."""

    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


# Values to write, and other operands of methods: arrays of any library, and numbers.
ArrayLike = SupportsDLPack | Scalar | Sequence[Any]
