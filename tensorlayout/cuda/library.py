"""Library calls on CUDA: kernels of ours, matrix products, or CuPy's functions.

CuPy gets arrays over the operands' memory, as they lie. 16-bit floats, which cuSOLVER and cuFFT do
not have, go in as float32, as on the CPU; results are row-major. On the simulator NumPy is called,
on the simulated memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.array_functions import TABLE
from tensorlayout.cuda.engine.arrays import array_of, placer, ready
from tensorlayout.cuda.engine.driver import driver
from tensorlayout.cuda.engine.memory import new_tensor, new_tensors, read
from tensorlayout.cuda.engine.optional import cupy_part
from tensorlayout.cuda.matmul import write_product
from tensorlayout.cuda.sort import SEARCHES
from tensorlayout.devices import CPU
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.checks import MAX_RANK
from tensorlayout.plan.base import Run, Write
from tensorlayout.plan.library import LibraryPlan, working
from tensorlayout.plan.run import noted_copy
from tensorlayout.plan.steps import Step, note
from tensorlayout.tensor import Tensor, TensorSpec

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


def prepare(plan: LibraryPlan) -> Callable[..., Any]:
    """The function of the operands: a kernel of ours, matrix products, or CuPy's function."""
    name, specs = plan.operation.name, plan.results
    if specs is not None and not any(spec.layout.size for spec in specs):
        return _nothing(specs)
    if name in SEARCHES and dtypes.in_category(plan.dtype, "real numeric"):
        assert specs is not None
        options = (value for _, value in plan.options)
        return SEARCHES[name](plan.operands, plan.dtype, specs[0], *options)
    product = _product(plan)
    if product is not None:
        return _anew(plan.result, product)
    work = working(plan.dtype)
    operands = [ready(name, spec, work) for spec in plan.operands]
    call = _library(plan)
    place = placer()
    number = plan.result.device.number
    waits = (name in WAIT) + plan.operation.finite

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
    """The specs of results: values worked out in another dtype get the operands' own."""
    if plan.results is not None:
        return plan.results
    kinds = [plan.dtype if array.dtype == work else array.dtype for array in arrays]
    return [
        TensorSpec(dtype, Layout.row_major(array.shape), plan.result.device)
        for array, dtype in zip(arrays, kinds, strict=True)
    ]


def _library(plan: LibraryPlan) -> Callable[..., Any]:
    """What asks the library of the driver, on arrays over the operands."""
    operation, options, simulated = plan.operation, dict(plan.options), driver().name == "simulator"
    function = TABLE[operation.name]
    if not simulated and operation.name in _GEEV:
        cusolver = cupy_part("cupyx.cusolver")
        if not cusolver.check_availability("geev"):
            return partial(_on_host, plan)
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
        return _arrays(found) if simulated else found

    return call


def _arrays(found: Any) -> Any:
    """Scalars of NumPy as arrays."""
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)


def _on_host(plan: LibraryPlan, *tensors: Tensor) -> Any:
    """NumPy's function on copies of the operands; a trace shows what is moved."""
    operation, name = plan.operation, plan.operation.name
    function, arrays = partial(TABLE[name], np), []
    for x in tensors:
        layout = x._spec.layout
        steps = [stride * x.itemsize for stride in layout.strides]
        first = layout.offset * x.itemsize
        note(Step(name, x._spec, TensorSpec(x.dtype, layout, CPU), _ON_HOST))
        octets = read(x)
        arrays.append(np.ndarray(layout.shape, x.dtype, octets, first if octets.size else 0, steps))
    with np.errstate(all="ignore"):
        found = _arrays(operation.ask(np, function, *arrays, **dict(plan.options)))
    several = found if isinstance(found, tuple) else (found,)
    moved = tuple(_uploaded(name, array, plan) for array in several)
    return moved if isinstance(found, tuple) else moved[0]


def _uploaded(name: str, array: Any, plan: LibraryPlan) -> Any:
    spec = TensorSpec(array.dtype, Layout.row_major(array.shape), plan.result.device)
    note(Step(name, TensorSpec(spec.dtype, spec.layout, CPU), spec, _ON_HOST))
    result = new_tensor(spec)
    octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if octets.size:
        driver().to_device(result._memory.address, octets)
    return array_of(result)


# ---- Matrix products


def _anew(spec: TensorSpec, write: Write) -> Run:
    new_tensor = new_tensors(spec)

    def run(*operands: Tensor) -> Tensor:
        result = new_tensor()
        write(result, *operands)
        return result

    return run


def _product(plan: LibraryPlan) -> Write | None:
    """`tensordot`, and `vecdot` of contiguous floats; None for what is no matrix product."""
    options = dict(plan.options)
    if plan.operation.name == "tensordot":
        return _tensordot(plan, *options["axes"])
    if plan.operation.name == "vecdot" and plan.dtype.kind not in "iu":
        axis = options["axis"]
        # BLAS reads other vectors a sector of memory for each element. Matrices have a dimension
        # more.
        layouts = [spec.layout for spec in plan.operands]
        if all(x.strides[axis] == 1 and x.ndim < MAX_RANK for x in layouts):
            return _vecdot(plan, axis)
    return None


def _tensordot(plan: LibraryPlan, first: tuple[int, ...], second: tuple[int, ...]) -> Write:
    """One matrix product; an operand is copied where its axes are not two runs of memory."""
    x, y = plan.operands
    rows = tuple(d for d in range(x.layout.ndim) if d not in first)
    columns = tuple(d for d in range(y.layout.ndim) if d not in second)
    a, ready_a = _as_matrix(x, rows, first)
    b, ready_b = _as_matrix(y, second, columns)
    write = write_product("tensordot", (a, x.dtype), (b, y.dtype), plan.result)
    return lambda out, u, v: write(out, ready_a(u), ready_b(v))


def _as_matrix(
    spec: TensorSpec, down: tuple[int, ...], right: tuple[int, ...]
) -> tuple[Layout, Callable[[Tensor], Tensor]]:
    """Dimensions merged into those of a matrix, and what copies the tensor where they cannot be."""
    turned = spec.layout.permute((*down, *right))
    shape = [prod(spec.layout.shape[d] for d in dims) for dims in (down, right)]
    merged = turned.reshape(shape)
    if merged is not None:
        return merged, lambda x: x
    source = TensorSpec(spec.dtype, turned, spec.device)
    packed = TensorSpec(spec.dtype, Layout.row_major(turned.shape), spec.device)
    return Layout.row_major(shape), noted_copy("tensordot", source, packed)


def _vecdot(plan: LibraryPlan, axis: int) -> Write:
    """Rows times columns; complex rows are conjugated by BLAS."""
    x, y = plan.operands
    a = _last(x.layout, axis)
    b = _last(y.layout, axis)
    return write_product(
        "vecdot",
        (a.expand_dims(a.ndim - 1), x.dtype),
        (b.expand_dims(b.ndim), y.dtype),
        plan.result,
        conjugate=plan.dtype.kind == "c",
    )


def _last(layout: Layout, axis: int) -> Layout:
    """The dimension `axis` behind all others."""
    at = axis % layout.ndim
    return layout.permute((*(d for d in range(layout.ndim) if d != at), at))
