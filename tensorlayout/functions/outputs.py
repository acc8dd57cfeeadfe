"""Results as NumPy's callers ask for them: `out`, and the rules of casts."""

from __future__ import annotations

import functools
from typing import Any

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.functions import arguments, dispatch
from tensorlayout.plan.copy import Assign
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")

_assign = functools.cache(Assign)  # in the name of a function


def can_cast(source: DType, target: DType, casting: str) -> bool:
    """Whether a rule of NumPy's, one of `CASTINGS`, lets `source` become `target`."""
    if casting in ("no", "equiv"):
        return bool(source == target)
    if casting == "safe":
        return bool(dtypes.promote(source, target) == target)
    return casting == "unsafe" or dtypes.same_kind(source, target)


def kind_into(x: Tensor, out: Any, dtype: Any) -> Any:
    """The dtype to add or multiply in: the one asked for, else the wider one of `x` and `out`."""
    if dtype is not None or not isinstance(out, Tensor):
        return dtype
    kind = dtypes.promote(x.dtype, out.dtype)
    return None if kind == dtypes.bool else kind


def given(name: str, found: Tensor, out: Any) -> Tensor:
    """`out` with `found` written into it; `found` itself where `out` is None.

    `out` keeps its layout. ValueError for another shape, or one that cannot be written to;
    TypeError where its dtype is of a lesser kind, as NumPy's rule ``same_kind`` says.
    """
    if out is None:
        return found
    out = arguments.tensor(name, out, "out")
    if out.shape != found.shape:
        refuse(name, f"out must have the shape of the result, {found.shape}, got {out.shape}")
    if not can_cast(found.dtype, out.dtype, "same_kind"):
        rule = f"out must hold {found.dtype} by the rule 'same_kind', got {out.dtype}"
        refuse(name, f"{rule}; convert the result with astype()", TypeError)
    arguments.writable(name, out)
    return dispatch.call(_assign(name), (out._spec, found._spec), (out, found))
