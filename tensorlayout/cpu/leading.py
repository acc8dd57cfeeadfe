"""The first elements of sorted lines: all positions that sort, and the elements at the first."""

from __future__ import annotations

from tensorlayout.plan.base import Write
from tensorlayout.plan.leading import LeadingPlan, in_steps
from tensorlayout.plan.run import carried_out


def prepare(plan: LeadingPlan) -> Write:
    """The function of the two results and the tensor."""
    return in_steps(plan, carried_out)
