"""Validation of layout arguments; errors state the argument, the value and the rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index as as_int
from typing import Any, NoReturn

from tensorlayout.errors import short_repr
from tensorlayout.layout import slots
from tensorlayout.layout.padding import BitPattern, Padding, PaddingValue
from tensorlayout.layout.slots import MAX_SLOTS, Parts

# NumPy's limit of dimensions since 2.0.
MAX_RANK = 64
MOST_ENTRIES = 2 * MAX_RANK + 1  # of a key: one that uses a dimension up, a new one, an Ellipsis
MAX_PARTS = 64  # of a dimension: with 64 bits for slots no more can have two indices each


def raise_argument_error(argument: str, text: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error about an argument; a caller may prefix its operation's name."""
    raise error(f"{argument}: {text}")


def check_integers(name: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Return `numbers` as a tuple of Python integers."""
    try:
        if not isinstance(numbers, (set, frozenset, dict)):  # which have no order
            return tuple(map(as_int, numbers))
    except TypeError:
        pass
    raise_argument_error(
        name, f"must be a sequence of integers, got {short_repr(numbers)}", TypeError
    )


def check_integer(name: str, number: int) -> int:
    """Return `number` as a Python integer."""
    try:
        return as_int(number)
    except TypeError:
        pass
    raise_argument_error(name, f"must be an integer, got {short_repr(number)}", TypeError)


def check_sizes(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    """Return `shape` as a tuple of sizes; ValueError for too many or negative ones."""
    sizes = check_integers(name, shape)
    if len(sizes) > MAX_RANK:
        raise_too_many_dims(name, len(sizes))
    if sizes and min(sizes) < 0:
        raise_argument_error(name, f"sizes must not be negative, got {short_repr(sizes)}")
    return sizes


def check_dims(name: str, dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return `dims` as integers; raise an error unless all are from 0 to ``rank - 1``."""
    numbers = check_integers(name, dims)
    if not all(0 <= d < rank for d in numbers):
        rule = f"must be dimensions from 0 to {rank - 1} of a rank of {rank}"
        raise_argument_error(name, f"{rule}, got {short_repr(numbers)}")
    return numbers


def check_length(name: str, values: Any, count: int) -> None:
    """Raise an error unless `values` is a sequence of `count` items."""
    try:
        length = len(values)
    except TypeError:
        msg = f"{name}: must be a sequence of the {count} elements, got {short_repr(values)}"
        raise TypeError(msg) from None
    if length != count:
        raise_argument_error(name, f"must be the {count} elements, got {length}")


def raise_too_many_dims(name: str, rank: int) -> NoReturn:
    """Raise the error for a rank above the limit."""
    raise_argument_error(name, f"at most {MAX_RANK} dimensions are allowed, got {rank}")


def check_padded_shape(shape: tuple[int, ...], padded_shape: Sequence[int]) -> tuple[int, ...]:
    """Return `padded_shape` as a tuple; ValueError unless each size is at least that of `shape`."""
    padded = check_sizes("padded_shape", padded_shape)
    if len(padded) != len(shape) or any(p < n for p, n in zip(padded, shape, strict=True)):
        rule = f"must have one size at least as large for each of {short_repr(shape)}"
        raise_argument_error("padded_shape", f"{rule}, got {short_repr(padded)}")
    return padded


def strides_to_checked_parts(shape: tuple[int, ...], strides: Sequence[int]) -> tuple[Parts, ...]:
    """Return one part per dimension from strides in elements."""
    steps = check_integers("strides", strides)
    if len(steps) != len(shape):
        rule = f"must have length {len(shape)}, one for each size of {short_repr(shape)}"
        raise_argument_error("strides", f"{rule}, got {short_repr(steps)}")
    _check_stride_range("strides", steps)
    return slots.strides_to_parts(shape, steps)


def _check_stride_range(name: str, steps: Sequence[int]) -> None:
    # Also where no element stands so far (sizes of 0 and 1): others read strides as 64-bit numbers.
    if any(abs(s) > MAX_SLOTS for s in steps):
        raise_argument_error(
            name, f"strides must lie within 2**63 - 1 slots, got {short_repr(tuple(steps))}"
        )


def check_parts(
    shape: tuple[int, ...], parts: Sequence[Sequence[tuple[int, int]]]
) -> tuple[Parts, ...]:
    """Return `parts` as integers; an error unless the extents of each dimension span it."""
    try:
        dims = tuple(tuple((as_int(e), as_int(s)) for e, s in dim) for dim in parts)
    except (TypeError, ValueError):
        msg = (
            f"parts: must be tuples of pairs of integers (extent, stride), got {short_repr(parts)}"
        )
        raise TypeError(msg) from None
    if len(dims) != len(shape) or not all(dims):
        rule = f"must have length {len(shape)}, one for each size of {short_repr(shape)}"
        raise_argument_error("parts", f"{rule}, got {short_repr(dims)}")
    for n, dim in zip(shape, dims, strict=True):
        if len(dim) > MAX_PARTS:
            raise_argument_error("parts", f"a dimension has at most {MAX_PARTS}, got {len(dim)}")
        if any(extent < 1 for extent, _ in dim[1:]):
            raise_argument_error(
                "parts", f"extents after the first must be at least 1, got {short_repr(dim)}"
            )
        least = -(-n // slots.indices_per_major_step(dim))
        if dim[0][0] != least:
            message = f"the extents of {short_repr(dim)} do not span the size {short_repr(n)}"
            raise_argument_error("parts", f"{message}; {short_repr(least)} first would")
    _check_stride_range("parts", [stride for dim in dims for _, stride in dim])
    return dims


def infer_padded_shape(shape: tuple[int, ...], dims: tuple[Parts, ...]) -> tuple[int, ...]:
    """Return the padded sizes that parts imply: whole tiles if these cover a block."""
    padded = tuple(math.prod(e for e, _ in dim) for dim in dims)
    return padded if padded != shape and slots.covers_block(dims, padded) else shape


def check_padding_value(value: Padding | str) -> Padding:
    """Return `value`, or the `PaddingValue` that it names; raise an error for other values."""
    if isinstance(value, (PaddingValue, BitPattern)):
        return value
    symbol = PaddingValue.named(value) if isinstance(value, str) else None
    if symbol is not None:
        return symbol
    symbols = ", ".join(PaddingValue.__members__)
    rule = f"must be {symbols}, or a BitPattern (a Python number has no exact bits)"
    error = ValueError if isinstance(value, str) else TypeError
    raise_argument_error("padding_value", f"{rule}, got {short_repr(value)}", error)


def expand_index_key(key: Any, shape: tuple[int, ...]) -> list[int | slice | None]:
    """Return a basic index with Ellipsis expanded: one entry per dimension, and None entries."""
    items = list(key) if isinstance(key, tuple) else [key]
    if len(items) > MOST_ENTRIES:
        raise_argument_error(
            "index", f"at most {MOST_ENTRIES} entries are allowed, got {len(items)}", IndexError
        )
    dots = [i for i, item in enumerate(items) if item is ...]
    used = sum(item is not None and item is not ... for item in items)
    if used > len(shape) or len(dots) > 1:
        reason = (
            f"too many indices for shape {shape}"
            if len(dots) < 2
            else "more than a single ellipsis"
        )
        rule = f"{short_repr(key)} has {reason}"
        raise_argument_error("index", rule, IndexError)
    ellipsis_position = dots[0] if dots else len(items)
    items[ellipsis_position : ellipsis_position + len(dots)] = [slice(None)] * (len(shape) - used)
    return [
        item if item is None or isinstance(item, slice) else _as_index_integer(item)
        for item in items
    ]


def _as_index_integer(item: Any) -> int:
    try:
        if not isinstance(item, bool):
            return as_int(item)
    except TypeError:
        pass
    raise_argument_error(
        "index", f"must be integers, slices, None and Ellipsis, got {short_repr(item)}", TypeError
    )


def check_index(item: int, dim: int, shape: tuple[int, ...]) -> int:
    """Return a non-negative integer index; IndexError if out of bounds."""
    size = shape[dim]
    if not -size <= item < size:
        rule = f"{short_repr(item)} is out of bounds for axis {dim} with size {size}"
        raise_argument_error("index", rule, IndexError)
    return item % size


# What XLA packs below a byte: each such width but 6 divides a byte, and 4 elements of 6 fill three.
SLOT_BITS = (1, 2, 4, 6)


def check_slot_bits(bits: Any) -> int | None:
    """Return the slot bits, 1 to 6; None for whole bytes; ValueError for other numbers."""
    if bits is None:
        return None
    number = check_integer("slot_bits", bits)
    if number not in SLOT_BITS:
        rule = "must be 1, 2, 4 or 6, or None for slots of whole bytes"
        raise_argument_error("slot_bits", f"{rule}, got {short_repr(number)}")
    return number


def check_itemsize(itemsize: Any) -> int:
    """Return the bytes per element, given as a number or by a dtype."""
    number = check_integer("itemsize", getattr(itemsize, "itemsize", itemsize))
    if number < 1:
        raise_argument_error("itemsize", f"must be at least one byte, got {short_repr(number)}")
    return number


def spreadsheet_label(number: int) -> str:
    """Return the label of element `number`: A, B, …, Z, AA, AB, …."""
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("A") + digit) + name
    return name
