"""Boolean masks on the CPU: selection, masked assignment, and positions of non-zero elements."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.casting import convert_array, normalize_bools
from tensorlayout.cpu.engine.memory import Array, call_quietly, tensor_allocator
from tensorlayout.cpu.gather import (
    IndexRuns,
    Positions,
    as_row_major_unless_vector,
    choose_reader,
    move_parts_in_threads,
)
from tensorlayout.cpu.scatter import broadcast_value, choose_writer, value_as_array
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
    check_value_broadcasts,
    compute_dtype,
    selected_spec,
)
from tensorlayout.tensor import Tensor, TensorSpec

# Share of true elements from which on NumPy's own indexing, which branches on every element of the
# mask and copies run by run, beats positions. 4 M float32, half of them true: 18.7 ms against 3.4;
# 999 in 1000 true: 2.5 against 4.8.
_DENSE = 0.95

# Size up to which NumPy's own indexing is faster for any share of true elements.
_FEW = 1024

# Bytes of a tensor that are copied to row-major order at a time.
_BLOCK = 256 * 1024


def compile_select(plan: SelectPlan) -> Run:
    """Compile ``x[mask]``; elements are in row-major index order of the mask."""
    viewed_spec, index_map = plan.seen, plan.index_map
    layout = viewed_spec.layout
    read = choose_reader(IndexRuns(layout, index_map))
    alone, staged = layout.ndim == 1, len(index_map.dims) == layout.ndim
    is_small = alone and layout.size <= _FEW
    spec_of = functools.lru_cache(functools.partial(selected_spec, viewed_spec, index_map))

    def read_selected(x: Tensor, mask: Tensor) -> Tensor:
        chosen = normalize_bools(mask.memory)
        memory = x.memory.reshape(layout.shape)
        count = 0 if is_small else int(np.count_nonzero(chosen))
        if is_small or (alone and count > _DENSE * layout.size):
            elements = memory[chosen.reshape(-1)]
            return Tensor._from_memory(elements, spec_of(elements.size))
        result = tensor_allocator(spec_of(count))()
        if result.size and staged:
            _read_masked_blocks(memory, chosen.reshape(layout.shape), result.memory)
        elif result.size:
            read(memory, _true_positions(chosen, index_map), result.memory)
        return result

    return read_selected


def compile_masked_assignment(plan: MaskedPlan) -> Write:
    """Compile ``x[mask] = value``; value and mask share no memory with `x`."""
    layout, index_map, spread = plan.seen.layout, plan.index_map, plan.spread
    write = choose_writer(IndexRuns(layout, index_map))
    alone = layout.ndim == 1
    everything = len(index_map.dims) == layout.ndim > 1

    def assign_masked(x: Tensor, value: Any, mask: Tensor) -> None:
        source, chosen = value_as_array(plan.name, x, value), normalize_bools(mask.memory)
        count = int(np.count_nonzero(chosen))
        shape = index_map.result_shape(layout, (count,))
        check_value_broadcasts(plan.value, shape)
        dense = count > _DENSE * chosen.size
        if 0 in shape:
            return
        if source.size == 1 and spread is not None and (dense or not alone):
            np.copyto(x.memory, source.reshape(()), where=chosen.reshape(spread))
        elif (alone and dense) or everything:
            x.memory[chosen] = broadcast_value(source, shape)
        else:
            memory = x.memory.reshape(layout.shape)
            write(memory, _true_positions(chosen, index_map), broadcast_value(source, shape))

    return assign_masked


def compile_nonzero(plan: NonzeroPlan) -> Callable[..., tuple[Tensor, ...]]:
    """Compile ``nonzero(x)``: for 2048 × 2048 float32, 1 % of them non-zero, 1.8 ms; NumPy 23."""
    source = plan.result
    shape, dtype = source.layout.shape, compute_dtype(source.dtype)
    if source.layout.size <= _FEW and dtype == source.dtype:
        return _compile_small_nonzero(source)

    def find_nonzero(x: Tensor) -> tuple[Tensor, ...]:
        values = x.memory
        if dtype == np.bool_:
            chosen = normalize_bools(values)
        else:
            chosen = call_quietly(np.not_equal, convert_array(values, dtype), 0)
        flat = chosen.reshape(-1)
        spec = _positions_spec(int(np.count_nonzero(flat)))
        tensors = [tensor_allocator(spec)() for _ in shape]
        coordinates = [tensor.memory for tensor in tensors]

        def write_block_coordinates(begin: int, end: int, block: slice) -> None:
            places = np.flatnonzero(flat[block])
            places += block.start
            for d in range(len(shape) - 1, 0, -1):
                np.divmod(places, shape[d], out=(places, coordinates[d][begin:end]))
            coordinates[0][begin:end] = places

        if flat.size:
            _move_mask_blocks_in_threads(flat, _BLOCK, write_block_coordinates)
        return tuple(tensors)

    return find_nonzero


def _compile_small_nonzero(source: TensorSpec) -> Callable[..., tuple[Tensor, ...]]:
    """Compile nonzero by NumPy's function; bools as uint8, because any non-zero byte is True."""
    new = Tensor._from_memory
    kind = np.dtype(np.uint8) if source.dtype == np.bool_ else source.dtype

    def find_nonzero(x: Tensor) -> tuple[Tensor, ...]:
        coordinates = x.memory.view(kind).nonzero()
        spec = _positions_spec(coordinates[0].size)
        return tuple([new(indices.copy(), spec) for indices in coordinates])

    return find_nonzero


@functools.lru_cache(maxsize=256)
def _positions_spec(count: int) -> TensorSpec:
    return TensorSpec(int64, Layout.row_major((count,)), CPU)


def _true_positions(mask: Array, index_map: IndexMap) -> Positions:
    """Return the true positions in row-major index order, one array per dimension."""
    return [np.flatnonzero(mask)] if len(index_map.dims) == 1 else np.nonzero(mask)


def _read_masked_blocks(memory: Array, mask: Array, out: Array) -> None:
    """Read masked elements from row-major copies of blocks.

    Half of a column-major 2048 x 2048 float32 takes 28 ms, by slots 54.
    """

    def copy_true_elements(begin: int, end: int, rows: slice) -> None:
        block = as_row_major_unless_vector(memory[rows]).reshape(-1)
        np.take(block, np.flatnonzero(mask[rows]), out=out[begin:end], mode="wrap")

    _move_mask_blocks_in_threads(
        mask, max(1, _BLOCK * memory.shape[0] // memory.nbytes), copy_true_elements
    )


def _move_mask_blocks_in_threads(
    mask: Array, rows_per_block: int, move_block: Callable[[int, int, slice], None]
) -> None:
    """Call ``move_block(begin, end, rows)`` per block; `begin` and `end` count true elements."""
    blocks = [slice(k, k + rows_per_block) for k in range(0, mask.shape[0], rows_per_block)]
    ends = [0, *accumulate([int(np.count_nonzero(mask[block])) for block in blocks])]
    move_parts_in_threads(
        zip(ends, ends[1:], blocks, strict=False), lambda piece: move_block(*piece), mask.size
    )
