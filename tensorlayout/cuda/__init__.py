"""Tensors on NVIDIA GPUs: memory, kernels and launches behind one seam, the driver.

Two drivers implement `driver.Driver`: CuPy on a GPU, and the simulator, which compiles the same
kernels with the host's C++ compiler and runs them on the CPU (``TENSORLAYOUT_CUDA_SIMULATOR=1``).

A plan that is not in the table below would be in the list of `missing`, the only one.
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
    elementwise_bounded,
    gathering,
    into,
    leading,
    library,
    moving,
    products,
    reducing,
    scattering,
    selecting,
)
from tensorlayout.cuda.engine import capturing
from tensorlayout.cuda.engine.aliasing import disturbs
from tensorlayout.cuda.engine.faults import set_strict_indexing, strict_indexing
from tensorlayout.cuda.engine.memory import borrowed, device_at, exposed, read
from tensorlayout.cuda.engine.streams import current_stream, exported_stream, ready, wait_for
from tensorlayout.cuda.engine.warm_up import warmup
from tensorlayout.cuda.missing import missing, reason
from tensorlayout.plan import Plan, Run
from tensorlayout.plan.along import AlongPlan
from tensorlayout.plan.bordering import PadPlan
from tensorlayout.plan.combining import CombinePlan
from tensorlayout.plan.creating import CreatePlan
from tensorlayout.plan.elementwise import ElementwisePlan
from tensorlayout.plan.folding import FoldPlan
from tensorlayout.plan.gathering import GatherPlan, ReplacePlan, ScatterPlan
from tensorlayout.plan.into import IntoPlan
from tensorlayout.plan.leading import LeadingPlan
from tensorlayout.plan.library import LibraryPlan
from tensorlayout.plan.masking import MaskedPlan, SelectPlan
from tensorlayout.plan.moving import (
    AssignPlan,
    CopyPlan,
    JoinPlan,
    PartPlan,
    ReshapePlan,
    SamePlan,
    SplitPlan,
    SpreadPlan,
    TransferPlan,
    ViewPlan,
)
from tensorlayout.plan.patterns import DiagonalsPlan, HotPlan, SequencePlan
from tensorlayout.plan.products import ProductPlan
from tensorlayout.plan.reducing import ReducePlan
from tensorlayout.plan.reversing import ReversePlan
from tensorlayout.plan.slicing import IndexPlan, RowPlan
from tensorlayout.plan.stretching import StretchPlan
from tensorlayout.plan.tiled import moves
from tensorlayout.plan.triangles import TrianglePlan

__all__ = [
    "borrowed",
    "current_stream",
    "device_at",
    "disturbs",
    "exported_stream",
    "exposed",
    "prepare",
    "read",
    "ready",
    "set_strict_indexing",
    "strict_indexing",
    "takes_tiles",
    "wait_for",
    "warmup",
]

# Kernels plug in here: a plan's type and the function that prepares it.
_PREPARE: dict[type, Callable[[Any], Run]] = {
    AlongPlan: along.prepare,
    AssignPlan: carrying.prepare_assign,
    CombinePlan: combining.prepare,
    CopyPlan: carrying.prepare_copy,
    CreatePlan: creating.prepare,
    DiagonalsPlan: coordinates.prepare_diagonals,
    ElementwisePlan: carrying.prepare_elementwise,
    FoldPlan: coordinates.prepare_fold,
    GatherPlan: gathering.prepare_gather,
    HotPlan: coordinates.prepare_hot,
    IndexPlan: moving.prepare_index,
    IntoPlan: into.prepare,
    JoinPlan: carrying.prepare_join,
    LeadingPlan: leading.prepare,
    LibraryPlan: library.prepare,
    MaskedPlan: selecting.prepare_masked,
    PadPlan: bordering.prepare,
    PartPlan: moving.prepare_part,
    ProductPlan: products.prepare,
    ReducePlan: reducing.prepare,
    ReplacePlan: scattering.prepare_replace,
    ReshapePlan: carrying.prepare_reshape,
    ReversePlan: coordinates.prepare_reverse,
    RowPlan: moving.prepare_row,
    SamePlan: moving.prepare_same,
    ScatterPlan: scattering.prepare_scatter,
    SelectPlan: selecting.prepare_select,
    SequencePlan: coordinates.prepare_sequence,
    SplitPlan: carrying.prepare_split,
    SpreadPlan: carrying.prepare_spread,
    StretchPlan: coordinates.prepare_stretch,
    TransferPlan: moving.prepare_transfer,
    TrianglePlan: bands.prepare_triangle,
    ViewPlan: moving.prepare_view,
}


def prepare(plan: Plan) -> Run:
    """The function of the operands that carries out a plan; NotImplementedError without one."""
    found = _PREPARE.get(type(plan))
    if found is None or reason(plan) is not None:
        raise missing(plan)
    return capturing.keeping(plan, found(plan))


def takes_tiles(plan: Plan) -> bool:
    """Whether `prepare` takes a plan of tiled tensors."""
    if isinstance(plan, ElementwisePlan):
        return elementwise_bounded.takes_tiles(plan)
    return isinstance(plan, (JoinPlan, ReshapePlan)) or moves(plan)
