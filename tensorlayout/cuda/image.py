"""DirectML's operators on images: FOLD (col2im), upsampling and REVERSE_SUBSEQUENCES.

No tensor is empty here, because DirectML has no empty tensors.
"""

from __future__ import annotations

from math import prod

from tensorlayout.cuda.engine import (
    RANKS,
    THREADS,
    WIDEST,
    Launch,
    blocks_for_walk,
    c_type,
    c_type_with_unsigned_integers,
    divisor_struct,
    kernel_with_macros,
    make_parameter_struct,
)
from tensorlayout.layout import Layout, Loop, narrowest_index_type
from tensorlayout.plan import Col2ImPlan, ReverseSequencePlan, UpsamplePlan, Windows

FILE = "image.cu"

# Ranks of `fold` kernels; images of fewer dimensions get more of size 1.
_IMAGE_RANKS = (3, 4, 5, 8)
_UNIT_WINDOW = Windows(1, 1, 1, 1, 0)


def plan_col2im(plan: Col2ImPlan, alignments: tuple[int, ...]) -> Launch:
    """Plan the launch that sums windows into an image; memories: result, source."""
    result, source, dtype = plan.result.layout, plan.source.layout, plan.result.dtype
    rank = next(kernel_rank for kernel_rank in _IMAGE_RANKS if kernel_rank >= result.ndim)
    windows = (_UNIT_WINDOW, _UNIT_WINDOW, *plan.windows)
    taps = prod(w.size for w in windows)
    reach = max(w.dilation * w.size + w.step * w.count + w.before for w in windows)
    furthest = sum((n - 1) * abs(s) for n, s in zip(result.shape, result.strides, strict=True))
    spread = sum((n - 1) * abs(s) for n, s in zip(source.shape, source.strides, strict=True))
    index = narrowest_index_type(
        result.size, max(furthest, spread, taps, reach + max(result.shape))
    )
    chosen = kernel_with_macros(
        FILE, "fold", RANK=rank, INDEX=index, NUMBER=c_type_with_unsigned_integers(dtype)
    )
    # For each dimension of the image the strides of a window's elements, and of windows.
    # Dimensions of the source: batches, the elements of windows (channels slowest), and windows.
    batch, column, block = source.strides[-3:]
    strides = [(0, batch), (0, column * taps)]
    for d in range(1, len(plan.windows) + 1):
        after = plan.windows[d:]
        strides.append((column * prod(w.size for w in after), block * prod(w.count for w in after)))
    params = make_parameter_struct(chosen, count=result.size, taps=taps)
    order = list(result.minor_to_major)
    for d in range(rank):
        dim, exists = params.dims[d], d < result.ndim
        w = windows[d] if exists else _UNIT_WINDOW
        n = result.shape[d] if exists else 1
        dim.step, dim.turn = divisor_struct(index, w.step), order.index(d) if exists else d
        dim.stride = result.strides[d] if exists else 0
        dim.tap, dim.block = strides[d] if exists else (0, 0)
        dim.before, dim.dilation, dim.window = w.before, w.dilation, w.size
        dim.blocks = n if d < 2 else w.count
        params.turns[dim.turn] = divisor_struct(index, n)
    firsts = (result.offset * dtype.itemsize, source.offset * dtype.itemsize)
    return Launch(chosen, -(-result.size // THREADS), bytes(params), firsts)


def plan_upsample(plan: UpsamplePlan, alignments: tuple[int, ...]) -> Launch:
    """Plan the launch that enlarges an image; memories: result, source."""
    result, source, itemsize = plan.result.layout, plan.source.layout, plan.result.dtype.itemsize
    shape, rank = result.shape, result.ndim
    # The kernel computes offsets along the two enlarged dimensions from an element's place there.
    around = Layout(shape, (*source.strides[:-2], 0, 0), offset=source.offset)
    places = [Layout(shape, [int(d == dim) for d in range(rank)]) for dim in (rank - 2, rank - 1)]
    loop = Loop.over_elements_and_tables(
        (result,), (around, *places), itemsize, (itemsize,)
    ).with_wider_elements(WIDEST)
    source_reach = [abs(s) * (n - 1) for n, s in zip(source.shape, source.strides, strict=True)]
    index = narrowest_index_type(
        loop.element_count, max(loop.max_offset, sum(source_reach), 4 * max(shape))
    )
    rank, kind = len(loop.sizes), c_type(plan.result.dtype)
    chosen = kernel_with_macros(FILE, "stretch", RANK=rank, INDEX=index, FLOAT=kind)
    params = make_parameter_struct(chosen, count=loop.element_count, walk=loop.axes)
    for k, scale in enumerate(plan.scales):
        dim = params.dims[k]
        dim.first, dim.size = loop.firsts[2 + k], source.shape[k - 2]
        dim.step, dim.scale = source.strides[k - 2], divisor_struct(index, scale)
    firsts = (loop.firsts[0], loop.firsts[1] * itemsize)
    return Launch(chosen, blocks_for_walk(loop.element_count, rank, RANKS), bytes(params), firsts)


def plan_reverse_sequence(plan: ReverseSequencePlan, alignments: tuple[int, ...]) -> Launch:
    """Plan the launch; memories: result, source, lengths.

    `alignments`: of the result and the source, at least an element.
    """
    result, source = plan.result.layout, plan.source.layout
    shape, itemsize, size = result.shape, plan.result.dtype.itemsize, result.shape[plan.dim]
    places = Layout(shape, [int(d == plan.dim) for d in range(len(shape))])
    tables = (plan.lengths.layout.broadcast_to(shape), places)
    loop = Loop.over_elements_and_tables(
        (result, source), tables, itemsize, alignments[:2]
    ).with_wider_elements(WIDEST)
    rank = len(loop.sizes)
    index = narrowest_index_type(loop.element_count, max(loop.max_offset, 2 * size))
    chosen = kernel_with_macros(FILE, "reverse_lines", RANK=rank, INDEX=index, WIDTH=loop.width)
    step = source.strides[plan.dim] * itemsize // loop.width
    to, from_, lengths, first = loop.firsts
    octets, grid = plan.lengths.dtype.itemsize, blocks_for_walk(loop.element_count, rank, RANKS)
    members = {
        "walk": loop.axes,
        "count": loop.element_count,
        "size": size,
        "step": step,
        "first": first,
    }
    return Launch.from_members(
        chosen, grid, (to, from_, lengths * octets), wide=octets == 8, **members
    )
