"""The facts of XLA, read from `data/xla.json`: shapes by their text, and what calls give."""

import dataclasses
import json
import re
from pathlib import Path

from tensorlayout.xla import COMBINE, UNBOUNDED, Shape, XlaLayout, parse_layout, parse_shape

FACTS = json.loads((Path(__file__).parents[1] / "data" / "xla.json").read_text("utf-8"))

ERROR = "ValueError"


def shape_of(text):
    """The shape of a text of the facts; "(no layout)" and "no layout" leave layouts out."""
    if "with minor_to_major" in text:
        plain, _, order = text.partition(" with minor_to_major ")
        return parse_shape(plain).replace(layout=XlaLayout(minor_to_major=json.loads(order)))
    if text.endswith(" (no layout)"):
        return bare(parse_shape(text.removesuffix(" (no layout)")))
    if " no layout" in text:
        marks = ["no layout" in leaf for leaf in text.split("f32")[1:]]
        return _bare_where(parse_shape(text.replace(" no layout", "")), iter(marks))
    return parse_shape(text)


def _bare_where(shape, marks):
    if shape.is_array:
        return bare(shape) if next(marks) else shape
    return shape.replace(elements=tuple(_bare_where(e, marks) for e in shape.elements))


def bare(shape):
    return shape.replace(layout=None) if shape.rank else shape


def layout_of(arguments):
    """The layout of a text or of the fields of the facts."""
    if isinstance(arguments, str):
        return parse_layout(arguments)
    physical = arguments.get("physical_shape")
    return XlaLayout(
        minor_to_major=arguments["minor_to_major"],
        physical_shape=None if physical is None else parse_shape(physical),
    )


def snake(name):
    """The name of a function of XLA's as it is here."""
    words = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    return words.replace("1_d_", "_1d_").replace("deleted1_sized", "deleted_1_sized")


def tile_of(sizes):
    return tuple(COMBINE if n == "*" else n for n in sizes)


def size_of(size):
    return UNBOUNDED if size == "unbounded" else size


def result_of(call):
    """Return the result of a call in the notation of the facts: shapes as text, errors by name."""
    try:
        result = call()
    except ValueError:
        return ERROR
    return noted(result)


def noted(value):
    if isinstance(value, (Shape, XlaLayout)):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [noted(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {f.name: noted(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: noted(item) for key, item in value.items()}
    return value


def expected_of(result):
    if isinstance(result, dict) and "error" in result:
        return ERROR
    if isinstance(result, dict) and "no_value" in result:
        return None
    return result
