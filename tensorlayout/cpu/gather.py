"""Gathers on the CPU (reads at index arrays), and the code that they share with scatters.

Positions are checked before anything is written; negative ones count from the end. Memory is seen
as three runs: the dimensions slower than the indexed ones (*outer*), the positions (*middle*) and
the faster dimensions (*inner*). The slot of an element is a sum over the three; where memory
allows, whole runs are copied instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlayout.cpu.copy.choose import choose_copy
from tensorlayout.cpu.engine.memory import Array, flat_bytes_of_all_slots
from tensorlayout.cpu.engine.sharing import axis_slices, share_pieces
from tensorlayout.cpu.reduce.fold import Key, block_boxes
from tensorlayout.errors import prefix_operation_name
from tensorlayout.layout import Layout
from tensorlayout.plan import AssignPlan, GatherPlan, IndexMap, Run, Write, compile_plan
from tensorlayout.tensor import Tensor, TensorSpec

Positions = Sequence[Array]  # one array for each indexed dimension
Cut = tuple[slice, ...]

# ``move(memory, positions, other)``: reads into `other`, or writes its values.
Move = Callable[[Array, Positions, Array], None]

# Lines that a thread takes at a time: their numbers, and their indices in the outer dimensions.
Lines = tuple[slice, list[tuple[int, ...]]]

# ``move(lines, positions, other)``: the same for some lines.
MoveLines = Callable[[Lines, Array, Array], None]

# Number of slots computed at a time, so that they stay in the cache: 4 M elements x[i, j] take
# 26 ms, and 44 to 97 with NumPy's own indexing.
BLOCK = 16 * 1024

# Run length from which on one call per run is cheaper than computing slots: a call costs about a
# microsecond, a slot two nanoseconds.
RUN = 512

# Number of elements from which on threads share the work; NumPy releases the interpreter lock
# while it reads and writes at positions.
MANY = 256 * 1024

# Number of neighbouring lines read together if every line has its own positions.
_COLUMNS = 64

# Row size in bytes from which on rows are read in place instead of being packed first: 4 M float32
# in rows of 2 with gaps take 20 ms packed first and 65 in place; in rows of 16, 6.3 and 9.0; in
# rows of 64, 2.6 and 2.1.
_LONG = 128

# Number of elements of a tensor with gaps that are packed at a time.
_STAGE = 256 * 1024


def compile_gather(plan: GatherPlan) -> Write:
    """Compile a gather; if the result's runs have another order, through a temporary tensor."""
    runs = IndexRuns(plan.source.layout, plan.index_map)
    if not runs.can_view_result_as_runs(plan.result.layout):
        planned = Layout.packed(plan.result.layout.shape, plan.index_map.order)
        spec = TensorSpec(plan.result.dtype, planned, plan.result.device)
        gather_packed = compile_plan(replace(plan, result=spec, destinations=0))
        assign = compile_plan(AssignPlan(plan.name, spec, plan.result))
        return lambda out, *operands: assign(out, gather_packed(*operands))
    by_line = not plan.clamps and runs.is_by_line  # whose positions are checked line by line
    read = _make_line_reader(plan.name, runs) if by_line else choose_reader(runs)
    sizes = [plan.source.layout.shape[d] for d in plan.index_map.dims]

    def gather_into_out(out: Tensor, x: Tensor, *positions: Tensor) -> None:
        places = [p.memory for p in positions]
        if not by_line:
            places = normalize_positions(plan.name, places, sizes, clamps=plan.clamps)
        if out.memory.size:
            read(x.memory, places, out.memory)

    return gather_into_out


def compile_take(plan: GatherPlan) -> Run | None:
    """Compile a take from a small tensor without gaps to one NumPy call; None for other plans.

    It takes 2.9 us instead of 13.1.
    """
    runs = IndexRuns(plan.source.layout, plan.index_map)
    is_one_dim = len(plan.index_map.dims) == 1 and not plan.index_map.per_line and not plan.clamps
    if not (is_one_dim and runs.is_packed(runs.order) and plan.result.layout.size < MANY):
        return None
    spec, order, group, axis = plan.result, runs.order, runs.position_order, len(runs.outer)
    result_order = tuple([runs.major.index(d) for d in range(len(runs.major))])
    size = plan.source.layout.shape[plan.index_map.dims[0]]
    # NumPy reads the largest uint64 as -1, and does not check positions if the source is empty.
    must_check = plan.positions[0].dtype == np.uint64 or plan.source.layout.size == 0

    def take_elements(x: Tensor, positions: Tensor) -> Tensor:
        source, index = x.memory.transpose(order), positions.memory.transpose(group)
        try:
            elements = source.take(
                normalize_dim_positions(plan.name, index, size) if must_check else index, axis
            )
        except IndexError:
            raise position_error(plan.name, index, size) from None
        if not result_order:  # a scalar
            elements = np.asarray(elements)
        return Tensor._from_memory(elements.transpose(result_order), spec)

    return take_elements


# --- positions ---


def normalize_positions(
    name: str, positions: Positions, sizes: Sequence[int], *, clamps: bool = False
) -> list[Array]:
    """Return non-negative positions; out of bounds, clamp or raise IndexError."""
    pairs = zip(positions, sizes, strict=True)
    return [
        _clamp_positions(p, n) if clamps else normalize_dim_positions(name, p, n) for p, n in pairs
    ]


def normalize_dim_positions(name: str, positions: Array, size: int) -> Array:
    """Return non-negative positions in a dimension of `size`; raise IndexError out of bounds."""
    signed_positions = positions_clamped_to_intp(positions)
    # As unsigned integers negative positions are the largest, so one pass finds both kinds.
    if (
        signed_positions.size == 0
        or np.maximum.reduce(signed_positions.view(np.uintp), axis=None) < size
    ):
        return signed_positions
    if int(signed_positions.min()) < -size or int(signed_positions.max()) >= size:
        raise position_error(name, positions, size)
    return np.where(signed_positions < 0, signed_positions + size, signed_positions)


def _clamp_positions(positions: Array, size: int) -> Array:
    limits = np.iinfo(positions.dtype)  # the dtype may not hold the size
    inside = np.clip(positions, max(-size, limits.min), min(size - 1, limits.max))
    clamped = inside.astype(np.intp, copy=False)
    return np.where(clamped < 0, clamped + size, clamped)


def positions_clamped_to_intp(positions: Array) -> Array:
    """Return positions as intp; values that are too large stay out of bounds."""
    if positions.dtype == np.uint64:  # the only one whose values a signed index cannot hold
        positions = np.minimum(positions, np.uint64(np.iinfo(np.intp).max))
    return positions.astype(np.intp, copy=False)


def position_error(name: str, positions: Array, size: int) -> IndexError:
    """Return the error for out-of-bounds positions, which states one of them."""
    lowest, highest = int(positions.min()), int(positions.max())
    bad = lowest if lowest < -size else highest
    return prefix_operation_name(name, IndexError(f"index {bad} is out of bounds for size {size}"))


# --- runs ---


class IndexRuns:
    """Outer, indexed and inner dimensions of a layout under an index map, slowest first."""

    def __init__(self, layout: Layout, index_map: IndexMap) -> None:
        self.layout, self.index_map = layout, index_map
        self.major = tuple(reversed(index_map.order))
        if index_map.index_dims:
            begin = min(map(self.major.index, index_map.index_dims))
        else:  # rank-0 positions leave no dimension: take the place of the slowest indexed one
            begin = min(map(layout.minor_to_major[::-1].index, index_map.dims))
        end = begin + len(index_map.index_dims)
        tensor_dim = {result: d for d, result in index_map.kept}
        self.outer = tuple([tensor_dim[d] for d in self.major[:begin]])
        self.inner = tuple([tensor_dim[d] for d in self.major[end:]])
        self.indexed = tuple(sorted(index_map.dims, key=layout.minor_to_major.index, reverse=True))
        self.order = (*self.outer, *self.indexed, *self.inner)
        self._weights = [layout.strides[d] for d in index_map.dims]
        self._ends = self.element_count(self.outer), self.element_count(self.inner)
        # The dimensions of the positions themselves.
        self.position_order = tuple([d - index_map.index_dims[0] for d in self.major[begin:end]])
        # A row: the contiguous elements at the end of `inner`.
        near = len(self.inner) if index_map.per_line else 0
        while not self.is_packed(self.inner[near:]):
            near += 1
        self.row_length = self.element_count(self.inner[near:])
        self.dims_before_row = self.inner[:near]
        # Long contiguous lines with their own positions are read or written by one call each.
        side_by_side = self.is_packed(self.indexed) and self._ends[1] == 1
        long = self.element_count(index_map.dims) >= RUN
        self.is_by_line = index_map.per_line and side_by_side and long

    def element_count(self, dims: Sequence[int]) -> int:
        """Return the product of the sizes of some dimensions of the tensor."""
        return math.prod([self.layout.shape[d] for d in dims])

    def line_view(self, memory: Array) -> Array:
        """Return the tensor as lines along the last axis; `inner` must have one element."""
        key: Any = (..., *[0] * len(self.inner))
        return memory.transpose(self.order)[key]

    def is_packed(self, dims: Sequence[int]) -> bool:
        """Return whether `dims` are contiguous in memory, the last one the fastest."""
        step = 1
        for d in reversed(dims):
            n = self.layout.shape[d]
            if n > 1 and self.layout.strides[d] != step:
                return False
            step *= n
        return True

    def overlapping_rows(self, memory: Array, row_length: int = 1) -> Array:
        """Return overlapping rows: at each slot, `row_length` elements as one void element."""
        flat = flat_bytes_of_all_slots(memory, self.layout)
        if row_length == 1:
            return flat.view(memory.dtype)
        count = flat.size // memory.itemsize - row_length + 1
        return np.ndarray((count,), row_dtype(memory, row_length), flat, 0, (memory.itemsize,))

    def as_outer_middle_inner(self, array: Array) -> Array:
        """Return an array of the result's shape as (outer, middle, inner), copied if necessary."""
        transposed = array.transpose(self.major)
        outer, inner = self._ends
        shape = (outer, -1, inner)
        try:
            return transposed.reshape(shape, copy=False)
        except ValueError:
            return as_row_major_unless_vector(transposed).reshape(shape)

    def can_view_result_as_runs(self, layout: Layout) -> bool:
        """Return whether `as_outer_middle_inner` makes a view in this layout."""
        if not layout.size:
            return True
        outer, inner = self._ends
        ends = outer, layout.size // (outer * inner), inner
        return layout.permute(self.major).reshape(ends) is not None

    def slot_offsets(self, dims: tuple[int, ...]) -> Array:
        """Return the slot offsets of all indices in `dims`, in row-major order."""
        total = np.zeros(1, np.intp)
        for d in dims:
            steps = np.arange(self.layout.shape[d]) * self.layout.strides[d]
            total = (total[:, None] + steps).reshape(-1)
        return total

    def weighted_positions(self, positions: Positions, weights: Sequence[int]) -> Array:
        """Return the weighted sum of positions shared by all lines, of shape (1, middle, 1)."""
        weighted = [p * w if w != 1 else p for p, w in zip(positions, weights, strict=True)]
        total: Array = weighted[0]
        for more in weighted[1:]:
            total = total + more
        return total.transpose(self.position_order).reshape(1, -1, 1)

    def merged_positions(self, positions: Positions) -> Array:
        """Return flat positions in the indexed dimensions, which must be packed."""
        weight, weights = 1, {}
        for d in reversed(self.indexed):
            weights[d] = weight
            weight *= self.layout.shape[d]
        return self.weighted_positions(
            positions, [weights[d] for d in self.index_map.dims]
        ).reshape(-1)

    def slot_function(self, positions: Positions, row_length: int = 1) -> Callable[[Cut], Array]:
        """Return ``slots(cut)``: the slots of the elements or rows in a cut of the runs."""
        outer = self.slot_offsets(self.outer)[:, None, None]
        inner = self.slot_offsets(self.inner if row_length == 1 else self.dims_before_row)[
            None, None, :
        ]
        if self.layout.offset:
            outer = outer + self.layout.offset
        if not self.index_map.per_line:
            middle = self.weighted_positions(positions, self._weights)
            if outer.size == inner.size == 1 and not self.layout.offset and middle.dtype == np.intp:
                return lambda cut: _slice_broadcastable(middle, cut)
            return lambda cut: (
                _slice_broadcastable(outer, cut)
                + (_slice_broadcastable(middle, cut) + _slice_broadcastable(inner, cut))
            )
        (index,), (weight,) = map(self.as_outer_middle_inner, positions), self._weights

        def slots_of_cut(cut: Cut) -> Array:
            # There are as many positions as elements, so they are weighted one block at a time.
            element_slots: Array = index[cut] * weight
            element_slots += _slice_broadcastable(outer, cut) + _slice_broadcastable(inner, cut)
            return element_slots

        return slots_of_cut

    def cache_sized_cuts(self, shape: tuple[int, ...], row_length: int = 1) -> Iterator[list[Cut]]:
        """Yield groups of cuts that fit the cache; different groups are disjoint in memory."""
        outer, middle, inner = shape
        most = max(1, BLOCK // row_length)
        i = min(inner, _COLUMNS if self.index_map.per_line else most)
        m, o = max(1, most // i), max(1, most // (i * max(middle, 1)))
        for a in range(0, outer, o):
            for c in range(0, inner, i):
                rest = slice(c, c + i)
                yield [(slice(a, a + o), slice(b, b + m), rest) for b in range(0, middle, m)]

    def make_line_mover(self, name: str, make_line_move: Callable[[Array], MoveLines]) -> Move:
        """Return a mover of lines with positions of their own, checked a few lines at a time."""

        def move_all_lines(memory: Array, positions: Positions, other: Array) -> None:
            index, others = (
                self.as_outer_middle_inner(operand)[..., 0] for operand in (positions[0], other)
            )
            move = make_line_move(memory)

            def move_line_group(lines: Lines) -> None:
                move(lines, index[lines[0]], others[lines[0]])

            try:
                move_parts_in_threads(
                    self._line_groups(index.shape[1]), move_line_group, other.size
                )
            except IndexError:
                raise position_error(name, index, self.element_count(self.indexed)) from None

        return move_all_lines

    def _line_groups(self, length: int) -> Iterator[Lines]:
        """Yield all lines in groups whose positions fit the cache together."""
        count = max(1, 8 * BLOCK // max(length, 1))
        line_indices = itertools.product(*[range(self.layout.shape[d]) for d in self.outer])
        begin = 0
        while places := list(itertools.islice(line_indices, count)):
            yield slice(begin, begin + len(places)), places
            begin += len(places)


def row_dtype(array: Array, count: int) -> np.dtype[Any]:
    """Return a void dtype of `count` elements of an array; the array's dtype for one."""
    return np.dtype((np.void, count * array.itemsize)) if count > 1 else array.dtype


def view_rows_as_elements(array: Array, row_length: int) -> Array:
    """Return rows of `row_length` elements along the last axis as single elements."""
    if row_length > 1 and array.strides[-1] != array.itemsize:
        array = np.ascontiguousarray(array)
    return array.view(row_dtype(array, row_length))


def as_row_major_unless_vector(array: Array) -> Array:
    """Return `array` if it is C-contiguous or a vector, else a row-major copy."""
    if array.flags.c_contiguous or array.ndim < 2:
        return array
    copied, size = np.empty(array.shape, array.dtype), array.itemsize
    destination_strides, source_strides = [
        tuple([step // size for step in operand.strides]) for operand in (copied, array)
    ]
    choose_copy(array.shape, destination_strides, source_strides, size).run(copied, array)
    return copied


def _slice_broadcastable(array: Array, cut: Cut) -> Array:
    """Return a cut of an array that broadcasts; dimensions of size 1 stay whole."""
    pairs = zip(cut, array.shape, strict=True)
    return array[tuple([c if n > 1 else slice(None) for c, n in pairs])]


def move_parts_in_threads(
    parts: Iterable[Any], move: Callable[[Any], object], elements: int
) -> None:
    """Move each part, in several threads if there are many elements."""
    share_pieces(parts, move, None if elements >= MANY else 1)


# --- read strategies and the choice between them ---


def choose_reader(runs: IndexRuns) -> Move:
    """Return the cheapest ``read(memory, positions, out)``.

    `as_outer_middle_inner` must give a view of `out`.
    """
    inner, dims = runs.element_count(runs.inner), runs.index_map.dims
    if runs.index_map.per_line:
        return _make_slot_reader(runs)
    if runs.is_packed(runs.order):
        return _make_gapless_reader(runs)
    if len(dims) == 1 and not runs.outer and inner >= RUN:
        return _make_slice_per_position_reader(runs)
    is_one_dim = len(dims) == 1 and runs.element_count(runs.outer) == 1
    if is_one_dim and 1 < inner < RUN and runs.is_packed(runs.inner):
        return _make_row_reader(runs)
    staged = 1 < runs.element_count((*runs.indexed, *runs.inner)) <= _STAGE
    return _make_pack_then_take_reader(runs) if staged else _make_slot_reader(runs)


# Positions have been checked, so any mode of `take` is correct. "wrap" is the fastest (4096 cached
# float32 take 2.1 us, "clip" 2.7), and unlike "raise" it writes to `out` without a buffer.


def _make_gapless_reader(runs: IndexRuns) -> Move:
    """Return a reader for a tensor without gaps: one `take`, or one per block of lines."""
    shape = (
        runs.element_count(runs.outer),
        runs.element_count(runs.indexed),
        runs.element_count(runs.inner),
    )

    def gather_into_out(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged_positions(positions)
        source = memory.transpose(runs.order).reshape(shape)
        target = runs.as_outer_middle_inner(out)

        def take_block(cut: Key) -> None:
            lines, part = cut
            np.take(source[lines], index[part], axis=1, out=target[cut], mode="wrap")

        # Parts are contiguous in what is written.
        room = max(1, 8 * BLOCK // max(target.shape[2], 1))
        move_parts_in_threads(block_boxes(target.shape[:2], room), take_block, out.size)

    return gather_into_out


def _make_pack_then_take_reader(runs: IndexRuns) -> Move:
    """Return a reader that packs lines with gaps first, if at least a quarter is read."""
    length, inner = runs.element_count(runs.indexed), runs.element_count(runs.inner)
    outer, slots = tuple([runs.layout.shape[d] for d in runs.outer]), _make_slot_reader(runs)
    keys = block_boxes(outer, max(1, _STAGE // (length * inner)))

    def gather_into_out(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged_positions(positions)
        if 4 * index.size < length:
            slots(memory, positions, out)
            return
        source = memory.transpose(runs.order)
        target = runs.as_outer_middle_inner(out).reshape(*outer, index.size, inner, copy=False)

        def gather_block(key: Key) -> None:
            block_target, lines = target[key], as_row_major_unless_vector(source[key])
            lines = lines.reshape(*block_target.shape[:-2], length, inner)
            np.take(lines, index, axis=len(outer), out=block_target, mode="wrap")

        move_parts_in_threads(keys, gather_block, out.size)

    return gather_into_out


def _make_line_reader(name: str, runs: IndexRuns) -> Move:
    """Return a reader for lines with their own, unchecked positions: one call for a few lines.

    4096 lines of 4096 float32 take 24 ms; with a call per line 36, as threads wait for each other.
    """
    size = runs.element_count(runs.indexed)

    def make_line_gatherer(memory: Array) -> MoveLines:
        source, flat = runs.line_view(memory), runs.overlapping_rows(memory)
        begins = runs.slot_offsets(runs.outer)[:, None] + runs.layout.offset

        def gather_lines(lines: Lines, index: Array, target: Array) -> None:
            rows, places = lines
            inside = normalize_dim_positions(name, index, size)
            if len(places) == 1:  # a long line needs no sums
                source[places[0]].take(inside[0], out=target[0], mode="wrap")
            else:
                flat.take(inside + begins[rows], out=target, mode="wrap")

        return gather_lines

    return runs.make_line_mover(name, make_line_gatherer)


def _make_slice_per_position_reader(runs: IndexRuns) -> Move:
    """Return a reader that copies one long slice per position, for a tensor with gaps."""

    def gather_into_out(memory: Array, positions: Positions, out: Array) -> None:
        source, index = memory.transpose(runs.order), runs.merged_positions(positions)
        target = out.transpose(runs.major).reshape(index.size, *source.shape[1:])
        for place, position in enumerate(index.tolist()):
            target[place] = source[position]

    return gather_into_out


def _make_row_reader(runs: IndexRuns) -> Move:
    """Return a reader of separate contiguous rows, each as one element; short ones packed first."""
    inner, size = runs.element_count(runs.inner), runs.element_count(runs.indexed)

    def gather_into_out(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged_positions(positions)
        rows = memory.transpose(runs.order).reshape(size, inner)
        target = runs.as_outer_middle_inner(out)[0]
        together = inner * memory.itemsize < _LONG and 4 * index.size >= size
        row_elements = view_rows_as_elements(
            as_row_major_unless_vector(rows) if together else rows, inner
        )[:, 0]

        def gather_rows(cut: slice) -> None:
            places = index[cut]
            selected_rows = (
                row_elements.take(places, mode="wrap") if together else row_elements[places]
            )
            target[cut] = selected_rows.view(memory.dtype).reshape(-1, inner)

        move_parts_in_threads(
            axis_slices(index.size, max(1, 4 * BLOCK // inner)), gather_rows, out.size
        )

    return gather_into_out


def _make_slot_reader(runs: IndexRuns) -> Move:
    """Return a reader for any layout: by the slot of every element or long row."""

    def gather_into_out(memory: Array, positions: Positions, out: Array) -> None:
        target = runs.as_outer_middle_inner(out)
        long = runs.row_length * memory.itemsize >= _LONG and target.strides[2] == target.itemsize
        row = runs.row_length if long else 1
        target_rows = target.view(row_dtype(target, row)) if row > 1 else target
        rows, slots = runs.overlapping_rows(memory, row), runs.slot_function(positions, row)

        def gather_slots(cut: Cut) -> None:
            target_rows[cut] = rows[slots(cut)] if row > 1 else rows.take(slots(cut), mode="wrap")

        move_parts_in_threads(
            itertools.chain.from_iterable(runs.cache_sized_cuts(target_rows.shape, row)),
            gather_slots,
            out.size,
        )

    return gather_into_out
