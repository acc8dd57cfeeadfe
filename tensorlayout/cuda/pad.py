"""Borders around tensors; and a tensor spread over a window of another, zero elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import Any, NamedTuple

from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import PER_THREAD, THREADS, Launch, blocks_for, writer
from tensorlayout.cuda.engine.parameters import RANKS, divisor, pack_walk
from tensorlayout.cuda.engine.scalars import octets
from tensorlayout.cuda.engine.sectors import WIDEST
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.cuda.fill.fill import pattern
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import index_type
from tensorlayout.plan.base import Write
from tensorlayout.plan.pad import Border, PadPlan, SliceGradPlan

FILE, SLICE_GRAD_FILE = "coordinates.cu", "spread.cu"

# Those of spread.cu whose loops have a known length.
SLICE_GRAD_RANKS = (1, 2, 3)

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


# ---- Windows


class _Window(NamedTuple):
    """A dimension: size, strides; of the window: where it begins, its step, its elements."""

    size: int
    to: int
    from_: int
    first: int
    step: int
    taken: int

    @property
    def whole(self) -> bool:
        """Whether the window takes all of it."""
        return self.taken == self.size


def plan_slice_grad(
    result: Layout,
    source: Layout,
    window: tuple[tuple[int, int], ...],
    itemsize: int,
    alignments: tuple[int, int],
) -> Launch:
    """The launch; `window`: for each dimension the place of the source's first element, the step.

    Neither is empty. `alignments` of the result and the source, no less than an element. Layouts
    have their lowest slots at 0, and are not tiled. `firsts` of the result and the source.
    """
    assert min(alignments) >= itemsize, "memory is aligned to its elements"
    axes, begin = _windows(result, source, window)
    firsts = (result.offset * itemsize, begin * itemsize)
    width = _window_width(axes, itemsize, (*firsts, *alignments))
    axes = _wide_windows(axes, width // itemsize)
    furthest = max(sum((a.size - 1) * abs(a.to) for a in axes), *[a.size for a in axes])
    furthest = max(furthest, sum((a.taken - 1) * abs(a.from_) for a in axes))
    count, rank = prod(a.size for a in axes), len(axes)
    index = index_type(count, furthest)
    chosen = kernel(SLICE_GRAD_FILE, "spread_elements", RANK=rank, INDEX=index, WIDTH=width)
    made = parameters(chosen)(count=count, rank=rank)
    for d, each in enumerate(axes):
        made.stride[0][d], made.stride[1][d] = each.to, each.from_
        made.first[d], made.taken[d] = each.first, each.taken
        made.size[d], made.step[d] = divisor(index, each.size), divisor(index, each.step)
    grid = blocks_for(count * (1 if rank in SLICE_GRAD_RANKS else PER_THREAD))
    return Launch(chosen, grid, bytes(made), firsts)


def _windows(
    result: Layout, source: Layout, window: tuple[tuple[int, int], ...]
) -> tuple[list[_Window], int]:
    """Dimensions, slowest first, with positive steps; and the first slot that is read."""
    found: list[_Window] = []
    begin = source.offset
    for d in reversed(result.minor_to_major):
        (first, step), taken, from_ = window[d], source.shape[d], source.strides[d]
        if step < 0:  # from the other end
            first, begin, from_ = first + (taken - 1) * step, begin + (taken - 1) * from_, -from_
        if result.shape[d] == 1:
            continue
        step = abs(step) if taken > 1 else 1
        axis = _Window(result.shape[d], result.strides[d], from_, first, step, taken)
        if found and _window_continues(found[-1], axis):
            size = found[-1].size * axis.size
            found[-1] = axis._replace(size=size, taken=size)
        else:
            found.append(axis)
    return found or [_Window(1, 1, 1, 0, 1, 1)], begin


def _window_continues(slower: _Window, faster: _Window) -> bool:
    size = faster.size
    both = slower.whole and faster.whole
    return both and slower.to == faster.to * size and slower.from_ == faster.from_ * size


def _window_width(axes: list[_Window], itemsize: int, aligned: tuple[int, ...]) -> int:
    """The widest access, in **bytes**."""
    *slower, last = axes
    if last.to != 1 or last.step != 1 or (last.from_ != 1 and last.taken > 1):
        return itemsize
    steps = [s for a in slower for s in (a.to, a.from_)]
    steps += [last.size, last.first, last.taken]
    return gcd(WIDEST, *aligned, *[step * itemsize for step in steps])


def _wide_windows(axes: list[_Window], times: int) -> list[_Window]:
    *slower, last = axes
    found = [a._replace(to=a.to // times, from_=a.from_ // times) for a in slower]
    return [
        *found,
        last._replace(
            size=last.size // times, first=last.first // times, taken=last.taken // times
        ),
    ]


# ---- Writes


def write_pad(plan: PadPlan) -> Write:
    """The function of the result, the tensor, and the value of a constant."""
    spec, source = plan.result, plan.source.layout

    def planned(alignments: tuple[int, ...]) -> Launch | None:
        to, from_ = alignments
        itemsize = spec.dtype.itemsize
        return plan_pad(spec.layout, source, itemsize, plan.borders, plan.mode, (to, from_))

    def content(value: Any) -> bytes:
        return pattern(octets(plan.name, value, spec.dtype))

    return writer(spec.device.number, planned, 2, content)


def write_slice_grad(plan: SliceGradPlan) -> Write:
    """The function of the result and the tensor, one launch.

    Each element of the result finds whether the tensor has one for it.
    """
    spec, source, itemsize = plan.result, plan.source.layout, plan.result.dtype.itemsize

    def planned(alignments: tuple[int, ...]) -> Launch:
        to, from_ = alignments
        return plan_slice_grad(spec.layout, source, plan.window, itemsize, (to, from_))

    return writer(spec.device.number, planned)
