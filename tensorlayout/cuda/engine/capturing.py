"""Writes into tensors that are given, in a graph that is captured.

At each launch a graph writes to all memory that it was captured with, to what calls need in between
too. What is allocated during a capture lives as long as any of it (`Driver.allocate`), and here as
long as what is written in place.
"""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.plan import Plan, Run
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.gathering import ReplacePlan, ScatterPlan
from tensorlayout.plan.into import IntoPlan
from tensorlayout.plan.masking import MaskedPlan
from tensorlayout.plan.moving import AssignPlan, SpreadPlan
from tensorlayout.tensor import Tensor

# Plans that write into an operand. `SplitPlan`, into several, allocates nothing.
_WRITING = (AssignPlan, IntoPlan, MaskedPlan, ReplacePlan, ScatterPlan, SpreadPlan)


def keeping(plan: Plan, run: Run) -> Run:
    """`run`, which gives its destination back, and lets it keep what the capture has allocated."""
    if not isinstance(plan, _WRITING) and not (isinstance(plan, ElementwisePlan) and plan.in_place):
        return run
    gpu = driver()
    captures = gpu.captures

    def write(*operands: Any) -> Tensor:
        found: Tensor = run(*operands)
        if captures:
            capture = gpu.captured(found.device.number)
            if capture is not None and found._home is not None:
                found._home.storage.keep(capture)
        return found

    return write
