"""Tiled layouts as strided ones of more dimensions: loops over digits, with masked tails.

A tiled dimension is split into digits by the tiles of all layouts (see `boxes`). If its size is no
multiple of the tile, digits reach beyond it (the *tail*). A `Bound` masks the tail: it holds the
end of the indices of elements, and the end of the padding to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd, prod
from typing import NamedTuple

from tensorlayout.layout.boxes import nested_units_of_dim, stride_of_unit
from tensorlayout.layout.layout import Layout
from tensorlayout.layout.loop import Axis, Loop, merge_axes, reverse_axes
from tensorlayout.layout.slots import part_units
from tensorlayout.support.light_dataclasses import frozen_dataclass


class Bound(NamedTuple):
    """A dimension with a tail: its first index, its size, and the end of indices to write."""

    first: int
    size: int
    written: int

    def pack_divisor(self, weight: int) -> int:
        """Return the largest pack that is entirely inside or outside along an axis; 0 for any."""
        if weight == 0:
            return 0
        # A pack of p elements spans p * weight indices. It never straddles an end that is a
        # multiple of that number.
        ends = gcd(self.size, self.written)
        return ends // weight if weight > 0 and ends % weight == 0 else 1


@frozen_dataclass
class TiledLoop(Loop):
    """A loop over digits, with masked tails."""

    bounds: tuple[Bound, ...] = ()  # of the dimensions with a tail
    weights: tuple[tuple[int, ...], ...] = ()  # for each bound and axis: indices of one step

    def max_pack_size(self, widest: int) -> int:
        """Return the number of elements that can move at once: all are inside bounds, or none."""
        packs = [b.pack_divisor(w[-1]) for b, w in zip(self.bounds, self.weights, strict=True)]
        return gcd(Loop.max_pack_size(self, widest), *packs)

    def loop_over_packs(self, pack_size: int, memories_in_packs: Iterable[int]) -> TiledLoop:
        """Return the loop over packs of `pack_size` elements; one step passes as many indices."""
        weights = tuple([(*moves[:-1], moves[-1] * pack_size) for moves in self.weights])
        return replace(Loop.loop_over_packs(self, pack_size, memories_in_packs), weights=weights)

    @property
    def index_upper_bound(self) -> int:
        """Upper bound of all indices along dimensions with a tail, and of what digits reach."""
        reach = [bound.written for bound in self.bounds]
        for weights in self.weights:
            reach.append(sum([(n - 1) * abs(w) for n, w in zip(self.sizes, weights, strict=True)]))
        return max(reach, default=0)


def is_tiled(*layouts: Layout | None) -> bool:
    """Return whether some layout is tiled."""
    return any(layout is not None and layout.is_tiled for layout in layouts)


def sizes_to_write(result: Layout, padding: bytes | None) -> tuple[int, ...]:
    """Return the sizes that a loop over a new result writes, including padding of tiles."""
    writes_padding = padding is not None and result.is_tiled and result.is_padded
    return result.padded_shape if writes_padding else result.shape


def make_tiled_loop(
    layouts: Sequence[Layout | None],
    widths: Sequence[int],
    alignments: Sequence[int],
    written_sizes: Sequence[int],
) -> TiledLoop | None:
    """Return the loop over digits of layouts of one shape; None if they have no common one.

    None if tiles of two layouts do not divide each other, or if padding to write does not follow
    the elements in all digits.
    """
    forwards = _flip_dims_padded_in_front(layouts, written_sizes)
    if forwards is None:
        return None
    first = forwards[0]
    assert first is not None, "a scalar has no order"
    digits: list[Axis] = []
    starts = [0 if layout is None else layout.offset for layout in forwards]
    tails: list[tuple[int, int, int, list[int]]] = []  # size, written, first digit, units
    for d, size in enumerate(first.shape):
        steps = nested_units_of_dim(
            [operand.parts[d] for operand in forwards if operand is not None], written_sizes[d]
        )
        if steps is None:
            return None
        extents = [-(-written_sizes[d] // steps[0]), *[a // b for a, b in pairwise(steps)]]
        # Size 5 in tiles of 2 has the extents 3 and 2, which reach index 5: a tail to mask.
        if prod(extents) > size:
            tails.append((size, written_sizes[d], len(digits), steps))
        for extent, unit in zip(extents, steps, strict=True):
            moves = [0 if o is None else stride_of_unit(o.parts[d], unit) for o in forwards]
            digits.append(Axis(extent, tuple(moves)))
    # The index along each dimension with a tail is treated as one more memory, so that axes merge
    # only where it continues, too.
    for _, _, first_digit, steps in tails:
        moves = [0] * first_digit + steps + [0] * (len(digits) - first_digit - len(steps))
        digits = [Axis(a.size, (*a.strides, s)) for a, s in zip(digits, moves, strict=True)]
        starts.append(0)
    digits, starts = reverse_axes(digits, starts, lambda strides: strides[0] < 0)
    memories = len(forwards)
    # The first memory runs forwards now. Its largest strides are the slowest axes, so that writes
    # are as contiguous as possible.
    axes = merge_axes(sorted(digits, key=lambda axis: -axis.strides[0]))
    if not axes:
        # A loop needs an axis. With sizes of 1 alone it has one element, contiguous in each tensor.
        present = [int(operand is not None) for operand in forwards]
        axes = [Axis(1, (*present, *[1] * len(tails)))]
    return TiledLoop(
        tuple([Axis(axis.size, axis.strides[:memories]) for axis in axes]),
        tuple(widths),
        # `starts` goes on with the first index along each tail; zip leaves those out here.
        tuple([first_digit * width for first_digit, width in zip(starts, widths, strict=False)]),
        tuple(alignments),
        0,
        tuple(
            [
                Bound(first_digit, n, m)
                for first_digit, (n, m, _, _) in zip(starts[memories:], tails, strict=True)
            ]
        ),
        tuple([tuple([a.strides[memories + b] for a in axes]) for b in range(len(tails))]),
    )


def _flip_dims_padded_in_front(
    layouts: Sequence[Layout | None], written: Sequence[int]
) -> Sequence[Layout | None] | None:
    """Return the layouts, flipped where padding of the first precedes its elements, or None."""
    first = layouts[0]
    assert first is not None, "a scalar has no order"
    padded = [d for d, n in enumerate(first.shape) if written[d] > n]
    backwards = [d for d in padded if first.parts[d][0][1] < 0]
    if backwards:
        flipped = [layout if layout is None else layout.flip(backwards) for layout in layouts]
        # None stands for scalars, too. More of them than before are layouts that cannot be flipped.
        if flipped.count(None) > list(layouts).count(None):
            return None
        layouts, first = flipped, flipped[0]
        assert first is not None, "it turns"
    steps = [step for d in padded for _, step in first.parts[d]]
    return layouts if min(steps, default=0) >= 0 else None


def split_off_tails(layouts: tuple[Layout, ...]) -> Iterator[tuple[Layout, ...]]:
    """Yield the layouts cut into pieces without tails, for more tails than a launch can mask."""
    for d, size in enumerate(layouts[0].shape):
        # Size 21 in tiles of 8: indices 0 to 15 are whole tiles, and 16 to 20 lie inside one tile,
        # where smaller tiles may have tails of their own.
        largest = max(u for x in layouts for u in part_units(x.parts[d]) if u == 1 or u < size)
        end = size // largest * largest
        if end < size:
            for part in (slice(0, end), slice(end, size)):
                cut = tuple([layout.slice((*[slice(None)] * d, part)) for layout in layouts])
                yield from split_off_tails(tuple([piece for piece in cut if piece is not None]))
            return
    yield layouts
