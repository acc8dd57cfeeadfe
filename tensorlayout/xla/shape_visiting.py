"""ShapeUtil: the indices of an array visited in the order of its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tensorlayout.layout.checks import checked_integers
from tensorlayout.words import cut, shown
from tensorlayout.xla.shape_making import major_to_minor
from tensorlayout.xla.shapes import UNBOUNDED, Shape


def indices(
    shape: Shape,
    base: Sequence[int] | None = None,
    count: Sequence[int] | None = None,
    incr: Sequence[int] | None = None,
) -> Iterator[tuple[int, ...]]:
    """The indices from `base`, in steps of `incr`, below ``base + count``, minor to major.

    By default all of the array. `count` is an **extent, not a number of steps**: 3 in steps of 2
    gives 0 and 2. A count of 0 pins its dimension to the base, as if it had one step. A size of 0
    anywhere gives nothing; a scalar has one index.

    ValueError for lists of another length, negative counts, and steps below 1 where there is a
    count (XLA would go round for ever).

    >>> from tensorlayout.xla import parse_shape
    >>> list(indices(parse_shape("f32[10,10]"), (2, 3), (3, 1), (2, 1)))
    [(2, 3), (4, 3)]
    """
    order = major_to_minor("indices", shape)
    starts = _checked("base", shape, [0] * shape.rank if base is None else base)
    extents = _checked("count", shape, shape.dimensions if count is None else count)
    steps = _checked("incr", shape, [1] * shape.rank if incr is None else incr)
    if UNBOUNDED in shape.dimensions or any(n < 0 for n in extents):
        msg = f"indices: the counts must be known and not negative for {cut(shape)}"
        msg += f", got {shown(extents)}"
        raise ValueError(msg)
    if any(n and s < 1 for n, s in zip(extents, steps, strict=True)):
        msg = f"indices: incr must be at least 1 where there is a count for {cut(shape)}"
        msg += f", got {shown(steps)}"
        raise ValueError(msg)
    runs = [
        range(b, b + max(n, 1), s if n else 1)
        for b, n, s in zip(starts, extents, steps, strict=True)
    ]
    return iter(()) if 0 in shape.dimensions else _visited(runs, order)


def _checked(name: str, shape: Shape, numbers: Sequence[int]) -> tuple[int, ...]:
    entries = checked_integers(name, numbers)
    if len(entries) != shape.rank:
        msg = f"indices: {name} must have {shape.rank} entries for {cut(shape)}"
        msg += f", got {shown(entries)}"
        raise ValueError(msg)
    return entries


def _visited(runs: list[range], order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The product of the runs, the last dimension of `order` fastest; a step costs no more."""
    at = [0] * len(runs)
    while True:
        yield tuple(run[i] for run, i in zip(runs, at, strict=True))
        for dim in reversed(order):
            at[dim] += 1
            if at[dim] < len(runs[dim]):
                break
            at[dim] = 0
        else:
            return


def for_each_index(
    shape: Shape,
    visit: Callable[[tuple[int, ...]], object],
    base: Sequence[int] | None = None,
    count: Sequence[int] | None = None,
    incr: Sequence[int] | None = None,
) -> None:
    """Call `visit` with each of the `indices`; **it stops where that returns False**.

    None, or anything else than False, goes on. An error of the visitor stops it at once.
    """
    for index in indices(shape, base, count, incr):
        if visit(index) is False:
            return


for_each_index_with_status = for_each_index


def for_each_index_no_status(
    shape: Shape,
    visit: Callable[[tuple[int, ...]], object],
    base: Sequence[int] | None = None,
    count: Sequence[int] | None = None,
    incr: Sequence[int] | None = None,
) -> None:
    """As `for_each_index`."""
    for_each_index(shape, visit, base, count, incr)


def for_each_index_parallel(
    shape: Shape,
    visit: Callable[[tuple[int, ...]], object],
    base: Sequence[int] | None = None,
    count: Sequence[int] | None = None,
    incr: Sequence[int] | None = None,
) -> None:
    """All indices, **whatever the visitor returns**. XLA promises no order, here it is kept."""
    for index in indices(shape, base, count, incr):
        visit(index)
