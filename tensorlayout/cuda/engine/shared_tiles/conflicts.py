"""Bank conflicts: which strides of a tile in shared memory take the fewest wavefronts."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlayout.cuda.engine.shared_tiles.problem import WRITE

if TYPE_CHECKING:
    from tensorlayout.cuda.engine.shared_tiles.tile import SharedTile

Numbers = np.ndarray[Any, np.dtype[np.int64]]
SHARED_BANKS = 128  # bytes that one wavefront brings
_SOME_WARPS, _MORE_WARPS = 6, 32  # on which pitches are tried, and the best of these again
_BEST = 8


def fewest_conflicts(
    tile: SharedTile, memory: int, pitches: Numbers
) -> tuple[tuple[int, ...], float]:
    """The pitches of a tile that take the fewest wavefronts in shared memory, and how many.

    `pitches`: (choices, axes). All are tried on a few warps, and the best of them on more.
    """
    width = tile.problem.tile_width(memory)
    some, more = (
        np.concatenate([_indices(tile, walked, warps, width) for walked in (WRITE, memory)])
        for warps in (_SOME_WARPS, _MORE_WARPS)
    )
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


def _indices(tile: SharedTile, memory: int, most: int, width: int) -> Numbers:
    """What some warps touch in shared memory, at most so many: (accesses, axes, lanes).

    `lanes`: as many as a wavefront serves, of elements of `width` bytes.
    """
    side, extents = tile.sides[memory], tile.extents
    lanes = min(32, SHARED_BANKS // width)
    order, run = side.order, side.run
    per = side.unit // tile.problem.widths[memory]
    length = prod([extents[k] for k in order[:run]]) // per
    given = side.row(length)
    rows = extents[order[run]] if run < len(order) else 1
    planes = prod([extents[k] for k in order[run + 1 :]])
    if side.single:
        rows, planes = 1, rows * planes
    plane_threads = side.plane(rows, length)
    warps = -(-planes * plane_threads // 32)
    some = np.unique(np.linspace(0, warps - 1, most).astype(np.int64))
    threads = (some[:, None] * 32 + np.arange(32)).reshape(-1, lanes)
    plane, rest = np.divmod(threads, plane_threads)
    row, lane = np.divmod(rest, given)
    row, lane = np.minimum(row, rows - 1), np.minimum(lane, length - 1)  # idle: as their neighbours
    row += plane * rows
    # Of a pack, two elements are enough to look at.
    first = np.asarray(tile.turns)[threads % 32 // 8] if tile.problem.across else 0
    along = np.concatenate([lane * per + (first + j) % per for j in range(min(per, 2))])
    rows_of = np.concatenate([row] * min(per, 2))
    index = np.empty((len(along), len(extents), lanes), np.int64)
    for numbers, rest in ((order[:run], along), (order[run:], rows_of)):
        for k in numbers:
            rest, index[:, k] = np.divmod(rest, extents[k])
    return index
