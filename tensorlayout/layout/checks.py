"""Arguments of layouts, checked: each error names the argument, what came and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import index as as_int
from typing import Any, NoReturn

from tensorlayout.layout import slots
from tensorlayout.layout.slots import Parts

MAX_RANK = 64


def checked_sizes(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    """`shape` as a tuple of integers that are not negative, of a rank up to 64."""
    try:
        sizes = tuple(map(as_int, shape))
    except TypeError:
        msg = f"{name}: must be a sequence of integers, got {shape!r}"
        raise TypeError(msg) from None
    if len(sizes) > MAX_RANK:
        too_many_dimensions(name, len(sizes))
    if any(n < 0 for n in sizes):
        msg = f"{name}: sizes must not be negative, got {sizes}"
        raise ValueError(msg)
    return sizes


def too_many_dimensions(name: str, rank: int) -> NoReturn:
    """The error for a rank above the limit."""
    msg = f"{name}: at most {MAX_RANK} dimensions are allowed, got {rank}"
    raise ValueError(msg)


def checked_padded(shape: tuple[int, ...], padded_shape: Sequence[int]) -> tuple[int, ...]:
    """`padded_shape` as a tuple, each at least the size."""
    padded = checked_sizes("padded_shape", padded_shape)
    if len(padded) != len(shape) or any(p < n for p, n in zip(padded, shape, strict=True)):
        msg = (
            f"padded_shape: must have one size at least as large for each of {shape}, got {padded}"
        )
        raise ValueError(msg)
    return padded


def checked_strides(shape: tuple[int, ...], strides: Sequence[int]) -> tuple[Parts, ...]:
    """One part per dimension from strides in elements."""
    try:
        steps = tuple(map(as_int, strides))
    except TypeError:
        msg = f"strides: must be a sequence of integers (elements, not bytes), got {strides!r}"
        raise TypeError(msg) from None
    if len(steps) != len(shape):
        msg = f"strides: must be {len(shape)}, one for each of the sizes {shape}, got {steps}"
        raise ValueError(msg)
    return tuple(((n, s),) for n, s in zip(shape, steps, strict=True))


def checked_parts(
    shape: tuple[int, ...], parts: Sequence[Sequence[tuple[int, int]]]
) -> tuple[Parts, ...]:
    """The parts of each dimension; their extents span the size, the first with as few as needed."""
    dims = tuple(tuple((as_int(e), as_int(s)) for e, s in dim) for dim in parts)
    if len(dims) != len(shape) or not all(dims):
        msg = f"parts: must be {len(shape)}, one for each of the sizes {shape}, got {dims}"
        raise ValueError(msg)
    for n, dim in zip(shape, dims, strict=True):
        inner = slots.inner_extent(dim)
        if inner < 1 or dim[0][0] != -(-n // inner):
            wanted = f"{-(-n // inner)} first" if inner >= 1 else "extents of at least 1"
            msg = f"parts: the extents of {dim} do not span the size {n}; {wanted} would"
            raise ValueError(msg)
    return tuple(_canonical(n, dim) for n, dim in zip(shape, dims, strict=True))


def _canonical(size: int, dim: Parts) -> Parts:
    """Parts that continue each other joined, where the joined ones end with the dimension."""
    joined = slots.merged(dim)
    return joined if math.prod(e for e, _ in joined) == size else dim


def implied_padded(shape: tuple[int, ...], dims: tuple[Parts, ...]) -> tuple[int, ...]:
    """The padded sizes of parts given alone: whole tiles, where those cover a block."""
    padded = tuple(math.prod(e for e, _ in dim) for dim in dims)
    return padded if padded != shape and slots.covers_block(dims, padded) else shape


def expanded_key(key: Any, shape: tuple[int, ...]) -> list[int | slice | None]:
    """A basic index with the Ellipsis spelt out: one entry per dimension, and None for new ones."""
    items = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, item in enumerate(items) if item is ...]
    used = sum(item is not None and item is not ... for item in items)
    if used > len(shape) or len(dots) > 1:
        msg = f"index: {key!r} is too many indices (or Ellipses) for shape {shape}"
        raise IndexError(msg)
    at = dots[0] if dots else len(items)
    items[at : at + len(dots)] = [slice(None)] * (len(shape) - used)
    return [item if item is None or isinstance(item, slice) else as_int(item) for item in items]


def checked_index(item: int, dim: int, shape: tuple[int, ...]) -> int:
    """An integer index counted from the front. IndexError outside the dimension."""
    size = shape[dim]
    if not -size <= item < size:
        msg = f"index: {item} is outside dimension {dim} of shape {shape}"
        raise IndexError(msg)
    return item % size


def checked_itemsize(itemsize: Any) -> int:
    """The bytes per element of a number or a dtype."""
    number = as_int(getattr(itemsize, "itemsize", itemsize))
    if number < 1:
        msg = f"itemsize: must be at least one byte, got {number}"
        raise ValueError(msg)
    return number


def indices(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All indices in row-major order, without holding them."""
    for number in range(math.prod(shape)):
        index = []
        for n in reversed(shape):
            number, digit = divmod(number, n)
            index.append(digit)
        yield tuple(reversed(index))


def letters(number: int) -> str:
    """A, B, …, Z, AA, AB, …: the name of the element `number`."""
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("A") + digit) + name
    return name
