"""Cases of writes, one for every dtype with every kind of key and every kind of value, in turn.

``x[key] = value``: a thousand and more combinations; the number of a case says which is its own, so
that as many cases as there are combinations leave none out.
"""

from __future__ import annotations

import collections
import itertools

import numpy as np
from case import Case, Refused, same
from casting import cast
from tensors import DTYPES, as_dtype, kind

# --- keys: each gives a text, operands by name, and a function that puts arrays into the key -----


def _plain(text):
    key = eval(f"np.s_[{text}]")
    return text, {}, lambda _: key


def _by(text, result):
    return text, result, lambda arrays: eval(f"np.s_[{text}]", {"np": np, **arrays})


def _mask(draw, shape):
    share = draw.choice((0.0, 0.3, 0.6, 0.97, 1.0))
    flat = [draw.chance(share) for _ in range(int(np.prod(shape)))]
    return draw.holding(np.array(flat, bool).reshape(shape))


def _positions(draw, size, spread=None, once=False):
    spread = draw.choice([(1,), (3,), (2, 2), (size,)]) if spread is None else spread
    dtype = "int64" if draw.few else draw.choice(("int64", "int8", "uint16"))
    least = 0 if dtype == "uint16" else -size
    count = int(np.prod(spread))
    flat = [draw.between(least, size - 1) for _ in range(count)]
    if once and count <= size:
        flat = draw.random.sample(range(size), count)
    return draw.holding(np.array(flat, dtype).reshape(spread))


def _step(draw):
    return draw.choice(("", ":1", ":2", ":-1"))


KEYS = {
    "integer": lambda draw, s: _plain(str(draw.between(-s[0], s[0] - 1))),
    "integers": lambda draw, s: _plain(f"{draw.between(0, s[0] - 1)}, {draw.between(-s[1], -1)}"),
    "slice": lambda draw, s: _plain(f"{draw.between(0, s[0] - 1)}:{_step(draw)}"),
    "ellipsis": lambda draw, s: _plain(draw.choice(("...", "..., 0", "0, ..."))),
    "new axis": lambda draw, s: _plain(draw.choice(("None", ":, None", "None, ..., 0"))),
    "mask": lambda draw, s: _by("k", {"k": _mask(draw, s)}),
    "mask of one dimension": lambda draw, s: draw.choice(
        (
            lambda: _by("k", {"k": _mask(draw, s[:1])}),
            lambda: _by(":, k", {"k": _mask(draw, s[1:2])}),
        )
    )(),
    "positions": lambda draw, s: _by("k", {"k": _positions(draw, s[0])}),
    "positions behind": lambda draw, s: _by(":, k", {"k": _positions(draw, s[1])}),
    "positions in two": lambda draw, s: _by(
        "k, i", {"k": _positions(draw, s[0], (3,)), "i": _positions(draw, s[1], (3,))}
    ),
    "mixed": lambda draw, s: draw.choice(
        (
            lambda: _by("::2, k", {"k": _positions(draw, s[1])}),
            lambda: _by("k, None, 1:", {"k": _positions(draw, s[0])}),
            lambda: _by("0, k", {"k": _mask(draw, s[1:2])}),
            lambda: _by("k, 0", {"k": _positions(draw, s[0])}),
            lambda: _by("k, i", {"k": _mask(draw, s[:1]), "i": _positions(draw, s[1], (1,))}),
        )
    )(),
    "list": lambda draw, s: _plain(
        str([draw.between(-s[0], s[0] - 1) for _ in range(draw.between(1, 4))])
    ),
    "bool": lambda draw, s: _plain(draw.choice(("True", "False"))),
}

# --- values: each gives a text, operands by name, and a function of their arrays -----------------


NUMBERS = {
    bool: (True, False),
    int: (0, 1, -1, 2, 3, 100, 300, 16842753, 2**53 + 1, 2**55 + 2**47 + 1, 2**64, -(2**63)),
    float: (0.5, 2.0, -3.0, -0.0, 1e9, 3e38, 1e300, 1 + 2**-8 + 2**-40, np.nan, np.inf, -np.inf),
    complex: (1j, 2 - 1j, 0j),
}


def _number(kind_of):
    def make(draw, dtype, shape):
        number = draw.choice(NUMBERS[kind_of])
        shown = repr(number) if number == number else "float('nan')"
        shown = shown.replace("inf", "float('inf')")
        return shown, {}, lambda _: _as_numpy(number, dtype)

    return make


def _as_numpy(number, dtype):
    """A Python number in a dtype: as tensors of its kind are converted, or refused."""
    letter = kind(as_dtype(dtype))
    if isinstance(number, complex):
        return np.asarray(number, dtype) if letter == "c" else Refused(TypeError)
    if isinstance(number, bool) or letter in "b":
        return cast(np.asarray(bool(number)), dtype)
    if isinstance(number, float):
        return cast(np.asarray(number), dtype)
    if letter in "iu":
        limits = np.iinfo(dtype)
        fits = limits.min <= number <= limits.max
        return np.asarray(number, dtype) if fits else Refused(OverflowError)
    return cast(np.asarray(number, np.uint64 if number >= 2**63 else np.int64), dtype)


NUMBERS[int] = tuple(n for n in NUMBERS[int] if -(2**63) <= n < 2**64)


def _other(draw, dtype):
    names = [d for d in DTYPES["any"] if d != dtype]
    return draw.choice([n for n in names if not draw.few or n in ("bool", "int64", "float32")])


def _scalar_of_numpy(other):
    def make(draw, dtype, shape):
        source = _other(draw, dtype) if other else dtype
        if source == "bfloat16":
            source = "float32"
        value = draw.values(as_dtype(source), 1, "finite")[0]
        shown = f'np.array({value.item()!r}).astype("{source}")[()]'
        return shown, {}, lambda _: _cast(np.asarray(value), dtype)

    return make


def _cast(array, dtype):
    if array.dtype.kind == "c" and kind(as_dtype(dtype)) != "c":
        return Refused(TypeError)
    return cast(array, dtype)


def _tensor(other=False, rank0=False, wide=False):
    def make(draw, dtype, shape):
        source = _other(draw, dtype) if other else dtype
        sizes = () if rank0 else shape
        if wide:
            sizes = tuple(
                1 if draw.chance(0.5) else n for n in shape[draw.between(0, len(shape)) :]
            )
        y = draw.operand(source, sizes, "moved")
        return "y", {"y": y}, lambda arrays: _cast(arrays["y"], dtype)

    return make


def _listed(draw, dtype, shape):
    if shape == () or 0 in shape:
        return _number(int)(draw, dtype, shape)
    letter = kind(as_dtype(dtype))
    numbers = {"b": (True, False), "c": (1j, 2.0, 0)}.get(letter, (0, 1, 2, 3))
    flat = np.array([draw.choice(numbers) for _ in range(shape[-1])])
    return str(flat.tolist()), {}, lambda _: cast(flat, dtype)


def _array(draw, dtype, shape):
    result = _tensor()(draw, dtype, shape)
    return "np.asarray(y.to_device('cpu'))", result[1], result[2]


VALUES = {
    "bool": _number(bool),
    "int": _number(int),
    "float": _number(float),
    "complex": _number(complex),
    "NumPy scalar": _scalar_of_numpy(other=False),
    "NumPy scalar of another dtype": _scalar_of_numpy(other=True),
    "rank 0": _tensor(rank0=True),
    "rank 0 of another dtype": _tensor(rank0=True, other=True),
    "tensor": _tensor(),
    "tensor of another dtype": _tensor(other=True),
    "broadcast tensor": _tensor(wide=True),
    "list": _listed,
    "array": _array,
}

COMBINATIONS = list(itertools.product(DTYPES["any"], KEYS, VALUES))


def combination(draw):
    """The one of the case's number; of numbers that are no case's, any."""
    if draw.number is None:
        return draw.choice(COMBINATIONS)
    # 841 and the count have no common divisor; so all pairs of the three meet in 211 cases.
    return COMBINATIONS[draw.number * 841 % len(COMBINATIONS)]


def write(draw):
    dtype, key_kind, value_kind = combination(draw)
    if draw.few and dtype not in ("bool", "int64", "float32", "bfloat16"):
        dtype = draw.dtype()
    shape = tuple(draw.choice((1, 2, 3, 3, 4, 8)) for _ in range(draw.choice((2, 2, 2, 3))))
    if value_kind == "list" or draw.chance(0.05):
        shape = (*shape[:-1], draw.choice((3, 40)))
    x = draw.operand(dtype, shape, "moved", writable=True)
    key_text, key_operands, key = KEYS[key_kind](draw, shape)
    arrays = {name: o.array for name, o in key_operands.items()}
    there = np.empty(shape, np.int8)[key(arrays)].shape
    text, more, value = VALUES[value_kind](draw, dtype, there)
    operands = {"x": x, **key_operands, **more}

    def expect(a, *rest):
        result = dict(zip(list(operands)[1:], rest, strict=True))
        content = value(result)
        if isinstance(content, Refused):
            return content
        a[key(result)] = content
        return a

    case = Case("write table", f"x[{key_text}] = {text}", operands, expect, same, writes="x")
    case.drawn = (dtype, key_kind, value_kind)
    return case


def undrawn(drawn: collections.Counter) -> list[tuple[tuple[int, str], ...]]:
    """Pairs of a dtype (0), a kind of key (1) and a kind of value (2) that never met."""
    return sorted(
        {p for c in COMBINATIONS for p in _pairs(c)} - {p for c in drawn for p in _pairs(c)}
    )


def _pairs(combined):
    return itertools.combinations(enumerate(combined), 2)


def table(drawn: collections.Counter) -> str:
    """Format how often dtypes, kinds of keys and kinds of values occurred together."""
    names = list(dict.fromkeys(d for d, _, _ in COMBINATIONS))
    parts = [
        _grid(drawn, "dtype \\ key", names, list(KEYS), (0, 1)),
        _grid(drawn, "dtype \\ value", names, list(VALUES), (0, 2)),
        _grid(drawn, "value \\ key", list(VALUES), list(KEYS), (2, 1)),
    ]
    left = sum(c not in drawn for c in COMBINATIONS)
    total = f"{len(COMBINATIONS)} combinations of the three, {left} of them not drawn"
    return "\n\n".join([*parts, total])


def _grid(drawn, corner, rows, columns, which):
    counts: collections.Counter = collections.Counter()
    for combined, n in drawn.items():
        counts[combined[which[0]], combined[which[1]]] += n
    lines = [f"{corner}: {', '.join(f'({n}) {c}' for n, c in enumerate(columns, 1))}"]
    head = "".join(f"{f'({n})':>7}" for n in range(1, len(columns) + 1))
    wide = max(map(len, rows))
    lines.append(" " * wide + head)
    for row in rows:
        lines.append(row.ljust(wide) + "".join(f"{counts[row, c]:>7}" for c in columns))
    return "\n".join(lines)


CASES = {"write table": write}
WEIGHTS = {"write table": 12}
