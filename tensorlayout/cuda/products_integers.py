"""Matrix products of integers: one launch of ``kernels/matmul.cu``, for operands in any layout."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from tensorlayout.cuda.engine.driver import Driver, Kernel
from tensorlayout.cuda.engine.launch import struct_type
from tensorlayout.cuda.engine.parameters import walk, walk_type
from tensorlayout.cuda.products_blas import Multiply
from tensorlayout.cuda.products_plan import Axis, stack_axes
from tensorlayout.layout import Layout
from tensorlayout.layout.once import once

FILE = "matmul.cu"

# Of the result, by one block; as in the kernel.
ROWS, COLUMNS = 64, 128

_MOST_BLOCKS = 2**31 - 1
_POINTERS = struct.Struct("<3Q")


def kernel(itemsize: int) -> Kernel:
    """For elements of so many bytes, signed or not."""
    return Kernel(FILE, "matmul", shape=(("ELEMENT", f"uint{8 * itemsize}_t"),))


def kernels() -> tuple[Kernel, ...]:
    """All that a plan may ask for."""
    return tuple(kernel(itemsize) for itemsize in (1, 2, 4, 8))


@once
def struct_of() -> Any:
    """``Matmul`` of kernels/matmul.cu."""
    pointers = ("result", "first", "second")
    numbers = (
        *("rows", "columns", "depth"),
        *("first_down", "first_right", "second_down", "second_right"),
        *("tiles_down", "tiles_right", "tiles"),
    )
    return struct_type(
        "Matmul",
        **dict.fromkeys(pointers, ctypes.c_uint64),
        **dict.fromkeys(numbers, ctypes.c_int64),
        stack=walk_type(0, "int64_t", 3),
        first_runs_right=ctypes.c_int32,
        second_runs_right=ctypes.c_int32,
    )


def pack(first: Layout, second: Layout) -> Any:
    """The struct for two stacks of matrices, no one of them empty, without addresses."""
    (rows, depth), columns = first.shape[-2:], second.shape[-1]
    made = struct_of()(rows=rows, columns=columns, depth=depth)
    made.first_down, made.first_right = first.strides[-2:]
    made.second_down, made.second_right = second.strides[-2:]
    made.first_runs_right = _runs_right(first)
    made.second_runs_right = _runs_right(second)
    # A dimension of size 1 where there is none: the kernel divides by what it finds.
    axes = stack_axes(first, second) or [Axis(1, (0, 0, 0))]
    strides = [[axis.strides[x] for axis in axes] for x in range(3)]
    made.stack = _any_rank([axis.size for axis in axes], strides)
    count = 1
    for axis in axes:
        count *= axis.size
    made.tiles_down, made.tiles_right = -(-rows // ROWS), -(-columns // COLUMNS)
    made.tiles = made.tiles_down * made.tiles_right * count
    return made


def _any_rank(sizes: list[int], strides: list[list[int]]) -> Any:
    """A walk of any rank; ranks that have kernels of their own are filled up by sizes of 1."""
    missing = max(0, 5 - len(sizes))
    return walk("int64_t", [1] * missing + sizes, [[0] * missing + steps for steps in strides])


def _runs_right(layout: Layout) -> bool:
    """Whether neighbours in a row are nearer to each other than neighbours in a column."""
    (rows, columns), (down, right) = layout.shape[-2:], layout.strides[-2:]
    if rows == 1 or columns == 1:
        return rows == 1
    return 0 < abs(right) <= abs(down) or down == 0


def prepare(first: Layout, second: Layout, itemsize: int, driver: Driver) -> Multiply:
    """What multiplies; addresses are those of the first elements. One launch, asynchronous."""
    made = pack(first, second)
    packed, grid = bytes(made), min(made.tiles, _MOST_BLOCKS)
    launch = driver.launcher(kernel(itemsize))

    def multiply(a: int, b: int, result: int) -> None:
        parameters = bytearray(packed)
        _POINTERS.pack_into(parameters, 0, result, a, b)
        launch(grid, parameters)

    return multiply
