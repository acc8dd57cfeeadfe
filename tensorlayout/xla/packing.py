"""Elements of a few bits: packed into bytes, little end first, and unpacked.

The first element takes the lowest bits of the first byte, the next the bits above. Six-bit elements
go on across bytes, four in three bytes. What is left of the last byte is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _group(bits: int) -> tuple[int, int]:
    """How many elements fill how many bytes exactly."""
    together = math.lcm(bits, 8)
    return together // bits, together // 8


def unpacked(octets: Array, bits: int, count: int) -> Array:
    r"""The first `count` elements as bytes, each in the low bits of its own.

    >>> unpacked(np.frombuffer(b"\x21\x43", np.uint8), 4, 4).tolist()
    [1, 2, 3, 4]
    """
    elements, width = _group(bits)
    groups = -(-count // elements)
    room = np.zeros(groups * width, np.uint8)
    taken = octets[: -(-count * bits // 8)]
    room[: taken.size] = taken
    words = _word_of(room.reshape(groups, width), 8)
    found = [(words >> bits * at).astype(np.uint8) & (2**bits - 1) for at in range(elements)]
    return np.stack(found, axis=1).reshape(-1)[:count]


def packed(values: Array, bits: int) -> Array:
    r"""The bytes of elements, given as one byte each of which the low bits count.

    >>> packed(np.asarray([1, 2, 3], np.uint8), 4).tobytes()
    b'!\x03'
    """
    elements, width = _group(bits)
    groups = -(-values.size // elements)
    room = np.zeros(groups * elements, np.uint8)
    room[: values.size] = values & (2**bits - 1)
    words = _word_of(room.reshape(groups, elements), bits)
    octets = [(words >> 8 * at).astype(np.uint8) for at in range(width)]
    return np.stack(octets, axis=1).reshape(-1)[: -(-values.size * bits // 8)]


def _word_of(digits: Array, bits: int) -> Array:
    """One number for each row, the first digit in its lowest bits."""
    words: Array = np.zeros(len(digits), np.uint32)
    for at, column in enumerate(digits.T):
        words |= column.astype(np.uint32) << bits * at
    return words


def sign_extended(values: Array, bits: int) -> Array:
    """Two's complement numbers in the low bits of bytes, as int8."""
    extended: Array = (values << (8 - bits)).view(np.int8) >> (8 - bits)
    return extended
