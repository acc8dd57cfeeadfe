"""Library calls on CUDA: our kernels, matrix products, or CuPy's functions.

CuPy gets arrays over the operands' memory, without copies. 16-bit floats, which cuSOLVER and cuFFT
lack, are converted to float32, as on the CPU; results are row-major. The simulator calls NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine import tensor_allocator, wrap_external
from tensorlayout.cuda.engine.driver import StridedMemory, driver, import_cupy_module
from tensorlayout.cuda.matmul import compile_tensordot_or_vecdot
from tensorlayout.cuda.sort import SEARCH_OPERATIONS, compile_searchsorted_or_isin
from tensorlayout.devices import CPU, Device
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan import (
    Copy,
    Event,
    LibraryPlan,
    TransferPlan,
    allocate_then_write,
    compile_call,
    compile_plan,
    compile_traced_copy,
    compile_traced_tensor_copy,
    compute_dtype,
    slice_layout,
)
from tensorlayout.support.array_library import ARRAY_FUNCTIONS
from tensorlayout.tensor import Tensor, TensorSpec

Call = Callable[..., Any]

# Calls that make the host wait, for a shape that depends on data or for cuSOLVER's status. Calls
# whose elements must be finite (`operation.finite`) wait once more, for that check.
WAITING_CALLS = frozenset(
    {
        *("bincount", "isin", "repeat"),
        *("unique_all", "unique_counts", "unique_inverse", "unique_values"),
        *("cholesky", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm", "matrix_power"),
        *("matrix_rank", "pinv", "qr", "solve", "svd", "svdvals"),
    }
)

# Eigenvalues of general matrices need cuSOLVER's geev, which not every CuPy has.
_GEEV = ("eig", "eigvals")
_ON_HOST = "work on the CPU, or use a CuPy whose cuSOLVER has geev"


def compile_library_call(plan: LibraryPlan) -> Call:
    """Compile a library call to a function of the operands that allocates its results."""
    name, specs = plan.operation.name, plan.results
    if specs is not None and not any(spec.layout.size for spec in specs):
        # Empty results need no call of a library.
        news = [tensor_allocator(spec) for spec in specs]
        return lambda *_: tuple(new() for new in news) if len(news) > 1 else news[0]()
    if name in SEARCH_OPERATIONS and dtypes.is_in_category(plan.dtype, "real numeric"):
        return allocate_then_write(
            tensor_allocator(plan.result), compile_searchsorted_or_isin(plan)
        )
    product = compile_tensordot_or_vecdot(plan)
    if product is not None:
        return allocate_then_write(tensor_allocator(plan.result), product)
    simulated = driver().name == "simulator"
    if (
        name in _GEEV
        and not simulated
        and not import_cupy_module("cupyx.cusolver").check_availability("geev")
    ):
        return _compile_on_host(plan)
    work = compute_dtype(plan.dtype)
    operands = [make_dtype_converter(name, spec, work) for spec in plan.operands]
    call = _make_array_call(plan, simulated)
    number = plan.result.device.number
    waits = (name in WAITING_CALLS) + plan.operation.finite

    def call_library_function(*inputs: Tensor) -> Any:
        with driver().using_device(number):
            tensors = [convert(x) for convert, x in zip(operands, inputs, strict=True)]
            # CuPy waits inside of these calls, which the driver does not see.
            driver().counters.synchronisations += waits
            outputs = call(*tensors)
            output_arrays = outputs if isinstance(outputs, tuple) else (outputs,)
            results = tuple(
                map(
                    array_to_tensor_of_spec,
                    output_arrays,
                    _result_specs_in_operand_dtype(plan, work, output_arrays),
                )
            )
        return results if isinstance(outputs, tuple) else results[0]

    return call_library_function


def _result_specs_in_operand_dtype(
    plan: LibraryPlan, compute_dtype: DType, arrays: tuple[Any, ...]
) -> Iterable[TensorSpec]:
    """Return the specs of results; values computed in `compute_dtype` get the operands' dtype."""
    if plan.results is not None:
        return plan.results
    kinds = [plan.dtype if array.dtype == compute_dtype else array.dtype for array in arrays]
    return [
        TensorSpec(dtype, Layout.row_major(array.shape), plan.result.device)
        for array, dtype in zip(arrays, kinds, strict=True)
    ]


def _make_array_call(plan: LibraryPlan, simulated: bool) -> Call:
    """Return a function that calls the driver's array library on arrays over the operands."""
    operation, options = plan.operation, dict(plan.options)
    function = ARRAY_FUNCTIONS[operation.name]
    # CuPy checks cuSOLVER's status (a singular matrix, say) only if asked to: the check waits.
    errstate: Callable[..., AbstractContextManager[None]] = (
        partial(np.errstate, all="ignore")
        if simulated
        else partial(import_cupy_module("cupyx").errstate, linalg="raise")
    )

    def call_array_function(*tensors: Tensor) -> Any:
        array_module = driver().array_module(operation.name)
        arrays = map(tensor_to_array, tensors)
        with errstate():
            results = operation.call_library(
                array_module, partial(function, array_module), *arrays, **options
            )
        # NumPy returns scalars for results of rank 0.
        return _map_results(np.asarray, results) if simulated else results

    return call_array_function


def _map_results(function: Callable[[Any], Any], results: Any) -> Any:
    return tuple(map(function, results)) if isinstance(results, tuple) else function(results)


def _compile_on_host(plan: LibraryPlan) -> Call:
    """Compile the call on the CPU, with copies of operands and results that a trace shows."""

    def make_transfer(source: TensorSpec, device: Device) -> Call:
        result = TensorSpec(source.dtype, source.layout, device)
        step = Event(plan.operation.name, source, result, _ON_HOST)
        return compile_traced_copy(step, TransferPlan(source, result))

    operands = [TensorSpec(spec.dtype, spec.layout, CPU) for spec in plan.operands]
    fetch = [make_transfer(spec, CPU) for spec in plan.operands]
    call = compile_plan(plan.operation.plan(len(operands), *operands, *plan.options))

    def compute_on_host(*tensors: Tensor) -> Any:
        results = call(*[move(x) for move, x in zip(fetch, tensors, strict=True)])
        return _map_results(lambda x: make_transfer(x.spec, plan.result.device)(x), results)

    return compute_on_host


# ---- Between tensors and the arrays of a library, without a copy


def tensor_to_array(x: Tensor) -> Any:
    """Return the library's array over a tensor's elements; bools are copied as 0 and 1.

    Any non-zero byte is True here, but libraries compare, sort and add the bytes themselves.
    """
    layout, itemsize = x.spec.layout, x.itemsize
    first = x.memory.address + layout.offset * itemsize
    steps = tuple(stride * itemsize for stride in layout.strides)
    assert x.home is not None
    strided_memory = StridedMemory(first, layout.shape, steps, x.dtype, x.device.number)
    array = driver().array_over_memory(strided_memory, x.home[0])
    return array.view(np.uint8) != 0 if x.dtype == dtypes.bool else array


def array_to_tensor(array: Any, device: Device) -> Tensor:
    """Return a tensor over an array of the library on `device`; it keeps the array alive."""
    described = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    address = int(described["data"][0])
    tensor = wrap_external(
        address, array.dtype, array.shape, array.strides, device, array, readonly=False
    )
    assert tensor is not None, "the library's arrays have whole elements"
    return tensor


_COPY = Copy("library")


def array_to_tensor_of_spec(array: Any, spec: TensorSpec) -> Tensor:
    """Return a tensor of a row-major spec: over the array if it fits, otherwise a copy."""
    tensor = array_to_tensor(array, spec.device)
    if tensor.dtype == spec.dtype and tensor.spec.layout.same_placement(spec.layout):
        return Tensor._from_memory(tensor.memory, spec, tensor.home)
    return compile_call(_COPY, tensor.spec, spec.layout, spec.dtype)(tensor)


def make_dtype_converter(
    operation_name: str, spec: TensorSpec, dtype: DType
) -> Callable[[Tensor], Tensor]:
    """Return a converter of tensors to `dtype` in the same form; stride 0 stays stride 0."""
    if spec.dtype == dtype:
        return lambda x: x
    layout = spec.layout
    index = [
        slice(0, 1) if n and not s else slice(None)
        for n, s in zip(layout.shape, layout.strides, strict=True)
    ]
    unrepeated = slice_layout(layout, tuple(index))
    source = TensorSpec(spec.dtype, unrepeated, spec.device)
    result = TensorSpec(dtype, unrepeated.form, spec.device)
    whole = TensorSpec(dtype, result.layout.broadcast_to(layout.shape), spec.device)
    copy = compile_traced_tensor_copy(operation_name, source, result)

    def convert_tensor(x: Tensor) -> Tensor:
        copied = copy(x)
        return Tensor._from_memory(copied.memory, whole, copied.home)

    return convert_tensor
