"""The first elements of sorted lines: all positions that sort, and the elements at the first."""

from __future__ import annotations

from tensorlayout.cpu import along, into, moving
from tensorlayout.plan import Run
from tensorlayout.plan.leading import LeadingPlan, in_steps


def prepare(plan: LeadingPlan) -> Run:
    """The function of the two results and the tensor."""
    return in_steps(plan, along.prepare, moving.prepare_index, moving.prepare_assign, into.prepare)
