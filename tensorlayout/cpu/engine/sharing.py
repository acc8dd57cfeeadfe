"""Large calls, split into blocks that fit the cache or pieces shared by threads.

Pieces depend on the result's layout only. So the bits of a result do not depend on the number of
threads, even if a NumPy loop rounds differently depending on an element's position in a vector.
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

# Minimum bytes read and written of a call that is split.
LEAST_BYTES = 1 << 20

# From this many bytes on, several threads pay for any function. x + y of 4 MB of float32 takes
# 146 us in one thread and 131 in two; of 16 MB 1215 and 900 (2026-11-23, 2-core AMD EPYC (Zen 4),
# numpy 2.4.6).
SURE_BYTES = 12 << 20

# Smaller calls use threads only if they take this long in one thread: waking a thread takes 30 us,
# and the two threads compete for the interpreter. `exp` of 1 MB of float32 takes 120 us in one
# thread and in two; of 2 MB 277 and 182.
LEAST_SECONDS = 150e-6

# Number of timed calls; the first one may be slower because its memory is new.
_TIMES = 3

# Minimum bytes of the result in a piece. As results grow, there are first up to 4 pieces, then the
# pieces grow to four times this size, then there are up to 16. A piece costs 3 to 20 us plus its
# elements: in two threads, x += y of 16 MB of float32 takes 1.0 ms in 16 pieces, 1.15 in 32, 1.2 in
# 64 (same day and machine).
_PIECE = 512 << 10


def axis_slices(size: int, extent: int) -> tuple[slice, ...]:
    """Return slices of `extent` elements over an axis; the last may be shorter."""
    return tuple([slice(k, min(k + extent, size)) for k in range(0, size, extent)])


def axis_slices_without_singles(size: int, extent: int) -> tuple[slice, ...]:
    """Return slices of `extent`, none of one element, which NumPy would round differently."""
    if extent < 3 or not size % extent == 1 < size:
        return axis_slices(size, extent)
    cut = size - 2
    *whole, last = axis_slices(cut, extent)
    return (*whole, last, slice(cut, size))


def slab_boxes(
    shape: Sequence[int],
    minor_to_major: Sequence[int],
    max_elements: int,
    split_axis: Any = axis_slices_without_singles,
) -> list[Box]:
    """Split a shape into boxes of about `max_elements`, whole along the fastest dimensions.

    Sizes must not be 0. The first box is one of the largest. `split_axis` cuts a dimension.
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
    """Call `process_piece` with each piece, quietly, in `threads` threads; None: all allowed."""

    def process_own_pieces(own_pieces: Iterator[Piece]) -> None:
        for piece in own_pieces:
            process_piece(piece)

    most = get_num_threads() if threads is None else threads
    run_in_threads(lambda mine: call_quietly(process_own_pieces, mine), pieces, most)


def is_large_call(nbytes: int) -> bool:
    """Return whether a call that reads and writes `nbytes` may be split."""
    return nbytes >= LEAST_BYTES


def make_shared_call(call: Call, result: Layout, itemsize: int, nbytes: int, exact: bool) -> Call:
    """Return `call`, split among threads if that pays.

    `nbytes`: bytes read and written. `exact`: True if the bits of an element do not depend on its
    position, so that one thread need not split the call.
    """
    if not is_large_call(nbytes) or not result.size:
        return call
    whole = result.size * itemsize
    piece = max(_PIECE, min(-(-whole // 4), 4 * _PIECE), whole // 16)
    boxes = slab_boxes(result.shape, result.minor_to_major, piece // itemsize)
    if len(boxes) < 2:
        return call

    def call_in_threads(arrays: Sequence[Array], out: Array, threads: int) -> None:
        if exact and threads == 1:
            call(arrays, out)
            return
        full = [a if a.shape in ((), out.shape) else np.broadcast_to(a, out.shape) for a in arrays]

        def call_on_box(box: Box) -> None:
            call([a[box] if a.ndim else a for a in full], out[box])

        share_pieces(boxes, call_on_box, threads)

    if nbytes >= SURE_BYTES:
        return lambda arrays, out: call_in_threads(arrays, out, get_num_threads())
    return _make_timed_call(call_in_threads)


def _make_timed_call(run: Callable[[Sequence[Array], Array, int], None]) -> Call:
    """Return a call that runs in one thread at first, and in several if that takes long."""
    seconds: list[float] = []

    def call_and_time(arrays: Sequence[Array], out: Array) -> None:
        if len(seconds) == _TIMES:
            run(arrays, out, get_num_threads() if min(seconds) >= LEAST_SECONDS else 1)
            return
        start = perf_counter()
        run(arrays, out, 1)
        if len(seconds) < _TIMES:  # another thread may have appended meanwhile
            seconds.append(perf_counter() - start)

    return call_and_time


# --- functions with several passes over memory ---------------------------------------------------

# In blocks, later passes find the results of earlier ones in the cache, and operands of other
# dtypes are converted block by block, never as a whole.

Function = Callable[..., object]  # function(*operands, out)

# Bytes of the widest array in a block: temporaries of a function then stay below 4 MB. With steps
# shorter than 50 us, two threads would spend as long exchanging the interpreter lock.
BLOCK_BYTES = 1 << 19


def make_converting_call(
    function: Function, inputs: Sequence[DType], converts: bool, result_nbytes: int
) -> Call:
    """Return ``call(arrays, out)``: `function` on operands converted to `inputs`, quietly.

    `converts`: True if some operand has another dtype. ``out`` may overlap operands if `function`
    writes it only after reading them.
    """
    copy: Any = quiet.copy
    if result_nbytes > BLOCK_BYTES:
        return lambda arrays, out: call_quietly(run_in_blocks, function, arrays, inputs, out)
    if not converts:
        return lambda arrays, out: copy().run(function, *arrays, out)

    def convert_and_call(arrays: Sequence[Array], out: Array) -> None:
        function(*[a.astype(d, copy=False) for a, d in zip(arrays, inputs, strict=True)], out)

    return lambda arrays, out: copy().run(convert_and_call, arrays, out)


def run_in_blocks(
    function: Function, arrays: Sequence[Array], inputs: Sequence[DType], out: Array
) -> None:
    """Run `function` on contiguous blocks; each block gets rank-0 operands whole."""
    if not out.size:  # an empty result may have a large padded block
        return
    pairs = list(zip(arrays, inputs, strict=True))
    block_operands: list[Array] = [a if a.ndim else a.astype(d) for a, d in pairs]
    moving = [i for i, a in enumerate(arrays) if a.ndim]
    flags = ["contig", "overlap_assume_elementwise"]
    nditer: Any = np.nditer  # NumPy's stub does not accept these arguments
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
