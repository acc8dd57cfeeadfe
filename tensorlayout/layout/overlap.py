"""Which indices meet in a slot: solving ``sum(digit * stride) == slot`` over bounded digits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import add
from typing import NamedTuple

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
    digits = [
        _Digit(d, min(extent, -(-size // unit)), unit, stride)
        for d, size in enumerate(shape)
        for (extent, stride), unit in zip(parts[d], units(parts[d]), strict=True)
        if extent > 1 and unit < size  # else it is always 0
    ]
    digits.sort(key=lambda digit: abs(digit.stride))
    highest, nested = 0, True
    for digit in digits:
        if digit.stride == 0:
            return True
        nested = nested and abs(digit.stride) > highest
        highest += (digit.extent - 1) * abs(digit.stride)
    if nested:
        return False
    # The digits of two indices that share a slot differ by numbers whose steps add up to nothing.
    # Each difference, less than the extent either way, is a digit when it is counted from its
    # least. Its opposite is a difference, too: so along the largest stride none is negative.
    (*smaller, largest) = [(digit.extent, abs(digit.stride)) for digit in digits]
    differences = [*[(2 * extent - 1, stride) for extent, stride in smaller], largest]
    nothing = sum([(extent - 1) * stride for extent, stride in smaller])
    least = [*[1 - extent for extent, _ in smaller], 0]
    try:
        return any(
            _fits(digits, [*map(add, found, least)], shape)
            for found in solutions(differences, nothing)
        )
    except TooHardError:
        return True


class _Digit(NamedTuple):
    """A digit of an index: so many values, each `unit` indices and `stride` slots further."""

    dim: int
    extent: int
    unit: int
    stride: int


def _fits(digits: Sequence[_Digit], differences: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether two different indices inside `shape` have these differences between digits."""
    # Of the smallest two, one has a 0 at each digit.
    first, second = [0] * len(shape), [0] * len(shape)
    for digit, difference in zip(digits, differences, strict=True):
        steps = difference if digit.stride > 0 else -difference
        index = first if steps > 0 else second
        index[digit.dim] += abs(steps) * digit.unit
    inside = all(max(a, b) < n for a, b, n in zip(first, second, shape, strict=True))
    return inside and first != second
