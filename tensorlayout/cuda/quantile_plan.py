"""Quantiles of sorted lines: the launches. Integers and the fractions only."""

from __future__ import annotations

import ctypes
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import index_type
from tensorlayout.dtypes import DType
from tensorlayout.layout.once import once
from tensorlayout.plan.reducing import CONTINUOUS

FILE = "quantile.cu"
MOST = 16  # fractions of a launch, as in the kernel

_METHODS = {"lower": 0, "higher": 1, "nearest": 2, "midpoint": 3, "linear": 4}
_CONTINUOUS = 5


def plan_quantiles(
    size: tuple[int, int],
    dtype: DType,
    result: DType,
    fractions: tuple[float, ...],
    method: str,
    *,
    skip: bool,
) -> tuple[Launch, ...]:
    """How to read the quantiles of lines, `size`: how many of what length, at least one each.

    The lines are sorted, of `dtype`, one after the other; `result` has all lines for the first
    fraction, then for the next. `skip`: NaN count as absent. `firsts` of a launch have the bytes
    from the begin of the result to what it writes, and 0.
    """
    lines, length = size
    index = index_type(lines * max(length, len(fractions)) + THREADS, 0)
    alpha, beta = CONTINUOUS[method] if method not in _METHODS else (0.0, 0.0)
    types = (("ELEMENT", c_type(dtype)), ("RESULT", c_type(result)))
    kernel = Kernel(FILE, "read_quantiles", types, (("INDEX", index),))
    launches = []
    for first in range(0, len(fractions), MOST):
        some = fractions[first : first + MOST]
        made = quantiles_type(index)(
            alpha=alpha,
            beta=beta,
            lines=lines,
            length=length,
            count=len(some),
            method=_METHODS.get(method, _CONTINUOUS),
            skip=int(skip),
        )
        made.fractions[: len(some)] = some
        begin = first * lines * result.itemsize
        launches.append(Launch(kernel, -(-lines // THREADS), bytes(made), (begin, 0)))
    return tuple(launches)


@once
def quantiles_type(index: str) -> Any:
    """``Quantiles<index>`` of kernels/quantile.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "Quantiles",
        to=ctypes.c_uint64,
        from_=ctypes.c_uint64,
        fractions=ctypes.c_double * MOST,
        alpha=ctypes.c_double,
        beta=ctypes.c_double,
        lines=number,
        length=number,
        count=ctypes.c_int32,
        method=ctypes.c_int32,
        skip=ctypes.c_int32,
    )


def kernels(dtype: DType, result: DType) -> tuple[Kernel, ...]:
    """All that a plan may ask for, of one dtype and one of results."""
    types = (("ELEMENT", c_type(dtype)), ("RESULT", c_type(result)))
    shapes = ((("INDEX", "int32_t"),), (("INDEX", "int64_t"),))
    return tuple(Kernel(FILE, "read_quantiles", types, shape) for shape in shapes)
