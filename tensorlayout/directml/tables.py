"""What each operator takes at each feature level, read from the table ``support.toml``."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.directml.constants import DataType
from tensorlayout.errors import refuse, under
from tensorlayout.functions import arguments

_TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent / "support.toml").read_text("utf-8"))
LEVELS: tuple[str, ...] = tuple(_TABLE.pop("levels"))
HIGHEST = LEVELS[-1]
_TYPES = _TABLE.pop("types")
# Values of attributes that came later than their operators: attribute, value, level.
SINCE: dict[str, dict[str, str]] = _TABLE.pop("since")
OPERATORS: tuple[str, ...] = tuple(name for name in _TABLE if name != "TensorDesc")
_ALIASES = {"SCATTER_ELEMENTS": "SCATTER"}


class TensorSupport(NamedTuple):
    """What one tensor of an operator may be: its ranks, from … to …, and its data types.

    >>> from tensorlayout.directml import TensorSupport, support
    >>> found = support("JOIN", "3_0")["OutputTensor"]
    >>> isinstance(found, TensorSupport), found.ranks
    (True, (4, 5))
    """

    ranks: tuple[int, int]
    data_types: tuple[DataType, ...]

    def allows(self, data_type: DataType, rank: int) -> bool:
        """Return whether a tensor may be of this data type and rank."""
        return self.ranks[0] <= rank <= self.ranks[1] and data_type in self.data_types


Table = Mapping[str, TensorSupport]


def as_level(given: Any) -> str:
    """A feature level as ``"3_0"``, from that, its name in C or its number (0x3000)."""
    found = given
    if isinstance(given, str):
        found = given.removeprefix("DML_FEATURE_LEVEL_")
    elif isinstance(given, (int, np.integer)):
        number = int(given)
        if 0 < number < 2**16 and not number & 255:
            found = f"{number >> 12}_{number >> 8 & 15}"
    if not isinstance(found, str) or found not in LEVELS:
        came = arguments.shown(given)
        raise ValueError(f"feature_level must be one of {', '.join(LEVELS)}, got {came}")
    return found


def reaches(level: str, least: str) -> bool:
    """Return whether a level contains another."""
    return LEVELS.index(level) >= LEVELS.index(least)


def support(operator: str, feature_level: str | int = HIGHEST) -> Table:
    """What the tensors of an operator may be at a feature level: by member, ranks and data types.

    ValueError for an operator that the `feature_level` does not have; it names the lowest one that
    does.

    >>> from tensorlayout.directml import support
    >>> support("JOIN", "3_0")["OutputTensor"].ranks
    (4, 5)
    """
    name = operator.removeprefix("DML_OPERATOR_").upper() if isinstance(operator, str) else ""
    name = _ALIASES.get(name, name)
    if name not in OPERATORS:
        came = arguments.shown(operator)
        refuse("support", f"operator must be one of {', '.join(OPERATORS)}, got {came}")
    return row(name, under("support", as_level, feature_level))


@functools.cache
def row(name: str, level: str) -> Table:
    """Return the ranks and data types of an operator's tensors at a feature level."""
    rows = ROWS[name]
    found = next((own for own in reversed(rows) if reaches(level, own)), None)
    if found is None:
        rule = f"the operator is not available at feature level {level}"
        refuse(name, f"{rule}; the lowest level that has it is {next(iter(rows))}")
    return rows[found]


def check(name: str, member: str, level: str, kind: DataType, rank: int) -> None:
    """Raise TypeError for a data type, ValueError for a rank, that a level does not allow."""
    allowed = row(name, level)[member]
    if allowed.allows(kind, rank):
        return
    rows = ROWS[name].items()
    lowest = next((own for own, table in rows if table[member].allows(kind, rank)), None)
    fix = f"no level allows {kind.name} with {rank} dimensions"
    if lowest is not None:
        fix = f"the lowest level that allows it is {lowest}"
    if kind not in allowed.data_types:
        names = ", ".join(t.name for t in allowed.data_types)
        rule = f"DataType must be one of {names} at feature level {level}"
        raise TypeError(f"{rule}, got {kind.name}; {fix}")
    low, high = allowed.ranks
    span = f"{low}" if low == high else f"{low} to {high}"
    rule = f"DimensionCount must be {span} at feature level {level}"
    raise ValueError(f"{rule}, got {rank}; {fix}")


def _parsed(lines: list[str]) -> Table:
    found: dict[str, TensorSupport] = {}
    for line in lines:
        kind, _, members = line.partition(": ")
        span, types = kind.split(" ")
        low, high = span.split("-")
        allowed = TensorSupport((int(low), int(high)), tuple(DataType[t] for t in _TYPES[types]))
        found |= dict.fromkeys(members.split(", "), allowed)
    return MappingProxyType(found)


# All rows of each operator, and of any tensor, by the level that each begins at.
ROWS: dict[str, dict[str, Table]] = {
    name: {level: _parsed(lines) for level, lines in rows.items()} for name, rows in _TABLE.items()
}
