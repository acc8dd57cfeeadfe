"""Positions that are data: each must be inside its dimension, or counts from its end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from tensorlayout.cpu.engine.memory import Array
from tensorlayout.cpu.gather.runs import Positions
from tensorlayout.words import named


def checked(name: str, positions: Positions, sizes: Sequence[int]) -> list[Array]:
    """Positions counted from the front. IndexError for one that is outside."""
    return [checked_one(name, p, n) for p, n in zip(positions, sizes, strict=True)]


def checked_one(name: str, positions: Array, size: int) -> Array:
    """The same for one dimension of `size`."""
    found = signed(positions)
    # Seen as unsigned, negative ones are the greatest: one look in place of two.
    if found.size == 0 or np.maximum.reduce(found.view(np.uintp), axis=None) < size:
        return found
    if int(found.min()) < -size or int(found.max()) >= size:
        raise outside(name, positions, size)
    return np.where(found < 0, found + size, found)


def nearest(positions: Positions, sizes: Sequence[int]) -> list[Array]:
    """Positions counted from the front; for one that is outside, the nearest that is not."""
    return [_nearest_one(p, n) for p, n in zip(positions, sizes, strict=True)]


def _nearest_one(positions: Array, size: int) -> Array:
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
    return named(name, IndexError(f"index {bad} is outside a dimension of size {size}"))


@contextlib.contextmanager
def naming_one(name: str, positions: Array, size: int) -> Iterator[None]:
    """An IndexError becomes that for all positions, whatever thread met which."""
    try:
        yield
    except IndexError:
        raise outside(name, positions, size) from None
