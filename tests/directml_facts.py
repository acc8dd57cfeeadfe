"""The facts of tests/data/directml.json, and how to call operators by them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.layout import Layout

FACTS = json.loads((Path(__file__).parent / "data" / "directml.json").read_text("utf-8"))
OPERATORS = {fact["name"]: fact for fact in FACTS["operators"]}
LEVELS = [level["level"] for level in FACTS["feature_levels"]]
TYPES = [t["name"] for t in FACTS["tensor_desc"]["data_types"]]
COUNTS = {"InputCount", "OutputCount", "DimensionCount", "RepeatsCount"}  # lengths of arrays

DESCS = {
    cls.operator: cls
    for cls in vars(directml).values()
    if isinstance(cls, type) and issubclass(cls, directml.OperatorDesc) and hasattr(cls, "operator")
}


def at_least(level, other):
    return LEVELS.index(level) >= LEVELS.index(other)


def rows_of(name):
    """The support table: (level from which it holds, row), as far as the operator exists."""
    fact = OPERATORS[name]
    for row in fact["support"]:
        level, header = row["feature_level"], fact["introduced_header"]
        yield (level if at_least(level, header) else header), row["tensors"]


def row_at(name, level):
    """The row that holds at a level; None where there is none."""
    rows = [row for own, row in rows_of(name) if at_least(level, own)]
    return rows[-1] if rows else None


def field(member):
    """The name of a member in Python, spelt out here independently of the package."""
    special = {
        "InputTensors": "inputs",
        "OutputTensors": "outputs",
        "ATensor": "a",
        "BTensor": "b",
        "K": "k",
    }
    if member in special:
        return special[member]
    words = re.findall(r"[A-Z][a-z0-9]*", member.removesuffix("Tensor"))
    return "_".join(words).lower()


def array(tensor, dtype=None):
    """The numbers of an example; letters become numbers, null becomes 0."""
    kind = (dtype or tensor["dtype"] or "FLOAT32").lower()
    flat = np.array(tensor["data"], dtype=object).reshape(-1)
    numbers = [ord(v) if isinstance(v, str) else 0 if v is None else v for v in flat]
    return np.array(numbers, kind).reshape(tensor["sizes"])


def attributes(example):
    return {field(k): v for k, v in example["attributes"].items() if k not in COUNTS}


# --- layouts in which a tensor of any shape can be stored ---


def _row_major(shape):
    return Layout.row_major(shape)


def _column_major(shape):
    return Layout.column_major(shape)


def _padded(shape):
    return Layout.padded(shape, tuple(n + 2 for n in shape))


def _pitched(shape):
    return Layout.pitched(shape, 64, 4)


def _gaps(shape):
    strides, step = [], 3
    for n in reversed(shape):
        strides.append(step)
        step *= n + 1
    return Layout(shape, strides[::-1])


def _channels_last(shape):
    if len(shape) < 2:
        return Layout.row_major(shape)
    return Layout.packed(shape, (1, *range(len(shape) - 1, 1, -1), 0))


STORED = [_row_major, _column_major, _padded, _gaps, _channels_last]


def stored(values, make=_row_major):
    """A tensor with these elements in a layout of a kind."""
    values = np.asarray(values)
    layout = make(values.shape)
    x = tl.from_storage(bytearray(layout.nbytes(values.dtype)), layout, dtype=values.dtype)
    x[...] = tl.asarray(values)
    return x


def flipped(values):
    """A tensor with these elements, backwards in memory."""
    return tl.flip(tl.asarray(np.flip(np.asarray(values)).copy()))


# --- functions by facts ---


def call(name, inputs, a, sizes, dtypes, **options):
    """Call an operator's function; `a`: attributes; sizes and dtypes are those of the outputs."""
    function = getattr(directml, name.lower())
    out = [*sizes.values()][-1]
    dtype = next(iter(dtypes.values()), None)
    arguments = _ARGUMENTS[name](list(inputs.values()), a, out, dtype)
    return function(*arguments, **options)


def _window(a):
    return [a[f"input_window_{k}"] for k in ("offsets", "sizes", "strides")]


def _patch(a):
    names = ("window_sizes", "strides", "dilations", "start_padding", "end_padding")
    return [a[k] for k in names]


_ARGUMENTS = {
    "JOIN": lambda x, a, out, t: (x[0], a["axis"]),
    "SPLIT": lambda x, a, out, t: (x[0], [s[a["axis"]] for s in out], a["axis"]),
    "SLICE": lambda x, a, out, t: (x[0], a["offsets"], a["sizes"], a["strides"]),
    "SLICE1": lambda x, a, out, t: (x[0], *_window(a), out),
    "SLICE_GRAD": lambda x, a, out, t: (x[0], out, *_window(a)),
    "GATHER": lambda x, a, out, t: (*x, a["axis"], a["index_dimensions"]),
    "GATHER_ELEMENTS": lambda x, a, out, t: (*x, a["axis"]),
    "GATHER_ND": lambda x, a, out, t: (
        *x,
        a["input_dimension_count"],
        a["indices_dimension_count"],
    ),
    "GATHER_ND1": lambda x, a, out, t: (
        *x,
        a["input_dimension_count"],
        a["indices_dimension_count"],
        a["batch_dimension_count"],
    ),
    "SCATTER": lambda x, a, out, t: (*x, a["axis"]),
    "SCATTER_ND": lambda x, a, out, t: (
        *x,
        a["input_dimension_count"],
        a["indices_dimension_count"],
    ),
    "PADDING": lambda x, a, out, t: (
        x[0],
        a["start_padding"],
        a["end_padding"],
        a["padding_mode"],
        a.get("padding_value", 0),
    ),
    "PADDING1": lambda x, a, out, t: _ARGUMENTS["PADDING"](x, a, out, t),
    "TILE": lambda x, a, out, t: (x[0], a["repeats"]),
    "SPACE_TO_DEPTH": lambda x, a, out, t: (x[0], a["block_size"]),
    "DEPTH_TO_SPACE": lambda x, a, out, t: (x[0], a["block_size"]),
    "SPACE_TO_DEPTH1": lambda x, a, out, t: (x[0], a["block_size"], a["order"]),
    "DEPTH_TO_SPACE1": lambda x, a, out, t: (x[0], a["block_size"], a["order"]),
    "REVERSE_SUBSEQUENCES": lambda x, a, out, t: (*x, a["axis"]),
    "ELEMENT_WISE_IDENTITY": lambda x, a, out, t: (x[0], a.get("scale_bias")),
    "CAST": lambda x, a, out, t: (x[0], t),
    "FILL_VALUE_CONSTANT": lambda x, a, out, t: (out, a["value"], t),
    "FILL_VALUE_SEQUENCE": lambda x, a, out, t: (out, a["value_start"], a["value_delta"], t),
    "DIAGONAL_MATRIX": lambda x, a, out, t: (out, a["offset"], a["value"], t),
    "DIAGONAL_MATRIX1": lambda x, a, out, t: (
        x[0] if x else None,
        a["value"],
        a["diagonal_fill_begin"],
        a["diagonal_fill_end"],
        out,
        t,
    ),
    "ONE_HOT": lambda x, a, out, t: (*x, out[a["axis"]], a["axis"]),
    "NONZERO_COORDINATES": lambda x, a, out, t: (x[0], out[-1]),
    "TOP_K": lambda x, a, out, t: (x[0], a["axis"], a["k"]),
    "TOP_K1": lambda x, a, out, t: (x[0], a["axis"], a["k"], a["axis_direction"]),
    "CUMULATIVE_SUMMATION": lambda x, a, out, t: (
        x[0],
        a["axis"],
        a["axis_direction"],
        a["has_exclusive_sum"],
    ),
    "CUMULATIVE_PRODUCT": lambda x, a, out, t: (
        x[0],
        a["axis"],
        a["axis_direction"],
        a["has_exclusive_product"],
    ),
    "UPSAMPLE_2D": lambda x, a, out, t: (x[0], a["scale_size"], a["interpolation_mode"]),
    "ELEMENT_WISE_IF": lambda x, a, out, t: x,
    "MAX_UNPOOLING": lambda x, a, out, t: (*x, out),
    "FOLD": lambda x, a, out, t: (x[0], out, *_patch(a)),
    "UNFOLD": lambda x, a, out, t: (x[0], *_patch(a)),
}
