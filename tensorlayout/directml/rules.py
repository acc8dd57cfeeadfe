"""What rules say of outputs, and numbers as elements: rounded, cut off, exact, or refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tensorlayout.directml.constants import DataType, refuse
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.exchange.numpy import quietly
from tensorlayout.functions.arguments import shown


class Expected(NamedTuple):
    """What a rule says of an output."""

    data_type: DataType
    sizes: tuple[int, ...]


def expected(desc: TensorDesc, sizes: Sequence[int] | None = None) -> Expected:
    """An output of the data type of `desc`, and of its sizes unless others are given."""
    return Expected(desc.data_type, desc.sizes if sizes is None else tuple(sizes))


def effective_rank(desc: TensorDesc) -> int:
    """The number of dimensions without leading sizes of 1."""
    return max((desc.rank - d for d, n in enumerate(desc.sizes) if n > 1), default=0)


def with_size(sizes: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    """`sizes` with another size along `axis`."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


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
    value = rounded(name, member, number, DataType.FLOAT32)
    if kind.is_float:
        return rounded(name, member, value, kind)
    if not math.isfinite(value):
        refuse(name, f"{member} must be finite for {kind.name}, got {number}")
    return whole(name, member, int(value), kind)


def typed(name: str, member: str, number: float, kind: DataType) -> int | float:
    """A scalar of the data type of a tensor (DML_SCALAR_UNION): exact for integers."""
    rule = rounded if kind.is_float else whole
    return rule(name, member, number, kind)


def whole(name: str, member: str, number: float, kind: DataType, low: int | None = None) -> int:
    """An integer that fits, from `low` on if that is given; TypeError for a float that is none."""
    if isinstance(number, float) and not number.is_integer():
        refuse(name, f"{member} must be an integer for {kind.name}, got {number}", TypeError)
    found, signed = int(number), not kind.name.startswith("U")
    least = -(2 ** (kind.bits - 1)) if signed else 0
    least, most = least if low is None else low, 2 ** (kind.bits - signed) - 1
    if not least <= found <= most:
        refuse(name, f"{member} must be {least} to {most} for {kind.name}, got {shown(found)}")
    return found
