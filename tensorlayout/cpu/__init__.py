"""The CPU: plans carried out with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.cpu import (
    along,
    bordering,
    creating,
    elementwise,
    gather,
    library,
    lines,
    mask,
    moving,
    patches,
    patterns,
    products,
    reducing,
    scatter,
    sort,
    stretching,
    triangles,
)
from tensorlayout.cpu.engine.aliasing import disturbs
from tensorlayout.cpu.engine.borrowed import borrowed
from tensorlayout.cpu.engine.memory import current_stream, exposed, new_tensors, ready
from tensorlayout.cpu.engine.memory import required_bytes as read
from tensorlayout.plan.base import Plan, Run
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.tiled import is_one_run

__all__ = [
    "borrowed",
    "carry_out",
    "current_stream",
    "direct",
    "disturbs",
    "exposed",
    "new_tensors",
    "read",
    "ready",
    "takes_tiles",
]

# What carries out a plan, by its kind: see `Plan.makes`.
CARRY_OUT: dict[str, Callable[[Any], Any]] = {
    "along": along.prepare_into,
    "assign": moving.prepare_assign,
    "col2im": patches.prepare,
    "copy_scatter": scatter.write_copy_scatter,
    "diagonals": patterns.prepare_diagonals,
    "elementwise": elementwise.write,
    "gather": gather.write_gather,
    "index": moving.prepare_index,
    "join": moving.write_join,
    "library": library.prepare,
    "masked": mask.write_masked,
    "nonzero": mask.prepare_nonzero,
    "one_hot": patterns.prepare_hot,
    "pad": bordering.prepare,
    "part": moving.prepare_part,
    "reverse_sequence": lines.prepare,
    "row": moving.prepare_row,
    "same": moving.prepare_same,
    "scatter": scatter.write_scatter,
    "scatter_reduce": scatter.write_scatter_reduce,
    "select": mask.prepare_select,
    "sequence": patterns.prepare_sequence,
    "slice_grad": moving.prepare_spread,
    "sort": sort.write_sort,
    "split": moving.prepare_split,
    "top_k": sort.write_top_k,
    "upsample": stretching.prepare,
    "view": moving.prepare_view,
}

# What makes the result in memory of its own, where that is faster than to write into a new tensor.
DIRECT: dict[str, Callable[[Any], Run | None]] = {
    "along": along.prepare,
    "copy": moving.prepare_copy,
    "create": creating.prepare,
    "elementwise": elementwise.direct,
    "gather": gather.take,
    "matmul": products.prepare,
    "reduce": reducing.prepare,
    "reshape": moving.prepare_reshape,
    "transfer": moving.prepare_transfer,
    "triangle": triangles.prepare,
}


def carry_out(plan: Plan) -> Any:
    """What carries out a plan, as its `makes` says."""
    return CARRY_OUT[plan.kind](plan)


def direct(plan: Plan) -> Run | None:
    """What makes the result of a plan in memory of its own; None where that is not faster."""
    found = DIRECT.get(plan.kind)
    return found and found(plan)


def takes_tiles(plan: Plan) -> bool:
    """Whether a plan of tiled tensors is carried out as it is."""
    return isinstance(plan, ElementwisePlan) and is_one_run(plan)
