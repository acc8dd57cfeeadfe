"""Bank conflicts: which strides of a tile in shared memory take the fewest wavefronts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.int64]]
SHARED_BANKS = 128  # bytes that one wavefront brings
_SOME_WARPS, _MORE_WARPS = 6, 32  # on which pitches are tried, and the best of these again
_BEST = 8


def fewest_conflicts(
    touched: Callable[[int], Numbers], pitches: Numbers, width: int
) -> tuple[tuple[int, ...], float]:
    """The pitches of a tile that take the fewest wavefronts in shared memory, and how many.

    `touched`: elements that so many warps touch at once, (accesses, axes, lanes), each of `width`
    bytes. `pitches`: (choices, axes). All are tried on a few warps, and the best of them on more.
    """
    some, more = touched(_SOME_WARPS), touched(_MORE_WARPS)
    tried = []
    for start in range(0, len(pitches), 32):
        tried.append(_wavefronts(some, pitches[start : start + 32], width))
        if tried[-1].min() == len(some):
            first = start + int(tried[-1].argmin())
            if _wavefronts(more, pitches[first : first + 1], width)[0] == len(more):
                return tuple(pitches[first].tolist()), 1.0
    best = np.sort(np.argsort(np.concatenate(tried), kind="stable")[:_BEST])
    found = _wavefronts(more, pitches[best], width)
    return tuple(pitches[best[found.argmin()]].tolist()), int(found.min()) / len(more)


def _wavefronts(indices: Numbers, pitches: Numbers, width: int) -> Numbers:
    """For each of the pitches, the wavefronts of all accesses together.

    A wavefront brings one word of each of 32 banks to all lanes that want it; elements wider than a
    word go by halves or quarters of a warp, through as many pairs or quadruples of banks.
    """
    banks = indices.shape[2]
    # In floating point, where products are fast; places are far below 2**24.
    places = np.tensordot(pitches.astype(np.float32), indices.astype(np.float32), axes=(1, 1))
    words = places.astype(np.int32) * width // max(width, 4)  # (pitches, accesses, lanes)
    by_bank = np.sort((words % banks << 20) | words, axis=-1)
    fresh = np.ones(by_bank.shape, bool)
    np.not_equal(by_bank[..., 1:], by_bank[..., :-1], out=fresh[..., 1:])
    row = np.arange(fresh[..., 0].size).reshape(*fresh.shape[:-1], 1) * banks
    found = np.bincount((row + (by_bank >> 20))[fresh], minlength=row.size * banks)
    total: Numbers = found.reshape(*fresh.shape[:-1], banks).max(axis=-1).sum(axis=-1)
    return total
