"""Families of functions against NumPy: every dtype row-major, then every layout.

The same expression is timed with both libraries, on operands of 16 MB that share their memory;
NumPy gets the same strided array, and keeps its order of memory as it likes. The third call of a
row in another layout is ours on row-major operands: a layout should cost nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import tensorlayout as tl
from benchmarks.measure import Call
from benchmarks.peers import OURS, Array
from tensorlayout import dtypes
from tensorlayout.cpu.elementwise.functions import elementwise_function
from tensorlayout.functions import elementwise

NBYTES = 16 << 20
QUICK_NBYTES = 1 << 16
ROW_MAJOR = "row-major"

# At most NumPy's time: what is repaired to the standard's special cases, and all else.
REPAIRED, PLAIN = 1.10, 1.05
# At most our own time on row-major operands.
OF_ROW_MAJOR = 1.10

Operands = tuple[Any, ...]
Expression = Callable[..., object]  # expression(xp, *operands)
Make = Callable[[np.dtype[Any], tuple[int, ...]], tuple[Array, ...]]


@dataclass(frozen=True)
class Case:
    """One line of a table in one dtype and layout: its calls are made when its turn comes."""

    function: str
    dtype: str
    layout: str
    limit: float
    make: Callable[[], Mapping[str, Call]]
    nbytes: int  # read and written, at least

    @property
    def name(self) -> str:
        """Name that `--only` matches."""
        return f"{self.function}, {self.dtype}, {self.layout}"

    def above(self, ratios: Mapping[str, float]) -> list[str]:
        """Return the peers against which our ratio exceeds the limit."""
        limits = {"numpy": self.limit, ROW_MAJOR: OF_ROW_MAJOR}
        return [peer for peer, ratio in ratios.items() if ratio > limits[peer]]


def cases(quick: bool) -> Iterator[Case]:
    """All cases, or a few on small operands, to see that they run."""
    nbytes = QUICK_NBYTES if quick else NBYTES
    for name in ("add", "floor_divide", "isnan", "clip") if quick else elementwise.__all__:
        yield from _elementwise(name, nbytes)
    families = {name: FAMILIES[name] for name in ("where", "sum")} if quick else FAMILIES
    for name, expression in families.items():
        yield from _family(name, expression, nbytes)


# --- layouts: the same elements, as an array and as a tensor that shares its memory ---


def _shared(array: Array) -> tuple[Array, tl.Tensor]:
    return array, tl.asarray(array, copy=False)


def _padded(array: Array) -> tuple[Array, tl.Tensor]:
    """Rows with 64 slots of padding, which the tensor owns; NumPy sees rows with gaps."""
    pitch = array.shape[-1] + 64
    block = np.ones((*array.shape[:-1], pitch), array.dtype)
    placed = block[..., : array.shape[-1]]
    placed[...] = array
    layout = tl.Layout.padded(array.shape, block.shape, padding_value=tl.PaddingValue.ONE)
    return placed, tl.from_storage(block, layout, dtype=array.dtype)


LAYOUTS: dict[str, Callable[[Array], tuple[Array, tl.Tensor]]] = {
    "column-major": lambda x: _shared(np.asfortranarray(x)),
    "NHWC": lambda x: _shared(x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)),
    "padded rows": _padded,
}


def _shape(nbytes: int, itemsize: int, layout: str) -> tuple[int, ...]:
    count = nbytes // itemsize
    small = nbytes == QUICK_NBYTES
    if layout == "NHWC":
        side = 16 if small else 128
        return (count // (8 * side**2), 8, side, side)
    side = 64 if small else 2048
    return (count // side, side)


def _calls(expression: Expression, make: Make, dtype: str, layout: str, nbytes: int) -> Any:
    kind = np.dtype(dtype)
    arrays = make(kind, (nbytes // kind.itemsize,))
    shape = _shape(nbytes, kind.itemsize, layout)
    place = LAYOUTS.get(layout, _shared)
    pairs = [place(array.reshape(shape)) for array in arrays]
    calls: dict[str, Call] = {
        "numpy": partial(expression, np, *[array for array, _ in pairs]),
        OURS: partial(expression, tl, *[tensor for _, tensor in pairs]),
    }
    if layout != ROW_MAJOR:
        ordinary = [tl.asarray(array.reshape(shape)) for array in arrays]
        calls[ROW_MAJOR] = partial(expression, tl, *ordinary)
    return calls


# --- elementwise functions ---

TYPES = ("float32", "float64", "complex64", "int32", "int64", "bool")


def _elementwise(name: str, nbytes: int) -> Iterator[Case]:
    function = getattr(tl, name)
    operation = getattr(function, "operation", elementwise._CLIP)
    takes = inspect.signature(function).parameters
    count = 3 if name == "clip" else 2 if "x2" in takes else 1
    accepted = [t for t in TYPES if dtypes.is_in_category(np.dtype(t), operation.dtypes)]
    if name in ("real", "imag"):
        accepted = ["complex64"]  # of real arrays NumPy gives views
    expression = EXPRESSIONS.get(name, partial(_call, name))
    make = partial(_values, name, count)
    for dtype in accepted:
        repaired = dtype in elementwise_function(operation.function_name).fixes
        limit = REPAIRED if repaired else PLAIN
        for layout in (ROW_MAJOR, *LAYOUTS) if dtype == accepted[0] else (ROW_MAJOR,):
            calls = partial(_calls, expression, make, dtype, layout, nbytes)
            yield Case(name, dtype, layout, limit, calls, (count + 1) * nbytes)


def _call(name: str, xp: Any, *operands: Any) -> object:
    return getattr(xp, name)(*operands)


def _part(name: str, xp: Any, x: Any) -> object:
    """NumPy's functions give a view."""
    return np.array(getattr(np, name)(x)) if xp is np else getattr(xp, name)(x)


EXPRESSIONS: Mapping[str, Expression] = {
    "real": partial(_part, "real"),
    "imag": partial(_part, "imag"),
}


def _values(
    name: str, count: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> tuple[Array, ...]:
    """Operands to which the function has ordinary answers."""
    rng = np.random.default_rng(0)
    if name == "clip":
        x, least = (_random(rng, dtype, shape, 0.1, 0.9, 100) for _ in range(2))
        return x, least, least + least
    operands = []
    for i in range(count):
        low, high, most = 0.1, 0.9, 100
        if name == "acosh":
            low, high = 1.1, 3.0
        if name in ("floor_divide", "remainder") and i == 0:
            high = 50.0
        if i == 1 and (name == "pow" or name.endswith("shift")):
            most = 7
        operands.append(_random(rng, dtype, shape, low, high, most))
    if name == "x + int16":
        operands[1] = operands[1].astype(np.int16)
    return tuple(operands)


def _random(
    rng: np.random.Generator,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    low: float,
    high: float,
    most: int,
) -> Array:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(1, most, shape).astype(dtype)
    values = rng.uniform(low, high, shape)
    if dtype.kind == "c":
        return (values + 1j * rng.uniform(low, high, shape)).astype(dtype)
    return values.astype(dtype)


# --- other families: one or two operands ---

FAMILIES: Mapping[str, Expression] = {
    "x + 2": lambda xp, x, y: x + 2,
    "x < y": lambda xp, x, y: x < y,
    "x + row": lambda xp, x, y: x + y[..., :1, :],
    "x + column": lambda xp, x, y: x + y[..., :1],
    "x + y.mT, square": lambda xp, x, y: _square(x) + _square(y).mT,
    "x + int16": lambda xp, x, y: x + y,
    "clip to scalars": lambda xp, x, y: xp.clip(x, 1, 50),
    "where": lambda xp, x, y: xp.where(x < y, x, y),
    "where, long runs": lambda xp, x, y: xp.where(_early(xp, x), x, y),
    "astype": lambda xp, x, y: xp.astype(x, xp.int16),
    "sum": lambda xp, x, y: xp.sum(x),
    "sum, last axis": lambda xp, x, y: xp.sum(x, axis=-1),
    "sum, first axis": lambda xp, x, y: xp.sum(x, axis=0),
    "prod, last axis": lambda xp, x, y: xp.prod(x, axis=-1),
    "mean, last axis": lambda xp, x, y: xp.mean(x, axis=-1),
    "var, first axis": lambda xp, x, y: xp.var(x, axis=0),
    "max": lambda xp, x, y: xp.max(x),
    "max, last axis": lambda xp, x, y: xp.max(x, axis=-1),
    "min, first axis": lambda xp, x, y: xp.min(x, axis=0),
    "all": lambda xp, x, y: xp.all(x),
    "any, last axis": lambda xp, x, y: xp.any(x, axis=-1),
    "argmax, last axis": lambda xp, x, y: xp.argmax(x, axis=-1),
    "argmin, first axis": lambda xp, x, y: xp.argmin(x, axis=0),
    "count_nonzero": lambda xp, x, y: xp.count_nonzero(x),
    "cumulative_sum, last axis": lambda xp, x, y: xp.cumulative_sum(x, axis=-1),
    "cumulative_sum, first axis": lambda xp, x, y: xp.cumulative_sum(x, axis=0),
    "diff, last axis": lambda xp, x, y: xp.diff(x, axis=-1),
    "sort, last axis": lambda xp, x, y: xp.sort(x, axis=-1, stable=False),
    "sort, first axis": lambda xp, x, y: xp.sort(x, axis=0, stable=False),
    "argsort, last axis": lambda xp, x, y: xp.argsort(x, axis=-1, stable=True),
    "take, first axis": lambda xp, x, y: xp.take(x, _places(xp, x.shape[0]), axis=0),
    "take, last axis": lambda xp, x, y: xp.take(x, _places(xp, x.shape[-1]), axis=-1),
    "x[mask]": lambda xp, x, y: x[x < y],
    "nonzero": lambda xp, x, y: xp.nonzero(x),
    "concat, first axis": lambda xp, x, y: xp.concat([x, y]),
    "concat, last axis": lambda xp, x, y: xp.concat([x, y], axis=-1),
    "stack": lambda xp, x, y: xp.stack([x, y]),
    "roll, last axis": lambda xp, x, y: xp.roll(x, 3, axis=-1),
    "repeat, last axis": lambda xp, x, y: xp.repeat(x, 2, axis=-1),
    "tril": lambda xp, x, y: xp.tril(x),
    "vecdot": lambda xp, x, y: xp.vecdot(x, y),
    "unique_values": lambda xp, x, y: xp.unique_values(xp.reshape(x, (-1,))[:100000]),
}


def _square(x: Any) -> Any:
    side = min(x.shape[-2:])
    return x[..., :side, :side]


def _early(xp: Any, x: Any) -> Any:
    """True in the first half of the first axis."""
    count = x.shape[0]
    rows = xp.reshape(xp.arange(count), (count, *[1] * (x.ndim - 1)))
    return xp.broadcast_to(rows < count // 2, x.shape)


def _places(xp: Any, size: int) -> Any:
    return xp.arange(size) * 7 % size


def _family(name: str, expression: Expression, nbytes: int) -> Iterator[Case]:
    second = "float64" if name.startswith(("mean", "var")) else "int32"
    for dtype in ("float32", second):
        for layout in (ROW_MAJOR, *LAYOUTS) if dtype == "float32" else (ROW_MAJOR,):
            calls = partial(_calls, expression, partial(_values, name, 2), dtype, layout, nbytes)
            yield Case(name, dtype, layout, PLAIN, calls, nbytes)


# --- floors ---


def floors() -> Mapping[str, Mapping[str, Call]]:
    """Return lower bounds for every function: the time to move its bytes, and one call."""
    x, there = np.ones(NBYTES, np.uint8), np.zeros(NBYTES, np.uint8)
    from_, to = tl.asarray(x, copy=False), tl.asarray(there, copy=False)
    few = np.ones(8, np.float32)
    ours = tl.asarray(few)
    return {
        "bytes": {"numpy": lambda: np.copyto(there, x), OURS: lambda: to.__setitem__(..., from_)},
        "calls": {"numpy": lambda: few + few, OURS: lambda: ours + ours},
    }


def functions_of(cases: Sequence[Case]) -> list[str]:
    """The functions in the order of the cases."""
    return list(dict.fromkeys(case.function for case in cases))
