"""Rules that several operators share; errors name the operator, the member and what came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from tensorlayout.directml.constants import UINT32_MAX, DataType
from tensorlayout.directml.operator_desc import Expected
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions.calling import shown

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def refuse(operator: str, text: str) -> NoReturn:
    """ValueError in the name of an operator."""
    msg = f"{operator}: {text}"
    raise ValueError(msg)


def expected(desc: TensorDesc, sizes: Sequence[int] | None = None) -> Expected:
    """An output of the data type of `desc`, and of its sizes unless others are given."""
    return Expected(desc.data_type, desc.sizes if sizes is None else tuple(sizes))


def check_axis(operator: str, axis: int, rank: int) -> None:
    """Axis counts from 0 and is below the rank."""
    if not 0 <= axis < rank:
        refuse(operator, f"Axis must be 0 to {rank - 1}, got {shown(axis)}")


def check_rank(operator: str, member: str, desc: TensorDesc, rank: int) -> None:
    """All tensors of an operator have one DimensionCount."""
    if desc.rank != rank:
        refuse(operator, f"{member}: DimensionCount must be {rank}, got {desc.rank}")


def effective_rank(desc: TensorDesc) -> int:
    """The number of dimensions without leading sizes of 1."""
    return max((desc.rank - d for d, n in enumerate(desc.sizes) if n > 1), default=0)


def check_type(operator: str, member: str, desc: TensorDesc, kind: DataType) -> None:
    """Tensors that share data have one DataType."""
    if desc.data_type != kind:
        msg = f"{operator}: {member}: DataType must be {kind.name}, got {desc.data_type.name}"
        raise TypeError(msg)


def check_sizes(operator: str, member: str, desc: TensorDesc, sizes: Sequence[int]) -> None:
    """The sizes of a tensor follow from others."""
    if desc.sizes != tuple(sizes):
        refuse(operator, f"{member}: Sizes must be {tuple(sizes)}, got {desc.sizes}")


def check_same(operator: str, member: str, desc: TensorDesc, other: TensorDesc) -> None:
    """One rank, one data type, the same sizes."""
    check_rank(operator, member, desc, other.rank)
    check_type(operator, member, desc, other.data_type)
    check_sizes(operator, member, desc, other.sizes)


def check_away_from(
    operator: str, member: str, desc: TensorDesc, sizes: Sequence[int], axis: int
) -> None:
    """Sizes are given away from `axis`; along it they are free."""
    check_rank(operator, member, desc, len(sizes))
    wanted = with_size(sizes, axis, desc.sizes[axis])
    if desc.sizes != wanted:
        rule = f"Sizes away from Axis {axis} must be {wanted}"
        refuse(operator, f"{member}: {rule}, got {desc.sizes}")


def with_size(sizes: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    """`sizes` with another size along `axis`."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def check_count(operator: str, member: str, values: Sequence[int], rank: int) -> None:
    """An array has an entry for each dimension."""
    if len(values) != rank:
        refuse(operator, f"{member} must have {rank} entries, DimensionCount, got {len(values)}")


def check_unsigned(operator: str, member: str, values: Iterable[int], least: int = 0) -> None:
    """UINT: from `least` to 2**32 - 1."""
    for value in values:
        if not least <= value <= UINT32_MAX:
            refuse(operator, f"{member} must be {least} to 2**32 - 1, got {shown(value)}")


def check_signed(operator: str, member: str, values: Iterable[int]) -> None:
    """INT: 32 bits with a sign."""
    for value in values:
        if not INT32_MIN <= value <= INT32_MAX:
            refuse(operator, f"{member} must fit 32 bits with a sign, got {shown(value)}")
