"""Matrix products on CUDA: by cuBLAS (on the simulator by NumPy), of most integers by a kernel.

Operands are not copied if BLAS accepts their layout: matrices with one contiguous dimension and a
greater stride along the other (the *leading dimension*), in stacks of one constant stride. Other
layouts, and operands of another dtype than the result, are copied first, which a trace shows.
Large products of bytes go to cuBLAS as int8, which accepts fewer layouts (`byte_gemm_layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine import (
    Launch,
    constant_value,
    kernel_with_macros,
    make_parameter_struct,
    make_writer,
    tensor_allocator,
)
from tensorlayout.cuda.engine.cublas import CapturingCublas, is_tf32_allowed
from tensorlayout.cuda.engine.driver import Driver, StridedMemory, driver, import_cupy_module
from tensorlayout.dtypes import DType
from tensorlayout.layout import MAX_RANK, Axis, Layout, merge_axes
from tensorlayout.plan import (
    AssignPlan,
    LibraryPlan,
    MatmulPlan,
    Write,
    compile_plan,
    compile_traced_tensor_copy,
    slice_layout,
)
from tensorlayout.tensor import Tensor, TensorSpec


def compile_matmul(plan: MatmulPlan) -> Write:
    """Compile a matrix product into row-major memory."""
    first, second = plan.first.layout, plan.second.layout
    if first.ndim == 1:  # a first vector is a matrix of one row, a second one of one column
        first = first.expand_dims(0)
    if second.ndim == 1:
        second = second.expand_dims(1)
    operands = (first, plan.first.dtype), (second, plan.second.dtype)
    return compile_matrix_product("matmul", *operands, plan.result)


def compile_matrix_product(
    operation_name: str,
    first: tuple[Layout, DType],
    second: tuple[Layout, DType],
    result: TensorSpec,
    *,
    conjugate: bool = False,
) -> Write:
    """Compile the product of two stacks of matrices in any order of memory.

    `result` holds the products consecutively, each in row-major order; its shape is not used.
    """
    if not result.layout.size:
        return lambda out, x, y: None
    if not first[0].shape[-1]:
        # The sum over an inner dimension of size 0 is 0; neither BLAS calls nor kernels are planned
        # for empty matrices.
        zero = compile_plan(AssignPlan(operation_name, int, result))
        return lambda out, x, y: zero(out, 0)
    floats = result.dtype.kind not in "iu"
    unrepeated = drop_repeated_matrices(first[0], second[0])
    # The second operand is compared with the first one as already cut: a dimension that both repeat
    # keeps its size in one of them, because the result needs it.
    layouts = unrepeated, drop_repeated_matrices(second[0], unrepeated)
    by_bytes = not floats and suits_byte_gemm(*layouts, result.dtype)
    copies: Sequence[Layout] = layouts
    if by_bytes:
        copies = [byte_gemm_layout(x, second=i == 1) for i, x in enumerate(layouts)]
    elif floats:
        needs_copy = operands_need_copy(*layouts)
        copies = [
            packed_matrix_layout(x) if copied else x
            for x, copied in zip(layouts, needs_copy, strict=True)
        ]
    (a, convert_a), (b, convert_b) = (
        _product_operand(
            operation_name, TensorSpec(dtype, layout, result.device), result.dtype, copy
        )
        for layout, (_, dtype), copy in zip(layouts, (first, second), copies, strict=True)
    )
    if floats:
        gemm_calls = plan_gemm(a, b, conjugate)
        write = compile_gemm(gemm_calls, (a.offset, b.offset), result.dtype, result)
    else:
        launch = plan_integer_matmul(a, b, result.dtype.itemsize)
        write = make_writer(result.device.number, lambda _: launch)
    if by_bytes:
        write = _compile_byte_gemm(operation_name, a, b, result, write)
    return lambda out, x, y: write(out, convert_a(x), convert_b(y))


def _product_operand(
    operation_name: str, spec: TensorSpec, dtype: DType, layout: Layout
) -> tuple[Layout, Callable[[Tensor], Tensor]]:
    """Return the layout that is multiplied, and a function that brings the operand into it.

    `layout`: the operand's own, or the one that it is copied into.
    """
    if spec.dtype == dtype and layout == spec.layout:
        return layout, lambda x: x
    if layout == spec.layout:
        layout = packed_matrix_layout(layout)
    result = TensorSpec(dtype, layout, spec.device)
    return layout, compile_traced_tensor_copy(operation_name, spec, result)


# ---- Library calls that are matrix products


def compile_tensordot_or_vecdot(plan: LibraryPlan) -> Write | None:
    """Compile `tensordot`, or `vecdot` of contiguous floats; None if it is no matrix product."""
    options = dict(plan.options)
    if plan.operation.name == "tensordot":  # a copy where axes are not two runs of memory
        (x, y), (first, second) = plan.operands, options["axes"]
        a, convert_a = _merge_to_matrix(
            x, [d for d in range(x.layout.ndim) if d not in first], first
        )
        b, convert_b = _merge_to_matrix(
            y, second, [d for d in range(y.layout.ndim) if d not in second]
        )
        write = compile_matrix_product("tensordot", (a, x.dtype), (b, y.dtype), plan.result)
        return lambda out, u, v: write(out, convert_a(u), convert_b(v))
    if plan.operation.name != "vecdot" or plan.dtype.kind in "iu":
        return None
    (x, y), axis = plan.operands, options["axis"]
    # Of strided vectors BLAS would read a whole 32-byte sector for each element. As matrices the
    # operands have one more dimension.
    if not all(
        operand.layout.strides[axis] == 1 and operand.layout.ndim < MAX_RANK for operand in (x, y)
    ):
        return None
    rows, columns = _move_axis_last(x.layout, axis), _move_axis_last(y.layout, axis)
    row, column = rows.expand_dims(rows.ndim - 1), columns.expand_dims(columns.ndim)
    operands = (row, x.dtype), (column, y.dtype)
    return compile_matrix_product(
        "vecdot", *operands, plan.result, conjugate=plan.dtype.kind == "c"
    )


def _merge_to_matrix(
    spec: TensorSpec, row_dims: Sequence[int], column_dims: Sequence[int]
) -> tuple[Layout, Callable[[Tensor], Tensor]]:
    """Merge dimensions into those of a matrix; also return a copy function if needed."""
    permuted = spec.layout.permute((*row_dims, *column_dims))
    shape = [prod(spec.layout.shape[d] for d in dims) for dims in (row_dims, column_dims)]
    matrix_layout = permuted.reshape(shape)
    if matrix_layout is not None:
        return matrix_layout, lambda x: x
    source = TensorSpec(spec.dtype, permuted, spec.device)
    packed = TensorSpec(spec.dtype, Layout.row_major(permuted.shape), spec.device)
    return Layout.row_major(shape), compile_traced_tensor_copy("tensordot", source, packed)


def _move_axis_last(layout: Layout, axis: int) -> Layout:
    """Return the layout with dimension `axis` last."""
    axis_dim = axis % layout.ndim
    return layout.permute((*(d for d in range(layout.ndim) if d != axis_dim), axis_dim))


# ---- Arguments of BLAS

# A batch with several strides takes one call for each outer index. If that would be more calls than
# this, operands whose own batch has several strides are copied.
CALLS = 16

# cuBLAS takes sizes as 32-bit integers.
LARGEST = 2**31 - 1


class BlasMatrix(NamedTuple):
    """A matrix in BLAS's terms: `transposed` if its columns, not its rows, are contiguous."""

    transposed: bool
    leading_dimension: int


class GemmCalls(NamedTuple):
    """A batched product of (m, k) and (k, n) matrices to row-major (m, n) matrices."""

    m: int
    n: int
    k: int
    first: BlasMatrix
    second: BlasMatrix
    batch_axis: Axis  # products of a call, and the elements between their matrices
    # For each call the first elements of both operands and the result.
    start_elements: tuple[tuple[int, int, int], ...]
    conjugate: bool  # conjugates the first operand, which then has one row


def blas_matrix(layout: Layout) -> BlasMatrix | None:
    """Describe the last two dimensions for BLAS, with contiguous rows if possible; None if not."""
    (rows, columns), (down, right) = layout.shape[-2:], layout.strides[-2:]
    # The stride of a dimension of size 1 is arbitrary, but BLAS checks the leading dimension.
    if columns == 1 or right == 1:
        leading = columns if rows == 1 else down
        if leading >= columns:
            return BlasMatrix(False, max(leading, 1))
    if rows == 1 or down == 1:
        leading = rows if columns == 1 else right
        if leading >= rows:
            return BlasMatrix(True, max(leading, 1))
    return None


def packed_matrix_layout(layout: Layout) -> Layout:
    """Return a layout of the same shape that BLAS accepts: packed consecutive matrices."""
    *stack, rows, columns = range(layout.ndim)
    down, right = layout.strides[-2:]
    by_columns = 0 < abs(down) < abs(right)  # so that a copy reads runs
    fastest = (rows, columns) if by_columns else (columns, rows)
    return Layout.packed(layout.shape, (*fastest, *reversed(stack)))


def drop_repeated_matrices(layout: Layout, other: Layout) -> Layout:
    """Return a stack of matrices with size 1 along dimensions of stride 0, which repeat matrices.

    A dimension that `other`, the second operand, does not have is kept: the result needs its size.
    """
    cut = [slice(None)] * layout.ndim
    for d in range(-layout.ndim, -2):
        if not layout.strides[d] and -d <= other.ndim and other.shape[d] == layout.shape[d]:
            cut[d] = slice(0, 1)
    return slice_layout(layout, tuple(cut))


def batch_axes(first: Layout, second: Layout) -> list[Axis]:
    """Return the merged batch axes, with strides of both operands and of the row-major result."""
    far = first.shape[-2] * second.shape[-1]
    axes: list[Axis] = []
    for d in range(-3, -1 - max(first.ndim, second.ndim), -1):
        sizes = [x.shape[d] if -d <= x.ndim else 1 for x in (first, second)]
        # Batches broadcast: a dimension of size 1 repeats its matrix, whatever its stride says.
        steps = [x.strides[d] if n > 1 else 0 for x, n in zip((first, second), sizes, strict=True)]
        axes.append(Axis(max(sizes), (*steps, far)))
        # The result is row-major, so its stride grows by every faster dimension.
        far *= axes[-1].size
    return merge_axes(reversed(axes))


def operands_need_copy(first: Layout, second: Layout) -> tuple[bool, bool]:
    """Return for each stack of matrices whether BLAS cannot express its strides."""
    # The longest axis becomes the batch of a call, and the others multiply to the number of calls.
    many = prod(sorted(axis.size for axis in batch_axes(first, second))[:-1]) > CALLS
    first_needs, second_needs = (
        blas_matrix(x) is None
        or min(x.strides[:-2], default=0) < 0
        or (many and len(batch_axes(x, x)) > 1)
        for x in (first, second)
    )
    return first_needs, second_needs


def plan_gemm(first: Layout, second: Layout, conjugate: bool = False) -> GemmCalls:
    """Plan the BLAS calls for two stacks of non-empty matrices whose strides BLAS accepts.

    Raises OverflowError for sizes that do not fit cuBLAS's 32-bit integers.
    """
    (m, k), n = first.shape[-2:], second.shape[-1]
    a, b = blas_matrix(first), blas_matrix(second)
    assert a is not None
    assert b is not None
    axes = batch_axes(first, second)
    if conjugate:  # BLAS only conjugates a transposed operand
        # The one row of k elements is described as the k columns of one element: any stride along
        # the row is then a valid leading dimension.
        a = BlasMatrix(True, max(first.strides[-1], 1))
    elif axes and not axes[-1].strides[1]:  # one second matrix for all: one taller product
        taller = _merge_batch_rows(m, k, a, axes[-1])
        if taller is not None:
            (m, a), axes = taller, axes[:-1]
    # The longest axis becomes the batch of a call, so that there are as few calls as possible.
    stack = max(axes, key=lambda axis: axis.size, default=Axis(1, (0, 0, 0)))
    outer = [axis for axis in axes if axis is not stack]
    starts = []
    for index in product(*(range(axis.size) for axis in outer)):
        pairs = list(zip(index, outer, strict=True))
        x, y, z = (sum(i * axis.strides[which] for i, axis in pairs) for which in range(3))
        starts.append((x, y, z))
    if max(m, n, k, a.leading_dimension, b.leading_dimension, stack.size) > LARGEST:
        msg = f"cuBLAS takes sizes up to {LARGEST}, got {stack.size} times {(m, k)} by {(k, n)}"
        raise OverflowError(msg)
    return GemmCalls(m, n, k, a, b, stack, tuple(starts), conjugate)


def _merge_batch_rows(
    m: int, k: int, blas_first: BlasMatrix, batch: Axis
) -> tuple[int, BlasMatrix] | None:
    """Return the first matrices of a batch as one matrix of all their rows; None if impossible."""
    step = batch.strides[0]
    if blas_first.transposed or m * batch.size > LARGEST:
        return None
    # One row for each matrix: the batch stride becomes the leading dimension, gaps included.
    # Several rows must follow those of the next matrix without a break.
    if m == 1 and step >= k:
        return batch.size, BlasMatrix(False, step)
    return (m * batch.size, blas_first) if step == m * blas_first.leading_dimension else None


# For each dtype of the operands: CUDA's name, the precision in which cuBLAS computes, and the dtype
# of alpha and beta. Products of int8 are int32; others have the dtype of the operands.
_TYPES = {
    "float16": ("CUDA_R_16F", "CUBLAS_COMPUTE_32F", "float32"),
    "bfloat16": ("CUDA_R_16BF", "CUBLAS_COMPUTE_32F", "float32"),
    "float32": ("CUDA_R_32F", "CUBLAS_COMPUTE_32F", "float32"),
    "float64": ("CUDA_R_64F", "CUBLAS_COMPUTE_64F", "float64"),
    "complex64": ("CUDA_C_32F", "CUBLAS_COMPUTE_32F", "complex64"),
    "complex128": ("CUDA_C_64F", "CUBLAS_COMPUTE_64F", "complex128"),
    "int8": ("CUDA_R_8I", "CUBLAS_COMPUTE_32I", "int32"),
}

# As in CUDA's library_types.h; CuPy has no name for it.
_CUDA_R_32I = 10

# Dtypes whose operands `allow_tf32` lets cuBLAS round.
_TF32_TYPES = ("float32", "complex64")

# cuBLAS's CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: partial sums stay in float32. CuPy has
# no name for it. TF32 is off by default.
_FULL_PRECISION_SUMS = 16


def compile_gemm(
    gemm: GemmCalls, first_elements: tuple[int, int], dtype: DType, result: TensorSpec
) -> Write:
    """Compile the calls for operands of `dtype`.

    `first_elements`: the offset of each operand's first matrix, in elements.
    """
    gpu, number = driver(), result.device.number
    itemsizes = dtype.itemsize, dtype.itemsize, result.dtype.itemsize
    skips = list(map(mul, (*first_elements, 0), itemsizes))
    starts = [list(map(mul, offsets, itemsizes)) for offsets in gemm.start_elements]
    make_call = _make_numpy_call if gpu.name == "simulator" else _make_cublas_call
    call = make_call(gpu, gemm, dtype, result)

    def multiply_into_out(out: Tensor, x: Tensor, y: Tensor) -> None:
        operands = [t.memory.address + skip for t, skip in zip((x, y, out), skips, strict=True)]
        with gpu.using_device(number):
            for start in starts:
                call(*map(add, operands, start))

    return multiply_into_out


# ``call(x, y, out)`` computes the products of one call, at addresses of the operands and the
# result. BLAS matrices are column-major, and a row-major result is a transposed column-major one:
# both libraries are given the operands in exchanged order.
GemmCall = Callable[[int, int, int], None]


def _make_cublas_call(
    driver: Driver, gemm: GemmCalls, dtype: DType, result: TensorSpec
) -> GemmCall:
    cuda = import_cupy_module("cupy").cuda
    cublas, handle_of = cuda.cublas, cuda.get_cublas_handle
    kind, precision, scalar = _TYPES[dtype.name]
    code, exact = getattr(cuda.runtime, kind), getattr(cublas, precision)
    rounded = cublas.CUBLAS_COMPUTE_32F_FAST_TF32 if dtype.name in _TF32_TYPES else exact
    result_code = code if result.dtype == dtype else _CUDA_R_32I
    one, zero = np.ones((), scalar), np.zeros((), scalar)
    alpha, beta = one.ctypes.data, zero.ctypes.data
    names = ["T" if factor.transposed else "N" for factor in (gemm.second, gemm.first)]
    if gemm.conjugate:  # the first operand, which BLAS sees second
        names[1] = "C"
    ops = [getattr(cublas, f"CUBLAS_OP_{name}") for name in names]
    best, short = cublas.CUBLAS_GEMM_DEFAULT, result.dtype.itemsize == 2
    leading = gemm.second.leading_dimension, gemm.first.leading_dimension
    count, (far_x, far_y, far_out) = gemm.batch_axis.size, gemm.batch_axis.strides
    number = result.device.number

    def call_cublas(x: int, y: int, out: int) -> None:
        driver.counters.library_calls += 1
        library = CapturingCublas(cuda) if driver.is_capturing(number) else cublas
        compute = rounded if is_tf32_allowed() else exact
        handle = handle_of()
        common_arguments = (handle, *ops, gemm.n, gemm.m, gemm.k, alpha)
        # The handle is CuPy's, which the user's own calls share, so its mode is restored.
        mode = cublas.getMathMode(handle) if short else 0
        if short:
            cublas.setMathMode(handle, _FULL_PRECISION_SUMS)
        try:
            a, b, c = (y, code, leading[0]), (x, code, leading[1]), (out, result_code, gemm.n)
            if count == 1:
                library.gemmEx(*common_arguments, *a, *b, beta, *c, compute, best)
            else:
                operands = (*a, far_y, *b, far_x, beta, *c, far_out)
                library.gemmStridedBatchedEx(*common_arguments, *operands, count, compute, best)
        finally:
            if short:
                cublas.setMathMode(handle, mode)

    call_cublas.scalars = one, zero  # type: ignore[attr-defined]  # keeps the addresses valid
    return call_cublas


def _make_numpy_call(driver: Driver, gemm: GemmCalls, dtype: DType, result: TensorSpec) -> GemmCall:
    count = gemm.batch_axis.size
    far_x, far_y, far_out = gemm.batch_axis.strides
    # As cuBLAS with CUBLAS_COMPUTE_32F: 16-bit floats are multiplied and added in float32, and each
    # result is rounded once.
    work = dtypes.float32 if dtype.itemsize == 2 else result.dtype

    def array_over_address(
        address: int, rows: int, columns: int, leading: int, matrix_stride: int, is_output: bool
    ) -> Any:
        # Column-major, as BLAS has it: the leading dimension leads from column to column.
        element = result.dtype if is_output else dtype
        steps = (matrix_stride * element.itemsize, element.itemsize, leading * element.itemsize)
        view = StridedMemory(address, (count, rows, columns), steps, element, result.device.number)
        return driver.array_over_memory(view, None, is_for_writing=is_output)

    def operand_in_work_dtype(
        matrix: BlasMatrix, address: int, rows: int, columns: int, operand_stride: int
    ) -> Any:
        sizes = (columns, rows) if matrix.transposed else (rows, columns)
        values = array_over_address(
            address, *sizes, matrix.leading_dimension, operand_stride, False
        ).astype(work, copy=False)
        return values.swapaxes(-1, -2) if matrix.transposed else values

    def multiply_with_numpy(x: int, y: int, out: int) -> None:
        numpy = driver.array_module("gemm")
        a = operand_in_work_dtype(gemm.second, y, gemm.n, gemm.k, far_y)
        b = operand_in_work_dtype(gemm.first, x, gemm.k, gemm.m, far_x)
        c = array_over_address(out, gemm.n, gemm.m, gemm.n, far_out, True)
        with numpy.errstate(all="ignore"):
            c[...] = numpy.matmul(a, b.conj() if gemm.conjugate else b)

    return multiply_with_numpy


# ---- Integers
#
# cuBLAS multiplies int8 into int32 on tensor cores. The low 8 bits of that are the product modulo
# 2**8, of signed and unsigned bytes alike, so one more launch narrows the result.

# From this many products of elements on, tensor cores are expected to save more than the launches
# of the narrowing and of copies cost: 2**24 products keep the kernel busy for about 10 us on an
# H100 (an estimate from its 64 multiplications per clock and multiprocessor; nothing was timed).
BYTE_GEMM_TERMS = 2**24

# Sums of more products could overflow int32: (-128)**2 * 2**17 is 2**31.
_BYTE_GEMM_DEPTH = 2**17 - 1

# cuBLAS's tensor cores for int8 need matrices that are contiguous along the inner dimension, sizes,
# leading dimensions and addresses in multiples of 4. Copies are made for the fastest loads, of 16.
_BYTE_GEMM_UNIT, _BYTE_GEMM_COPY_UNIT = 4, 16


def suits_byte_gemm(first: Layout, second: Layout, dtype: DType) -> bool:
    """Return whether two stacks of matrices are multiplied by cuBLAS's product of int8."""
    (m, k), n = first.shape[-2:], second.shape[-1]
    sizes = [axis.size for axis in batch_axes(first, second)]
    terms = m * n * k * prod(sizes)
    return (
        dtype.itemsize == 1
        and terms >= BYTE_GEMM_TERMS
        and k <= _BYTE_GEMM_DEPTH
        and not (k % _BYTE_GEMM_UNIT or n % _BYTE_GEMM_UNIT)
        and min(m, n) > 1  # a matrix by a vector is bound by memory, which tensor cores do not help
        and max(m, n, *sizes) <= LARGEST
        and prod(sorted(sizes)[:-1]) <= CALLS
    )


def byte_gemm_layout(layout: Layout, *, second: bool) -> Layout:
    """Return the layout itself if cuBLAS's product of int8 accepts it, else one to copy into."""
    *stack, rows, columns = range(layout.ndim)
    matrix = blas_matrix(layout)
    steps = [layout.strides[d] for d in stack if layout.shape[d] > 1]
    if (
        matrix is not None
        and matrix.transposed == second
        and matrix.leading_dimension <= LARGEST
        and min(steps, default=0) >= 0
        and not any(n % _BYTE_GEMM_UNIT for n in (layout.offset, matrix.leading_dimension, *steps))
    ):
        return layout
    inner, other = (rows, columns) if second else (columns, rows)
    padded = list(layout.shape)
    padded[inner] = -(-padded[inner] // _BYTE_GEMM_COPY_UNIT) * _BYTE_GEMM_COPY_UNIT
    return Layout.padded(layout.shape, padded, (inner, other, *reversed(stack)))


def _compile_byte_gemm(
    operation_name: str, first: Layout, second: Layout, result: TensorSpec, by_kernel: Write
) -> Write:
    """Compile a product of bytes by cuBLAS, with `by_kernel` for addresses it does not accept."""
    wide = TensorSpec(dtypes.int32, Layout.row_major(result.layout.shape), result.device)
    new = tensor_allocator(wide)
    offsets = first.offset, second.offset
    multiply = compile_gemm(plan_gemm(first, second), offsets, dtypes.int8, wide)
    narrow = compile_plan(AssignPlan(operation_name, wide, result))

    def write(out: Tensor, x: Tensor, y: Tensor) -> None:
        if (x.memory.address | y.memory.address) % _BYTE_GEMM_UNIT:
            by_kernel(out, x, y)
            return
        product = new()
        multiply(product, x, y)
        narrow(out, product)

    return write


FILE = "matmul.cu"

# CUDA's limit of blocks in the x dimension of a grid.
_MOST_BLOCKS = 2**31 - 1


def plan_integer_matmul(first: Layout, second: Layout, itemsize: int) -> Launch:
    """Plan the product of two nonempty stacks of integer matrices; memories: result, operands."""
    (rows, depth), columns = first.shape[-2:], second.shape[-1]
    # Unsigned elements wrap modulo 2**n, which gives the bits of signed products, too; in C++ the
    # overflow of signed integers is undefined.
    chosen = kernel_with_macros(FILE, "matmul", ELEMENT=f"uint{8 * itemsize}_t")
    stack = batch_axes(first, second)
    params = make_parameter_struct(chosen, rows=rows, columns=columns, depth=depth, stack=stack)
    params.first_down, params.first_right = first.strides[-2:]
    params.second_down, params.second_right = second.strides[-2:]
    params.first_runs_right = _are_row_neighbours_closest(first)
    params.second_runs_right = _are_row_neighbours_closest(second)
    params.tiles_down = -(-rows // constant_value(FILE, "ROWS"))
    params.tiles_right = -(-columns // constant_value(FILE, "COLUMNS"))
    params.tiles = params.tiles_down * params.tiles_right * prod([axis.size for axis in stack])
    firsts = (0, first.offset * itemsize, second.offset * itemsize)
    # Blocks of the kernel go on to further tiles, so fewer blocks than tiles are enough.
    return Launch(chosen, min(params.tiles, _MOST_BLOCKS), bytes(params), firsts)


def _are_row_neighbours_closest(layout: Layout) -> bool:
    """Return whether neighbours in a row are closer in memory than neighbours in a column."""
    (rows, columns), (down, right) = layout.shape[-2:], layout.strides[-2:]
    if rows == 1 or columns == 1:
        return rows == 1
    return 0 < abs(right) <= abs(down) or down == 0
