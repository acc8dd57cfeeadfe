"""Positions that are data: each must be inside its dimension, or counts from its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorlayout.cpu.engine.memory import Array
from tensorlayout.words import named

Positions = Sequence[Array]  # one array for each indexed dimension


def checked(
    name: str, positions: Positions, sizes: Sequence[int], *, clamps: bool = False
) -> list[Array]:
    """Positions counted from the front. For one outside IndexError, or the nearest one inside."""
    pairs = zip(positions, sizes, strict=True)
    return [_nearest(p, n) if clamps else checked_one(name, p, n) for p, n in pairs]


def checked_one(name: str, positions: Array, size: int) -> Array:
    """The positions in one dimension of `size`, counted from the front. IndexError outside."""
    found = signed(positions)
    # Seen as unsigned, negative ones are the greatest: one look in place of two.
    if found.size == 0 or np.maximum.reduce(found.view(np.uintp), axis=None) < size:
        return found
    if int(found.min()) < -size or int(found.max()) >= size:
        raise outside(name, positions, size)
    return np.where(found < 0, found + size, found)


def _nearest(positions: Array, size: int) -> Array:
    limits = np.iinfo(positions.dtype)  # which may be narrower than sizes
    inside = np.clip(positions, max(-size, limits.min), min(size - 1, limits.max))
    found = inside.astype(np.intp, copy=False)
    return np.where(found < 0, found + size, found)


def signed(positions: Array) -> Array:
    """Positions as NumPy indexes with them; what is too large for that stays outside."""
    if positions.dtype == np.uint64:  # the only one whose values a signed index cannot hold
        positions = np.minimum(positions, np.uint64(np.iinfo(np.intp).max))
    return positions.astype(np.intp, copy=False)


def outside(name: str, positions: Array, size: int) -> IndexError:
    """The error for positions some of which are outside: it names one."""
    lowest, highest = int(positions.min()), int(positions.max())
    bad = lowest if lowest < -size else highest
    return named(name, IndexError(f"index {bad} is out of bounds for size {size}"))
