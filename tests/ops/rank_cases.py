"""Ranks 33 to 64, which some functions of NumPy do not take: as the same call on the last two.

All other dimensions have size 1, so that neither values nor errors depend on them.
"""

from __future__ import annotations

import inspect

from case import Case, Refused, near, same
from tensors import asarray, host, kind

import tensorlayout as tl

# What functions need besides the tensor.
MORE = {"astype": "tl.float32", "full_like": "3", "quantile": "0.5", "nanquantile": "0.5"}
MORE |= {"repeat": "2, axis=-1", "roll": "1, axis=-1", "sliding_window": "(2,), axis=(-1,)"}
MORE |= {"tile": "(3, 2)"}
# Results that depend on the rank, or on nothing.
LEFT_OUT = {
    "from_dlpack",
    "bincount",
    "corrcoef",
    "cov",
    "diag",
    "empty_like",
    "expand_dims",
    "nonzero",
}


def _takes_one_tensor(function):
    parameters = [*inspect.signature(function).parameters.values()]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return needed == ["x"] or function.__name__ in MORE


FUNCTIONS = {
    f"tl.{prefix}{name}": getattr(namespace, name)
    for prefix, namespace in (("", tl), ("linalg.", tl.linalg), ("fft.", tl.fft))
    for name in namespace.__all__
    if inspect.isfunction(getattr(namespace, name))
    and _takes_one_tensor(getattr(namespace, name))
    and name not in LEFT_OUT
}


def many_dimensions(draw):
    name = draw.choice([*FUNCTIONS])
    function, short = FUNCTIONS[name], name.rpartition(".")[2]
    dtype = draw.dtype(draw.choice(("any", "floating-point", "real floating")))
    n = draw.choice((2, 3))
    last = (n, n) if "linalg" in name else draw.choice(((2, 3), (3, 1), (1, 2), (0, 2), (3, 3)))
    most = 63 if short == "sliding_window" else 64  # it adds a dimension
    rank = draw.between(33, 61 if "linalg" in name else most)  # the limit of NumPy's svd
    draw.most = 60
    x = draw.operand(dtype, (1,) * (rank - 2) + last, "mild")
    more = MORE.get(short, "")
    axis = "axis" in inspect.signature(function).parameters and "axis" not in more
    if axis and (short in ("cumulative_sum", "cumulative_prod", "unstack") or draw.chance(0.7)):
        more += ", " * bool(more) + f"axis={draw.choice((-1, -2))}"
    arguments = f"({{}}, {more})" if more else "({})"

    def expect(a):
        core = {"tl": tl, "core": asarray(a.reshape(last))}
        try:
            result = eval(f"{name}{arguments.format('core')}", core)
        except (TypeError, ValueError) as error:
            return Refused(type(error))
        result = result if isinstance(result, (tuple, list)) else (result,)
        return tuple(host(part) for part in result)

    def check(got, expected):
        assert got.ndim in (expected.ndim, expected.ndim + rank - 2), f"got rank {got.ndim}"
        got = host(got)
        assert got.dtype == expected.dtype, f"got {got.dtype}, expected {expected.dtype}"
        got = got.reshape([n for n in got.shape if n != 1])
        expected = expected.reshape([n for n in expected.shape if n != 1])
        if kind(expected.dtype) not in "fc":
            return same(got, expected)
        unit = 64 * float(tl.finfo(expected.dtype).eps)
        return near(unit, 16 * unit)(got, expected)

    text = f"tuple({name}{arguments.format('x')})" if short in ("unstack", "gradient") else ""
    text = text or f"{name}{arguments.format('x')}"
    return Case(f"rank 33 to 64: {name}", text, {"x": x}, expect, check, view=None)


CASES = {"ranks 33 to 64": many_dimensions}
WEIGHTS = {"ranks 33 to 64": 4}
