"""Arguments of layouts, checked: each error names the argument, what came and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index as as_int
from typing import Any, NoReturn

from tensorlayout.layout import slots
from tensorlayout.layout.padding import BitPattern, Padding, PaddingValue
from tensorlayout.layout.slots import MAX_SLOTS, Parts
from tensorlayout.words import shown

MAX_RANK = 64
MOST_ENTRIES = 2 * MAX_RANK + 1  # of a key: one that uses a dimension up, a new one, an Ellipsis
MAX_PARTS = 64  # of a dimension: with 64 bits for slots no more can have two indices each


def checked_integers(name: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """`numbers` as a tuple of Python integers; sets and dictionaries have no order."""
    try:
        if not isinstance(numbers, (set, frozenset, dict)):
            return tuple(map(as_int, numbers))
    except TypeError:
        pass
    msg = f"{name}: must be a sequence of integers, got {shown(numbers)}"
    raise TypeError(msg)


def checked_integer(name: str, number: int) -> int:
    """`number` as a Python integer."""
    try:
        return as_int(number)
    except TypeError:
        msg = f"{name}: must be an integer, got {shown(number)}"
        raise TypeError(msg) from None


def checked_sizes(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    """`shape` as a tuple of integers that are not negative, of a rank up to 64."""
    sizes = checked_integers(name, shape)
    if len(sizes) > MAX_RANK:
        too_many_dimensions(name, len(sizes))
    if sizes and min(sizes) < 0:
        msg = f"{name}: sizes must not be negative, got {shown(sizes)}"
        raise ValueError(msg)
    return sizes


def checked_dims(name: str, dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """`dims` as dimension numbers counted from the front."""
    numbers = checked_integers(name, dims)
    if not all(0 <= d < rank for d in numbers):
        msg = f"{name}: must be dimensions from 0 to {rank - 1} of a rank of {rank}"
        msg += f", got {shown(numbers)}"
        raise ValueError(msg)
    return numbers


def checked_length(name: str, values: Any, count: int) -> None:
    """Refuse what is no sequence, or has not `count` items."""
    try:
        found = len(values)
    except TypeError:
        msg = f"{name}: must be a sequence of the {count} elements, got {shown(values)}"
        raise TypeError(msg) from None
    if found != count:
        msg = f"{name}: must be the {count} elements, got {found}"
        raise ValueError(msg)


def too_many_dimensions(name: str, rank: int) -> NoReturn:
    """The error for a rank above the limit."""
    msg = f"{name}: at most {MAX_RANK} dimensions are allowed, got {rank}"
    raise ValueError(msg)


def checked_padded(shape: tuple[int, ...], padded_shape: Sequence[int]) -> tuple[int, ...]:
    """`padded_shape` as a tuple, each at least the size."""
    padded = checked_sizes("padded_shape", padded_shape)
    if len(padded) != len(shape) or any(p < n for p, n in zip(padded, shape, strict=True)):
        msg = (
            f"padded_shape: must have one size at least as large for each of {shown(shape)},"
            f" got {shown(padded)}"
        )
        raise ValueError(msg)
    return padded


def checked_strides(shape: tuple[int, ...], strides: Sequence[int]) -> tuple[Parts, ...]:
    """One part per dimension from strides in elements."""
    steps = checked_integers("strides", strides)
    if len(steps) != len(shape):
        msg = f"strides: must be {len(shape)}, one for each of the sizes {shown(shape)}"
        msg += f", got {shown(steps)}"
        raise ValueError(msg)
    _check_reach("strides", steps)
    return slots.strided(shape, steps)


def _check_reach(name: str, steps: Sequence[int]) -> None:
    # Also where no element stands so far (sizes of 0 and 1): others read strides as 64-bit numbers.
    if any(abs(s) > MAX_SLOTS for s in steps):
        msg = f"{name}: strides must lie within 2**63 - 1 slots, got {shown(tuple(steps))}"
        raise ValueError(msg)


def checked_parts(
    shape: tuple[int, ...], parts: Sequence[Sequence[tuple[int, int]]]
) -> tuple[Parts, ...]:
    """The parts of each dimension; their extents span the size, the first with as few as needed."""
    try:
        dims = tuple(tuple((as_int(e), as_int(s)) for e, s in dim) for dim in parts)
    except (TypeError, ValueError):
        msg = f"parts: must be tuples of pairs of integers (extent, stride), got {shown(parts)}"
        raise TypeError(msg) from None
    if len(dims) != len(shape) or not all(dims):
        msg = f"parts: must be {len(shape)}, one for each of the sizes {shown(shape)}"
        msg += f", got {shown(dims)}"
        raise ValueError(msg)
    for n, dim in zip(shape, dims, strict=True):
        if len(dim) > MAX_PARTS:
            msg = f"parts: a dimension has at most {MAX_PARTS}, got {len(dim)}"
            raise ValueError(msg)
        if any(extent < 1 for extent, _ in dim[1:]):
            msg = f"parts: extents after the first must be at least 1, got {shown(dim)}"
            raise ValueError(msg)
        least = -(-n // slots.inner_extent(dim))
        if dim[0][0] != least:
            came = f"the extents of {shown(dim)} do not span the size {shown(n)}"
            msg = f"parts: {came}; {shown(least)} first would"
            raise ValueError(msg)
    _check_reach("parts", [stride for dim in dims for _, stride in dim])
    return dims


def implied_padded(shape: tuple[int, ...], dims: tuple[Parts, ...]) -> tuple[int, ...]:
    """The padded sizes of parts given alone: whole tiles, where those cover a block."""
    padded = tuple(math.prod(e for e, _ in dim) for dim in dims)
    return padded if padded != shape and slots.covers_block(dims, padded) else shape


def checked_padding(value: Padding | str) -> Padding:
    """`value`, the symbol where it is the name of one; an error where it is no such content."""
    if isinstance(value, (PaddingValue, BitPattern)):
        return value
    symbol = PaddingValue.named(value) if isinstance(value, str) else None
    if symbol is not None:
        return symbol
    msg = (
        f"padding_value: must be {', '.join(PaddingValue.__members__)}, or a BitPattern"
        f" (a Python number has no exact bits), got {shown(value)}"
    )
    raise ValueError(msg) if isinstance(value, str) else TypeError(msg)


def expanded_key(key: Any, shape: tuple[int, ...]) -> list[int | slice | None]:
    """A basic index with the Ellipsis spelt out: one entry per dimension, and None for new ones."""
    items = list(key) if isinstance(key, tuple) else [key]
    if len(items) > MOST_ENTRIES:
        msg = f"index: at most {MOST_ENTRIES} entries are allowed, got {len(items)}"
        raise IndexError(msg)
    dots = [i for i, item in enumerate(items) if item is ...]
    used = sum(item is not None and item is not ... for item in items)
    if used > len(shape) or len(dots) > 1:
        msg = f"index: {shown(key)} is too many indices (or Ellipses) for shape {shape}"
        raise IndexError(msg)
    at = dots[0] if dots else len(items)
    items[at : at + len(dots)] = [slice(None)] * (len(shape) - used)
    return [
        item if item is None or isinstance(item, slice) else _index_number(item) for item in items
    ]


def _index_number(item: Any) -> int:
    try:
        if not isinstance(item, bool):
            return as_int(item)
    except TypeError:
        pass
    msg = f"index: must be integers, slices, None and Ellipsis, got {shown(item)}"
    raise TypeError(msg)


def checked_index(item: int, dim: int, shape: tuple[int, ...]) -> int:
    """An integer index counted from the front. IndexError outside the dimension."""
    size = shape[dim]
    if not -size <= item < size:
        msg = f"index: {shown(item)} is out of bounds for dimension {dim} of shape {shape}"
        raise IndexError(msg)
    return item % size


# What XLA packs below a byte: each such width but 6 divides a byte, and 4 elements of 6 fill three.
SLOT_BITS = (1, 2, 4, 6)


def checked_slot_bits(bits: Any) -> int | None:
    """The bits of a slot below a byte; None for whole bytes."""
    if bits is None:
        return None
    number = checked_integer("slot_bits", bits)
    if number not in SLOT_BITS:
        rule = "must be 1, 2, 4 or 6, or None for slots of whole bytes"
        msg = f"slot_bits: {rule}, got {shown(number)}"
        raise ValueError(msg)
    return number


def checked_itemsize(itemsize: Any) -> int:
    """The bytes per element of a number or a dtype."""
    number = checked_integer("itemsize", getattr(itemsize, "itemsize", itemsize))
    if number < 1:
        msg = f"itemsize: must be at least one byte, got {shown(number)}"
        raise ValueError(msg)
    return number


def letters(number: int) -> str:
    """A, B, …, Z, AA, AB, …: the name of the element `number`."""
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("A") + digit) + name
    return name
