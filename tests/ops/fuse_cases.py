"""Cases of `fuse`: beside the same function unfused, and beside NumPy."""

from __future__ import annotations

import operator

import comparing
import numpy as np
from case import Case, same
from draws import TILES
from tensors import as_dtype, kind

import tensorlayout as tl

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


# Functions of real numbers by how many there are, and those that compare them.
REAL = {
    1: "abs negative sign square ceil exp sqrt tanh log1p positive",
    2: "add subtract multiply divide floor_divide remainder maximum minimum hypot atan2 pow",
    3: "clip",
}
COMPARING = ["less", "equal", "greater_equal", "not_equal"]
LAST = ["sum", "max", "argmin", "any", "count_nonzero"]
LAST_OF_FLOATS = [*LAST, "mean", "std"]


def number(draw, depth):
    """A chain of functions whose result is a number, over `x`, `y`, `z`, the truth `c`, and `n`."""
    if not depth:
        return draw.choice(["x", "y", "z", "n", "x", "2", "0.5"])
    inner = number(draw, depth - 1)
    if inner in ("n", "2", "0.5"):
        inner = "x"
    others = [number(draw, draw.between(0, depth - 1)) for _ in range(2)]
    match draw.choice(["function", "function", "function", "where", "astype"]):
        case "where":
            return f"tl.where({truth(draw, depth - 1)}, {inner}, {others[0]})"
        case "astype":
            wanted = "float32" if draw.few else draw.choice(["float32", "float16", "int16", "bool"])
            return f'tl.astype(abs({inner}), "{wanted}") * 1'
    count = draw.choice([1, 2, 2, 3])
    if count == 3:  # a bound of another kind than the dtype must be known
        others = ["2" if other == "n" else other for other in others]
    return f"tl.{draw.choice(REAL[count].split())}({', '.join([inner, *others][:count])})"


def truth(draw, depth):
    """A chain of functions whose result is a truth."""
    if not depth:
        return "c"
    one = number(draw, depth - 1)
    match draw.choice(["compared", "isnan", "not", "two"]):
        case "compared":
            return f"tl.{draw.choice(COMPARING)}(x, {one})"
        case "isnan":
            return f"tl.isnan(y * {one})"
        case "not":
            return f"tl.logical_not({truth(draw, depth - 1)})"
    return f"({truth(draw, depth - 1)} {draw.choice('&|^')} c)"


def written_over(function, *args):
    """The unfused result, after comparing it with the fused one, written over each operand."""
    expected = function(*args)
    for position, x in enumerate(args):
        if isinstance(x, tl.Tensor) and (x.shape, x.dtype) == (expected.shape, expected.dtype):
            inside = x.copy()
            arguments = [*args[:position], inside, *args[position + 1 :]]
            comparing.alike(tl.fuse(function)(*arguments, out=inside), expected)
    return expected


def functions(draw):
    """Functions of operands of several shapes and dtypes, a reduction at the end or none."""
    first = draw.dtype("real numeric")
    others = [first if draw.few else draw.dtype("real numeric") for _ in range(2)]
    x = draw.operand(first, draw.shape())
    shapes = [draw.broadcast_with(x.layout.shape) for _ in range(3)]
    shapes = [s if len(s) <= x.layout.ndim else x.layout.shape for s in shapes]
    y, z = (draw.operand(d, s) for d, s in zip(others, shapes, strict=False))
    c = draw.operand("bool", shapes[2])
    depth = draw.between(1, 3)
    text = truth(draw, depth) if draw.chance(0.2) else number(draw, depth)
    if draw.chance(0.4):  # a value on the way that is used more than once
        text = f"(lambda z: tl.add({text}, z) * z)({number(draw, depth)} + x)"
    if draw.chance(0.3) and x.layout.size:
        axis = draw.choice([None, draw.axis(x.layout.ndim)]) if x.layout.ndim else None
        last = draw.choice(LAST_OF_FLOATS if kind(x.dtype) == "f" else LAST)
        text = f"tl.{last}({text} + x, axis={axis})"
    n = draw.choice([0, 2, 3] if draw.few or kind(x.dtype) in "iu" else [0, 2, 3, 0.5])
    call = draw.choice(["fused", "written_over"])
    names = NAMES | {"written_over": written_over}
    operands = {"x": x, "y": y, "z": z, "c": c}
    source = f"{call}(lambda x, y, z, c, n: {text}, x, y, z, c, {n})"
    return Case("fused functions", source, operands, lambda *_: None, view=None, names=names)


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


CASES = {
    "fused": program,
    "fused functions": functions,
    "fused by value": equal_values,
    "too large": too_large,
}
