"""Cases of writes whose operands lie in the memory that is written, as tensors of any dtype.

Masks, positions and values are other parts of the storage of the destination. Whatever is read
counts as copied before anything is written: NumPy gets copies.
"""

from __future__ import annotations

import math

import numpy as np
from case import Case, close, same
from casting import cast, promoted
from draws import pool
from elementwise_cases import two_arrays
from shared_memory import Part, fitting, other_view, seen
from tensors import DTYPES, as_dtype, host, kind

import tensorlayout as tl
from tensorlayout.layout import Layout

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Shared:
    """A destination `x` in a storage `s`; what else is read there; and what lies elsewhere."""

    def __init__(self, draw, dtype, least=1, shape=None):
        self.draw, dtype = draw, as_dtype(dtype)
        shape = draw.shape(least, 3, empty=draw.chance(0.1)) if shape is None else shape
        size = math.prod(shape)
        slots = size * draw.choice((1, 1, 2, 3)) + draw.between(0, 4)
        layout = fitting(draw, shape, slots, writable=True)
        start = self._start(dtype)
        self.x = Part(layout, dtype, start)
        self.parts = {"x": self.x}
        room = max(slots, layout.required_size) * dtype.itemsize + start
        self.storage = np.zeros(max(8, room + draw.choice((0, 0, 8, 16))), np.uint8)
        self.others = {}

    def _start(self, dtype):
        """A byte to begin at; kernels need memory that is aligned."""
        if tl.default_device() == "cpu" and self.draw.chance(0.1):
            return self.draw.between(1, 7)
        return self.draw.choice((0, 0, 0, dtype.itemsize))

    def fill(self, values, start=0):
        """Let the whole storage hold these values, over and over."""
        raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        start %= values.dtype.itemsize
        self.storage[start:] = np.resize(raw, self.storage.size - start)

    def part(self, name, dtype, shape):
        """Other elements of the storage, which it shares with `x` more often than not."""
        dtype = as_dtype(dtype)
        start = self.x.start if self.draw.chance(0.7) else self._start(dtype)
        if tl.default_device() != "cpu":
            start -= start % dtype.itemsize
        slots = (self.storage.size - start) // dtype.itemsize
        if slots <= 0:
            start, slots = 0, self.storage.size // dtype.itemsize
        if slots <= 0:
            return None
        related = shape == self.x.layout.shape and dtype.itemsize == self.x.dtype.itemsize
        if related and self.draw.chance(0.6):
            layout = other_view(self.draw, self.x.layout, slots)
            if layout.required_size > slots:
                layout = fitting(self.draw, shape, slots, writable=False)
        else:
            layout = fitting(self.draw, shape, slots, writable=False)
        self.parts[name] = result = Part(layout, dtype, start)
        return result

    def other(self, name, operand):
        """An operand in memory of its own."""
        self.others[name] = operand
        return operand

    def case(self, name, text, change, check=same, **options):
        """``change(x, arrays)`` gives what `x` then holds; `arrays`: of all that is read."""
        parts, x = dict(self.parts), self.x
        operand = self.draw.over(Layout.row_major((self.storage.size,)), self.storage)

        def expect(s, *rest):
            arrays = {n: part.of(s) for n, part in parts.items() if n != "x"}
            arrays |= dict(zip(self.others, rest, strict=True))
            x.put(s, change(x.of(s), arrays))
            return s

        steps = [part.text(n) for n, part in parts.items()]
        return Case(
            name,
            "; ".join([*steps, text]),
            {"s": operand, **self.others},
            expect,
            _elements(x, check),
            writes="s",
            names={"seen": seen},
            **options,
        )


def _elements(x, check):
    """A check of the elements of a part, and that all bytes beside them are as expected."""
    own = np.unique(x.octets())

    def compare(got, expected):
        result = host(got)
        if result.tobytes() == expected.tobytes():
            return
        check(x.of(result), x.of(expected))
        for storage in (result := result.copy(), expected := expected.copy()):
            storage[own] = 0
        same(result, expected)

    return compare


# --- what is drawn -------------------------------------------------------------------------------


def octets_of_masks(draw, count):
    """Booleans as bytes: often others than 0 and 1, which are true as well."""
    share = draw.choice((0.1, 0.5, 0.9, 0.97))
    true = draw.choice(((1,), (1,), (1, 2, 128, 255), (2, 4, 254)))
    flat = [draw.choice(true) if draw.chance(share) else 0 for _ in range(min(count, 256))]
    return np.array(flat or [1], np.uint8)


def positions(draw, dtype, size):
    """Positions inside a dimension, counted from either end."""
    least = 0 if dtype.startswith("u") else -size
    return np.array([draw.between(least, size - 1) for _ in range(61)]).astype(dtype)


def _integer(draw):
    return draw.choice(("int64",) if draw.few else INTEGERS)


def _readable(draw, dtype):
    """A dtype whose values may be written into another."""
    result = dtype if draw.chance(0.35) else draw.dtype()
    return dtype if result.startswith("complex") and not dtype.startswith("complex") else result


def _scalar(draw, dtype):
    return draw.choice((0, 1, True, False, 2) if dtype != "bool" else (True, False))


def _value(shared, shape, dtype):
    """The text of what is written, and a function that gives it: a number, or a tensor."""
    draw = shared.draw
    luck = draw.between(0, 9)
    if luck < 4:
        number = _scalar(draw, dtype)
        return str(number), lambda _: np.asarray(number)
    cut = draw.between(0, len(shape)) if draw.chance(0.2) else 0
    shape = tuple(1 if draw.chance(0.1) else n for n in shape[cut:])
    source = _readable(draw, dtype)
    if luck < 8 or shared.part("v", source, shape) is None:
        shared.other("v", draw.operand(source, shape, "moved"))
    return "v", lambda arrays: arrays["v"]


def _prefix(draw, rank, used):
    """Draw the place of a mask or positions in a key: the dimension, and the text before them."""
    dim = draw.between(0, rank - used)
    return dim, ":, " * dim


# --- writes --------------------------------------------------------------------------------------


def by_mask(draw):
    shared = Shared(draw, dtype := draw.dtype() if draw.chance(0.6) else "bool")
    shape = shared.x.layout.shape
    shared.fill(octets_of_masks(draw, shared.storage.size))
    used = draw.choice((len(shape), draw.between(1, len(shape))))
    dim, before = _prefix(draw, len(shape), used)
    mask = shared.part("m", "bool", shape[dim : dim + used]).of(shared.storage)
    key = (slice(None),) * dim
    there = np.empty(shape)[(*key, mask)].shape
    text, value = _value(shared, there, dtype)

    def change(x, arrays):
        x[(*key, arrays["m"])] = cast(np.asarray(value(arrays)), dtype)
        return x

    return shared.case("x[mask of its memory] = y", f"x[{before}m] = {text}", change)


def at_positions(draw):
    kind_of = _integer(draw)
    shared = Shared(draw, dtype := draw.dtype() if draw.chance(0.6) else kind_of)
    shape = shared.x.layout.shape
    if 0 in shape:
        return by_mask(draw)
    used = draw.between(1, min(2, len(shape)))
    dim, before = _prefix(draw, len(shape), used)
    size = min(shape[dim : dim + used])
    spread = draw.choice([(2,), (5,), (1,), (3, 2), shape[dim : dim + 1]])
    shared.fill(positions(draw, kind_of, size), start := shared.x.start)
    names = [f"k{n}" for n in range(used)]
    for name in names:
        part = shared.part(name, kind_of, spread)
        if part is None or (part.start - start) % part.dtype.itemsize:
            shared.parts.pop(name, None)
            flat = positions(draw, kind_of, size)
            shared.other(name, draw.holding(np.resize(flat, spread)))
    key = (slice(None),) * dim
    there = (*shape[:dim], *spread, *shape[dim + used :])
    text, value = _value(shared, there, dtype)

    def change(x, arrays):
        x[(*key, *(arrays[n] for n in names))] = cast(np.asarray(value(arrays)), dtype)
        return x

    text = f"x[{before}{', '.join(names)}] = {text}"
    return shared.case("x[positions of its memory] = y", text, change)


KEYS = ("...", "::-1", "1:", ":-1", "::2")


def assigned(draw):
    shared = Shared(draw, dtype := draw.dtype())
    text = draw.choice(KEYS)
    key = eval(f"np.s_[{text}]")
    there = np.empty(shared.x.layout.shape)[key].shape
    source = _readable(draw, dtype)
    shared.fill(draw.values(as_dtype(source), 40, "moved"), shared.x.start)
    if shared.part("v", source, there) is None:
        shared.other("v", draw.operand(source, there, "moved"))

    def change(x, arrays):
        x[key] = cast(arrays["v"], dtype)
        return x

    return shared.case("x[…] = its memory", f"x[{text}] = v", change)


def columns(draw):
    """A column of records, of another dtype, written into the one beside it."""
    dtype = draw.dtype()
    source = _readable(draw, dtype)
    sizes = [as_dtype(d).itemsize for d in (dtype, source)]
    item = max(sizes)
    width = item * draw.choice((2, 2, 3))
    count = draw.between(1, 40)
    shared = Shared(draw, dtype, shape=(count,))
    at = draw.random.sample(range(width // item), 2)
    shared.storage = np.zeros(width * count, np.uint8)
    parts = [
        Part(Layout((count,), (width // n,), offset=k * item // n), as_dtype(d))
        for d, n, k in zip((dtype, source), sizes, at, strict=True)
    ]
    shared.x = shared.parts["x"] = parts[0]
    shared.fill(draw.values(as_dtype(source), 61, "moved"))
    shared.parts["v"] = parts[1]
    return shared.case("x = column", "x[...] = v", lambda x, arrays: cast(arrays["v"], dtype))


def retyped(draw):
    """The memory that is written, or some beside it, read as another dtype."""
    dtype = draw.dtype()
    source = _readable(draw, dtype)
    count = draw.between(1, 40)
    step = draw.choice((1, 1, 2, -1))
    begin = draw.choice((0, 0, 1, 5)) + (count - 1) * (step < 0)
    layouts = Layout((count,), (1,)), Layout((count,), (step,), offset=begin)
    shared = Shared(draw, dtype, shape=(count,))
    types = as_dtype(dtype), as_dtype(source)
    room = max(a.required_size * d.itemsize for a, d in zip(layouts, types, strict=True))
    shared.storage = np.zeros(room, np.uint8)
    parts = [Part(layout, d) for layout, d in zip(layouts, types, strict=True)]
    shared.x = shared.parts["x"] = parts[0]
    shared.fill(draw.values(types[1], 61, "moved"))
    shared.parts["v"] = parts[1]
    return shared.case("x = retyped", "x[...] = v", lambda x, arrays: cast(arrays["v"], dtype))


SIGNS = {
    "b": {"&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor"},
    "f": {"+": "add", "-": "subtract", "*": "multiply", "//": "floor_divide", "%": "remainder"},
    "c": {"+": "add", "-": "subtract"},
}
SIGNS["i"] = SIGNS["b"] | SIGNS["f"]
SIGNS["u"] = SIGNS["i"] | {"**": "pow"}


def in_place(draw):
    shared = Shared(draw, dtype := draw.dtype())
    shape = shared.x.layout.shape
    sign, name = draw.choice(list(SIGNS[kind(as_dtype(dtype))].items()))
    fits = [d for d in DTYPES["any"] if (d, dtype) != ("bool", "bool") and _keeps(dtype, d)]
    second = dtype if draw.few or draw.chance(0.5) or not fits else draw.choice(fits)
    if name.startswith("bitwise") and second == "bool":
        second = dtype
    cut = draw.between(0, len(shape)) if draw.chance(0.3) else 0
    there = tuple(1 if draw.chance(0.15) else n for n in shape[cut:])
    shared.fill(draw.values(as_dtype(second), 61, "mild"), shared.x.start)
    if shared.part("v", second, there) is None:
        shared.other("v", draw.operand(second, there, "mild"))

    def change(x, arrays):
        return np.asarray(two_arrays(name, dtype, x, arrays["v"]))

    check = same if kind(as_dtype(dtype)) in "biu" else close(8)
    return shared.case("x op= its memory", f"x {sign}= v", change, check)


def _keeps(dtype, other):
    words = "b" if dtype == "bool" else "iufc"
    return kind(as_dtype(other)) in words and _promotes(dtype, other)


def _promotes(dtype, other):
    try:
        return promoted(dtype, other) == dtype
    except KeyError:
        return False


def products(draw):
    """``x @= y``, of integers, which wrap."""
    n = draw.between(1, 6)
    dtype = draw.choice(("int64",) if draw.few else ("int8", "int64", "uint16"))
    shared = Shared(draw, dtype, shape=(n, n))
    shared.fill(pool(dtype, "mild")[:61], shared.x.start)
    shared.part("v", dtype, (n, n))
    return shared.case("x @= its memory", "x @= v", lambda x, arrays: np.matmul(x, arrays["v"]))


def along(draw):
    kind_of = _integer(draw)
    shared = Shared(draw, dtype := draw.dtype() if draw.chance(0.5) else kind_of)
    shape = shared.x.layout.shape
    if 0 in shape:
        return by_mask(draw)
    axis = draw.axis(len(shape))
    sizes = list(shape)
    sizes[axis] = draw.between(1, 5)
    sizes = tuple(sizes)
    shared.fill(positions(draw, kind_of, shape[axis]), start := shared.x.start)
    part = shared.part("k", kind_of, sizes)
    if part is None or (part.start - start) % part.dtype.itemsize:
        shared.parts.pop("k", None)
        flat = positions(draw, kind_of, shape[axis])
        shared.other("k", draw.holding(np.resize(flat, sizes)))
    text, value = _value(shared, sizes, dtype)

    def change(x, arrays):
        y = np.broadcast_to(cast(np.asarray(value(arrays)), dtype), sizes)
        np.put_along_axis(x, arrays["k"].astype(np.int64), y, axis)
        return x

    text = f"tl.put_along_axis(x, k, {text}, axis={axis})"
    return shared.case("put_along_axis by its memory", text, change)


ALL = (by_mask, at_positions, assigned, columns, retyped, in_place, products, along)
CASES = {f"aliases {f.__name__}": f for f in ALL}
WEIGHTS = {"aliases by_mask": 6, "aliases at_positions": 8, "aliases assigned": 6}
WEIGHTS |= {"aliases columns": 4, "aliases retyped": 4, "aliases in_place": 4, "aliases along": 3}
