"""Compilation of kernels ahead of their first use."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, TypeVar

from tensorlayout import dtypes as kinds
from tensorlayout.cuda import elementwise
from tensorlayout.cuda.engine import nvrtc
from tensorlayout.cuda.engine.driver import Counters, Kernel, driver
from tensorlayout.cuda.engine.kernel_shapes import c_type, kernels_in_file
from tensorlayout.devices import Device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.errors import raise_named_error, short_repr
from tensorlayout.layout import Layout
from tensorlayout.plan import Elementwise
from tensorlayout.tensor import TensorSpec

T = TypeVar("T")

# Files whose kernels have no type macros.
_FILES = (
    *("copy/copy.cu", "copy/packed.cu", "copy/tiled.cu", "fill/diagonals.cu", "fill/fill.cu"),
    "fill/patterns.cu",
    *("fill/sequence.cu", "gather.cu", "image.cu", "join.cu", "mask.cu", "matmul.cu", "pad.cu"),
    *("scatter/copy_scatter.cu", "scatter/scatter.cu", "scatter/scatter_reduce.cu"),
)


def kernels_of_any_dtype() -> Iterator[Kernel]:
    """Yield, in every shape, the kernels that depend on no operation and hardly on the dtype."""
    for file in _FILES:
        yield from kernels_in_file(file)
    # Scatters with a reduction sort keys of these types.
    for index, key in (("int32_t", "uint32_t"), ("int64_t", "uint64_t")):
        required_items = {("RANK", "1"), ("INDEX", index), ("GIVES", "positions")}
        for file in ("sort/sort.cu", "sort/radix.cu"):
            for kernel in kernels_in_file(file, (("ELEMENT", key),)):
                if required_items >= set(kernel.shape) and kernel.name != "leading_tiles":
                    yield kernel


# Elementwise functions and reductions that most programs use.
_OF_TWO = ("add", "divide", "maximum", "minimum", "multiply", "subtract")
_OF_ONE = ("abs", "negative", "square")
_OF_FLOATS = ("exp", "log", "sqrt", "tanh")
_COMPARING = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
_REDUCING = ("first_greatest", "first_least", "greatest", "least", "nonzero", "sum")
_REDUCING_FLOATS = ("variance", "wide_sum")

# Shapes of operands: equal ones; a matrix with a row, or with a column.
_RUN = ((4096,), (4096,))
_ROWS = (((64, 64), (64,)), ((64, 64), (64, 1)))


def common_kernels(dtype: Any) -> Iterator[Kernel]:
    """Yield the kernels of one dtype that most programs need, with 32-bit indices.

    They are for elementwise functions, reductions, scans, sorts, searches and quantiles. There are
    many more kernels: pass others that you use to `warmup`.
    """
    kind = as_dtype(dtype, "warmup: dtype")
    kernels = [*_kernels_of_elements(kind)]
    if kinds.is_in_category(kind, "real numeric"):
        name = c_type(kind)
        kernels += kernels_in_file("scan.cu", (("SOURCE", name), ("RESULT", name)), "add")
        kernels += sorting_kernels(kind)
    wide = ("INDEX", "int64_t")
    yield from dict.fromkeys(kernel for kernel in kernels if wide not in kernel.shape)


def _kernels_of_elements(dtype: DType) -> Iterator[Kernel]:
    floats = kinds.is_in_category(dtype, "real floating")
    real = kinds.is_in_category(dtype, "real numeric")
    same = [name for name in _OF_TWO if floats or name != "divide"] if real else []
    for shapes in (_RUN, *_ROWS):
        for name, result in (*product(same, ("same",)), *product(_COMPARING, ("bool",))):
            if real or name in ("equal", "not_equal"):
                yield _elementwise_kernel(name, dtype, shapes, result)
    for name in (*(_OF_ONE if real else ()), *(_OF_FLOATS if floats else ())):
        yield _elementwise_kernel(name, dtype, _RUN[:1], "same")
    if real:
        for functor in (*_REDUCING, *(_REDUCING_FLOATS if floats else ())):
            for kernel in reduction_kernels(dtype, functor):
                if ("RANK", "0") not in kernel.shape:
                    yield kernel
        yield from kernels_in_file(
            "scatter/scatter_reduce.cu", (("ELEMENT", c_type(dtype)),), "add"
        )


def reduction_kernels(dtype: DType, functor: str) -> tuple[Kernel, ...]:
    """Return the kernels for reductions of one dtype by one functor."""
    longest = str(16 // dtype.itemsize)
    return kernels_in_file(
        "reduce/reduce.cu", (("ELEMENT", c_type(dtype)), ("LONGEST", longest)), functor
    )


def _elementwise_kernel(name: str, dtype: DType, shapes: tuple[Any, ...], result: str) -> Kernel:
    operation = Elementwise(name, "any or narrow", result)
    device = Device("cuda", 0)
    plan = operation.plan(*[TensorSpec(dtype, Layout.row_major(shape), device) for shape in shapes])
    (launch,) = elementwise.plan_elementwise(plan, (256,) * (1 + len(shapes))).launches
    return launch.kernel


def sorting_kernels(dtype: DType) -> Iterator[Kernel]:
    """Yield the kernels that sort elements of one dtype, and that search in sorted lines."""
    name, floats = c_type(dtype), kinds.is_in_category(dtype, "real floating")
    yield from kernels_in_file("sort/sort.cu", (("ELEMENT", name),))
    yield from kernels_in_file("sort/radix.cu", (("ELEMENT", name),))
    yield from kernels_in_file(
        "sort/search.cu", (("LINE", name), ("VALUES", name), ("COMPARE", name))
    )
    result = c_type(dtype if floats else kinds.float64)
    yield from kernels_in_file("reduce/quantile.cu", (("ELEMENT", name), ("RESULT", result)))


def warmup(
    kernels: Iterable[Kernel] | None = None,
    *,
    dtypes: Iterable[Any] = ("float32",),
    architecture: int | None = None,
) -> int:
    """Compile kernels ahead; return the number of kernels that were not in a cache.

    - `kernels`: by default `kernels_of_any_dtype`, and the `common_kernels` of each of `dtypes`.
    - `architecture`: 90 for compute capability 9.0. Kernels are only stored on disk then, which
      needs CuPy but no GPU, for instance to build a container image. By default, each kernel is
      stored on disk and loaded on the current device.

    Standard error shows the progress. Raises RuntimeError if a kernel does not compile, and
    TypeError for other objects, such as names of dtypes without ``dtypes=``.
    """
    # One after the other: NVRTC 12.9 compiles in one thread at a time (two threads use 0.99 of a
    # processor; 2026-11, 2-core AMD EPYC (Zen 4)).
    if kernels is None:
        kernels = (
            *kernels_of_any_dtype(),
            *(kernel for dtype in dtypes for kernel in common_kernels(dtype)),
        )
    kernel_list = list(kernels)
    if wrong := [item for item in kernel_list if not isinstance(item, Kernel)]:
        msg = f"kernels must be kernels, got {short_repr(wrong[0])}; names of dtypes go to dtypes="
        raise_named_error("warmup", msg, TypeError)
    counters = Counters() if architecture else driver().counters
    before = counters.compiles
    for kernel in show_progress(kernel_list, "compiling kernels"):
        if architecture:
            nvrtc.cubin_file(kernel, architecture, counters)
        else:
            driver().launcher(kernel)
    return counters.compiles - before


def show_progress(items: Sequence[T], title: str) -> Iterator[T]:
    """Yield items, and show on standard error how many have been processed."""
    total = len(items)
    for done_count, item in enumerate(items):
        print(f"\r{title}: {done_count} of {total}", end="", file=sys.stderr, flush=True)
        yield item
    print(f"\r{title}: {total} of {total}", file=sys.stderr, flush=True)
