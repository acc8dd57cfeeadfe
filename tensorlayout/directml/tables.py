"""Data types and ranks that operators accept at each feature level, from ``support.toml``."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.directml.constants import DataType
from tensorlayout.errors import call_with_error_name, raise_named_error
from tensorlayout.functions import arguments

_TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent / "support.toml").read_text("utf-8"))
LEVELS: tuple[str, ...] = tuple(_TABLE.pop("levels"))
HIGHEST = LEVELS[-1]
_TYPES = _TABLE.pop("types")
# Attribute values introduced after their operators: attribute, value, level.
VALUE_LEVELS: dict[str, dict[str, str]] = _TABLE.pop("since")
OPERATORS: tuple[str, ...] = tuple(name for name in _TABLE if name != "TensorDesc")
_ALIASES = {"SCATTER_ELEMENTS": "SCATTER"}


class TensorSupport(NamedTuple):
    """Ranks (lowest and highest) and data types that an operator accepts for one tensor.

    >>> from tensorlayout.directml import TensorSupport, support
    >>> found = support("JOIN", "3_0")["OutputTensor"]
    >>> isinstance(found, TensorSupport), found.ranks
    (True, (4, 5))
    """

    ranks: tuple[int, int]
    data_types: tuple[DataType, ...]

    def allows(self, data_type: DataType, rank: int) -> bool:
        """Return whether a tensor may have this data type and rank."""
        return self.ranks[0] <= rank <= self.ranks[1] and data_type in self.data_types


Table = Mapping[str, TensorSupport]


def parse_feature_level(feature_level: Any) -> str:
    """Return a feature level as ``"3_0"``, from that, its name in C or its number (0x3000)."""
    level = feature_level
    if isinstance(feature_level, str):
        level = feature_level.removeprefix("DML_FEATURE_LEVEL_")
    elif isinstance(feature_level, (int, np.integer)):
        number = int(feature_level)
        # Levels are numbered 0xMm00: 0x3100 is 3_1.
        if 0 < number < 2**16 and not number & 255:
            level = f"{number >> 12}_{number >> 8 & 15}"
    if not isinstance(level, str) or level not in LEVELS:
        received = arguments.format_argument(feature_level)
        raise ValueError(f"feature_level must be one of {', '.join(LEVELS)}, got {received}")
    return level


def is_level_at_least(level: str, required_level: str) -> bool:
    """Return whether a level includes another."""
    return LEVELS.index(level) >= LEVELS.index(required_level)


def support(operator: str, feature_level: str | int = HIGHEST) -> Table:
    """Return the ranks and data types that an operator's tensors accept at a feature level.

    Raises `ValueError` for an `operator` that `feature_level` does not have, naming the lowest
    level that has it.

    >>> from tensorlayout.directml import support
    >>> support("JOIN", "3_0")["OutputTensor"].ranks
    (4, 5)
    """
    name = operator.removeprefix("DML_OPERATOR_").upper() if isinstance(operator, str) else ""
    name = _ALIASES.get(name, name)
    if name not in OPERATORS:
        received = arguments.format_argument(operator)
        raise_named_error(
            "support", f"operator must be one of {', '.join(OPERATORS)}, got {received}"
        )
    return operator_support(
        name, call_with_error_name("support", parse_feature_level, feature_level)
    )


@functools.cache
def operator_support(name: str, level: str) -> Table:
    """Return the ranks and data types of an operator's tensors at a feature level."""
    # Rows hold until the next one, so the last row at or below the level counts.
    tables_by_level = TABLES[name]
    first_level = next(
        (
            table_level
            for table_level in reversed(tables_by_level)
            if is_level_at_least(level, table_level)
        ),
        None,
    )
    if first_level is None:
        rule = f"the operator is not available at feature level {level}"
        raise_named_error(
            name, f"{rule}; the lowest level that has it is {next(iter(tables_by_level))}"
        )
    return tables_by_level[first_level]


def check_supported(
    operator_name: str, member_name: str, level: str, data_type: DataType, rank: int
) -> None:
    """Raise TypeError for a data type, or ValueError for a rank, that a level does not allow."""
    allowed = operator_support(operator_name, level)[member_name]
    if allowed.allows(data_type, rank):
        return
    rows = TABLES[operator_name].items()
    # Rows are in ascending order of levels, so the first that allows it is the lowest.
    lowest = next(
        (table_level for table_level, table in rows if table[member_name].allows(data_type, rank)),
        None,
    )
    fix = f"no level allows {data_type.name} with {rank} dimensions"
    if lowest is not None:
        fix = f"the lowest level that allows it is {lowest}"
    # The data type comes first: with a type that no level allows, another rank would not help.
    if data_type not in allowed.data_types:
        names = ", ".join(t.name for t in allowed.data_types)
        rule = f"DataType must be one of {names} at feature level {level}"
        raise TypeError(f"{rule}, got {data_type.name}; {fix}")
    low, high = allowed.ranks
    rank_range = f"{low}" if low == high else f"{low} to {high}"
    rule = f"DimensionCount must be {rank_range} at feature level {level}"
    raise ValueError(f"{rule}, got {rank}; {fix}")


def _parse_support_table(lines: list[str]) -> Table:
    support_by_member: dict[str, TensorSupport] = {}
    for line in lines:
        kind, _, members = line.partition(": ")
        rank_range, type_set = kind.split(" ")
        low, high = rank_range.split("-")
        allowed = TensorSupport((int(low), int(high)), tuple(DataType[t] for t in _TYPES[type_set]))
        support_by_member |= dict.fromkeys(members.split(", "), allowed)
    # Read-only, because users get this cached table itself.
    return MappingProxyType(support_by_member)


# Rows of each operator and tensor, by the level that introduces them.
TABLES: dict[str, dict[str, Table]] = {
    name: {level: _parse_support_table(lines) for level, lines in rows.items()}
    for name, rows in _TABLE.items()
}
