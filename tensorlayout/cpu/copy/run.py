"""Moving the elements: numpy assignments over boxes of the loop, in one thread or in several."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from tensorlayout.cpu.copy.axes import READ, Array, CopyLoop, Cuts
from tensorlayout.cpu.engine.memory import ALIGNMENT, aligned_bytes
from tensorlayout.cpu.engine.threads import share

Box = tuple[slice, ...]
Mover = Callable[[Array, Array, Iterator[Box]], None]


def assign(destination: Array, source: Array) -> None:
    """The copy in the order that numpy chooses: by the destination's strides."""
    destination[...] = source


def nothing(destination: Array, source: Array) -> None:
    """The copy of no elements."""


def in_boxes(
    loop: CopyLoop, cuts: Cuts, threads: int, move: Mover
) -> Callable[[Array, Array], None]:
    """``run(destination, source)``: a copy cut into boxes of the loop, which threads share."""
    view = loop.view

    def run(destination: Array, source: Array) -> None:
        def work(boxes: Iterator[Box]) -> None:
            move(view(destination), view(source), boxes)

        share(work, product(*cuts), threads)

    return run


def move_directly(destination: Array, source: Array, boxes: Iterator[Box]) -> None:
    """Each box by one assignment."""
    for box in boxes:
        destination[box] = source[box]


_WORD = np.dtype(np.int64)


def move_flat(destination: Array, source: Array, boxes: Iterator[Box]) -> None:
    """Each box, one run on both sides, by a loop over words.

    The C library moves what is larger than the caches by instructions that leave nothing of it
    there: a copy of 64 MB takes 4.4 ms so, 3.9 by the loop (2026-11-21, 2-core AMD EPYC (Zen 4),
    glibc 2.36, numpy 2.4.6).
    """
    for box in boxes:
        to, from_ = destination[box], source[box]
        if (to.nbytes | to.ctypes.data | from_.ctypes.data) % _WORD.itemsize:
            to[...] = from_
        else:
            np.positive(from_.view(_WORD), out=to.view(_WORD))


def move_channels(destination: Array, source: Array, boxes: Iterator[Box]) -> None:
    """Each box one position of the fastest axis at a time: numpy would loop over that axis."""
    channels = range(destination.shape[-1])
    for box in boxes:
        to, from_ = destination[box], source[box]
        for channel in channels:
            to[..., channel] = from_[..., channel]


# Buffers not in use. A list and not one buffer a thread: a finalizer may start another copy in
# the middle of ours. A buffer fresh from the system costs its page faults, 16 us for 256 KB.
_buffers: list[Array] = []
_LINE = ALIGNMENT


def by_tiles(loop: CopyLoop, cuts: Cuts) -> Mover:
    """A mover that gathers each box in a small buffer in the source's order first.

    Both memories are then walked along their own rows, and the strided reads meet the buffer
    only, which stays in the cache and whose pitch is an odd number of cache lines: a pitch that
    is a power of two would let all rows fight for the same few lines.
    """
    extents = [pieces[0].stop for pieces in cuts]  # of the first box, the largest
    repeated = [axis.strides[READ] == 0 for axis in loop.axes]  # the buffer holds one position
    strides, pitch = [0] * len(extents), loop.width
    for k in sorted(range(len(extents)), key=lambda k: abs(loop.axes[k].strides[READ])):
        if repeated[k]:
            continue
        if k == len(extents) - 1 and pitch >= _LINE:
            pitch = (-(-pitch // _LINE) | 1) * _LINE
        strides[k] = pitch
        pitch *= extents[k]
    shape = tuple([1 if one else n for one, n in zip(repeated, extents, strict=True)])
    once = tuple([slice(0, 1) if one else slice(None) for one in repeated])

    def move(destination: Array, source: Array, boxes: Iterator[Box]) -> None:
        buffer = _borrow(pitch)
        try:
            tile: Array = np.ndarray(shape, destination.dtype, buffer, 0, strides)
            for box in boxes:
                part = source[box][once]
                held = tile
                if part.shape != tile.shape:
                    held = tile[tuple([slice(n) for n in part.shape])]
                held[...] = part
                destination[box] = held
        finally:
            _buffers.append(buffer)

    return move


def _borrow(nbytes: int) -> Array:
    try:
        buffer = _buffers.pop()
    except IndexError:
        buffer = np.empty(0, np.uint8)
    if buffer.nbytes >= nbytes:
        return buffer
    return aligned_bytes(nbytes)
