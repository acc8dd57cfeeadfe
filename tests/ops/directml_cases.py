"""Cases of DirectML's operators, as functions, against what NumPy makes of plain arrays."""

from __future__ import annotations

import math

import casting
import numpy as np
from case import Case, Refused, but_signs_of_zeros, near, same, voted
from draws import MOST
from tensors import host

import tensorlayout.directml as dml
from tensorlayout.layout import Layout

ANY = object()  # layout
UNDEFINED = 2**32 - 1  # in the answer to NONZERO_COORDINATES: anything may stand there


# --- operands, and how a case is put together -----------------------------------------------------


def data_type(draw, operator, tensor=None):
    """The name of a data type that a tensor of an operator, by default the first, may have."""
    table = dml.support(operator)
    names = [t.name.lower() for t in table[tensor or next(iter(table))].data_types]
    if draw.few:
        return next(name for name in ("float32", "int64", *names) if name in names)
    return draw.choice(names)


def operand(draw, operator, least=1, most=8, values="mild"):
    draw.most = min(draw.most, MOST)
    return draw.operand(data_type(draw, operator), draw.shape(least, most, empty=False), values)


def case(draw, text, expect, layout=None, check=same, **operands):
    """A case of a call, whose result is written to a new tensor or to `out`, of any layout.

    `layout`: that of a new tensor, as in `Case`, or `ANY`: by default packed in the order of
    the first operand, or row-major if that has another rank.
    """
    name = text.partition("(")[0].replace("dml.", "dml ")
    result = Case(name, text, operands, expect, check, names={"dml": dml})
    with np.errstate(all="ignore"):
        expected = expect(*(o.array for o in operands.values()))
    if isinstance(expected, np.ndarray):
        if draw.chance(0.3):
            result.operands["out"] = draw.operand(expected.dtype, expected.shape, writable=True)
            result.text, result.writes = f"{text[:-1]}, out=out)", "out"
            result.expect = lambda *arrays: expect(*arrays[:-1])
        elif layout is not ANY:
            result.layout = layout or _in_order(expected.shape, *operands.values())
    if any(o.layout.is_tiled for o in result.operands.values()):  # DirectML knows strides only
        result.expect = lambda *_: Refused(ValueError)
    return result


def _in_order(shape, *operands):
    order = operands[0].layout.minor_to_major if operands else ()
    return Layout.packed(shape, order) if len(order) == len(shape) else Layout.row_major(shape)


def positions(draw, shape, size, operator, outside=0):
    """Positions in a dimension, from either end; `outside`: so many more on both sides."""
    name = data_type(draw, operator, "IndicesTensor")
    least = 0 if name.startswith("u") else -size - outside
    flat = [draw.between(least, size - 1 + outside) for _ in range(math.prod(shape))]
    return draw.holding(np.array(flat, name).reshape(shape))


def with_size(shape, axis, n):
    return (*shape[:axis], n, *shape[axis + 1 :])


# --- elementwise ----------------------------------------------------------------------------------


def copied(draw):
    x = operand(draw, "ELEMENT_WISE_IDENTITY")
    return case(draw, "dml.element_wise_identity(x)", lambda a: a, x=x)


def scaled(draw):
    """The product is rounded before the sum; float16 is worked out in float32."""
    draw.most = MOST
    name = "float32" if draw.few else draw.choice(("float16", "float32", "float64"))
    x = draw.operand(name, draw.shape(1, 8, empty=False), "mild")
    scale, bias = draw.choice((2, 0.1, -0.7)), draw.choice((0, 0.5, -1.7))
    wide = np.promote_types(name, "float32").type

    def expect(a):
        return np.asarray(a * wide(np.float32(scale)) + wide(np.float32(bias))).astype(name)

    text = f"dml.element_wise_identity(x, ({scale}, {bias}))"
    return case(draw, text, expect, x=x)


def cast(draw):
    x = operand(draw, "CAST", values="wild")
    name = data_type(draw, "CAST", "OutputTensor") if not draw.few else "int64"
    text = f'dml.cast(x, "{name.upper()}")'
    return case(draw, text, lambda a: casting.cast(a, name), x=x)


def chosen(draw):
    draw.most = MOST
    name = data_type(draw, "ELEMENT_WISE_IF", "ATensor")
    a = draw.operand(name, draw.shape(1, 8, empty=False), "mild")
    b = draw.operand(name, a.layout.shape, "mild")
    k = draw.operand("uint8", a.layout.shape, "mild")
    layout = voted(a.layout.shape, (a, b), name)
    text = "dml.element_wise_if(k, a, b)"
    return case(draw, text, lambda a, b, k: np.where(k, a, b), layout, a=a, b=b, k=k)


# --- running values -------------------------------------------------------------------------------


def running(draw, operator, function, combined, unit):
    draw.most = min(draw.most, MOST)
    name = data_type(draw, operator)
    shape = draw.shape(1, 8, empty=False)
    layout = draw.layout(shape, np.dtype(name))
    if name.startswith("float"):  # values whose sums and products are exact
        storage = [draw.choice((1, -1, 1, 2, 0.5)) for _ in range(layout.required_size)]
        x = draw.over(layout, np.array(storage, name))
    else:
        x = draw.operand(name, shape, "mild", layout=layout)
    axis = draw.between(0, len(shape) - 1)
    back, exclusive = draw.chance(0.5), draw.chance(0.5)

    def expect(a):
        a = np.flip(a, axis) if back else a
        if exclusive:
            first = np.full(with_size(a.shape, axis, 1), unit, a.dtype)
            a = np.concatenate([first, a], axis).take(range(a.shape[axis]), axis)
        result = combined(a, axis, dtype=a.dtype)
        return np.array(np.flip(result, axis) if back else result)

    text = f"{function}(x, {axis}, dml.AxisDirection({int(back)}), {exclusive})"
    return case(draw, text, expect, check=but_signs_of_zeros, x=x)


def cumulative(draw):
    function = "dml.cumulative_summation"
    return running(draw, "CUMULATIVE_SUMMATION", function, np.cumsum, 0)


def cumulative_product(draw):
    function = "dml.cumulative_product"
    return running(draw, "CUMULATIVE_PRODUCT", function, np.cumprod, 1)


# --- parts and borders ----------------------------------------------------------------------------


def joined(draw):
    x = operand(draw, "JOIN")
    axis = draw.between(0, x.layout.ndim - 1)
    others = {}
    for name in ("y", "z")[: draw.between(0, 2)]:
        shape = with_size(x.layout.shape, axis, draw.between(1, 3))
        others[name] = draw.operand(x.dtype, shape, "mild")
    text = f"dml.join([{', '.join(['x', *others])}], {axis})"
    return case(draw, text, lambda *arrays: np.concatenate(arrays, axis), x=x, **others)


def split(draw):
    x = operand(draw, "SPLIT")
    axis = draw.between(0, x.layout.ndim - 1)
    n = x.layout.shape[axis]
    cuts = sorted(draw.random.sample(range(1, n), draw.between(0, min(n - 1, 3))))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    text = f"dml.split(x, {sizes}, {axis})"
    return case(draw, text, lambda a: tuple(np.split(a, cuts, axis)), x=x)


def sliced(draw):
    x = operand(draw, "SLICE")
    offsets, sizes, strides = [], [], []
    for n in x.layout.shape:
        offsets.append(draw.between(0, n - 1))
        strides.append(draw.choice((1, 1, 2, 3)))
        sizes.append(draw.between(1, 1 + (n - offsets[-1] - 1) // strides[-1]))
    ranges = zip(offsets, sizes, strides, strict=True)
    key = tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in ranges)
    text = f"dml.slice(x, {offsets}, {sizes}, {strides})"
    layout = "packed" if x.layout.is_overlapping else None  # equal strides have no order
    return case(draw, text, lambda a: np.array(a[key]), layout, x=x)


def window(draw, shape):
    """Members of a window, the sizes of what it shows, and an index of these elements."""
    rows = [_span(draw, n) for n in shape]
    offsets, spans, steps, sizes = map(list, zip(*rows, strict=True))
    places = [
        offset + (span - 1 if step < 0 else 0) + step * np.arange(size)
        for offset, span, step, size in rows
    ]
    return f"{offsets}, {spans}, {steps}", tuple(sizes), np.ix_(*places)


def _span(draw, n):
    """Part of a dimension: where it begins, how long it is, a step, how many elements."""
    offset = draw.between(0, n - 1)
    span, step = draw.between(1, n - offset), draw.choice((1, 1, 2, 3, -1, -1, -2))
    most = 1 + (span - 1) // abs(step)
    return offset, span, step, most if draw.chance(0.6) else draw.between(1, most)


def windowed(draw):
    x = operand(draw, "SLICE1")
    members, sizes, places = window(draw, x.layout.shape)
    layout = "packed" if x.layout.is_overlapping else None  # equal strides have no order
    text = f"dml.slice1(x, {members}, {sizes})"
    return case(draw, text, lambda a: a[places], layout, x=x)


def put_back(draw):
    draw.most = MOST
    shape = draw.shape(1, 8, empty=False)
    members, sizes, places = window(draw, shape)
    x = draw.operand(data_type(draw, "SLICE_GRAD"), sizes, "mild")

    def expect(a):
        result = np.zeros(shape, a.dtype)
        result[places] = a
        return result

    return case(draw, f"dml.slice_grad(x, {shape}, {members})", expect, x=x)


def padded(draw):
    """Borders may be wider than what they mirror or repeat."""
    operator = draw.choice(("PADDING", "PADDING1"))
    x = operand(draw, operator)
    rank = x.layout.ndim
    wide = draw.random.sample(range(rank), min(rank, 3))
    before = [draw.between(0, 2) if d in wide else 0 for d in range(rank)]
    after = [draw.between(0, 2) if d in wide else 0 for d in range(rank)]
    before[wide[0]] = draw.choice((0, 1, 2, 7))
    mode = draw.choice(("CONSTANT", "EDGE", "REFLECTION", "SYMMETRIC", "WRAP"))
    value = draw.choice((0, 7, 2.75) if operator == "PADDING" else (0, 7, 120))
    words = {"mode": {"REFLECTION": "reflect"}.get(mode, mode.lower())}
    if mode == "CONSTANT":
        words["constant_values"] = np.array(value).astype(x.dtype)
    pairs = list(zip(before, after, strict=True))
    text = f'dml.{operator.lower()}(x, {before}, {after}, "{mode}", {value})'
    return case(draw, text, lambda a: np.pad(a, pairs, **words), x=x)


def tiled(draw):
    x = operand(draw, "TILE", most=6)
    counts = [draw.between(1, 3 if d < 3 else 1) for d in range(x.layout.ndim)]
    return case(draw, f"dml.tile(x, {counts})", lambda a: np.tile(a, counts), x=x)


def reversed_parts(draw):
    x = operand(draw, "REVERSE_SUBSEQUENCES")
    shape = x.layout.shape
    axis = draw.between(0, len(shape) - 1)
    lines = with_size(shape, axis, 1)
    name = "uint32" if draw.few else draw.choice(("uint32", "uint64"))
    many = int(np.iinfo(name).max)
    counts = [
        draw.choice((draw.between(0, shape[axis] + 1), many)) for _ in range(math.prod(lines))
    ]
    lengths = draw.holding(np.array(counts, name).reshape(lines))

    def expect(a, counts):
        result = a.copy()
        for line in np.ndindex(*lines):
            n = min(int(counts[line]), shape[axis])
            begins = (*line[:axis], slice(0, n), *line[axis + 1 :])
            result[begins] = a[begins][::-1]
        return result

    return case(draw, f"dml.reverse_subsequences(x, k, {axis})", expect, x=x, k=lengths)


# --- positions that are data ----------------------------------------------------------------------


def gathered_along_axis(draw):
    """A position outside reads the nearest element."""
    lead = draw.choice((0, 0, 1, 2))
    x = operand(draw, "GATHER", most=8 if lead == 0 else 4)
    if lead:
        x = draw.operand(x.dtype, (1,) * lead + x.layout.shape, "mild")
    shape, rank = x.layout.shape, x.layout.ndim
    count = draw.between(0, lead + 1)
    axis = draw.between(min(lead, rank - 1), rank - 1)
    spread = tuple(draw.between(1, 3) for _ in range(min(count, rank)))
    k = positions(draw, (1,) * (rank - len(spread)) + spread, shape[axis], "GATHER", outside=2)

    def expect(a, at):
        at = at.reshape(spread).astype(np.int64)
        at = np.where(at < 0, at + shape[axis], at).clip(0, shape[axis] - 1)
        result = np.take(a, at, axis)
        kept = result.shape[max(result.ndim - rank, 0) :]
        return result.reshape((1,) * (rank - len(kept)) + kept)

    text = f"dml.gather(x, k, {axis}, {len(spread)})"
    return case(draw, text, expect, ANY, x=x, k=k)


def gathered(draw):
    x = operand(draw, "GATHER_ELEMENTS")
    axis = draw.between(0, x.layout.ndim - 1)
    n = x.layout.shape[axis]
    shape = with_size(x.layout.shape, axis, draw.between(1, 5))
    k = positions(draw, shape, n, "GATHER_ELEMENTS")

    def expect(a, at):
        return np.take_along_axis(a, at.astype(np.int64), axis)

    return case(draw, f"dml.gather_elements(x, k, {axis})", expect, x=x, k=k)


def scattered(draw):
    """Of equal positions the last one wins, or they are refused."""
    x = operand(draw, "SCATTER")
    axis = draw.between(0, x.layout.ndim - 1)
    n = x.layout.shape[axis]
    shape = with_size(x.layout.shape, axis, draw.between(1, 5))
    k = positions(draw, shape, n, "SCATTER")
    updates = draw.operand(x.dtype, shape, "mild")
    duplicates = draw.choice(("last", "last", "error"))

    def expect(a, at, new):
        at = at.astype(np.int64) % n
        if duplicates == "error" and (np.diff(np.sort(at, axis), axis=axis) == 0).any():
            return Refused(ValueError)
        np.put_along_axis(a := a.copy(), at, new, axis)
        return a

    function = draw.choice(("scatter", "scatter_elements"))
    text = f'dml.{function}(x, k, u, {axis}, duplicates="{duplicates}")'
    return case(draw, text, expect, x=x, k=k, u=updates)


class Tuples:
    """Coordinate tuples, with ones in front of the sizes that count.

    `source`: the sizes of the tensor that count; `counted`: those of the indices, the tuple last.
    """

    def __init__(self, draw, operator, batched):
        draw.most = MOST
        name = data_type(draw, operator)
        shape = draw.shape(1, 4, empty=False)
        n = len(shape)
        self.batch = draw.between(0, n - 1) if batched else 0
        length = draw.between(1, n - self.batch)
        lead = tuple(draw.between(1, 3) for _ in range(draw.between(0, 2)))
        self.source = shape
        self.counted = (*shape[: self.batch], *lead, length)
        spread = (*self.counted[:-1], *shape[self.batch + length :])
        rank = max(n, len(self.counted), len(spread), draw.choice((1, 1, 6)))
        self.read = (1,) * (rank - len(spread)) + spread
        self.x = draw.operand(name, (1,) * (rank - n) + shape, "mild")
        kind = data_type(draw, operator, "IndicesTensor")
        sizes = shape[self.batch : self.batch + length]
        places = range(math.prod(self.counted[:-1]))
        rows = [[draw.between(0 if kind[0] == "u" else -m, m - 1) for m in sizes] for _ in places]
        at = np.array(rows, kind).reshape((1,) * (rank - len(self.counted)) + self.counted)
        self.k = draw.holding(at)
        self.arguments = f"{n}, {len(self.counted)}"

    def keys(self, at):
        """The index of each block in the tensor, and in what is read."""
        at = at.reshape(self.counted).astype(np.int64)
        for place in np.ndindex(*self.counted[:-1]):
            yield (*place[: self.batch], *at[place].tolist()), place


def at_tuples(draw):
    batched = draw.chance(0.6)
    function = "gather_nd1" if batched else "gather_nd"
    t = Tuples(draw, function.upper(), batched)
    more = f", {t.batch}" if batched else ""

    def expect(a, at):
        a = a.reshape(t.source)
        result = np.empty(t.counted[:-1] + a.shape[t.batch + t.counted[-1] :], a.dtype)
        for key, place in t.keys(at):
            result[place] = a[key]
        return result.reshape(t.read)

    return case(draw, f"dml.{function}(x, k, {t.arguments}{more})", expect, ANY, x=t.x, k=t.k)


def put_at_tuples(draw):
    t = Tuples(draw, "SCATTER_ND", batched=False)
    updates = draw.operand(t.x.dtype, t.read, "mild")
    duplicates = draw.choice(("last", "last", "error"))

    def expect(a, at, new):
        result = a.reshape(t.source).copy()
        new = new.reshape(t.counted[:-1] + result.shape[t.counted[-1] :])
        written = set()
        for key, place in t.keys(at):
            result[key] = new[place]
            written.add(tuple(i % n for i, n in zip(key, t.source, strict=False)))
        if duplicates == "error" and len(written) < math.prod(t.counted[:-1]):
            return Refused(ValueError)
        return result.reshape(a.shape)

    text = f'dml.scatter_nd(x, k, u, {t.arguments}, duplicates="{duplicates}")'
    return case(draw, text, expect, x=t.x, k=t.k, u=updates)


def unpooled(draw):
    x = operand(draw, "MAX_UNPOOLING", 4, 4)
    sizes = tuple(draw.between(1, 4) for _ in range(4))
    count = math.prod(sizes)
    k = positions(draw, x.layout.shape, count, "MAX_UNPOOLING")

    def expect(a, at):
        result = np.zeros(count, a.dtype)
        result[at.ravel().astype(np.int64)] = a.ravel()
        return result.reshape(sizes)

    return case(draw, f"dml.max_unpooling(x, k, {sizes})", expect, "row-major", x=x, k=k)


# --- filling --------------------------------------------------------------------------------------


def _new(draw, operator, least=1, most=8):
    """Sizes and a data type of a result, as arguments too."""
    draw.most = MOST
    return draw.shape(least, most, empty=False), data_type(draw, operator, "OutputTensor")


def filled(draw):
    sizes, name = _new(draw, "FILL_VALUE_CONSTANT")
    limits = [] if name.startswith("f") else [np.iinfo(name).max, np.iinfo(name).min]
    value = draw.choice([0, 7, *map(int, limits)] if limits else [0.0, -0.0, 1.5, -math.inf])
    text = f'dml.fill_value_constant({sizes}, {value}, "{name.upper()}")'
    return case(draw, text, lambda: np.full(sizes, value, name))


def sequence(draw):
    """Integers are exact modulo 2 to the number of bits; floats are rounded once."""
    sizes, name = _new(draw, "FILL_VALUE_SEQUENCE")
    if name.startswith("f"):
        start, delta = draw.choice((0.5, -3, 0.1)), draw.choice((-0.25, 0, 1.1))
    else:
        limits = np.iinfo(name)
        start = draw.choice((0, 3, int(limits.max), int(limits.min)))
        delta = draw.choice((-2, 0, 1, 100, int(limits.max), -(2 ** (limits.bits - 1))))
    steps = range(math.prod(sizes))

    def expect():
        if name.startswith("f"):
            first, step = (float(np.dtype(name).type(v)) for v in (start, delta))
            return (first + np.arange(len(steps)) * step).astype(name).reshape(sizes)
        bits = np.iinfo(name).bits
        values = [(start + k * delta) % 2**bits for k in steps]
        return np.array(values, f"uint{bits}").view(name).reshape(sizes)

    text = f'dml.fill_value_sequence({sizes}, {start}, {delta}, "{name.upper()}")'
    return case(draw, text, expect)


def _diagonals(sizes, begin, end):
    """Return True where an element is on a diagonal from `begin` to `end`, exclusive."""
    d = np.arange(sizes[-1]) - np.arange(sizes[-2])[:, None]
    return np.broadcast_to((begin <= d) & (d < end), sizes)


def diagonal(draw):
    sizes, name = _new(draw, "DIAGONAL_MATRIX", 2, 4)
    offset, value = draw.between(-5, 5), draw.choice((1, 9, 9.75))

    def expect():
        return np.where(_diagonals(sizes, offset, offset + 1), value, 0).astype(name)

    text = f'dml.diagonal_matrix({sizes}, {offset}, {value}, "{name.upper()}")'
    return case(draw, text, expect)


def diagonals(draw):
    """With `begin` above `end`, all other diagonals are filled."""
    begin, end = draw.between(-5, 5), draw.between(-5, 5)

    def expect(a):
        hit = _diagonals(a.shape, min(begin, end), max(begin, end))
        return np.where(hit if begin <= end else ~hit, a.dtype.type(9), a)

    if draw.chance(0.8):
        x = operand(draw, "DIAGONAL_MATRIX1", 2, 4)
        return case(draw, f"dml.diagonal_matrix1(x, 9, {begin}, {end})", expect, x=x)
    sizes, name = _new(draw, "DIAGONAL_MATRIX1", 2, 4)
    text = f'dml.diagonal_matrix1(None, 9, {begin}, {end}, {sizes}, "{name.upper()}")'
    return case(draw, text, lambda: expect(np.zeros(sizes, name)))


def hot(draw):
    """A position outside leaves its line cold; the hot value follows in the fastest dimension."""
    draw.most = MOST
    shape = draw.shape(1, 8, empty=False)
    axis = draw.between(0, len(shape) - 1)
    depth = draw.between(1, 5)
    k = positions(draw, with_size(shape, axis, 1), depth, "ONE_HOT", outside=2)
    fastest = draw.between(0, len(shape) - 1)
    pair = [draw.choice((1, 1, 2)) if d < fastest else 1 for d in range(len(shape))]
    pair[fastest] = draw.between(2, 3)
    values = draw.operand(data_type(draw, "ONE_HOT", "ValuesTensor"), pair, "mild")

    def expect(at, pair):
        off, on = pair.ravel()[:2]  # ones follow the fastest dimension of several
        at = at.astype(np.int64)
        line = np.arange(depth).reshape(with_size((1,) * len(shape), axis, depth))
        return np.where(np.where(at < 0, at + depth, at) == line, on, off)

    text = f"dml.one_hot(k, v, {depth}, {axis})"
    return case(draw, text, expect, k=k, v=values)


# --- images ---------------------------------------------------------------------------------------


def _blocks(draw, operator):
    """Sizes in depth and in space, the block's size, and arguments: a suffix, an order."""
    draw.most = MOST
    size = draw.choice((1, 2, 2, 3))
    n, c, h, w = (draw.between(1, 3) for _ in range(4))
    deep, flat = (n, c * size * size, h, w), (n, c, h * size, w * size)
    order = draw.choice(("DEPTH_COLUMN_ROW", "COLUMN_ROW_DEPTH"))
    plain = order == "DEPTH_COLUMN_ROW" and draw.chance(0.5)
    text = f"(x, {size})" if plain else f'1(x, {size}, "{order}")'
    kept = order == "COLUMN_ROW_DEPTH"
    return data_type(draw, operator), (n, c, h, w, size), deep, flat, text, kept


def depth(draw):
    name, (n, c, h, w, s), deep, flat, text, kept = _blocks(draw, "DEPTH_TO_SPACE1")

    def expect(a):
        if kept:  # channels count before columns and rows
            parts = a.reshape(n, c, s, s, h, w).transpose(0, 1, 4, 2, 5, 3)
        else:
            parts = a.reshape(n, s, s, c, h, w).transpose(0, 3, 4, 1, 5, 2)
        return parts.reshape(flat)

    x = draw.operand(name, deep, "mild")
    return case(draw, f"dml.depth_to_space{text}", expect, x=x)


def space(draw):
    name, (n, c, h, w, s), deep, flat, text, kept = _blocks(draw, "SPACE_TO_DEPTH1")

    def expect(a):
        axes = (0, 1, 3, 5, 2, 4) if kept else (0, 3, 5, 1, 2, 4)
        return a.reshape(n, c, h, s, w, s).transpose(axes).reshape(deep)

    x = draw.operand(name, flat, "mild")
    return case(draw, f"dml.space_to_depth{text}", expect, x=x)


def enlarged(draw):
    x = operand(draw, "UPSAMPLE_2D", 4, 5)
    width, height = draw.between(1, 4), draw.between(1, 4)
    mode = draw.choice(("NEAREST_NEIGHBOR", "LINEAR"))

    def weights(n, factor):
        """Return the weight of each of `n` elements in each result, by distance of centres."""
        centres = np.clip((np.arange(n * factor) + 0.5) / factor - 0.5, 0, n - 1)
        return np.maximum(1 - abs(centres[:, None] - np.arange(n)), 0)

    def expect(a):
        if mode == "NEAREST_NEIGHBOR":
            return a.repeat(height, -2).repeat(width, -1)
        h, w = a.shape[-2:]
        result = weights(h, height) @ a.astype(np.float64) @ weights(w, width).T
        return result.astype(a.dtype)

    check = same
    if mode == "LINEAR":
        eps = float(np.finfo(x.dtype).eps)
        check = near(2 * eps, 4 * eps)
    text = f'dml.upsample_2d(x, ({width}, {height}), "{mode}")'
    return case(draw, text, expect, check=check, x=x)


class Patches:
    """Windows that slide over an image (batch, channels, spatial…), with a border of zeros."""

    def __init__(self, draw):
        draw.most = MOST
        rank = draw.between(1, 3)
        high = 5 if rank < 3 else 3
        self.image = (
            *(draw.between(1, 2) for _ in range(2)),
            *(draw.between(3, high) for _ in range(rank)),
        )
        self.window, self.strides, self.dilations = (
            [draw.between(1, 2) for _ in range(rank)] for _ in range(3)
        )
        self.before, self.after = ([draw.between(0, 2) for _ in range(rank)] for _ in range(2))
        self.framed = [
            n + b + a for n, b, a in zip(self.image[2:], self.before, self.after, strict=True)
        ]
        rows = zip(self.framed, self.window, self.strides, self.dilations, strict=True)
        self.counts = [(n - d * (w - 1) - 1) // s + 1 for n, w, s, d in rows]
        members = self.window, self.strides, self.dilations, self.before, self.after
        self.arguments = ", ".join(map(str, members))
        batch, channels = self.image[:2]
        self.parts = (batch, channels, *self.window, *self.counts)
        self.columns = (batch, channels * math.prod(self.window), math.prod(self.counts))

    def taps(self):
        """An index of each place in the window, among columns and in the framed image."""
        for tap in np.ndindex(*self.window):
            rows = zip(tap, self.dilations, self.strides, self.counts, strict=True)
            places = [slice(t * d, t * d + (k - 1) * s + 1, s) for t, d, s, k in rows]
            yield (slice(None), slice(None), *tap), (slice(None), slice(None), *places)


def unfolded(draw):
    p = Patches(draw)

    def expect(a):
        framed = np.pad(a, [(0, 0), (0, 0), *zip(p.before, p.after, strict=True)])
        result = np.empty(p.parts, a.dtype)
        for tap, places in p.taps():
            result[tap] = framed[places]
        return result.reshape(p.columns)

    x = draw.operand(data_type(draw, "UNFOLD"), p.image, "mild")
    return case(draw, f"dml.unfold(x, {p.arguments})", expect, "packed", x=x)


def folded(draw):
    p = Patches(draw)

    def expect(a):
        parts = a.reshape(p.parts)
        framed = np.zeros((*p.image[:2], *p.framed), a.dtype)
        for tap, places in p.taps():
            framed[places] += parts[tap]
        inside = [slice(b, b + n) for b, n in zip(p.before, p.image[2:], strict=True)]
        return np.array(framed[(slice(None), slice(None), *inside)])

    x = draw.operand(data_type(draw, "FOLD"), p.columns, "mild")
    text = f"dml.fold(x, {p.image}, {p.arguments})"
    return case(draw, text, expect, "row-major", check=but_signs_of_zeros, x=x)


# --- chosen by value ------------------------------------------------------------------------------


def ranked(draw):
    """Equal elements by rising position in both directions; NaN is the largest."""
    function = draw.choice(("top_k", "top_k1"))
    x = operand(draw, function.upper(), values="wild")
    axis = draw.between(0, x.layout.ndim - 1)
    k = draw.between(1, x.layout.shape[axis])
    rising = function == "top_k1" and draw.chance(0.7)
    index = "uint32" if draw.few else draw.choice(("uint32", "uint64"))

    def expect(a):
        if rising:
            order = np.argsort(a, axis, kind="stable")
        else:  # backwards, so that equal ones keep their order
            order = np.argsort(np.flip(a, axis), axis, kind="stable")
            order = np.flip(a.shape[axis] - 1 - order, axis)
        order = np.array(order.take(range(k), axis))
        return np.take_along_axis(a, order, axis), order.astype(index)

    direction = ", dml.AxisDirection(" + ("0)" if rising else "1)")
    text = f"dml.{function}(x, {axis}, {k}{direction if function == 'top_k1' else ''}"
    return case(draw, f'{text}, index_data_type="{index.upper()}")', expect, x=x)


def found_nonzero(draw):
    """Rows behind the coordinates are undefined."""
    x = operand(draw, "NONZERO_COORDINATES", values="wild")
    shape = x.layout.shape
    effective = max([len(shape) - d for d, n in enumerate(shape) if n > 1], default=1)
    columns = draw.choice((None, len(shape)))
    width = effective if columns is None else columns

    def expect(a):
        result = np.argwhere(a != 0)[:, len(shape) - width :]
        rows = np.full((a.size, width), UNDEFINED, np.uint32)
        rows[: len(result)] = result
        count = np.full((1,) * len(shape), len(result), np.uint32)
        return count, rows.reshape((1,) * (len(shape) - 2) + rows.shape)

    def check(got, expected):
        array = host(got)
        assert array.shape == expected.shape
        same(np.where(expected == UNDEFINED, expected, array), expected)

    return case(draw, f"dml.nonzero_coordinates(x, {columns})", expect, check=check, x=x)


ALL = (
    *(copied, scaled, cast, chosen, cumulative, cumulative_product),
    *(joined, split, sliced, windowed, put_back, padded, tiled, reversed_parts),
    *(gathered_along_axis, gathered, scattered, at_tuples, put_at_tuples, unpooled),
    *(filled, sequence, diagonal, diagonals, hot),
    *(depth, space, enlarged, unfolded, folded),
    *(ranked, found_nonzero),
)
CASES = {f"directml {f.__name__}": f for f in ALL}
