"""Axes of a reduction, and the box of threads that reads them.

``kernels/reduce/reduce.cu`` describes boxes of threads and the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, inf, log2, prod
from typing import NamedTuple

from tensorlayout.cuda.engine import SECTOR, THREADS, WIDEST
from tensorlayout.layout import Axis, merge_axes, reverse_axes
from tensorlayout.plan import ReducePlan

ROWS = 4  # packs that a thread reads at a time

# Most turns of a thread, which bounds the rounding error of its sum.
MOST_TURNS = 128

# Rows of a box have at least this many bytes, as far as the source allows.
_SEGMENT = 64

_MOST_ALONE = 16  # packs of a result that one thread reads, if there are enough results

_MULTIPROCESSORS = 132  # of an H100

# Folded rows that are wider than a block leave 8 or more partial results to join; that pays from
# this many bytes in a column on.
_SPREAD_LEAST = 96

_WARP = 32  # threads

# Registers of 8 bytes that a thread has for states of columns.
_REGISTERS = 16

# ---- Axes


# Strides of an axis: in the source (not negative), and in the result, or for a reduced axis, in
# positions. The tag of an axis is True if it is reduced.
SOURCE, OTHER = 0, 1


class ReductionAxes(NamedTuple):
    """Axes from the slowest in the source's memory to the fastest, and the first offsets."""

    axes: tuple[Axis, ...]
    source_offset: int
    result_offset: int
    position_offset: int


def merge_reduction_axes(plan: ReducePlan, with_positions: bool) -> ReductionAxes:
    """Return the merged axes; `with_positions`: reduced axes have strides of positions."""
    layout, result = plan.source.layout, plan.result.layout
    kept_dims = [d for d in range(layout.ndim) if d not in plan.dims]
    result_dims = kept_dims if plan.keepdims else range(len(kept_dims))
    # Each axis first has three strides: in the source, in the result, and in positions. Thus the
    # reversal of an axis moves the right one of the three starts. One of the last two strides is 0,
    # so their sum is all that remains of them.
    steps = {d: result.strides[k] for d, k in zip(kept_dims, result_dims, strict=True)}
    if with_positions:
        # A position over several dimensions is the row-major index of the element, as in argmax
        # without an axis; over one dimension it is the index along it.
        order = layout.shape if len(plan.dims) > 1 else [1] * layout.ndim
        steps |= {d: prod(order[d + 1 :]) for d in plan.dims}
    axes = []
    for d in reversed(layout.minor_to_major):
        reduced, other = d in plan.dims, steps.get(d, 0)
        others = (0, other) if reduced else (other, 0)
        axes.append(Axis(layout.shape[d], (layout.strides[d], *others), reduced))
    starts = (layout.offset, result.offset, 0)
    axes, begin = reverse_axes(axes, starts, lambda strides: strides[SOURCE] < 0)
    # Axes of stride 0 repeat elements; as the slowest ones they never break up a run.
    axes.sort(key=lambda axis: axis.strides[SOURCE] or inf, reverse=True)
    merged_axes = [
        Axis(n, (step, sum(others)), tag) for n, (step, *others), tag in merge_axes(axes)
    ]
    return ReductionAxes(tuple(merged_axes), *begin)


# ---- Which kernel, and which box of threads


class ThreadBox(NamedTuple):
    """Box of threads: the elements that one block reads, and the number of blocks."""

    name: str  # of the kernel
    length: int  # elements of a pack
    groups: tuple[Axis, ...]  # axes of results, walked along z
    rows: tuple[Axis, ...]  # reduced axes, walked along y, in packs
    x: Axis = Axis(1, (0, 0), False)  # axis of results along x, in packs
    w: Axis = Axis(1, (0, 0), True)  # reduced axis along w
    size_x: int = 1  # threads
    size_y: int = 1
    size_z: int = 1
    run: int = 0  # elements of a row whose aligned packs the kernel finds; 0 if all are aligned
    fold: int = 1  # rows that are read as one
    rest: int = 0  # elements after the last folded row
    position_step: int = 0  # positions from one element, or folded row, to the next

    @property
    def row_count(self) -> int:
        """Number of rows of one result, along y."""
        return prod([axis.size for axis in self.rows])

    @property
    def group_count(self) -> int:
        """Number of groups, along z."""
        return prod([axis.size for axis in self.groups])

    @property
    def column_tiles(self) -> int:
        """Number of blocks along x."""
        return -(-self.x.size // self.size_x)

    @property
    def row_spans_blocks(self) -> bool:
        """True if a row is wider than a block."""
        return self.fold > 1 and self.column_tiles > 1

    @property
    def tiles(self) -> int:
        """Number of blocks of a chunk."""
        return -(-self.group_count // self.size_z) * self.column_tiles


def _even_part_size(count: int, max_size: int, item_bytes: int) -> int:
    """Return a size up to `max_size` that divides `count` into few equal parts of whole sectors."""
    parts = -(-count // max_size)
    grain = SECTOR // gcd(SECTOR, item_bytes)  # items in whole sectors
    size = -(-count // parts)
    return size if parts == 1 else min(max_size, -(-size // grain) * grain)


def _source_strides_fit_packs(axes: Sequence[Axis], pack: int) -> bool:
    return all(axis.strides[SOURCE] % pack == 0 for axis in axes)


def choose_thread_box(
    reduction_axes: ReductionAxes, itemsize: int, alignment: int, state_registers: int
) -> ThreadBox:
    """Choose the box of threads for these axes.

    `alignment`: of the first element, in **bytes**. `state_registers`: registers of 8 bytes for the
    state of a column.
    """
    axes, box = reduction_axes.axes, None
    groups = tuple([axis for axis in axes if not axis.tag])
    rows = tuple([axis for axis in axes if axis.tag])
    if not axes or axes[-1].tag:
        box = _row_thread_box(groups, rows, axes, itemsize, alignment)
    else:
        box = _short_thread_box(groups, rows, 1, _MOST_ALONE)
    if box is None and axes[-1].strides[SOURCE] == 1:
        length = WIDEST // itemsize
        # A thread has a state for each column of its pack.
        while length * state_registers > _REGISTERS:
            length //= 2
        box = _column_thread_box(groups, rows, length, itemsize, alignment) if length > 1 else None
    if box is None:
        x = groups[-1]
        size_x = _even_part_size(x.size, min(THREADS, max(_SEGMENT, 512 // itemsize)), itemsize)
        box = ThreadBox("reduce_rows", 1, groups[:-1], rows, x=x, size_x=size_x)
    return _assign_thread_counts(box, itemsize)


def _row_thread_box(
    groups: tuple[Axis, ...],
    rows: tuple[Axis, ...],
    axes: tuple[Axis, ...],
    itemsize: int,
    alignment: int,
) -> ThreadBox:
    """Return the thread box of a reduction along the fastest dimension."""
    length = WIDEST // itemsize
    if not rows or rows[-1].strides[SOURCE] != 1:
        length = 1
    step = rows[-1].strides[OTHER] if rows else 0
    # A thread may read all of a short row, or of one that is too short to have an aligned pack.
    most = min(_SEGMENT // itemsize, max(_MOST_ALONE, 2 * length - 1))
    if length > 1:
        *slower, last = rows
        packs = Axis(last.size // length, (length, length * step), True)
        # In order of preference: packs, if all rows begin at whole ones; all elements by one
        # thread; packs of one row, whose aligned part the kernel finds; single elements.
        aligned = alignment % WIDEST == 0 and _source_strides_fit_packs([*slower, *groups], length)
        if aligned and last.size % length == 0:
            rows = (*slower, packs)
        elif (alone := _short_thread_box(groups, rows, 1, most, step)) is not None:
            return alone
        elif not slower and last.size >= 2 * length:
            return ThreadBox(
                "reduce_rows", length, groups, (packs,), run=last.size, position_step=step
            )
        else:
            length = 1
    alone = _short_thread_box(groups, rows, length, most // length, step)
    if alone is not None:
        return alone
    box = ThreadBox("reduce_rows", length, groups, rows, position_step=step)
    # Short runs next to those of other results: a row of threads reads the runs of several results.
    if len(rows) > 1 and len(groups) and axes[-2] is groups[-1]:
        run, beside = rows[-1], groups[-1]
        nbytes = run.size * length * itemsize
        if nbytes < _SEGMENT and beside.strides[SOURCE] == run.size * run.strides[SOURCE]:
            size_x = _even_part_size(beside.size, THREADS // run.size, nbytes)
            box = box._replace(groups=groups[:-1], rows=rows[:-1], x=beside, w=run, size_x=size_x)
    return box


def _short_thread_box(
    groups: tuple[Axis, ...], rows: tuple[Axis, ...], length: int, most: int, step: int = 0
) -> ThreadBox | None:
    """Return the box in which a thread reads all packs of a result; None if those exceed `most`."""
    packs = prod([axis.size for axis in rows])
    results = prod([axis.size for axis in groups])
    # Several threads share a result if there are too few for all multiprocessors.
    if packs > most or (packs > ROWS and results < _MULTIPROCESSORS * _WARP):
        return None
    *slower, last = rows or (Axis(1, (0, 0), True),)
    return ThreadBox("reduce_short", length, groups, tuple(slower), w=last, position_step=step)


def _column_thread_box(
    groups: tuple[Axis, ...], rows: tuple[Axis, ...], length: int, itemsize: int, alignment: int
) -> ThreadBox | None:
    """Return the box if neighbouring elements belong to different results; None without packs."""
    *slower, x = groups
    if alignment % (length * itemsize) or not _source_strides_fit_packs(slower, length):
        return None
    if x.size % length == 0 and _source_strides_fit_packs(rows, length):
        packs = x._replace(size=x.size // length)
        room = THREADS // 4 if prod([axis.size for axis in rows]) >= ROWS else THREADS
        size_x = _even_part_size(packs.size, room, length * itemsize)
        return ThreadBox("reduce_columns", length, tuple(slower), rows, x=packs, size_x=size_x)
    # Consecutive rows of few columns: several of them, folded, make whole packs.
    if not rows or rows[-1].strides[SOURCE] != x.size:
        return None
    # Example: packs of 4 elements and rows of 3. Four rows are one of 12, or 3 packs; element n of
    # the folded row belongs to column n % 3.
    fold = 1
    while fold * x.size % length:
        fold *= 2
    *others, last = rows
    wide, count = fold * x.size // length, last.size // fold
    if count < 2 or not _source_strides_fit_packs(others, length):
        return None
    size_x = wide
    if wide > THREADS:
        # The kernel numbers elements with 31 bits.
        if count * itemsize < _SPREAD_LEAST or wide > 2**26:
            return None
        size_x = _even_part_size(wide, THREADS // 8, length * itemsize)
    # The elements of the rows that are left over are in one place only if no slower reduced axis
    # repeats them.
    rest = last.size % fold * x.size
    if rest and others:
        return None
    step = last.strides[OTHER]
    folded = (*others, Axis(count, (fold * x.size, fold * step), True))
    return ThreadBox(
        "reduce_columns",
        length,
        tuple(slower),
        folded,
        x=x._replace(size=wide),
        size_x=size_x,
        fold=fold,
        rest=rest,
        position_step=step,
    )


def _assign_thread_counts(box: ThreadBox, itemsize: int) -> ThreadBox:
    """Return the box with the threads that share a result (y), and the groups of a block (z)."""
    if box.name == "reduce_short":
        return box._replace(size_z=THREADS)
    beside = box.size_x * box.w.size
    room = THREADS // beside
    count, groups = box.row_count, box.group_count
    segment = beside * box.length * itemsize  # bytes side by side
    # Powers of two, so that shuffles join the threads of a result. Few threads for each, with whole
    # batches of ROWS packs, as long as that leaves a block for each multiprocessor and threads read
    # _SEGMENT bytes side by side. One pack for each thread if all of them together are so few.
    busy = THREADS * _MULTIPROCESSORS / (groups * box.column_tiles * beside)
    least = max(_SEGMENT // segment, 1 << max(0, round(log2(busy))))
    batches = count if least >= count else -(-count // ROWS)
    size_y = max(min(least, _next_power_of_2(batches)), _next_power_of_2(batches // MOST_TURNS))
    size_y = min(size_y, 1 << room.bit_length() - 1)
    size_z = _round_to_sectors_if_little_lost(min(room // size_y, groups), count * segment)
    return box._replace(size_y=size_y, size_z=size_z)


def _next_power_of_2(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()


def lane_doublings_in_warp(lanes: int, apart: int) -> int:
    """Return log2 of how many of a result's threads, `apart` from each other, are in one warp.

    0 unless warps have whole results or results have whole warps.

    >>> lane_doublings_in_warp(64, 8), lane_doublings_in_warp(8, 1), lane_doublings_in_warp(12, 1)
    (2, 3, 0)
    """
    span = lanes * apart
    if _WARP % apart or (_WARP % span and span % _WARP):
        return 0
    return min(lanes, _WARP // apart).bit_length() - 1


def _round_to_sectors_if_little_lost(count: int, item_bytes: int) -> int:
    """Return `count` rounded down to whole sectors of items, if at most an eighth is lost."""
    grain = SECTOR // gcd(SECTOR, item_bytes)
    whole = count // grain * grain
    return whole if whole * 8 >= count * 7 else count
