"""Tensors on NVIDIA GPUs: memory, kernels and launches behind one seam, the driver.

Two drivers implement `driver.Driver`: CuPy on a GPU, and the simulator, which compiles the same
kernels with the host's C++ compiler and runs them on the CPU (``TENSORLAYOUT_CUDA_SIMULATOR=1``).

Nothing falls back to the host in silence: every kind of plan is in the table below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.cuda import (
    along,
    bands,
    bordering,
    carrying,
    combining,
    coordinates,
    creating,
    elementwise,
    gathering,
    leading,
    library,
    matmul,
    moving,
    reduce,
    scan,
    scattering,
    selecting,
)
from tensorlayout.cuda.engine import capturing
from tensorlayout.cuda.engine.aliasing import disturbs
from tensorlayout.cuda.engine.faults import set_strict_indexing, strict_indexing
from tensorlayout.cuda.engine.memory import borrowed, device_at, exposed, new_tensors, read
from tensorlayout.cuda.engine.streams import current_stream, exported_stream, ready, wait_for
from tensorlayout.cuda.engine.warm_up import warmup
from tensorlayout.plan.base import Plan, Run
from tensorlayout.plan.elementwise import ElementwisePlan

__all__ = [
    "borrowed",
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
    "along": along.prepare_into,
    "assign": carrying.prepare_assign,
    "col2im": coordinates.prepare_fold,
    "copy_scatter": scattering.prepare_replace,
    "diagonals": coordinates.prepare_diagonals,
    "elementwise": carrying.write_elementwise,
    "gather": gathering.prepare_gather_into,
    "index": moving.prepare_index,
    "join": carrying.write_join,
    "library": library.prepare,
    "masked": selecting.prepare_masked,
    "matmul": matmul.write_matmul,
    "one_hot": coordinates.prepare_hot,
    "pad": bordering.prepare,
    "part": moving.prepare_part,
    "reduce": reduce.write_reduce,
    "reverse_sequence": coordinates.prepare_reverse,
    "row": moving.prepare_row,
    "same": moving.prepare_same,
    "scan": scan.write_scan,
    "scatter": scattering.prepare_scatter,
    "select": selecting.prepare_select,
    "sequence": coordinates.prepare_sequence,
    "slice_grad": carrying.prepare_spread,
    "split": carrying.prepare_split,
    "top_k": leading.prepare,
    "upsample": coordinates.prepare_stretch,
    "view": moving.prepare_view,
}

# What still allocates its result itself.
DIRECT: dict[str, Callable[[Any], Run | None]] = {
    "along": along.prepare,
    "copy": carrying.prepare_copy,
    "create": creating.prepare,
    "gather": gathering.prepare_gather,
    "reshape": carrying.prepare_reshape,
    "scatter_reduce": combining.prepare,
    "transfer": moving.prepare_transfer,
    "triangle": bands.prepare_triangle,
}


def carry_out(plan: Plan) -> Any:
    """What carries out a plan, as its `makes` says."""
    found = CARRY_OUT[plan.kind](plan)
    return capturing.keeping(found) if plan.given else found


def direct(plan: Plan) -> Run | None:
    """None, but for plans whose results are still allocated by what writes them."""
    found = DIRECT.get(plan.kind)
    return found and found(plan)


def takes_tiles(plan: Plan) -> bool:
    """Whether a plan of tiled tensors is carried out as it is."""
    if isinstance(plan, ElementwisePlan):
        return elementwise.takes_tiles(plan)
    return plan.kind in ("join", "reshape")
