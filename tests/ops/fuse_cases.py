"""Cases of `fuse`: beside the same function unfused, and beside NumPy."""

from __future__ import annotations

import operator

import comparing
import numpy as np
from case import Case, same
from draws import TILES
from tensors import as_dtype, kind

NAMES = {name: getattr(comparing, name) for name in comparing.__all__}
WIDER = {"int8": "int64", "float32": "float64", "complex64": "complex128", "bfloat16": "float32"}
PLAIN = {
    **{name: getattr(operator, name) for name in ("iadd", "isub", "imul")},
    "where": np.where,
    "to_layout": lambda x, _: np.array(x),
}


def tiles(draw, rank):
    """The text of a tiled layout for tensors of this rank, or of an order."""
    order = draw.order(rank)
    tile = [min(n, 8) for n in draw.choice(TILES)[0][-rank:]]
    text = f'"{{{",".join(map(str, order))}:T({",".join(map(str, tile))})}}"'
    return text if rank and draw.chance(0.6) else str(order)


def expression(draw, depth, rank, wide):
    """A step, whose operands are others, arguments and numbers."""
    if not depth:
        return draw.choice(["x", "y", "x", "y", "2", "x[...]"])
    inner = expression(draw, depth - 1, rank, wide)
    if inner in ("2", "x[...]"):
        inner = "x"
    other = expression(draw, draw.between(0, depth - 1), rank, wide)
    match draw.choice(["two", "two", "two", "in place", "wider", "where", "convert", "tiles"]):
        case "two":
            return f"({inner} {draw.choice('+-*')} {other})"
        case "in place":
            return f"{draw.choice(['iadd', 'isub', 'imul'])}({inner} * 1, {other})"
        case "wider":
            return f'iadd({inner} * 1, y.astype("{wide}"))'
        case "where":
            return f"where({inner} > y, {inner}, {other})"
        case "convert":
            return draw.choice([f'({inner}).astype("{wide}")', f"({inner}).copy()"])
    return f"to_layout({inner}, {tiles(draw, rank)})" if rank else f"({inner} * 1)"


def program(draw):
    """Several steps on tensors of one shape; NumPy where it promotes and rounds as we do."""
    dtype = draw.choice(["float32", "int8"] if draw.few else list(WIDER))
    shape = draw.shape(1, 3)
    x, y = (draw.operand(dtype, shape, "mild") for _ in range(2))
    text = expression(draw, draw.between(2, 4), len(shape), WIDER[dtype])
    if kind(as_dtype(dtype)) == "c":
        text = text.replace(">", "!=")
    narrow = dtype in ("complex64", "bfloat16")  # other NaN and products than NumPy's

    def expect(a, b):
        space = PLAIN | {"x": a, "y": b}
        with np.errstate(all="ignore"):
            return None if narrow else np.asarray(eval(text, space))

    where = tiles(draw, len(shape))
    call = f"fused(lambda x, y: {text}, x, y, layout={where})"
    names = NAMES | {"to_layout": comparing.tl.to_layout}
    view = None if text in ("x", "y") or "to_layout" in text else False
    # A layout that is there already makes a view, which may be refused.
    refused = (TypeError,) if "to_layout" in text else ()
    operands = {"x": x, "y": y}
    return Case("fused", call, operands, expect, same, view=view, may_refuse=refused, names=names)


# Values of each line are equal, and not the same.
EQUAL = [
    ["0.0", "-0.0", "0", "False", "0j", "np.float32(0)", "np.float64(-0.0)"],
    ["2", "2.0", "np.int64(2)", "2 + 0j", "np.float16(2)"],
    ["1", "True", "1.0", "np.uint8(1)"],
    ["nan_of(0)", "nan_of(1)", "nan_of(7)"],
    ["range(0, 3, 2)", "range(0, 4, 2)"],
    ["range(0)", "range(3, 3)", "range(5, 2)"],
    ["(0.0, complex(0.0, -0.0))", "(0.0, 0j)", "(-0.0, 0j)"],
]
HELD = ["{}", "Options({})", "({}, 1)", "Pair(1, {})", "frozenset([{}])", "Options(({},))"]
HELD += ["Options(Options({}))", "Pair({}, (2, {}))"]


def equal_values(draw):
    """Arguments that are equal but not identical have traces of their own."""
    holder = draw.choice(HELD)
    values = [draw.choice(draw.choice(EQUAL[:1] + EQUAL)) for _ in range(draw.between(0, 1))]
    line = draw.choice(EQUAL)
    values += [draw.choice(line) for _ in range(draw.between(2, 6))]
    listed = ", ".join(holder.format(value, value) for value in values)
    x = draw.operand("int64", (2,), "mild")
    text = f"traced_by_value(x, [{listed}])"
    return Case("fused by value", text, {"x": x}, lambda a: (), view=None, names=NAMES)


LARGE = [
    *("(x + 1) * 2", "x * 2 - x", "where(x > 1, x * 2, x)", "x + 1", "(x[::-1] * 2).copy() - x"),
    *("x.astype(tl.int16) * 2", "iadd(x * 2, x)", "(x * 2 + 1).sum(axis=-1)"),
]


def too_large(draw):
    """Broadcasts of 2**40 to 2**62 elements: what they would give cannot be allocated."""
    bits = draw.between(40, 61)
    cuts = sorted(draw.between(0, bits) for _ in range(draw.between(0, 2)))
    shape = tuple(2 ** (b - a) for a, b in zip([0, *cuts], [*cuts, bits], strict=True))
    text = draw.choice(LARGE)
    if ".sum" in text:  # of which the elements are not too many
        shape = (*shape, 1)
    x = draw.operand("int8", (1,) * len(shape), "mild")
    call = f"too_large({draw.choice(['tl.fuse', 'tl.fuse', ''])}(lambda x: {text}), x, {shape})"
    return Case("too large", call, {"x": x}, lambda a: (), view=None, names=NAMES)


CASES = {"fused": program, "fused by value": equal_values, "too large": too_large}
