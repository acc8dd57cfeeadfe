"""Values that depend on nothing but the number of the element: arange, linspace, frequencies.

In one run of memory. Which kernel, and the constants of its formula, which are those of NumPy,
rounding by rounding. All values are data: a launch knows a dtype and how many elements there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import THREADS, Launch, writer
from tensorlayout.cuda.engine.structs import struct
from tensorlayout.cuda.fill.patterns import plan_count_up
from tensorlayout.dtypes import DType
from tensorlayout.plan.base import Write
from tensorlayout.tensor import TensorSpec

FILE = "fill/sequence.cu"

# Bytes of what a thread writes at once, as in kernels/fill/sequence.cu.
_PACK = 16

# What a sign, and so a zero's too, survives if it is added.
_NOTHING = -0.0


def plan_sequence(dtype: DType, count: int, kind: str) -> Launch | None:
    """The launch of a `kind`: ``integers``, ``real`` or ``complex``; None for no elements.

    Integers wrap. What is behind the address in the struct of that name are the scalars of a call.
    """
    if not count:
        return None
    element = c_type(dtype)
    if dtype.kind == "c":
        element = dtype.name  # the bare name, as it is part of a symbol
    elif kind == "integers":
        element = f"uint{8 * dtype.itemsize}_t"
    macro = {"integers": "INTEGER", "real": "REAL", "complex": "COMPLEX"}[kind]
    chosen = kernel(FILE, f"sequence_{kind}", (), "", **{macro: element})
    length = _PACK // dtype.itemsize
    packs = 4 // length if length < 4 else 1  # of a thread
    blocks = -(-(count // length) // (THREADS * packs))
    return Launch(chosen, max(blocks, 1), bytes(parameters(chosen)()), (0,))


def write_arange(spec: TensorSpec) -> Write:
    """The function of a tensor of any layout, its first number and the step, in row-major order.

    Integer dtypes take integers alone. OverflowError for those that no float is near.
    """
    count, kind = spec.layout.size, "integers" if spec.dtype.kind in "iu" else "real"

    def integers(start: int, step: int) -> bytes:
        return _scalars("Integers", start=start % 2**64, step=step % 2**64, count=count)

    def real(start: float, step: float) -> bytes:
        return _real(count, float(start), float(step))

    def planned(alignments: tuple[int, ...]) -> Launch | None:
        if spec.layout.is_row_major and alignments[0] >= _PACK:
            return plan_sequence(spec.dtype, count, kind)
        launch = plan_count_up(spec)  # start and step are the first of the scalars
        return launch and replace(launch, takes=(0, 16))

    return writer(spec.device.number, planned, 1, integers if kind == "integers" else real)


def write_linspace(spec: TensorSpec) -> Write:
    """The function of a tensor, both ends, and whether the last counts; values as NumPy's."""
    count = spec.layout.size

    def real(start: float, stop: float, endpoint: bool) -> bytes:
        step, divisor = _step(float(stop) - float(start), count, endpoint)
        last = stop if endpoint and count > 1 else None
        return _real(count, float(start), step, divisor=divisor, last=last)

    def pairs(start: complex, stop: complex, endpoint: bool) -> bytes:
        first, last = np.complex128(start), np.complex128(stop)
        with np.errstate(all="ignore"):  # NumPy's division is not rounded as Python's
            step, divisor = _step(last - first, count, endpoint)
        ends = {name: (n.real, n.imag) for name, n in zip(_ENDS, (first, step, last), strict=True)}
        end = count - 1 if endpoint and count > 1 else -1
        return _scalars("Complex", **ends, factor=1 / divisor, end=end, count=count)

    write = _write(spec, "real", real)
    if spec.dtype.kind != "c":
        return write
    write_pairs = _write(spec, "complex", pairs)

    def linspace(out: Any, start: complex, stop: complex, endpoint: bool) -> None:
        either = isinstance(start, complex) or isinstance(stop, complex)
        (write_pairs if either else write)(out, start, stop, endpoint)

    return linspace


_ENDS = ("start", "step", "last")


def write_frequencies(spec: TensorSpec) -> Write:
    """Numbers over ``size * spacing``: the function of a tensor, both, and a bool.

    That says whether those of the latter half are negative.
    """
    count = spec.layout.size

    def content(size: int, spacing: float, negative: bool) -> bytes:
        turn = (size + 1) // 2 if negative else count
        # Times 1, and nothing added: the quotient to the bit.
        return _real(count, _NOTHING, 1.0, divisor=size * spacing, back=float(size), turn=turn)

    return _write(spec, "real", content)


def _write(spec: TensorSpec, kind: str, content: Callable[..., bytes]) -> Write:
    """`spec` always is row-major, of rank 1, and of memory of its own."""
    launch = plan_sequence(spec.dtype, spec.layout.size, kind)
    return writer(spec.device.number, lambda alignments: launch, 1, content)


def _step(delta: Any, count: int, endpoint: bool) -> tuple[Any, float]:
    """What to multiply numbers by, after a division of them where steps are too small for that."""
    steps = count - 1 if endpoint else count
    if steps <= 0:
        return delta, 1.0
    step = delta / steps
    return (step, 1.0) if step != 0 else (delta, float(steps))


def _real(
    count: int,
    start: float,
    step: float,
    *,
    divisor: float = 1.0,
    back: float = 0.0,
    turn: int | None = None,
    last: float | None = None,
) -> bytes:
    numbers = {"start": start, "step": step, "divisor": divisor, "back": back}
    turn = count if turn is None else turn
    if last is None:
        return _scalars("Real", **numbers, turn=turn, end=-1, count=count)
    return _scalars("Real", **numbers, last=last, turn=turn, end=count - 1, count=count)


def _scalars(name: str, **members: Any) -> bytes:
    """What is behind the address in a struct of kernels/fill/sequence.cu."""
    return bytes(struct(FILE, name)(**members))[8:]
