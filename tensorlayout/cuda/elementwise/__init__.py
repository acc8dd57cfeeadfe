"""Elementwise operations on CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.cuda.elementwise.planning import plan_conversion, plan_elementwise, takes_tiles
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.launch import Bound, Launches, bind, writer
from tensorlayout.cuda.engine.memory import padding_of, per_alignment
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.plan.base import Write
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.tensor import Tensor

__all__ = ["plan_conversion", "plan_elementwise", "scalars_of", "takes_tiles", "write_elementwise"]


def write_elementwise(plan: ElementwisePlan) -> Write:
    """The function of the result and the operands, which lie apart from it, or exactly there."""
    spec, padding = plan.result, None if plan.given else padding_of(plan.result)
    number, content = spec.device.number, scalars_of(plan)

    def planned(alignments: tuple[int, ...]) -> Launches:
        return plan_elementwise(plan, alignments, padding)

    if content is None:
        return writer(number, planned)

    def make(alignments: tuple[int, ...]) -> Bound:
        return bind(planned(alignments), number)

    at = per_alignment(make)

    def write(*tensors: Any) -> None:
        # Numbers have no addresses, and are as well aligned as can be.
        addresses = [x._memory.address if type(x) is Tensor else 0 for x in tensors]
        scalars = content(*tensors[1:])
        with driver().using(number):
            at(*addresses)(addresses, scalars)

    return write


def scalars_of(plan: ElementwisePlan) -> Callable[..., bytes] | None:
    """What makes the operands of a call octets for the struct, 16 for each; None without numbers.

    OverflowError for integers that do not fit.
    """
    name, pairs = plan.operation.name, zip(plan.operands, plan.inputs, strict=True)
    kinds = [kind if isinstance(operand, type) else None for operand, kind in pairs]
    if not any(kind is not None for kind in kinds):
        return None

    def content(*operands: Any) -> bytes:
        rows = zip(operands, kinds, strict=True)
        each = [b"" if kind is None else octets(name, x, kind) for x, kind in rows]
        return b"".join([one.ljust(16, b"\0") for one in each])

    return content
