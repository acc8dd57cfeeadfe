"""What is not on CUDA yet: the one list. What gets a kernel leaves it."""

from __future__ import annotations

from tensorlayout.plan import Plan
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.library import LibraryPlan
from tensorlayout.plan.products import ProductPlan
from tensorlayout.plan.reducing import ReducePlan

# Plans that raise NotImplementedError.
PLANS: dict[type, str] = {
    AlongPlan: "sorts and running sums",
    ElementwisePlan: "tril, triu",
    LibraryPlan: "linear algebra, Fourier transforms, sets, searchsorted",
    ProductPlan: "matrix products",
    ReducePlan: "reductions",
}

# Carried out on the host, and moved: by operation.
ON_HOST: dict[str, str] = {
    "arange": "creation",
    "empty": "of a layout whose padding has a value",
    "empty_like": "of a layout whose padding has a value",
    "eye": "creation",
    "fftfreq": "creation",
    "full": "creation",
    "full_like": "creation",
    "linspace": "creation",
    "ones": "creation",
    "ones_like": "creation",
    "rfftfreq": "creation",
    "zeros": "creation",
    "zeros_like": "creation",
    "__contains__": "the tensor is moved to the host and searched there",
}


def missing(plan: Plan) -> NotImplementedError:
    """The error for a plan that no kernel carries out; who planned it puts its name in front."""
    kind = plan.result.device.kind
    return NotImplementedError(f"not on {kind} yet; move the operands with to_device('cpu')")
