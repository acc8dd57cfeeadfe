"""Reads and writes by one boolean mask, as reads and writes at the positions where it is true."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import truths
from tensorlayout.cpu.engine.memory import Array, new_tensor
from tensorlayout.cpu.gathering import broadcast, value_in
from tensorlayout.cpu.reading import reader
from tensorlayout.cpu.runs import Positions, contiguous
from tensorlayout.cpu.writing import writer
from tensorlayout.plan.base import Run
from tensorlayout.plan.gathering import Reach, check_fits
from tensorlayout.plan.masking import MaskedPlan, SelectPlan, selected_shape, selected_spec
from tensorlayout.tensor import Tensor

# Share of true elements from which on NumPy's own indexing, which predicts every element of a mask
# and copies run by run, beats positions. 4 M float32, half of them: 18.7 ms against 3.4; 999 in
# 1000: 2.5 against 4.8 (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
_DENSE = 0.95

# Bytes of a tensor that are brought into row-major order at a time.
_BLOCK = 256 * 1024


def prepare_select(plan: SelectPlan) -> Run:
    """Count and read; the elements come in row-major index order of the mask."""
    seen, reach = plan.seen, plan.reach
    layout = seen.layout
    read = reader(layout, reach)
    alone = layout.ndim == 1
    staged = len(reach.dims) == layout.ndim > 1

    def select(x: Tensor, mask: Tensor) -> Tensor:
        chosen = truths(mask._memory)
        count = int(np.count_nonzero(chosen))
        spec = selected_spec(seen, reach, count)
        memory = x._memory.reshape(layout.shape)
        if alone and count > _DENSE * layout.size:
            return Tensor._new(memory[chosen.reshape(-1)], spec)
        result = new_tensor(spec)
        if spec.layout.size and staged:
            _read_staged(memory, chosen, result._memory)
        elif spec.layout.size:
            read(memory, _true(chosen, reach), result._memory)
        return result

    return select


def prepare_masked(plan: MaskedPlan) -> Run:
    """Write where the mask is true; value and mask lie apart from what is written."""
    layout, reach, spread = plan.seen.layout, plan.reach, plan.mask
    write = writer(layout, reach)
    alone = layout.ndim == 1
    everything = len(reach.dims) == layout.ndim > 1

    def masked(x: Tensor, value: Any, mask: Tensor) -> Tensor:
        source, chosen = value_in(plan.name, x, value), truths(mask._memory)
        count = int(np.count_nonzero(chosen))
        shape = selected_shape(layout, reach, count)
        check_fits(plan.name, source.shape, shape)
        dense = count > _DENSE * chosen.size
        if 0 in shape:
            return x
        if source.size == 1 and spread is not None and (dense or not alone):
            np.copyto(x._memory, source.reshape(()), where=chosen.reshape(spread))
        elif (alone and dense) or everything:
            x._memory[chosen] = broadcast(source, shape)
        else:
            memory = x._memory.reshape(layout.shape)
            write(memory, _true(chosen, reach), broadcast(source, shape))
        return x

    return masked


def _true(mask: Array, reach: Reach) -> Positions:
    """The positions where a mask is true, in row-major index order, for each of `reach.dims`."""
    return [np.flatnonzero(mask)] if len(reach.dims) == 1 else np.nonzero(mask)


def _read_staged(memory: Array, mask: Array, out: Array) -> None:
    """All dimensions under a mask, in an order that is not row-major: that order, block by block.

    Column-major 2048 x 2048 float32, half of them: 54 ms by slots, 28 by NumPy's own indexing.
    """
    rows = max(1, _BLOCK * memory.shape[0] // memory.nbytes)
    filled = 0
    for start in range(0, memory.shape[0], rows):
        index = np.flatnonzero(mask[start : start + rows])
        block = contiguous(memory[start : start + rows]).reshape(-1)
        np.take(block, index, out=out[filled : filled + index.size], mode="wrap")
        filled += index.size
