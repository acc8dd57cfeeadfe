"""Searches in a sorted line: the launch. Integers only."""

from __future__ import annotations

from tensorlayout.cuda.engine.c_types import c_type
from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import THREADS, Launch
from tensorlayout.cuda.engine.parameters import index_type, pack_axes
from tensorlayout.cuda.sort.lines import axes_of
from tensorlayout.dtypes import DType
from tensorlayout.layout.loop import furthest
from tensorlayout.tensor import TensorSpec

FILE = "sort/search.cu"


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

    Memories: the result, row-major, the line, the values. Compared as `dtype`; NaN is greater than
    all else. `right`: behind equal elements. `members`: whether the value is in the line, NaN
    never, as bool; `invert`: whether not. None where there are no values. ValueError for tiled
    layouts.
    """
    count = values.layout.size
    if count == 0:
        return None
    walked = axes_of(zip(values.layout.shape, values.layout.strides, strict=True))
    (length,) = line.layout.shape
    step = line.layout.strides[0] if length > 1 else 0
    reach = max(furthest(walked), (length + 1) * abs(step), length)
    index, gives = index_type(count + THREADS, reach), "members" if members else "positions"
    kinds = zip(("LINE", "VALUES", "COMPARE"), (line.dtype, values.dtype, dtype), strict=True)
    types = tuple((name, c_type(kind)) for name, kind in kinds)
    chosen = kernel(
        "sort/search.cu", "search_line", types, RANK=len(walked), INDEX=index, GIVES=gives
    )
    made = parameters(chosen)(
        count=count, length=length, step=step, right=int(right), invert=int(invert)
    )
    pack_axes(made.walk, walked, 1)
    firsts = (0, *[each.layout.offset * each.dtype.itemsize for each in (line, values)])
    return Launch(chosen, -(-count // THREADS), bytes(made), firsts)
