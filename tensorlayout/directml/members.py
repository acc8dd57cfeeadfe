"""Members of operator descriptors: their kinds, accepted values, and conversion to elements.

The annotation of a member names its kind, which determines what is accepted and checked.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np

from tensorlayout.directml import constants
from tensorlayout.directml.constants import UINT32_MAX, DataType, ScaleBias, check_range
from tensorlayout.directml.tensor_desc import TensorDesc, parse_integers
from tensorlayout.exchange.numpy import call_quietly
from tensorlayout.functions import arguments


class Kind(NamedTuple):
    """Kind of a member: conversion from name and value, and an allowed range of integers."""

    normalize: Callable[[str, Any], Any]
    low: int | None = None
    high: int = UINT32_MAX
    is_element: bool = False  # converted to an element of the tensors


TENSORS = ("TensorDesc", "Tensors")  # the kinds that are tensors


class Member(NamedTuple):
    """A member of a descriptor."""

    name: str
    spelling: str  # its name in C
    kind: str  # the annotation
    optional: bool

    def normalize_value(self, value: Any) -> Any:
        """Return the hashable value that the descriptor stores, with members of enumerations."""
        if value is None and self.optional:
            return None
        return KINDS[self.kind].normalize(self.spelling, value)


def descriptor_members(desc: Any) -> Iterator[Member]:
    """Yield the members of a descriptor."""
    for field in dataclasses.fields(desc):
        spelling = "".join(part.capitalize() for part in field.name.split("_"))
        # Annotations are texts, as in "members.Axis" or "TensorDesc | None"; what follows " | "
        # makes a member optional.
        kind, _, optional = str(field.type).removeprefix("members.").partition(" | ")
        if kind in TENSORS:
            spelling = f"{spelling}Tensor" if kind == "TensorDesc" else f"{spelling[:-1]}Tensors"
        yield Member(field.name, spelling, kind, bool(optional))


# --- accepted values ------------------------------------------------------------------------------


def _check_tensor_desc(member_name: str, value: Any) -> TensorDesc:
    if not isinstance(value, TensorDesc):
        raise TypeError(
            f"{member_name} must be a TensorDesc, got {arguments.format_argument(value)}"
        )
    return value


def _check_tensor_descs(member_name: str, value: Any) -> tuple[TensorDesc, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"{member_name} must be a list of TensorDesc, got {arguments.format_argument(value)}"
        )
    return tuple(_check_tensor_desc(f"{member_name}[{i}]", desc) for i, desc in enumerate(value))


def _parse_number(member_name: str, value: Any) -> int | float:
    try:
        number: int | float = arguments.as_real_number(member_name, value)
        # Only for its OverflowError: integers of Python have no limit, but a member must fit a C
        # type.
        float(number)
    except OverflowError:
        raise ValueError(
            f"{member_name} must fit FLOAT64, got {arguments.format_argument(value)}"
        ) from None
    return number


def _parse_scale_bias(member_name: str, value: Any) -> ScaleBias:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(
            f"{member_name} must be two numbers, got {arguments.format_argument(value)}"
        )
    names = f"{member_name}: Scale", f"{member_name}: Bias"
    numbers = map(arguments.as_real_number, names, value)
    return ScaleBias(*map(round_to_data_type, names, numbers, (DataType.FLOAT32,) * 2))


def _check_duplicate_policy(_: str, value: Any) -> str:
    return arguments.check_choice(
        "duplicates", value, get_args(_DuplicatePolicy), "'last' or 'error'"
    )


def _enumeration_kind(enumeration: Any) -> Kind:
    return Kind(lambda member, value: constants.parse_enumeration(member, enumeration, value))


_SIGNED = -(2**31), 2**31 - 1
_NUMBER = Kind(_parse_number, is_element=True)
_DuplicatePolicy = Literal["last", "error"]

# Annotations of members. Descriptors store tuples, and members of enumerations; sequences with a
# range have an entry per dimension.
Tensors = Annotated[Sequence[TensorDesc], Kind(_check_tensor_descs)]
Integers = Annotated[Sequence[int], Kind(parse_integers)]
Naturals = Annotated[Sequence[int], Kind(parse_integers, 0)]
Positives = Annotated[Sequence[int], Kind(parse_integers, 1)]
Steps = Annotated[Sequence[int], Kind(parse_integers, *_SIGNED)]
Positive = Annotated[int, Kind(arguments.as_integer, 1)]
Signed = Annotated[int, Kind(arguments.as_integer, *_SIGNED)]
Axis = Annotated[int, Kind(arguments.as_integer)]
Delta = Annotated[int | float, _NUMBER]  # between scalars: negative for unsigned types, too
Float = Annotated[int | float, _NUMBER]  # FLOAT, whatever the tensors hold
Scalar = Annotated[int | float, _NUMBER]  # of the data type of the tensors
Pair = Annotated[Sequence[float], Kind(_parse_scale_bias)]
AnyDataType = Annotated[Any, Kind(constants.parse_data_type)]
Mode = Annotated[constants.PaddingMode | str | int, _enumeration_kind(constants.PaddingMode)]
Interpolation = Annotated[
    constants.InterpolationMode | str | int, _enumeration_kind(constants.InterpolationMode)
]
Direction = Annotated[
    constants.AxisDirection | str | int, _enumeration_kind(constants.AxisDirection)
]
Order = Annotated[
    constants.DepthSpaceOrder | str | int, _enumeration_kind(constants.DepthSpaceOrder)
]
Duplicates = Annotated[_DuplicatePolicy, Kind(_check_duplicate_policy)]

KINDS: dict[str, Kind] = {
    "TensorDesc": Kind(_check_tensor_desc),
    "int": Kind(arguments.as_integer),
    "bool": Kind(arguments.check_bool),
    # All annotations above, found by the attribute that Annotated adds.
    **{name: get_args(x)[1] for name, x in globals().items() if hasattr(x, "__metadata__")},
}


# --- numbers as elements --------------------------------------------------------------------------


def round_to_data_type(member_name: str, number: float, data_type: DataType) -> float:
    """Return a number rounded to a float type; ValueError for finite numbers out of its range."""
    # NumPy's narrow types turn numbers out of range into infinity with a warning; Python's float
    # raises OverflowError for huge integers. Both end as one error.
    try:
        rounded_number = float(call_quietly(data_type.dtype.type, number))
    except OverflowError:
        rounded_number = math.inf
    if math.isinf(rounded_number) and number not in (math.inf, -math.inf):
        raise ValueError(
            f"{member_name} must fit {data_type.name}, got {arguments.format_argument(number)}"
        )
    return rounded_number


def to_tensor_element(member: Member, number: float, data_type: DataType) -> int | float:
    """Convert a member's number to an element; FLOAT to integer rounds towards zero."""
    spelling = member.spelling
    # In C the member is a FLOAT, whatever the tensor holds: 16777217 becomes 16777216 before it
    # becomes an integer.
    if member.kind == "Float":
        number = round_to_data_type(spelling, number, DataType.FLOAT32)
        if not data_type.is_float:
            if not math.isfinite(number):
                raise ValueError(f"{spelling} must be finite for {data_type.name}, got {number}")
            number = int(number)
    if data_type.is_float:
        return round_to_data_type(spelling, number, data_type)
    if isinstance(number, float) and not number.is_integer():
        raise TypeError(f"{spelling} must be an integer for {data_type.name}, got {number}")
    limits = np.iinfo(data_type.dtype)
    # A step may be negative even if the elements are unsigned: the sequence wraps.
    lowest = -(2 ** (data_type.bits - 1)) if member.kind == "Delta" else int(limits.min)
    check_range(spelling, int(number), lowest, int(limits.max), f" for {data_type.name}")
    return int(number)
