"""Cases of DirectML's operators, as functions, against what NumPy makes of plain arrays."""

from __future__ import annotations

import numpy as np
from case import Case, Refused, but_signs_of_zeros, same
from draws import MOST

import tensorlayout.directml as dml


def operand(draw, least=1, most=4, dtype=None):
    draw.most = min(draw.most, MOST)
    name = dtype or draw.choice(["float32", "int32", "uint8"] if not draw.few else ["float32"])
    return draw.operand(name, draw.shape(least, most, empty=False), "mild")


def case(name, text, x, expect, **more):
    operands = {"x": x, **more}
    if any(o.layout.is_tiled for o in operands.values()):  # DirectML knows strides only

        def expect(*_):
            return Refused(ValueError)

    return Case(name, text, operands, expect, same, names={"dml": dml}, traced=False)


def cumulative(draw):
    x = operand(draw, dtype="float32" if draw.few else draw.choice(["float32", "int32", "uint32"]))
    axis = draw.between(0, x.layout.ndim - 1)
    back, exclusive = draw.chance(0.5), draw.chance(0.5)

    def expect(a):
        a = np.flip(a, axis) if back else a
        found = np.cumsum(a, axis, dtype=a.dtype)
        if exclusive:
            found = found - a
        return np.array(np.flip(found, axis) if back else found)

    text = f"dml.cumulative_summation(x, {axis}, dml.AxisDirection({int(back)}), {exclusive})"
    found = case("dml cumulative_summation", text, x, expect)
    found.check = but_signs_of_zeros
    return found


def sliced(draw):
    x = operand(draw)
    offsets, sizes, strides = [], [], []
    for n in x.layout.shape:
        offsets.append(draw.between(0, n - 1))
        strides.append(draw.choice((1, 1, 2, 3)))
        sizes.append(draw.between(1, 1 + (n - offsets[-1] - 1) // strides[-1]))
    ranges = zip(offsets, sizes, strides, strict=True)
    key = tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in ranges)
    text = f"dml.slice(x, {offsets}, {sizes}, {strides})"
    view = case("dml slice", text, x, lambda a: np.array(a[key]))
    view.view = None
    return view


def padded(draw):
    x = operand(draw, most=3)
    before = [draw.between(0, 2) for _ in x.layout.shape]
    after = [draw.between(0, 2) for _ in x.layout.shape]
    pairs = list(zip(before, after, strict=True))
    name = draw.choice(["constant", "edge", "symmetric"])
    if any(max(p) > n for p, n in zip(pairs, x.layout.shape, strict=True)):
        name = "edge"
    text = f"dml.padding(x, {before}, {after}, dml.PaddingMode.{name.upper()})"
    return case("dml padding", text, x, lambda a: np.pad(a, pairs, name))


def gathered(draw):
    x = operand(draw)
    axis = draw.between(0, x.layout.ndim - 1)
    n = x.layout.shape[axis]
    shape = tuple(n if d != axis else draw.between(1, 5) for d, n in enumerate(x.layout.shape))
    flat = [draw.between(0, n - 1) for _ in range(int(np.prod(shape)))]
    k = draw.holding(np.array(flat, np.int64 if draw.few else np.uint32).reshape(shape))
    text = f"dml.gather_elements(x, k, {axis})"
    return case("dml gather_elements", text, x, lambda a, i: np.take_along_axis(a, i, axis), k=k)


def joined(draw):
    x = operand(draw)
    axis = draw.between(0, x.layout.ndim - 1)
    y = draw.operand(x.dtype, x.layout.shape, "mild")
    text = f"dml.join([x, y], {axis})"
    return case("dml join", text, x, lambda a, b: np.concatenate([a, b], axis), y=y)


def tiled(draw):
    x = operand(draw)
    counts = [draw.between(1, 3) for _ in x.layout.shape]
    return case("dml tile", f"dml.tile(x, {counts})", x, lambda a: np.tile(a, counts))


def depth(draw):
    draw.most = MOST
    block = draw.choice((1, 2, 3))
    n, c, h, w = (draw.between(1, 3) for _ in range(4))
    dtype = "float32" if draw.few else draw.choice(["float32", "uint8"])
    if draw.chance(0.5):
        x = draw.operand(dtype, (n, c * block * block, h, w), "mild")
        text = f"dml.depth_to_space(x, {block})"

        def expect(a):  # depth, column, row
            parts = a.reshape(n, block, block, c, h, w).transpose(0, 3, 4, 1, 5, 2)
            return np.array(parts.reshape(n, c, h * block, w * block))

        return case("dml depth_to_space", text, x, expect)
    x = draw.operand(dtype, (n, c, h * block, w * block), "mild")

    def expect_depth(a):
        parts = a.reshape(n, c, h, block, w, block).transpose(0, 3, 5, 1, 2, 4)
        return np.array(parts.reshape(n, c * block * block, h, w))

    return case("dml space_to_depth", f"dml.space_to_depth(x, {block})", x, expect_depth)


ALL = (cumulative, sliced, padded, gathered, joined, tiled, depth)
CASES = {f"directml {f.__name__}": f for f in ALL}
