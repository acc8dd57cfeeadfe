"""Which operands a write would disturb: told by the bounds of their memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.elementwise import is_one_ufunc
from tensorlayout.plan.base import Disturbs
from tensorlayout.tensor import Tensor


def disturbs(plan: Any) -> Disturbs | None:
    """What tells the operands that a write disturbs before they are read."""
    if plan.kind == "elementwise" and is_one_ufunc(plan):
        return None  # NumPy sees to it
    return {"nothing": _meet, "itself": _meet_elsewhere, None: None}[plan.overlap]


def _meet(x: Tensor, y: Tensor) -> bool:
    return np.may_share_memory(x._memory, y._memory)


def _meet_elsewhere(x: Tensor, y: Tensor) -> bool:
    """But for each element in its own place, which is read before it is written."""
    if x is y or not np.may_share_memory(x._memory, y._memory):
        return False
    return x._spec is not y._spec or _address(x) != _address(y)


def _address(x: Tensor) -> int:
    return x._memory.__array_interface__["data"][0]  # type: ignore[no-any-return]
