"""Operations that are timed on a GPU, spelled for each library.

Each function of an `Operation` gets the module, where the library is given by one, then the memory
for the result, then the operands. Where a library can write into memory that is there, it does;
otherwise the memory comes from its pool, which is warm.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorlayout as tl

Function = Callable[..., Any]


@dataclass(frozen=True)
class Operation:
    """One computation, as each library spells it.

    Attributes:
        ours: of `out` and the operands. `into` says whether it writes `out`.
        array: of CuPy or NumPy, `out` and the operands; with None for `out` it is the reference.
        torch: of PyTorch, `out` and the operands.
        jax: of jax.numpy and the operands, to be compiled whole.
        exact: whether all libraries must agree to the last bit.
        near: else how far a result may be off, relative; None for 16 roundings.
        whole: whether an element of the result needs more than those elements of the operands that
            have its first index.
        judged: of the module, a result and the operands: what to compare, and with what, where more
            than one result is right.
        ready: of our operands: what ours is called with, made ahead.
        stored: whether the memory of our result is what is compared, as its layout differs.

    """

    name: str
    ours: Function
    array: Function
    torch: Function
    jax: Function
    into: bool = False
    exact: bool = True
    near: float | None = None
    whole: bool = False
    judged: Function | None = None
    ready: Function | None = None
    stored: bool = False


def assigned(out: Any, x: Any) -> Any:
    """`out`, with `x` written into it."""
    out[...] = x
    return out


def copied(xp: Any, out: Any, x: Any) -> Any:
    """`x`, or `out` with it written into it."""
    if out is None:
        return x
    xp.copyto(out, x, casting="unsafe")
    return out


COPY = Operation(
    "copy",
    assigned,
    copied,
    lambda torch, out, x: out.copy_(x),
    lambda jnp, x: jnp.copy(x),
    into=True,
)

ADD = Operation(
    "x + y",
    lambda out, x, y: tl.add(x, y),
    lambda xp, out, x, y: xp.add(x, y, out=out),
    lambda torch, out, x, y: torch.add(x, y, out=out),
    lambda jnp, x, y: x + y,
)

ADD_SCALAR = Operation(
    "x + 2",
    lambda out, x: x + 2,
    lambda xp, out, x: xp.add(x, 2, out=out),
    lambda torch, out, x: torch.add(x, 2, out=out),
    lambda jnp, x: x + 2,
)

EXP = Operation(
    "exp(x)",
    lambda out, x: tl.exp(x),
    lambda xp, out, x: xp.exp(x, out=out),
    lambda torch, out, x: torch.exp(x, out=out),
    lambda jnp, x: jnp.exp(x),
    exact=False,
)

WHERE = Operation(
    "where(c, x, y)",
    lambda out, c, x, y: tl.where(c, x, y),
    lambda xp, out, c, x, y: xp.where(c, x, y),
    lambda torch, out, c, x, y: torch.where(c, x, y, out=out),
    lambda jnp, c, x, y: jnp.where(c, x, y),
)


def _chained(xp: Any, out: Any, x: Any, y: Any, z: Any) -> Any:
    product = xp.multiply(x, y, out=out)
    return xp.add(product, z, out=out)


CHAIN = Operation(
    "x * y + z",
    lambda out, x, y, z: x * y + z,
    _chained,
    lambda torch, out, x, y, z: torch.addcmul(z, x, y, out=out),
    lambda jnp, x, y, z: x * y + z,
    exact=False,
)

# ---- Several functions in one pass


def _distance(xp: Any) -> Function:
    return lambda x, y, z: xp.sqrt(x * x + y * y) + z * 0.5


def _squares(xp: Any) -> Function:
    return lambda x, y: xp.sum((x - y) * (x - y))


@functools.cache
def _in_one(library: Any, fuse: str, function: Function) -> Function:
    """A function of a library's arrays, fused by it where it can."""
    fused = function(library)
    return getattr(library, fuse)(fused) if hasattr(library, fuse) else fused


def fused(name: str, function: Function, *, whole: bool = False) -> Operation:
    """One pass over memory: by `tl.fuse`, ``cupy.fuse``, ``torch.compile`` and ``jax.jit``."""
    return Operation(
        f"{name}, fused",
        lambda out, *xs: _in_one(tl, "fuse", function)(*xs),
        lambda xp, out, *xs: _in_one(xp, "fuse", function)(*xs),
        lambda torch, out, *xs: _in_one(torch, "compile", function)(*xs),
        lambda jnp, *xs: function(jnp)(*xs),
        exact=False,
        whole=whole,
    )


DISTANCE = fused("sqrt(x * x + y * y) + z / 2", _distance)
SQUARES = fused("sum((x - y) ** 2)", _squares, whole=True)

# ---- Small ones, as users write them: nothing is allocated ahead.

PLUS = Operation(
    "x + y",
    lambda out, x, y: x + y,
    lambda xp, out, x, y: x + y,
    lambda torch, out, x, y: x + y,
    lambda jnp, x, y: x + y,
)


def cast(dtype: str) -> Operation:
    """A copy into another dtype."""
    return Operation(
        f"astype {dtype}",
        lambda out, x: tl.astype(x, getattr(tl, dtype)),
        lambda xp, out, x: x.astype(dtype) if out is None else copied(xp, out, x),
        lambda torch, out, x: out.copy_(x),
        lambda jnp, x: x.astype(dtype),
    )


def full(shape: tuple[int, ...], value: float, dtype: str) -> Operation:
    """A new tensor of one value."""

    def array(xp: Any, out: Any) -> Any:
        if out is None:
            return xp.full(shape, value, dtype=dtype)
        out.fill(value)
        return out

    return Operation(
        "zeros" if value == 0 else "full",
        (lambda out: tl.zeros(shape, dtype=getattr(tl, dtype), device="cuda"))
        if value == 0
        else (lambda out: tl.full(shape, value, dtype=getattr(tl, dtype), device="cuda")),
        array,
        lambda torch, out: out.fill_(value),
        lambda jnp: jnp.full(shape, value, dtype=dtype),
    )


def arange(count: int, dtype: str) -> Operation:
    """The numbers from 0 on."""
    return Operation(
        "arange",
        lambda out: tl.arange(count, dtype=getattr(tl, dtype), device="cuda"),
        lambda xp, out: xp.arange(count, dtype=dtype),
        lambda torch, out: torch.arange(count, out=out),
        lambda jnp: jnp.arange(count, dtype=dtype),
    )
