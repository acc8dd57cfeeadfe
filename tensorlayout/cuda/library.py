"""Library calls on CUDA: CuPy's functions on arrays over the operands' memory, as they lie.

16-bit floats, which cuSOLVER and cuFFT do not have, go in as float32, as on the CPU; results are
row-major. On the simulator the calls are NumPy's, those of the CPU, on the simulated memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda import library_functions, library_products
from tensorlayout.cuda.engine.arrays import array_of, placer, ready
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import new_tensor, read
from tensorlayout.cuda.engine.optional import cupy_part
from tensorlayout.cuda.library_linalg import NotOnDevice
from tensorlayout.cuda.sort import SEARCHES
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.library import LibraryPlan, working
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec


def prepare(plan: LibraryPlan) -> Callable[..., Any]:
    """The function of the operands: a kernel of ours, matrix products, or CuPy's function."""
    name, specs = plan.operation.name, plan.results
    if specs is not None and not any(spec.layout.size for spec in specs):
        return _nothing(specs)
    if name in SEARCHES and dtypes.in_category(plan.dtype, "real numeric"):
        assert specs is not None
        options = (value for _, value in plan.options)
        return SEARCHES[name](plan.operands, plan.dtype, specs[0], *options)
    by_products = library_products.prepare(plan)
    if by_products is not None:
        return by_products
    work = working(plan.dtype)
    operands = [ready(name, spec, work) for spec in plan.operands]
    call = _simulated(plan) if driver().name == "simulator" else _cupy(plan)
    place = placer()
    number = plan.result.device.number
    waits = (name in library_functions.WAIT) + plan.operation.finite

    def run(*given: Tensor) -> Any:
        with driver().using(number):
            tensors = [convert(x) for convert, x in zip(operands, given, strict=True)]
            driver().counters.synchronisations += waits
            found = call(*tensors)
            several = found if isinstance(found, tuple) else (found,)
            results = tuple(map(place, several, _specs(plan, work, several)))
        return results if isinstance(found, tuple) else results[0]

    return run


def _nothing(specs: tuple[TensorSpec, ...]) -> Run:
    def run(*_: Tensor) -> Any:
        found = tuple(new_tensor(spec) for spec in specs)
        return found if len(found) > 1 else found[0]

    return run


def _specs(plan: LibraryPlan, work: DType, arrays: tuple[Any, ...]) -> Iterable[TensorSpec]:
    """Of the results: values that were worked out in another dtype get the operands' own."""
    if plan.results is not None:
        return plan.results
    kinds = [plan.dtype if array.dtype == work else array.dtype for array in arrays]
    return [
        TensorSpec(dtype, Layout.row_major(array.shape), plan.result.device)
        for array, dtype in zip(arrays, kinds, strict=True)
    ]


def _simulated(plan: LibraryPlan) -> Callable[..., Any]:
    operation, options = plan.operation, dict(plan.options)

    def call(*tensors: Tensor) -> Any:
        numpy = driver().library(operation.name)
        function = operation.numpy or partial(library_functions.TABLE[operation.name], numpy)
        arrays = map(array_of, tensors)
        with numpy.errstate(all="ignore"):
            return _arrays(operation.ask(numpy, function, *arrays, **options))

    return call


def _arrays(found: Any) -> Any:
    """Scalars of NumPy as arrays."""
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)


def _cupy(plan: LibraryPlan) -> Callable[..., Any]:
    operation, options = plan.operation, dict(plan.options)
    function = library_functions.TABLE[plan_key(plan)]
    # CuPy checks what cuSOLVER reports only where it is asked to, for that makes the host wait.
    errstate: Callable[..., AbstractContextManager[None]] = cupy_part("cupyx").errstate

    def call(*tensors: Tensor) -> Any:
        cupy = driver().library(operation.name)
        arrays = map(array_of, tensors)
        try:
            with errstate(linalg="raise"):
                return operation.ask(cupy, partial(function, cupy), *arrays, **options)
        except NotOnDevice:
            return _on_host(plan, tensors)

    return call


def plan_key(plan: LibraryPlan) -> str:
    """The name in the table; of two operations of one name the second has another operand more."""
    name = plan.operation.name
    return f"{name} of {len(plan.operands)}" if name == "bincount" else name


def _on_host(plan: LibraryPlan, tensors: tuple[Tensor, ...]) -> Any:
    """NumPy's function on copies of the operands; a trace shows what is moved."""
    operation, name = plan.operation, plan.operation.name
    arrays = []
    for x in tensors:
        layout = x._spec.layout
        steps = [stride * x.itemsize for stride in layout.strides]
        first = layout.offset * x.itemsize
        octets = read(x)
        arrays.append(np.ndarray(layout.shape, x.dtype, octets, first if octets.size else 0, steps))
        note(Step(name, "copy", layout, layout, x.dtype, octets.nbytes, octets.nbytes))
    with np.errstate(all="ignore"):
        found = _arrays(operation.ask(np, operation.numpy, *arrays, **dict(plan.options)))
    several = found if isinstance(found, tuple) else (found,)
    moved = tuple(_uploaded(name, array, plan) for array in several)
    return moved if isinstance(found, tuple) else moved[0]


def _uploaded(name: str, array: Any, plan: LibraryPlan) -> Any:
    spec = TensorSpec(array.dtype, Layout.row_major(array.shape), plan.result.device)
    result = new_tensor(spec)
    octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if octets.size:
        driver().to_device(result._memory.address, octets)
    note(Step(name, "copy", spec.layout, spec.layout, spec.dtype, octets.nbytes, octets.nbytes))
    return array_of(result)
