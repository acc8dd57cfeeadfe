"""Matrix products: floats by cuBLAS, integers by a kernel; operands as they lie.

What BLAS cannot be told of (`blas`), and what has another dtype than the result, is copied first
by the kernels for copies, which a trace shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import Launch, writer
from tensorlayout.cuda.engine.structs import RANKS, constant, pack_axes
from tensorlayout.cuda.matmul.blas import (
    copies,
    packed_matrices,
    plan_gemm,
    stack_axes,
    without_repeats,
    write_gemm,
)
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.layout.checks import MAX_RANK
from tensorlayout.plan.base import Write
from tensorlayout.plan.copy import AssignPlan
from tensorlayout.plan.library import LibraryPlan
from tensorlayout.plan.matmul import MatmulPlan
from tensorlayout.plan.run import carried_out, noted_copy
from tensorlayout.tensor import Tensor, TensorSpec


def write_matmul(plan: MatmulPlan) -> Write:
    """The product, written into row-major memory."""
    first, second = plan.first.layout, plan.second.layout
    if first.ndim == 1:  # vectors are matrices of one row, or of one column
        first = first.expand_dims(0)
    if second.ndim == 1:
        second = second.expand_dims(1)
    operands = (first, plan.first.dtype), (second, plan.second.dtype)
    return write_product("matmul", *operands, plan.result)


def write_product(
    name: str,
    first: tuple[Layout, DType],
    second: tuple[Layout, DType],
    result: TensorSpec,
    *,
    conjugate: bool = False,
) -> Write:
    """The product of two stacks of matrices, which may lie otherwise in the tensors' own layouts.

    `result` holds the products one after the other, each row-major, under any shape.
    """
    if not result.layout.size:
        return lambda out, x, y: None
    if not first[0].shape[-1]:
        zero = carried_out(AssignPlan(name, int, result))
        return lambda out, x, y: zero(out, 0)
    floats = result.dtype.kind not in "iu"
    once = without_repeats(first[0], second[0])
    given = [once, without_repeats(second[0], once)]
    needed = copies(*given) if floats else (False, False)
    (a, ready_a), (b, ready_b) = (
        _operand(name, TensorSpec(dtype, layout, result.device), result.dtype, copied)
        for layout, (_, dtype), copied in zip(given, (first, second), needed, strict=True)
    )
    if floats:
        planned = plan_gemm(a, b, conjugate)
        write = write_gemm(planned, (a.offset, b.offset), result)
    else:
        launch = plan_integers(a, b, result.dtype.itemsize)
        write = writer(result.device.number, lambda _: launch)
    return lambda out, x, y: write(out, ready_a(x), ready_b(y))


def _operand(
    name: str, spec: TensorSpec, dtype: DType, copied: bool
) -> tuple[Layout, Callable[[Tensor], Tensor]]:
    """The layout of what is multiplied, and how the caller's tensor becomes that."""
    if spec.dtype == dtype and not copied:
        return spec.layout, lambda x: x
    result = TensorSpec(dtype, packed_matrices(spec.layout), spec.device)
    return result.layout, noted_copy(name, spec, result)


# ---- Library calls that are matrix products


def write_library_product(plan: LibraryPlan) -> Write | None:
    """`tensordot`, and `vecdot` of contiguous floats; None for what is no matrix product."""
    options = dict(plan.options)
    if plan.operation.name == "tensordot":  # a copy where axes are not two runs of memory
        (x, y), (first, second) = plan.operands, options["axes"]
        a, ready_a = _as_matrix(x, [d for d in range(x.layout.ndim) if d not in first], first)
        b, ready_b = _as_matrix(y, second, [d for d in range(y.layout.ndim) if d not in second])
        write = write_product("tensordot", (a, x.dtype), (b, y.dtype), plan.result)
        return lambda out, u, v: write(out, ready_a(u), ready_b(v))
    if plan.operation.name != "vecdot" or plan.dtype.kind in "iu":
        return None
    (x, y), axis = plan.operands, options["axis"]
    # BLAS reads other vectors a sector of memory for each element. Matrices have a dimension more.
    if not all(each.layout.strides[axis] == 1 and each.layout.ndim < MAX_RANK for each in (x, y)):
        return None
    rows, columns = _last(x.layout, axis), _last(y.layout, axis)
    row, column = rows.expand_dims(rows.ndim - 1), columns.expand_dims(columns.ndim)
    operands = (row, x.dtype), (column, y.dtype)
    return write_product("vecdot", *operands, plan.result, conjugate=plan.dtype.kind == "c")


def _as_matrix(
    spec: TensorSpec, down: Sequence[int], right: Sequence[int]
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


def _last(layout: Layout, axis: int) -> Layout:
    """The dimension `axis` behind all others."""
    at = axis % layout.ndim
    return layout.permute((*(d for d in range(layout.ndim) if d != at), at))


# ---- Integers

FILE = "matmul.cu"

_MOST_BLOCKS = 2**31 - 1


def plan_integers(first: Layout, second: Layout, itemsize: int) -> Launch:
    """The launch for two stacks of matrices, no one of them empty; memories: result, operands."""
    (rows, depth), columns = first.shape[-2:], second.shape[-1]
    chosen = kernel(FILE, "matmul", ELEMENT=f"uint{8 * itemsize}_t")
    made = parameters(chosen)(rows=rows, columns=columns, depth=depth)
    made.first_down, made.first_right = first.strides[-2:]
    made.second_down, made.second_right = second.strides[-2:]
    made.first_runs_right = _runs_right(first)
    made.second_runs_right = _runs_right(second)
    # Dimensions of size 1 where there are none: the kernel divides by what it finds.
    axes = stack_axes(first, second)
    pack_axes(made.stack, axes, RANKS[-1] + 1)
    made.tiles_down = -(-rows // constant(FILE, "ROWS"))
    made.tiles_right = -(-columns // constant(FILE, "COLUMNS"))
    made.tiles = made.tiles_down * made.tiles_right * prod([axis.size for axis in axes])
    firsts = (0, first.offset * itemsize, second.offset * itemsize)
    return Launch(chosen, min(made.tiles, _MOST_BLOCKS), bytes(made), firsts)


def _runs_right(layout: Layout) -> bool:
    """Return whether neighbours in a row are nearer to each other than neighbours in a column."""
    (rows, columns), (down, right) = layout.shape[-2:], layout.strides[-2:]
    if rows == 1 or columns == 1:
        return rows == 1
    return 0 < abs(right) <= abs(down) or down == 0
