"""Where a tensor is true, or not zero: reads, writes, and the positions themselves.

How many elements a mask selects is data: the host waits for that number once where the shape of the
result, or the right shape of the values, depends on it.
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
    constant,
    faults,
    kernel,
    new_tensors,
    octets,
    pattern,
    writer,
)
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.gather import (
    Positions,
    fitted,
    launch_of,
    loop_over,
    packed_steps,
    placed,
    plan_read,
)
from tensorlayout.cuda.scatter import in_dtype, plan_write, values_in
from tensorlayout.devices import Device
from tensorlayout.layout import Axis, Layout, furthest, index_type, merged
from tensorlayout.plan import (
    GatherPlan,
    IndexMap,
    MaskedPlan,
    NonzeroPlan,
    Run,
    ScatterPlan,
    SelectPlan,
    Write,
    check_fits,
    selected_spec,
)
from tensorlayout.tensor import Tensor, TensorSpec

FILE = "mask.cu"
CHUNK = constant(FILE, "CHUNK")  # elements of the mask that a block has

# Numbers of elements of which a plan keeps its launches.
_KEPT = 16

# The memories of a launch over a mask.
MASK, COUNTS, WRITTEN, SOURCE = range(4)


def prepare_select(plan: SelectPlan) -> Run:
    """Count, wait for the number, and read; in row-major index order of the mask."""
    seen, index_map, number = plan.seen, plan.index_map, plan.result.device.number
    selection = _Selection(plan.result, index_map, plan.mask.layout)

    @lru_cache(_KEPT)
    def mover(count: int) -> Write:
        spec = selected_spec(seen, index_map, count)
        what = GatherPlan(plan.name, seen, (), spec, index_map)
        at = (selection.placed(2, count, (0, 1)),)
        return writer(number, partial(plan_read, what, at, shift=selection.shift), aligned=2)

    def select(x: Tensor, mask: Tensor) -> Tensor:
        with driver().using(number):
            count, counts = selection.counted(mask)
            result = new_tensors(selected_spec(seen, index_map, count))()
            if not result.size:
                return result
            if selection.elements is not None:
                selection.elements(mask, counts, result, x)
            else:
                mover(count)(result, x, selection.positions(mask, count, counts))
        return result

    return select


def write_masked(plan: MaskedPlan) -> Write:
    """Write where the mask is true; value and mask lie apart from what is written.

    Without waiting where one number or one slice is written everywhere.
    """
    if not isinstance(plan.value, TensorSpec):
        name, dtype = plan.name, plan.result.dtype
        one = _same(plan) if plan.spread is not None else _counted(plan)
        return lambda out, value, mask: one(out, mask, pattern(octets(name, value, dtype)))
    spec, convert = in_dtype(plan.value, plan.result.dtype)
    plan = replace(plan, value=spec)
    write = _same(plan) if plan.spread is not None and _stands_still(plan) else _counted(plan)
    if convert is None:
        return write
    return lambda out, value, mask: write(out, convert(value), mask)


def _stands_still(plan: MaskedPlan) -> bool:
    """Whether the value is the same for all that is selected, whatever the number of that."""
    try:
        check_fits(plan.value, plan.index_map.shape(plan.seen.layout, (1,)))
    except ValueError:
        return False  # said again, with the number, when that is known
    return True


def _same(plan: MaskedPlan) -> Write:
    """``write(out, value, mask)``, or of a number ``write(out, mask, octets)``."""
    many, number = isinstance(plan.value, TensorSpec), plan.result.device.number
    content = None if many else bytes
    return writer(number, partial(plan_store, plan), 2 + many, content, aligned=1 + many)


def _counted(plan: MaskedPlan) -> Write:
    """Write values that depend on how much is selected, or under a mask that does not cover all."""
    number, index_map, layout = plan.result.device.number, plan.index_map, plan.seen.layout
    many = isinstance(plan.value, TensorSpec)
    content = None if many else bytes
    selection = _Selection(plan.result, index_map, plan.mask.layout)

    @lru_cache(_KEPT)
    def mover(count: int) -> Write:
        shape = index_map.shape(layout, (count,))
        what = ScatterPlan(plan.name, plan.seen, plan.value, (), shape, index_map)
        at = (selection.placed(1 + many, count, (1, 0, 0)),)
        planned = partial(plan_write, what, at, shift=selection.shift)
        return writer(number, planned, 2 + many, content, aligned=1 + many)

    def masked(out: Tensor, *operands: Any) -> None:
        values, mask, one = operands[:many], operands[many], operands[1 + many :]
        with driver().using(number):
            count, counts = selection.counted(mask)
            shape = index_map.shape(layout, (count,))
            check_fits(plan.value, shape)
            if 0 not in shape:
                positions = selection.positions(mask, count, counts)
                mover(count)(out, *values, positions, *one)

    return masked


def plan_store(plan: MaskedPlan, alignments: tuple[int, ...]) -> Launch | None:
    """The launch that writes what is the same for all where the mask is true; None for nothing.

    Memories: the destination, the value if it is in memory, the mask; `alignments` of the first.
    """
    layout, itemsize, mask = plan.result.layout, plan.result.dtype.itemsize, plan.mask.layout
    if not layout.size:
        return None
    # One number fills elements of any width: it goes along with the destination.
    values, many, index_map = layout, isinstance(plan.value, TensorSpec), plan.index_map
    first = index_map.dims[0]
    if isinstance(plan.value, TensorSpec):
        values = values_in(plan.value.layout, index_map.shape(plan.seen.layout, (1,)))
        values = values.squeeze(index_map.index_dims)
        for _ in range(mask.ndim):
            values = values.expand_dims(first)
        values = values.broadcast_to(layout.shape)
    under = (*[0] * first, *mask.strides, *[0] * (layout.ndim - first - mask.ndim))
    steps = zip(layout.strides, values.strides, under, strict=True)
    dims = list(map(Axis, layout.shape, steps))
    firsts = layout.offset * itemsize, values.offset * itemsize * many
    axes = [dims[d] for d in reversed(layout.minor_to_major)]
    loop = fitted(loop_over(axes, 3, (), itemsize, firsts), (*alignments, WIDEST)[:2])
    rank, width = len(loop.loop.axes), loop.loop.width
    chosen = kernel(FILE, "store_masked", RANK=rank, INDEX=loop.index, STORE=width)
    memories = [(0, firsts[0]), (1, firsts[1]) if many else (NOTHING, 0), (1 + many, mask.offset)]
    return launch_of(chosen, loop, memories, many=many, fills=not many)


def prepare_nonzero(plan: NonzeroPlan) -> Callable[..., tuple[Tensor, ...]]:
    """The indices of what is not zero, a tensor a dimension; the host waits for their number."""
    number, rank = plan.result.device.number, plan.result.layout.ndim
    spec, convert = in_dtype(plan.result, dtypes.bool)
    counter = _counter(spec, (0,) * rank)
    units = [tuple(int(k == d) for k in range(rank)) for d in range(rank)]
    writers = [_over(spec, "select_positions", unit) for unit in units]

    def nonzero(x: Tensor) -> tuple[Tensor, ...]:
        mask = x if convert is None else convert(x)
        with driver().using(number):
            count, counts = counter(mask)
            new = new_tensors(_integers(count, spec.device))
            made = tuple([new() for _ in range(rank)])
            for each, write in zip(made, writers if count else (), strict=bool(count)):
                write(mask, counts, each)
        return made

    return nonzero


# ---- Over a mask


class _Selection:
    """How a mask over dimensions of a tensor, the indexed ones, is counted and read."""

    def __init__(self, source: TensorSpec, index_map: IndexMap, mask: Layout) -> None:
        first, layout, itemsize = index_map.dims[0], source.layout, source.dtype.itemsize
        over = TensorSpec(dtypes.bool, mask, source.device)
        strides = layout.strides[first : first + mask.ndim]
        # A position stands for so many elements, the unit.
        self._unit, steps, base, self._extent = packed_steps(mask.shape, strides)
        self.shift = -base * self._unit  # of the first element of the tensor, for `placed`
        self.counted = _counter(over, steps)
        self._write = _over(over, "select_positions", steps, base)
        self.elements = None  # what writes elements
        if mask.ndim == layout.ndim:
            at, memories = layout.offset * itemsize, (WRITTEN, MASK, COUNTS, SOURCE)
            self.elements = _over(over, "select_elements", strides, 0, at, memories, WIDTH=itemsize)

    def placed(self, memory: int, count: int, steps: tuple[int, ...]) -> Positions:
        """The positions of `count` elements, which add `steps` to memories, times the unit."""
        moved = tuple(step * self._unit for step in steps)
        return placed(memory, self._extent, moved, Layout.row_major((count,)))

    def positions(self, mask: Tensor, count: int, counts: Tensor) -> Tensor:
        """The positions of the elements, written to memory of their own."""
        made = new_tensors(_integers(count, mask.device))()
        self._write(mask, counts, made)
        return made


def _integers(count: int, device: Device) -> TensorSpec:
    return TensorSpec(dtypes.int64, Layout.row_major((count,)), device)


def _counter(mask: TensorSpec, steps: tuple[int, ...]) -> Callable[[Tensor], tuple[int, Any]]:
    """What counts the true elements of a mask: how many, and before each chunk."""
    chunks = -(-mask.layout.size // CHUNK)
    if not chunks:
        return lambda given: (0, None)
    chosen = kernel(FILE, "scan_counts")
    scan = Launch.of(chosen, 1, (0,), (COUNTS,), blocks=chunks)
    count = _over(mask, "count_true", steps, memories=(NOTHING, MASK, COUNTS), then=(scan,))
    new = new_tensors(_integers(chunks + 1, mask.device))

    def counted(given: Tensor) -> tuple[int, Any]:
        counts, octets = new(), np.empty(8, np.uint8)
        count(given, counts)
        driver().to_host(octets, counts.memory.address + 8 * chunks)
        faults.check()
        return int(octets.view(np.int64)[0]), counts

    return counted


def _over(
    mask: TensorSpec,
    name: str,
    steps: Sequence[int],
    base: int = 0,
    first: int = 0,
    memories: tuple[int, ...] = (WRITTEN, MASK, COUNTS),
    then: tuple[Launch, ...] = (),
    **shape: Any,
) -> Write:
    """What launches over a mask of this spec, and steps through a second memory by `steps`.

    `base` is added to positions; `first`: **bytes** to the first element of the source; `memories`:
    those that the kernel points to; `then`: launches that follow.
    """
    layout = mask.layout

    def planned(alignments: tuple[int, ...]) -> Launches:
        dims = zip(layout.shape, layout.strides, steps, strict=True)
        axes = merged(Axis(n, (stride, step)) for n, stride, step in dims) or [Axis(1, (0, 0))]
        index = index_type(layout.size + CHUNK, furthest(axes))
        chosen = kernel(FILE, name, RANK=len(axes), INDEX=index, **shape)
        packed = layout.is_row_major and alignments[0] >= WIDEST
        firsts, chunks = (0, layout.offset, 0, first)[: len(memories)], -(-layout.size // CHUNK)
        members = {"base": base, "packed": packed, "count": layout.size, "walk": axes}
        return Launches((Launch.of(chosen, chunks, firsts, memories, **members), *then))

    return writer(mask.device.number, planned, aligned=1)
