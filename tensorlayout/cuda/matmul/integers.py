"""Matrix products of integers: one launch of ``kernels/matmul.cu``, for operands in any layout."""

from __future__ import annotations

from math import prod

from tensorlayout.cuda.engine.kernel_shapes import kernel, parameters
from tensorlayout.cuda.engine.launch import Launch
from tensorlayout.cuda.engine.parameters import RANKS, pack_axes
from tensorlayout.cuda.engine.structs import constant
from tensorlayout.cuda.matmul.gemm import stack_axes
from tensorlayout.layout import Layout

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
    """Whether neighbours in a row are nearer to each other than neighbours in a column."""
    (rows, columns), (down, right) = layout.shape[-2:], layout.strides[-2:]
    if rows == 1 or columns == 1:
        return rows == 1
    return 0 < abs(right) <= abs(down) or down == 0
