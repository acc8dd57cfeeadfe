"""What is not on CUDA: the one list, and it is empty. A plan without a kernel is to be put here."""

from __future__ import annotations

from tensorlayout.plan import Plan

# Plans that raise NotImplementedError: none.
PLANS: dict[type, str] = {}

# Operations that do, though others of their plan have a kernel: by name: none.
OPERATIONS: dict[str, str] = {}


def reason(plan: Plan) -> str | None:
    """What of the list a plan is; None if it is not there."""
    name = getattr(getattr(plan, "operation", None), "name", "")
    return PLANS.get(type(plan)) or OPERATIONS.get(name)


def missing(plan: Plan) -> NotImplementedError:
    """The error for a plan that no kernel carries out; who planned it puts its name in front."""
    kind = plan.result.device.kind
    return NotImplementedError(f"not on {kind} yet; move the operands with to_device('cpu')")
