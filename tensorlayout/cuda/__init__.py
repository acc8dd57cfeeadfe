"""Tensors on NVIDIA GPUs: memory, kernels and launches behind one seam, the driver.

Two drivers implement `driver.Driver`: CuPy on a GPU, and the simulator, which compiles the same
kernels with the host's C++ compiler and runs them on the CPU (``TENSORLAYOUT_CUDA_SIMULATOR=1``).

Nothing falls back to the host in silence: every kind of plan is in the table below.

Below `tracing`; plans import it by name, when a CUDA device is first used.
"""

from __future__ import annotations

import functools
from typing import Any

from tensorlayout.cuda.engine import (
    borrowed,
    borrowed_slots,
    current_stream,
    device_at,
    disturbs,
    exported_stream,
    exposed,
    keeping,
    new_tensors,
    read,
    ready,
    wait_for,
    writer,
)
from tensorlayout.cuda.engine.faults import set_strict_indexing, strict_indexing
from tensorlayout.cuda.engine.warm_up import warmup
from tensorlayout.plan import ANY_LAYOUT, Plan, Run
from tensorlayout.support.lazy_imports import loaded

__all__ = [
    "accepts",
    "borrowed",
    "borrowed_slots",
    "carry_out",
    "current_stream",
    "device_at",
    "direct",
    "disturbs",
    "exported_stream",
    "exposed",
    "new_tensors",
    "read",
    "ready",
    "set_strict_indexing",
    "strict_indexing",
    "wait_for",
    "warmup",
]

# What carries out a plan, by its kind: see `Plan.makes`. Families are imported at first use. A
# function called ``plan_…`` gives launches, for the alignments of all tensors.
CARRY_OUT = {
    "assign": "copy.write_assign",
    "col2im": "image.plan_col2im",
    "copy": "copy.write_copy",
    "copy_scatter": "scatter.write_copy_scatter",
    "create": "fill.create.write_create",
    "dequantize": "quantize.plan_dequantize",
    "diagonals": "fill.diagonals.write_diagonals",
    "elementwise": "elementwise.write_elementwise",
    "fuse": "fuse.write_fuse",
    "gather": "gather.write_gather",
    "join": "join.write_join",
    "library": "library.prepare",
    "masked": "mask.write_masked",
    "matmul": "matmul.write_matmul",
    "nonzero": "mask.prepare_nonzero",
    "one_hot": "fill.create.plan_one_hot",
    "pad": "pad.write_pad",
    "part": "view.prepare_part",
    "quantize": "quantize.plan_quantize",
    "reinterpret": "view.prepare_reinterpret",
    "reduce": "reduce.write_reduce",
    "reverse_sequence": "image.plan_reverse_sequence",
    "row": "view.prepare_row",
    "same": "view.prepare_same",
    "scan": "scan.plan_scan",
    "scatter": "scatter.write_scatter",
    "scatter_reduce": "scatter.write_scatter_reduce",
    "select": "mask.prepare_select",
    "slice_grad": "pad.plan_slice_grad",
    "sort": "sort.write_sort",
    "split": "join.write_split",
    "top_k": "sort.write_top_k",
    "transfer": "copy.write_transfer",
    "triangle": "fill.diagonals.write_triangle",
    "upsample": "image.plan_upsample",
    "view": "view.prepare_view",
}

# Kinds of plans whose module has a function `takes_tiles`, which tells such plans apart: those with
# elements below a byte among their layouts, and those with tiles.
_SOME_BELOW_A_BYTE = ("create", "dequantize", "quantize")
_SOME_TILED = ("dequantize", "elementwise", "fuse", "quantize")


def carry_out(plan: Plan) -> Any:
    """Return what carries out a plan, as its `makes` says."""
    name = CARRY_OUT[plan.kind]
    function = _function(name)
    if ".plan_" in name:
        found = writer(plan.result.device.number, functools.partial(function, plan))
    else:
        found = function(plan)
    return keeping(found) if plan.destinations else found


def direct(plan: Plan) -> Run | None:
    """Return None: every result is allocated by who runs the plan."""
    return None


def accepts(plan: Plan, below_a_byte: bool) -> bool:
    """Return whether a plan is carried out in its layouts, of which some have no strides."""
    if plan.kind in ANY_LAYOUT:
        return True
    if plan.kind in (_SOME_BELOW_A_BYTE if below_a_byte else _SOME_TILED):
        module = CARRY_OUT[plan.kind].rpartition(".")[0]
        return bool(_function(f"{module}.takes_tiles")(plan))
    return not below_a_byte and plan.kind in ("create", "join", "part")


@functools.cache
def _function(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(loaded(f"tensorlayout.cuda.{module}"), function)
