"""The CPU: plans carried out with NumPy.

Figures in this folder were measured from 2026-11-21 to 2026-11-25 on a 2-core AMD EPYC (Zen 4) with
NumPy 2.4.6, where they do not say otherwise.

Below `exchange` and `functions`; plans import it by name, when the CPU is first used.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorlayout.cpu.elementwise.writing import is_one_ufunc
from tensorlayout.cpu.engine.borrowed import borrowed as borrowed
from tensorlayout.cpu.engine.borrowed import borrowed_slots as borrowed_slots
from tensorlayout.cpu.engine.memory import current_stream as current_stream
from tensorlayout.cpu.engine.memory import exposed as exposed
from tensorlayout.cpu.engine.memory import new_tensors as new_tensors
from tensorlayout.cpu.engine.memory import read as read
from tensorlayout.cpu.engine.memory import ready as ready
from tensorlayout.plan import ANY_LAYOUT, CreatePlan, Disturbs, ElementwisePlan, Plan, Run
from tensorlayout.plan.fuse import FusePlan
from tensorlayout.support.lazy_imports import loaded
from tensorlayout.tensor import Tensor

# What carries out a plan, by its kind: see `Plan.makes`. Families are imported at first use.
CARRY_OUT = {
    "assign": "copy.copy.write_assign",
    "col2im": "image.write_col2im",
    "copy": "copy.copy.write_copy",
    "copy_scatter": "scatter.write_copy_scatter",
    "create": "fill.write_create",
    "dequantize": "quantize.write_dequantize",
    "diagonals": "fill.write_diagonals",
    "elementwise": "elementwise.writing.write",
    "fuse": "fuse.write",
    "gather": "gather.write_gather",
    "join": "join.write_join",
    "library": "library.prepare",
    "masked": "mask.write_masked",
    "matmul": "matmul.write_matmul",
    "nonzero": "mask.prepare_nonzero",
    "one_hot": "fill.write_one_hot",
    "pad": "pad.write_pad",
    "part": "view.prepare_part",
    "quantize": "quantize.write_quantize",
    "reinterpret": "view.prepare_reinterpret",
    "reduce": "reduce.write_reduce",
    "reverse_sequence": "image.write_reverse_sequence",
    "row": "view.prepare_row",
    "same": "view.prepare_same",
    "scan": "scan.write_scan",
    "scatter": "scatter.write_scatter",
    "scatter_reduce": "scatter.write_scatter_reduce",
    "select": "mask.prepare_select",
    "slice_grad": "pad.write_slice_grad",
    "sort": "sort.write_sort",
    "split": "join.write_split",
    "top_k": "sort.write_top_k",
    "triangle": "fill.write_triangle",
    "upsample": "image.write_upsample",
    "view": "view.prepare_view",
}

# What makes the result in memory of its own, where that is faster than to write into a new tensor.
DIRECT = {
    "copy": "copy.copy.direct",
    "create": "fill.direct",
    "elementwise": "elementwise.writing.direct",
    "fuse": "fuse.direct",
    "gather": "gather.take",
    "join": "join.direct",
    "scan": "scan.direct",
    "transfer": "copy.copy.prepare_transfer",
}


def carry_out(plan: Plan) -> Any:
    """Return what carries out a plan, as its `makes` says."""
    return _function(CARRY_OUT[plan.kind])(plan)


def direct(plan: Plan) -> Run | None:
    """Return what makes the result of a plan in memory of its own, where that is faster."""
    found = DIRECT.get(plan.kind) if not plan.destinations or plan.kind == "elementwise" else None
    return _function(found)(plan) if found else None


@functools.cache
def _function(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(loaded(f"tensorlayout.cpu.{module}"), function)


def accepts(plan: Plan, below_a_byte: bool) -> bool:
    """Return whether a plan is carried out in its layouts, of which some have no strides."""
    if plan.kind in ANY_LAYOUT:
        return True
    if below_a_byte:
        return isinstance(plan, CreatePlan) and plan.operation.values in ("nothing", "value")
    if isinstance(plan, (ElementwisePlan, FusePlan)):
        return plan.is_one_run
    return plan.kind in ("create", "part")


def disturbs(plan: Any) -> Disturbs | None:
    """Return what tells the operands that a write disturbs before they are read, by addresses."""
    if plan.kind == "elementwise" and is_one_ufunc(plan):
        return None  # NumPy sees to it
    if plan.partial:
        return lambda x, y: np.may_share_memory(x.memory, y.memory)
    return _meet_elsewhere if plan.in_place else None


def _meet_elsewhere(x: Tensor, y: Tensor) -> bool:
    """Return whether memory is shared, unless each element stands in its own place."""
    if x is y or not np.may_share_memory(x.memory, y.memory):
        return False
    address = x.memory.__array_interface__["data"][0]
    return x.spec is not y.spec or address != y.memory.__array_interface__["data"][0]
