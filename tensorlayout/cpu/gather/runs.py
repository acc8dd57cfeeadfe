"""Positions that are data, and the three runs of what is read and written there.

Each position must be inside its dimension, or counts from its end. The runs are the dimensions
slower than the positions (*outer*), the positions (*middle*), the dimensions faster than them
(*inner*). The slot of an element is a sum over the three; where memory allows, whole runs are moved
instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorlayout.cpu.copy.choose import choose_copy
from tensorlayout.cpu.engine.memory import Array, bytes_from
from tensorlayout.cpu.engine.threads import Piece, available_threads, share_pieces
from tensorlayout.errors import named
from tensorlayout.layout import Layout
from tensorlayout.plan.gather import IndexMap

Positions = Sequence[Array]  # one array for each indexed dimension

# ``move(memory, positions, other)``: reads into `other`, or writes it.
Move = Callable[[Array, Positions, Array], None]

# Elements whose slots are worked out at a time, so that they are read from the cache: 4 M elements
# x[i, j] take 26 ms so, 44 to 97 by NumPy's own indexing.
BLOCK = 16 * 1024

# Elements from which on moving a run by a call of its own is cheaper than by slots: a call costs
# about a microsecond, a slot two nanoseconds.
RUN = 512

# Offsets that a plan keeps: to make them takes longer than to move so few elements.
_FEW = 512

# Neighbouring lines that are read at once where every line has positions of its own.
_COLUMNS = 64


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


class Runs:
    """The three runs of a layout and an index map: dimensions of the tensor, slowest first."""

    def __init__(self, layout: Layout, index_map: IndexMap) -> None:
        self.layout, self.index_map = layout, index_map
        self._kept: dict[tuple[int, ...], Array] = {}  # offsets, for calls of few elements
        self.major = tuple(reversed(index_map.order))
        if index_map.index_dims:
            begin = min(map(self.major.index, index_map.index_dims))
        else:  # positions of rank 0, that leave no dimension: where the slowest was that they index
            begin = min(map(layout.minor_to_major[::-1].index, index_map.dims))
        end = begin + len(index_map.index_dims)
        tensor_dim = {result: d for d, result in index_map.kept}
        self.outer = tuple(tensor_dim[d] for d in self.major[:begin])
        self.inner = tuple(tensor_dim[d] for d in self.major[end:])
        self.indexed = tuple(sorted(index_map.dims, key=layout.minor_to_major.index, reverse=True))
        self._ends = self.size(self.outer), self.size(self.inner)
        # The dimensions of the positions themselves.
        self.group = tuple(d - index_map.index_dims[0] for d in self.major[begin:end])
        # Elements side by side at the end of `inner`: a row, and the dimensions before it.
        near = next(k for k in range(len(self.inner) + 1) if self.packed(self.inner[k:]))
        near = len(self.inner) if index_map.per_line else near
        self.row, self.far = self.size(self.inner[near:]), self.inner[:near]
        self.weights = [layout.strides[d] for d in index_map.dims]

    @property
    def order(self) -> tuple[int, ...]:
        """The dimensions of the tensor as the runs take them."""
        return (*self.outer, *self.indexed, *self.inner)

    def size(self, dims: Sequence[int]) -> int:
        """Return how many elements there are in some dimensions of the tensor."""
        return math.prod(self.layout.shape[d] for d in dims)

    def lines(self, memory: Array) -> Array:
        """The tensor as lines, which lie along the last axis; `inner` has one element."""
        key: Any = (..., *[0] * len(self.inner))
        found: Array = memory.transpose(self.order)[key]
        return found

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
        return self.middle(positions, [weights[d] for d in self.index_map.dims])


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


def is_by_line(runs: Runs) -> bool:
    """Whether lines have positions of their own, and are long, their elements side by side."""
    side_by_side = runs.packed(runs.indexed) and runs.size(runs.inner) == 1
    long = runs.size(runs.index_map.dims) >= RUN
    return runs.index_map.per_line and side_by_side and long


Cut = tuple[slice, ...]


def slots_of(runs: Runs, positions: Positions, row: int = 1) -> Callable[[Cut], Array]:
    """What gives the slots of a cut of the runs: of elements, or of the rows of the runs."""
    inner_dims, weights = runs.inner if row == 1 else runs.far, runs.weights
    outer, inner = runs.offsets(runs.outer)[:, None, None], runs.offsets(inner_dims)[None, None, :]
    if runs.layout.offset:
        outer = outer + runs.layout.offset
    if not runs.index_map.per_line:
        middle = runs.middle(positions, weights)
        if outer.size == inner.size == 1 and not runs.layout.offset and middle.dtype == np.intp:
            return lambda cut: _part(middle, cut)
        return lambda cut: _part(outer, cut) + (_part(middle, cut) + _part(inner, cut))
    (index,), (weight,) = map(runs.in_runs, positions), weights

    def slots(cut: Cut) -> Array:
        """There are as many positions as elements: they stay as they are until they are met."""
        found: Array = index[cut] * weight
        found += _part(outer, cut) + _part(inner, cut)
        return found

    return slots


def _part(array: Array, cut: Cut) -> Array:
    """The cut of an array that broadcasts: all of its dimensions of size 1."""
    return array[tuple(c if n > 1 else slice(None) for c, n in zip(cut, array.shape, strict=True))]


def cuts(runs: Runs, shape: tuple[int, ...], row: int = 1) -> Iterator[list[Cut]]:
    """Cuts of a row-major block of rows, small enough to stay cached, in groups that do not meet.

    Where every line has positions of its own, a few neighbouring lines at a time: what they read
    stays cached, too.
    """
    outer, middle, inner = shape
    most = max(1, BLOCK // row)
    i = min(inner, _COLUMNS if runs.index_map.per_line else most)
    m, o = max(1, most // i), max(1, most // (i * max(middle, 1)))
    for a in range(0, outer, o):
        for c in range(0, inner, i):
            rest = slice(c, c + i)
            yield [(slice(a, a + o), slice(b, b + m), rest) for b in range(0, middle, m)]


# NumPy releases the interpreter lock while it reads and writes at positions; from so many elements
# on, threads share the work.
MANY = 256 * 1024


def shared(pieces: Iterator[Piece], move: Callable[[Piece], None], elements: int) -> None:
    """Each piece moved, by several threads where there are many elements."""
    share_pieces(pieces, move, available_threads() if elements >= MANY else 1)


# Lines that a thread takes at a time: their numbers, and their indices in the outer dimensions.
Lines = tuple[slice, list[tuple[int, ...]]]

# Moves such lines between a tensor and what is read or written there, by their positions.
MoveLines = Callable[[Lines, Array, Array], None]


def by_lines(name: str, runs: Runs, of_tensor: Callable[[Array], MoveLines]) -> Move:
    """Moves by positions of its own for every line, which `of_tensor` meets a few lines at a time.

    They are not checked; an IndexError becomes one for all, whatever thread met which.
    """
    outer = [runs.layout.shape[d] for d in runs.outer]

    def move_all(memory: Array, positions: Positions, other: Array) -> None:
        index, others = (runs.in_runs(each)[..., 0] for each in (positions[0], other))
        move = of_tensor(memory)

        def move_some(lines: Lines) -> None:
            move(lines, index[lines[0]], others[lines[0]])

        try:
            shared(_lines_of(outer, index.shape[1]), move_some, other.size)
        except IndexError:
            raise outside(name, index, runs.size(runs.indexed)) from None

    return move_all


def _lines_of(outer: Sequence[int], length: int) -> Iterator[Lines]:
    """All lines, as many at a time as have positions that stay cached."""
    count = max(1, 8 * BLOCK // max(length, 1))
    each, begin = itertools.product(*map(range, outer)), 0
    while places := list(itertools.islice(each, count)):
        yield slice(begin, begin + len(places)), places
        begin += len(places)
