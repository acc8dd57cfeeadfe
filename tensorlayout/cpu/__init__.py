"""CPU backend: runs plans with NumPy.

Figures in this folder were measured from 2026-11-21 to 2026-11-25 on a 2-core AMD EPYC (Zen 4) with
NumPy 2.4.6, unless they say otherwise.

Below `exchange` and `functions`; plans import it by name when the CPU is first used.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorlayout.cpu.elementwise.writing import is_one_ufunc_call
from tensorlayout.cpu.engine.borrowed import wrap_external as wrap_external
from tensorlayout.cpu.engine.borrowed import wrap_external_slots as wrap_external_slots
from tensorlayout.cpu.engine.memory import current_stream as current_stream
from tensorlayout.cpu.engine.memory import export_info as export_info
from tensorlayout.cpu.engine.memory import make_external_stream_wait as make_external_stream_wait
from tensorlayout.cpu.engine.memory import read_bytes as read_bytes
from tensorlayout.cpu.engine.memory import tensor_allocator as tensor_allocator
from tensorlayout.plan import ANY_LAYOUT, CreatePlan, ElementwisePlan, OverlapTest, Plan, Run
from tensorlayout.plan.fuse import FusePlan
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import Tensor

# Compiler of each kind of plan (`Plan.kind`). Modules are imported at first use.
PLAN_COMPILERS = {
    "assign": "copy.copy.compile_assign",
    "col2im": "image.compile_col2im",
    "copy": "copy.copy.compile_copy",
    "copy_scatter": "scatter.compile_copy_scatter",
    "create": "fill.compile_create",
    "dequantize": "quantize.compile_dequantize",
    "diagonals": "fill.compile_diagonal_band_write",
    "elementwise": "elementwise.writing.compile_elementwise",
    "fuse": "fuse.compile_fuse",
    "gather": "gather.compile_gather",
    "join": "join.compile_join",
    "library": "library.compile_library_call",
    "masked": "mask.compile_masked_assignment",
    "matmul": "matmul.compile_matmul",
    "nonzero": "mask.compile_nonzero",
    "one_hot": "fill.compile_one_hot",
    "pad": "pad.compile_pad",
    "part": "view.compile_real_or_imag_view",
    "quantize": "quantize.compile_quantize",
    "reinterpret": "view.compile_reinterpret",
    "reduce": "reduce.compile_reduce",
    "reverse_sequence": "image.compile_reverse_sequence",
    "row": "view.compile_row",
    "same": "view.compile_same",
    "scaled_matmul": "quantize.compile_scaled_matmul",
    "scan": "scan.compile_scan",
    "scatter": "scatter.compile_scatter",
    "scatter_reduce": "scatter.compile_scatter_reduce",
    "select": "mask.compile_select",
    "slice_grad": "pad.compile_slice_grad",
    "sort": "sort.compile_sort",
    "split": "join.compile_split",
    "top_k": "sort.compile_top_k",
    "triangle": "fill.compile_triangle",
    "upsample": "image.compile_upsample",
    "view": "view.compile_view",
}

# Compilers of functions that allocate the result themselves, if that is faster than to write into
# a new tensor.
ALLOCATING_COMPILERS = {
    "copy": "copy.copy.compile_allocating",
    "create": "fill.compile_allocating",
    "elementwise": "elementwise.writing.compile_allocating",
    "fuse": "fuse.compile_allocating",
    "gather": "gather.compile_take",
    "join": "join.compile_allocating",
    "scan": "scan.compile_allocating",
    "transfer": "copy.copy.compile_transfer",
}


def compile_plan(plan: Plan) -> Any:
    """Compile a plan to a function; its kind determines the arguments."""
    return _import_compiler(PLAN_COMPILERS[plan.kind])(plan)


def compile_allocating(plan: Plan) -> Run | None:
    """Compile a plan to a function that allocates its result; None if that is not faster."""
    compiler_path = (
        ALLOCATING_COMPILERS.get(plan.kind)
        if not plan.destinations or plan.kind == "elementwise"
        else None
    )
    return _import_compiler(compiler_path)(plan) if compiler_path else None


@functools.cache
def _import_compiler(compiler_path: str) -> Any:
    module, _, function = compiler_path.rpartition(".")
    return getattr(import_lazily(f"tensorlayout.cpu.{module}"), function)


def accepts_layouts(plan: Plan, has_sub_byte_layouts: bool) -> bool:
    """Return whether the CPU can run a plan in its layouts, some of which have no strides."""
    if plan.kind in ANY_LAYOUT:
        return True
    if has_sub_byte_layouts:
        return isinstance(plan, CreatePlan) and plan.operation.values in ("nothing", "value")
    if isinstance(plan, (ElementwisePlan, FusePlan)):
        return plan.is_contiguous_loop
    return plan.kind in ("create", "part")


def overlap_test(plan: Any) -> OverlapTest | None:
    """Return a test of whether writing the result may overwrite an operand before it is read."""
    if plan.kind == "elementwise" and is_one_ufunc_call(plan):
        return None  # ufuncs buffer operands that overlap the result
    if plan.partial:
        return lambda x, y: np.may_share_memory(x.memory, y.memory)
    return _overlap_at_other_elements if plan.in_place else None


def _overlap_at_other_elements(x: Tensor, y: Tensor) -> bool:
    """Return whether tensors share memory, except element for element at the same addresses."""
    if x is y or not np.may_share_memory(x.memory, y.memory):
        return False
    address = x.memory.__array_interface__["data"][0]
    return x.spec is not y.spec or address != y.memory.__array_interface__["data"][0]
