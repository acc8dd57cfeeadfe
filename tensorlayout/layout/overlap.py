"""Which indices meet in a slot: solving ``sum(digit * stride) == slot`` over bounded digits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

Part = tuple[int, int]

# A search gives up after so many steps. Layouts whose strides are nested (every layout that packing,
# padding, tiling and slicing can make) need one step a part; only strides such as (6, 10, 15) search.
_STEPS = 200_000


class TooHardError(Exception):
    """The search was given up; what is asked for may or may not exist."""


def solutions(parts: Sequence[Part], slot: int) -> Iterator[tuple[int, ...]]:
    """All digits, one per part, that lead to `slot` (strides not negative).

    Largest stride first; what the smaller ones can still reach bounds each digit, so nested strides
    leave one candidate per part.
    """
    order = sorted(range(len(parts)), key=lambda p: -parts[p][1])
    reach = [0]
    for p in reversed(order):
        reach.append(reach[-1] + (parts[p][0] - 1) * parts[p][1])
    reach.reverse()
    steps = 0

    def search(depth: int, rest: int, digits: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        nonlocal steps
        if depth == len(order):
            if rest == 0:
                yield digits
            return
        extent, stride = parts[order[depth]]
        if stride == 0:
            candidates = range(extent)
        else:
            least = max(0, -((reach[depth + 1] - rest) // stride))
            candidates = range(least, min(extent - 1, rest // stride) + 1)
        for digit in candidates:
            steps += 1
            if steps > _STEPS:
                raise TooHardError
            yield from search(depth + 1, rest - digit * stride, (*digits, digit))

    for digits in search(0, slot, ()):
        yield tuple(digit for _, digit in sorted(zip(order, digits, strict=True)))


def overlaps(parts: Sequence[Part]) -> bool:
    """Whether two different digits of `parts` lead to one slot.

    Exact, but for searches that are given up: those count as overlapping, the safe answer, since
    writing to an overlapping layout is refused.
    """
    steps = sorted((abs(stride), extent) for extent, stride in parts if extent > 1)
    highest, nested = 0, True
    for stride, extent in steps:
        if stride == 0:
            return True
        nested = nested and stride > highest
        highest += (extent - 1) * stride
    return not nested and _differences_meet(steps)


def _differences_meet(steps: list[tuple[int, int]]) -> bool:
    """Whether nonzero differences, each below its extent, add up to nothing."""
    steps = steps[::-1]
    reach = [0]
    divisor = [0]
    for stride, extent in reversed(steps):
        reach.append(reach[-1] + (extent - 1) * stride)
        divisor.append(math.gcd(divisor[-1], stride))
    reach.reverse()
    divisor.reverse()
    dead: set[tuple[int, int, bool]] = set()
    tried = 0

    def search(depth: int, rest: int, moved: bool) -> bool:
        nonlocal tried
        tried += 1
        if tried > _STEPS:
            return True
        if depth == len(steps):
            return moved and rest == 0
        if rest and rest % divisor[depth]:
            return False
        state = (depth, rest, moved)
        if state in dead:
            return False
        stride, extent = steps[depth]
        least = max(-extent + 1, -((reach[depth + 1] - rest) // stride))
        most = min(extent - 1, (reach[depth + 1] + rest) // stride)
        if not moved:
            least = max(least, 0)  # the opposite of a solution is one too
        for difference in range(least, most + 1):
            if search(depth + 1, rest - difference * stride, moved or difference != 0):
                return True
        dead.add(state)
        return False

    return search(0, 0, False)
