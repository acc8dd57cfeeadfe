"""Functions of several passes, walked in blocks that the cache holds.

A function here takes contiguous or strided operands of the planned dtypes and, last, ``out``. What
it writes early it reads again while it is still in the cache, and operands of other dtypes are
converted a block at a time, never as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlayout.cpu.engine.memory import Array, quiet, quietly
from tensorlayout.dtypes import DType

Function = Callable[..., object]  # function(*operands, out)
Call = Callable[[Sequence[Array], Array], None]  # call(arrays, out)

# Of the widest array, so that what a function needs on the way stays below 4 MB. Steps of less than
# 50 us have two threads hand the interpreter lock to and fro, for as long.
BLOCK_BYTES = 1 << 19


def in_blocks(function: Function, inputs: Sequence[DType], converts: bool, nbytes: int) -> Call:
    """``call(arrays, out)``: `function` on operands converted to `inputs`, without warnings.

    `converts`: whether some operand has another dtype; `nbytes`: of the result. ``out`` may overlap
    operands if `function` writes it only after it has read them.
    """
    copy: Any = quiet.copy
    if nbytes > BLOCK_BYTES:
        return lambda arrays, out: quietly(walk, function, arrays, inputs, out)
    if not converts:
        return lambda arrays, out: copy().run(function, *arrays, out)

    def convert(arrays: Sequence[Array], out: Array) -> None:
        function(*[a.astype(d, copy=False) for a, d in zip(arrays, inputs, strict=True)], out)

    return lambda arrays, out: copy().run(convert, arrays, out)


def walk(function: Function, arrays: Sequence[Array], inputs: Sequence[DType], out: Array) -> None:
    """`function` on contiguous blocks; operands of rank 0 go to each of them as they are."""
    if not out.size:  # of a large padded block
        return
    pairs = list(zip(arrays, inputs, strict=True))
    given: list[Array] = [a if a.ndim else a.astype(d) for a, d in pairs]
    moving = [i for i, a in enumerate(arrays) if a.ndim]
    flags = ["contig", "overlap_assume_elementwise"]
    nditer: Any = np.nditer  # whose stub knows fewer combinations
    blocks = nditer(
        [*(arrays[i] for i in moving), out],
        ["external_loop", "buffered", "copy_if_overlap"],
        [*(["readonly", *flags] for _ in moving), ["writeonly", *flags]],
        [*(inputs[i] for i in moving), out.dtype],
        casting="unsafe",
        buffersize=BLOCK_BYTES // max([out.itemsize, *[a.itemsize for a in arrays]]),
    )
    with blocks:
        for *found, target in blocks:
            for i, block in zip(moving, found, strict=True):
                given[i] = block
            function(*given, target)
