"""Operations along one dimension on CUDA: which functions there are."""

from __future__ import annotations

from collections.abc import Callable

from tensorlayout.cuda import scanning, sorting
from tensorlayout.layout import Layout
from tensorlayout.plan import Run
from tensorlayout.plan.along import AlongPlan

# By the name of the host's function, of which several operations may be made.
_PREPARE: dict[str, Callable[[AlongPlan], Run]] = {
    "argsort": sorting.prepare_argsort,
    "cumulative_prod": scanning.prepare_prod,
    "cumulative_sum": scanning.prepare_sum,
    "sort": sorting.prepare_sort,
}


# The same for those that can write into a tensor given first, of any layout.
_PREPARE_INTO: dict[str, Callable[[AlongPlan, Layout], Run]] = {
    "cumulative_prod": scanning.prepare_prod_into,
    "cumulative_sum": scanning.prepare_sum_into,
}


def prepare_into(plan: AlongPlan, to: Layout) -> Run | None:
    """The function of a destination, laid out so, and a tensor; None where a new one is needed."""
    found = _PREPARE_INTO.get(plan.operation.numpy.__name__)
    return found and found(plan, to)


def prepare(plan: AlongPlan) -> Run:
    """The function of a tensor that carries out a plan."""
    return _PREPARE[plan.operation.numpy.__name__](plan)
