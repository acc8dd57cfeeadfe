"""What is not on CUDA yet: the one list. What gets a kernel leaves it."""

from __future__ import annotations

from tensorlayout.plan import Plan
from tensorlayout.plan.gathering import GatherPlan, ScatterPlan
from tensorlayout.plan.library import LibraryPlan
from tensorlayout.plan.masking import MaskedPlan, SelectPlan
from tensorlayout.plan.products import ProductPlan
from tensorlayout.plan.reducing import ReducePlan

# Plans that raise NotImplementedError.
PLANS: dict[type, str] = {
    GatherPlan: "reads at positions",
    LibraryPlan: "linear algebra, Fourier transforms, sets, searches",
    MaskedPlan: "writes by a mask",
    ProductPlan: "matrix products",
    ReducePlan: "reductions",
    ScatterPlan: "writes at positions",
    SelectPlan: "reads by a mask",
}

# Carried out on the host, and moved: by operation.
ON_HOST: dict[str, str] = {
    "__contains__": "the tensor is moved to the host and searched there",
}


def missing(plan: Plan) -> NotImplementedError:
    """The error for a plan that no kernel carries out; who planned it puts its name in front."""
    kind = plan.result.device.kind
    return NotImplementedError(f"not on {kind} yet; move the operands with to_device('cpu')")
