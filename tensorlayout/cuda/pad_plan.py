"""Borders around tensors: which launch, decided once. Integers only, no device."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import NamedTuple

from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import PER_THREAD, THREADS, Launch
from tensorlayout.cuda.engine.parameters import RANKS, divisor, index_type, pack_walk
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.layout import Layout
from tensorlayout.plan.pad import Border

FILE = "coordinates.cu"

# `BorderMode` of kernels/coordinates.cu; all others repeat what is inside.
_MODES = {"constant": "CONSTANT", "edge": "EDGE"}


class _Axis(NamedTuple):
    """A dimension: elements inside and around, its strides in the result and the source."""

    inside: int
    before: int
    after: int
    to: int
    from_: int

    @property
    def size(self) -> int:
        return self.before + self.inside + self.after

    @property
    def is_plain(self) -> bool:
        return self.before == self.after == 0


@dataclass(frozen=True, slots=True)
class _Loop:
    """All elements of the result; axes slowest first, in elements of `width` bytes.

    `head` and `packs`: where in a row of the result packs of 16 bytes begin, and how many there
    are; 0 for rows of single elements.
    """

    axes: tuple[_Axis, ...]
    width: int
    firsts: tuple[int, int]
    head: int = 0
    packs: int = 0


def plan_pad(
    result: Layout,
    source: Layout,
    itemsize: int,
    borders: tuple[Border, ...],
    mode: str,
    alignments: tuple[int, int],
) -> Launch | None:
    """The launch; None for an empty result.

    `alignments` of the result and the source, no less than an element. Layouts have their lowest
    slots at 0, and are not tiled; the result has no two elements in one slot.
    """
    assert min(alignments) >= itemsize, "memory is aligned to its elements"
    if not result.size:
        return None
    loop = _in_packs(_loop(result, source, itemsize, borders, mode, alignments), mode, alignments)
    return _launch(loop, mode)


def _loop(
    result: Layout,
    source: Layout,
    itemsize: int,
    borders: tuple[Border, ...],
    mode: str,
    alignments: tuple[int, int],
) -> _Loop:
    first, start = result.offset, source.offset
    axes: list[_Axis] = []
    for d in reversed(result.minor_to_major):
        n, (before, after) = source.shape[d], borders[d]
        to, step = result.strides[d], source.strides[d]
        if result.shape[d] == 1 and n == 1:
            continue
        if to < 0:  # backwards in both
            first, to = first + (result.shape[d] - 1) * to, -to
            start, step = start + max(n - 1, 0) * step, -step
            before, after = after, before
        faster = _Axis(n, before, after, to, step)
        joined = _joined(axes[-1], faster, mode) if axes else None
        axes[-1:] = [*axes[-1:], faster] if joined is None else [joined]
    firsts = first * itemsize, start * itemsize
    loop = _Loop(tuple(axes) or (_Axis(1, 0, 0, 1, 1),), itemsize, firsts)
    return _widened(loop, mode, alignments)


def _joined(slower: _Axis, faster: _Axis, mode: str) -> _Axis | None:
    """One axis for two that follow each other in both memories; None where they do not."""
    if not faster.is_plain or not (slower.is_plain or mode in ("constant", "wrap")):
        return None
    n = faster.inside
    if slower.to != faster.to * n or (slower.from_ != faster.from_ * n and slower.inside > 1):
        return None
    inside, before, after = (each * n for each in (slower.inside, slower.before, slower.after))
    return _Axis(inside, before, after, faster.to, faster.from_)


def _widened(loop: _Loop, mode: str, alignments: tuple[int, int]) -> _Loop:
    """The loop over wider elements, if the fastest axis is contiguous and rows consist of them."""
    *slower, last = loop.axes
    if last.to != 1 or last.from_ != 1 or not (last.is_plain or mode in ("constant", "wrap")):
        return loop
    steps = [step for axis in slower for step in (axis.to, axis.from_)]
    counts = (*steps, last.inside, last.before, last.after)
    wide = gcd(WIDEST, *alignments, *loop.firsts, *[count * loop.width for count in counts])
    times = wide // loop.width
    rows = [a._replace(to=a.to // times, from_=a.from_ // times) for a in slower]
    inside, before, after = (each // times for each in (last.inside, last.before, last.after))
    return _Loop((*rows, _Axis(inside, before, after, 1, 1)), wide, loop.firsts)


def _in_packs(loop: _Loop, mode: str, alignments: tuple[int, int]) -> _Loop:
    """The loop with packs, where these are most of each row."""
    *slower, last = loop.axes
    times = WIDEST // loop.width
    steps = [step * loop.width for axis in slower for step in (axis.to, axis.from_)]
    if times == 1 or last.to != 1 or last.from_ != 1:
        return loop
    if any(each % WIDEST for each in (*alignments, *steps)):
        return loop
    to, from_ = loop.firsts
    skipped = -from_ % WIDEST // loop.width  # elements before the first pack
    head = last.before + skipped
    packs = max(last.inside - skipped, 0) // times
    if (to + head * loop.width) % WIDEST or 2 * packs * times < last.size:
        return loop
    return _Loop(loop.axes, loop.width, loop.firsts, head, packs)


def _launch(loop: _Loop, mode: str) -> Launch:
    axes, rank = loop.axes, len(loop.axes)
    periods = [_period(axis, mode) for axis in axes]
    lifts = [-(-axis.before // m) * m for axis, m in zip(axes, periods, strict=True)]
    furthest = [sum((a.size - 1) * a.to for a in axes), sum(a.inside * abs(a.from_) for a in axes)]
    furthest += [axis.size + lift for axis, lift in zip(axes, lifts, strict=True)]
    times = WIDEST // loop.width if loop.packs else 1
    rows = prod(axis.size for axis in axes[:-1])
    singles = axes[-1].size - loop.packs * times
    packed = rows * loop.packs
    count = packed + rows * singles
    index = index_type(rows * axes[-1].size, max(furthest))
    width = WIDEST if loop.packs else loop.width
    chosen = kernel(FILE, "pad_elements", RANK=rank, INDEX=index, ELEMENT=loop.width, WIDTH=width)
    made = parameters(chosen)(count=count, packed=packed, head=loop.head)
    made.packs_end, made.packs = loop.head + loop.packs * times, divisor(index, max(loop.packs, 1))
    sizes = [*[axis.size for axis in axes[:-1]], max(singles, 1)]
    pack_walk(made.walk, sizes, [[a.to for a in axes], [a.from_ for a in axes]])
    border = made.border
    border.mode, border.twice = constant(FILE, _MODES.get(mode, "REPEATED")), mode == "symmetric"
    for d, (axis, period, lift) in enumerate(zip(axes, periods, lifts, strict=True)):
        border.before[d], border.inside[d], border.lift[d] = axis.before, axis.inside, lift
        border.period[d] = divisor(index, period)
    each = PER_THREAD if rank in RANKS else 1
    return Launch(chosen, -(-count // (THREADS * each)), bytes(made), loop.firsts)


def _period(axis: _Axis, mode: str) -> int:
    """After how many elements what is around comes again."""
    if mode == "reflection":
        return max(2 * axis.inside - 2, 1)
    return max(2 * axis.inside if mode == "symmetric" else axis.inside, 1)
