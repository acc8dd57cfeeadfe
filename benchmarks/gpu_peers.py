"""The libraries that take part on a GPU, and the memory that they share.

Memory is CuPy's, and every library sees the same: no data is copied to set up a row. Without a GPU
the harness runs on the simulator, with NumPy in the part of CuPy and PyTorch on the CPU; then the
figures mean nothing, and all the rest is as on a GPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

import tensorlayout as tl
from benchmarks.gpu_memory import Array, Space
from benchmarks.gpu_operations import COPY
from benchmarks.gpu_row import Operand, Row
from benchmarks.measure import Call
from benchmarks.peers import OURS, installed

# ---- Libraries


@dataclass(frozen=True)
class Prepared:
    """A row in a library: `call` computes, `array` gives what it returned as an array."""

    call: Call
    array: Callable[[Any], Array]


def _view(operand: Operand, x: Any, permute: Any, flip: Any, broadcast: Any) -> Any:
    """The view that an operand is, by a library's functions."""
    if operand.keep is not None:
        x = x[..., : operand.keep]
    if operand.axes is not None:
        x = permute(x, operand.axes)
    if operand.flipped:
        x = flip(x, operand.flipped)
    return x if operand.to is None else broadcast(x, operand.to)


def viewed(xp: Any, operand: Operand, block: Array) -> Array:
    """The view, for NumPy, CuPy and jax.numpy."""
    return _view(operand, block, xp.transpose, xp.flip, xp.broadcast_to)


@dataclass
class Library:
    """One library: `prepare` gives a row on memory, where `out` is for the result.

    `own_stream`: whether events on CUDA's default stream do not see its work.
    """

    space: Space
    name: str
    version: str
    own_stream: bool = False

    def prepare(self, row: Row, blocks: Sequence[Array], out: Array) -> Prepared:
        raise NotImplementedError

    def wait(self, result: Any) -> None:
        """Until a result is there, and all before it."""
        self.space.wait()


class Ours(Library):
    """tensorlayout."""

    def __init__(self, space: Space) -> None:
        super().__init__(space, OURS, tl.__version__)

    def prepare(self, row: Row, blocks: Sequence[Array], out: Array) -> Prepared:
        """Views of tensors; where the result is a new tensor, the one before is freed first."""
        tensors = [self.space.tensor(block) for block in blocks]
        to = self.space.tensor(out) if row.operation.into else None
        if row.operation.stored:
            return Prepared(bound(row, tensors, to), lambda x: self.space.stored(x, row.out))
        return Prepared(bound(row, tensors, to), self.space.array)


def bound(row: Row, blocks: Sequence[tl.Tensor], out: tl.Tensor | None) -> Call:
    """Our call."""
    operands = [
        _view(operand, x, tl.permute_dims, lambda x, axes: tl.flip(x, axis=axes), tl.broadcast_to)
        for operand, x in zip(row.operands, blocks, strict=True)
    ]
    function = row.operation.ours
    if row.operation.ready is not None:
        operands = list(row.operation.ready(*operands))
    if out is not None:
        to = out if row.out.keep is None else out[..., : row.out.keep]
        return lambda: function(to, *operands)
    kept: list[Any] = [None]

    def call() -> Any:
        kept[0] = None
        kept[0] = function(None, *operands)
        return kept[0]

    return call


class ArrayLibrary(Library):
    """CuPy; or NumPy in its part."""

    def __init__(self, space: Space) -> None:
        super().__init__(space, space.xp.__name__, space.xp.__version__)

    def prepare(self, row: Row, blocks: Sequence[Array], out: Array) -> Prepared:
        """Views of the arrays."""
        xp, function = self.space.xp, row.operation.array
        operands = [viewed(xp, o, x) for o, x in zip(row.operands, blocks, strict=True)]
        to = viewed(xp, row.out, out)
        return Prepared(lambda: function(xp, to, *operands), lambda result: result)


class Torch(Library):
    """PyTorch."""

    def __init__(self, space: Space, torch: Any) -> None:
        super().__init__(space, "torch", torch.__version__)
        self._torch, self._device = torch, "cpu" if space.xp is np else "cuda"

    def prepare(self, row: Row, blocks: Sequence[Array], out: Array) -> Prepared:
        """Views of the same memory; a flip is a function of its own, as there is no such view."""
        torch, function = self._torch, row.operation.torch
        operands = [self._seen(o, x) for o, x in zip(row.operands, blocks, strict=True)]
        if row.operation is COPY and row.operands[0].flipped:
            (operand,), (x,) = row.operands, operands
            return Prepared(lambda: torch.flip(x, operand.flipped), self._array)
        to = self._seen(row.out, out)
        return Prepared(lambda: function(torch, to, *operands), self._array)

    def _seen(self, operand: Operand, block: Array) -> Any:
        x = self._torch.as_tensor(block, device=self._device)
        return _view(
            operand, x, lambda x, axes: x.permute(axes), lambda x, _: x, lambda x, to: x.expand(to)
        )

    def _array(self, x: Any) -> Array:
        return x.numpy() if self._device == "cpu" else self.space.xp.asarray(x)


class Jax(Library):
    """JAX: the row as one compiled function of the memory, views included."""

    def __init__(self, space: Space, jax: Any) -> None:
        super().__init__(space, "jax", jax.__version__, own_stream=True)
        self._jax = jax
        self._row: Row | None = None
        self._compiled: Any = None

    def prepare(self, row: Row, blocks: Sequence[Array], out: Array) -> Prepared:
        """`out` is not used: JAX allocates every result. Rows with padding get zeros as padding."""
        arrays = [self._to_jax(block) for block in blocks]
        compiled = self._of(row)
        kept: list[Any] = [None]

        def call() -> Any:
            kept[0] = None
            kept[0] = compiled(*arrays)
            return kept[0]

        return Prepared(call, lambda x: self._array(row.out, x))

    def _of(self, row: Row) -> Any:
        """The function of a row, which compiles when first called, and once for all memory."""
        if self._row is row:
            return self._compiled
        jnp, function = self._jax.numpy, row.operation.jax

        def compute(*xs: Any) -> Any:
            seen = [viewed(jnp, o, x) for o, x in zip(row.operands, xs, strict=True)]
            result = function(jnp, *seen)
            if row.out.keep is None:
                return result
            padding = [(0, 0)] * (len(row.out.block) - 1) + [(0, row.out.block[-1] - row.out.keep)]
            return jnp.pad(result, padding)

        self._row, self._compiled = row, self._jax.jit(compute)
        return self._compiled

    def _to_jax(self, block: Array) -> Any:
        if self.space.xp is np:
            return self._jax.numpy.asarray(block)
        return self._jax.dlpack.from_dlpack(block)

    def _array(self, out: Operand, x: Any) -> Array:
        x.block_until_ready()
        array = np.asarray(x) if self.space.xp is np else self.space.xp.from_dlpack(x)
        return array if out.keep is None else array[..., : out.keep]

    def wait(self, result: Any) -> None:
        """Until its stream is done with the last result."""
        result.block_until_ready()


def libraries(space: Space) -> tuple[list[Library], list[str]]:
    """The libraries that take part, ours first, and a line for each that does not."""
    peers: list[Library] = [Ours(space), ArrayLibrary(space)]
    absent: list[str] = []
    torch = installed("torch")
    if torch is None:
        absent.append("PyTorch: not installed, left out")
    elif space.xp is not np and not torch.cuda.is_available():
        absent.append("PyTorch: sees no GPU, left out")
    else:
        peers.append(Torch(space, torch))
    # Or it would take three quarters of the memory when it starts.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = installed("jax")
    if jax is None:
        absent.append("JAX: not installed, left out")
    elif space.xp is not np and jax.default_backend() != "gpu":
        absent.append("JAX: sees no GPU, left out")
    else:
        jax.config.update("jax_enable_x64", True)
        peers.append(Jax(space, jax))
    return peers, absent


# ---- Whether results are right


def difference(space: Space, row: Row, blocks: Sequence[Array], result: Array) -> str:
    """Describe how a result differs from CuPy's (for small rows NumPy's); "" if it does not.

    A part at a time, so that the reference takes little memory.
    """
    xp = space.xp
    if tuple(result.shape) != row.out.shape:
        return f"shape {tuple(result.shape)} instead of {row.out.shape}"
    if str(result.dtype) != row.out.dtype:
        return f"dtype {result.dtype} instead of {row.out.dtype}"
    on_host = xp is not np and row.nbytes <= _CHECKED_BY_NUMPY
    if on_host:
        blocks, result, xp = [xp.asnumpy(x) for x in blocks], xp.asnumpy(result), np
    views = [viewed(xp, o, x) for o, x in zip(row.operands, blocks, strict=True)]
    if row.operation.whole:
        if row.operation.judged is not None:
            result, expected = row.operation.judged(xp, result, *views)
        else:
            expected = row.operation.array(xp, None, *views)
        return _words(int(_differ(xp, row, expected, result).sum()), result.size)
    parts = max(1, ceil(row.out.nbytes / _PART)) if views else 1
    step = max(1, ceil(len(result) / parts))
    wrong = 0
    for start in range(0, len(result), step):
        part = slice(start, start + step) if views else slice(None)
        expected = row.operation.array(xp, None, *[x[part] for x in views])
        wrong += int(_differ(xp, row, expected, result[part]).sum())
    return _words(wrong, result.size)


def _words(wrong: int, of: int) -> str:
    return f"{wrong} of {of} elements are wrong" if wrong else ""


_CHECKED_BY_NUMPY = 1 << 20
_PART = 1 << 28


def _differ(xp: Any, row: Row, expected: Array, result: Array) -> Array:
    if row.operation.exact:
        return expected != result
    # Libraries round exp differently, may fuse a product and a sum, and add in another order.
    near = row.operation.near or 16 * float(np.finfo(row.out.dtype).eps)
    return ~(xp.abs(expected - result) <= near * xp.abs(expected))
