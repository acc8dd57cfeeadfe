"""The facts of tests/data/directml.json, and how to call operators by them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

import tensorlayout as tl
from tensorlayout import directml
from tensorlayout.layout import Layout

FACTS = json.loads((Path(__file__).parents[1] / "data" / "directml.json").read_text("utf-8"))
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
    """Yield the rows of the support table on the operator's page: (first level, row)."""
    for row in OPERATORS[name]["support"]:
        yield row["feature_level"], row["tensors"]


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


# --- functions by facts ---

# By operator the parameters of its function, in order; `=`: the member that it is, or none.
SPAN = "offsets=input_window_offsets sizes=input_window_sizes strides=input_window_strides"
COUNTS_OF_TUPLES = "input_dimension_count indices_dimension_count"
PATCH = "window_sizes strides dilations start_padding end_padding"
BORDER = "start_padding end_padding mode=padding_mode value=padding_value"
ARGUMENTS = {
    "JOIN": "inputs axis",
    "SPLIT": "x=input sizes= axis",
    "SLICE": "x=input offsets sizes strides",
    "SLICE1": f"x=input {SPAN} output_sizes=",
    "SLICE_GRAD": f"gradient=input_gradient output_sizes= {SPAN}",
    "GATHER": "x=input indices axis index_dimensions",
    "GATHER_ELEMENTS": "x=input indices axis",
    "GATHER_ND": f"x=input indices {COUNTS_OF_TUPLES}",
    "GATHER_ND1": f"x=input indices {COUNTS_OF_TUPLES} batch_dimension_count",
    "SCATTER": "x=input indices updates axis duplicates",
    "SCATTER_ND": f"x=input indices updates {COUNTS_OF_TUPLES} duplicates",
    "PADDING": f"x=input {BORDER}",
    "PADDING1": f"x=input {BORDER}",
    "TILE": "x=input repeats",
    "SPACE_TO_DEPTH": "x=input block_size",
    "SPACE_TO_DEPTH1": "x=input block_size order",
    "DEPTH_TO_SPACE": "x=input block_size",
    "DEPTH_TO_SPACE1": "x=input block_size order",
    "REVERSE_SUBSEQUENCES": "x=input sequence_lengths axis",
    "ELEMENT_WISE_IDENTITY": "x=input scale_bias",
    "CAST": "x=input data_type=",
    "FILL_VALUE_CONSTANT": "sizes= value data_type=",
    "FILL_VALUE_SEQUENCE": "sizes= start=value_start delta=value_delta data_type=",
    "DIAGONAL_MATRIX": "sizes= offset value data_type=",
    "DIAGONAL_MATRIX1": (
        "x=input value begin=diagonal_fill_begin end=diagonal_fill_end sizes= data_type="
    ),
    "ONE_HOT": "indices values depth= axis",
    "NONZERO_COORDINATES": "x=input columns=",
    "TOP_K": "x=input axis k",
    "TOP_K1": "x=input axis k axis_direction",
    "CUMULATIVE_SUMMATION": "x=input axis axis_direction has_exclusive_sum",
    "CUMULATIVE_PRODUCT": "x=input axis axis_direction has_exclusive_product",
    "UPSAMPLE_2D": "x=input scale_size mode=interpolation_mode",
    "ELEMENT_WISE_IF": "condition a b",
    "MAX_UNPOOLING": "x=input indices output_sizes=",
    "FOLD": f"x=input output_sizes= {PATCH}",
    "UNFOLD": f"x=input {PATCH}",
}


def call(name, inputs, a, sizes, dtypes, **options):
    """Call an operator's function; `a`: attributes; sizes and dtypes are those of the outputs."""
    members = {field(k): x for k, x in inputs.items()} | a
    out = [*sizes.values()][-1]
    asked = {"sizes": out, "output_sizes": out, "columns": out[-1]}
    asked["data_type"] = next(iter(dtypes.values()))
    if name == "SPLIT":
        asked["sizes"] = [s[a["axis"]] for s in out]
    if name == "ONE_HOT":
        asked["depth"] = out[a["axis"]]
    arguments = []
    for word in ARGUMENTS[name].split():
        argument, _, member = word.partition("=")
        if word.endswith("="):
            arguments.append(asked[argument])
        elif (member or argument) in members or argument == "x":
            arguments.append(members.get(member or argument))
        else:  # left out, as all that follows
            break
    return getattr(directml, name.lower())(*arguments, **options)
