"""NumPy's rules of casts: which dtype may become which."""

from __future__ import annotations

from typing import Any

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.functions import arguments

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def can_cast(source: DType, target: DType, casting: str) -> bool:
    """Return whether a rule of NumPy's, one of `CASTINGS`, lets `source` become `target`."""
    if casting in ("no", "equiv"):
        return bool(source == target)
    if casting == "safe":
        return bool(dtypes.promote(source, target) == target)
    return casting == "unsafe" or dtypes.same_kind(source, target)


def check_casting(source: DType, target: DType, casting: Any) -> None:
    """Refuse (TypeError) a conversion that the rule `casting` does not allow."""
    arguments.choice("casting", casting, f"one of {', '.join(CASTINGS)}", CASTINGS)
    if not can_cast(source, target, casting):
        raise TypeError(f"{source} cannot become {target} by the rule {casting!r}")
