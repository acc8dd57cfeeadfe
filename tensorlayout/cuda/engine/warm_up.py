"""Kernels compiled before they are first needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from tensorlayout import dtypes as kinds
from tensorlayout.cuda import (
    band_plan,
    combine_plan,
    copy_tiled,
    elementwise,
    fill_plan,
    gather_plan,
    leading_plan,
    placing_plan,
    products_integers,
    quantile_plan,
    reduce_plan,
    replace_plan,
    scan_plan,
    scatter_plan,
    search_plan,
    select_plan,
    sequence_plan,
    sort_plan,
    spread_plan,
)
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.driver import Counters, Kernel, driver
from tensorlayout.cuda.engine.kernel_shapes import kernels_in
from tensorlayout.cuda.engine.optional import with_progress
from tensorlayout.devices import Device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.kernels_path import kernel_directory
from tensorlayout.layout import Layout
from tensorlayout.plan.elementwise import Elementwise
from tensorlayout.tensor import TensorSpec


def known() -> Iterator[Kernel]:
    """The kernels that do not depend on operations, and on few types at most, in every shape."""
    there = {path.name for path in kernel_directory().glob("*.cu")}
    return (kernel for kernel in _shapes() if kernel.file in there)


def _shapes() -> Iterator[Kernel]:
    for file in ("copy.cu", "coordinates.cu", "join.cu"):
        yield from kernels_in(file)
    yield from fill_plan.kernels()
    yield from band_plan.kernels()
    yield from products_integers.kernels()
    yield from sequence_plan.kernels()
    yield from copy_tiled.kernels()
    of_layouts = (
        combine_plan,
        gather_plan,
        placing_plan,
        replace_plan,
        scatter_plan,
        select_plan,
        spread_plan,
    )
    for plans in of_layouts:
        yield from plans.kernels()


# Elementwise functions and reductions that most programs call.
_OF_TWO = ("add", "divide", "maximum", "minimum", "multiply", "subtract")
_OF_ONE = ("abs", "negative", "square")
_OF_FLOATS = ("exp", "log", "sqrt", "tanh")
_COMPARING = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
_REDUCING = ("first_greatest", "first_least", "greatest", "least", "nonzero", "sum")
_REDUCING_FLOATS = ("variance", "wide_sum")

# Operands of them: all in one run; a row, or a column, for each row.
_RUN = ((4096,), (4096,))
_ROWS = (((64, 64), (64,)), ((64, 64), (64, 1)))


def common(dtype: Any) -> Iterator[Kernel]:
    """The kernels of one dtype that most programs need, with 32-bit indices.

    Of elementwise functions and reductions, scans, sorts, searches and quantiles. There are many
    more: give `warmup` those that you use besides.
    """
    kind = as_dtype(dtype, "warmup: dtype")
    given = (*_of_elements(kind), *_of_lines(kind))
    wide = ("INDEX", "int64_t")
    yield from dict.fromkeys(kernel for kernel in given if wide not in kernel.shape)


def _of_elements(dtype: DType) -> Iterator[Kernel]:
    floats = kinds.in_category(dtype, "real floating")
    real = kinds.in_category(dtype, "real numeric")
    same = [name for name in _OF_TWO if floats or name != "divide"] if real else []
    for shapes in (_RUN, *_ROWS):
        for name, result in (*product(same, ("same",)), *product(_COMPARING, ("bool",))):
            if real or name in ("equal", "not_equal"):
                yield _elementwise(name, dtype, shapes, result)
    for name in (*(_OF_ONE if real else ()), *(_OF_FLOATS if floats else ())):
        yield _elementwise(name, dtype, _RUN[:1], "same")
    if real:
        functors = (*_REDUCING, *(_REDUCING_FLOATS if floats else ()))
        for kernel in reduce_plan.kernels(dtype, functors):
            if ("RANK", "0") not in kernel.shape:
                yield kernel
        spec = TensorSpec(dtype, Layout.row_major((1,)), _DEVICE)
        yield from combine_plan.combining_kernels(spec, "add")


_DEVICE = Device("cuda", 0)


def _elementwise(name: str, dtype: DType, shapes: tuple[Any, ...], result: str) -> Kernel:
    operation = Elementwise(name, "any", None, result)
    plan = operation.plan(
        *[TensorSpec(dtype, Layout.row_major(shape), _DEVICE) for shape in shapes]
    )
    found = elementwise.plan_elementwise(plan, (256,) * (1 + len(shapes))).launch
    assert found is not None, "there are elements"
    return found.kernel


def _of_lines(dtype: DType) -> Iterator[Kernel]:
    if not kinds.in_category(dtype, "real numeric"):
        return
    yield from scan_plan.kernels(dtype)
    yield from sort_plan.kernels(dtype)
    yield from leading_plan.kernels(dtype)
    yield from search_plan.kernels(dtype)
    floats = kinds.in_category(dtype, "real floating")
    yield from quantile_plan.kernels(dtype, dtype if floats else kinds.float64)


def warmup(
    kernels: Iterable[Kernel] | None = None,
    *,
    dtypes: Iterable[Any] = ("float32",),
    architecture: int | None = None,
) -> int:
    """Compile `kernels` ahead; how many no cache had.

    By default all `known` ones, and those that are `common` to `dtypes`. Each is compiled, kept on
    disk, and loaded on the current device; with `architecture` (90 for compute capability 9.0) it
    is only kept on disk, which needs CuPy and no GPU: to build an image of a container, say. A bar
    on the standard error shows how far it is.

    RuntimeError if a kernel does not compile.
    """
    # One after the other: NVRTC 12.9 compiles in one thread at a time (two threads use 0.99 of a
    # processor; 2026-11, 2-core AMD EPYC (Zen 4)).
    if kernels is None:
        kernels = (*known(), *(kernel for dtype in dtypes for kernel in common(dtype)))
    given = list(kernels)
    counters = Counters() if architecture else driver().counters
    before = counters.compiles
    for kernel in with_progress(given, "compiling kernels", len(given)):
        if architecture:
            nvrtc.cubin_file(kernel, architecture, counters)
        else:
            driver().launcher(kernel)
    return counters.compiles - before
