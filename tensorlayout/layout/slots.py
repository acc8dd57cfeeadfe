"""Exact integer arithmetic on parts: from an index to its slot and back, ranges, slices, reshapes.

A dimension of size ``n`` is a tuple of *parts* ``(extent, stride)``, most major first. The index is
written in mixed radix over the extents, and the slot is the sum of digit times stride. A strided
dimension has the one part ``(n, stride)``. A tiled one has several, whose extents may multiply to
more than ``n`` (the tail of the last tile): size 5 in tiles of 2 has ``(3, 8), (2, 1)``, say, where
index 3 is the digits 1 and 1, and slot 9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import add

Part = tuple[int, int]
Parts = tuple[Part, ...]

# Kernels count slots in signed 64-bit integers.
MAX_SLOTS = 2**63 - 1


def strides_to_parts(shape: Sequence[int], strides: Sequence[int]) -> tuple[Parts, ...]:
    """Return the parts of strided dimensions, one each."""
    return tuple([((n, s),) for n, s in zip(shape, strides, strict=True)])


def indices_per_major_step(parts: Parts) -> int:
    """Return the number of indices that one step of the most major part spans."""
    return math.prod(extent for extent, _ in parts[1:])


def part_units(parts: Parts) -> list[int]:
    """Return, for each part, the number of indices that one of its steps spans."""
    return [indices_per_major_step(parts[first_part:]) for first_part in range(len(parts))]


def resize_most_major_part(parts: Parts, size: int) -> Parts:
    """Return the parts with the extent of the most major one that `size` needs."""
    return ((-(-size // indices_per_major_step(parts)), parts[0][1]), *parts[1:])


def slot_of_index(parts: Parts, index: int) -> int:
    """Return the slot of an index of one dimension, relative to index 0."""
    slot = 0
    for extent, stride in parts[:0:-1]:
        index, digit = divmod(index, extent)
        slot += digit * stride
    # The first digit has no modulus: an index of padding may lie beyond its extent.
    return slot + index * parts[0][1]


def lowest_and_highest_slot(
    shape: Sequence[int], dims: Sequence[Parts], offset: int
) -> tuple[int, int]:
    """Return the lowest and highest slot of an element; without elements, the offset twice."""
    low = high = offset
    if 0 in shape:
        return low, high
    for size, parts in zip(shape, dims, strict=True):
        if len(parts) == 1:  # almost always, and much faster
            reach = (size - 1) * parts[0][1]
            low, high = (low + reach, high) if reach < 0 else (low, high + reach)
        else:
            lows, highs = zip(*_slot_extremes_by_smaller_digit(parts, size - 1), strict=True)
            low, high = low + min(lows), high + max(highs)
    return low, high


def _slot_extremes_by_smaller_digit(parts: Parts, last_index: int) -> Iterator[tuple[int, int]]:
    """Yield the extreme slots of indices up to `last_index`, grouped by the first smaller digit.

    All later digits are unrestricted then, so each has its extreme at one of its ends.
    """
    # Digits at their extents would count the tail of the last tile, too. Example: size 5 in tiles
    # of 2 ends at the digits (2, 0). Either the first digit is 0 or 1 and the second one is free,
    # or the digits are (2, 0), which the last line yields.
    prefix = 0
    for number, ((_, stride), unit) in enumerate(zip(parts, part_units(parts), strict=True)):
        free = parts[number + 1 :]
        digit, last_index = divmod(last_index, unit)
        if digit:
            ends = [(digit - 1) * stride, *((e - 1) * s for e, s in free)]
            yield (prefix + sum(min(0, e) for e in ends), prefix + sum(max(0, e) for e in ends))
        prefix += digit * stride
    yield prefix, prefix


def packed_strides(shape: Sequence[int], minor_to_major: Sequence[int]) -> list[int]:
    """Return the strides, in elements, of `shape` without gaps; a size of 0 counts as 1."""
    strides = [0] * len(shape)
    running = 1
    for dim in minor_to_major:
        strides[dim] = running
        running *= max(shape[dim], 1)
    return strides


def covers_block(dims: Sequence[Parts], padded_shape: Sequence[int]) -> bool:
    """Return whether the parts, extended to `padded_shape`, fill a block one to one."""
    if 0 in padded_shape:
        return True
    steps = []
    for parts, padded in zip(dims, padded_shape, strict=True):
        inner = indices_per_major_step(parts) if len(parts) > 1 else 1
        if padded % inner:
            return False
        steps.append((abs(parts[0][1]), padded // inner))
        steps += [(abs(stride), extent) for extent, stride in parts[1:]]
    # In a block, each stride is the product of all extents of smaller strides: 12 slots may have
    # the (stride, extent) pairs (1, 3), (3, 2), (6, 2). With (4, 2) instead of (3, 2), no element
    # would have slot 3.
    running = 1
    for stride, extent in sorted(steps):
        if extent != 1 and stride != running:
            return False
        running *= extent
    return True


def slice_parts(parts: Parts, start: int, count: int, step: int) -> Parts | None:
    """Return parts of `count` indices from `start`, not yet normalized; None if there are none."""
    if count <= 1:  # no step is taken, so the stride stays
        return ((count, parts[-1][1]),)
    inner = indices_per_major_step(parts)
    # Steps of whole tiles change the first digit alone, so the result has one stride.
    if step % inner == 0:
        return ((count, parts[0][1] * (step // inner)),)
    # A range that begins with a tile keeps the tiles. Backwards, it must begin at the end of a
    # tile: there all inner digits have their largest value, so they run backwards without a borrow.
    whole_tiles = (step == 1 and start % inner == 0) or (step == -1 and (start + 1) % inner == 0)
    if whole_tiles:
        return tuple((extent, s * step) for extent, s in resize_most_major_part(parts, count))
    # Inside one tile the first digit is constant, and the inner parts decide alone.
    if start // inner == (start + (count - 1) * step) // inner:
        return slice_parts(parts[1:], start % inner, count, step)
    return None


def merge_adjacent_parts(parts: Sequence[Part]) -> Parts:
    """Merge neighbouring `parts` that continue each other, and drop extents of 1."""
    joined: list[Part] = []
    for extent, stride in parts:
        if extent == 1 and len(parts) > 1:
            continue
        if joined and joined[-1][1] == extent * stride:
            joined[-1] = (joined[-1][0] * extent, stride)
        else:
            joined.append((extent, stride))
    return tuple(joined) or (parts[-1],)


def normalize_parts(parts: Parts, size: int, padded: int) -> Parts:
    """Return the canonical `parts` of a dimension of `size`: as few parts as possible.

    The indices below `padded` keep their slots, so that a block of padding stays covered.
    """
    if len(parts) == 1:
        return parts
    joined = merge_adjacent_parts(resize_most_major_part(parts, padded))
    while len(joined) > 1 and padded <= indices_per_major_step(joined):
        joined = joined[1:]  # a first digit that is always 0
    return resize_most_major_part(joined, size)


def reshape_strides(dims: Sequence[Part], shape: Sequence[int]) -> list[int] | None:
    """Return the strides of strided dimensions reshaped to `shape`; None if there are none.

    Each run of old dimensions with one step must consist of whole new ones. No size is 0.
    """
    # New dimensions take their sizes from the runs, fastest first. Sizes (4, 6) with the strides
    # (12, 1) are two runs. Shape (2, 2, 3, 2) takes 2 and 3 from the last run and 2 and 2 from the
    # first: strides (24, 12, 2, 1). Shape (8, 3) fails: 2 of the 6 are left, and 8 does not divide
    # them.
    runs, remaining_size, step = [*merge_adjacent_parts(dims)] if dims else [], 1, 0
    strides = []
    for size in reversed(shape):
        if size != 1 and remaining_size == 1:
            remaining_size, step = runs.pop()
        if remaining_size % size:
            return None
        strides.append(step)
        remaining_size, step = remaining_size // size, step * size
    return fill_unit_dim_strides(shape, strides[::-1])


def fill_unit_dim_strides(shape: Sequence[int], strides: list[int]) -> list[int]:
    """Return `strides`, changed for dimensions of size 1 to continue the next, as if packed."""
    following = 1
    for dim in range(len(shape) - 1, -1, -1):
        if shape[dim] == 1:
            # One step beyond the last element may leave 64 bits, although every element is inside.
            strides[dim] = following if abs(following) <= MAX_SLOTS else 1
        following = strides[dim] * shape[dim]
    return strides


def reshape_padded_sizes(
    shape: Sequence[int], padded_shape: Sequence[int], new_shape: Sequence[int]
) -> list[int] | None:
    """Return the padded sizes after a reshape that keeps each padded dimension; otherwise None.

    A dimension is kept if the new shape has one of its size, followed by as many elements.
    """
    # Only dimensions of size 1 can share a key: several may have as many elements behind them. So a
    # padded dimension of size 1 has no certain place, and is refused below.
    places = {(n, math.prod(new_shape[d + 1 :])): d for d, n in enumerate(new_shape)}
    padded = list(new_shape)
    for d, (n, p) in enumerate(zip(shape, padded_shape, strict=True)):
        if n == p:
            continue
        place = places.get((n, math.prod(shape[d + 1 :])))
        if place is None or n == 1:
            return None
        padded[place] = p
    return padded


# --- which indices meet in a slot: ``sum(digit * stride) == slot`` over bounded digits -----------

# Limit of steps of a search, about a tenth of a second. Nested strides, which are all that packing,
# padding, tiling and slicing make, need one step per part; strides such as (6, 10, 15) need a
# search.
_STEPS = 100_000


class SearchLimitError(Exception):
    """The search was given up; a solution may or may not exist."""


def find_digits_for_slot(parts: Sequence[Part], slot: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of digits, one per part, that lead to `slot`; no stride is negative.

    Each digit is bounded by what smaller strides can still reach: nested strides leave one value.
    """
    order = sorted(range(len(parts)), key=lambda p: -parts[p][1])
    steps = [parts[p] for p in order]
    # For the parts from each one on: the largest slot they reach, and the common divisor of strides
    # (0 without parts).
    reach, divisor = [0], [0]
    for extent, stride in reversed(steps):
        reach.insert(0, reach[0] + (extent - 1) * stride)
        divisor.insert(0, math.gcd(divisor[0], stride))
    # States (depth, slot that remains) without a solution, so that none is searched twice.
    dead: set[tuple[int, int]] = set()
    tried = 0

    def search_digits(
        depth: int, remaining_slot: int, digits: tuple[int, ...]
    ) -> Iterator[tuple[int, ...]]:
        nonlocal tried
        if depth == len(steps):
            yield digits
            return
        extent, stride = steps[depth]
        # The digit must leave from 0 to `reach[depth + 1]` slots to the smaller strides.
        least, most = 0, extent - 1
        if stride:
            least = max(least, -((reach[depth + 1] - remaining_slot) // stride))
            most = min(most, remaining_slot // stride)
        has_solution = False
        below = divisor[depth + 1]
        for digit in range(least, most + 1):
            tried += 1
            if tried > _STEPS:
                raise SearchLimitError
            next_slot = remaining_slot - digit * stride
            if (next_slot % below if below else next_slot) or (depth + 1, next_slot) in dead:
                continue
            for solution in search_digits(depth + 1, next_slot, (*digits, digit)):
                has_solution = True
                yield solution
        if not has_solution:
            dead.add((depth, remaining_slot))

    if slot % divisor[0] if divisor[0] else slot:
        return
    for digits in search_digits(0, slot, ()):
        yield tuple(digit for _, digit in sorted(zip(order, digits, strict=True)))


def has_overlapping_indices(parts: Sequence[Parts], shape: Sequence[int]) -> bool:
    """Return whether two indices of a non-empty shape share a slot.

    A search that is given up counts as overlapping, because writes to overlapping layouts are
    refused.
    """
    # For each digit: the magnitude of its stride, the number of its values, its dimension, and the
    # indices that one step spans, negative if the slots run backwards.
    digits = sorted(
        (abs(stride), min(extent, -(-size // unit)), d, unit if stride > 0 else -unit)
        for d, size in enumerate(shape)
        for (extent, stride), unit in zip(parts[d], part_units(parts[d]), strict=True)
        if extent > 1 and unit < size  # else it is always 0
    )
    # A stride above everything that all smaller ones reach cannot lead to the same slot. If this
    # holds for each stride, no search is needed.
    highest, nested = 0, True
    for stride, extent, _, _ in digits:
        if stride == 0:
            return True
        nested = nested and stride > highest
        highest += (extent - 1) * stride
    if nested:
        return False
    # If two indices share a slot, the differences of their digits times the strides add up to 0.
    # A difference is between -extent and extent, so counted from its least value it is a digit for
    # `find_digits_for_slot`. Differences come in opposite pairs: along the largest stride it is
    # enough to search non-negative ones.
    (*smaller, largest) = [(extent, stride) for stride, extent, _, _ in digits]
    differences = [*[(2 * extent - 1, stride) for extent, stride in smaller], largest]
    nothing = sum([(extent - 1) * stride for extent, stride in smaller])
    least = [*[1 - extent for extent, _ in smaller], 0]
    places = [(d, unit) for _, _, d, unit in digits]
    try:
        return any(
            _has_index_pair_within_shape(places, [*map(add, solution, least)], shape)
            for solution in find_digits_for_slot(differences, nothing)
        )
    except SearchLimitError:
        return True


def _has_index_pair_within_shape(
    places: Sequence[tuple[int, int]], differences: Sequence[int], shape: Sequence[int]
) -> bool:
    """Return whether two different indices inside `shape` have these differences of digits."""
    # The smallest such pair: for each digit one of them has a 0.
    first, second = [0] * len(shape), [0] * len(shape)
    for (dim, unit), difference in zip(places, differences, strict=True):
        index = first if difference * unit > 0 else second
        index[dim] += abs(difference * unit)
    inside = all(max(a, b) < n for a, b, n in zip(first, second, shape, strict=True))
    return inside and first != second
