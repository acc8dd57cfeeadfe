"""Boolean masks on CUDA: reads and writes where a mask is true, and positions of non-zeros.

The number of selected elements is data. The host waits for it once if the shape of the result, or
the check of the values' shape, depends on it. A block of threads handles a chunk of the mask:
`count_true` counts the true elements of each chunk, `scan_counts` turns these into the number
before each chunk, and the last launch knows where each chunk's elements go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine import (
    NOTHING,
    WIDEST,
    Launch,
    Launches,
    constant_value,
    faults,
    kernel_with_macros,
    make_writer,
    repeat_to_16_bytes,
    scalar_bytes,
    tensor_allocator,
)
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.gather import (
    PositionTensor,
    common_step_origin_and_count,
    loop_over_axes,
    make_index_launch,
    plan_gather_launch,
    positions_from_earlier_launch,
    widen_index_loop,
)
from tensorlayout.cuda.scatter import (
    broadcast_values_layout_to,
    compile_dtype_cast,
    plan_scatter_launch,
)
from tensorlayout.devices import Device
from tensorlayout.layout import Axis, Layout, max_offset_of_axes, merge_axes, narrowest_index_type
from tensorlayout.plan import (
    GatherPlan,
    IndexMap,
    MaskedPlan,
    NonzeroPlan,
    Run,
    ScatterPlan,
    SelectPlan,
    Write,
    check_value_broadcasts,
    selected_spec,
)
from tensorlayout.tensor import Tensor, TensorSpec

FILE = "mask.cu"
CHUNK = constant_value(FILE, "CHUNK")  # elements of the mask for each block

# A plan caches the launches of this many different counts of selected elements.
_CACHED_COUNTS = 16

# Numbers of the memories of a launch over a mask.
MASK, COUNTS, DESTINATION, SOURCE = range(4)


def compile_select(plan: SelectPlan) -> Run:
    """Compile ``x[mask]``: count, wait for the count, and read in row-major order of the mask."""
    seen, index_map, number = plan.seen, plan.index_map, plan.result.device.number
    selection = _MaskSelection(plan.result, index_map, plan.mask.layout)

    @lru_cache(_CACHED_COUNTS)
    def compile_gather_for_count(count: int) -> Write:
        spec = selected_spec(seen, index_map, count)
        gather_plan = GatherPlan(plan.name, seen, (), spec, index_map)
        index_positions = (selection.selected_positions(2, count, (0, 1)),)
        return make_writer(
            number,
            partial(plan_gather_launch, gather_plan, index_positions, shift=selection.shift),
            aligned_count=2,
        )

    def read_selected(x: Tensor, mask: Tensor) -> Tensor:
        with driver().using_device(number):
            count, counts = selection.count_true(mask)
            result = tensor_allocator(selected_spec(seen, index_map, count))()
            if not result.size:
                return result
            if selection.write_elements is not None:
                selection.write_elements(mask, counts, result, x)
            else:
                compile_gather_for_count(count)(
                    result, x, selection.write_positions(mask, count, counts)
                )
        return result

    return read_selected


def compile_masked_assignment(plan: MaskedPlan) -> Write:
    """Compile ``x[mask] = value``; value and mask do not overlap what is written.

    The host does not wait if the same number or slice is written to all selected elements.
    """
    if not isinstance(plan.value, TensorSpec):
        name, dtype = plan.name, plan.result.dtype
        write_number = (
            _compile_masked_store(plan)
            if plan.spread is not None
            else _compile_counting_masked_write(plan)
        )
        return lambda out, value, mask: write_number(
            out, mask, repeat_to_16_bytes(scalar_bytes(name, value, dtype))
        )
    spec, convert = compile_dtype_cast(plan.value, plan.result.dtype)
    plan = replace(plan, value=spec)
    write = (
        _compile_masked_store(plan)
        if plan.spread is not None and _value_fits_any_count(plan)
        else _compile_counting_masked_write(plan)
    )
    if convert is None:
        return write
    return lambda out, value, mask: write(out, convert(value), mask)


def _value_fits_any_count(plan: MaskedPlan) -> bool:
    """Return whether the values fit any number of selected elements: a number or one slice."""
    try:
        check_value_broadcasts(plan.value, plan.index_map.result_shape(plan.seen.layout, (1,)))
    except ValueError:
        return False  # may fit another count; if not, the call raises with the actual count
    return True


def _compile_masked_store(plan: MaskedPlan) -> Write:
    """Compile ``write(out, value, mask)``, or ``write(out, mask, octets)`` for a number."""
    has_values, number = isinstance(plan.value, TensorSpec), plan.result.device.number
    pack_scalars = None if has_values else bytes
    return make_writer(
        number,
        partial(plan_masked_store, plan),
        2 + has_values,
        pack_scalars,
        aligned_count=1 + has_values,
    )


def _compile_counting_masked_write(plan: MaskedPlan) -> Write:
    """Compile a write whose values depend on the count, or whose mask has an empty dim."""
    number, index_map, layout = plan.result.device.number, plan.index_map, plan.seen.layout
    has_values = isinstance(plan.value, TensorSpec)
    pack_scalars = None if has_values else bytes
    selection = _MaskSelection(plan.result, index_map, plan.mask.layout)

    @lru_cache(_CACHED_COUNTS)
    def compile_write(count: int) -> Write:
        shape = index_map.result_shape(layout, (count,))
        scatter_plan = ScatterPlan(plan.name, plan.seen, plan.value, (), shape, index_map)
        index_positions = (selection.selected_positions(1 + has_values, count, (1, 0, 0)),)
        plan_launches = partial(
            plan_scatter_launch, scatter_plan, index_positions, shift=selection.shift
        )
        return make_writer(
            number, plan_launches, 2 + has_values, pack_scalars, aligned_count=1 + has_values
        )

    def assign_values_where_mask_is_true(out: Tensor, *operands: Any) -> None:
        values = operands[:has_values]
        mask = operands[has_values]
        scalars = operands[1 + has_values :]
        with driver().using_device(number):
            count, counts = selection.count_true(mask)
            shape = index_map.result_shape(layout, (count,))
            check_value_broadcasts(plan.value, shape)
            if 0 not in shape:
                positions = selection.write_positions(mask, count, counts)
                compile_write(count)(out, *values, positions, *scalars)

    return assign_values_where_mask_is_true


def plan_masked_store(plan: MaskedPlan, alignments: tuple[int, ...]) -> Launch | None:
    """Plan the write of a value where a mask is true; None if there are no elements.

    Memories: the destination, the value if it is in memory, the mask. `alignments`: of all but the
    mask.
    """
    layout, itemsize, mask = plan.result.layout, plan.result.dtype.itemsize, plan.mask.layout
    if not layout.size:
        return None
    # A number has no strides that limit the width of accesses, so it gets the destination's.
    values, has_values, index_map = layout, isinstance(plan.value, TensorSpec), plan.index_map
    first = index_map.dims[0]
    if isinstance(plan.value, TensorSpec):
        values = broadcast_values_layout_to(
            plan.value.layout, index_map.result_shape(plan.seen.layout, (1,))
        )
        # Values have size 1 along the selected elements. Dimensions of the mask, along which they
        # repeat, take the place of this one.
        values = values.squeeze(index_map.index_dims)
        for _ in range(mask.ndim):
            values = values.expand_dims(first)
        values = values.broadcast_to(layout.shape)
    mask_strides = (*[0] * first, *mask.strides, *[0] * (layout.ndim - first - mask.ndim))
    steps = zip(layout.strides, values.strides, mask_strides, strict=True)
    dims = list(map(Axis, layout.shape, steps))
    firsts = layout.offset * itemsize, values.offset * itemsize * has_values
    axes = [dims[d] for d in reversed(layout.minor_to_major)]
    loop = widen_index_loop(
        loop_over_axes(axes, 3, (), itemsize, firsts), (*alignments, WIDEST)[:2]
    )
    rank, width = len(loop.loop.axes), loop.loop.width
    chosen = kernel_with_macros(
        FILE, "store_masked", RANK=rank, INDEX=loop.index_c_type, STORE=width
    )
    memories = [
        (0, firsts[0]),
        (1, firsts[1]) if has_values else (NOTHING, 0),
        (1 + has_values, mask.offset),
    ]
    return make_index_launch(chosen, loop, memories, many=has_values, fills=not has_values)


def compile_nonzero(plan: NonzeroPlan) -> Callable[..., tuple[Tensor, ...]]:
    """Compile nonzero: one tensor of indices per dimension; the host waits for the count."""
    number, rank = plan.result.device.number, plan.result.layout.ndim
    spec, convert = compile_dtype_cast(plan.result, dtypes.bool)
    counter = _make_mask_counter(spec, (0,) * rank)
    # Walking by a unit vector makes the "position" of an element its index along one dimension.
    units = [tuple(int(k == d) for k in range(rank)) for d in range(rank)]
    writers = [_make_mask_writer(spec, "select_positions", unit) for unit in units]

    def find_nonzero(x: Tensor) -> tuple[Tensor, ...]:
        mask = x if convert is None else convert(x)
        with driver().using_device(number):
            count, counts = counter(mask)
            allocate = tensor_allocator(_int64_vector_spec(count, spec.device))
            results = tuple([allocate() for _ in range(rank)])
            for result, write in zip(results, writers if count else (), strict=bool(count)):
                write(mask, counts, result)
        return results

    return find_nonzero


# ---- Over a mask


class _MaskSelection:
    """Launches that count and locate the elements which a mask selects in a tensor."""

    def __init__(self, source: TensorSpec, index_map: IndexMap, mask: Layout) -> None:
        first, layout, itemsize = index_map.dims[0], source.layout, source.dtype.itemsize
        mask_spec = TensorSpec(dtypes.bool, mask, source.device)
        strides = layout.strides[first : first + mask.ndim]
        # Positions are offsets divided by the common factor of the strides, the unit.
        self._position_unit, steps, base, self._position_extent = common_step_origin_and_count(
            mask.shape, strides
        )
        self.shift = -base * self._position_unit  # elements from the first element to position 0
        self.count_true = _make_mask_counter(mask_spec, steps)
        self._write_positions_to = _make_mask_writer(mask_spec, "select_positions", steps, base)
        # With a mask over all dimensions one launch reads the elements, without positions.
        self.write_elements = None
        if mask.ndim == layout.ndim:
            at, memories = layout.offset * itemsize, (DESTINATION, MASK, COUNTS, SOURCE)
            self.write_elements = _make_mask_writer(
                mask_spec, "select_elements", strides, 0, at, memories, WIDTH=itemsize
            )

    def selected_positions(
        self, memory_number: int, count: int, steps: tuple[int, ...]
    ) -> PositionTensor:
        """Describe the positions of `count` elements; one unit adds `steps` in each memory."""
        scaled_steps = tuple(step * self._position_unit for step in steps)
        return positions_from_earlier_launch(
            memory_number, self._position_extent, scaled_steps, Layout.row_major((count,))
        )

    def write_positions(self, mask: Tensor, count: int, counts: Tensor) -> Tensor:
        """Return a new tensor with the positions of the selected elements."""
        result = tensor_allocator(_int64_vector_spec(count, mask.device))()
        self._write_positions_to(mask, counts, result)
        return result


def _int64_vector_spec(count: int, device: Device) -> TensorSpec:
    return TensorSpec(dtypes.int64, Layout.row_major((count,)), device)


def _make_mask_counter(
    mask: TensorSpec, steps: tuple[int, ...]
) -> Callable[[Tensor], tuple[int, Any]]:
    """Return a function that counts the true elements of a mask: all, and before each chunk."""
    chunks = -(-mask.layout.size // CHUNK)
    if not chunks:
        return lambda mask_tensor: (0, None)
    chosen = kernel_with_macros(FILE, "scan_counts")
    scan = Launch.from_members(chosen, 1, (0,), (COUNTS,), blocks=chunks)
    count = _make_mask_writer(
        mask, "count_true", steps, memories=(NOTHING, MASK, COUNTS), following_launches=(scan,)
    )
    allocate = tensor_allocator(_int64_vector_spec(chunks + 1, mask.device))

    def count_true_elements(mask_tensor: Tensor) -> tuple[int, Any]:
        counts, octets = allocate(), np.empty(8, np.uint8)
        count(mask_tensor, counts)
        # `scan_counts` leaves the sum of all counts behind the sums before each chunk.
        driver().copy_to_host(octets, counts.memory.address + 8 * chunks)
        # The host has waited for the stream, so errors of earlier launches can be reported now.
        faults.raise_pending_errors()
        return int(octets.view(np.int64)[0]), counts

    return count_true_elements


def _make_mask_writer(
    mask: TensorSpec,
    kernel_name: str,
    steps: Sequence[int],
    position_base: int = 0,
    source_byte_offset: int = 0,
    memories: tuple[int, ...] = (DESTINATION, MASK, COUNTS),
    following_launches: tuple[Launch, ...] = (),
    **shape: Any,
) -> Write:
    """Return a function that launches over a mask and walks a second memory by `steps`.

    `position_base` is added to positions. `source_byte_offset`: **bytes** to the first element of
    the source. `memories`: numbers of the memories to which the kernel's pointers point.
    """
    layout = mask.layout

    def plan_mask_kernel_and_followers(alignments: tuple[int, ...]) -> Launches:
        dims = zip(layout.shape, layout.strides, steps, strict=True)
        axes = merge_axes(Axis(n, (stride, step)) for n, stride, step in dims) or [Axis(1, (0, 0))]
        index = narrowest_index_type(layout.size + CHUNK, max_offset_of_axes(axes))
        chosen = kernel_with_macros(FILE, kernel_name, RANK=len(axes), INDEX=index, **shape)
        packed = layout.is_row_major and alignments[0] >= WIDEST
        firsts = (0, layout.offset, 0, source_byte_offset)[: len(memories)]
        chunks = -(-layout.size // CHUNK)
        members = {"base": position_base, "packed": packed, "count": layout.size, "walk": axes}
        return Launches(
            (Launch.from_members(chosen, chunks, firsts, memories, **members), *following_launches)
        )

    return make_writer(mask.device.number, plan_mask_kernel_and_followers, aligned_count=1)
