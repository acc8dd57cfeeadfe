"""Numbers among the members: typed scalars, and those that are FLOAT whatever the tensor holds."""

from __future__ import annotations

import math
from typing import Any

from tensorlayout.cpu.engine.memory import quietly
from tensorlayout.directml.constants import DataType
from tensorlayout.directml.rules import refuse
from tensorlayout.functions.calling import shown


def single(name: str, member: str, number: float) -> float:
    """A FLOAT member: rounded to 32 bits."""
    return rounded(name, member, number, DataType.FLOAT32)


def rounded(name: str, member: str, number: float, kind: DataType) -> float:
    """A number rounded to floats; ValueError for a finite one beyond all of them."""
    try:
        found = float(quietly(kind.dtype.type, number))
    except OverflowError:
        found = math.inf
    if math.isinf(found) and number not in (math.inf, -math.inf):
        refuse(name, f"{member} must fit {kind.name}, got {shown(number)}")
    return found


def truncated(name: str, member: str, number: float, kind: DataType) -> int | float:
    """A FLOAT member as an element: towards zero for integers, which it must fit."""
    value = single(name, member, number)
    if kind.is_float:
        return rounded(name, member, value, kind)
    if not math.isfinite(value):
        refuse(name, f"{member} must be finite for {kind.name}, got {number}")
    return _fitting(name, member, int(value), kind)


def typed(name: str, member: str, number: float, kind: DataType) -> int | float:
    """A scalar of the data type of a tensor (DML_SCALAR_UNION): exact for integers."""
    if kind.is_float:
        return rounded(name, member, number, kind)
    return _fitting(name, member, whole(name, member, number, kind), kind)


def whole(name: str, member: str, number: float, kind: DataType) -> int:
    """An integer; TypeError for a float that is none."""
    if isinstance(number, float) and not number.is_integer():
        msg = f"{name}: {member} must be an integer for {kind.name}, got {number}"
        raise TypeError(msg)
    return int(number)


def _fitting(name: str, member: str, number: int, kind: DataType) -> int:
    low, high = limits(kind)
    if not low <= number <= high:
        refuse(name, f"{member} must be {low} to {high} for {kind.name}, got {shown(number)}")
    return number


def limits(kind: DataType) -> tuple[int, int]:
    """The least and the greatest integer of a data type."""
    if kind.name.startswith("U"):
        return 0, 2**kind.bits - 1
    return -(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1


def check_value_type(name: str, member: str, given: Any, kind: DataType) -> None:
    """The data type of a scalar, where it is given, is that of the output."""
    if given is not None and given != kind:
        msg = f"{name}: {member} must be {kind.name}, that of the output, got {given.name}"
        raise TypeError(msg)
