"""Reads at positions that are data, checked before anything is moved; and what writes share.

Each position must be inside its dimension, or counts from its end. Three runs are read and
written: the dimensions slower than the positions (*outer*), the positions (*middle*), the
dimensions faster than them (*inner*). The slot of an element is a sum over the three; where memory
allows, whole runs are moved instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlayout.cpu.copy.choose import choose_copy
from tensorlayout.cpu.engine.memory import Array, bytes_from
from tensorlayout.cpu.engine.sharing import pieces, share_pieces
from tensorlayout.cpu.reduce.fold import Key, blocks
from tensorlayout.errors import named
from tensorlayout.layout import Layout
from tensorlayout.plan import AssignPlan, GatherPlan, IndexMap, Run, Write, carried_out
from tensorlayout.tensor import Tensor, TensorSpec

Positions = Sequence[Array]  # one array for each indexed dimension
Cut = tuple[slice, ...]

# ``move(memory, positions, other)``: reads into `other`, or writes it.
Move = Callable[[Array, Positions, Array], None]

# Lines that a thread takes at a time: their numbers, and their indices in the outer dimensions.
Lines = tuple[slice, list[tuple[int, ...]]]

# Moves such lines between a tensor and what is read or written there, by their positions.
MoveLines = Callable[[Lines, Array, Array], None]

# Elements whose slots are worked out at a time, so that they are read from the cache: 4 M elements
# x[i, j] take 26 ms so, 44 to 97 by NumPy's own indexing.
BLOCK = 16 * 1024

# Elements from which on moving a run by a call of its own is cheaper than by slots: a call costs
# about a microsecond, a slot two nanoseconds.
RUN = 512

# NumPy releases the interpreter lock while it reads and writes at positions; from so many elements
# on, threads share the work.
MANY = 256 * 1024

# Neighbouring lines that are read at once where every line has positions of its own.
_COLUMNS = 64

# Bytes from which on a row is read where it is: 4 M float32 in rows of 2 with a gap behind each
# take 20 ms brought together first and 65 where they are; in rows of 16, 6.3 and 9.0; of 64, 2.6
# and 2.1.
_LONG = 128

# Elements of a tensor with gaps that are brought together at once.
_STAGE = 256 * 1024


def write_gather(plan: GatherPlan) -> Write:
    """Read at checked positions; into a new tensor first, where runs lie in another order."""
    runs = Runs(plan.source.layout, plan.index_map)
    if not runs.fit(plan.result.layout):
        planned = Layout.packed(plan.result.layout.shape, plan.index_map.order)
        spec = TensorSpec(plan.result.dtype, planned, plan.result.device)
        anew = carried_out(replace(plan, result=spec, destinations=0))
        assign = carried_out(AssignPlan(plan.name, spec, plan.result))
        return lambda out, *operands: assign(out, anew(*operands))
    by_line = not plan.clamps and runs.is_by_line  # whose positions are checked line by line
    read = _read_lines(plan.name, runs) if by_line else reader(runs)
    sizes = [plan.source.layout.shape[d] for d in plan.index_map.dims]

    def gather(out: Tensor, x: Tensor, *positions: Tensor) -> None:
        places = [p.memory for p in positions]
        if not by_line:
            places = checked(plan.name, places, sizes, clamps=plan.clamps)
        if out.memory.size:
            read(x.memory, places, out.memory)

    return gather


def take(plan: GatherPlan) -> Run | None:
    """One indexed dimension of a small tensor without gaps: one call, 2.9 us instead of 13.1."""
    runs = Runs(plan.source.layout, plan.index_map)
    one = len(plan.index_map.dims) == 1 and not plan.index_map.per_line and not plan.clamps
    if not (one and runs.packed(runs.order) and plan.result.layout.size < MANY):
        return None
    spec, order, group, axis = plan.result, runs.order, runs.group, len(runs.outer)
    back = tuple([runs.major.index(d) for d in range(len(runs.major))])
    size = plan.source.layout.shape[plan.index_map.dims[0]]
    # NumPy takes the greatest of uint64 for -1, and looks at no position if there is no line.
    unseen = plan.positions[0].dtype == np.uint64 or plan.source.layout.size == 0

    def run(x: Tensor, positions: Tensor) -> Tensor:
        source, index = x.memory.transpose(order), positions.memory.transpose(group)
        try:
            found = source.take(checked_one(plan.name, index, size) if unseen else index, axis)
        except IndexError:
            raise outside(plan.name, index, size) from None
        if not back:  # a scalar
            found = np.asarray(found)
        return Tensor._new(found.transpose(back), spec)

    return run


# --- positions ---


def checked(
    name: str, positions: Positions, sizes: Sequence[int], *, clamps: bool = False
) -> list[Array]:
    """Positions counted from the front. For one outside IndexError, or the nearest one inside."""
    pairs = zip(positions, sizes, strict=True)
    return [_nearest(p, n) if clamps else checked_one(name, p, n) for p, n in pairs]


def checked_one(name: str, positions: Array, size: int) -> Array:
    """The positions in one dimension of `size`, counted from the front. IndexError outside."""
    found = signed(positions)
    # Seen as unsigned, negative ones are the greatest: one look in place of two.
    if found.size == 0 or np.maximum.reduce(found.view(np.uintp), axis=None) < size:
        return found
    if int(found.min()) < -size or int(found.max()) >= size:
        raise outside(name, positions, size)
    return np.where(found < 0, found + size, found)


def _nearest(positions: Array, size: int) -> Array:
    limits = np.iinfo(positions.dtype)  # which may be narrower than sizes
    inside = np.clip(positions, max(-size, limits.min), min(size - 1, limits.max))
    found = inside.astype(np.intp, copy=False)
    return np.where(found < 0, found + size, found)


def signed(positions: Array) -> Array:
    """Positions as NumPy indexes with them; what is too large for that stays outside."""
    if positions.dtype == np.uint64:  # the only one whose values a signed index cannot hold
        positions = np.minimum(positions, np.uint64(np.iinfo(np.intp).max))
    return positions.astype(np.intp, copy=False)


def outside(name: str, positions: Array, size: int) -> IndexError:
    """The error for positions some of which are outside: it names one."""
    lowest, highest = int(positions.min()), int(positions.max())
    bad = lowest if lowest < -size else highest
    return named(name, IndexError(f"index {bad} is out of bounds for size {size}"))


# --- runs ---


class Runs:
    """The three runs of a layout and an index map: dimensions of the tensor, slowest first."""

    def __init__(self, layout: Layout, index_map: IndexMap) -> None:
        self.layout, self.index_map = layout, index_map
        self.major = tuple(reversed(index_map.order))
        if index_map.index_dims:
            begin = min(map(self.major.index, index_map.index_dims))
        else:  # positions of rank 0, that leave no dimension: where the slowest was that they index
            begin = min(map(layout.minor_to_major[::-1].index, index_map.dims))
        end = begin + len(index_map.index_dims)
        tensor_dim = {result: d for d, result in index_map.kept}
        self.outer = tuple([tensor_dim[d] for d in self.major[:begin]])
        self.inner = tuple([tensor_dim[d] for d in self.major[end:]])
        self.indexed = tuple(sorted(index_map.dims, key=layout.minor_to_major.index, reverse=True))
        self.order = (*self.outer, *self.indexed, *self.inner)
        self._weights = [layout.strides[d] for d in index_map.dims]
        self._ends = self.size(self.outer), self.size(self.inner)
        # The dimensions of the positions themselves.
        self.group = tuple([d - index_map.index_dims[0] for d in self.major[begin:end]])
        # Elements side by side at the end of `inner`: a row, and the dimensions before it.
        near = len(self.inner) if index_map.per_line else 0
        while not self.packed(self.inner[near:]):
            near += 1
        self.row, self.far = self.size(self.inner[near:]), self.inner[:near]
        # Whether lines have positions of their own, and are long, their elements side by side.
        side_by_side = self.packed(self.indexed) and self._ends[1] == 1
        long = self.size(index_map.dims) >= RUN
        self.is_by_line = index_map.per_line and side_by_side and long

    def size(self, dims: Sequence[int]) -> int:
        """Return how many elements there are in some dimensions of the tensor."""
        return math.prod([self.layout.shape[d] for d in dims])

    def lines(self, memory: Array) -> Array:
        """The tensor as lines, which lie along the last axis; `inner` has one element."""
        key: Any = (..., *[0] * len(self.inner))
        return memory.transpose(self.order)[key]

    def packed(self, dims: Sequence[int]) -> bool:
        """Return whether the elements along `dims`, the last the fastest, lie side by side."""
        step = 1
        for d in reversed(dims):
            n = self.layout.shape[d]
            if n > 1 and self.layout.strides[d] != step:
                return False
            step *= n
        return True

    def rows(self, memory: Array, row: int = 1) -> Array:
        """The `row` elements that begin at each slot, from the lowest on, as one; they overlap."""
        flat = bytes_from(memory, self.layout)
        if row == 1:
            return flat.view(memory.dtype)
        count = flat.size // memory.itemsize - row + 1
        return np.ndarray((count,), row_of(memory, row), flat, 0, (memory.itemsize,))

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
        """Return whether a result in this layout is seen `in_runs` without a copy."""
        if not layout.size:
            return True
        outer, inner = self._ends
        ends = outer, layout.size // (outer * inner), inner
        return layout.permute(self.major).reshape(ends) is not None

    def offsets(self, dims: tuple[int, ...]) -> Array:
        """The slots from an element to those that differ from it in `dims`, in order."""
        total = np.zeros(1, np.intp)
        for d in dims:
            steps = np.arange(self.layout.shape[d]) * self.layout.strides[d]
            total = (total[:, None] + steps).reshape(-1)
        return total

    def middle(self, positions: Positions, weights: Sequence[int]) -> Array:
        """The weighted sum of positions that are the same for all lines, as (1, middle, 1)."""
        weighted = [p * w if w != 1 else p for p, w in zip(positions, weights, strict=True)]
        total: Array = weighted[0]
        for more in weighted[1:]:
            total = total + more
        return total.transpose(self.group).reshape(1, -1, 1)

    def merged(self, positions: Positions) -> Array:
        """Positions in the indexed dimensions as a vector of one each; they must be packed."""
        weight, weights = 1, {}
        for d in reversed(self.indexed):
            weights[d] = weight
            weight *= self.layout.shape[d]
        return self.middle(positions, [weights[d] for d in self.index_map.dims]).reshape(-1)

    def slots(self, positions: Positions, row: int = 1) -> Callable[[Cut], Array]:
        """What gives the slots of a cut of the runs: of elements, or of the rows of the runs."""
        outer = self.offsets(self.outer)[:, None, None]
        inner = self.offsets(self.inner if row == 1 else self.far)[None, None, :]
        if self.layout.offset:
            outer = outer + self.layout.offset
        if not self.index_map.per_line:
            middle = self.middle(positions, self._weights)
            if outer.size == inner.size == 1 and not self.layout.offset and middle.dtype == np.intp:
                return lambda cut: _part(middle, cut)
            return lambda cut: _part(outer, cut) + (_part(middle, cut) + _part(inner, cut))
        (index,), (weight,) = map(self.in_runs, positions), self._weights

        def slots(cut: Cut) -> Array:
            """There are as many positions as elements: they stay as they are until they are met."""
            found: Array = index[cut] * weight
            found += _part(outer, cut) + _part(inner, cut)
            return found

        return slots

    def cuts(self, shape: tuple[int, ...], row: int = 1) -> Iterator[list[Cut]]:
        """Cuts of a row-major block of rows that stay cached, in groups that do not meet."""
        outer, middle, inner = shape
        most = max(1, BLOCK // row)
        i = min(inner, _COLUMNS if self.index_map.per_line else most)
        m, o = max(1, most // i), max(1, most // (i * max(middle, 1)))
        for a in range(0, outer, o):
            for c in range(0, inner, i):
                rest = slice(c, c + i)
                yield [(slice(a, a + o), slice(b, b + m), rest) for b in range(0, middle, m)]

    def by_lines(self, name: str, of_tensor: Callable[[Array], MoveLines]) -> Move:
        """Move by unchecked positions of every line; `of_tensor` meets a few lines at a time."""

        def move_all(memory: Array, positions: Positions, other: Array) -> None:
            index, others = (self.in_runs(each)[..., 0] for each in (positions[0], other))
            move = of_tensor(memory)

            def move_some(lines: Lines) -> None:
                move(lines, index[lines[0]], others[lines[0]])

            try:
                shared(self._lines_of(index.shape[1]), move_some, other.size)
            except IndexError:
                raise outside(name, index, self.size(self.indexed)) from None

        return move_all

    def _lines_of(self, length: int) -> Iterator[Lines]:
        """All lines, as many at a time as have positions that stay cached."""
        count = max(1, 8 * BLOCK // max(length, 1))
        each = itertools.product(*[range(self.layout.shape[d]) for d in self.outer])
        begin = 0
        while places := list(itertools.islice(each, count)):
            yield slice(begin, begin + len(places)), places
            begin += len(places)


def row_of(array: Array, count: int) -> np.dtype[Any]:
    """What holds `count` elements of an array as one that NumPy only moves."""
    return np.dtype((np.void, count * array.itemsize)) if count > 1 else array.dtype


def in_rows(array: Array, count: int) -> Array:
    """Elements in rows of `count` along the last axis, each as one; a copy if it must be."""
    if count > 1 and array.strides[-1] != array.itemsize:
        array = np.ascontiguousarray(array)
    return array.view(row_of(array, count))


def contiguous(array: Array) -> Array:
    """`array` itself if its memory is in row-major order, else such a copy."""
    if array.flags.c_contiguous or array.ndim < 2:
        return array
    found, size = np.empty(array.shape, array.dtype), array.itemsize
    to, from_ = [tuple([step // size for step in each.strides]) for each in (found, array)]
    choose_copy(array.shape, to, from_, size).run(found, array)
    return found


def _part(array: Array, cut: Cut) -> Array:
    """The cut of an array that broadcasts: all of its dimensions of size 1."""
    pairs = zip(cut, array.shape, strict=True)
    return array[tuple([c if n > 1 else slice(None) for c, n in pairs])]


def shared(parts: Iterable[Any], move: Callable[[Any], object], elements: int) -> None:
    """Each part moved, by several threads where there are many elements."""
    share_pieces(parts, move, None if elements >= MANY else 1)


# --- ways to read, and the choice between them ---


def reader(runs: Runs) -> Move:
    """``read(memory, positions, out)`` by the cheapest way, for an `out` packed as `runs` says."""
    inner, dims = runs.size(runs.inner), runs.index_map.dims
    if runs.index_map.per_line:
        return _read_slots(runs)
    if runs.packed(runs.order):
        return _read_packed(runs)
    if len(dims) == 1 and not runs.outer and inner >= RUN:
        return _read_slices(runs)
    one = len(dims) == 1 and runs.size(runs.outer) == 1
    if one and 1 < inner < RUN and runs.packed(runs.inner):
        return _read_rows(runs)
    staged = 1 < runs.size((*runs.indexed, *runs.inner)) <= _STAGE
    return _read_staged(runs) if staged else _read_slots(runs)


# All positions are inside: "wrap" is then the fastest mode (4096 float32 in the cache 2.1 us,
# "clip" 2.7), and unlike "raise" it writes to `out` without a buffer.


def _read_packed(runs: Runs) -> Move:
    """A tensor without gaps: one call, or one for a few lines or a part of the only one."""
    shape = (runs.size(runs.outer), runs.size(runs.indexed), runs.size(runs.inner))

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions)
        source, target = memory.transpose(runs.order).reshape(shape), runs.in_runs(out)

        def move(cut: Key) -> None:
            lines, part = cut
            np.take(source[lines], index[part], axis=1, out=target[cut], mode="wrap")

        # Parts are contiguous in what is written.
        room = max(1, 8 * BLOCK // max(target.shape[2], 1))
        shared(blocks(target.shape[:2], room), move, out.size)

    return read


def _read_staged(runs: Runs) -> Move:
    """One call for each block of lines with gaps, brought together if a quarter is wanted."""
    length, inner = runs.size(runs.indexed), runs.size(runs.inner)
    outer, slots = tuple([runs.layout.shape[d] for d in runs.outer]), _read_slots(runs)
    keys = blocks(outer, max(1, _STAGE // (length * inner)))

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions)
        if 4 * index.size < length:
            slots(memory, positions, out)
            return
        source = memory.transpose(runs.order)
        target = runs.in_runs(out).reshape(*outer, index.size, inner, copy=False)

        def move(key: Key) -> None:
            to, lines = target[key], contiguous(source[key])
            lines = lines.reshape(*to.shape[:-2], length, inner)
            np.take(lines, index, axis=len(outer), out=to, mode="wrap")

        shared(keys, move, out.size)

    return read


def _read_lines(name: str, runs: Runs) -> Move:
    """A call for a few lines, which have positions of their own; these are not checked yet.

    4096 lines of 4096 float32: 24 ms so, 36 by a call for each, as threads wait for each other.
    """
    size = runs.size(runs.indexed)

    def of_tensor(memory: Array) -> MoveLines:
        source, flat = runs.lines(memory), runs.rows(memory)
        begins = runs.offsets(runs.outer)[:, None] + runs.layout.offset

        def move(lines: Lines, index: Array, target: Array) -> None:
            rows, places = lines
            inside = checked_one(name, index, size)
            if len(places) == 1:  # a long line needs no sums
                source[places[0]].take(inside[0], out=target[0], mode="wrap")
            else:
                flat.take(inside + begins[rows], out=target, mode="wrap")

        return move

    return runs.by_lines(name, of_tensor)


def _read_slices(runs: Runs) -> Move:
    """One copy for each position: long slices of a tensor with gaps."""

    def read(memory: Array, positions: Positions, out: Array) -> None:
        source, index = memory.transpose(runs.order), runs.merged(positions)
        target = out.transpose(runs.major).reshape(index.size, *source.shape[1:])
        for place, position in enumerate(index.tolist()):
            target[place] = source[position]

    return read


def _read_rows(runs: Runs) -> Move:
    """Rows without gaps that lie apart, each as one element; short ones brought together first."""
    inner, size = runs.size(runs.inner), runs.size(runs.indexed)

    def read(memory: Array, positions: Positions, out: Array) -> None:
        index = runs.merged(positions)
        rows, target = memory.transpose(runs.order).reshape(size, inner), runs.in_runs(out)[0]
        together = inner * memory.itemsize < _LONG and 4 * index.size >= size
        each = in_rows(contiguous(rows) if together else rows, inner)[:, 0]

        def move(cut: slice) -> None:
            places = index[cut]
            found = each.take(places, mode="wrap") if together else each[places]
            target[cut] = found.view(memory.dtype).reshape(-1, inner)

        shared(pieces(index.size, max(1, 4 * BLOCK // inner)), move, out.size)

    return read


def _read_slots(runs: Runs) -> Move:
    """The slot of every element, or of every long row, whatever the layout."""

    def read(memory: Array, positions: Positions, out: Array) -> None:
        target = runs.in_runs(out)
        long = runs.row * memory.itemsize >= _LONG and target.strides[2] == target.itemsize
        row = runs.row if long else 1
        to = target.view(row_of(target, row)) if row > 1 else target
        rows, slots = runs.rows(memory, row), runs.slots(positions, row)

        def move(cut: Cut) -> None:
            to[cut] = rows[slots(cut)] if row > 1 else rows.take(slots(cut), mode="wrap")

        shared(itertools.chain.from_iterable(runs.cuts(to.shape, row)), move, out.size)

    return read
