"""Tiled layouts as strided ones of more dimensions: their digits, and where tails end.

A tiled dimension is split into digits, as the tiles of all layouts split its index. If its size is
no multiple of the tile, digits reach beyond it: bounds say where indices of elements end, and
where those of padding that is to be written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from tensorlayout.cuda.engine.launch import struct_type
from tensorlayout.cuda.engine.parameters import Divisor32, Divisor64, divisor32, index_type
from tensorlayout.cuda.engine.sectors import SECTOR, WIDEST
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import Axis
from tensorlayout.layout.once import once

# As in kernels/bounded.cuh.
MOST_BOUNDS, MOST_DIGITS = 4, 16

# Indices along a dimension with a tail have 32 bits.
_FEWER_THAN = 2**31


class Bound(NamedTuple):
    """Of one dimension: the index of the first digits, its size, and the size that is written."""

    first: int
    size: int
    written: int

    def packs(self, weight: int) -> int:
        """What divides packs along an axis of which all or none are inside; 0 for any."""
        if weight == 0:
            return 0
        ends = gcd(self.size, self.written)
        return ends // weight if weight > 0 and ends % weight == 0 else 1


@dataclass(frozen=True, slots=True)
class Digits:
    """Layouts of one shape, split into digits.

    Attributes:
        axes: slowest in the first layout first, where that runs forwards; a stride for each layout.
        firsts: the slots of the first digits, in elements.
        bounds: of the dimensions with a tail.
        weights: for each bound and each axis, how far its index moves.

    """

    axes: tuple[Axis, ...]
    firsts: tuple[int, ...]
    bounds: tuple[Bound, ...]
    weights: tuple[tuple[int, ...], ...]

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The same as strided layouts; only if nothing is bounded."""
        sizes = [axis.size for axis in self.axes]
        columns = zip(*[axis.strides for axis in self.axes], strict=True)
        pairs = zip(columns, self.firsts, strict=True)
        return tuple([Layout(sizes, steps, offset=first) for steps, first in pairs])

    @property
    def count(self) -> int:
        """How many places the walk has."""
        return prod([axis.size for axis in self.axes])

    @property
    def fit_a_walk(self) -> bool:
        """Whether `BoundedWalk` can hold them."""
        few = len(self.axes) <= MOST_DIGITS and len(self.bounds) <= MOST_BOUNDS
        reach = [bound.written for bound in self.bounds]
        reach += [sum(self._spans(steps)) for steps in self.weights]
        return few and max(reach, default=0) < _FEWER_THAN

    def _spans(self, steps: Sequence[int]) -> list[int]:
        return [(a.size - 1) * abs(s) for a, s in zip(self.axes, steps, strict=True)]

    @property
    def index(self) -> str:
        """The type for the number of a place, and for the furthest slot."""
        columns = zip(*[axis.strides for axis in self.axes], strict=True)
        return index_type(self.count, max([sum(self._spans(steps)) for steps in columns]))

    def pack(self, widths: Sequence[int], alignments: Sequence[int], widest: int) -> int:
        """How many elements may move at once, along the fastest axis, up to `widest` bytes.

        `widths`: bytes of an element in each memory, `alignments` of their lowest slots; memories
        of 0 bytes take no part.
        """
        *slower, last = self.axes
        most = widest // max(widths)
        for number, (width, alignment) in enumerate(zip(widths, alignments, strict=True)):
            if not width or (number and last.strides[number] == 0):
                continue
            if last.strides[number] != 1:
                return 1
            steps = [self.firsts[number], *[axis.strides[number] for axis in slower]]
            most = min(most, gcd(alignment, WIDEST, *[s * width for s in steps]) // width)
        for bound, weights in zip(self.bounds, self.weights, strict=True):
            most = gcd(most, bound.packs(weights[-1]))
        return gcd(most, last.size)


# Warps that are looked at.
_WARPS = 64


def in_order_cost(
    digits: Digits, memory: int, width: int, pack: int, alignment: int, *, written: bool
) -> float:
    """Bytes of the sectors that warps touch in one memory, over the bytes that they ask for.

    As `sectors.in_order_cost`, of the lanes that are inside; `written`: and of those in padding.
    """
    places = digits.count // pack
    warps = min(_WARPS, -(-places // 32))
    starts = sorted({(places - 1) * (k * 40503 % 65536) // 65536 // 32 * 32 for k in range(warps)})
    rest = np.asarray(starts)[:, None] + np.arange(32)
    inside = rest < places
    address = np.full(rest.shape, digits.firsts[memory] * width + alignment % SECTOR, np.int64)
    indices = [np.full(rest.shape, bound.first, np.int64) for bound in digits.bounds]
    last = len(digits.axes) - 1
    for d in range(last, -1, -1):
        axis, times = digits.axes[d], pack if d == last else 1
        rest, digit = np.divmod(rest, axis.size // times)
        address += digit * (axis.strides[memory] * times * width)
        for index, weights in zip(indices, digits.weights, strict=True):
            index += digit * (weights[d] * times)
    for index, bound in zip(indices, digits.bounds, strict=True):
        inside &= index < (bound.written if written else bound.size)
    sectors = np.sort(np.where(inside, address // SECTOR, -1), axis=1)
    fresh = int(np.count_nonzero(np.diff(sectors, axis=1, prepend=-1)))
    return fresh * SECTOR / (max(1, int(np.count_nonzero(inside))) * width * pack)


def is_tiled(*layouts: Layout | None) -> bool:
    """Whether some layout is tiled."""
    return any(layout is not None and layout.is_tiled for layout in layouts)


def written_sizes(result: Layout, padding: bytes | None) -> tuple[int, ...]:
    """The sizes that a walk over a new result writes: with padding, if it is tiled and has some."""
    whole = padding is not None and result.is_tiled and result.is_padded
    return result.padded_shape if whole else result.shape


def digits_of(layouts: Sequence[Layout], written: Sequence[int]) -> Digits | None:
    """The digits of layouts of one shape; None where tiles of two do not divide each other.

    `written`: for each dimension the size that the walk covers, at least its own. None, too, where
    that reaches into padding which does not stand behind the elements in all digits.
    """
    forwards = _forwards(layouts, written)
    if forwards is None:
        return None
    layouts = forwards
    sizes: list[int] = []
    columns: list[list[int]] = [[] for _ in layouts]
    whole: list[tuple[int, int, list[int]]] = []  # dimensions: size, written, weights of digits
    for d, size in enumerate(layouts[0].shape):
        weights = _weights_of(layouts, d, written[d])
        if any(a % b for a, b in pairwise(weights)):
            return None
        first = -(-written[d] // weights[0])
        extents = [first, *[a // b for a, b in pairwise(weights)]]
        place = len(sizes)
        sizes += extents
        for column, layout in zip(columns, layouts, strict=True):
            column += [_step(layout.parts[d], weight) for weight in weights]
        if prod(extents) > size:
            whole.append((size, written[d], [0] * place + weights))
    for _, _, weights in whole:
        weights += [0] * (len(sizes) - len(weights))
    firsts = [layout.offset for layout in layouts] + [0] * len(whole)
    axes, firsts = _merged(sizes, columns + [weights for _, _, weights in whole], firsts)
    memories = len(layouts)
    starts = firsts[memories:]
    return Digits(
        tuple([Axis(n, tuple(steps[:memories])) for n, steps in axes]),
        tuple(firsts[:memories]),
        tuple([Bound(at, n, m) for at, (n, m, _) in zip(starts, whole, strict=True)]),
        tuple([tuple([steps[memories + b] for _, steps in axes]) for b in range(len(whole))]),
    )


def _forwards(layouts: Sequence[Layout], written: Sequence[int]) -> Sequence[Layout] | None:
    """The layouts, turned where padding of the first is written and its elements run backwards.

    Padding stands behind the elements in memory, whichever way they run. None where not all turn.
    """
    padded = [d for d, n in enumerate(layouts[0].shape) if written[d] > n]
    backwards = [d for d in padded if layouts[0].parts[d][0][1] < 0]
    turned = [layout.flip(backwards) if backwards else layout for layout in layouts]
    found = [layout for layout in turned if layout is not None]
    steps = [step for d in padded for _, step in found[0].parts[d]] if found else []
    return found if len(found) == len(layouts) and min(steps, default=0) >= 0 else None


def _weights_of(layouts: Sequence[Layout], dim: int, written: int) -> list[int]:
    """Of the digits along a dimension, the slowest first; none that always is 0."""
    found = {weight for layout in layouts for weight in _weights(layout.parts[dim])}
    return sorted([weight for weight in found if weight == 1 or weight < written], reverse=True)


def without_tails(layouts: tuple[Layout, ...]) -> Iterator[tuple[Layout, ...]]:
    """The same elements in pieces that have no tails, for what has more than a launch takes."""
    for d, size in enumerate(layouts[0].shape):
        weights = _weights_of(layouts, d, size)
        end = size // weights[0] * weights[0]
        if end < size:
            for part in (slice(0, end), slice(end, size)):
                cut = tuple([layout.slice((*[slice(None)] * d, part)) for layout in layouts])
                yield from without_tails(tuple([each for each in cut if each is not None]))
            return
    yield layouts


def _weights(parts: Sequence[tuple[int, int]]) -> list[int]:
    """How many indices one step of each part spans."""
    return [prod([extent for extent, _ in parts[k + 1 :]]) for k in range(len(parts))]


def _step(parts: Sequence[tuple[int, int]], weight: int) -> int:
    """How many slots so many indices are apart."""
    for (_, stride), inner in zip(parts, _weights(parts), strict=True):
        if inner <= weight:
            return stride * (weight // inner)
    raise AssertionError


_Rows = list[tuple[int, list[int]]]


def _merged(
    sizes: Sequence[int], columns: Sequence[Sequence[int]], firsts: list[int]
) -> tuple[_Rows, list[int]]:
    """Axes that run forwards in the first column, neighbours merged; and where they begin."""
    rows: _Rows = []
    for size, steps in zip(sizes, zip(*columns, strict=True), strict=True):
        if size == 1:
            continue
        if steps[0] < 0:
            firsts = [first + (size - 1) * s for first, s in zip(firsts, steps, strict=True)]
        rows.append((size, [-s if steps[0] < 0 else s for s in steps]))
    merged: _Rows = []
    for size, found in sorted(rows, key=lambda row: row[1][0], reverse=True):
        if merged and merged[-1][1] == [size * s for s in found]:
            merged[-1] = (merged[-1][0] * size, found)
        else:
            merged.append((size, found))
    memories = len(columns)
    return merged or [(1, [1] * memories)], firsts


# ---- Structs


def walk_struct(digits: Digits, memories: Sequence[int], pack: int) -> Any:
    """``BoundedWalk`` over packs; `memories`: the numbers of those whose strides count packs."""
    index, rank = digits.index, len(digits.axes)
    made = bounded_walk_type(index, len(digits.firsts))()
    made.rank, last = rank, rank - 1
    for d, axis in enumerate(digits.axes):
        size = axis.size // pack if d == last else axis.size
        made.size[d] = divisor32(size) if index == "int32_t" else Divisor64(size)
        for m, stride in enumerate(axis.strides):
            if d == last:
                made.stride[m][d] = stride if m in memories else stride * pack
            else:
                made.stride[m][d] = stride // pack if m in memories else stride
    set_bounds(made.bounds, digits)
    for b, weights in enumerate(digits.weights):
        made.weight[b][:rank] = [*weights[:-1], weights[-1] * pack]
    return made


def set_bounds(made: Any, digits: Digits) -> None:
    """``Bounds``; those that are not there hold all indices."""
    missing = [Bound(0, 1, 1)] * (MOST_BOUNDS - len(digits.bounds))
    for b, bound in enumerate([*digits.bounds, *missing]):
        made.first[b], made.size[b], made.padded[b] = bound


class BoundsStruct(ctypes.Structure):
    """``Bounds`` of kernels/bounded.cuh."""

    _fields_ = (
        ("first", ctypes.c_int32 * MOST_BOUNDS),
        ("size", ctypes.c_int32 * MOST_BOUNDS),
        ("padded", ctypes.c_int32 * MOST_BOUNDS),
    )


@once
def bounded_walk_type(index: str, memories: int) -> Any:
    """``BoundedWalk<index, memories>``."""
    narrow = index == "int32_t"
    number, divisor = (ctypes.c_int32, Divisor32) if narrow else (ctypes.c_int64, Divisor64)
    return struct_type(
        "BoundedWalk",
        size=divisor * MOST_DIGITS,
        stride=(number * MOST_DIGITS) * memories,
        weight=(ctypes.c_int32 * MOST_DIGITS) * MOST_BOUNDS,
        bounds=BoundsStruct,
        rank=ctypes.c_int32,
    )
