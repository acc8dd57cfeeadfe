"""Copies between two layouts on the CPU: what kind of copy it is, decided once, by a few rules.

`choose_copy` looks at integers only. All is done with numpy's own assignments. What there is to win
over one plain assignment: numpy walks in the order of the destination, so it reads a transposed
source a cache line per element, spends as long on entering a loop of three elements as on the
elements, and uses one processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import product
from math import ceil, gcd, isqrt, prod

import numpy as np

from tensorlayout.cpu.engine.memory import ALIGNMENT, Array, take_buffer
from tensorlayout.cpu.engine.sharing import axis_slices, share_pieces
from tensorlayout.cpu.engine.threads import available_threads, run_in_threads
from tensorlayout.layout import Axis, merge_axes
from tensorlayout.support.light_dataclasses import frozen_dataclass

Run = Callable[[Array, Array], None]  # run(destination, source)
Box = tuple[slice, ...]
Cuts = tuple[tuple[slice, ...], ...]  # for each axis, its pieces: their products are boxes
Mover = Callable[[Array, Array, Iterator[Box]], None]


@frozen_dataclass
class Tuning:
    """The size from which on a copy is cut up, and for how many threads; tests set them."""

    # Below this, one assignment: anything else costs 4 us to set up, as some 2000 elements do.
    small_elements: int = 2048
    # The estimated time in ns from which on a copy uses several threads. Waking one takes 30 us
    # here: of two halves of 60 us each, the second ends after 130. A part of 1000 x 1000 float64,
    # estimated at 180 us: 294 us in one thread, 164 in two.
    thread_cost: float = 140_000.0
    # The time of a piece in ns at least: two threads that hand the interpreter lock to and fro
    # every 25 us spend as long waiting as copying.
    piece_cost: float = 50_000.0
    threads: int = field(default_factory=available_threads)  # the calling one included
    # Of a tile, at most. Over 250 copies in one thread 32K take 1.02 times as long, p90 1.16.
    tile_elements: int = 64 * 1024
    # A box whose channels are moved one by one. 16 images of 3 × 1024 × 1024 4-byte elements: 512
    # KB 28 ms, 1 MB 22, 2 MB 20, 4 MB 19.
    channel_bytes: int = 2 * 1024 * 1024


@frozen_dataclass
class ReadyCopy:
    """A copy that is ready to run, as one of the cases of `choose_copy`, in so many threads."""

    case: str
    run: Run
    threads: int = 1


TUNING = Tuning()


def choose_copy(
    shape: tuple[int, ...],
    destination_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    itemsize: int,
    tuning: Tuning = TUNING,
) -> ReadyCopy:
    """Return a fast way to copy between two layouts of one shape, whose memory is disjoint.

    Strides are in elements; the source's may be 0 or negative, the destination's negative, but
    no two positions of the destination may be the same. The cases:

    1. ``empty``: a size is 0.
    2. ``small``: too few elements for anything but one assignment.
    3. ``flat``: one run on both sides.
    4. ``rows``: runs that are contiguous on both sides.
    5. ``channels``: the fastest axis of the destination is very short, so it becomes the slowest.
    6. ``tiles``: the two sides have different fastest axes and the source's rows do not stay in
       the cache until they are used up, so boxes go through a buffer.
    7. ``repeated``: so do elements that are apart in the source and repeat along a slower axis.
    8. ``strided``: both sides are walked well enough in the destination's order.
    """
    size = prod(shape)
    if size == 0:
        return ReadyCopy("empty", lambda destination, source: None)
    if size < max(2, tuning.small_elements):
        return ReadyCopy("small", _copy_array)
    loop = make_copy_loop(shape, destination_strides, source_strides, itemsize)
    if loop.is_contiguous and size // loop.axes[-1].size >= tuning.small_elements:
        loop = fuse_contiguous_run(loop)
    case, cost = _copy_case(loop), _estimated_nanoseconds(loop)
    threads = tuning.threads if cost >= tuning.thread_cost else 1
    if case in ("tiles", "repeated"):
        extents = tile_extents(loop, tuning.tile_elements)
        cuts = tuple(
            [axis_slices(axis.size, n) for axis, n in zip(loop.axes, extents, strict=True)]
        )
        return ReadyCopy(
            case, make_boxed_copy(loop, cuts, threads, make_tiled_mover(loop, cuts)), threads
        )
    if case == "channels":
        room = tuning.channel_bytes // loop.width
        cuts = _cut_along_one_axis(loop, loop.axes[:-1], room, threads, tuning.piece_cost / cost)
        return ReadyCopy(case, make_boxed_copy(loop, cuts, threads, copy_boxes_by_channel), threads)
    if threads == 1 and loop.word is None:
        return ReadyCopy(case, _copy_array)
    cuts = _cut_along_one_axis(
        loop, loop.axes, loop.element_count, threads, tuning.piece_cost / cost
    )
    move = _copy_flat_boxes if case == "flat" else copy_boxes
    return ReadyCopy(case, make_boxed_copy(loop, cuts, threads, move), threads)


# --- the loop of a copy in as few axes as possible: integers only, no array is looked at ---

# The axes are sorted by the destination's strides, flipped until the destination only counts up,
# and merged wherever both sides allow it. A short run that is contiguous on both sides then becomes
# one wide element: an image of three bytes a pixel is moved as elements of three bytes.

# Runs up to this many bytes are moved as one element of a void type: 128 bytes in 5.4 ns instead of
# 7.5 as a row of its own, 48 in 2.8 instead of 5.9, 3 in 1.7 instead of 4.3; at 512 the two meet.
FUSED_BYTES = 512

# Elements of these widths have loops of their own in numpy; all others are moved as void.
_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}

# The memories of a loop.
WRITE, READ = 0, 1


@frozen_dataclass
class CopyLoop:
    """The axes that are left to iterate over, and how to see an array in that way."""

    axes: tuple[Axis, ...]  # slowest first in the destination; strides in bytes, in both memories
    width: int  # bytes of an element
    read_order: tuple[int, ...]  # from the source's fastest on, but for those that repeat it
    to_axes: Callable[[Array], Array]  # gives an array these axes
    word: str | None = None  # the type of an element, where that is a short run

    @property
    def element_count(self) -> int:
        """The number of elements to move."""
        return prod([axis.size for axis in self.axes])

    @property
    def is_contiguous(self) -> bool:
        """True if the fastest axis is contiguous on both sides."""
        return bool(self.axes) and self.axes[-1].strides == (self.width, self.width)

    def view_axes(self, array: Array) -> Array:
        """Return the array with these axes; never a copy."""
        array = self.to_axes(array)
        return array if self.word is None else array.view(self.word)[..., 0]


def make_copy_loop(
    shape: tuple[int, ...],
    destination_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    itemsize: int,
) -> CopyLoop:
    """Return the loop over all elements of a shape; strides in elements, no size may be 0."""
    long = [k for k, size in enumerate(shape) if size > 1]
    long.sort(key=lambda k: -abs(destination_strides[k]))
    backwards = [n > 1 and s < 0 for n, s in zip(shape, destination_strides, strict=True)]
    steps = [-itemsize if back else itemsize for back in backwards]
    strides = [(steps[k] * destination_strides[k], steps[k] * source_strides[k]) for k in long]
    axes = merge_axes(map(Axis, [shape[k] for k in long], strides))
    order = (*[k for k, size in enumerate(shape) if size == 1], *long)
    to_axes = make_axis_view(shape, backwards, order, tuple([axis.size for axis in axes]))
    return CopyLoop(tuple(axes), itemsize, _source_axis_order(axes), to_axes)


def _source_axis_order(axes: Sequence[Axis]) -> tuple[int, ...]:
    steps = [abs(axis.strides[READ]) for axis in axes]
    return tuple(sorted([k for k, step in enumerate(steps) if step], key=steps.__getitem__))


def make_axis_view(
    shape: tuple[int, ...], backwards: list[bool], order: tuple[int, ...], sizes: tuple[int, ...]
) -> Callable[[Array], Array]:
    """Return what sees an array turned, in another order, with neighbours merged to `sizes`."""
    if any(backwards):
        flips = tuple([slice(None, None, -1 if back else 1) for back in backwards])
        return lambda array: array[flips].transpose(order).reshape(sizes, copy=False)
    if order != tuple(range(len(shape))):
        return lambda array: array.transpose(order).reshape(sizes, copy=False)
    if sizes != shape:
        return lambda array: array.reshape(sizes, copy=False)
    return lambda array: array


def fuse_contiguous_run(loop: CopyLoop) -> CopyLoop:
    """Return the loop with a short contiguous run made one wide element, if it has such a run."""
    if len(loop.axes) < 2 or not loop.is_contiguous:
        return loop
    width = loop.axes[-1].size * loop.width
    if width > FUSED_BYTES:
        return loop
    word = _WORDS.get(width, f"V{width}")
    axes = loop.axes[:-1]
    return replace(loop, axes=axes, width=width, word=word, read_order=_source_axis_order(axes))


def tile_extents(loop: CopyLoop, max_elements: int) -> tuple[int, ...]:
    """Return the extents of a box of at most `room` elements with long runs on both sides."""
    write_order = range(len(loop.axes) - 1, -1, -1)
    extents = [1] * len(loop.axes)
    _grow_box_extents(extents, loop, loop.read_order, isqrt(max_elements), max_elements)
    _grow_box_extents(extents, loop, write_order, isqrt(max_elements), max_elements)
    _grow_box_extents(
        extents, loop, write_order, max_elements, max_elements
    )  # where the axes of one side end before
    return tuple(extents)


def _grow_box_extents(
    extents: list[int], loop: CopyLoop, order: Sequence[int], max_run: int, max_elements: int
) -> None:
    """Lengthen the run along `order` to at most `run` elements, and the box to at most `room`."""
    run_length = 1
    for k in order:
        most = min(
            max_run // run_length, extents[k] * max_elements // prod(extents), loop.axes[k].size
        )
        extents[k] = max(extents[k], most)
        run_length *= extents[k]
        if extents[k] < loop.axes[k].size:
            return


def _cut_along_one_axis(
    loop: CopyLoop, axes: Sequence[Axis], max_elements: int, threads: int, least_part: float
) -> Cuts:
    """Return boxes of at most `room` elements, cut along one of the axes.

    For several threads in smaller pieces, but at least the part `least` of the whole.
    """
    # The slowest axis that is long enough for pieces of any size, or else the longest.
    enough = [k for k, axis in enumerate(axes) if axis.size >= 16 * threads]
    along = enough[0] if enough else max(range(len(axes)), key=lambda k: axes[k].size)
    size = axes[along].size
    most = max(1, size * max_elements // loop.element_count)
    if threads == 1:
        cut = axis_slices(size, min(size, most))
    else:
        part = max(1 / (5 * threads), min(least_part, 0.9 / threads))
        cut = shrinking_axis_slices(size, threads, ceil(size * part), most)
    return tuple([cut if k == along else (slice(0, n.size),) for k, n in enumerate(loop.axes)])


def shrinking_axis_slices(size: int, threads: int, least: int, most: int) -> tuple[slice, ...]:
    """Return an axis in a few pieces, large ones first, for threads that take one after the other.

    A thread that starts late then still ends with the others. Two threads, a copy of 330 us: 203 us
    so, 238 in four or eight equal parts.
    """
    slices = []
    start = 0
    while start < size:
        extent = min(max(least, (size - start) // (2 * threads)), most)
        slices.append(slice(start, min(start + extent, size)))
        start += extent
    return tuple(slices)


# --- which case a loop is, and what it costs ---

# Of 2,200 copies in one thread (permuted, padded, broadcast, thin; 8,000 to 8 million elements)
# the case took 1.13 times as long as the fastest of four on average, p90 1.4, p99 3.1; without a
# buffer the fastest takes 1.48, p90 2.3 (2026-11-28, 2-core AMD EPYC, NumPy 2.4.6).

_LINE = 64
_PAGE = 4096
_NEAR_CACHE = 32 * 1024  # bytes, of the first level
_SECOND_CACHE = 512 * 1024  # bytes, half of it

# Nanoseconds in one thread: entering numpy's inner loop, an element of a type of numpy's, one of a
# void type, which is a call of memmove; and each byte.
_ROW, _ELEMENT, _VOID, _BYTE = 4.0, 0.3, 1.7, 0.022


def _estimated_nanoseconds(loop: CopyLoop) -> float:
    """Estimate nanoseconds in one thread."""
    if loop.is_contiguous:
        element_cost = _ROW / loop.axes[-1].size
    else:
        element_cost = _VOID if loop.word and loop.word.startswith("V") else _ELEMENT
    return loop.element_count * (element_cost + _BYTE * loop.width)


def _copy_case(loop: CopyLoop) -> str:
    *slower, last = loop.axes
    if loop.is_contiguous:
        return "rows" if slower else "flat"
    far = _leaves_cache_before_reuse(loop)
    if slower and last.size <= (4 if far else 8) and last.size * loop.width <= _LINE // 2:
        return "channels"
    if far and loop.axes[loop.read_order[0]].size >= _least_buffered_run(loop):
        return "tiles"
    repeats = [axis for axis in slower if axis.size >= 16 and axis.strides[READ] == 0]
    if repeats and abs(last.strides[READ]) > loop.width:
        return "repeated"
    return "strided" if loop.word is None else "rows"


def _least_buffered_run(loop: CopyLoop) -> int:
    """Return the least length of the source's rows that pays for a buffer.

    With 32 bytes of a row a line is read often enough. Rows with gaps between them are entered one
    by one: 100 000 rows of 8 bytes take 191 us, by a buffer 213, and with gaps 562. Less is to be
    won where the second cache keeps all: 1000 rows of 64 bytes 3 us, by a buffer 6; of 1024 bytes
    142 and 58.
    """
    if loop.element_count * loop.width <= _SECOND_CACHE:
        return 128
    least = max(loop.width, 32 // loop.width)
    row, *slower = [loop.axes[k] for k in loop.read_order]
    has_gaps = slower and abs(slower[0].strides[READ]) != row.size * abs(row.strides[READ])
    return 2 * least if has_gaps else least


def _leaves_cache_before_reuse(loop: CopyLoop) -> bool:
    """Return whether a line of the source is met again only after it has left the near cache."""
    if not loop.read_order:
        return False
    fastest = loop.read_order[0]
    steps = [(n.size, abs(n.strides[READ])) for n in loop.axes[fastest + 1 :] if n.strides[READ]]
    # Rows apart by a power of two share few sets of the cache.
    crowded = any(size * gcd(step, _PAGE) > _NEAR_CACHE for size, step in steps)
    lines = prod([size for size, _ in steps])
    runs = abs(loop.axes[fastest].strides[READ]) < _LINE
    return runs and (crowded or lines * _LINE > _NEAR_CACHE)


# --- moving the elements: numpy assignments over boxes of the loop ---


def _copy_array(destination: Array, source: Array) -> None:
    """Copy in the order that numpy chooses: by the destination's strides."""
    destination[...] = source


def make_boxed_copy(loop: CopyLoop, cuts: Cuts, threads: int, move: Mover) -> Run:
    """``run(destination, source)``: a copy cut into boxes of the loop, which threads share."""
    view = loop.view_axes

    def run(destination: Array, source: Array) -> None:
        def work(boxes: Iterator[Box]) -> None:
            move(view(destination), view(source), boxes)

        run_in_threads(work, product(*cuts), threads)

    return run


def copy_boxes(destination: Array, source: Array, boxes: Iterator[Box]) -> None:
    """Each box by one assignment."""
    for box in boxes:
        destination[box] = source[box]


_WORD = np.dtype(np.int64)


def _copy_flat_boxes(destination: Array, source: Array, boxes: Iterator[Box]) -> None:
    """Each box, one run on both sides, by a loop over words.

    The C library moves what is larger than the caches by instructions that leave nothing of it
    there: a copy of 64 MB takes 4.4 ms so, 3.9 by the loop (glibc 2.36).
    """
    for box in boxes:
        target, origin = destination[box], source[box]
        if (target.nbytes | target.ctypes.data | origin.ctypes.data) % _WORD.itemsize:
            target[...] = origin
        else:
            np.positive(origin.view(_WORD), out=target.view(_WORD))


def copy_boxes_by_channel(destination: Array, source: Array, boxes: Iterator[Box]) -> None:
    """Each box one position of the fastest axis at a time: numpy would loop over that axis."""
    channels = range(destination.shape[-1])
    for box in boxes:
        target, origin = destination[box], source[box]
        for channel in channels:
            target[..., channel] = origin[..., channel]


# A buffer fresh from the system costs its page faults, 16 us for 256 KB.
_buffers: list[Array] = []


def make_tiled_mover(loop: CopyLoop, cuts: Cuts) -> Mover:
    """Return a mover that gathers each box in a small buffer in the source's order first.

    Both memories are walked along their own rows, and strided reads meet the buffer only. Of long
    rows its pitch is no even number of cache lines: rows apart by a power of two would share few.
    """
    extents = [pieces[0].stop for pieces in cuts]  # of the first box, the largest
    repeated = [axis.strides[READ] == 0 for axis in loop.axes]  # the buffer holds one position
    strides, pitch = [0] * len(extents), loop.width
    for k in sorted(range(len(extents)), key=lambda k: abs(loop.axes[k].strides[READ])):
        if repeated[k]:
            continue
        if k == len(extents) - 1 and pitch >= 64 * loop.width and pitch % (2 * ALIGNMENT) == 0:
            pitch += ALIGNMENT
        strides[k] = pitch
        pitch *= extents[k]
    shape = tuple(
        [1 if is_repeated else n for is_repeated, n in zip(repeated, extents, strict=True)]
    )
    once = tuple([slice(0, 1) if is_repeated else slice(None) for is_repeated in repeated])

    def move(destination: Array, source: Array, boxes: Iterator[Box]) -> None:
        buffer = take_buffer(_buffers, pitch)
        try:
            tile: Array = np.ndarray(shape, destination.dtype, buffer, 0, strides)
            for box in boxes:
                part = source[box][once]
                buffer_part = tile
                if part.shape != tile.shape:
                    buffer_part = tile[tuple([slice(n) for n in part.shape])]
                buffer_part[...] = part
                destination[box] = buffer_part
        finally:
            _buffers.append(buffer)

    return move


# --- several copies as one: threads share what is too small for several threads of its own ---

# Bytes that a thread takes at a time, about: small parts are taken together.
_GROUP = 2 * 1024 * 1024

# What copies several arrays, given their destinations and themselves.
Moves = Callable[[Iterable[Array], Iterable[Array]], None]


def make_combined_copy(copies: Sequence[ReadyCopy], sizes: Sequence[int]) -> Moves:
    """Return what carries out plans on arrays of their own: 32 of 1 MB take 2.5 ms, 2.8 in turn."""
    small = [size for plan, size in zip(copies, sizes, strict=True) if plan.threads == 1]
    if TUNING.threads == 1 or _BYTE * sum(small) < TUNING.thread_cost:
        return lambda destinations, sources: _run_copies(
            zip(copies, destinations, sources, strict=True)
        )
    count = max(1, len(small) * _GROUP // max(1, sum(small)))

    def run(destinations: Iterable[Array], sources: Iterable[Array]) -> None:
        jobs = list(zip(copies, destinations, sources, strict=True))
        _run_copies(job for job in jobs if job[0].threads > 1)
        rest = [job for job in jobs if job[0].threads == 1]
        groups = [rest[k : k + count] for k in range(0, len(rest), count)]
        share_pieces(groups, _run_copies, TUNING.threads)

    return run


def _run_copies(jobs: Iterable[tuple[ReadyCopy, Array, Array]]) -> None:
    for plan, destination, source in jobs:
        plan.run(destination, source)
