"""Sorts of long lines by digits: the launches of each pass. Integers only."""

from __future__ import annotations

from tensorlayout.cuda.engine.kernel_shapes import parameters
from tensorlayout.cuda.engine.launch import THREADS, Launch
from tensorlayout.cuda.engine.parameters import divisor32, pack_axes
from tensorlayout.cuda.sort.lines import Lines, Pass
from tensorlayout.layout.loop import Axis

FILE = "sort/radix.cu"
DIGIT = 8  # bits
DIGITS = 256

# Blocks that keep a GPU busy: eight on each of 128 multiprocessors.
BLOCKS = 1024

# Elements by which threads are shifted, at most: a chunk is less than its tiles by so many.
_SHIFTED = 32

# Counts that a thread of `scan_digits` adds up, if there are few enough chunks.
_ROWS = 8


def tile_of(lines: Lines) -> int:
    """Elements that a block sorts at once, as in kernels/sort/radix.cu."""
    room = max(lines.dtype.itemsize, lines.octets * lines.positions)
    return (15 if room == 8 else 19) * THREADS


def plan_radix(lines: Lines) -> tuple[tuple[Pass, ...], int]:
    """The launches of each pass, and bytes of their scratch."""
    count, length, each = lines.count, lines.length, tile_of(lines)
    tiles = -(-(length + _SHIFTED) // each)
    together = -(-tiles // max(1, BLOCKS // count))
    chunk = together * each - _SHIFTED
    chunks = -(-length // chunk)

    def pass_of(below: int) -> Pass:
        read = lines.walked if below == 0 else (Axis(lines.size, (1,)),)
        names = ("count_digits", "scatter_digits")
        first, last = (lines.kernel(FILE, name, RANK=len(read)) for name in names)
        made = parameters(first)(
            length=length,
            chunk=min(chunk, length),
            chunks=divisor32(chunks),
            shift=below,
            first=int(below == 0),
            descending=int(lines.down),
        )
        pack_axes(made.walk, read, 1)
        ends = [Launch(each, count * chunks, bytes(made), ()) for each in (first, last)]
        if chunks == 1:
            return tuple(ends)
        shift = min((-(-chunks // _ROWS) - 1).bit_length(), 5)
        scan = lines.kernel(FILE, "scan_digits", gives=False)
        sums = parameters(scan)(chunks=chunks, shift=shift)
        return ends[0], Launch(scan, count << shift, bytes(sums), ()), ends[1]

    passes = tuple(pass_of(below) for below in range(0, lines.bits, DIGIT))
    return passes, DIGITS * lines.octets * (count * chunks + (count if chunks > 1 else 0))
