"""Cases of DirectML's operators whose `out` lies in one storage with what they read.

Memory that is shared is refused, or read as if it had been copied first; and what is refused is
not written to.
"""

from __future__ import annotations

import numpy as np
from alias_cases import Shared, positions
from case import but_signs_of_zeros, same
from shared_memory import seen

import tensorlayout.directml as dml


def _identity(draw, shape):
    return "dml.element_wise_identity(x, out=o)", lambda x: x, shape


def _cumulative(draw, shape):
    axis = draw.between(0, len(shape) - 1)
    back, exclusive = draw.chance(0.5), draw.chance(0.5)

    def expect(x):
        x = np.flip(x, axis) if back else x
        result = np.cumsum(x, axis, dtype=x.dtype) - (x if exclusive else 0)
        return np.flip(result, axis) if back else result

    text = (
        f"dml.cumulative_summation(x, {axis}, dml.AxisDirection({int(back)}), {exclusive}, out=o)"
    )
    return text, expect, shape


def _slice(draw, shape):
    sizes = [draw.between(1, n) for n in shape]
    starts = [draw.between(0, n - k) for n, k in zip(shape, sizes, strict=True)]
    key = tuple(slice(s, s + k) for s, k in zip(starts, sizes, strict=True))
    text = f"dml.slice(x, {starts}, {sizes}, {[1] * len(shape)}, out=o)"
    return text, lambda x: x[key], tuple(sizes)


def _tile(draw, shape):
    counts = [draw.between(1, 2) for _ in shape]
    result = tuple(n * k for n, k in zip(shape, counts, strict=True))
    return f"dml.tile(x, {counts}, out=o)", lambda x: np.tile(x, counts), result


def _join(draw, shape):
    axis = draw.between(0, len(shape) - 1)
    result = tuple(2 * n if d == axis else n for d, n in enumerate(shape))
    return f"dml.join([x, x], {axis}, out=o)", lambda x: np.concatenate([x, x], axis), result


MAKERS = (_identity, _cumulative, _slice, _tile, _join)


def _shared(draw, dtype, shape):
    shared = Shared(draw, dtype, shape=shape)
    shared.fill(draw.values(shared.x.dtype, 61, "mild"), shared.x.start)
    return shared


def _refusing(shared, case, *inputs):
    """Allow a refusal instead if spans of bytes overlap."""
    out = shared.parts["x"]
    if any(out.meets(shared.parts[n]) for n in inputs if n in shared.parts):
        case.may_refuse = (ValueError,)
    case.names |= {"dml": dml, "seen": seen}
    return case


def into_itself(draw):
    """``operator(x, out=o)``; the destination of the case, `o`, is drawn first."""
    dtype = "float32" if draw.few else draw.choice(("float32", "int32", "uint32"))
    shape = draw.shape(1, 3, empty=False)
    text, function, result = draw.choice(MAKERS)(draw, shape)
    shared = _shared(draw, dtype, result)
    if shared.part("v", dtype, shape) is None:
        shared.other("v", draw.operand(dtype, shape, "mild"))

    def change(_, arrays):
        return np.asarray(function(arrays["v"]))

    text = text.replace("(x", "(v").replace("[x, x]", "[v, v]").replace("out=o", "out=x")
    check = but_signs_of_zeros
    return _refusing(shared, shared.case("directml out", text, change, check, traced=False), "v")


def scattered(draw):
    """``scatter(v, k, u, axis, out=x)``: any of the three in the memory of `x`."""
    dtype = "float32" if draw.few else draw.choice(("float32", "int32", "uint32"))
    kind_of = "int64" if draw.few else draw.choice(("int64", "int32", "uint32"))
    shape = draw.shape(1, 3, empty=False)
    axis = draw.between(0, len(shape) - 1)
    sizes = tuple(draw.between(1, 4) if d == axis else n for d, n in enumerate(shape))
    shared = _shared(draw, dtype, shape)
    aliased = draw.choice(("v", "k", "u"))
    if aliased == "k":
        shared.fill(positions(draw, kind_of, shape[axis]), shared.x.start)
    for name, d, wanted in (("v", dtype, shape), ("k", kind_of, sizes), ("u", dtype, sizes)):
        part = shared.part(name, d, wanted) if name == aliased else None
        if part is not None and (part.start - shared.x.start) % part.dtype.itemsize == 0:
            continue
        shared.parts.pop(name, None)
        if name == "k":
            flat = np.resize(positions(draw, kind_of, shape[axis]), wanted)
            shared.other(name, draw.holding(flat))
        else:
            shared.other(name, draw.operand(d, wanted, "mild"))

    def change(_, arrays):
        result = np.array(arrays["v"])
        np.put_along_axis(result, arrays["k"].astype(np.int64), arrays["u"], axis)
        return result

    text = f"dml.scatter(v, k, u, {axis}, out=x)"
    case = shared.case("directml scatter out", text, change, same, traced=False)
    if any(o.layout.is_tiled for o in shared.others.values()):  # DirectML knows strides only
        case.may_refuse = (ValueError,)
    return _refusing(shared, case, "v", "k", "u")


CASES = {"directml out": into_itself, "directml scatter out": scattered}
WEIGHTS = {"directml out": 3, "directml scatter out": 3}
