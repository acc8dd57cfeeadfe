"""What is not on CUDA yet: the one list. What gets a kernel leaves it."""

from __future__ import annotations

from tensorlayout.plan import Plan

# Plans that raise NotImplementedError: none.
PLANS: dict[type, str] = {}

# Operations that do, though others of their plan have a kernel: by name.
OPERATIONS: dict[str, str] = dict.fromkeys(
    ("median", "nanmedian", "nanquantile", "quantile"), "medians and quantiles"
)


def reason(plan: Plan) -> str | None:
    """What of the list a plan is; None if it is not there."""
    name = getattr(getattr(plan, "operation", None), "name", "")
    return PLANS.get(type(plan)) or OPERATIONS.get(name)


def missing(plan: Plan) -> NotImplementedError:
    """The error for a plan that no kernel carries out; who planned it puts its name in front."""
    kind = plan.result.device.kind
    return NotImplementedError(f"not on {kind} yet; move the operands with to_device('cpu')")
