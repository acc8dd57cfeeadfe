"""Borders around tensors carried out: one launch, given two addresses and a value."""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda.engine.launch import Launch, writer
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.pad_plan import plan_pad
from tensorlayout.plan.base import Write
from tensorlayout.plan.pad import PadPlan


def prepare(plan: PadPlan) -> Write:
    """The function of the result, the tensor, and the value of a constant."""
    spec, source = plan.result, plan.source.layout

    def planned(alignments: tuple[int, ...]) -> Launch | None:
        to, from_ = alignments
        itemsize = spec.dtype.itemsize
        return plan_pad(spec.layout, source, itemsize, plan.borders, plan.mode, (to, from_))

    def content(value: Any) -> bytes:
        return octets(plan.name, value, spec.dtype) * (16 // spec.dtype.itemsize)

    return writer(spec.device.number, planned, 2, content)
