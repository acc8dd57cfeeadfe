"""Searches in a sorted line: the launch. Integers only."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.launch import THREADS, Launch, struct_type
from tensorlayout.cuda.engine.parameters import index_type, walk_type
from tensorlayout.cuda.scan_plan import merged, packed_walk
from tensorlayout.dtypes import DType
from tensorlayout.layout.once import once
from tensorlayout.tensor import TensorSpec

FILE = "search.cu"


def plan_search(
    line: TensorSpec,
    values: TensorSpec,
    dtype: DType,
    *,
    right: bool = False,
    members: bool = False,
    invert: bool = False,
) -> Launch | None:
    """How to find, for each of `values`, its position in the sorted `line`, of rank 1; as int64.

    Compared as `dtype`; NaN is greater than all else. `right`: behind equal elements. `members`:
    whether the value is in the line, NaN never, as bool; `invert`: whether not. Results are
    row-major. None where there are no values. ValueError for tiled layouts.
    """
    count = values.layout.size
    if count == 0:
        return None
    walked = merged(zip(values.layout.shape, values.layout.strides, strict=True))
    (length,) = line.layout.shape
    step = line.layout.strides[0] if length > 1 else 0
    reach = max(sum((n - 1) * abs(s) for n, s in walked), (length + 1) * abs(step), length)
    index = index_type(count + THREADS, reach)
    rank = len(walked) if len(walked) in (1, 2) else 0
    made = search_type(rank, index)(
        count=count,
        length=length,
        step=step,
        walk=packed_walk(index, walked),
        right=int(right),
        invert=int(invert),
    )
    kernel = _kernel(rank, index, "members" if members else "positions", line, values, dtype)
    firsts = tuple(each.layout.offset * each.dtype.itemsize for each in (line, values))
    return Launch(kernel, -(-count // THREADS), bytes(made), firsts)


@once
def search_type(rank: int, index: str) -> Any:
    """``Search<rank, index>`` of kernels/search.cu."""
    number = ctypes.c_int32 if index == "int32_t" else ctypes.c_int64
    return struct_type(
        "Search",
        **dict.fromkeys(("to", "line", "values"), ctypes.c_uint64),
        **dict.fromkeys(("count", "length", "step"), number),
        walk=walk_type(rank, index, 1),
        right=ctypes.c_int32,
        invert=ctypes.c_int32,
    )


def _kernel(
    rank: int, index: str, wanted: str, line: TensorSpec, values: TensorSpec, dtype: DType
) -> Kernel:
    types = (
        ("LINE", c_type(line.dtype)),
        ("VALUES", c_type(values.dtype)),
        ("COMPARE", c_type(dtype)),
    )
    shape = (("RANK", str(rank)), ("INDEX", index), ("GIVES", wanted))
    return Kernel(FILE, "search_line", types, shape)


def kernels(dtype: DType) -> tuple[Kernel, ...]:
    """All that a plan may ask for, if all is of one dtype."""
    name = c_type(dtype)
    types = (("LINE", name), ("VALUES", name), ("COMPARE", name))
    shapes = product(("1", "2", "0"), ("int32_t", "int64_t"), ("positions", "members"))
    return tuple(
        Kernel(FILE, "search_line", types, (("RANK", rank), ("INDEX", index), ("GIVES", wanted)))
        for rank, index, wanted in shapes
    )
