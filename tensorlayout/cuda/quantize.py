"""Blocks that share a scale on CUDA: one launch for elements and scales, and one for the way back.

Layouts here are not tiled; those of results have no two elements in one slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import (
    BLOCK,
    NOTHING,
    THREADS,
    Launch,
    blocks_of_walk,
    writer,
)
from tensorlayout.cuda.engine.parameters import index_type, pack_axes
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis, furthest, merged
from tensorlayout.plan.base import Write
from tensorlayout.plan.quantize import DequantizePlan, QuantizePlan
from tensorlayout.tensor import TensorSpec

FILE = "quantize.cu"

# Ranks that kernels have; walks of fewer dimensions get more of size 1.
_RANKS = (2, 4)


def write_quantize(plan: QuantizePlan) -> Write:
    """The function of elements, scales, the tensor, and the scale of all of it."""
    return writer(plan.result.device.number, lambda alignments: plan_quantize(plan, alignments))


def write_dequantize(plan: DequantizePlan) -> Write:
    """The function of the result, elements, scales, and the scale of all."""
    return writer(plan.result.device.number, lambda alignments: plan_dequantize(plan, alignments))


def plan_quantize(plan: QuantizePlan, alignments: tuple[int, ...]) -> Launch | None:
    """The launch, for the addresses of elements, scales, source, and whole; None for no elements.

    Blocks are visited in the order of the source: ``quantize_rows`` where they lie along its
    fastest dimension, else ``quantize_columns``.
    """
    data, source, form, dim = plan.result, plan.source, plan.format, plan.dim
    size = source.layout.shape[dim]
    if not source.layout.size:
        return None
    rows = _fastest(source.layout) in (dim, None)
    aligned = ((data, alignments[0]), (source, alignments[2]))
    longest = WIDEST // source.dtype.itemsize
    pack = _pack(aligned, dim, longest) if rows else 1
    placed = (data.layout, source.layout, plan.scales.layout)
    axes = _axes(placed, source.layout, dim, form.block, pack if rows else form.block)
    steps = tuple(each.layout.strides[dim] if size > 1 else 0 for each in (data, source))
    rank, count = _rank(axes), prod([axis.size for axis in axes])
    reach = furthest(axes) + form.block * max(map(abs, steps))
    index = index_type(count + BLOCK, max(reach, size + form.block))
    types = (
        ("SOURCE", c_type(source.dtype)),
        ("ELEMENT", c_type(data.dtype)),
        ("SCALE", c_type(plan.scales.dtype)),
        ("LONGEST", str(longest)),
    )
    if rows:
        chosen = kernel(FILE, "quantize_rows", types, RANK=rank, INDEX=index, PACK=pack)
    else:
        chosen = kernel(FILE, "quantize_columns", types, RANK=rank, INDEX=index)
    made = parameters(chosen)(
        count=count,
        size=size,
        data_step=steps[0],
        step=steps[1],
        largest_element=form.largest,
        has_whole=int(plan.whole is not None),
    )
    made.powers.emax, made.powers.carries_from = form.emax, form.carries_from(plan.scaling)
    pack_axes(made.walk, axes, rank)
    blocks = blocks_of_walk(count, rank, _RANKS) if rows else -(-count // THREADS)
    return _launch(chosen, blocks, made, (data, plan.scales, source), plan.whole)


def plan_dequantize(plan: DequantizePlan, alignments: tuple[int, ...]) -> Launch | None:
    """The launch, for the addresses of the result, elements, scales, and whole; None for none."""
    result, data, form, dim = plan.result, plan.source, plan.format, plan.dim
    if not data.layout.size:
        return None
    rows = _fastest(result.layout) in (dim, None)
    aligned = ((result, alignments[0]), (data, alignments[1]))
    longest = WIDEST // result.dtype.itemsize
    pack = _pack(aligned, dim, longest) if rows else 1
    placed = (result.layout, data.layout, plan.scales.layout)
    axes = _axes(placed, result.layout, dim, form.block, pack)
    rank, count = _rank(axes), prod([axis.size for axis in axes])
    index = index_type(count + BLOCK, max(furthest(axes), data.layout.shape[dim] + form.block))
    types = (
        ("ELEMENT", c_type(data.dtype)),
        ("SCALE", c_type(plan.scales.dtype)),
        ("RESULT", c_type(result.dtype)),
        ("LONGEST", str(longest)),
    )
    chosen = kernel(FILE, "dequantize", types, RANK=rank, INDEX=index, PACK=pack)
    made = parameters(chosen)(
        count=count, size=data.layout.shape[dim], has_whole=int(plan.whole is not None)
    )
    pack_axes(made.walk, axes, rank)
    blocks = blocks_of_walk(count, rank, _RANKS)
    return _launch(chosen, blocks, made, (result, data, plan.scales), plan.whole)


def _launch(
    chosen: Kernel, blocks: int, made: Any, specs: Sequence[TensorSpec], whole: TensorSpec | None
) -> Launch:
    firsts = [spec.layout.offset * spec.dtype.itemsize for spec in specs]
    memories = (0, 1, 2, NOTHING if whole is None else 3)
    return Launch(chosen, blocks, bytes(made), (*firsts, 0), memories)


def _fastest(layout: Layout) -> int | None:
    """The dimension whose elements follow each other in memory; None for a single element."""
    return next((d for d in layout.minor_to_major if layout.shape[d] > 1), None)


def _axes(placed: Sequence[Layout], order: Layout, dim: int, block: int, step: int) -> list[Axis]:
    """What is walked, in the order of a layout: blocks, and in each of them every `step`-th place.

    Strides in two memories of elements, in that of scales, and in the numbers of places along
    `dim`. These are 0 where all blocks are whole: none has to ask then, and axes merge.
    """
    found = []
    size = order.shape[dim]
    counted = size % block != 0
    for d in reversed(order.minor_to_major):
        *elements, scale = (layout.strides[d] for layout in placed)
        if d != dim:
            found.append(Axis(order.shape[d], (*elements, scale, 0)))
            continue
        strides = tuple(block * s for s in elements)
        found.append(Axis(-(-size // block), (*strides, scale, block * counted)))
        strides = tuple(step * s for s in elements)
        found.append(Axis(block // step, (*strides, 0, step * counted)))
    return merged(found) or [Axis(1, (0, 0, 0, 0))]


def _pack(aligned: Sequence[tuple[TensorSpec, int]], dim: int, wanted: int) -> int:
    """How many elements along `dim` a thread moves at once: as many as wanted, or one."""
    for spec, alignment in aligned:
        layout, itemsize = spec.layout, spec.dtype.itemsize
        others = [
            s * itemsize
            for d, (n, s) in enumerate(zip(layout.shape, layout.strides, strict=True))
            if d != dim and n > 1
        ]
        grain = gcd(alignment, layout.offset * itemsize, *others)
        if layout.shape[dim] % wanted or layout.strides[dim] != 1 or grain % (wanted * itemsize):
            return 1
    return wanted


def _rank(axes: Sequence[Axis]) -> int:
    """That of the kernel: of more axes than any has it is 0."""
    return next((rank for rank in _RANKS if rank >= len(axes)), 0)
