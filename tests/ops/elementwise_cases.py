"""Cases of elementwise functions, operators, `where`, `clip` and conversions."""

import elementwise_oracle
import numpy as np
from case import Case, Refused, but_signs_of_zeros, close, in_dtype, same, voted
from casting import cast, promoted, with_scalar
from elementwise_oracle import COMPARISONS, ONE, OPERATORS, TWO
from tensors import DTYPES, as_dtype, kind

WORDS = {name: line[1] for name, line in (ONE | TWO).items()}
SCALARS = {"b": [True, False], "i": [0, 1, -2, 3], "f": [0.5, -1.5, 2.0], "c": [1 - 0.5j, 2j]}
COMPARING = {name for name, _ in COMPARISONS.values()}
SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "pow": "**",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "bitwise_left_shift": "<<",
    "bitwise_right_shift": ">>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}
SIGNS_OF_ONE = {"abs": "abs(x)", "bitwise_invert": "~x", "negative": "-x", "positive": "+x"}
assert set(SIGNS) == {name for name, _ in (OPERATORS | COMPARISONS).values()}
LAST_PLACES = {"pow": 64, "logaddexp": 32, "tan": 32}


def taken_as(name, dtype):
    """Return the dtype in which operands that promote to `dtype` are computed; None if refused."""
    words = WORDS[name]
    if dtype in DTYPES[words] or (dtype == "bool" and name in elementwise_oracle.OF_BOOLS):
        return dtype
    return "float64" if "floating" in words and dtype in elementwise_oracle.WHOLE else None


def how(name):
    return "finite" if TWO.get(name, ())[2:] == ("finite",) else "wild"


def one(name):
    def make(draw):
        words = WORDS[name]
        dtype = draw.dtype(words if draw.chance(0.9) else "any")
        x = draw.operand(dtype, draw.shape())

        def expect(a):
            kind = taken_as(name, dtype)
            return elementwise_oracle.oracle(name, cast(a, kind)) if kind else Refused(TypeError)

        result = _result(name, dtype)
        view = name in ("real", "imag")
        viewed = name == "real" or (name == "imag" and as_dtype(dtype).kind == "c")
        return Case(
            name,
            SIGNS_OF_ONE.get(name, "tl.{}(x)").format(name)
            if draw.chance(0.5)
            else f"tl.{name}(x)",
            {"x": x},
            expect,
            close(places(name)),
            None if view else voted(x.layout.shape, [x], result),
            viewed if view else False,
        )

    return make


def _result(name, dtype):
    """The dtype of a result, from the promoted one."""
    if name in COMPARING or name.startswith(("is", "logical", "signbit")):
        return "bool"
    if name in ("abs", "real", "imag") and dtype.startswith("complex"):
        return "float32" if dtype == "complex64" else "float64"
    return taken_as(name, dtype) or dtype


def two_arrays(name, dtype, a, b):
    """NumPy's answer for operands of any dtypes, which promote to `dtype`."""
    dtype = taken_as(name, dtype)
    if dtype is None:
        return Refused(TypeError)
    integral = kind(a.dtype) in "iu" and kind(b.dtype) in "iu"
    if name in COMPARING and integral:
        return np.asarray(TWO[name][0](a, b))
    a, b = cast(a, dtype), cast(b, dtype)
    if dtype == "bool" and name in elementwise_oracle.OF_BOOLS:
        return elementwise_oracle.OF_BOOLS[name](a, b)
    if name == "pow":
        a, b = np.broadcast_arrays(a, b)
        a, b = np.array(a), np.array(b)
        if kind(b.dtype) in "iu":
            return elementwise_oracle.power(a, b)
    return elementwise_oracle.oracle(name, a, b)


def _promotion(draw, name):
    """Two dtypes; nine of ten times such as the function takes."""
    words = WORDS[name] if draw.chance(0.95) else "any"
    first = draw.dtype(words)
    if draw.few or draw.chance(0.5):
        return first, first
    return first, draw.dtype(words)


def two(name):
    def make(draw):
        first, second = _promotion(draw, name)
        dtype = promoted(first, second)
        shape = draw.shape()
        x = draw.operand(first, shape, how(name))
        other = draw.broadcast_with(shape)
        layout = x.layout if other == shape and first == second and draw.chance(0.3) else None
        y = _exponent(draw, name, dtype, second, other, layout)
        text = f"tl.{name}(x, y)"
        if name in SIGNS and draw.chance(0.5):
            text = f"x {SIGNS[name]} y"
        result = np.broadcast_shapes(shape, other)
        return Case(
            name,
            text,
            {"x": x, "y": y},
            lambda a, b: two_arrays(name, dtype, a, b),
            close(places(name)),
            voted(result, [x, y], _result(name, dtype)),
        )

    return make


def _exponent(draw, name, promoted_to, dtype, shape, layout=None, writable=False):
    """A second operand."""
    if name == "pow" and kind(as_dtype(promoted_to)) in "iu":
        wanted = draw.values(as_dtype(dtype), int(np.prod(shape)), "mild").reshape(shape)
        return draw.holding(np.array(wanted))
    return draw.operand(dtype, shape, how(name), layout=layout)


def with_scalar_operand(name):
    def make(draw):
        words = WORDS[name]
        first = draw.dtype(words)
        x = draw.operand(first, draw.shape(), how(name))
        strong = draw.chance(0.2) and not draw.few
        if strong:
            second = draw.dtype(words)
            second = "float32" if second == "bfloat16" else second
            scalar = np.array(draw.choice((0, 1, 2))).astype(second)[()]
            dtype = promoted(first, second)
        else:
            scalar = _scalar(draw, first, "b" if first == "bool" else "bifc")
            dtype = with_scalar(first, scalar)
        if as_dtype(dtype).kind == "c":  # NumPy's quotients overflow where ours need not
            x = draw.operand(first, x.layout.shape, "mild")
        if name == "pow" and kind(as_dtype(dtype)) in "iu":
            x = draw.operand(first, x.layout.shape, "mild")
            if scalar < 0 or (x.array < 0).any():
                scalar = type(scalar)(1)
        flip = draw.chance(0.4)

        def expect(a):
            b = np.asarray(scalar) if strong else np.asarray(scalar).astype(as_dtype(dtype))
            return two_arrays(name, dtype, *((b, a) if flip else (a, b)))

        ends = [repr(scalar), "x"] if flip else ["x", repr(scalar)]
        sign = name in SIGNS and not strong and draw.chance(0.6)
        text = f" {SIGNS[name]} ".join(ends) if sign else f"tl.{name}({', '.join(ends)})"
        if text.startswith("-"):
            text = text.replace(ends[0], f"({ends[0]})", 1)
        layout = voted(x.layout.shape, [x], _result(name, dtype))
        return Case(f"{name} with a scalar", text, {"x": x}, expect, close(places(name)), layout)

    return make


def _scalar(draw, dtype, kinds):
    """A Python scalar of one of these kinds that `dtype` can hold."""
    scalar = draw.choice(SCALARS[draw.choice(kinds)])
    return abs(scalar) if kind(as_dtype(dtype)) == "u" and type(scalar) is int else scalar


def places(name):
    return LAST_PLACES.get(name, 8)


def in_place(name):
    def make(draw):
        words = WORDS[name]
        first = draw.dtype(words)
        shape = draw.shape()
        x = draw.operand(first, shape, how(name), writable=True)
        if draw.chance(0.3):
            rank = {"b": "b", "i": "i", "u": "i", "f": "if", "c": "ifc"}[kind(as_dtype(first))]
            scalar = _scalar(draw, first, rank)
            operands, other, dtype = {"x": x}, repr(scalar), with_scalar(first, scalar)
            seconds = lambda: (np.asarray(scalar).astype(as_dtype(dtype)),)  # noqa: E731
        else:
            second = first if draw.few or draw.chance(0.6) else draw.dtype(words)
            dtype = promoted(first, second)
            cut = draw.between(0, len(shape))
            fits = tuple(1 if draw.chance(0.2) else n for n in shape[cut:])
            y = _exponent(draw, name, dtype, second, fits)
            operands, other, seconds = {"x": x, "y": y}, "y", tuple

        def expect(a, *rest):
            result = _result(name, dtype)
            if "buifc".index(kind(as_dtype(result))) > "buifc".index(kind(as_dtype(first))):
                return Refused(TypeError)
            actual = two_arrays(name, dtype, a, *(rest or seconds()))
            return actual if result == first or isinstance(actual, Refused) else cast(actual, first)

        text = f"x {SIGNS[name]}= {other}"
        check = close(places(name))
        return Case(f"{name} in place", text, operands, expect, check, writes="x")

    return make


def overlapping_in_place(draw):
    """Operand and destination share memory: as if the operand had been copied first."""
    dtype = draw.dtype("integral")
    x = draw.operand(dtype, draw.shape(least=1), writable=True)
    n = x.layout.shape[0]
    step = draw.between(0, n)
    forms = {
        "x[{s}:] += x[:{e}]": lambda a: (a[step:], a[: n - step]),
        "x[::-1] += x": lambda a: (a[::-1], a),
        "x[...] = x[::-1]": None,
    }
    text = draw.choice(list(forms))

    def expect(a):
        b = a.copy()
        if forms[text] is None:
            return b[::-1].copy()
        to, by = forms[text](a)
        to += by.copy()
        return a

    shown = text.format(s=step, e=n - step)
    if forms[text] is not None and not x.layout.is_tiled:  # Python assigns the view back as well
        left, right = shown.split(" += ")
        shown = f"z = {left}; z += {right}"
    return Case("overlap", shown, {"x": x}, expect, same, writes="x")


def where(draw):
    first = draw.dtype()
    second = first if draw.few or draw.chance(0.5) else draw.dtype()
    shape = draw.shape()
    c = draw.operand("bool", draw.broadcast_with(shape) if draw.chance(0.5) else shape)
    x = draw.operand(first, shape, "moved")
    if draw.chance(0.25):
        scalar = _scalar(draw, first, "b" if first == "bool" else "bif")
        dtype = with_scalar(first, scalar)
        return Case(
            "where",
            f"tl.where(c, x, {scalar})",
            {"c": c, "x": x},
            lambda m, a: np.where(m, cast(a, dtype), np.array(scalar).astype(as_dtype(dtype))),
            same,
            _where_layout(c, [x], dtype),
        )
    y = draw.operand(second, draw.broadcast_with(shape), "moved")
    dtype = promoted(first, second)
    try:
        np.broadcast_shapes(c.layout.shape, shape, y.layout.shape)
    except ValueError:
        y = draw.operand(second, shape, "moved")
    return Case(
        "where",
        "tl.where(c, x, y)",
        {"c": c, "x": x, "y": y},
        lambda m, a, b: np.asarray(np.where(m, cast(a, dtype), cast(b, dtype))),
        same,
        _where_layout(c, [x, y], dtype),
    )


def _where_layout(c, choices, dtype):
    shape = np.broadcast_shapes(*(o.layout.shape for o in (c, *choices)))
    voters = [o for o in choices if o.layout.shape == shape]
    return voted(shape, voters or [c], dtype)


def _bound(bound, dtype):
    """A bound of another dtype; integers outside the range become its ends."""
    if kind(bound.dtype) in "iu" and kind(dtype) in "iu":
        limits = np.iinfo(dtype)
        return np.asarray(np.clip(np.asarray(bound, object), limits.min, limits.max), dtype)
    return cast(bound, dtype.name)


def clip(draw):
    dtype = draw.dtype("real numeric")
    shape = draw.shape()
    operands, bounds, arguments = {"x": draw.operand(dtype, shape)}, [], []
    for name in ("low", "high"):
        if draw.chance(0.2):
            bounds.append("None")
            arguments.append(None)
        elif draw.chance(0.5):
            scalar = draw.choice((0, 1, 3, 7))
            bounds.append(str(scalar))
            arguments.append(scalar)
        else:
            other = dtype if draw.few or draw.chance(0.5) else draw.dtype("real numeric")
            operands[name] = draw.operand(other, draw.broadcast_with(shape))
            bounds.append(name)
            arguments.append(name)
    try:
        result = np.broadcast_shapes(*(o.layout.shape for o in operands.values()))
    except ValueError:
        return clip(draw)

    def expect(a, *rest):
        results, left = a, list(rest)
        if arguments[0] is not None:
            low = _bound(left.pop(0) if arguments[0] == "low" else np.array(arguments[0]), a.dtype)
            results = np.maximum(results, low)
        if arguments[1] is not None:
            high = _bound(
                left.pop(0) if arguments[1] == "high" else np.array(arguments[1]), a.dtype
            )
            results = np.minimum(results, high)
        return np.asarray(results).copy()

    text = f"tl.clip(x, {', '.join(bounds)})"
    layout = voted(result, list(operands.values()), dtype)
    return Case("clip", text, operands, expect, but_signs_of_zeros, layout)


def astype(draw):
    source, result = draw.dtype("movable"), draw.dtype("movable")
    x = draw.operand(source, draw.shape(), "moved")
    lossy = source.startswith("complex") and not result.startswith(("complex", "bool"))

    def expect(a):
        return Refused(TypeError) if lossy else cast(a, result)

    layout = in_dtype(x.layout.form, result)
    if source == result and draw.chance(0.5):
        return Case(
            "astype",
            f'tl.astype(x, "{result}", copy=False)',
            {"x": x},
            expect,
            same,
            x.layout,
            True,
        )
    return Case("astype", f'tl.astype(x, "{result}")', {"x": x}, expect, same, layout)


CASES = {name: one(name) for name in ONE}
CASES |= {name: two(name) for name in TWO}
CASES |= {f"{name} with a scalar": with_scalar_operand(name) for name in TWO}
CASES |= {f"{name} in place": in_place(name) for name, _ in OPERATORS.values()}
CASES |= {"overlap": overlapping_in_place, "where": where, "clip": clip, "astype": astype}
