"""Members of descriptors: kinds, what may be given for each, and numbers as elements of tensors.

The annotation of a member is its kind: it says what may be given, and what is checked.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

from tensorlayout.directml import constants
from tensorlayout.directml.constants import UINT32_MAX, DataType, ScaleBias, as_data_type
from tensorlayout.directml.tensor_desc import TensorDesc, integers
from tensorlayout.errors import refuse, under
from tensorlayout.exchange.numpy import quietly
from tensorlayout.functions import arguments

# What may be given. The descriptor holds tuples and members of enumerations.
Tensors = Sequence[TensorDesc]
Integers = Sequence[int]
Naturals = Sequence[int]  # an entry for each dimension, from 0
Positives = Sequence[int]  # an entry for each dimension, from 1
Steps = Sequence[int]  # an entry for each dimension, with a sign
Positive = int
Signed = int
Axis = int
Number = int | float
Float = int | float  # FLOAT, whatever the tensors hold
Scalar = int | float  # of the data type of the tensors
Pair = Sequence[float]
AnyDataType = Any
Mode = constants.PaddingMode | str | int
Interpolation = constants.InterpolationMode | str | int
Direction = constants.AxisDirection | str | int
Order = constants.DepthSpaceOrder | str | int
Duplicates = Literal["last", "error"]

# Of the kinds whose numbers have 32 bits: the least, the most, and the rule in words.
_WITH_SIGN = -(2**31), 2**31 - 1, "fit 32 bits with a sign"
RANGES: dict[str, tuple[int, int, str]] = {
    "Naturals": (0, UINT32_MAX, "be 0 to 2**32 - 1"),
    "Positives": (1, UINT32_MAX, "be 1 to 2**32 - 1"),
    "Positive": (1, UINT32_MAX, "be 1 to 2**32 - 1"),
    "Steps": _WITH_SIGN,
    "Signed": _WITH_SIGN,
}


class Member(NamedTuple):
    """A member of a descriptor."""

    name: str
    spelling: str  # its name in C
    kind: str  # the annotation
    optional: bool

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or an array of them."""
        return self.kind in ("TensorDesc", "Tensors")

    @property
    def is_output(self) -> bool:
        """Whether it is a tensor that is written to."""
        return self.is_tensor and self.spelling.startswith("Output")

    def held(self, operator: str, value: Any) -> Any:
        """Return what the descriptor holds for `value`: hashable, enumerations as such."""
        if value is None and self.optional:
            return None
        return _CONVERTERS[self.kind](operator, self.spelling, value)


def members_of(desc: Any, tensors: Sequence[str]) -> Iterator[Member]:
    """Yield the members of a descriptor; `tensors`: the names in C of those that are tensors."""
    spelt = {python_name(name): name for name in tensors}
    for field in dataclasses.fields(desc):
        spelling = "".join(part.capitalize() for part in field.name.split("_"))
        kind, _, optional = str(field.type).removeprefix("members.").partition(" | ")
        yield Member(field.name, spelt.get(field.name, spelling), kind, bool(optional))


def python_name(spelling: str) -> str:
    """Return the name of a member in Python: ``InputTensors`` is ``inputs``."""
    short = re.sub("Tensor(s?)$", r"\1", spelling)
    return re.sub(r"(?<!^)(?=[A-Z])", "_", short).lower()


# --- what may be given ----------------------------------------------------------------------------


def _desc(operator: str, member: str, value: Any) -> TensorDesc:
    if not isinstance(value, TensorDesc):
        refuse(operator, f"{member} must be a TensorDesc, got {arguments.shown(value)}", TypeError)
    return value


def _descs(operator: str, member: str, value: Any) -> tuple[TensorDesc, ...]:
    if not isinstance(value, (list, tuple)):
        came = arguments.shown(value)
        refuse(operator, f"{member} must be a list of TensorDesc, got {came}", TypeError)
    return tuple(_desc(operator, f"{member}[{i}]", desc) for i, desc in enumerate(value))


def _number(operator: str, member: str, value: Any) -> int | float:
    """A number; ValueError for one beyond all data types."""
    try:
        number: int | float = under(operator, arguments.real, member, value)
        float(number)
    except OverflowError:
        msg = f"{operator}: {member} must fit FLOAT64, got {arguments.shown(value)}"
        raise ValueError(msg) from None
    return number


def _scale_bias(operator: str, member: str, value: Any) -> ScaleBias:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        refuse(operator, f"{member} must be two numbers, got {arguments.shown(value)}", TypeError)
    names = f"{member}: Scale", f"{member}: Bias"
    numbers = [under(operator, arguments.real, *pair) for pair in zip(names, value, strict=True)]
    pairs = zip(names, numbers, strict=True)
    return ScaleBias(*(rounded(operator, name, x, DataType.FLOAT32) for name, x in pairs))


def _one_of(kind: Any) -> Callable[[str, str, Any], Any]:
    return lambda operator, member, value: constants.member(f"{operator}: {member}", kind, value)


def _under(check: Callable[[str, Any], Any]) -> Callable[[str, str, Any], Any]:
    return lambda operator, member, value: under(operator, check, member, value)


_CONVERTERS: dict[str, Callable[[str, str, Any], Any]] = {
    "TensorDesc": _desc,
    "Tensors": _descs,
    **dict.fromkeys(("Integers", "Naturals", "Positives", "Steps"), integers),
    **dict.fromkeys(("int", "Axis", "Positive", "Signed"), _under(arguments.integer)),
    "bool": _under(arguments.truth),
    **dict.fromkeys(("Number", "Float", "Scalar"), _number),
    "Pair": _scale_bias,
    "AnyDataType": lambda operator, member, value: as_data_type(f"{operator}: {member}", value),
    "Mode": _one_of(constants.PaddingMode),
    "Interpolation": _one_of(constants.InterpolationMode),
    "Direction": _one_of(constants.AxisDirection),
    "Order": _one_of(constants.DepthSpaceOrder),
    "Duplicates": lambda operator, _, value: under(
        operator, arguments.choice, "duplicates", value, get_args(Duplicates), "'last' or 'error'"
    ),
}


# --- numbers as elements --------------------------------------------------------------------------


def rounded(name: str, member: str, number: float, kind: DataType) -> float:
    """A number rounded to floats; ValueError for a finite one beyond all of them."""
    try:
        found = float(quietly(kind.dtype.type, number))
    except OverflowError:
        found = math.inf
    if math.isinf(found) and number not in (math.inf, -math.inf):
        refuse(name, f"{member} must fit {kind.name}, got {arguments.shown(number)}")
    return found


def whole(name: str, member: str, number: float, kind: DataType, low: int | None = None) -> int:
    """An integer that fits, from `low` on if that is given; TypeError for a float that is none."""
    if isinstance(number, float) and not number.is_integer():
        refuse(name, f"{member} must be an integer for {kind.name}, got {number}", TypeError)
    found, signed = int(number), not kind.name.startswith("U")
    least = -(2 ** (kind.bits - 1)) if signed else 0
    least, most = least if low is None else low, 2 ** (kind.bits - signed) - 1
    if not least <= found <= most:
        came = arguments.shown(found)
        refuse(name, f"{member} must be {least} to {most} for {kind.name}, got {came}")
    return found


def as_element(name: str, member: Member, number: float, kind: DataType) -> int | float:
    """Return a number as an element: a scalar exactly for integers, a FLOAT towards zero."""
    if member.kind == "Float":
        number = rounded(name, member.spelling, number, DataType.FLOAT32)
        if not kind.is_float:
            if not math.isfinite(number):
                refuse(name, f"{member.spelling} must be finite for {kind.name}, got {number}")
            number = int(number)
    return (rounded if kind.is_float else whole)(name, member.spelling, number, kind)
