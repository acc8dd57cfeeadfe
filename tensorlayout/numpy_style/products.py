"""Products of vectors and matrices, and what is about diagonals, with NumPy's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tensorlayout import dtypes, linalg
from tensorlayout.functions import arguments, creation, extra, linear_algebra
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import broadcast_to, moveaxis, reshape, sliding_window
from tensorlayout.functions.operands import counted, product, tensors, unsupported
from tensorlayout.functions.outputs import given
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "convolve",
    "correlate",
    "cross",
    "diag",
    "diagflat",
    "einsum",
    "inner",
    "kron",
    "outer",
    "polyval",
    "tensordot",
    "tril",
    "triu",
    "vander",
    "vdot",
]


def vdot(a: Any, b: Any, /) -> Tensor:
    """The sum of products of all elements in index order, those of `a` conjugated."""
    x, y = (reshape(each, (-1,)) for each in tensors("vdot", a, b, weak=False))
    return product(linear_algebra.vecdot, x, y)


def inner(a: Any, b: Any, /) -> Tensor:
    """The sums of products along the last dimensions of both."""
    x, y = tensors("inner", a, b, weak=False)
    if not x.ndim or not y.ndim:
        return product(ew.multiply, x, y)
    last = partial(linear_algebra.tensordot, axes=((-1,), (-1,)))
    return product(last, x, y)


def outer(a: Any, b: Any, out: Tensor | None = None) -> Tensor:
    """All products of an element of `a` with one of `b`, both in index order."""
    x, y = (reshape(each, (-1,)) for each in tensors("outer", a, b, weak=False))
    return given("outer", product(linalg.outer, x, y), out)


def polyval(p: Any, x: Any) -> Tensor:
    """Return the values of the polynomial with coefficients `p`, highest power first, at `x`."""
    factors, at = tensors("polyval", p, x, weak=False)
    if factors.ndim != 1:
        refuse("polyval", f"p must be coefficients of rank 1, got shape {factors.shape}")
    found = creation.zeros_like(at)
    for factor in factors:
        found = ew.add(ew.multiply(found, at), factor)
    return found


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """`tl.tensordot`; the axes of an operand may be a single number."""
    if isinstance(axes, Sequence):
        axes = [(each,) if isinstance(each, int) else each for each in axes]
    return product(partial(linear_algebra.tensordot, axes=axes), *tensors("tensordot", a, b))


def einsum(
    *operands: Any, out: Tensor | None = None, optimize: Any = False, **kwargs: Any
) -> Tensor:
    """`tl.einsum`."""
    unsupported("einsum", **{name: value for name, value in kwargs.items() if name != "optimize"})
    if not operands or not isinstance(operands[0], str):
        refuse("einsum", "the first argument must be the subscripts", TypeError)
    return given("einsum", extra.einsum(operands[0], *tensors("einsum", *operands[1:])), out)


def kron(a: Any, b: Any) -> Tensor:
    """The blocks of `b` times each element of `a`."""
    x, y = tensors("kron", a, b, weak=False)
    rank = max(x.ndim, y.ndim)
    x, y = (each[(None,) * (rank - each.ndim)] for each in (x, y))
    left = reshape(x, [size for n in x.shape for size in (n, 1)])
    right = reshape(y, [size for n in y.shape for size in (1, n)])
    shape = [n * m for n, m in zip(x.shape, y.shape, strict=True)]
    return reshape(product(ew.multiply, left, right), shape)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The cross products of vectors of three elements along the axes named."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = tensors("cross", a, b)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    return moveaxis(linalg.cross(x, y), -1, axisc)


def diag(v: Tensor, k: int = 0) -> Tensor:
    """`tl.diag`."""
    return extra.diag(v, k)


def diagflat(v: Tensor, k: int = 0) -> Tensor:
    """A matrix with all elements, in index order, on a diagonal."""
    return extra.diag(reshape(arguments.tensor("diagflat", v), (-1,)), k)


def tril(m: Tensor, k: int = 0) -> Tensor:
    """`tl.tril`."""
    return creation.tril(_square("tril", m), k=k)


def triu(m: Tensor, k: int = 0) -> Tensor:
    """`tl.triu`; a vector stands for as many rows of it."""
    return creation.triu(_square("triu", m), k=k)


def _square(name: str, m: Any) -> Tensor:
    """A matrix; a vector stands for as many rows of it, as NumPy has it."""
    x = arguments.tensor(name, m)
    return x if x.ndim != 1 else broadcast_to(x, (x.size, x.size))


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """The powers of each element, a row for each."""
    line = counted("vander", x)
    if line.ndim != 1:
        refuse("vander", f"needs a rank of 1, got shape {line.shape}")
    number = line.size if N is None else arguments.count("vander", "N", N)
    powers = creation.arange(number, device=line.device)
    powers = powers if increasing else powers[::-1]
    kind = dtypes.promote(line.dtype, dtypes.int64)
    return ew.pow(astype(line, kind, copy=False)[:, None], powers[None])


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """The sums of products of two lines, one moved along the other in reverse."""
    x, y = (
        each if each.ndim else reshape(each, (1,)) for each in tensors("convolve", a, v, weak=False)
    )
    _check_lines("convolve", x, y)
    if x.size < y.size:
        x, y = y, x
    return _slid("convolve", x, y[::-1], mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """The sums of products of two lines, one moved along the other, which is conjugated."""
    x, y = tensors("correlate", a, v, weak=False)
    _check_lines("correlate", x, y)
    conjugate = ew.conj(y) if y.dtype.kind == "c" else y
    if x.size >= y.size:
        return _slid("correlate", x, conjugate, mode)
    return _slid("correlate", conjugate, x, mode)[::-1]


def _check_lines(name: str, x: Tensor, y: Tensor) -> None:
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        refuse(name, f"needs two lines of elements, got shapes {x.shape} and {y.shape}")


def _slid(name: str, x: Tensor, y: Tensor, mode: str) -> Tensor:
    """The sums of products of `y` with each window of `x`, which is the longer one."""
    arguments.choice(name, "mode", mode, "'full', 'same' or 'valid'", ("full", "same", "valid"))
    n = y.size
    widths = {"full": (n - 1, n - 1), "same": (n // 2, n - 1 - n // 2), "valid": (0, 0)}[mode]
    windows = sliding_window(extra.pad(x, widths), n)
    return product(linear_algebra.matmul, windows, y)
