"""Which indices meet in a slot: solving ``sum(digit * stride) == slot`` over bounded digits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

from tensorlayout.layout.slots import Part

# A search gives up after so many steps, in about a tenth of a second. Layouts with nested strides
# (all that packing, padding, tiling and slicing make) need a step a part; strides such as
# (6, 10, 15) search.
_STEPS = 100_000


class TooHardError(Exception):
    """The search was given up; what is asked for may or may not exist."""


def solutions(parts: Sequence[Part], slot: int) -> Iterator[tuple[int, ...]]:
    """All digits, one per part, that lead to `slot` (strides not negative).

    Largest stride first; what the smaller ones can still reach bounds each digit, so nested strides
    leave one candidate per part. TooHardError where the search is given up.
    """
    order = sorted(range(len(parts)), key=lambda p: -parts[p][1])
    steps = [parts[p] for p in order]
    # From each part on: what they reach at most, and what divides all of that (0 for nothing).
    reach, divisor = [0], [0]
    for extent, stride in reversed(steps):
        reach.insert(0, reach[0] + (extent - 1) * stride)
        divisor.insert(0, math.gcd(divisor[0], stride))
    dead: set[tuple[int, int]] = set()
    tried = 0

    def search(depth: int, rest: int, digits: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        nonlocal tried
        if depth == len(steps):
            yield digits
            return
        extent, stride = steps[depth]
        least, most = 0, extent - 1
        if stride:
            least = max(least, -((reach[depth + 1] - rest) // stride))
            most = min(most, rest // stride)
        found = False
        below = divisor[depth + 1]
        for digit in range(least, most + 1):
            tried += 1
            if tried > _STEPS:
                raise TooHardError
            left = rest - digit * stride
            if (left % below if below else left) or (depth + 1, left) in dead:
                continue
            for each in search(depth + 1, left, (*digits, digit)):
                found = True
                yield each
        if not found:
            dead.add((depth, rest))

    if slot % divisor[0] if divisor[0] else slot:
        return
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
    # Two that meet differ, digit by digit, by what adds up to nothing; as do none that differ. Each
    # difference, less than the extent either way, is a digit when it is counted from its least.
    # The opposite of such a difference is one too: along the largest stride none is negative.
    differences = [(2 * extent - 1, stride) for extent, stride in steps[:-1]] + steps[-1:]
    nothing = sum([(extent - 1) * stride for extent, stride in steps[:-1]])
    try:
        return not nested and len([*islice(solutions(differences, nothing), 2)]) > 1
    except TooHardError:
        return True
