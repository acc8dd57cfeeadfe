"""Results as NumPy's callers ask for them, in `out`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.dtypes import DType
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.transfers import moved
from tensorlayout.plan import Assign, Elementwise, broadcast_shape
from tensorlayout.tensor import Tensor

# The condition has a say in the layout only if neither choice has the result's shape.
WHERE = Elementwise("where", "any or narrow", abstain=(0,))
_assign = functools.cache(Assign)  # in the name of a function


def kind_into(x: Tensor, out: Any, dtype: Any) -> Any:
    """The dtype to add or multiply in: the one asked for, else the wider one of `x` and `out`."""
    if dtype is not None or not isinstance(out, Tensor):
        return dtype
    kind = dtypes.promote(x.dtype, out.dtype)
    return None if kind == dtypes.bool else kind


def given(name: str, found: Tensor, out: Any) -> Tensor:
    """Return `out` with the `found` of a function `name` in it; `found` itself for None."""
    if out is None:
        return found
    into = arguments.tensor(out, "out")
    if into.shape != found.shape:
        raise ValueError(f"out must have the shape of the result, {found.shape}, got {into.shape}")
    check_cast(found.dtype, into.dtype, "same_kind")
    _assign_to(name, found, into)
    return out  # type: ignore[no-any-return]


def given_where(name: str, found: Tensor, out: Any, casting: str, where: Any) -> Tensor:
    """Return `out` with `found` written into it where `where` is true; else new, 0 elsewhere."""
    into = None if out is None else arguments.tensor(out, "out")
    kind = found.dtype if into is None else into.dtype
    check_cast(found.dtype, kind, casting)
    if where is not True:
        condition = where if type(where) is Tensor else np.asarray(where)
        mask = arguments.tensor(condition, "where")
        if mask.dtype != dtypes.bool:
            raise TypeError(f"where must be of bool, got {mask.dtype}")
        held = (False if kind == dtypes.bool else 0) if into is None else into
        found = dispatch.elementwise(
            WHERE, moved(mask, found.device), astype(found, kind, copy=False), held
        )
    if into is None:
        return found
    if broadcast_shape((found.shape, into.shape)) != into.shape:
        raise ValueError(f"out must have the shape of the result, {found.shape}, got {into.shape}")
    _assign_to(name, found, into)
    return out  # type: ignore[no-any-return]


def check_cast(source: DType, target: DType, casting: str) -> None:
    """Raise TypeError where a rule of NumPy's does not let a result of `source` be `target`."""
    if not arguments.can_cast(source, target, casting):
        rule = f"out must hold {source} by the rule {casting!r}, got {target}"
        raise TypeError(f"{rule}; convert the result with astype()")


def _assign_to(name: str, found: Tensor, out: Tensor) -> None:
    arguments.writable(out)
    dispatch.call(_assign(name), (out.spec, found.spec), (out, found))
