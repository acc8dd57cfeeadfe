"""Checks of arguments of layouts. Errors name the argument, the rule and the received value."""

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
# Entries of an index: one for each dimension, as many new dimensions, and an Ellipsis.
MOST_ENTRIES = 2 * MAX_RANK + 1
# Parts of a dimension: slots have 64 bits, so no more parts can have two indices or more.
MAX_PARTS = 64


def raise_argument_error(argument: str, text: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error about an argument; callers may prefix the name of their operation."""
    raise error(f"{argument}: {text}")


def check_integers(name: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Return `numbers` as a tuple of Python integers."""
    # `operator.index` takes the integers of NumPy and of other libraries, and refuses floats such
    # as 2.0, which int() would take. Sets have no order, and a dict would give its keys.
    try:
        if not isinstance(numbers, (set, frozenset, dict)):
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
    """Return `shape` as a tuple of sizes. Raises ValueError for too many or negative sizes."""
    sizes = check_integers(name, shape)
    if len(sizes) > MAX_RANK:
        raise_too_many_dims(name, len(sizes))
    if sizes and min(sizes) < 0:
        raise_argument_error(name, f"sizes must not be negative, got {short_repr(sizes)}")
    return sizes


def check_dims(name: str, dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return `dims` as a tuple. Raises ValueError if a dimension is not from 0 to `rank` - 1."""
    numbers = check_integers(name, dims)
    if not all(0 <= d < rank for d in numbers):
        rule = f"must be dimensions from 0 to {rank - 1} of a rank of {rank}"
        raise_argument_error(name, f"{rule}, got {short_repr(numbers)}")
    return numbers


def check_length(name: str, values: Any, count: int) -> None:
    """Raise TypeError for a value that is no sequence, ValueError for another number of items."""
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
    """Return `padded_shape` as a tuple. Raises ValueError for padded sizes below the sizes."""
    padded = check_sizes("padded_shape", padded_shape)
    if len(padded) != len(shape) or any(p < n for p, n in zip(padded, shape, strict=True)):
        rule = f"must have one size at least as large for each of {short_repr(shape)}"
        raise_argument_error("padded_shape", f"{rule}, got {short_repr(padded)}")
    return padded


def strides_to_checked_parts(shape: tuple[int, ...], strides: Sequence[int]) -> tuple[Parts, ...]:
    """Return one part per dimension from strides in elements; check number and range."""
    steps = check_integers("strides", strides)
    if len(steps) != len(shape):
        rule = f"must have length {len(shape)}, one for each size of {short_repr(shape)}"
        raise_argument_error("strides", f"{rule}, got {short_repr(steps)}")
    _check_stride_range("strides", steps)
    return slots.strides_to_parts(shape, steps)


def _check_stride_range(name: str, steps: Sequence[int]) -> None:
    # Also for dimensions of size 0 and 1, where the stride is never used: other libraries read
    # strides as 64-bit integers.
    if any(abs(s) > MAX_SLOTS for s in steps):
        raise_argument_error(
            name, f"strides must lie within 2**63 - 1 slots, got {short_repr(tuple(steps))}"
        )


def check_parts(
    shape: tuple[int, ...], parts: Sequence[Sequence[tuple[int, int]]]
) -> tuple[Parts, ...]:
    """Return the checked parts of each dimension; extents must span the size, and no more."""
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
    """Return the padded shape of parts without one: whole tiles if these cover a block."""
    padded = tuple(math.prod(e for e, _ in dim) for dim in dims)
    return padded if padded != shape and slots.covers_block(dims, padded) else shape


def check_padding_value(value: Padding | str) -> Padding:
    """Return `value`, or the symbol that it names. Raises an error for other values."""
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
    """Return a basic index with Ellipsis expanded: an entry per dimension, None for new ones."""
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
    # As in NumPy, slices that the key leaves out go to its end if it has no Ellipsis.
    items[ellipsis_position : ellipsis_position + len(dots)] = [slice(None)] * (len(shape) - used)
    return [
        item if item is None or isinstance(item, slice) else _as_index_integer(item)
        for item in items
    ]


def _as_index_integer(item: Any) -> int:
    # For NumPy, True and False are masks of rank 0 and not the integers 1 and 0.
    try:
        if not isinstance(item, bool):
            return as_int(item)
    except TypeError:
        pass
    raise_argument_error(
        "index", f"must be integers, slices, None and Ellipsis, got {short_repr(item)}", TypeError
    )


def check_index(item: int, dim: int, shape: tuple[int, ...]) -> int:
    """Return a non-negative index. Raises IndexError if it is out of bounds."""
    size = shape[dim]
    if not -size <= item < size:
        rule = f"{short_repr(item)} is out of bounds for axis {dim} with size {size}"
        raise_argument_error("index", rule, IndexError)
    return item % size


# The widths that XLA packs below a byte: 1, 2 and 4 bits divide a byte; 4 slots of 6 fill 3 bytes.
SLOT_BITS = (1, 2, 4, 6)


def check_slot_bits(bits: Any) -> int | None:
    """Return the checked bits of a slot below a byte; None for whole bytes."""
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
