"""Which indices meet in a slot: solving ``sum(digit * stride) == slot`` over bounded digits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import add

from tensorlayout.layout.slots import Part, Parts, units

# A search gives up after so many steps, in about a tenth of a second. Layouts with nested strides
# (all that packing, padding, tiling and slicing make) need a step a part; strides such as
# (6, 10, 15) search.
_STEPS = 100_000


class TooHardError(Exception):
    """The search was given up; what is asked for may or may not exist."""


def solutions(parts: Sequence[Part], slot: int) -> Iterator[tuple[int, ...]]:
    """All digits, one per part, that lead to `slot` (strides not negative).

    What smaller strides can still reach bounds each digit: nested ones leave it one candidate.
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


def overlaps(parts: Sequence[Parts], shape: Sequence[int]) -> bool:
    """Return whether two indices of a shape, which is not empty, share a slot.

    A search that is given up counts as overlapping: writing to an overlapping layout is refused.
    """
    # Of each digit: its stride, as a magnitude, how many values it has, its dimension, and how many
    # indices a step of it spans, negative where the slots run backwards.
    digits = sorted(
        (abs(stride), min(extent, -(-size // unit)), d, unit if stride > 0 else -unit)
        for d, size in enumerate(shape)
        for (extent, stride), unit in zip(parts[d], units(parts[d]), strict=True)
        if extent > 1 and unit < size  # else it is always 0
    )
    highest, nested = 0, True
    for stride, extent, _, _ in digits:
        if stride == 0:
            return True
        nested = nested and stride > highest
        highest += (extent - 1) * stride
    if nested:
        return False
    # The digits of two indices that share a slot differ by numbers whose steps add up to nothing.
    # Each difference, less than the extent either way, is a digit when it is counted from its
    # least. Its opposite is a difference, too: so along the largest stride none is negative.
    (*smaller, largest) = [(extent, stride) for stride, extent, _, _ in digits]
    differences = [*[(2 * extent - 1, stride) for extent, stride in smaller], largest]
    nothing = sum([(extent - 1) * stride for extent, stride in smaller])
    least = [*[1 - extent for extent, _ in smaller], 0]
    places = [(d, unit) for _, _, d, unit in digits]
    try:
        return any(
            _fits(places, [*map(add, found, least)], shape)
            for found in solutions(differences, nothing)
        )
    except TooHardError:
        return True


def _fits(
    places: Sequence[tuple[int, int]], differences: Sequence[int], shape: Sequence[int]
) -> bool:
    """Return whether two different indices inside `shape` have these differences between digits."""
    # Of the smallest two, one has a 0 at each digit.
    first, second = [0] * len(shape), [0] * len(shape)
    for (dim, unit), difference in zip(places, differences, strict=True):
        index = first if difference * unit > 0 else second
        index[dim] += abs(difference * unit)
    inside = all(max(a, b) < n for a, b, n in zip(first, second, shape, strict=True))
    return inside and first != second
