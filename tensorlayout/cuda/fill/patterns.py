"""Values that elements have by their coordinates: one hot in a line, a sequence.

The kernels of patterns.cu take results of any layout. Here layouts have their lowest slots at 0,
and are not tiled; a result has no two elements in one slot.
"""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda.engine.c_types import c_type_of_bits
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import THREADS, Launch, writer
from tensorlayout.cuda.engine.parameters import pack_walk
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Loop, index_type
from tensorlayout.plan.base import Write
from tensorlayout.plan.fill import OneHotPlan
from tensorlayout.tensor import TensorSpec

FILE = "fill/patterns.cu"

# What signed and unsigned indices of 32 and 64 bits are to the kernel.
_KINDS = {"int32": 0, "int64": 1, "uint32": 2, "uint64": 3}


def plan_one_hot(plan: OneHotPlan) -> Launch | None:
    """The launch, for the addresses of result, indices, cold and hot value."""
    layout, itemsize = plan.result.layout, plan.result.dtype.itemsize
    if not layout.size:
        return None
    places = Layout(layout.shape, [int(d == plan.dim) for d in range(layout.ndim)])
    tables = (plan.indices.layout.broadcast_to(layout.shape), places)
    loop = Loop.numbered((layout,), tables, itemsize, (itemsize,)).widened(WIDEST)
    to, indices, first = loop.firsts
    firsts = (to, indices * plan.indices.dtype.itemsize, 0, 0)
    kind, size = _KINDS[plan.indices.dtype.name], layout.shape[plan.dim]
    given = {"first": first, "size": size, "kind": kind}
    return _launch("one_hot", loop, layout, firsts, {"HOT": itemsize}, **given)


def plan_count_up(result: TensorSpec) -> Launch | None:
    """The launch, for the address of the result; 64 bits each of start and step follow."""
    layout, dtype = result.layout, result.dtype
    if not layout.size:
        return None
    loop = Loop.numbered(
        (layout,), (Layout.row_major(layout.shape),), dtype.itemsize, (dtype.itemsize,)
    ).widened(WIDEST)
    to, first = loop.firsts
    return _launch("count_up", loop, layout, (to,), {"COUNTED": c_type_of_bits(dtype)}, first=first)


def _launch(
    name: str,
    loop: Loop,
    layout: Layout,
    firsts: tuple[int, ...],
    macro: dict[str, Any],
    **members: Any,
) -> Launch:
    index = index_type(loop.count, max(loop.furthest, 2 * max(layout.shape, default=1)))
    ones = max(2 - len(loop.sizes), 0)  # the kernel of two dimensions takes one, too
    sizes = [*[1] * ones, *loop.sizes]
    chosen = kernel(FILE, name, RANK=len(sizes), INDEX=index, **macro)
    made = parameters(chosen)(count=loop.count, **members)
    pack_walk(made.walk, sizes, [[*[0] * ones, *steps] for steps in loop.strides])
    return Launch(chosen, -(-loop.count // THREADS), bytes(made), firsts)


# ---- Writes


def write_one_hot(plan: OneHotPlan) -> Write:
    """The function of the result, the indices, the cold and the hot value."""
    return writer(plan.result.device.number, lambda alignments: plan_one_hot(plan))
