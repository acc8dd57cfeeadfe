"""Orders of dimensions, minor to major: made, checked, and carried through changes of rank."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import shown

Order = tuple[int, ...]


def descending(rank: int) -> Order:
    """The row-major order: the last dimension is the most minor."""
    return tuple(range(rank - 1, -1, -1))


def order_or_row_major(minor_to_major: Sequence[int] | None, rank: int) -> Order:
    """The order that was asked for, checked; None asks for the row-major one."""
    return descending(rank) if minor_to_major is None else checked_order(minor_to_major, rank)


def checked_order(minor_to_major: Sequence[int], rank: int, name: str = "minor_to_major") -> Order:
    """`minor_to_major` as a tuple; ValueError where it is no permutation of the dimensions."""
    order = checked_integers(name, minor_to_major)
    if len(order) != rank or sorted(order) != list(range(rank)):
        allowed = f"a permutation of 0 to {rank - 1}" if rank else "()"
        msg = f"{name}: must be {allowed} for a shape of rank {rank}, got {shown(order)}"
        raise ValueError(msg)
    return order


def order_of_strides(
    sizes: Sequence[int], strides: Sequence[int], stored: Order | None = None
) -> Order:
    """The order that strides imply; where they say nothing, `stored` (row-major by default) holds.

    `sizes` includes padding. A dimension of size 1 or stride 0 says nothing about the order,
    whatever its stride, and keeps its place; equal strides keep their relative order.
    """
    order = list(descending(len(sizes)) if stored is None else stored)
    places = [p for p, d in enumerate(order) if sizes[d] > 1 and strides[d]]
    steps = [abs(strides[order[p]]) for p in places]
    if steps == sorted(steps):
        return tuple(order)
    ranked = sorted((order[p] for p in places), key=lambda d: abs(strides[d]))
    for place, dim in zip(places, ranked, strict=True):
        order[place] = dim
    return tuple(order)


def permuted_order(order: Order, dims: Sequence[int]) -> Order:
    """The order after dimension ``i`` of the result is dimension ``dims[i]`` of the input."""
    number = {old: new for new, old in enumerate(dims)}
    return tuple(number[d] for d in order)


def order_without(order: Order, dropped: Sequence[int]) -> Order:
    """The order of what is left when the dimensions `dropped` go."""
    left = [d for d in order if d not in dropped]
    return tuple(map(sorted(left).index, left))


def order_with(order: Order, dim: int) -> Order:
    """The order with a new dimension of size 1 at `dim`.

    Row-major and column-major orders stay so. In any other order a new first dimension becomes the
    most major one (a batch around what was there), any other the next inside its predecessor.
    """
    moved = [d + (d >= dim) for d in order]
    rank = len(order)
    if rank > 1 and order == tuple(range(rank)):
        return tuple(range(rank + 1))
    if dim == 0:
        return (*moved, 0)
    moved.insert(moved.index(dim - 1), dim)
    return tuple(moved)
