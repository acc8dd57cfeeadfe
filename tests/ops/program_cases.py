"""Cases of several steps: views of one tensor, views of views, and writes through all of them.

NumPy does the same to views of a plain array; in the end both must hold the same elements.
"""

from __future__ import annotations

import numpy as np
from case import Case, close, same
from tensors import as_dtype, kind


def sliced(draw, shape):
    """A basic key, as text, that leaves something."""
    items = []
    for n in shape:
        if not n or draw.chance(0.4):
            items.append(":")
        elif draw.chance(0.25):
            items.append(str(draw.between(-n, n - 1)))
        else:
            start = draw.between(0, n - 1)
            stop = draw.between(start + 1, n)
            items.append(draw.choice([f"{start}:{stop}", f"{start}:{stop}:2", "::-1", "::2"]))
    if draw.chance(0.2):
        items.insert(draw.between(0, len(items)), "None")
    return ", ".join(items) or "..."


def view(draw, name, array):
    """The text of a view, for us and for NumPy."""
    rank = array.ndim
    kinds = ["slice"] * 3 + ["permute", "flip"] + ["expand", "reshape"] * (rank < 5)
    match draw.choice(kinds):
        case "permute":
            axes = draw.order(rank)
            return f"tl.permute_dims({name}, {axes})", f"{name}.transpose({axes})"
        case "flip":
            axes = draw.axes(rank)
            return f"tl.flip({name}, axis={axes})", f"np.flip({name}, {axes})"
        case "expand":
            axis = draw.axis(rank + 1)
            return f"tl.expand_dims({name}, axis={axis})", f"np.expand_dims({name}, {axis})"
        case "reshape":  # one dimension in two, which every layout allows
            splits = [
                (d, n // k, k) for d, n in enumerate(array.shape) for k in (2, 3) if n == 2 * k
            ]
            if splits:
                d, a, b = draw.choice(splits)
                shape = (*array.shape[:d], a, b, *array.shape[d + 1 :])
                return f"tl.reshape({name}, {shape}, copy=False)", f"split({name}, {d}, {a}, {b})"
    text = f"{name}[{sliced(draw, array.shape)}]"
    return text, text


def split(array, dim, a, b):
    """One dimension as two, without a copy."""
    stride = array.strides[dim]
    shape = (*array.shape[:dim], a, b, *array.shape[dim + 1 :])
    strides = (*array.strides[:dim], stride * b, stride, *array.strides[dim + 1 :])
    return np.lib.stride_tricks.as_strided(array, shape, strides)


def write(draw, views):
    """A write through one of the views, of a number or of another view that fits."""
    name = draw.choice(list(views))
    array = views[name]
    partners = [n for n, a in views.items() if a.shape == array.shape]
    other = draw.choice(partners) if draw.chance(0.6) else str(draw.choice((0, 1, 2)))
    match draw.choice(["in place", "in place", "assign", "part", "mask"]):
        case "in place":
            return f"{name} {draw.choice(['+=', '-=', '*='])} {other}"
        case "assign":
            return f"{name}[...] = {other}"
        case "part":
            return f"{name}[{sliced(draw, array.shape)}] = {draw.choice((0, 1, 2))}"
    return f"{name}[{name} == {draw.choice((0, 1, 2))}] = {draw.choice((0, 1, 3))}"


def views_and_writes(draw):
    dtype = draw.choice(["int64", "float32"] if draw.few else ["int8", "int64", "uint16"])
    draw.tiles = False  # of which some views are copies
    x = draw.operand(dtype, draw.shape(1, 4), "mild", writable=True)
    steps, plain, space = [], [], {"np": np, "split": split, "v0": x.array.copy()}
    views = {"v0": space["v0"]}
    for _ in range(draw.between(2, 10)):
        if draw.chance(0.5) and len(views) < 6:
            name = draw.choice(list(views))
            ours, numpys = view(draw, name, views[name])
            new = f"v{len(views)}"
            steps.append(f"{new} = {ours}")
            plain.append(f"{new} = {numpys}")
            result = eval(numpys, {**space, **views})
            if not isinstance(result, np.ndarray):  # a scalar of NumPy is no view
                steps.pop()
                plain.pop()
                continue
            views[new] = result
        else:
            steps.append(write(draw, views))
            plain.append(steps[-1])

    def expect(a):
        results = {"np": np, "split": split, "v0": a}
        exec("; ".join(plain), results)
        return a

    check = same if kind(as_dtype(dtype)) in "iu" else close(8)
    return Case("views and writes", "; ".join(steps), {"v0": x}, expect, check, writes="v0")


CASES = {"views and writes": views_and_writes}
CASES |= {f"views and writes {n}": views_and_writes for n in (2, 3, 4)}
