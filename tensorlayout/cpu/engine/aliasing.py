"""Which operands a write would disturb: told by the bounds of their memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorlayout.cpu.elementwise import is_one_ufunc
from tensorlayout.plan import Plan
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.gathering import ScatterPlan
from tensorlayout.plan.masking import MaskedPlan
from tensorlayout.plan.moving import AssignPlan
from tensorlayout.tensor import Tensor


def disturbs(plan: Plan) -> Callable[[Tensor, Tensor], bool] | None:
    """What says whether a write into the first tensor may change the second before it is read.

    None for plans that write into no operand, or where NumPy itself sees to that. Plans that write
    into tensors given as ``out`` are for callers to keep apart.
    """
    if isinstance(plan, (MaskedPlan, ScatterPlan)):
        return _meet
    if isinstance(plan, AssignPlan):
        return _meet_elsewhere
    if isinstance(plan, ElementwisePlan) and plan.in_place and not is_one_ufunc(plan):
        return _meet_elsewhere
    return None


def _meet(x: Tensor, y: Tensor) -> bool:
    return np.may_share_memory(x._memory, y._memory)


def _meet_elsewhere(x: Tensor, y: Tensor) -> bool:
    """But for each element in its own place, which is read before it is written."""
    if not np.may_share_memory(x._memory, y._memory):
        return False
    return x._spec is not y._spec or _address(x) != _address(y)


def _address(x: Tensor) -> int:
    return x._memory.__array_interface__["data"][0]  # type: ignore[no-any-return]
