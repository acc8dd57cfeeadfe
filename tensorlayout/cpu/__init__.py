"""The CPU: plans carried out with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.cpu import (
    along,
    bordering,
    creating,
    elementwise,
    gathering,
    into,
    leading,
    library,
    lines,
    masking,
    moving,
    patches,
    patterns,
    products,
    reducing,
    stretching,
    triangles,
)
from tensorlayout.cpu.engine.aliasing import disturbs
from tensorlayout.cpu.engine.foreign import borrowed
from tensorlayout.cpu.engine.memory import current_stream, exposed, ready
from tensorlayout.cpu.engine.memory import required_bytes as read
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
from tensorlayout.plan.tiled import is_one_run, moves
from tensorlayout.plan.triangles import TrianglePlan

__all__ = [
    "borrowed",
    "current_stream",
    "disturbs",
    "exposed",
    "prepare",
    "read",
    "ready",
    "takes_tiles",
]

_PREPARE: dict[type, Callable[[Any], Run]] = {
    AlongPlan: along.prepare,
    AssignPlan: moving.prepare_assign,
    CombinePlan: gathering.prepare_combine,
    CopyPlan: moving.prepare_copy,
    CreatePlan: creating.prepare,
    DiagonalsPlan: patterns.prepare_diagonals,
    ElementwisePlan: elementwise.prepare,
    FoldPlan: patches.prepare,
    GatherPlan: gathering.prepare_gather,
    HotPlan: patterns.prepare_hot,
    IndexPlan: moving.prepare_index,
    IntoPlan: into.prepare,
    JoinPlan: moving.prepare_join,
    LeadingPlan: leading.prepare,
    LibraryPlan: library.prepare,
    MaskedPlan: masking.prepare_masked,
    PadPlan: bordering.prepare,
    PartPlan: moving.prepare_part,
    ProductPlan: products.prepare,
    ReducePlan: reducing.prepare,
    ReplacePlan: gathering.prepare_replace,
    ReshapePlan: moving.prepare_reshape,
    ReversePlan: lines.prepare,
    RowPlan: moving.prepare_row,
    SamePlan: moving.prepare_same,
    ScatterPlan: gathering.prepare_scatter,
    SelectPlan: masking.prepare_select,
    SequencePlan: patterns.prepare_sequence,
    SplitPlan: moving.prepare_split,
    SpreadPlan: moving.prepare_spread,
    StretchPlan: stretching.prepare,
    TransferPlan: moving.prepare_transfer,
    TrianglePlan: triangles.prepare,
    ViewPlan: moving.prepare_view,
}


def prepare(plan: Plan) -> Run:
    """The function of the operands that carries out a plan."""
    return _PREPARE[type(plan)](plan)


def takes_tiles(plan: Plan) -> bool:
    """Whether `prepare` takes a plan of tiled tensors."""
    return is_one_run(plan) if isinstance(plan, ElementwisePlan) else moves(plan)
