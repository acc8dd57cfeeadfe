"""Which indices meet in a slot: solving ``sum(digit * stride) == slot`` over bounded digits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tensorlayout.layout.slots import Part

# A search gives up after so many steps, in about a tenth of a second. Layouts with nested strides
# (all that packing, padding, tiling and slicing make) need a step a part; strides such as
# (6, 10, 15) search.
_STEPS = 100_000


class TooHardError(Exception):
    """The search was given up; what is asked for may or may not exist."""


def _suffixes(steps: Sequence[Part]) -> tuple[list[int], list[int]]:
    """What the parts from each number on can reach at most, and what divides all that they reach.

    The divisor is 0 where the parts reach nothing but 0.
    """
    reach, divisor = [0], [0]
    for extent, stride in reversed(steps):
        reach.append(reach[-1] + (extent - 1) * stride)
        divisor.append(math.gcd(divisor[-1], stride))
    return reach[::-1], divisor[::-1]


def _divides(divisor: int, rest: int) -> bool:
    return rest % divisor == 0 if divisor else rest == 0


def solutions(parts: Sequence[Part], slot: int) -> Iterator[tuple[int, ...]]:
    """All digits, one per part, that lead to `slot` (strides not negative).

    Largest stride first; what the smaller ones can still reach bounds each digit, so nested strides
    leave one candidate per part.
    """
    order = sorted(range(len(parts)), key=lambda p: -parts[p][1])
    steps = [parts[p] for p in order]
    reach, divisor = _suffixes(steps)
    tried = 0

    def search(depth: int, rest: int, digits: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        nonlocal tried
        if not _divides(divisor[depth], rest):
            return
        if depth == len(steps):
            yield digits
            return
        extent, stride = steps[depth]
        least, most = 0, extent - 1
        if stride:
            least = max(least, -((reach[depth + 1] - rest) // stride))
            most = min(most, rest // stride)
        for digit in range(least, most + 1):
            tried += 1
            if tried > _STEPS:
                raise TooHardError
            yield from search(depth + 1, rest - digit * stride, (*digits, digit))

    for digits in search(0, slot, ()):
        yield tuple(digit for _, digit in sorted(zip(order, digits, strict=True)))


def overlaps(parts: Sequence[Part]) -> bool:
    """Whether two different digits of `parts` lead to one slot.

    Exact, but for searches that are given up: those count as overlapping, the safe answer, since
    writing to an overlapping layout is refused.
    """
    steps = sorted(
        ((extent, abs(stride)) for extent, stride in parts if extent > 1), key=lambda step: step[1]
    )
    highest, nested = 0, True
    for extent, stride in steps:
        if stride == 0:
            return True
        nested = nested and stride > highest
        highest += (extent - 1) * stride
    return not nested and _differences_meet(steps[::-1])


def _differences_meet(steps: list[Part]) -> bool:
    """Whether nonzero differences, each below its extent, add up to nothing."""
    reach, divisor = _suffixes(steps)
    dead: set[tuple[int, int, bool]] = set()
    tried = 0

    def search(depth: int, rest: int, moved: bool) -> bool:
        nonlocal tried
        tried += 1
        if tried > _STEPS:
            return True
        if not _divides(divisor[depth], rest):
            return False
        if depth == len(steps):
            return moved
        state = (depth, rest, moved)
        if state in dead:
            return False
        extent, stride = steps[depth]
        least = max(1 - extent, -((reach[depth + 1] - rest) // stride))
        most = min(extent - 1, (reach[depth + 1] + rest) // stride)
        if not moved:
            least = max(least, 0)  # the opposite of a solution is one too
        for difference in range(least, most + 1):
            if search(depth + 1, rest - difference * stride, moved or difference != 0):
                return True
        dead.add(state)
        return False

    return search(0, 0, False)
