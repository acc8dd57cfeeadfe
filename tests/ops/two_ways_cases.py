"""Cases of one operation done in two ways, whose bits must be equal."""

from __future__ import annotations

import numpy as np
from case import Case
from fuse_cases import NAMES
from tensors import DTYPES

ARITHMETIC = {"+": "iadd", "-": "isub", "*": "imul", "/": "itruediv"}
# What must be equal on all devices: no transcendental functions, no products of complex numbers.
ONE = ["-{}", "abs({})", "tl.floor({})", "tl.sign({})", "tl.isnan({})", "tl.square({})"]
ONE += ["tl.flip({})", "tl.sqrt({})", "tl.signbit({})", "{}.copy()", "tl.round({})"]
TWO = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "tl.minimum({}, {})", "tl.maximum({}, {})"]
TWO += ["{} < {}", "{} == {}", "{} >= {}", "tl.copysign({}, {})", "tl.where({} > 0, x, {})"]
LAST = ["{}", "{}", "tl.max({}, axis=-1)", "tl.min({}, axis=0)"]
DTYPE = [
    "'<f4'",
    "'>f4'",
    "'<i8'",
    "'(2,)<f4'",
    "('<f4', (2,))",
    "[('a', '<f4')]",
    "'|b1'",
    "'<c8'",
]
DTYPE += [
    "'|O'",
    "'<f4,<i2'",
    "'<U2'",
    "[('a', '<i2'), ('b', '<i2')]",
    "'<f2'",
    "'|V4'",
    "'<M8[s]'",
]


def anything(*arrays):
    """Any elements: the text compares them."""


def in_place(draw):
    """Arithmetic into a new tensor, and in place or fused: ``x * y`` and ``x *= y``."""
    dtype = draw.choice([d for d in DTYPES["floating-point"] if not draw.few or d == "float32"])
    sign = draw.choice("+-*/")
    shape = draw.shape()
    x = draw.operand(dtype, shape, "wild", writable=True)
    scalar = draw.chance(0.2)
    y = draw.operand(dtype, shape if draw.chance(0.7) else (1,) * draw.between(0, len(shape)))
    other = draw.choice(["2.5", "-0.0", "inf"]) if scalar else "y"
    text = f"alike(x {sign} {other}, {ARITHMETIC[sign]}(x[...].copy(), {other}))"
    if draw.chance(0.5):  # in the layout that it has
        text = (
            f"alike(x {sign} {other}, fused(lambda x, y: x {sign} {other}, x, y, layout=x.layout))"
        )
    return Case("in two ways", text, {"x": x, "y": y}, anything, names=NAMES)


def complex_in_place(draw):
    """Products of complex numbers, of which many bits are rounded."""
    dtype = "complex64" if draw.few else draw.choice(["complex64", "complex128"])
    shape = draw.choice([(), (1,), (1, 1), draw.shape()])
    rng = np.random.default_rng(draw.between(0, 2**31))
    x, y = (draw.holding(_normal(rng, shape, dtype)) for _ in range(2))
    sign = draw.choice("**/")
    packed = f"alike(x {sign} y, (x.copy() {sign} y.copy()))"
    wide = "tl.tile(tl.reshape(v, (1, -1)), (9, 1))"
    long = " ".join(
        ["tl.reshape(", wide.replace("v", "x"), sign, wide.replace("v", "y"), ", (-1,))"]
    )
    long = f"tl.reshape(({long})[:x.size], x.shape)"
    changed = f"{ARITHMETIC[sign]}(x, y)"
    text = draw.choice([f"alike(x {sign} y, {long})", f"alike({long}, {changed})", packed])
    if changed in text:
        return Case(
            "complex in two ways",
            f"z = {text}",
            {"x": x, "y": y},
            _itself,
            _nothing,
            writes="x",
            names=NAMES,
        )
    return Case("complex in two ways", text, {"x": x, "y": y}, anything, names=NAMES)


def _itself(a, b):
    return a


def _nothing(got, expected):
    """Accept anything: the text has compared what is in place."""


def _normal(rng, shape, dtype):
    parts = rng.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype)


def devices(draw):
    """The default device and the CPU."""
    dtype = draw.choice(
        ["float32", "bfloat16"]
        if draw.few
        else [d for d in DTYPES["floating-point"] if not d.startswith("c")]
    )
    shape = draw.shape(1, 3, empty=False)
    x, y = (draw.operand(dtype, shape, "wild") for _ in range(2))
    result = draw.choice([draw.choice(TWO).format("x", "y"), draw.choice(ONE).format("x")])
    last = draw.choice(LAST if "y" in result and not set("<=>") & set(result) else LAST[:1])
    text = f"on_both(lambda x, y: {last.format(result)}, x, y)"
    return Case("on both devices", text, {"x": x, "y": y}, anything, view=None, names=NAMES)


def files(draw):
    """A file that we wrote, read in each way."""
    x = draw.operand(draw.dtype(), draw.shape(), "moved")
    suffix = draw.choice([".npy", ".npz"])
    text = f'alike(x, loaded(saved(x, "{suffix}"), "{suffix}"))'
    refused = (ValueError,)  # by `save`: NumPy's files have no such layout
    operands = {"x": x}
    return Case("files", text, operands, anything, view=None, may_refuse=refused, names=NAMES)


def headers(draw):
    """A ``.npy`` file of another program, right or wrong."""
    shape = draw.choice(
        ["(3,)", "(2, 2)", "()", "(0,)", "(2, -1)", "(2**62, 4)", "3", "[3]", "(True,)", "(2.0,)"]
    )
    order = draw.choice(["True", "False", "1", "None"])
    text = f"{{'descr': {draw.choice(DTYPE)}, 'fortran_order': {order},"
    text += f" 'shape': {shape}, }}"
    text += draw.choice([" " * draw.between(0, 40) + "\n", ""])
    octets = bytes(draw.between(0, 255) for _ in range(draw.choice([0, 3, 12, 24, 32])))
    version = draw.choice(["(1, 0)", "(2, 0)", "(3, 0)", "(1, 1)"])
    call = f"(loaded(raw_npy({text!r}, bytes.fromhex('{octets.hex()}'), {version})), ())[1]"
    return Case("headers of files", call, {}, lambda: (), view=None, names=NAMES)


CASES = {
    "in two ways": in_place,
    "complex in two ways": complex_in_place,
    "on both devices": devices,
    "files": files,
    "headers of files": headers,
}
