"""Tensors on NVIDIA GPUs: memory, kernels and launches behind one seam, the driver.

Two drivers implement `driver.Driver`: CuPy on a GPU, and the simulator, which compiles the same
kernels with the host's C++ compiler and runs them on the CPU (``TENSORLAYOUT_CUDA_SIMULATOR=1``).

Nothing falls back to the host in silence: every kind of plan is in the table below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.cuda import (
    elementwise,
    fuse,
    gather,
    image,
    join,
    library,
    mask,
    matmul,
    pad,
    quantize,
    reduce,
    scan,
    scatter,
    sort,
    view,
)
from tensorlayout.cuda.copy import copy
from tensorlayout.cuda.engine.aliasing import disturbs
from tensorlayout.cuda.engine.faults import set_strict_indexing, strict_indexing
from tensorlayout.cuda.engine.memory import (
    borrowed,
    borrowed_slots,
    device_at,
    exposed,
    keeping,
    new_tensors,
    read,
)
from tensorlayout.cuda.engine.streams import current_stream, exported_stream, ready, wait_for
from tensorlayout.cuda.engine.warm_up import warmup
from tensorlayout.cuda.fill import create, diagonals, patterns
from tensorlayout.plan.base import Plan, Run
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.fill import CreatePlan
from tensorlayout.plan.fuse import FusePlan
from tensorlayout.plan.quantize import DequantizePlan, QuantizePlan

__all__ = [
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
    "takes_tiles",
    "wait_for",
    "warmup",
]

# What carries out a plan, by its kind: see `Plan.makes`.
CARRY_OUT: dict[str, Callable[[Any], Any]] = {
    "assign": copy.write_assign,
    "col2im": image.write_col2im,
    "copy": copy.write_copy,
    "copy_scatter": scatter.write_copy_scatter,
    "create": create.write_create,
    "dequantize": quantize.write_dequantize,
    "diagonals": diagonals.write_diagonals,
    "elementwise": elementwise.write_elementwise,
    "fuse": fuse.write_fuse,
    "gather": gather.write_gather,
    "join": join.write_join,
    "library": library.prepare,
    "masked": mask.write_masked,
    "matmul": matmul.write_matmul,
    "nonzero": mask.prepare_nonzero,
    "one_hot": patterns.write_one_hot,
    "pad": pad.write_pad,
    "part": view.prepare_part,
    "quantize": quantize.write_quantize,
    "reinterpret": view.prepare_reinterpret,
    "reduce": reduce.write_reduce,
    "reverse_sequence": image.write_reverse_sequence,
    "row": view.prepare_row,
    "same": view.prepare_same,
    "scan": scan.write_scan,
    "scatter": scatter.write_scatter,
    "scatter_reduce": scatter.write_scatter_reduce,
    "select": mask.prepare_select,
    "slice_grad": pad.write_slice_grad,
    "sort": sort.write_sort,
    "split": join.write_split,
    "top_k": sort.write_top_k,
    "transfer": copy.write_transfer,
    "triangle": diagonals.write_triangle,
    "upsample": image.write_upsample,
    "view": view.prepare_view,
}


def carry_out(plan: Plan) -> Any:
    """What carries out a plan, as its `makes` says."""
    found = CARRY_OUT[plan.kind](plan)
    return keeping(found) if plan.given else found


def direct(plan: Plan) -> Run | None:
    """None: every result is allocated by who runs the plan."""
    return None


def takes_tiles(plan: Plan) -> bool:
    """Whether a plan of tiled tensors is carried out as it is."""
    if isinstance(plan, ElementwisePlan):
        return elementwise.takes_tiles(plan)
    if isinstance(plan, FusePlan):
        return fuse.takes_tiles(plan)
    if isinstance(plan, (QuantizePlan, DequantizePlan)):
        return quantize.takes_tiles(plan)
    if isinstance(plan, CreatePlan):
        return create.writes_nothing(plan)
    return plan.kind in ("join", "reshape")
