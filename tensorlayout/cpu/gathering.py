"""Reads and writes at positions that are data.

Every such call is three nested runs: the dimensions slower than the positions (*outer*), the
positions (*middle*), the dimensions faster than them (*inner*). The slot of an element is a sum
over the three; where memory allows, whole runs are moved instead.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorlayout.cpu.copy import choose_copy
from tensorlayout.cpu.copy_threads import Piece, available_threads, share_pieces
from tensorlayout.cpu.memory import Array, allocator, bytes_from, quietly
from tensorlayout.cpu.moving import converted, prepare_assign, scalar_in
from tensorlayout.layout import Layout
from tensorlayout.plan import Run
from tensorlayout.plan.combining import CombinePlan
from tensorlayout.plan.gathering import GatherPlan, Reach, ReplacePlan, ScatterPlan
from tensorlayout.plan.moving import AssignPlan
from tensorlayout.tensor import Tensor

# Elements whose slots are worked out at a time, so that they are read from the cache: 4 M elements
# x[i, j] take 26 ms so, 44 to 97 by NumPy's own indexing (2026-11-21, 2-core AMD EPYC (Zen 4),
# numpy 2.4.6).
_BLOCK = 16 * 1024

# Elements from which on moving a run by a call of its own is cheaper than by slots: a call costs
# about a microsecond, a slot two nanoseconds.
_RUN = 512

# Bytes from which on a row is read where it is: 4 M float32 in rows of 2 with a gap behind each
# take 20 ms brought together first and 65 where they are; in rows of 16, 6.3 and 9.0; of 64, 2.6
# and 2.1.
_LONG = 128

# Elements of a run from which on NumPy's own loops write there faster than slots do; and for one
# value everywhere.
_SLICED, _FILLED = 32, 16

# Elements of a tensor with gaps that are brought together at once.
_STAGE = 256 * 1024

# Offsets that a plan keeps: to make them takes longer than to move so few elements.
_FEW = 512

# Neighbouring lines that are read at once where every line has positions of its own.
_COLUMNS = 64

Positions = Sequence[Array]  # one array for each indexed dimension, all from 0 up
Read = Callable[[Array, Positions, Array], None]
Write = Callable[[Array, Positions, Array], None]


def prepare_gather(plan: GatherPlan) -> Run:
    """Read; nothing is read at a position that has not been checked."""
    runs = _Runs(plan.source.layout, plan.reach)
    if _is_take(plan, runs):
        return _take(plan, runs)
    spec, allocate = plan.result, allocator(plan.result)
    read = _checked_reader(plan, runs)

    def gather(x: Tensor, *positions: Tensor) -> Tensor:
        memory, _ = allocate()
        read(x._memory, [p._memory for p in positions], memory)
        return Tensor._new(memory, spec)

    return gather


def prepare_gather_into(plan: GatherPlan, destination: Layout) -> Run | None:
    """The same into a tensor given first; None where its layout is not as the runs need it."""
    runs = _Runs(plan.source.layout, plan.reach)
    if not runs.fit(destination):
        return None
    read = _checked_reader(plan, runs)

    def gather(result: Tensor, x: Tensor, *positions: Tensor) -> Tensor:
        read(x._memory, [p._memory for p in positions], result._memory)
        return result

    return gather


def _checked_reader(plan: GatherPlan, runs: _Runs) -> Read:
    """The cheapest way to read at positions that may be outside or count from the end."""
    if plan.reach.along and not plan.clamps and _is_by_line(runs):
        return _read_lines(plan.name, runs)
    sizes = [plan.source.layout.shape[d] for d in plan.reach.dims]
    read, places_of = reader(plan.source.layout, plan.reach), _places(plan)

    def checked(memory: Array, positions: Positions, out: Array) -> None:
        places = places_of(positions, sizes)
        if out.size:
            read(memory, places, out)

    return checked


def _is_take(plan: GatherPlan, runs: _Runs) -> bool:
    one = len(plan.reach.dims) == 1 and not plan.reach.along and not plan.clamps
    return one and runs.packed(runs.order)


def _take(plan: GatherPlan, runs: _Runs) -> Run:
    """One indexed dimension of a tensor without gaps: one call, which also checks positions."""
    spec, order, group, axis = plan.result, runs.order, runs.group, len(runs.outer)
    back = tuple(runs.major.index(d) for d in range(len(runs.major)))
    size = plan.source.layout.shape[plan.reach.dims[0]]
    # NumPy takes the greatest of uint64 for -1, and looks at no position if there is no line.
    unseen = plan.positions[0].dtype == np.uint64 or plan.source.layout.size == 0

    def take(x: Tensor, positions: Tensor) -> Tensor:
        source, index = x._memory.transpose(order), positions._memory.transpose(group)
        try:
            found = source.take(_checked_one(plan.name, index, size) if unseen else index, axis)
        except IndexError:
            raise outside(plan.name, index, size) from None
        if not back:  # a scalar
            found = np.asarray(found)
        return Tensor._new(found.transpose(back), spec)

    return take


def prepare_scatter(plan: ScatterPlan) -> Run:
    """Write, as if the value had been copied first.

    Every position is checked before; but long lines with positions of their own, a few at a time.
    """
    layout, reach = plan.result.layout, plan.reach
    runs, sizes = _Runs(layout, reach), [layout.shape[d] for d in reach.dims]
    by_line = reach.along and _is_by_line(runs)
    write = _write_lines(plan.name, runs) if by_line else writer(layout, reach)

    def scatter(x: Tensor, value: Any, *positions: Tensor) -> Tensor:
        places = [p._memory for p in positions]
        if not by_line:
            places = _checked(plan.name, places, sizes)
        if 0 not in plan.shape:
            write(x._memory, places, broadcast(value_in(plan.name, x, value), plan.shape))
        return x

    return scatter


def prepare_replace(plan: ReplacePlan) -> Run:
    """Copied, then written at positions."""
    name, result = plan.scatter.name, plan.result
    copy = prepare_assign(AssignPlan(name, plan.source, result))
    scatter = prepare_scatter(plan.scatter)
    return lambda to, x, value, *positions: scatter(copy(to, x), value, *positions)


def prepare_combine(plan: CombinePlan) -> Run:
    """A packed copy, and what is at positions combined with values one after the other."""
    spec, reach = plan.result, plan.reach
    size, ufunc = spec.layout.shape[reach.dims[0]], getattr(np, plan.ufunc)
    runs, allocate = _Runs(spec.layout, reach), allocator(spec)
    weights = [spec.layout.strides[reach.dims[0]]]

    def combine(x: Tensor, value: Tensor, positions: Tensor) -> Tensor:
        index = _checked_one(plan.name, positions._memory, size)
        memory, _ = allocate()
        np.copyto(memory, x._memory)
        if 0 not in plan.shape:
            index = np.broadcast_to(index, plan.shape) if reach.along else index
            values = runs.in_runs(broadcast(converted(value._memory, spec.dtype), plan.shape))
            flat = bytes_from(memory, spec.layout).view(spec.dtype)
            slots = _slots(runs, [index], weights, runs.inner)
            for cut in itertools.chain.from_iterable(_line_cuts(values.shape, 1)):
                # Of one dimension NumPy is ten times faster.
                quietly(ufunc.at, flat, slots(cut).reshape(-1), values[cut].reshape(-1))
        return Tensor._new(memory, spec)

    return combine


def _places(plan: GatherPlan) -> Callable[[Positions, Sequence[int]], list[Array]]:
    return _nearest if plan.clamps else functools.partial(_checked, plan.name)


def _nearest(positions: Positions, sizes: Sequence[int]) -> list[Array]:
    """Positions counted from the front; for one that is outside, the nearest that is not."""
    return [_nearest_one(p, n) for p, n in zip(positions, sizes, strict=True)]


def _nearest_one(positions: Array, size: int) -> Array:
    limits = np.iinfo(positions.dtype)  # which may be narrower than sizes
    inside = np.clip(positions, max(-size, limits.min), min(size - 1, limits.max))
    found = inside.astype(np.intp, copy=False)
    return np.where(found < 0, found + size, found)


def _checked(name: str, positions: Positions, sizes: Sequence[int]) -> list[Array]:
    """Positions counted from the front. IndexError for one that is outside."""
    return [_checked_one(name, p, n) for p, n in zip(positions, sizes, strict=True)]


def _checked_one(name: str, positions: Array, size: int) -> Array:
    found = _signed(positions)
    # Seen as unsigned, negative ones are the greatest: one look in place of two.
    if found.size == 0 or np.maximum.reduce(found.view(np.uintp), axis=None) < size:
        return found
    if int(found.min()) < -size or int(found.max()) >= size:
        raise outside(name, positions, size)
    return np.where(found < 0, found + size, found)


def _signed(positions: Array) -> Array:
    """Positions as NumPy indexes with them; what is too large for that stays outside."""
    if positions.dtype == np.uint64:  # the only one whose values a signed index cannot hold
        positions = np.minimum(positions, np.uint64(np.iinfo(np.intp).max))
    return positions.astype(np.intp, copy=False)


def outside(name: str, positions: Array, size: int) -> IndexError:
    """The error for positions some of which are outside: it names one."""
    lowest, highest = int(positions.min()), int(positions.max())
    bad = lowest if lowest < -size else highest
    return IndexError(f"{name}: index {bad} is outside a dimension of size {size}")


@contextlib.contextmanager
def _naming_one(name: str, positions: Array, size: int) -> Iterator[None]:
    """An IndexError becomes that for all positions, whatever thread met which."""
    try:
        yield
    except IndexError:
        raise outside(name, positions, size) from None


def value_in(name: str, x: Tensor, value: Any) -> Array:
    """What is to be written, in the dtype of `x` and apart from its memory."""
    if not isinstance(value, Tensor):
        return np.asarray(quietly(scalar_in, name, x.dtype, value))
    source: Array = value._memory
    if source.dtype != x.dtype:
        return converted(source, x.dtype)
    return source.copy() if np.may_share_memory(source, x._memory) else source


def broadcast(value: Array, shape: tuple[int, ...]) -> Array:
    """`value` broadcast to `shape`; leading dimensions of size 1 that are too many go."""
    surplus = max(value.ndim - len(shape), 0)
    return np.broadcast_to(value.reshape(value.shape[surplus:]), shape)


def repeated(counts: Array) -> Array:
    """Each position as often as `counts` says, in ascending order."""
    if 8 * counts.sum(dtype=np.float64) >= sys.maxsize:  # bytes; NumPy's own sum wraps
        raise MemoryError
    return np.repeat(np.arange(counts.size), counts)


class _Runs:
    """The three runs of a layout and a reach: dimensions of the tensor, slowest first."""

    def __init__(self, layout: Layout, reach: Reach) -> None:
        self.layout, self.reach = layout, reach
        self._kept: dict[tuple[int, ...], Array] = {}  # offsets, for calls of few elements
        self.major = tuple(reversed(reach.order))
        if reach.span:
            begin = min(map(self.major.index, reach.span))
        else:  # positions of rank 0, that leave no dimension: where the slowest was that they index
            begin = min(map(layout.minor_to_major[::-1].index, reach.dims))
        end = begin + len(reach.span)
        tensor_dim = {result: d for d, result in reach.kept}
        self.outer = tuple(tensor_dim[d] for d in self.major[:begin])
        self.inner = tuple(tensor_dim[d] for d in self.major[end:])
        self.indexed = tuple(sorted(reach.dims, key=layout.minor_to_major.index, reverse=True))
        self._ends = self.size(self.outer), self.size(self.inner)
        # The dimensions of the positions themselves.
        self.group = tuple(d - reach.span[0] for d in self.major[begin:end])
        # Elements side by side at the end of `inner`: a row, and the dimensions before it.
        near = next(k for k in range(len(self.inner) + 1) if self.packed(self.inner[k:]))
        self.row, self.far = self.size(self.inner[near:]), self.inner[:near]

    @property
    def order(self) -> tuple[int, ...]:
        """The dimensions of the tensor as the runs take them."""
        return (*self.outer, *self.indexed, *self.inner)

    def size(self, dims: Sequence[int]) -> int:
        return math.prod(self.layout.shape[d] for d in dims)

    def lines(self, memory: Array) -> Array:
        """The tensor as lines, which lie along the last axis; `inner` has one element."""
        key: Any = (..., *[0] * len(self.inner))
        found: Array = memory.transpose(self.order)[key]
        return found

    def packed(self, dims: Sequence[int]) -> bool:
        """Whether the elements along `dims`, the last the fastest, lie side by side."""
        step = 1
        for d in reversed(dims):
            n = self.layout.shape[d]
            if n > 1 and self.layout.strides[d] != step:
                return False
            step *= n
        return True

    def rows(self, memory: Array) -> Array:
        """The row that begins at each slot, from the lowest on, as one element; they overlap."""
        flat = bytes_from(memory, self.layout)
        if self.row == 1:
            return flat.view(memory.dtype)
        count = flat.size // memory.itemsize - self.row + 1
        return np.ndarray((count,), _row_of(memory, self.row), flat, 0, (memory.itemsize,))

    def in_runs(self, array: Array) -> Array:
        """An array of the result's shape as (outer, middle, inner); a copy if it must be."""
        found = array.transpose(self.major)
        outer, inner = self._ends
        shape = (outer, -1, inner)
        try:
            return found.reshape(shape, copy=False)
        except ValueError:
            return contiguous(found).reshape(shape)

    def fit(self, layout: Layout) -> bool:
        """Whether a result in this layout is seen `in_runs` without a copy."""
        if not layout.size:
            return True
        inner = self.size(self.inner)
        shape = (self.size(self.outer), -1, inner)
        sizes = [layout.shape[d] for d in self.major]
        middle = math.prod(sizes) // (shape[0] * inner)
        turned = layout.permute(self.major)
        return turned.reshape((shape[0], middle, inner)) is not None

    def offsets(self, dims: Sequence[int]) -> Array:
        """The slots from an element to those that differ from it in `dims`, in order."""
        kept = self._kept.get(tuple(dims))
        if kept is not None:
            return kept
        total: Array = np.zeros(1, np.intp)
        for d in dims:
            steps = np.arange(self.layout.shape[d]) * self.layout.strides[d]
            total = (total[:, None] + steps).reshape(-1)
        if total.size <= _FEW:
            self._kept[tuple(dims)] = total
        return total

    def middle(self, positions: Positions, weights: Sequence[int]) -> Array:
        """The weighted sum of positions that are the same for all lines, as (1, middle, 1)."""
        weighted = [p * w if w != 1 else p for p, w in zip(positions, weights, strict=True)]
        total: Array = weighted[0]
        for more in weighted[1:]:
            total = total + more
        return total.transpose(self.group).reshape(1, -1, 1)

    def merged(self, positions: Positions) -> Array:
        """Positions in the indexed dimensions as one, which must be packed."""
        weight, weights = 1, {}
        for d in reversed(self.indexed):
            weights[d] = weight
            weight *= self.layout.shape[d]
        return self.middle(positions, [weights[d] for d in self.reach.dims])


def _row_of(array: Array, count: int) -> np.dtype[Any]:
    """What holds `count` elements of an array as one that NumPy only moves."""
    return np.dtype((np.void, count * array.itemsize)) if count > 1 else array.dtype


def _in_rows(array: Array, count: int) -> Array:
    """Elements in rows of `count` along the last axis, each as one; a copy if it must be."""
    if count > 1 and array.strides[-1] != array.itemsize:
        array = np.ascontiguousarray(array)
    return array.view(_row_of(array, count))


def contiguous(array: Array) -> Array:
    """`array` itself if its memory is in row-major order, else such a copy."""
    if array.flags.c_contiguous or array.ndim < 2:
        return array
    found = np.empty(array.shape, array.dtype)
    size = array.itemsize
    copy = choose_copy(
        array.shape,
        tuple(s // size for s in found.strides),
        tuple(s // size for s in array.strides),
        size,
    )
    copy.run(found, array)
    return found


def reader(layout: Layout, reach: Reach) -> Read:
    """``read(memory, positions, out)`` by the cheapest way, for an `out` packed as `reach` says."""
    runs = _Runs(layout, reach)
    inner = runs.size(runs.inner)
    if reach.along:
        return _read_slots(runs)
    if runs.packed(runs.order):
        return _read_packed(runs)
    if len(reach.dims) == 1 and not runs.outer and inner >= _RUN:
        return _read_slices(runs)
    one = len(reach.dims) == 1 and runs.size(runs.outer) == 1
    if one and 1 < inner < _RUN and runs.packed(runs.inner):
        return _read_rows(runs)
    staged = 1 < runs.size((*runs.indexed, *runs.inner)) <= _STAGE
    return _read_staged(runs) if staged else _read_slots(runs)


def _is_by_line(runs: _Runs) -> bool:
    """Whether lines that have positions of their own are long, their elements side by side."""
    side_by_side = runs.packed(runs.indexed) and runs.size(runs.inner) == 1
    return side_by_side and runs.size(runs.reach.dims) >= _RUN


# All positions are inside: "wrap" is then the fastest mode (4096 float32 in the cache 2.1 us,
# "clip" 2.7), and unlike "raise" it writes to `out` without a buffer.


def _read_packed(runs: _Runs) -> Read:
    """One call for a tensor without gaps."""
    shape = (runs.size(runs.outer), runs.size(runs.indexed), runs.size(runs.inner))

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions).reshape(-1)
        source = memory.transpose(runs.order).reshape(shape)
        np.take(source, index, axis=1, out=runs.in_runs(out), mode="wrap")

    return read


def _read_staged(runs: _Runs) -> Read:
    """One call for each block of lines that is brought together first: a tensor with gaps.

    Only if at least a quarter of each line is wanted; else by slots.
    """
    length, inner = runs.size(runs.indexed), runs.size(runs.inner)
    outer, slots = [runs.layout.shape[d] for d in runs.outer], _read_slots(runs)
    blocks = list(_leading_blocks(outer, max(1, _STAGE // (length * inner))))
    begins = [0, *itertools.accumulate(_count(block, outer) for block in blocks)]

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions).reshape(-1)
        if 4 * index.size < length:
            slots(memory, positions, out)
            return
        source, target = memory.transpose(runs.order), runs.in_runs(out)

        def move(piece: tuple[Any, int]) -> None:
            block, begin = piece
            lines = contiguous(source[block]).reshape(-1, length, inner)
            to = target[begin : begin + lines.shape[0]]
            np.take(lines, index, axis=1, out=to, mode="wrap")

        _shared(zip(blocks, begins, strict=False), move, out.size)

    return read


def _count(block: tuple[Any, ...], sizes: Sequence[int]) -> int:
    """How many indices there are in a block of dimensions of these sizes."""
    if not block:
        return 1
    last = block[-1].indices(sizes[len(block) - 1])
    return len(range(*last)) * math.prod(sizes[len(block) :])


def _leading_blocks(sizes: Sequence[int], count: int) -> Iterator[tuple[Any, ...]]:
    """Indices that cut dimensions into row-major blocks of at most `count`, in order."""
    if not sizes:
        yield ()
        return
    behind = math.prod(sizes[1:])
    if behind > count:
        for i in range(sizes[0]):
            for rest in _leading_blocks(sizes[1:], count):
                yield (i, *rest)
    else:
        step = max(1, count // max(behind, 1))
        for i in range(0, sizes[0], step):
            yield (slice(i, i + step),)


def _read_lines(name: str, runs: _Runs) -> Read:
    """A call for a few lines, which have positions of their own; these are not checked yet.

    They are checked a few lines at a time, and so read from memory once. 4096 lines of 4096
    float32: 24 ms so, 36 by a call for each line, as threads wait for each other between calls
    (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
    """
    outer = [runs.layout.shape[d] for d in runs.outer]
    size = runs.size(runs.indexed)

    def read(memory: Array, positions: Positions, out: Array) -> None:
        if not out.size:
            return  # there are no positions either
        index, target = runs.in_runs(positions[0])[..., 0], runs.in_runs(out)[..., 0]
        source = runs.lines(memory)
        flat = bytes_from(memory, runs.layout).view(memory.dtype)
        begins = runs.offsets(runs.outer)[:, None] + runs.layout.offset

        def move(lines: Lines) -> None:
            rows, places = lines
            inside = _checked_one(name, index[rows], size)
            if len(places) == 1:  # a long line needs no sums
                source[places[0]].take(inside[0], out=target[rows][0], mode="wrap")
            else:
                flat.take(inside + begins[rows], out=target[rows], mode="wrap")

        with _naming_one(name, index, size):
            _shared(_lines(outer, index.shape[1]), move, out.size)

    return read


def _read_slices(runs: _Runs) -> Read:
    """One copy for each position: long slices of a tensor with gaps."""

    def read(memory: Array, positions: Positions, out: Array) -> None:
        source = memory.transpose(runs.order)
        index = runs.merged(positions).reshape(-1)
        target = out.transpose(runs.major).reshape(index.size, *source.shape[1:])
        for place, position in enumerate(index.tolist()):
            target[place] = source[position]

    return read


def _read_rows(runs: _Runs) -> Read:
    """Rows without gaps that lie apart: a row counts as one element, whatever it holds.

    Short ones are brought together first, if at least a quarter of them is wanted.
    """
    inner, size = runs.size(runs.inner), runs.size(runs.indexed)

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions).reshape(-1)
        rows, target = memory.transpose(runs.order).reshape(size, inner), runs.in_runs(out)[0]
        together = inner * memory.itemsize < _LONG and 4 * index.size >= size
        each = _in_rows(contiguous(rows) if together else rows, inner)[:, 0]

        def move(cut: slice) -> None:
            places = index[cut]
            found = each.take(places, mode="wrap") if together else each[places]
            target[cut] = found.view(memory.dtype).reshape(-1, inner)

        step = max(1, 4 * _BLOCK // inner)
        cuts = (slice(begin, begin + step) for begin in range(0, index.size, step))
        _shared(cuts, move, out.size)

    return read


def _read_slots(runs: _Runs) -> Read:
    """The slot of every element, or of every long row, whatever the layout."""
    weights = [runs.layout.strides[d] for d in runs.reach.dims]

    def read(memory: Array, positions: Positions, out: Array) -> None:
        target = runs.in_runs(out)
        if _is_long(runs, memory) and target.strides[2] == target.itemsize:
            rows, to = runs.rows(memory), _in_rows(target, runs.row)
            slots = _slots(runs, positions, weights, runs.far)

            def move(cuts: Iterable[Cut]) -> None:
                for cut in cuts:
                    to[cut] = rows[slots(cut)]

            _shared(_groups(runs, to.shape, runs.row), move, out.size)
            return
        flat = bytes_from(memory, runs.layout).view(memory.dtype)
        slots = _slots(runs, positions, weights, runs.inner)

        def move_each(cuts: Iterable[Cut]) -> None:
            for cut in cuts:
                target[cut] = flat.take(slots(cut), mode="wrap")

        _shared(_groups(runs, target.shape, 1), move_each, out.size)

    return read


def _is_long(runs: _Runs, memory: Array) -> bool:
    return not runs.reach.along and runs.row * memory.itemsize >= _LONG


def writer(layout: Layout, reach: Reach) -> Write:
    """``write(memory, positions, value)``, in index order of the positions."""
    turned = {d: result for d, result in reach.kept if layout.strides[d] < 0}
    if turned and not reach.along:  # forwards, rows of several elements may lie side by side
        forwards = layout.flip(list(turned))
        assert forwards is not None, "strided layouts have every flip"
        write = _writer_of(_Runs(forwards, reach))
        there = _turn(turned.keys(), layout.ndim)

        def write_turned(memory: Array, positions: Positions, value: Array) -> None:
            write(memory[there], positions, value[_turn(turned.values(), value.ndim)])

        return write_turned
    return _writer_of(_Runs(layout, reach))


def _turn(dims: Collection[int], ndim: int) -> tuple[slice, ...]:
    return tuple(slice(None, None, -1 if d in dims else 1) for d in range(ndim))


def _writer_of(runs: _Runs) -> Write:
    reach, inner = runs.reach, runs.size(runs.inner)
    if reach.along:
        return _write_slots(runs)
    one = len(reach.dims) == 1
    if runs.size(runs.outer) == 1 and (
        runs.packed(runs.order) or (one and runs.packed(runs.inner))
    ):
        return _write_rows(runs)
    return _write_slices(runs) if one and inner >= _FILLED else _write_slots(runs)


def _write_rows(runs: _Runs) -> Write:
    """One call for a tensor whose rows have no gaps, and lie evenly apart.

    A row counts as one element, whatever it holds: 2 M rows of 2 float32 take 14 ms so, and NumPy
    84 (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
    """
    inner = runs.size(runs.inner)
    shape = (runs.size(runs.indexed), inner)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        index = runs.merged(positions).reshape(-1)
        target, values = memory.transpose(runs.order).reshape(shape), runs.in_runs(value)[0]
        _in_rows(target, inner)[:, 0][index] = _each_row(values, inner)

    return write


def _write_lines(name: str, runs: _Runs) -> Write:
    """One call for each line, which has positions of its own; NumPy checks them, line by line."""
    outer = [runs.layout.shape[d] for d in runs.outer]
    size = runs.size(runs.indexed)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        index, values = runs.in_runs(positions[0])[..., 0], runs.in_runs(value)[..., 0]
        target = runs.lines(memory)

        def move(lines: Lines) -> None:
            rows, places = lines
            for place, line, new in zip(places, _signed(index[rows]), values[rows], strict=True):
                target[place][line] = new

        with _naming_one(name, index, size):
            _shared(_lines(outer, index.shape[1]), move, value.size)

    return write


def _write_slices(runs: _Runs) -> Write:
    """Slices of a tensor with gaps, or behind others, which NumPy writes well by itself."""
    head = [slice(None)] * len(runs.outer)
    each = runs.size(runs.inner) < _SLICED
    slots = _write_slots(runs)

    def write(memory: Array, positions: Positions, value: Array) -> None:
        one = _is_one(value)
        if each and not one:
            slots(memory, positions, value)
            return
        target = memory.transpose(runs.order)
        # NumPy may go backwards through what is not contiguous, and the last one is to win.
        index = np.ascontiguousarray(runs.merged(positions).reshape(-1))
        shape = (*target.shape[: len(head)], index.size, *target.shape[len(head) + 1 :])
        new = value[(0,) * value.ndim] if one else value.transpose(runs.major).reshape(shape)
        key: Any = (*head, index)
        target[key] = new

    return write


def _write_slots(runs: _Runs) -> Write:
    """The slot of every element, or of every row, whatever the layout."""
    weights = [runs.layout.strides[d] for d in runs.reach.dims]
    row = 1 if runs.reach.along else runs.row
    far = runs.inner if row == 1 else runs.far

    def write(memory: Array, positions: Positions, value: Array) -> None:
        rows = runs.rows(memory) if row > 1 else bytes_from(memory, runs.layout).view(memory.dtype)
        values = runs.in_runs(value)
        one = _each_row(values[0], row) if _is_one(values) else None
        slots = _slots(runs, positions, weights, far)

        def move(cuts: Iterable[Cut]) -> None:
            for cut in cuts:
                new = _in_rows(values[_widened(cut, row)], row) if one is None else one
                # Of one dimension: 4096 x 4096 float32 along the first axis, processor time, 150 ms
                # so, 190 with slots and values of three (2026-11-21, 2-core
                # AMD EPYC (Zen 4), numpy 2.4.6).
                rows[slots(cut).reshape(-1)] = new.reshape(-1) if new.ndim else new

        # What threads share are lines, which do not meet.
        shape = (*values.shape[:2], values.shape[2] // row)
        groups = _column_cuts(shape) if runs.reach.along else _line_cuts(shape, row)
        _shared(groups, move, value.size)

    return write


def _is_one(values: Array) -> bool:
    """Whether all elements are one."""
    return not any(values.strides)


def _each_row(values: Array, row: int) -> Array:
    """The rows of an array of two dimensions, or of rank 0 where one element is all of them.

    NumPy writes 4 M float32 in 25 ms from an array of rank 0, in 53 from one that repeats its
    element (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
    """
    if _is_one(values):
        return _in_rows(np.ascontiguousarray(values[0, :row]), row)[0, ...]
    found: Array = _in_rows(values, row)[:, 0]
    return found


Cut = tuple[slice, ...]


def _slots(
    runs: _Runs, positions: Positions, weights: Sequence[int], inner_dims: Sequence[int]
) -> Callable[[Cut], Array]:
    """What gives the slots of a cut of the runs: of elements, or of rows, if those lie apart."""
    outer, inner = runs.offsets(runs.outer)[:, None, None], runs.offsets(inner_dims)[None, None, :]
    if runs.layout.offset:
        outer = outer + runs.layout.offset
    if not runs.reach.along:
        middle = runs.middle(positions, weights)
        return lambda cut: _part(outer, cut) + (_part(middle, cut) + _part(inner, cut))
    (index,), (weight,) = map(runs.in_runs, positions), weights

    def slots(cut: Cut) -> Array:
        """There are as many positions as elements: they stay as they are until they are met."""
        found: Array = index[cut] * weight
        found += _part(outer, cut) + _part(inner, cut)
        return found

    return slots


def _groups(runs: _Runs, shape: tuple[int, ...], row: int) -> Iterator[Iterable[Cut]]:
    """Cuts of all that is read, in groups for threads."""
    if runs.reach.along:
        return _column_cuts(shape)
    return ((cut,) for group in _line_cuts(shape, row) for cut in group)


def _widened(cut: Cut, row: int) -> Cut:
    """A cut that counts rows, in elements."""
    *others, last = cut
    return (*others, slice(last.start * row, last.stop * row))


def _part(array: Array, cut: tuple[slice, ...]) -> Array:
    """The cut of an array that broadcasts: all of its dimensions of size 1."""
    return array[tuple(c if n > 1 else slice(None) for c, n in zip(cut, array.shape, strict=True))]


def _line_cuts(shape: tuple[int, ...], row: int) -> Iterator[list[Cut]]:
    """Cuts of a row-major block of rows into contiguous parts, in order, grouped by `outer`."""
    outer, middle, inner = shape
    most = max(1, _BLOCK // row)
    i = min(inner, most)
    m = max(1, min(middle, most // inner))
    o = max(1, most // (inner * middle))
    for a in range(0, outer, o):
        yield [
            (slice(a, a + o), slice(b, b + m), slice(c, c + i))
            for b in range(0, middle, m)
            for c in range(0, inner, i)
        ]


def _column_cuts(shape: tuple[int, ...]) -> Iterator[list[Cut]]:
    """Cuts of a few neighbouring lines at a time: what they read stays cached."""
    outer, middle, inner = shape
    columns = min(inner, _COLUMNS)
    m = max(1, _BLOCK // columns)
    o = max(1, _BLOCK // (columns * max(middle, 1)))
    for a in range(0, outer, o):
        for c in range(0, inner, columns):
            yield [
                (slice(a, a + o), slice(b, b + m), slice(c, c + columns))
                for b in range(0, middle, m)
            ]


# ---- Threads

# NumPy releases the interpreter lock while it reads and writes at positions; from so many elements
# on, threads share the work.
_MANY = 256 * 1024


def _shared(pieces: Iterator[Piece], move: Callable[[Piece], None], elements: int) -> None:
    """Each piece moved, by several threads where there are many elements."""
    share_pieces(pieces, move, available_threads() if elements >= _MANY else 1)


# Lines that a thread takes at a time: their numbers, and their indices in the outer dimensions.
Lines = tuple[slice, list[tuple[int, ...]]]


def _lines(outer: Sequence[int], length: int) -> Iterator[Lines]:
    """All lines, as many at a time as have positions that stay cached."""
    count = max(1, 8 * _BLOCK // max(length, 1))
    each, begin = itertools.product(*map(range, outer)), 0
    while places := list(itertools.islice(each, count)):
        yield slice(begin, begin + len(places)), places
        begin += len(places)
