"""Library calls on CUDA: kernels of ours, matrix products, or CuPy's functions.

CuPy gets arrays over the operands' memory, as they lie. 16-bit floats, which cuSOLVER and cuFFT do
not have, go in as float32, as on the CPU; results are row-major. On the simulator NumPy is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine import borrowed, new_tensors
from tensorlayout.cuda.engine.driver import Strided, cupy_part, driver
from tensorlayout.cuda.matmul import write_library_product
from tensorlayout.cuda.sort import SEARCHES, write_search
from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan import (
    Copy,
    Event,
    LibraryPlan,
    TransferPlan,
    allocating,
    carried_out,
    noted,
    noted_copy,
    part_of,
    prepared,
    working,
)
from tensorlayout.support.array_library import TABLE
from tensorlayout.tensor import Tensor, TensorSpec

Call = Callable[..., Any]

# Calls for which the host waits: shapes depend on data, or what cuSOLVER reports is looked at.
# Those whose elements must be finite wait for that first.
WAIT = frozenset(
    {
        *("bincount", "isin", "repeat"),
        *("unique_all", "unique_counts", "unique_inverse", "unique_values"),
        *("cholesky", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm", "matrix_power"),
        *("matrix_rank", "pinv", "qr", "solve", "svd", "svdvals"),
    }
)

# Eigenvalues of general matrices, for which a GPU needs cuSOLVER's geev.
_GEEV = ("eig", "eigvals")
_ON_HOST = "work on the CPU, or use a CuPy whose cuSOLVER has geev"


def prepare(plan: LibraryPlan) -> Call:
    """Return the function of the operands."""
    name, specs = plan.operation.name, plan.results
    if specs is not None and not any(spec.layout.size for spec in specs):
        news = [new_tensors(spec) for spec in specs]
        return lambda *_: tuple(new() for new in news) if len(news) > 1 else news[0]()
    if name in SEARCHES and dtypes.in_category(plan.dtype, "real numeric"):
        return allocating(new_tensors(plan.result), write_search(plan))
    product = write_library_product(plan)
    if product is not None:
        return allocating(new_tensors(plan.result), product)
    simulated = driver().name == "simulator"
    if (
        name in _GEEV
        and not simulated
        and not cupy_part("cupyx.cusolver").check_availability("geev")
    ):
        return _on_host(plan)
    work = working(plan.dtype)
    operands = [ready(name, spec, work) for spec in plan.operands]
    call = _library(plan, simulated)
    number = plan.result.device.number
    waits = (name in WAIT) + plan.operation.finite

    def run(*given: Tensor) -> Any:
        with driver().using(number):
            tensors = [convert(x) for convert, x in zip(operands, given, strict=True)]
            driver().counters.synchronisations += waits
            found = call(*tensors)
            several = found if isinstance(found, tuple) else (found,)
            results = tuple(map(placed, several, _specs(plan, work, several)))
        return results if isinstance(found, tuple) else results[0]

    return run


def _specs(plan: LibraryPlan, work: DType, arrays: tuple[Any, ...]) -> Iterable[TensorSpec]:
    """Return the specs of results: values worked out in another dtype get the operands' own."""
    if plan.results is not None:
        return plan.results
    kinds = [plan.dtype if array.dtype == work else array.dtype for array in arrays]
    return [
        TensorSpec(dtype, Layout.row_major(array.shape), plan.result.device)
        for array, dtype in zip(arrays, kinds, strict=True)
    ]


def _library(plan: LibraryPlan, simulated: bool) -> Call:
    """Return what asks the library of the driver, on arrays over the operands."""
    operation, options = plan.operation, dict(plan.options)
    function = TABLE[operation.name]
    # CuPy checks what cuSOLVER reports only where it is asked to, for that makes the host wait.
    errstate: Callable[..., AbstractContextManager[None]] = (
        partial(np.errstate, all="ignore")
        if simulated
        else partial(cupy_part("cupyx").errstate, linalg="raise")
    )

    def call(*tensors: Tensor) -> Any:
        library = driver().library(operation.name)
        arrays = map(array_of, tensors)
        with errstate():
            found = operation.ask(library, partial(function, library), *arrays, **options)
        return _each(np.asarray, found) if simulated else found  # NumPy gives scalars

    return call


def _each(function: Callable[[Any], Any], found: Any) -> Any:
    return tuple(map(function, found)) if isinstance(found, tuple) else function(found)


def _on_host(plan: LibraryPlan) -> Call:
    """Return the CPU's function on copies of the operands; a trace shows what is moved."""

    def moving(source: TensorSpec, device: Device) -> Call:
        result = TensorSpec(source.dtype, source.layout, device)
        step = Event(plan.operation.name, source, result, _ON_HOST)
        return noted(step, TransferPlan(source, result))

    operands = [TensorSpec(spec.dtype, spec.layout, CPU) for spec in plan.operands]
    fetch = [moving(spec, CPU) for spec in plan.operands]
    call = carried_out(plan.operation.plan(len(operands), *operands, *plan.options))

    def run(*given: Tensor) -> Any:
        found = call(*[move(x) for move, x in zip(fetch, given, strict=True)])
        return _each(lambda x: moving(x.spec, plan.result.device)(x), found)

    return run


# ---- Between tensors and the arrays of a library, without a copy


def array_of(x: Tensor) -> Any:
    """Return the library's array over the elements of a tensor; of bools a copy in 0 and 1.

    Every byte but 0 is True, but libraries compare, sort and add up the bytes.
    """
    layout, itemsize = x.spec.layout, x.itemsize
    first = x.memory.address + layout.offset * itemsize
    steps = tuple(stride * itemsize for stride in layout.strides)
    assert x.home is not None
    given = Strided(first, layout.shape, steps, x.dtype, x.device.number)
    array = driver().array(given, x.home[0])
    return array.view(np.uint8) != 0 if x.dtype == dtypes.bool else array


def tensor_of(array: Any, device: Device) -> Tensor:
    """Make a tensor over an array of the library on `device`, which is kept with it."""
    described = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    address = int(described["data"][0])
    found = borrowed(
        address, array.dtype, array.shape, array.strides, device, array, readonly=False
    )
    assert found is not None, "the library's arrays have whole elements"
    return found


_COPY = Copy("library")


def placed(array: Any, spec: TensorSpec) -> Tensor:
    """Make an array a tensor of a row-major spec: over it, or a copy."""
    found = tensor_of(array, spec.device)
    if found.dtype == spec.dtype and found.spec.layout.same_placement(spec.layout):
        return Tensor._new(found.memory, spec, found.home)
    return prepared(_COPY, found.spec, spec.layout, spec.dtype)(found)


def ready(name: str, spec: TensorSpec, dtype: DType) -> Callable[[Tensor], Tensor]:
    """Return what converts a tensor of `spec`, in its form; what it repeats stays repeated."""
    if spec.dtype == dtype:
        return lambda x: x
    layout = spec.layout
    cut = [
        slice(0, 1) if n and not s else slice(None)
        for n, s in zip(layout.shape, layout.strides, strict=True)
    ]
    once = part_of(layout, tuple(cut))
    source = TensorSpec(spec.dtype, once, spec.device)
    result = TensorSpec(dtype, once.form, spec.device)
    whole = TensorSpec(dtype, result.layout.broadcast_to(layout.shape), spec.device)
    copy = noted_copy(name, source, result)

    def converted(x: Tensor) -> Tensor:
        found = copy(x)
        return Tensor._new(found.memory, whole, found.home)

    return converted
