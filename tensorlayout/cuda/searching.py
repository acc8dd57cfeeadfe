"""Searches carried out: positions in a sorted line, and membership, both without waiting."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from tensorlayout.cuda import sorting
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.engine.memory import new_tensors
from tensorlayout.cuda.search_plan import plan_search
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.copy import CopyPlan
from tensorlayout.tensor import Tensor, TensorSpec

_HEAD = struct.Struct("<3Q")


def prepare_searchsorted(
    operands: tuple[TensorSpec, ...], dtype: DType, result: TensorSpec, side: str
) -> Run:
    """The function of a sorted line and of values: where these would go into it. One launch.

    `dtype`: what both are compared in, real numeric; `result`: int64, row-major.
    """
    line, values = operands
    return _search(plan_search(line, values, dtype, right=side == "right"), result)


def prepare_isin(
    operands: tuple[TensorSpec, ...], dtype: DType, result: TensorSpec, invert: bool
) -> Run:
    """The function of elements and of those to be looked for among: these are sorted, and searched.

    `dtype`: as before; `result`: bool, row-major.
    """
    values, of = operands
    placed = TensorSpec(dtype, Layout.row_major(of.layout.shape), of.device)
    line = TensorSpec(dtype, Layout.row_major((of.layout.size,)), of.device)
    gather = sorting.noted_copy("isin", CopyPlan(of, placed))
    sort = sorting.prepare_line(line)
    search = _search(plan_search(line, values, dtype, members=True, invert=invert), result)

    def isin(x: Tensor, given: Tensor) -> Tensor:
        copied = gather(given)
        return search(sort(Tensor._new(copied._memory, line, copied._home)), x)

    return isin


# The functions of operands' specs, the common dtype, the result's spec and the options, by the name
# of the operation: for plans of library calls on real numbers.
PREPARE: dict[str, Callable[..., Run]] = {
    "isin": prepare_isin,
    "searchsorted": prepare_searchsorted,
}


def _search(launch: Launch | None, result: TensorSpec) -> Run:
    """The function of the line and of the values."""
    new_tensor, number = new_tensors(result), result.device.number
    with driver().using(number):
        ready: Any = driver().launcher(launch.kernel) if launch else None

    def search(line: Tensor, values: Tensor) -> Tensor:
        found = new_tensor()
        if launch:
            parameters = bytearray(launch.parameters)
            here, there = launch.firsts
            addresses = (line._memory.address + here, values._memory.address + there)
            _HEAD.pack_into(parameters, 0, found._memory.address, *addresses)
            with driver().using(number):
                ready(launch.grid, parameters)
        return found

    return search
