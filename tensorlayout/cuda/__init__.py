"""Tensors on NVIDIA GPUs: memory, kernels and launches, all behind the driver interface.

Two drivers implement `driver.Driver`: CuPy on a GPU, and the simulator, which compiles the same
kernels with the host's C++ compiler and runs them on the CPU (``TENSORLAYOUT_CUDA_SIMULATOR=1``).

Nothing falls back to the host silently: every kind of plan is in the table below.

Below `tracing`; plans import it by name when a CUDA device is first used.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tensorlayout import errors
from tensorlayout.cuda.engine import LaunchWriter, keep_capture_memory, make_writer
from tensorlayout.cuda.engine import current_stream as current_stream
from tensorlayout.cuda.engine import device_of_address as device_of_address
from tensorlayout.cuda.engine import export_info as export_info
from tensorlayout.cuda.engine import make_current_stream_wait as make_current_stream_wait
from tensorlayout.cuda.engine import make_external_stream_wait as make_external_stream_wait
from tensorlayout.cuda.engine import overlap_test as overlap_test
from tensorlayout.cuda.engine import read_bytes as read_bytes
from tensorlayout.cuda.engine import stream_for_consumer as stream_for_consumer
from tensorlayout.cuda.engine import tensor_allocator as tensor_allocator
from tensorlayout.cuda.engine import wrap_external as wrap_external
from tensorlayout.cuda.engine import wrap_external_slots as wrap_external_slots
from tensorlayout.cuda.engine.cublas import allow_tf32
from tensorlayout.cuda.engine.faults import set_strict_indexing, strict_indexing
from tensorlayout.cuda.engine.launch_log import launch_log
from tensorlayout.cuda.engine.pinned import AsyncCopy, copy_async, pin_memory
from tensorlayout.cuda.engine.pool import (
    MemoryStats,
    empty_cache,
    memory_stats,
    record_stream,
    set_memory_limit,
)
from tensorlayout.cuda.engine.profiling import in_nvtx_range
from tensorlayout.cuda.engine.raw_kernel import raw_kernel
from tensorlayout.cuda.engine.streams import Event, Graph, Stream, capture
from tensorlayout.cuda.engine.warm_up import warmup
from tensorlayout.plan import ANY_LAYOUT, Plan, Run, allocate_then_write
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.spellings import CUDA_SPELLINGS, make_module_dir, make_module_getattr

# What users find in `tl.cuda`; the other functions are those of the protocol `Backend`.
__all__ = [
    "AsyncCopy",
    "Event",
    "Graph",
    "MemoryStats",
    "Stream",
    "allow_tf32",
    "capture",
    "copy_async",
    "empty_cache",
    "launch_log",
    "memory_stats",
    "pin_memory",
    "raw_kernel",
    "record_stream",
    "set_memory_limit",
    "set_strict_indexing",
    "strict_indexing",
    "warmup",
]

# Compiler of each kind of plan (`Plan.kind`); its module is imported at first use. A function
# called ``plan_…`` takes the plan and the alignments of all tensors, and returns launches, which
# `make_writer` turns into an executor.
PLAN_COMPILERS = {
    "assign": "copy.compile_assign",
    "col2im": "image.plan_col2im",
    "copy": "copy.compile_copy",
    "copy_scatter": "scatter.compile_copy_scatter",
    "create": "fill.create.compile_create",
    "dequantize": "quantize.plan_dequantize",
    "diagonals": "fill.diagonals.compile_diagonal_band_write",
    "elementwise": "elementwise.compile_elementwise",
    "fuse": "fuse.compile_fuse",
    "gather": "gather.compile_gather",
    "join": "join.compile_join",
    "library": "library.compile_library_call",
    "masked": "mask.compile_masked_assignment",
    "matmul": "matmul.compile_matmul",
    "nonzero": "mask.compile_nonzero",
    "one_hot": "fill.create.plan_one_hot",
    "pad": "pad.compile_pad",
    "part": "view.compile_real_or_imag_view",
    "quantize": "quantize.plan_quantize",
    "reinterpret": "view.compile_reinterpret",
    "reduce": "reduce.compile_reduce",
    "reverse_sequence": "image.plan_reverse_sequence",
    "row": "view.compile_row",
    "same": "view.compile_same",
    "scaled_matmul": "quantize.compile_scaled_matmul",
    "scan": "scan.plan_scan",
    "scatter": "scatter.compile_scatter",
    "scatter_reduce": "scatter.compile_scatter_reduce",
    "select": "mask.compile_select",
    "slice_grad": "pad.plan_slice_grad",
    "sort": "sort.compile_sort",
    "split": "join.compile_split",
    "top_k": "sort.compile_top_k",
    "transfer": "copy.compile_transfer",
    "triangle": "fill.diagonals.compile_triangle",
    "upsample": "image.plan_upsample",
    "view": "view.compile_view",
}

# Kinds of plans that accept only some layouts packed below a byte, or only some tiled layouts. The
# function `accepts_tiles` of their module decides.
_SOME_BELOW_A_BYTE = ("create", "dequantize", "quantize", "scaled_matmul")
_SOME_TILED = ("dequantize", "elementwise", "fuse", "quantize", "scaled_matmul")


def compile_plan(plan: Plan) -> Any:
    """Compile a plan; its `result_kind` determines how the returned function is called."""
    name = PLAN_COMPILERS[plan.kind]
    function = _import_compiler(name)
    executor: Any
    if ".plan_" in name:
        executor = make_writer(plan.result.device.number, functools.partial(function, plan))
    else:
        executor = function(plan)
    if plan.result_kind != "view":
        executor = in_nvtx_range(plan, executor)
    return keep_capture_memory(executor) if plan.destinations else executor


def compile_allocating(plan: Plan) -> Run | None:
    """Compile a plan of a new tensor to a function that allocates it; None for destinations."""
    if plan.destinations:
        return None
    write = compile_plan(plan)
    if isinstance(write, LaunchWriter):
        return tensor_allocator(plan.result, write.launch)
    return allocate_then_write(tensor_allocator(plan.result), write)


def accepts_layouts(plan: Plan, has_sub_byte_layouts: bool) -> bool:
    """Return whether a plan can run directly in its layouts, some of which have no strides."""
    if plan.kind in ANY_LAYOUT:
        return True
    if plan.kind in (_SOME_BELOW_A_BYTE if has_sub_byte_layouts else _SOME_TILED):
        module = PLAN_COMPILERS[plan.kind].rpartition(".")[0]
        return bool(_import_compiler(f"{module}.accepts_tiles")(plan))
    return not has_sub_byte_layouts and plan.kind in ("create", "join", "part")


@functools.cache
def _import_compiler(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(import_lazily(f"tensorlayout.cuda.{module}"), function)


errors.guard_public_names(globals(), __all__)
__dir__ = make_module_dir(globals())

# With __getattr__, type checkers would accept any attribute of the module.
if not TYPE_CHECKING:
    __getattr__ = make_module_getattr(__name__, __all__, CUDA_SPELLINGS)
