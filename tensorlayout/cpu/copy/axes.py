"""The loop of a copy in as few axes as possible: integers only, no array is looked at.

The axes are sorted by the destination's strides, flipped until the destination only counts up,
and merged wherever both sides allow it. A short run that is contiguous on both sides then
becomes one wide element: an image of three bytes a pixel is moved as elements of three bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isqrt, prod
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.sharing import pieces
from tensorlayout.layout.loop import Axis, merged
from tensorlayout.support.light_dataclasses import frozen

Array = np.ndarray[Any, np.dtype[Any]]
Cuts = tuple[tuple[slice, ...], ...]  # for each axis, its pieces: their products are boxes

# Runs up to this many bytes are moved as one element of a void type: 128 bytes in 5.4 ns instead of
# 7.5 as a row of its own, 48 in 2.8 instead of 5.9, 3 in 1.7 instead of 4.3; at 512 the two meet.
FUSED_BYTES = 512

# Elements of these widths have loops of their own in numpy; all others are moved as void.
_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}


# The memories of a loop.
WRITE, READ = 0, 1


@frozen
class CopyLoop:
    """What is left to iterate over, and how to see an array of the given shape in that way.

    Attributes:
        axes: from the slowest in the destination, which counts up, to the fastest; strides in
            bytes, of the destination and of the source.
        width: bytes of an element.
        read_order: the axes from the source's fastest on, without those along which it repeats.
        seen: what gives an array these axes, before a run became one element.
        word: the type of the wide element.

    """

    axes: tuple[Axis, ...]
    width: int
    read_order: tuple[int, ...]
    seen: Callable[[Array], Array]
    word: str | None = None

    @property
    def elements(self) -> int:
        """How many elements there are to move."""
        return prod([axis.size for axis in self.axes])

    @property
    def contiguous(self) -> bool:
        """Whether the fastest axis is contiguous on both sides."""
        return bool(self.axes) and self.axes[-1].strides == (self.width, self.width)

    def view(self, array: Array) -> Array:
        """The array with these axes; never a copy."""
        array = self.seen(array)
        return array if self.word is None else array.view(self.word)[..., 0]


def loop_over(
    shape: tuple[int, ...],
    destination_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    itemsize: int,
) -> CopyLoop:
    """The loop over all elements of a shape; strides in elements, no size may be 0."""
    long = [k for k, size in enumerate(shape) if size > 1]
    long.sort(key=lambda k: -abs(destination_strides[k]))
    backwards = [n > 1 and s < 0 for n, s in zip(shape, destination_strides, strict=True)]
    steps = [-itemsize if back else itemsize for back in backwards]
    strides = [(steps[k] * destination_strides[k], steps[k] * source_strides[k]) for k in long]
    axes = merged(map(Axis, [shape[k] for k in long], strides))
    order = (*[k for k, size in enumerate(shape) if size == 1], *long)
    seen = view_of(shape, backwards, order, tuple([axis.size for axis in axes]))
    return CopyLoop(tuple(axes), itemsize, _read_order(axes), seen)


def _read_order(axes: Sequence[Axis]) -> tuple[int, ...]:
    steps = [abs(axis.strides[READ]) for axis in axes]
    return tuple(sorted([k for k, step in enumerate(steps) if step], key=steps.__getitem__))


def view_of(
    shape: tuple[int, ...], backwards: list[bool], order: tuple[int, ...], sizes: tuple[int, ...]
) -> Callable[[Array], Array]:
    """How to see an array of `shape` turned, in another order, with neighbours merged to `sizes`.

    Never a copy.
    """
    if any(backwards):
        flips = tuple([slice(None, None, -1 if back else 1) for back in backwards])
        return lambda array: array[flips].transpose(order).reshape(sizes, copy=False)
    if order != tuple(range(len(shape))):
        return lambda array: array.transpose(order).reshape(sizes, copy=False)
    if sizes != shape:
        return lambda array: array.reshape(sizes, copy=False)
    return lambda array: array


def fuse(loop: CopyLoop) -> CopyLoop:
    """The loop with a short contiguous run made one wide element, if it has such a run."""
    if len(loop.axes) < 2 or not loop.contiguous:
        return loop
    width = loop.axes[-1].size * loop.width
    if width > FUSED_BYTES:
        return loop
    word = _WORDS.get(width, f"V{width}")
    axes = loop.axes[:-1]
    return replace(loop, axes=axes, width=width, word=word, read_order=_read_order(axes))


def tile(loop: CopyLoop, room: int) -> tuple[int, ...]:
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
    extents = [evened(axis.size, n) for axis, n in zip(loop.axes, extents, strict=True)]
    # Evening out may have left room for a second position along an axis not yet in the box.
    _grow(extents, loop, [k for k in write_order if extents[k] == 1], room, room)
    return tuple(extents)


def _grow(extents: list[int], loop: CopyLoop, order: Sequence[int], run: int, room: int) -> None:
    """Lengthen the run along `order` to at most `run` elements, and the box to at most `room`."""
    done = 1
    for k in order:
        most = min(run // done, extents[k] * room // prod(extents), loop.axes[k].size)
        extents[k] = max(extents[k], most)
        done *= extents[k]
        if extents[k] < loop.axes[k].size:
            return


def evened(size: int, extent: int) -> int:
    """The extent with which as many pieces of an axis have no small one left over."""
    count = -(-size // extent)
    extent = -(-size // count)
    if count == 1 or extent < 64:
        return extent
    # 16 elements are a cache line of 4-byte ones, and whole lines of all wider ones.
    return -(-extent // 16) * 16


def even_cuts(loop: CopyLoop, extents: tuple[int, ...]) -> Cuts:
    """Boxes of these extents, smaller at the ends of the axes."""
    return tuple([pieces(axis.size, n) for axis, n in zip(loop.axes, extents, strict=True)])


def shrinking_pieces(size: int, threads: int, least: int, most: int) -> tuple[slice, ...]:
    """An axis in a few pieces, large ones first, for threads that take one after the other.

    A thread that starts late, or shares its processor, then still ends with the others, and few
    pieces mean that threads seldom wait for the interpreter lock. Two threads, a copy of 330 us:
    203 us so, 238 in four or eight equal parts.
    """
    found = []
    start = 0
    while start < size:
        extent = min(max(least, (size - start) // (2 * threads)), most)
        found.append(slice(start, min(start + extent, size)))
        start += extent
    return tuple(found)
