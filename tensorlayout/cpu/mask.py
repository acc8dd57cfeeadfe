"""Where a tensor is true, or not zero: reads, writes and the positions themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import converted, truths
from tensorlayout.cpu.engine.memory import Array, new_tensor, quietly
from tensorlayout.cpu.gather.inside import Positions
from tensorlayout.cpu.gather.read import reader
from tensorlayout.cpu.gather.runs import Runs, contiguous
from tensorlayout.cpu.scatter import broadcast, value_in, writer
from tensorlayout.devices import Device
from tensorlayout.dtypes import int64
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run, Write
from tensorlayout.plan.gather import IndexMap
from tensorlayout.plan.library import working
from tensorlayout.plan.mask import MaskedPlan, NonzeroPlan, SelectPlan, selected_spec
from tensorlayout.plan.scatter import check_fits
from tensorlayout.tensor import Tensor, TensorSpec

# Share of true elements from which on NumPy's own indexing, which predicts every element of a mask
# and copies run by run, beats positions. 4 M float32, half of them: 18.7 ms against 3.4; 999 in
# 1000: 2.5 against 4.8 (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
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
    alone, spec_of = (
        layout.ndim == 1,
        functools.lru_cache(functools.partial(selected_spec, seen, index_map)),
    )
    staged = len(index_map.dims) == layout.ndim > 1

    few = alone and layout.size <= _FEW

    def select(x: Tensor, mask: Tensor) -> Tensor:
        chosen = truths(mask._memory)
        memory = x._memory.reshape(layout.shape)
        if few:
            found = memory[chosen.reshape(-1)]
            return Tensor._new(found, spec_of(found.size))
        count = int(np.count_nonzero(chosen))
        spec = spec_of(count)
        if alone and count > _DENSE * layout.size:
            return Tensor._new(memory[chosen.reshape(-1)], spec)
        result = new_tensor(spec)
        if spec.layout.size and staged:
            _read_staged(memory, chosen, result._memory)
        elif spec.layout.size:
            read(memory, _true(chosen, index_map), result._memory)
        return result

    return select


def write_masked(plan: MaskedPlan) -> Write:
    """Write where the mask is true; value and mask lie apart from what is written."""
    layout, index_map, spread = plan.seen.layout, plan.index_map, plan.spread
    write = writer(layout, index_map)
    alone = layout.ndim == 1
    everything = len(index_map.dims) == layout.ndim > 1

    def masked(x: Tensor, value: Any, mask: Tensor) -> None:
        source, chosen = value_in(plan.name, x, value), truths(mask._memory)
        count = int(np.count_nonzero(chosen))
        shape = index_map.shape(layout, (count,))
        check_fits(plan.value, shape)
        dense = count > _DENSE * chosen.size
        if 0 in shape:
            return
        if source.size == 1 and spread is not None and (dense or not alone):
            np.copyto(x._memory, source.reshape(()), where=chosen.reshape(spread))
        elif (alone and dense) or everything:
            x._memory[chosen] = broadcast(source, shape)
        else:
            memory = x._memory.reshape(layout.shape)
            write(memory, _true(chosen, index_map), broadcast(source, shape))

    return masked


def prepare_nonzero(plan: NonzeroPlan) -> Callable[..., tuple[Tensor, ...]]:
    """By way of a mask and positions in the flat mask.

    2048 × 2048 float32, one in a hundred not zero, 1.8 ms, np.nonzero 23 (2026-11-21, 2-core AMD
    EPYC (Zen 4), numpy 2.4.6).
    """
    source = plan.result
    shape, dtype = source.layout.shape, working(source.dtype)
    spec_of = _specs_on(source.device)
    if source.layout.size <= _FEW and dtype == source.dtype:
        return _nonzero_of_few(source)

    def nonzero(x: Tensor) -> tuple[Tensor, ...]:
        values = x._memory
        if dtype == np.bool_:
            chosen = truths(values)
        else:
            chosen = quietly(np.not_equal, converted(values, dtype), 0)
        flat = np.flatnonzero(chosen)
        found: list[Array] = []
        for size in shape[:0:-1]:
            flat, rest = np.divmod(flat, size)
            found.insert(0, rest)
        spec = spec_of(flat.size)
        return tuple(Tensor._new(each, spec) for each in (flat, *found))

    return nonzero


def _nonzero_of_few(source: TensorSpec) -> Callable[..., tuple[Tensor, ...]]:
    """By NumPy's own function, which is given numbers: of bool it counts bytes as 0 and 1."""
    spec_of, new = _specs_on(source.device), Tensor._new
    kind = np.dtype(np.uint8) if source.dtype == np.bool_ else source.dtype

    def nonzero(x: Tensor) -> tuple[Tensor, ...]:
        found = x._memory.view(kind).nonzero()
        spec = spec_of(found[0].size)
        return tuple([new(each.copy(), spec) for each in found])

    def nonzero_in_line(x: Tensor) -> tuple[Tensor, ...]:
        (found,) = x._memory.view(kind).nonzero()
        return (new(found, spec_of(found.size)),)

    return nonzero_in_line if source.layout.ndim == 1 else nonzero


@functools.cache
def _specs_on(device: Device) -> Callable[[int], TensorSpec]:
    """What gives the spec of so many positions."""

    @functools.lru_cache(maxsize=256)
    def spec_of(count: int) -> TensorSpec:
        return TensorSpec(int64, Layout.row_major((count,)), device)

    return spec_of


def _true(mask: Array, index_map: IndexMap) -> Positions:
    """The positions where a mask is true, in row-major index order, one array a dimension."""
    return [np.flatnonzero(mask)] if len(index_map.dims) == 1 else np.nonzero(mask)


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
