"""Random parts of cases: shapes, layouts, dtypes, values and operands.

All of it follows from one `random.Random`, so that a number stands for a case.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import guard
import narrow_values
import numpy as np
import on_devices
import tensors
from tensors import BFLOAT16, DTYPES, NARROW, as_dtype, kind

import tensorlayout as tl
from tensorlayout.layout import BitPattern, Layout, PaddingValue

# Elements of an operand: few, but for one in twenty, and one in a thousand.
MOST = 200
MANY = 3000
HUGE = 40_000

SIZES = (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 6, 7, 9, 16, 17)
RANKS = (0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6)
SYMBOLS = tuple(PaddingValue)
PATTERNS = {
    "float32": BitPattern(0x7FC00000, "float32"),
    "int8": BitPattern(0x5A, "int8"),
    "float64": BitPattern(0x8000000000000000, "float64"),
    "bfloat16": BitPattern(0x3FC0, "bfloat16"),
    "complex64": BitPattern(0x3F8000007FC00000, "complex64"),
}

TILES = (
    *([(2,)], [(4,), (2,)], [(3,)]),
    *([(2, 2)], [(2, 3)], [(4, 1)], [(2, 4), (2, 1)], [(4, 4), (2, 2)]),
    *([(2, 1, 1)], [(2, 2, 2)]),
)

# Numbers just above the middle of two of a shorter dtype: rounded twice they end below.
TIES = [2**24 + 2**16 + 1, 2**30 + 2**22 + 1, 2**60 + 2**52 + 1]
NEAR_TIES = [1 + 2**-8 + 2**-40, 1 + 2**-11 + 2**-40]

# On the simulator each set of dtypes has a kernel compiled: few that tests use anyway.
FEW = on_devices.FEW - set(NARROW)


# --- values --------------------------------------------------------------------------------------


def _extremes(dtype):
    if kind(dtype) in "iu":
        limits = np.iinfo(dtype)
        return [limits.min, limits.max, limits.max - 1, limits.min + 1]
    info = tl.finfo(dtype)
    return [
        info.max,
        info.min,
        info.smallest_normal,
        info.smallest_normal / 4,
        info.eps,
        1 + info.eps,
    ]


@functools.cache
def pool(name, kind_of_values):
    """4096 values of a dtype: `wild` ones, `finite` ones of any magnitude, or `mild` ones.

    Mild ones are small, exact in every dtype, and so are short sums and products of them.
    """
    dtype = as_dtype(name)
    letter = kind(dtype)
    if letter == "n":
        every = np.arange(2 ** narrow_values.bits_of(name), dtype=np.uint8)
        return np.random.default_rng(7).choice(every, 4096 + MANY * 4).view(dtype)
    if kind_of_values == "mild":
        values = {
            "b": [False, True],
            "i": [-3, -2, -1, 0, 1, 2, 3, 5],
            "u": [0, 1, 2, 3, 5],
            "f": [-3.0, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.0, 2.0],
            "c": [0, 1, -1, 1j, -1j, 0.5 + 0.5j, -0.5 - 1j, 2 - 1j],
        }[letter]
    else:
        values = tensors.values_of(dtype, finite=kind_of_values == "finite").tolist()
        if letter in "iuf":
            values += _extremes(dtype)
        if letter == "f":
            values += [3.75, -0.125, 12.5, 1e-4, math.pi, -math.e, 2.5, -1.0]
            values += NEAR_TIES
        if letter in "iu":
            values += [9, 31, 64, 127]
            values += [n for n in TIES if n <= np.iinfo(dtype).max]
        if kind_of_values == "moved" and letter == "c":
            parts = [math.nan, math.inf, -math.inf, -0.0, 1.0]
            values += [complex(a, b) for a in parts for b in parts]
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        result = np.array(values).astype(dtype) if letter != "c" else np.array(values, dtype)
    return result[rng.integers(0, len(result), 4096 + MANY * 4)]


def padding_bits(layout, dtype):
    """One element of `dtype` that holds what the padding of `layout` must; None if anything."""
    value = layout.padding_value
    if value is PaddingValue.UNSPECIFIED:
        return None
    if isinstance(value, BitPattern):
        return np.frombuffer(value.bits.to_bytes(dtype.itemsize, "little"), dtype)[0]
    if kind(dtype) == "n":
        return _narrow_padding(value, dtype)
    if value in (PaddingValue.ZERO, PaddingValue.ONE):
        return dtype.type(int(value is PaddingValue.ONE))
    low = value is PaddingValue.LOWEST
    if kind(dtype) == "f":
        return dtype.type(-math.inf if low else math.inf)
    if kind(dtype) == "b":
        return dtype.type(not low)
    return dtype.type(np.iinfo(dtype).min if low else np.iinfo(dtype).max)


def _narrow_padding(value, dtype):
    """By all values of the type: a 1 of one bit is -1, and there may be no 0."""
    contents = range(2 ** narrow_values.bits_of(dtype.name))
    values = {c: v for c in contents if (v := narrow_values.value_of(dtype.name, c)) == v}
    ones = [c for c, v in values.items() if v == 1]
    result = {
        PaddingValue.ZERO: 0,
        PaddingValue.ONE: ones[0] if ones else 1,
        PaddingValue.LOWEST: min(values, key=values.__getitem__),
        PaddingValue.HIGHEST: max(values, key=values.__getitem__),
    }[value]
    return np.uint8(result).view(dtype)


def places(layout):
    """The slot of each element, as an array: digits of the indices times strides, all added up."""
    result = np.array(layout.offset)
    for n, parts in zip(layout.shape, layout.parts, strict=True):
        rest, along = np.arange(n), np.zeros(n, np.int64)
        for extent, stride in reversed(parts[1:]):
            along += rest % extent * stride
            rest = rest // extent
        result = result[..., None] + along + rest * parts[0][1]
    return result


def padding_mask(layout):
    """Return a mask of the slots, from the lowest of the block, that are the layout's padding."""
    mask = np.ones(math.prod(layout.padded_shape), bool)
    if layout.size:
        mask[places(layout.at_origin)] = False
    return mask


# Bytes of booleans that are true.
TRUE = ((2,), (1, 255), (128, 1, 3), (4, 8, 1, 64, 254))

LISTED = 4000  # characters of the values of an operand


@dataclass(slots=True)
class Operand:
    """Description of a tensor: a layout, and the contents of each slot of its storage."""

    layout: Layout
    storage: np.ndarray
    array: np.ndarray
    shift: int = 0
    readonly: bool = False

    @property
    def dtype(self):
        return self.storage.dtype

    def source(self):
        """An expression that makes it, for `guard.stored`."""
        options = {"fill_padding": self.layout.is_padded, "shift": self.shift}
        options["readonly"] = self.readonly
        argument = "".join(f", {name}={value}" for name, value in options.items() if value)
        return f'stored({self.listed()}, "{self.layout}"{argument})'

    def listed(self):
        """An expression of what the slots hold; of bytes, which are many, by their digits."""
        if self.dtype.itemsize == 1 and self.dtype.kind in "ub":
            return f'np.frombuffer(bytes.fromhex("{self.storage.tobytes().hex()}"), "{self.dtype}")'
        if kind(self.dtype) == "n":
            octets = f'bytes.fromhex("{self.storage.tobytes().hex()}")'
            return f'np.frombuffer({octets}, np.uint8).view(as_dtype("{self.dtype.name}"))'
        values = self.storage.astype(np.float32) if self.dtype == BFLOAT16 else self.storage
        listed = repr(values.tolist()).replace(" ", "")
        if len(listed) > LISTED:
            listed = f"{listed[:LISTED]}…]"
        return f'np.array({listed}).astype(as_dtype("{self.dtype.name}"))'

    def tensor(self):
        fill, shift = self.layout.is_padded, self.shift
        return guard.stored(self.storage, self.layout, fill, shift, self.readonly)


class Draw:
    """One case's luck."""

    def __init__(self, random, few=False, number=None):
        self.random = random
        self.number = number  # of the case, if it has one
        self.few = few
        self.tiles = True  # whether layouts may be tiled
        self.choice = random.choice
        self.most = random.choices((MOST, MANY, HUGE), (0.949, 0.05, 0.001))[0]

    def chance(self, p):
        return self.random.random() < p

    def between(self, low, high):
        return self.random.randrange(low, high + 1)

    # --- dtypes ----------------------------------------------------------------------------------

    def dtype(self, words="any"):
        """A dtype of a category of the standard, by name."""
        return self.choice(self.names_of(words))

    def names_of(self, words):
        """The names of the dtypes of a category that may be drawn."""
        names = DTYPES[words]
        return ([n for n in names if n in FEW] or names) if self.few else names

    # --- shapes ----------------------------------------------------------------------------------

    def shape(self, least=0, most=6, empty=True):
        rank = self.choice([r for r in RANKS if least <= r <= most] or [least])
        sizes = SIZES if empty and self.chance(0.25) else SIZES[1:]
        results, count = [], 1
        for _ in range(rank):
            n = self.choice([n for n in sizes if n * count <= self.most] or [1])
            results.append(n)
            count *= max(n, 1)
        if self.most > MOST and rank and count and self.chance(0.5):
            at = self.between(0, rank - 1)
            results[at] = self.between(1, max(1, self.most * results[at] // count))
        return tuple(results)

    def broadcast_with(self, shape):
        """A shape that broadcasts with `shape`, to it or to a larger one."""
        if self.chance(0.35):
            return shape
        cut = self.between(0, len(shape))
        results = [1 if self.chance(0.25) else n for n in shape[cut:]]
        if cut == 0 and self.chance(0.15) and len(shape) < 6 and math.prod(shape) < MOST:
            results = [self.choice((0, 1, 2)), *results]
        return tuple(results)

    def axis(self, rank):
        return self.between(-rank, rank - 1)

    def axes(self, rank, none=True):
        """Some dimensions, from either end; sometimes None or a single integer."""
        if none and self.chance(0.2):
            return None
        if rank and self.chance(0.4):
            return self.axis(rank)
        dims = self.random.sample(range(rank), self.between(0, rank))
        return tuple(d - rank if self.chance(0.3) else d for d in dims)

    def order(self, rank):
        return tuple(self.random.sample(range(rank), rank))

    # --- layouts ---------------------------------------------------------------------------------

    def layout(self, shape, dtype, writable=False):
        """A layout of a shape; one that can be written to has a slot for each element."""
        rank = len(shape)
        kinds = ["row-major"] * 4 + ["packed"] * 4 + ["padded"] * 5 + ["cut"] * 5
        kinds += ["tiled"] * 5 if self.tiles and 0 < rank < 60 else []
        kinds += [] if writable else ["broadcast", "broadcast", "overlapping"]
        match self.choice(kinds):
            case "row-major":
                return Layout.row_major(shape)
            case "packed":
                result = Layout.packed(shape, self.order(rank))
            case "padded":
                block = [n + self.room(rank, (0, 0, 1, 2, 5)) for n in shape]
                result = Layout.padded(shape, block, self.order(rank), self.padding(dtype))
                if result.required_size > self.most * 8:
                    result = Layout.packed(shape, self.order(rank))
            case "cut":
                result = self._sliced_layout(shape)
            case "tiled":
                result = self._tiled(shape, dtype)
            case "broadcast":
                base = tuple(1 if self.chance(0.5) else n for n in shape)
                result = Layout.packed(base, self.order(rank)).broadcast_to(shape)
            case "overlapping":
                strides = [self.between(0, 4) for _ in shape]
                result = Layout(shape, strides)
        if rank and self.chance(0.2):
            flipped = result.flip(self.random.sample(range(rank), self.between(1, rank)))
            result = result if flipped is None else flipped
        return result.moved(self.between(1, 9)) if self.chance(0.15) else result

    def padding(self, dtype):
        if dtype.name in PATTERNS and self.chance(0.15):
            return PATTERNS[dtype.name]
        value = self.choice(SYMBOLS)
        unordered = value in (PaddingValue.LOWEST, PaddingValue.HIGHEST) and dtype.kind == "c"
        return PaddingValue.ZERO if unordered else value

    def room(self, rank, sizes):
        """One of some sizes; of many dimensions, most have none."""
        return self.choice(sizes) if rank <= 7 or self.chance(0.05) else 0

    def _sliced_layout(self, shape):
        """A view of something larger: steps, either direction, a dimension indexed away."""
        sizes, key = [], []
        for n in shape:
            step = 1 + self.room(len(shape), (0, 0, 0, 1, 2)) if math.prod(shape) < MOST else 1
            before, after = self.room(len(shape), (0, 0, 1)), self.room(len(shape), (0, 0, 1, 2))
            sizes.append(before + n * step + after)
            key.append(slice(before, before + n * step, step))
        if self.chance(0.2) and len(shape) < 64:
            at = self.between(0, len(shape))
            sizes.insert(at, 2)
            key.insert(at, self.between(0, 1))
        rank = len(sizes)
        base = Layout.packed(sizes, self.order(rank))
        if self.chance(0.2):
            base = Layout.padded(
                sizes, [n + self.room(rank, (0, 1)) for n in sizes], self.order(rank)
            )
        result = base.slice(tuple(key))
        return result if result.required_size <= self.most * 8 else Layout.packed(shape)

    def _tiled(self, shape, dtype):
        """Tiles, with tails or not, or what is left of larger ones after a view."""
        for _ in range(6):  # not every draw has parts, and more than one of a dimension
            result = self._in_tiles(shape, dtype)
            if result is not None and result.is_tiled and result.required_size <= self.most * 16:
                return result
        return Layout.packed(shape, self.order(len(shape)))

    def _in_tiles(self, shape, dtype):
        rank = len(shape)
        sizes, key = list(shape), [slice(None)] * rank
        value = self.padding(dtype)
        tiles, order = self.choice(TILES), self.order(rank)
        tiles = [(*(1,) * (len(t) - rank), *t)[-rank:] for t in tiles]
        if self.chance(0.3):  # no tails
            fast = [sizes[d] or 1 for d in order[: self.between(1, rank)]]
            tiles = [[self.choice([k for k in (1, 2, 3, 4, n) if n % k == 0]) for n in fast[::-1]]]
        seen = self.choice(["whole", "whole", "part", "permuted", "one of two"])
        seen = "whole" if rank == 64 else seen
        match seen:
            case "part":  # whole tiles of some dimensions left out, or what is inside of one
                for d in range(rank):
                    step = self.room(rank, (0, 0, math.prod(t[-1] for t in tiles), 1, 2))
                    sizes[d] += step + self.room(rank, (0, 0, 1))
                    key[d] = slice(step, step + shape[d])
            case "permuted":
                turned = self.order(rank)
                for d, n in zip(turned, shape, strict=True):
                    sizes[d] = n
            case "one of two":
                at = self.between(0, rank)
                sizes.insert(at, 2)
                key.insert(at, self.between(0, 1))
                order = self.order(rank + 1)
        try:
            result = Layout.tiled(sizes, tiles, order, value)
        except ValueError:  # what no parts describe
            return None
        if seen == "permuted":
            return result.permute(turned)
        return result if seen == "whole" else result.slice(tuple(key))

    # --- operands --------------------------------------------------------------------------------

    def values(self, dtype, count, how):
        pooled = pool(dtype.name, how)
        if count > len(pooled) // 2:
            return np.resize(pooled, count)
        start = self.random.randrange(len(pooled) - count)
        return pooled[start : start + count]

    def operand(self, dtype, shape, how="wild", writable=False, layout=None):
        dtype = as_dtype(dtype)
        if layout is None:
            layout = self.layout(shape, dtype, writable)
        storage = np.array(self.values(dtype, layout.required_size, how))
        if dtype.kind == "b" and self.chance(0.2):
            storage = self._foreign(storage)
        result = self.over(layout, storage)
        return result if writable else self._placed(result)

    def _placed(self, operand):
        """Some begin at odd addresses, and some are read-only."""
        if self.chance(0.05):
            operand.shift = self.between(1, 7)
        operand.readonly = self.chance(0.1)
        return operand

    def _foreign(self, booleans):
        """The same booleans in bytes of another library, to which all that is not 0 is true."""
        true = self.choice(TRUE)
        octets = np.resize(np.array(true, np.uint8), booleans.shape)
        return np.where(booleans, octets, np.uint8(0)).view(bool)

    def over(self, layout, storage):
        """An operand whose slots hold `storage`, but for padding that has a value."""
        bits = padding_bits(layout, storage.dtype) if layout.is_padded else None
        if bits is not None:
            mask = padding_mask(layout)
            storage[layout.lowest : layout.lowest + mask.size][mask] = bits
        array = np.array(storage[places(layout)])
        if array.dtype.kind == "b":  # NumPy counts other bytes than 0 and 1 as what they are
            array = np.asarray(array.view(np.uint8) != 0)
        return Operand(layout, storage, array)

    def holding(self, array, writable=False):
        """An operand of some layout whose elements are those of `array`."""
        layout = self.layout(array.shape, array.dtype, writable=True)
        storage = np.array(self.values(array.dtype, layout.required_size, "mild"))
        storage[places(layout)] = array
        if array.dtype.kind == "b" and self.chance(0.2):
            storage = self._foreign(storage)
        return self.over(layout, storage)
