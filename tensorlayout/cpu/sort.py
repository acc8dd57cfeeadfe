"""Sorts on the CPU: stable, and as fast as sorts of plain integers.

NumPy vectorises sorts of 32 and 64 bits, which are not stable, and of integers of 16 bits (by
radix). Both are enough: equal numbers are the same number, but for zeros of two signs; and
positions can be made part of what is sorted. A line of 2048 float32, per element: NumPy's stable
sort 44 ns, this one 9; its stable argsort 53, this one 17.
"""

from __future__ import annotations

import math

import numpy as np

from tensorlayout.cpu.engine.casting import is_half
from tensorlayout.cpu.engine.memory import Array
from tensorlayout.cpu.engine.sharing import share_pieces
from tensorlayout.cpu.reduce.fold import Key, blocks
from tensorlayout.layout import Layout
from tensorlayout.plan import SortPlan, TopKPlan, Write
from tensorlayout.tensor import Tensor

# Up to so many elements NumPy's stable sorts take less time than what it takes to avoid them.
_FEW = 512

# NumPy sorts no array of more dimensions.
_MOST_DIMS = 32


def write_sort(plan: SortPlan) -> Write:
    """Each line sorted, or the positions that sort it; equal elements in their order, NaN last."""
    layout = plan.source.layout
    if layout.size <= _FEW and layout.ndim <= _MOST_DIMS and plan.source.dtype.kind != "V":
        return _write_few(plan)
    order, find = _lines_last(plan.source.layout, plan.dim), _FIND[plan.gives]

    def sort(out: Tensor, x: Tensor) -> None:
        source, to = x.memory.transpose(order), out.memory.transpose(order)

        def some(key: Key) -> None:
            to[key] = find(source[key], plan.descending, plan.stable)

        share_pieces(blocks(source.shape, whole=1), some)

    return sort


def _write_few(plan: SortPlan) -> Write:
    """By NumPy's stable sort, of lines read backwards for a descending order."""
    dim, last = plan.dim, plan.source.layout.shape[plan.dim] - 1
    seen = (*[slice(None)] * dim, slice(None, None, -1 if plan.descending else None))

    def sort(out: Tensor, x: Tensor) -> None:
        out.memory[...] = x.memory
        out.memory[seen].sort(dim, "stable")

    def argsort(out: Tensor, x: Tensor) -> None:
        found = x.memory[seen].argsort(dim, "stable")
        out.memory[seen] = last - found if plan.descending else found

    return sort if plan.gives == "values" else argsort


def write_top_k(plan: TopKPlan) -> Write:
    """The first of the positions that sort each line, and the elements there."""
    order, count = _lines_last(plan.source.layout, plan.dim), plan.result.layout.shape[plan.dim]

    def top_k(out: Tensor, positions: Tensor, x: Tensor) -> None:
        source, to, at = (each.memory.transpose(order) for each in (x, out, positions))

        def some(key: Key) -> None:
            first = _argsort(source[key], plan.down, True)[..., :count]
            at[key] = first
            to[key] = np.take_along_axis(source[key], first, -1)

        share_pieces(blocks(source.shape, whole=1), some)

    return top_k


def _lines_last(layout: Layout, dim: int) -> tuple[int, ...]:
    """Dimensions in the order of storage, but for that of the lines, which comes last."""
    return (*[d for d in reversed(layout.minor_to_major) if d != dim], dim)


def _sort(x: Array, descending: bool, stable: bool) -> Array:
    """The elements of each line in order."""
    block = _rows(x)
    if is_half(x.dtype):
        bits = _ordered(_canonical_nan(block))
        bits.sort(-1, kind="stable")
        found = _ordered(bits).view(x.dtype)
    else:
        found = block.copy()
        found.sort(-1, kind="stable" if x.itemsize <= 2 else "quicksort")
    if descending:
        found = found[:, ::-1]
    # Zeros stand together in the sorted line; where some are -0, they get the order they had.
    if x.dtype.kind in "fV" and (_bits(block) == np.iinfo(f"i{x.itemsize}").min).any():
        found[_is_zero(found)] = block[_is_zero(block)]
    return found.reshape(x.shape)


def _rows(x: Array) -> Array:
    """The lines along the last dimension, in contiguous memory, as the rows of a matrix."""
    return np.ascontiguousarray(x).reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _bits(x: Array) -> Array:
    return x.view(f"i{x.itemsize}")


def _ordered(bits: Array) -> Array:
    """Signed integers in the order of the floats with these bits, -0 before +0; and back again."""
    low = np.iinfo(bits.dtype).max
    return np.bitwise_xor(bits, (bits >> (8 * bits.itemsize - 1)) & low)


def _canonical_nan(x: Array) -> Array:
    """The bits of floats, in a copy; every NaN has the greatest, so that it comes last."""
    bits = _bits(x).copy()
    infinity = _bits(np.asarray(np.inf, x.dtype))
    most = np.iinfo(bits.dtype).max
    bits[(bits & most) > infinity] = most
    return bits


def _is_zero(x: Array) -> Array:
    return (_bits(x) << 1) == 0


def _argsort(x: Array, descending: bool, stable: bool) -> Array:
    """The positions that sort each line; equal elements in their order."""
    numbers = _numbers(_rows(x))
    return _positions(~numbers if descending else numbers, stable).reshape(x.shape)


_FIND = {"values": _sort, "positions": _argsort}


def _numbers(x: Array) -> Array:
    """Integers that are in the order of the elements, and equal where these are."""
    if x.dtype.kind not in "fV":
        return x
    bits = _canonical_nan(x)
    bits[bits == np.iinfo(bits.dtype).min] = 0  # -0 is +0
    return _ordered(bits)


def _positions(numbers: Array, stable: bool) -> Array:
    if numbers.itemsize != 4:
        fast = numbers.itemsize == 8 and not stable
        return np.argsort(numbers, -1, kind="quicksort" if fast else "stable")
    # Each number in the upper half of 64 bits, its position in the lower: no two are equal.
    both = np.empty(numbers.shape, f"{numbers.dtype.kind}8")
    lower, upper = np.moveaxis(both.view(np.uint32).reshape(*numbers.shape, 2), -1, 0)
    upper[...], lower[...] = numbers.view(np.uint32), np.arange(numbers.shape[-1], dtype=np.uint32)
    both.sort(-1)
    upper[...] = 0
    return both.view(np.int64)
