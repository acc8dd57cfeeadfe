"""Several copies as one: threads share the parts of a join, and what large parts are cut into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from tensorlayout.cpu.copy import estimate
from tensorlayout.cpu.copy.axes import Array
from tensorlayout.cpu.copy.choose import TUNING, ReadyCopy
from tensorlayout.cpu.engine.threads import share_pieces

# Bytes that a thread takes at a time at least: small parts are taken together.
_GROUP = 2 * 1024 * 1024


# What copies several arrays, given their destinations and themselves.
Move = Callable[[Iterable[Array], Iterable[Array]], None]


def several(plans: Sequence[ReadyCopy], sizes: Sequence[int]) -> Move:
    """What carries out all plans, each on arrays of its own; `sizes` in bytes.

    Destinations are disjoint. 32 parts of 1 MB: 2.5 ms so, 2.8 one after the other, each too small
    for several threads (2026-11-21, 2-core AMD EPYC (Zen 4), numpy 2.4.6).
    """
    large = estimate.BYTE * sum(sizes) >= TUNING.thread_cost
    if len(plans) < 2 or TUNING.threads == 1 or not large:
        return lambda to, from_: _move(zip(plans, to, from_, strict=True))
    groups = _groups(sizes)

    def run(to: Iterable[Array], from_: Iterable[Array]) -> None:
        each = list(zip(plans, to, from_, strict=True))
        share_pieces(
            chain.from_iterable(map(_pieces, (each[g] for g in groups))), _call, TUNING.threads
        )

    return run


def _groups(sizes: Sequence[int]) -> list[slice]:
    """Runs of small parts, and large parts alone."""
    groups, begin, held = [], 0, 0
    for end, size in enumerate(sizes, 1):
        held += size
        if held >= _GROUP:
            groups.append(slice(begin, end))
            begin, held = end, 0
    return [*groups, slice(begin, len(sizes))]


Each = tuple[ReadyCopy, Array, Array]


def _pieces(group: list[Each]) -> Iterator[Callable[[], None]]:
    if len(group) == 1:
        plan, to, from_ = group[0]
        yield from plan.pieces(to, from_)
    else:
        yield lambda: _move(group)


def _move(each: Iterable[Each]) -> None:
    for plan, to, from_ in each:
        plan.run(to, from_)


def _call(piece: Callable[[], None]) -> None:
    piece()
