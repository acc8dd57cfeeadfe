"""Members of descriptors: kinds, what may be given for each, and numbers as elements of tensors.

The annotation of a member is its kind: it says what may be given, and what is checked.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np

from tensorlayout.directml import constants
from tensorlayout.directml.constants import UINT32_MAX, DataType, ScaleBias, check_between
from tensorlayout.directml.tensor_desc import TensorDesc, integers
from tensorlayout.exchange.numpy import quietly
from tensorlayout.functions import arguments


class Kind(NamedTuple):
    """A kind of member: how a value is held, given its name and itself, and a range of integers."""

    held: Callable[[str, Any], Any]
    low: int | None = None
    high: int = UINT32_MAX
    element: bool = False  # whether it becomes an element of tensors


TENSORS = ("TensorDesc", "Tensors")  # the kinds that are tensors


class Member(NamedTuple):
    """A member of a descriptor."""

    name: str
    spelling: str  # its name in C
    kind: str  # the annotation
    optional: bool

    def held(self, value: Any) -> Any:
        """Return what the descriptor holds for `value`: hashable, enumerations as such."""
        if value is None and self.optional:
            return None
        return KINDS[self.kind].held(self.spelling, value)


def members_of(desc: Any) -> Iterator[Member]:
    """Yield the members of a descriptor."""
    for field in dataclasses.fields(desc):
        spelling = "".join(part.capitalize() for part in field.name.split("_"))
        kind, _, optional = str(field.type).removeprefix("members.").partition(" | ")
        if kind in TENSORS:
            spelling = f"{spelling}Tensor" if kind == "TensorDesc" else f"{spelling[:-1]}Tensors"
        yield Member(field.name, spelling, kind, bool(optional))


# --- what may be given ----------------------------------------------------------------------------


def _desc(member: str, value: Any) -> TensorDesc:
    if not isinstance(value, TensorDesc):
        raise TypeError(f"{member} must be a TensorDesc, got {arguments.shown(value)}")
    return value


def _descs(member: str, value: Any) -> tuple[TensorDesc, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{member} must be a list of TensorDesc, got {arguments.shown(value)}")
    return tuple(_desc(f"{member}[{i}]", desc) for i, desc in enumerate(value))


def _number(member: str, value: Any) -> int | float:
    try:
        number: int | float = arguments.real(member, value)
        float(number)
    except OverflowError:
        raise ValueError(f"{member} must fit FLOAT64, got {arguments.shown(value)}") from None
    return number


def _scale_bias(member: str, value: Any) -> ScaleBias:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{member} must be two numbers, got {arguments.shown(value)}")
    names = f"{member}: Scale", f"{member}: Bias"
    numbers = map(arguments.real, names, value)
    return ScaleBias(*map(rounded, names, numbers, (DataType.FLOAT32,) * 2))


def _duplicates(_: str, value: Any) -> str:
    return arguments.choice("duplicates", value, get_args(_WORDS), "'last' or 'error'")


def _one_of(enumeration: Any) -> Kind:
    return Kind(lambda member, value: constants.member(member, enumeration, value))


_SIGNED = -(2**31), 2**31 - 1
_NUMBER = Kind(_number, element=True)
_WORDS = Literal["last", "error"]

# The annotations. The descriptor holds tuples and members of enumerations; of sequences with a
# range there is an entry for each dimension.
Tensors = Annotated[Sequence[TensorDesc], Kind(_descs)]
Integers = Annotated[Sequence[int], Kind(integers)]
Naturals = Annotated[Sequence[int], Kind(integers, 0)]
Positives = Annotated[Sequence[int], Kind(integers, 1)]
Steps = Annotated[Sequence[int], Kind(integers, *_SIGNED)]
Positive = Annotated[int, Kind(arguments.integer, 1)]
Signed = Annotated[int, Kind(arguments.integer, *_SIGNED)]
Axis = Annotated[int, Kind(arguments.integer)]
Delta = Annotated[int | float, _NUMBER]  # between scalars: negative for unsigned types, too
Float = Annotated[int | float, _NUMBER]  # FLOAT, whatever the tensors hold
Scalar = Annotated[int | float, _NUMBER]  # of the data type of the tensors
Pair = Annotated[Sequence[float], Kind(_scale_bias)]
AnyDataType = Annotated[Any, Kind(constants.as_data_type)]
Mode = Annotated[constants.PaddingMode | str | int, _one_of(constants.PaddingMode)]
Interpolation = Annotated[
    constants.InterpolationMode | str | int, _one_of(constants.InterpolationMode)
]
Direction = Annotated[constants.AxisDirection | str | int, _one_of(constants.AxisDirection)]
Order = Annotated[constants.DepthSpaceOrder | str | int, _one_of(constants.DepthSpaceOrder)]
Duplicates = Annotated[_WORDS, Kind(_duplicates)]

KINDS: dict[str, Kind] = {
    "TensorDesc": Kind(_desc),
    "int": Kind(arguments.integer),
    "bool": Kind(arguments.truth),
    **{name: get_args(x)[1] for name, x in globals().items() if hasattr(x, "__metadata__")},
}


# --- numbers as elements --------------------------------------------------------------------------


def rounded(member: str, number: float, kind: DataType) -> float:
    """A number rounded to floats; ValueError for a finite one beyond all of them."""
    try:
        found = float(quietly(kind.dtype.type, number))
    except OverflowError:
        found = math.inf
    if math.isinf(found) and number not in (math.inf, -math.inf):
        raise ValueError(f"{member} must fit {kind.name}, got {arguments.shown(number)}")
    return found


def as_element(member: Member, number: float, kind: DataType) -> int | float:
    """Return a number as an element: a scalar exactly for integers, a FLOAT towards zero."""
    name = member.spelling
    if member.kind == "Float":
        number = rounded(name, number, DataType.FLOAT32)
        if not kind.is_float:
            if not math.isfinite(number):
                raise ValueError(f"{name} must be finite for {kind.name}, got {number}")
            number = int(number)
    if kind.is_float:
        return rounded(name, number, kind)
    if isinstance(number, float) and not number.is_integer():
        raise TypeError(f"{name} must be an integer for {kind.name}, got {number}")
    limits = np.iinfo(kind.dtype)
    least = -(2 ** (kind.bits - 1)) if member.kind == "Delta" else int(limits.min)
    check_between(name, int(number), least, int(limits.max), f" for {kind.name}")
    return int(number)
