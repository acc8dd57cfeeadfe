"""Where a tensor is true, or not zero: reads, writes and the positions themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import converted, truths
from tensorlayout.cpu.engine.memory import Array, new_tensors, quietly
from tensorlayout.cpu.gather import Positions, Runs, contiguous, reader, shared
from tensorlayout.cpu.scatter import broadcast, value_in, writer
from tensorlayout.devices import CPU
from tensorlayout.dtypes import int64
from tensorlayout.layout import Layout
from tensorlayout.plan import (
    IndexMap,
    MaskedPlan,
    NonzeroPlan,
    Run,
    SelectPlan,
    Write,
    check_fits,
    selected_spec,
    working,
)
from tensorlayout.tensor import Tensor, TensorSpec

# Share of true elements from which on NumPy's own indexing, which predicts every element of a mask
# and copies run by run, beats positions. 4 M float32, half of them: 18.7 ms against 3.4; 999 in
# 1000: 2.5 against 4.8.
_DENSE = 0.95

# Elements up to which NumPy's own indexing is faster, however few of them are true.
_FEW = 1024

# Bytes of a tensor that are brought into row-major order at a time.
_BLOCK = 256 * 1024


def prepare_select(plan: SelectPlan) -> Run:
    """Count and read; the elements come in row-major index order of the mask."""
    seen, index_map = plan.seen, plan.index_map
    layout = seen.layout
    read = reader(Runs(layout, index_map))
    alone, staged = layout.ndim == 1, len(index_map.dims) == layout.ndim
    few = alone and layout.size <= _FEW
    spec_of = functools.lru_cache(functools.partial(selected_spec, seen, index_map))

    def select(x: Tensor, mask: Tensor) -> Tensor:
        chosen = truths(mask.memory)
        memory = x.memory.reshape(layout.shape)
        count = 0 if few else int(np.count_nonzero(chosen))
        if few or (alone and count > _DENSE * layout.size):
            found = memory[chosen.reshape(-1)]
            return Tensor._new(found, spec_of(found.size))
        result = new_tensors(spec_of(count))()
        if result.size and staged:
            _read_staged(memory, chosen.reshape(layout.shape), result.memory)
        elif result.size:
            read(memory, _true(chosen, index_map), result.memory)
        return result

    return select


def write_masked(plan: MaskedPlan) -> Write:
    """Write where the mask is true; value and mask lie apart from what is written."""
    layout, index_map, spread = plan.seen.layout, plan.index_map, plan.spread
    write = writer(Runs(layout, index_map))
    alone = layout.ndim == 1
    everything = len(index_map.dims) == layout.ndim > 1

    def masked(x: Tensor, value: Any, mask: Tensor) -> None:
        source, chosen = value_in(plan.name, x, value), truths(mask.memory)
        count = int(np.count_nonzero(chosen))
        shape = index_map.shape(layout, (count,))
        check_fits(plan.value, shape)
        dense = count > _DENSE * chosen.size
        if 0 in shape:
            return
        if source.size == 1 and spread is not None and (dense or not alone):
            np.copyto(x.memory, source.reshape(()), where=chosen.reshape(spread))
        elif (alone and dense) or everything:
            x.memory[chosen] = broadcast(source, shape)
        else:
            memory = x.memory.reshape(layout.shape)
            write(memory, _true(chosen, index_map), broadcast(source, shape))

    return masked


def prepare_nonzero(plan: NonzeroPlan) -> Callable[..., tuple[Tensor, ...]]:
    """By a mask and positions in it: 2048 × 2048 float32, one in a hundred, 1.8 ms, NumPy 23."""
    source = plan.result
    shape, dtype = source.layout.shape, working(source.dtype)
    if source.layout.size <= _FEW and dtype == source.dtype:
        return _nonzero_of_few(source)

    def nonzero(x: Tensor) -> tuple[Tensor, ...]:
        values = x.memory
        if dtype == np.bool_:
            chosen = truths(values)
        else:
            chosen = quietly(np.not_equal, converted(values, dtype), 0)
        flat = chosen.reshape(-1)
        spec = _spec_of(int(np.count_nonzero(flat)))
        tensors = [new_tensors(spec)() for _ in shape]
        found = [each.memory for each in tensors]

        def find(begin: int, end: int, block: slice) -> None:
            places = np.flatnonzero(flat[block])
            places += block.start
            for d in range(len(shape) - 1, 0, -1):
                np.divmod(places, shape[d], out=(places, found[d][begin:end]))
            found[0][begin:end] = places

        if flat.size:
            _by_blocks(flat, _BLOCK, find)
        return tuple(tensors)

    return nonzero


def _nonzero_of_few(source: TensorSpec) -> Callable[..., tuple[Tensor, ...]]:
    """By NumPy's own function, which takes bytes of bool for 0 and 1: it is given numbers."""
    new, kind = Tensor._new, np.dtype(np.uint8) if source.dtype == np.bool_ else source.dtype

    def nonzero(x: Tensor) -> tuple[Tensor, ...]:
        found = x.memory.view(kind).nonzero()
        spec = _spec_of(found[0].size)
        return tuple([new(each.copy(), spec) for each in found])

    return nonzero


@functools.lru_cache(maxsize=256)
def _spec_of(count: int) -> TensorSpec:
    return TensorSpec(int64, Layout.row_major((count,)), CPU)


def _true(mask: Array, index_map: IndexMap) -> Positions:
    """The positions where a mask is true, in row-major index order, one array a dimension."""
    return [np.flatnonzero(mask)] if len(index_map.dims) == 1 else np.nonzero(mask)


def _read_staged(memory: Array, mask: Array, out: Array) -> None:
    """Row-major order block by block: half of 2048 x 2048 float32 in columns 28 ms, by slots 54."""

    def read(begin: int, end: int, rows: slice) -> None:
        block = contiguous(memory[rows]).reshape(-1)
        np.take(block, np.flatnonzero(mask[rows]), out=out[begin:end], mode="wrap")

    _by_blocks(mask, max(1, _BLOCK * memory.shape[0] // memory.nbytes), read)


def _by_blocks(mask: Array, rows: int, move: Callable[[int, int, slice], None]) -> None:
    """``move(begin, end, rows)`` for blocks of a mask: which of its true elements are in which."""
    blocks = [slice(k, k + rows) for k in range(0, mask.shape[0], rows)]
    ends = [0, *accumulate([int(np.count_nonzero(mask[block])) for block in blocks])]
    shared(zip(ends, ends[1:], blocks, strict=False), lambda piece: move(*piece), mask.size)
