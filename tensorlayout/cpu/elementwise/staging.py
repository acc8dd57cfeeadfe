"""Elementwise operands in another order than the result's: reordered slab by slab.

If an operand's fastest dimension is not the result's, NumPy reads a cache line for each element:
``x + y.T`` of 2048 x 2048 float32 took 24.8 ms. So if a copy of the operand would use tiles, it
goes through a buffer: 3.4 ms in slabs of 4 MB, 3.6 in 2 MB, 4.3 in 1 MB, 7.8 in 256 KB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tensorlayout.cpu.copy.choose import choose_copy
from tensorlayout.cpu.engine.memory import Array, byte_strides, tensor_allocator
from tensorlayout.cpu.engine.sharing import Box, Call, slab_boxes
from tensorlayout.cpu.engine.threads import get_num_threads, run_in_threads
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan import ElementwisePlan
from tensorlayout.tensor import TensorSpec

# Bytes of the slabs of all such operands together, per thread.
SLAB_BYTES = 2 << 20

_MOST = 4096  # maximum number of slabs, for results of many gigabytes

# Below this many elements a direct call is as fast: a slab costs 10 us to set up. x + y.T of
# 128 x 128 float32 took 12 us directly and 23 in slabs; of 256 x 256 71 and 53.
LEAST = 1 << 15

# From this many repetitions on, a packed copy of a scattered operand costs next to nothing.
REPEATS = 16


class _ReorderedOperand(NamedTuple):
    """Operand in another order: its number, and its layout broadcast to the result's shape."""

    number: int
    dtype: DType
    layout: Layout


def make_call_reordering_operands(plan: ElementwisePlan, call: Call) -> Call:
    """Return `call`, with operands reordered first if it would read them slowly.

    Scattered operands that repeat many times are packed first: ``x.T + y[:, :1]`` of 2048 x 2048
    float32 takes 22 ms, and 1.0 with the column packed.
    """
    result = plan.result.layout
    if result.size < LEAST:
        return call
    reordered, scattered = [], {}
    for i, o in enumerate(plan.operands):
        if not isinstance(o, TensorSpec):
            continue
        layout = o.layout
        if 1 < layout.size <= result.size // REPEATS and not layout.is_packed:
            layout = Layout.packed(layout.shape, layout.minor_to_major)
            scattered[i] = tensor_allocator(TensorSpec(o.dtype, layout, o.device))
        operand = _ReorderedOperand(i, o.dtype, layout.broadcast_to(result.shape))
        if _needs_tiled_copy(result, operand):
            reordered.append(operand)
    whole = _make_slab_call(plan, call, reordered) if reordered else call
    if not scattered:
        return whole

    def call_on_staged_operands(arrays: Sequence[Array], out: Array) -> None:
        arrays = [*arrays]
        for i, allocate in scattered.items():
            packed = allocate().memory
            packed[...] = arrays[i]
            arrays[i] = packed
        whole(arrays, out)

    return call_on_staged_operands


def _make_slab_call(
    plan: ElementwisePlan, call: Call, reordered: Sequence[_ReorderedOperand]
) -> Call:
    result = plan.result.layout
    max_elements = max(SLAB_BYTES // sum(a.dtype.itemsize for a in reordered), result.size // _MOST)
    boxes = slab_boxes(result.shape, result.minor_to_major, max_elements)
    copies = {
        _box_shape(box): [_make_slab_copier(_box_shape(box), result, a) for a in reordered]
        for box in boxes
    }

    def call_slab_by_slab(arrays: Sequence[Array], out: Array) -> None:
        full = [np.broadcast_to(a, out.shape) if a.ndim else a for a in arrays]

        def compute_own_boxes(own_boxes: Iterator[Box]) -> None:
            buffers = [np.empty(prod(_box_shape(boxes[0])), a.dtype) for a in reordered]
            for box in own_boxes:
                slab_operands = [a[box] if a.ndim else a for a in full]
                for a, buffer, copy in zip(
                    reordered, buffers, copies[_box_shape(box)], strict=True
                ):
                    slab_operands[a.number] = copy(buffer, slab_operands[a.number])
                call(slab_operands, out[box])

        run_in_threads(compute_own_boxes, boxes, get_num_threads())

    return call_slab_by_slab


def _needs_tiled_copy(result: Layout, operand: _ReorderedOperand) -> bool:
    itemsize = operand.dtype.itemsize
    plan = choose_copy(result.shape, result.strides, operand.layout.strides, itemsize)
    return plan.case == "tiles"


def _box_shape(box: Box) -> tuple[int, ...]:
    return tuple([piece.stop - piece.start for piece in box])


def _make_slab_copier(
    shape: tuple[int, ...], result: Layout, operand: _ReorderedOperand
) -> Callable[[Array, Array], Array]:
    """Return ``copy(buffer, part)``, which packs a slab of the operand in the result's order."""
    dtype, packed = operand.dtype, Layout.packed(shape, result.minor_to_major)
    move = choose_copy(shape, packed.strides, operand.layout.strides, dtype.itemsize).run
    strides = byte_strides(packed, dtype.itemsize)

    def pack_slab(buffer: Array, part: Array) -> Array:
        slab: Array = np.ndarray(shape, dtype, buffer, 0, strides)
        move(slab, part)
        return slab

    return pack_slab
