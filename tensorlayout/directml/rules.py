"""Rules that several operators share; errors name the operator, the member and what came."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from tensorlayout.cpu.engine.memory import quietly
from tensorlayout.directml.constants import DataType
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions.calling import shown


class Expected(NamedTuple):
    """What a rule says of an output."""

    data_type: DataType
    sizes: tuple[int, ...]


def expected(desc: TensorDesc, sizes: Sequence[int] | None = None) -> Expected:
    """An output of the data type of `desc`, and of its sizes unless others are given."""
    return Expected(desc.data_type, desc.sizes if sizes is None else tuple(sizes))


def refuse(operator: str, text: str) -> NoReturn:
    """ValueError in the name of an operator."""
    msg = f"{operator}: {text}"
    raise ValueError(msg)


# --- tensors ------------------------------------------------------------------------------------


def check_axis(operator: str, axis: int, rank: int) -> None:
    """Axis counts from 0 and is below the rank."""
    if not 0 <= axis < rank:
        refuse(operator, f"Axis must be 0 to {rank - 1}, got {shown(axis)}")


def check_rank(operator: str, member: str, desc: TensorDesc, rank: int) -> None:
    """All tensors of an operator have one DimensionCount."""
    if desc.rank != rank:
        refuse(operator, f"{member}: DimensionCount must be {rank}, got {desc.rank}")


def check_type(operator: str, member: str, desc: TensorDesc, kind: DataType) -> None:
    """Tensors that share data have one DataType."""
    if desc.data_type != kind:
        msg = f"{operator}: {member}: DataType must be {kind.name}, got {desc.data_type.name}"
        raise TypeError(msg)


def check_sizes(operator: str, member: str, desc: TensorDesc, sizes: Sequence[int]) -> None:
    """The sizes of a tensor follow from others."""
    if desc.sizes != tuple(sizes):
        refuse(operator, f"{member}: Sizes must be {tuple(sizes)}, got {desc.sizes}")


def check_shape(operator: str, member: str, desc: TensorDesc, sizes: Sequence[int]) -> None:
    """The rank and the sizes of a tensor follow from others."""
    check_rank(operator, member, desc, len(sizes))
    check_sizes(operator, member, desc, sizes)


def check_same(operator: str, member: str, desc: TensorDesc, rule: Expected) -> None:
    """One data type, one rank, the same sizes."""
    check_type(operator, member, desc, rule.data_type)
    check_shape(operator, member, desc, rule.sizes)


def check_away_from(
    operator: str, member: str, desc: TensorDesc, sizes: Sequence[int], axis: int
) -> None:
    """Sizes are given away from `axis`; along it they are free."""
    check_rank(operator, member, desc, len(sizes))
    wanted = with_size(sizes, axis, desc.sizes[axis])
    if desc.sizes != wanted:
        rule = f"Sizes away from Axis {axis} must be {wanted}"
        refuse(operator, f"{member}: {rule}, got {desc.sizes}")


def counted(
    operator: str, tensor: str, desc: TensorDesc, member: str, count: int
) -> tuple[int, ...]:
    """The last `count` sizes, which `member` says count: those before them must be 1."""
    cut = desc.rank - count
    if any(n != 1 for n in desc.sizes[:cut]):
        rule = f"Sizes before the last {count}, {member}, must be 1"
        refuse(operator, f"{tensor}: {rule}, got {desc.sizes}")
    return desc.sizes[cut:]


def effective_rank(desc: TensorDesc) -> int:
    """The number of dimensions without leading sizes of 1."""
    return max((desc.rank - d for d, n in enumerate(desc.sizes) if n > 1), default=0)


def with_size(sizes: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    """`sizes` with another size along `axis`."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


# --- numbers ------------------------------------------------------------------------------------


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
        msg = f"{name}: {member} must be an integer for {kind.name}, got {number}"
        raise TypeError(msg)
    found, signed = int(number), not kind.name.startswith("U")
    least = -(2 ** (kind.bits - 1)) if signed else 0
    least, most = least if low is None else low, 2 ** (kind.bits - signed) - 1
    if not least <= found <= most:
        refuse(name, f"{member} must be {least} to {most} for {kind.name}, got {shown(found)}")
    return found
