"""Fused functions on CUDA: the chain of functors that a plan says, as the text of one kernel.

``kernels/fuse.cu`` has the loops, those of elementwise functions, around the text. It is made of
the plan alone: functions that do the same to the same dtypes have one text, and so one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tensorlayout.cuda import elementwise
from tensorlayout.cuda.elementwise.launches import Computed
from tensorlayout.cuda.elementwise.planning import compute_type, plan_loops, walks_tiles
from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import PARAMETER_BYTES
from tensorlayout.cuda.engine.launch import Launch, Launches
from tensorlayout.cuda.engine.memory import padding_of
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.dtypes import DType
from tensorlayout.plan.base import Write
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.fuse import FusePlan
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import TensorSpec

# Steps of one kernel, which bounds what a compiler takes, and its operands, which bounds registers.
# Where a struct would exceed what a launch takes, there are fewer.
MOST_STEPS = 64
MOST_OPERANDS = (16, 5)


class Leaf(NamedTuple):
    """What a kernel reads: a value of the plan, a number as an element of `scalar`."""

    value: int
    scalar: DType | None
    name: str = ""  # of the function that the number is given to


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps of one kernel.

    Attributes:
        value: the last step's, which is written.
        steps: the numbers of the steps, in their order.
        leaves: what is read.

    """

    value: int
    steps: tuple[int, ...]
    leaves: tuple[Leaf, ...]


def write_fuse(plan: FusePlan) -> Write:
    """One launch; more for very many steps or operands, and for a reduction.

    A reduction reads what the steps before it have written.
    """
    if plan.reduction is not None:
        made = replace(plan, reduction=None, result=plan.steps[-1].result, given=False)
        reduction = replace(plan.reduction, result=plan.result)
        values, reduce = carried_out(made), carried_out(replace(reduction, given=True))
        return lambda out, *operands: reduce(out, values(*operands))
    padding = None if plan.given else padding_of(plan.result)

    def planned(alignments: tuple[int, ...]) -> Launches:
        return plan_fuse(plan, alignments, padding)

    names = {leaf: None for chain in chains(plan, MOST_OPERANDS[0]) for leaf in chain.leaves}
    ...
