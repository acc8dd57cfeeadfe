"""Medians and quantiles: lines sorted, then read at fractional positions."""

from __future__ import annotations

from math import prod

from tensorlayout.cuda.engine.kernel_shapes import c_type, kernel, parameters
from tensorlayout.cuda.engine.launch import THREADS, Launch, Launches, writer
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.cuda.sort import sorted_rows
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.loop import index_type
from tensorlayout.plan.base import Run, Write
from tensorlayout.plan.reduce import CONTINUOUS, ReducePlan
from tensorlayout.plan.run import noted_copy
from tensorlayout.tensor import Tensor, TensorSpec

FILE = "reduce/quantile.cu"


def write(plan: ReducePlan) -> Write:
    """The quantiles of the source, whose first dimension repeats it for each fraction.

    Lines whose elements are not the fastest are brought together first, which a trace shows.
    """
    first, spec = plan.source.layout.slice((0,)), plan.result
    assert first is not None, "a dimension that repeats the others has no tiles"
    source = TensorSpec(plan.source.dtype, first, plan.source.device)
    ready, lines = _in_lines(plan.operation.name, source, tuple(d - 1 for d in plan.dims))
    sort = sorted_rows(lines)
    planned = plan_quantiles(lines, spec.dtype, *plan.static)
    read = writer(spec.device.number, lambda _: planned)
    return lambda out, x: read(out, sort(ready(x)))


def _in_lines(name: str, source: TensorSpec, dims: tuple[int, ...]) -> tuple[Run, TensorSpec]:
    """What makes a tensor one whose last dimension holds all elements along `dims`, and its spec.

    The others are in the order of the source, slowest first.
    """
    layout = source.layout
    slowest_first = layout.minor_to_major[::-1]
    kept = tuple(d for d in slowest_first if d not in dims)
    along = tuple(d for d in slowest_first if d in dims)
    turned = layout.permute((*kept, *along))
    shape = (*(layout.shape[d] for d in kept), prod(layout.shape[d] for d in dims))
    before, after = (
        [d for d in order if layout.shape[d] > 1] for order in (slowest_first, (*kept, *along))
    )
    merged = turned.reshape(shape) if before == after and not layout.is_tiled else None
    if merged is not None:
        lines = TensorSpec(source.dtype, merged, source.device)
        return lambda x: Tensor._new(x._memory, lines, x._home), lines
    given = TensorSpec(source.dtype, turned, source.device)
    packed = TensorSpec(source.dtype, Layout.row_major(turned.shape), source.device)
    lines = TensorSpec(source.dtype, Layout.row_major(shape), source.device)
    copy = noted_copy(name, given, packed)

    def gather(x: Tensor) -> Tensor:
        found = copy(x)
        return Tensor._new(found._memory, lines, found._home)

    return gather, lines


def plan_quantiles(
    given: TensorSpec, result: DType, fractions: tuple[float, ...], method: str, skip: bool
) -> Launches:
    """How to read the quantiles of sorted lines along the last dimension, none of them empty.

    The lines are one after the other; the result has all lines for the first fraction, then for the
    next. `skip`: NaN count as absent.
    """
    length = given.layout.shape[-1]
    lines, most = given.layout.size // length, constant(FILE, "MOST")
    index = index_type(lines * max(length, len(fractions)) + THREADS, 0)
    alpha, beta = CONTINUOUS.get(method, (0.0, 0.0))
    types = (("ELEMENT", c_type(given.dtype)), ("RESULT", c_type(result)))
    chosen = kernel(FILE, "read_quantiles", types, INDEX=index)
    launches = []
    for first in range(0, len(fractions), most):
        some = fractions[first : first + most]
        made = parameters(chosen)(
            alpha=alpha,
            beta=beta,
            lines=lines,
            length=length,
            count=len(some),
            method=constant(FILE, "continuous" if method in CONTINUOUS else method),
            skip=int(skip),
        )
        made.fractions[: len(some)] = some
        begin = first * lines * result.itemsize
        launches.append(Launch(chosen, -(-lines // THREADS), bytes(made), (begin, 0)))
    return Launches(tuple(launches))
