"""Cases of writes through views of a tensor whose operands are other views of it, as users write.

Layouts of every kind, padded and tiled ones too. NumPy gets a copy of each operand.
"""

from __future__ import annotations

import numpy as np
from alias_cases import SIGNS, octets_of_masks
from case import Case, close, same
from casting import cast
from draws import MOST
from elementwise_cases import two_arrays
from tensors import as_dtype, kind


def _slice_key(axis, start, stop, step=None):
    """A slice along one dimension: its text, and the key."""
    bounds = ":".join("" if v is None else str(v) for v in (start, stop))
    text = bounds + (f":{step}" if step is not None else "")
    return ":, " * axis + text, (slice(None),) * axis + (slice(start, stop, step),)


def sliced(cut):
    text, key = cut
    return f"x[{text}]", lambda a: a[key]


WHOLE = ("x", lambda a: a)


def pair(draw, shape, tiled):
    """Two views of one shape, each as text and as a function of an array; the first is written.

    Of tiles the first is the whole, since parts may be copies.
    """
    rank = len(shape)
    axis = draw.between(0, rank - 1)
    n = shape[axis]
    equal = [(d, e) for d in range(rank) for e in range(d) if shape[d] == shape[e]]
    kinds = ["same", "same", "flip", "flip"] + ["permute"] * 3 * bool(equal) + ["row"]
    kinds += [] if tiled else ["shift"] * 4 + ["steps"] * 2 + ["flipped shift"] * 2
    match draw.choice(kinds):
        case "flip":
            axes = draw.axes(rank)
            flip = f"tl.flip(x, axis={axes})", lambda a: np.flip(a, axes)
            return (flip, WHOLE) if draw.chance(0.5) and not tiled else (WHOLE, flip)
        case "permute":
            axes = list(range(rank))
            d, e = draw.choice(equal)
            axes[d], axes[e] = e, d
            turned = f"tl.permute_dims(x, {tuple(axes)})", lambda a: a.transpose(axes)
            return (WHOLE, ("x.T", turned[1])) if rank == 2 else (WHOLE, turned)
        case "row":
            return WHOLE, sliced(_slice_key(axis, 0, min(n, 1)))
        case "shift":
            shift = draw.between(0, n)
            ends = sliced(_slice_key(axis, shift, None)), sliced(_slice_key(axis, None, n - shift))
            return ends if draw.chance(0.5) else ends[::-1]
        case "flipped shift":
            shift = draw.between(0, max(n - 1, 0))
            to = sliced(_slice_key(axis, shift, None))
            return to, sliced(_slice_key(axis, max(n - shift - 1, 0), None, -1))
        case "steps":
            front = sliced(_slice_key(axis, None, (n + 1) // 2))
            steps = sliced(_slice_key(axis, None, None, 2))
            return (front, steps) if draw.chance(0.5) else (steps, front)
    return WHOLE, WHOLE


def drawn(draw, dtype, how="moved"):
    """A tensor to write to, often with dimensions of equal size, and a pair of views of it."""
    shape = draw.shape(1, 3)
    if len(shape) > 1 and draw.chance(0.4):
        n = draw.choice((2, 3, 3, 4, 5, 7))
        shape = (n,) * len(shape)
    x = draw.operand(dtype, shape, how, writable=True)
    return x, pair(draw, shape, x.layout.is_tiled)


def masked(draw):
    """``x[1:][x[:-1]] = …``: a mask that is a view of the booleans it chooses among."""
    x, (to, by) = drawn(draw, "bool")
    if x.layout.size and not x.layout.is_padded and draw.chance(0.2):
        octets = octets_of_masks(draw, x.storage.size)
        x = draw.over(x.layout, np.resize(octets, x.storage.shape).view(bool))
    chosen = _fits(to[1](x.array), by[1](x.array))
    if chosen is None:
        by = to
        chosen = to[1](x.array)
    count = int(np.count_nonzero(chosen))
    result = {}
    if draw.chance(0.5):
        text = draw.choice(("True", "False"))
        content = np.asarray(text == "True")
    else:
        dtype = "bool" if draw.few else draw.choice(("bool", "bool", "int8", "float32"))
        result["v"] = draw.operand(dtype, (count,), "moved")
        text, content = "v", result["v"].array

    def expect(a, *_):
        mask = np.array(by[1](a))
        to[1](a)[mask] = cast(content, "bool")
        return a

    line = f"{to[0]}[{by[0]}] = {text}"
    return Case("x[mask of x] = y", line, {"x": x, **result}, expect, same, writes="x")


def _fits(to, by):
    return by if by.shape == to.shape else None


def assigned(draw):
    x, (to, by) = drawn(draw, draw.dtype())
    line = f"{to[0]}[...] = {by[0]}"

    def expect(a):
        to[1](a)[...] = np.array(by[1](a))
        return a

    return Case("view of x = x", line, {"x": x}, expect, same, writes="x")


def in_place(draw):
    x, (to, by) = drawn(draw, dtype := draw.dtype(), "mild")
    sign, name = draw.choice(list(SIGNS[kind(as_dtype(dtype))].items()))

    def expect(a):
        target = to[1](a)
        other = np.array(by[1](a))
        target[...] = two_arrays(name, dtype, target.copy(), other)
        return a

    check = same if kind(as_dtype(dtype)) in "biu" else close(8)
    line = f"z = {to[0]}; z {sign}= {by[0]}"
    return Case("view of x op= x", line, {"x": x}, expect, check, writes="x")


def at_positions(draw):
    """Positions that are a view of the integers they number."""
    draw.most = MOST  # what is written grows with the square
    x, (to, by) = drawn(draw, dtype := "int64" if draw.few else draw.choice(("int64", "int8")))
    target = to[1](x.array)
    n = target.shape[0]
    if not n or x.layout.is_padded or n > 127:
        return assigned(draw)
    results = [draw.between(-n, n - 1) for _ in range(x.storage.size)]
    x = draw.over(x.layout, np.array(results, dtype))
    number = draw.choice((0, 1, 7))
    result, text = {}, str(number)
    if draw.chance(0.4):  # of equal positions, the last value wins
        there = (*by[1](x.array).shape, *target.shape[1:])
        result, text = {"v": draw.operand(dtype, there, "moved")}, "v"
    line = f"{to[0]}[{by[0]}] = {text}"

    def expect(a, *values):
        places = np.array(by[1](a))
        to[1](a)[places] = values[0] if values else number
        return a

    return Case("x[positions of x] = y", line, {"x": x, **result}, expect, same, writes="x")


def parts(draw):
    """The real parts of complex numbers and their imaginary parts, written into one another."""
    dtype = "complex64" if draw.few else draw.choice(("complex64", "complex128"))
    draw.tiles = False
    x = draw.operand(dtype, draw.shape(1, 3), "moved", writable=True)
    one, other = draw.choice((("real", "imag"), ("imag", "real")))
    flip = draw.chance(0.4) and x.layout.ndim == 1
    by = f"tl.{other}(x)" + ("[::-1]" if flip else "")
    whole = draw.chance(0.3)

    def expect(a):
        result = np.array(getattr(a, other)[::-1] if flip else getattr(a, other))
        if whole:
            a[...] = result
        else:
            setattr(a, one, result)
        return a

    line = f"x[...] = {by}" if whole else f"tl.{one}(x)[...] = {by}"
    return Case("parts of complex x = x", line, {"x": x}, expect, same, writes="x")


ALL = (masked, assigned, in_place, at_positions, parts)
CASES = {f"views {f.__name__}": f for f in ALL}
WEIGHTS = {"views masked": 8, "views at_positions": 4, "views assigned": 3, "views in_place": 3}
