"""The loop of a copy in as few axes as possible: integers only, no array is looked at.

The axes are sorted by the destination's strides, flipped until the destination only counts up,
and merged wherever both sides allow it. A short run that is contiguous on both sides then
becomes one wide element: an image of three bytes a pixel is moved as elements of three bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Cuts = tuple[tuple[slice, ...], ...]  # for each axis, its pieces: their products are boxes

# Runs up to this many bytes are moved as one element of a void type: 128 bytes in 5.4 ns instead
# of 7.5 as a row of its own, 48 in 2.8 instead of 5.9, 3 in 1.7 instead of 4.3; at 512 the two
# meet (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
FUSED_BYTES = 512

# Elements of these widths have loops of their own in numpy; all others are moved as void.
_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}


class Axis(NamedTuple):
    """One axis of the loop; the strides are in bytes, and `write` is positive."""

    size: int
    write: int
    read: int


@dataclass(frozen=True, slots=True)
class Loop:
    """What is left to iterate over, and how to see an array of the given shape in that way."""

    axes: tuple[Axis, ...]  # from the slowest in the destination to the fastest
    width: int  # bytes of an element
    flips: tuple[slice, ...] | None
    order: tuple[int, ...]
    merged: tuple[int, ...]  # sizes before a run became one element
    read_order: tuple[int, ...]  # axes from the source's fastest on; without those it repeats
    word: str | None = None  # the type of the wide element

    @property
    def elements(self) -> int:
        """How many elements there are to move."""
        return prod([axis.size for axis in self.axes])

    @property
    def contiguous(self) -> bool:
        """Whether the fastest axis is contiguous on both sides."""
        return bool(self.axes) and self.axes[-1][1:] == (self.width, self.width)

    def view(self, array: Array) -> Array:
        """The array with these axes; never a copy."""
        if self.flips is not None:
            array = array[self.flips]
        array = array.transpose(self.order).reshape(self.merged, copy=False)
        if self.word is None:
            return array
        return array.view(self.word)[..., 0]


def loop_over(
    shape: tuple[int, ...],
    destination_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    itemsize: int,
) -> Loop:
    """The loop over all elements of a shape; strides in elements, no size may be 0."""
    long = [k for k, size in enumerate(shape) if size > 1]
    long.sort(key=lambda k: -abs(destination_strides[k]))
    axes: list[Axis] = []
    for k in long:
        sign = itemsize if destination_strides[k] > 0 else -itemsize
        axis = Axis(shape[k], sign * destination_strides[k], sign * source_strides[k])
        if axes and _continues(axes[-1], axis):
            axis = axis._replace(size=axes.pop().size * axis.size)
        axes.append(axis)
    flipped = [
        size > 1 and stride < 0 for size, stride in zip(shape, destination_strides, strict=True)
    ]
    return Loop(
        axes=tuple(axes),
        width=itemsize,
        flips=tuple([slice(None, None, -1 if f else 1) for f in flipped]) if any(flipped) else None,
        order=(*[k for k, size in enumerate(shape) if size == 1], *long),
        merged=tuple([axis.size for axis in axes]),
        read_order=_read_order(axes),
    )


def _read_order(axes: Sequence[Axis]) -> tuple[int, ...]:
    moving = [k for k, axis in enumerate(axes) if axis.read]
    return tuple(sorted(moving, key=lambda k: abs(axes[k].read)))


def _continues(slow: Axis, fast: Axis) -> bool:
    """Whether a step along `slow` is, on both sides, as far as all steps along `fast`."""
    return slow.write == fast.size * fast.write and slow.read == fast.size * fast.read


def fuse(loop: Loop) -> Loop:
    """The loop with a short contiguous run made one wide element, if it has such a run."""
    if len(loop.axes) < 2 or not loop.contiguous:
        return loop
    width = loop.axes[-1].size * loop.width
    if width > FUSED_BYTES:
        return loop
    word = _WORDS.get(width, f"V{width}")
    axes = loop.axes[:-1]
    return replace(loop, axes=axes, width=width, word=word, read_order=_read_order(axes))


def tile(loop: Loop, room: int) -> tuple[int, ...]:
    """The extents of a box of at most about `room` elements with long runs on both sides."""
    side = isqrt(room)
    write_order = range(len(loop.axes) - 1, -1, -1)
    slower = range(min(loop.read_order[:1], default=0) - 1, -1, -1)
    extents = [1] * len(loop.axes)
    _grow(extents, loop, loop.read_order, side, room)
    _grow(extents, loop, write_order, side, room)
    # Where one side's axes end before the box is full: boxes over further axes before longer
    # runs, for the lines of one run have to stay in the first-level cache.
    _grow(extents, loop, slower, room, room)
    _grow(extents, loop, write_order, room, room)
    extents = [_evened(axis.size, n) for axis, n in zip(loop.axes, extents, strict=True)]
    # Evening out may have left room for a second position along an axis not yet in the box.
    _grow(extents, loop, [k for k in write_order if extents[k] == 1], room, room)
    return tuple(extents)


def _grow(extents: list[int], loop: Loop, order: Sequence[int], run: int, room: int) -> None:
    """Lengthen the run along `order` to at most `run` elements, and the box to at most `room`."""
    done = 1
    for k in order:
        most = min(run // done, extents[k] * room // prod(extents), loop.axes[k].size)
        extents[k] = max(extents[k], most)
        done *= extents[k]
        if extents[k] < loop.axes[k].size:
            return


def _evened(size: int, extent: int) -> int:
    """The extent with which as many pieces of an axis have no small one left over."""
    count = -(-size // extent)
    extent = -(-size // count)
    if count == 1 or extent < 64:
        return extent
    # 16 elements are a cache line of 4-byte ones, and whole lines of all wider ones.
    return -(-extent // 16) * 16


def even_cuts(loop: Loop, extents: tuple[int, ...]) -> Cuts:
    """Boxes of these extents, smaller at the ends of the axes."""
    return tuple([_pieces(axis.size, n) for axis, n in zip(loop.axes, extents, strict=True)])


def _pieces(size: int, extent: int) -> tuple[slice, ...]:
    return tuple([slice(k, min(k + extent, size)) for k in range(0, size, extent)])


def pieces_along(loop: Loop, along: int, pieces: tuple[slice, ...]) -> Cuts:
    """Boxes that are whole along all axes but one."""
    whole = [(slice(0, axis.size),) for axis in loop.axes]
    return (*whole[:along], pieces, *whole[along + 1 :])


def equal_pieces(size: int, most: int) -> tuple[slice, ...]:
    """An axis in pieces of at most about `most`."""
    return _pieces(size, _evened(size, min(size, most)))


def shrinking_pieces(size: int, threads: int, least: int, most: int) -> tuple[slice, ...]:
    """An axis in a few pieces, large ones first, for threads that take one after the other.

    A thread that starts late, or shares its processor, then still ends with the others, and few
    pieces mean that threads seldom wait for the interpreter lock. Two threads, a copy of 330 us:
    203 us so, 238 in four or eight equal parts (2026-11-21, 2-core AMD EPYC (Zen 4)).
    """
    pieces = []
    start = 0
    while start < size:
        extent = min(max(least, (size - start) // (2 * threads)), most)
        pieces.append(slice(start, min(start + extent, size)))
        start += extent
    return tuple(pieces)
