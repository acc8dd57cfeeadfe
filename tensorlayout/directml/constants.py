"""Enumerations and structures of DirectML.h that the operators use, and parsing of their values.

Arguments of an enumeration type accept a member, its name (``"EDGE"``), its name in C
(``"DML_PADDING_MODE_EDGE"``) or its number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, SupportsIndex, TypeVar

import numpy as np

from tensorlayout import dtypes
from tensorlayout.errors import call_with_error_name, finalize_public_error, raise_named_error
from tensorlayout.functions import arguments
from tensorlayout.typing import DTypeLike

__all__ = [
    "AxisDirection",
    "DataType",
    "DepthSpaceOrder",
    "InterpolationMode",
    "PaddingMode",
    "ScaleBias",
    "Size2D",
    "TensorFlags",
]

# DirectML declares sizes, strides and counts as UINT.
UINT32_MAX = 2**32 - 1


class DataType(IntEnum):
    """DML_TENSOR_DATA_TYPE: data type of the elements of a tensor.

    >>> import tensorlayout as tl
    >>> from tensorlayout.directml import DataType
    >>> DataType.of(tl.float16), DataType.INT4.bits
    (<DataType.FLOAT16: 2>, 4)
    """

    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11
    UINT4 = 12
    INT4 = 13

    @property
    def bits(self) -> int:
        """Size of an element in bits."""
        return int("".join(filter(str.isdigit, self._name_)))

    @property
    def is_float(self) -> bool:
        """True if elements are floating-point numbers."""
        return self.name.startswith("FLOAT")

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of tensors; TypeError for 4-bit types, which have none."""
        dtype_name = _DTYPES.get(self)
        if dtype_name is None:
            raise_named_error(
                "DataType", f"{self.name} has no dtype: tensors hold whole bytes", TypeError
            )
        return dtype_name

    @classmethod
    def of(cls, dtype: DTypeLike) -> DataType:
        """Return the data type of a dtype; TypeError if DirectML has none."""
        checked_dtype = call_with_error_name("DataType.of", dtypes.as_dtype, dtype, "dtype")
        data_type = next((kind for kind, own in _DTYPES.items() if own == checked_dtype), None)
        if data_type is None:
            raise_named_error(
                "DataType", f"DirectML has no data type for {checked_dtype}", TypeError
            )
        return data_type


_DTYPES = {kind: np.dtype(kind.name.lower()) for kind in DataType if kind.bits >= 8}


class TensorFlags(IntEnum):
    """DML_TENSOR_FLAGS: whether an operator owns a copy of an input.

    >>> from tensorlayout.directml import TensorDesc, TensorFlags
    >>> TensorDesc("INT8", (4,), flags=TensorFlags.OWNED_BY_DML).flags
    <TensorFlags.OWNED_BY_DML: 1>
    """

    NONE = 0
    OWNED_BY_DML = 1


class PaddingMode(IntEnum):
    """DML_PADDING_MODE: values of the elements around a tensor; see `padding`.

    >>> from tensorlayout.directml import PaddingMode
    >>> PaddingMode["REFLECTION"]
    <PaddingMode.REFLECTION: 2>
    """

    CONSTANT = 0
    EDGE = 1
    REFLECTION = 2
    SYMMETRIC = 3
    WRAP = 4


class InterpolationMode(IntEnum):
    """DML_INTERPOLATION_MODE: values between the pixels of an enlarged image.

    >>> from tensorlayout.directml import InterpolationMode
    >>> InterpolationMode["LINEAR"]
    <InterpolationMode.LINEAR: 1>
    """

    NEAREST_NEIGHBOR = 0
    LINEAR = 1


class AxisDirection(IntEnum):
    """DML_AXIS_DIRECTION: by increasing or decreasing index.

    >>> from tensorlayout.directml import AxisDirection
    >>> AxisDirection["DECREASING"]
    <AxisDirection.DECREASING: 1>
    """

    INCREASING = 0
    DECREASING = 1


class DepthSpaceOrder(IntEnum):
    """DML_DEPTH_SPACE_ORDER: parts of a depth channel's number, slowest first.

    >>> from tensorlayout.directml import DepthSpaceOrder
    >>> DepthSpaceOrder["COLUMN_ROW_DEPTH"]
    <DepthSpaceOrder.COLUMN_ROW_DEPTH: 1>
    """

    DEPTH_COLUMN_ROW = 0  # block row, block column, channel
    COLUMN_ROW_DEPTH = 1  # channel, block row, block column


class Size2D(NamedTuple):
    """DML_SIZE_2D: the width comes first.

    >>> from tensorlayout.directml import Size2D
    >>> Size2D(640, 480)
    Size2D(width=640, height=480)
    """

    width: int
    height: int


class ScaleBias(NamedTuple):
    """DML_SCALE_BIAS: ``x * scale + bias``, with both numbers rounded to FLOAT32.

    >>> from tensorlayout.directml import ScaleBias
    >>> ScaleBias(2.0, 0.5)
    ScaleBias(scale=2.0, bias=0.5)
    """

    scale: float
    bias: float


PREFIXES: dict[type[IntEnum], str] = {
    DataType: "DML_TENSOR_DATA_TYPE_",
    TensorFlags: "DML_TENSOR_FLAG_",
    PaddingMode: "DML_PADDING_MODE_",
    InterpolationMode: "DML_INTERPOLATION_MODE_",
    AxisDirection: "DML_AXIS_DIRECTION_",
    DepthSpaceOrder: "DML_DEPTH_SPACE_ORDER_",
}
_E = TypeVar("_E", bound=IntEnum)
_Result = TypeVar("_Result")
_Error = TypeVar("_Error", bound=Exception)


def parse_enumeration(
    member_name: str, enumeration: type[_E], value: Any, error_type: type[Exception] = ValueError
) -> _E:
    """Return a member of an enumeration from itself, its name or number; else `error_type`."""
    if type(value) is enumeration:
        return value
    if isinstance(value, str):
        match = enumeration.__members__.get(value.removeprefix(PREFIXES[enumeration]))
        if match is not None:
            return match
    # True is an integer in Python, and would silently mean the member with number 1.
    elif not isinstance(value, bool):
        try:
            return enumeration(operator.index(value))
        except (TypeError, ValueError):
            pass
    names = ", ".join(enumeration.__members__)
    raise error_type(
        f"{member_name} must be one of {names}, got {arguments.format_argument(value)}"
    )


# Data types may also be given as a dtype.
DataTypeLike = SupportsIndex | DTypeLike


def parse_data_type(member_name: str, value: Any) -> DataType:
    """Return a data type from a member, name, number or dtype; TypeError for other objects."""
    # A text must be a name of DirectML: "float32", which names a dtype, is none.
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return parse_enumeration(member_name, DataType, value, TypeError)
    return call_with_error_prefix(
        f"{member_name} must be a data type of DirectML", DataType.of, value
    )


def call_with_error_prefix(prefix: str, function: Callable[..., _Result], *args: Any) -> _Result:
    """Call `function(*args)`; prefix the message of its TypeError or ValueError."""
    try:
        return function(*args)
    except (TypeError, ValueError) as error:
        # `said` is the message without the name of an inner function, if one was added.
        raise type(error)(f"{prefix}: {vars(error).get('said', error)}") from None


def prefix_operator_name(operator: str, error: _Error) -> _Error:
    """Return `error` prefixed with an operator's name, unless it has one or is a user's own."""
    # An error that has passed a public function already carries a name.
    return error if hasattr(error, "said") else finalize_public_error(error, operator)


def check_range(member: str, number: int, low: int, high: int, reason: str = "") -> None:
    """Raise ValueError with a reason unless a number is from `low` to `high`."""
    if not low <= number <= high:
        received = arguments.format_argument(number)
        raise ValueError(f"{member} must be {low} to {high}{reason}, got {received}")
