"""Calls over large memory: in blocks that the cache holds, or pieces that threads share.

The pieces follow from the layout of the result alone. So the bits of a result do not depend on how
many threads there are, even where a loop of NumPy rounds by an element's place in a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.memory import Array, call_quietly, quiet
from tensorlayout.cpu.engine.threads import Piece, get_num_threads, run_in_threads
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout

Box = tuple[slice, ...]
Call = Callable[[Sequence[Array], Array], None]  # call(arrays, out)

# Bytes read and written from which a call is cut at all.
LEAST_BYTES = 1 << 20

# From as many bytes on several threads pay, whatever is done with them. x + y of 4 MB of float32
# 146 us in one thread, 131 in two; of 16 MB 1215 and 900 (2026-11-23, 2-core AMD EPYC (Zen 4),
# numpy 2.4.6).
SURE_BYTES = 12 << 20

# Below that the call is timed in one thread: to wake another takes 30 us, and both of them take
# turns at the interpreter. `exp` of 1 MB of float32 120 us in one thread and in two, of 2 MB 277
# and 182.
LEAST_SECONDS = 150e-6

# How often a call is timed: the first time its memory may be new.
_TIMES = 3

# Bytes of the result in a piece at least. There are up to four, then each grows to four times that,
# then there are up to sixteen. A piece takes 3 to 20 us besides its elements: in two threads x += y
# of 16 MB of float32 takes 1.0 ms in sixteen, 1.15 in 32, 1.2 in 64 (same day and machine).
_PIECE = 512 << 10


def axis_slices(size: int, extent: int) -> tuple[slice, ...]:
    """Return an axis in pieces of `extent`, the last of what is left."""
    return tuple([slice(k, min(k + extent, size)) for k in range(0, size, extent)])


def axis_slices_of_several(size: int, extent: int) -> tuple[slice, ...]:
    """Return `pieces`, none of one element: NumPy's loops for single ones round otherwise."""
    if extent < 3 or not size % extent == 1 < size:
        return axis_slices(size, extent)
    cut = size - 2
    *whole, last = axis_slices(cut, extent)
    return (*whole, last, slice(cut, size))


def slab_boxes(
    shape: Sequence[int],
    minor_to_major: Sequence[int],
    max_elements: int,
    split_axis: Any = axis_slices_of_several,
) -> list[Box]:
    """Boxes of at most about `room` elements, whole along the fastest dimensions; sizes not 0.

    The first is one of the largest. `cut`: what cuts a dimension into pieces.
    """
    steps = [1] * len(shape)
    remaining = max(1, max_elements)
    for d in minor_to_major:
        steps[d] = min(shape[d], remaining)
        remaining = max(1, remaining // shape[d])
    return list(product(*map(split_axis, shape, steps)))


def share_pieces(
    pieces: Iterable[Piece], process_piece: Callable[[Piece], object], threads: int | None = None
) -> None:
    """Call `move` with each piece, without warnings, in `threads`, or as many as may be used."""

    def move_pieces(own_pieces: Iterator[Piece]) -> None:
        for piece in own_pieces:
            process_piece(piece)

    most = get_num_threads() if threads is None else threads
    run_in_threads(lambda mine: call_quietly(move_pieces, mine), pieces, most)


def is_large_call(nbytes: int) -> bool:
    """Return True if a call that reads and writes this many bytes may be split into pieces."""
    return nbytes >= LEAST_BYTES


def make_shared_call(call: Call, result: Layout, itemsize: int, nbytes: int, exact: bool) -> Call:
    """Return `call`, its result of this layout made by several threads where that pays; or itself.

    `nbytes`: read and written. `exact`: whether an element has the same bits wherever it is.
    """
    if not is_large_call(nbytes) or not result.size:
        return call
    whole = result.size * itemsize
    piece = max(_PIECE, min(-(-whole // 4), 4 * _PIECE), whole // 16)
    boxes = slab_boxes(result.shape, result.minor_to_major, piece // itemsize)
    if len(boxes) < 2:
        return call

    def run(arrays: Sequence[Array], out: Array, threads: int) -> None:
        if exact and threads == 1:
            call(arrays, out)
            return
        full = [a if a.shape in ((), out.shape) else np.broadcast_to(a, out.shape) for a in arrays]

        def call_on_box(box: Box) -> None:
            call([a[box] if a.ndim else a for a in full], out[box])

        share_pieces(boxes, call_on_box, threads)

    if nbytes >= SURE_BYTES:
        return lambda arrays, out: run(arrays, out, get_num_threads())
    return _make_timed_call(run)


def _make_timed_call(run: Callable[[Sequence[Array], Array, int], None]) -> Call:
    """Return `run` in one thread at first, and in several if that takes long."""
    seconds: list[float] = []

    def call(arrays: Sequence[Array], out: Array) -> None:
        if len(seconds) == _TIMES:
            run(arrays, out, get_num_threads() if min(seconds) >= LEAST_SECONDS else 1)
            return
        start = perf_counter()
        run(arrays, out, 1)
        if len(seconds) < _TIMES:  # another thread may have been here
            seconds.append(perf_counter() - start)

    return call


# --- functions of several passes -----------------------------------------------------------------

# What they write early they read again while it is still in the cache, and operands of other dtypes
# are converted a block at a time, never as a whole.

Function = Callable[..., object]  # function(*operands, out)

# Of the widest array, so that what a function needs on the way stays below 4 MB. Steps of less than
# 50 us have two threads hand the interpreter lock to and fro, for as long.
BLOCK_BYTES = 1 << 19


def make_blockwise_call(
    function: Function, inputs: Sequence[DType], converts: bool, nbytes: int
) -> Call:
    """``call(arrays, out)``: `function` on operands converted to `inputs`, without warnings.

    `converts`: whether some operand has another dtype; `nbytes`: of the result. ``out`` may overlap
    operands if `function` writes it only after it has read them.
    """
    copy: Any = quiet.copy
    if nbytes > BLOCK_BYTES:
        return lambda arrays, out: call_quietly(run_in_blocks, function, arrays, inputs, out)
    if not converts:
        return lambda arrays, out: copy().run(function, *arrays, out)

    def convert(arrays: Sequence[Array], out: Array) -> None:
        function(*[a.astype(d, copy=False) for a, d in zip(arrays, inputs, strict=True)], out)

    return lambda arrays, out: copy().run(convert, arrays, out)


def run_in_blocks(
    function: Function, arrays: Sequence[Array], inputs: Sequence[DType], out: Array
) -> None:
    """`function` on contiguous blocks; operands of rank 0 go to each of them as they are."""
    if not out.size:  # of a large padded block
        return
    pairs = list(zip(arrays, inputs, strict=True))
    block_operands: list[Array] = [a if a.ndim else a.astype(d) for a, d in pairs]
    moving = [i for i, a in enumerate(arrays) if a.ndim]
    flags = ["contig", "overlap_assume_elementwise"]
    nditer: Any = np.nditer  # whose stub knows fewer combinations
    blocks = nditer(
        [*(arrays[i] for i in moving), out],
        ["external_loop", "buffered", "copy_if_overlap"],
        [*(["readonly", *flags] for _ in moving), ["writeonly", *flags]],
        [*(inputs[i] for i in moving), out.dtype],
        casting="unsafe",
        buffersize=BLOCK_BYTES // max([out.itemsize, *[a.itemsize for a in arrays]]),
    )
    with blocks:
        for *operand_blocks, target in blocks:
            for i, block in zip(moving, operand_blocks, strict=True):
                block_operands[i] = block
            function(*block_operands, target)
