"""Cases of numbers that become elements: `full`, and `asarray` of lists, numbers and arrays.

Arrays come in by each protocol; tensors go out by it and come back.
"""

from __future__ import annotations

import numpy as np
from case import Case, same
from casting import cast
from draws import NEAR_TIES, TIES
from foreign import Described, Making, WithStructure
from tensors import as_dtype, kind

import tensorlayout as tl

INTEGERS = [0, 1, -1, 3, 100, 2**53 + 1, 2**55 + 2**47 + 1, -(2**63), *TIES]
FLOATS = [0.0, -0.0, 0.5, -2.5, 1e9, *NEAR_TIES]


def _numbers(draw, dtype, count):
    """Numbers of one kind that the dtype holds, as a list and as NumPy has them."""
    letter = kind(as_dtype(dtype))
    whole = letter in "iu" or (letter != "b" and draw.chance(0.6))
    result = INTEGERS if whole else [True, False] if letter == "b" else FLOATS
    if letter in "iu":
        limits = np.iinfo(dtype)
        result = [n for n in result if limits.min <= n <= limits.max]
    listed = [draw.choice(result) for _ in range(count)]
    plain = np.array(listed, np.int64) if whole and letter != "u" else np.array(listed)
    with np.errstate(all="ignore"):
        return listed, cast(plain, dtype)


def full(draw):
    dtype, shape = draw.dtype(), draw.shape(0, 3)
    (number,), content = _numbers(draw, dtype, 1)
    text = f'tl.full({shape}, {number!r}, dtype="{dtype}")'
    return Case("full of a number", text, {}, lambda: np.full(shape, content[0]), same)


def listed(draw):
    dtype = draw.dtype()
    numbers, content = _numbers(draw, dtype, draw.between(1, 9))
    text = f'tl.asarray({numbers!r}, dtype="{dtype}")'
    return Case("asarray of a list", text, {}, lambda: content, same, traced=False)


def converted(draw):
    """Another library's array in a dtype asked for."""
    source, dtype = draw.dtype(), draw.dtype()
    if source.startswith("complex") and not dtype.startswith("complex"):
        source = dtype
    values = np.array(draw.values(as_dtype(source), draw.between(0, 40), "moved"))
    step = draw.choice((1, 2, -1))
    text = f'tl.asarray(a[::{step}], dtype="{dtype}")'
    if draw.few:
        text = text[:-1] + ', device="cuda")'
    expect = lambda: cast(np.array(values[::step]), dtype)  # noqa: E731
    names = {"a": values.copy()}
    return Case("asarray of an array", text, {}, expect, same, view=None, names=names)


def array_in_slots(x):
    """NumPy's array over the slots of an operand without tiles, in its layout."""
    steps = [stride * x.dtype.itemsize for stride in x.layout.strides]
    storage = x.storage if x.storage.size > x.layout.offset else np.zeros(1, x.dtype)
    offset = x.layout.offset * x.dtype.itemsize if x.array.size else 0
    return np.ndarray(x.layout.shape, x.dtype, storage, offset, steps)


def by_protocol(draw):
    """Another library's array in any layout, in either order of bytes, by one protocol."""
    draw.tiles = False
    x = draw.operand(draw.dtype("numeric"), draw.shape(), "moved")
    a = array_in_slots(x)
    ways = [Described, WithStructure, Making]
    if x.dtype.name == "bfloat16":
        ways = [Making]
    elif draw.chance(0.2):
        a = a.byteswap().view(x.dtype.newbyteorder())
    elif x.dtype.kind != "c":
        ways += [memoryview]
    device = f', device="{tl.default_device()}"'
    names = {"a": draw.choice(ways)(a)}
    text = f"tl.asarray(a{device})"
    return Case("asarray by protocol", text, {}, lambda: x.array, same, traced=False, names=names)


def there_and_back(draw):
    """A tensor's memory as others see it on the CPU, seen as a tensor again."""
    draw.tiles = False
    x = draw.operand(draw.dtype("real numeric"), draw.shape(), "moved")
    ways = ["tl.from_dlpack(x)"]
    if tl.default_device() == "cpu" and x.dtype.name != "bfloat16":
        ways = ["tl.asarray(Described(x))", "tl.asarray(x.__buffer__(0))"]
    x.shift = 0  # DLPack is for aligned memory
    names = {"Described": Described}
    text = draw.choice(ways)
    return Case("exchange of memory", text, {"x": x}, lambda a: a, same, view=True, names=names)


CASES = {
    f"entering {f.__name__}": f for f in (full, listed, converted, by_protocol, there_and_back)
}
