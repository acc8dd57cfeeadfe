"""Kernels compiled before they are first needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from tensorlayout.cuda import (
    band_plan,
    combine_plan,
    copy_tiled,
    fill_plan,
    gather_plan,
    join_plan,
    nvrtc,
    placing_plan,
    products_integers,
    scatter_plan,
    select_plan,
    sequence_plan,
)
from tensorlayout.cuda.driver import Counters, Kernel, driver
from tensorlayout.cuda.optional import with_progress
from tensorlayout.kernels_path import kernel_directory

_RANKS = ("1", "2", "3", "4", "0")  # 0: any
_INDICES = ("int32_t", "int64_t")
_WIDTHS = ("1", "2", "4", "8", "16")

# Of a copy: bytes of an element, and of an access.
_COPIED = [(width, width) for width in _WIDTHS] + [(each, "16") for each in _WIDTHS[:-1]]
_TILED = [
    *(("1", read, write) for read, write in product("14", "14")),
    *(("2", read, write) for read, write in product("24", "24")),
    *((width, width, width) for width in ("4", "8", "16")),
]


def known() -> Iterator[Kernel]:
    """The kernels that do not depend on operations, and on few types at most, in every shape.

    Those of elementwise functions and reductions are too many to be compiled ahead: give `warmup`
    those that you use.
    """
    there = {path.name for path in kernel_directory().glob("*.cu")}
    return (kernel for kernel in _shapes() if kernel.file in there)


def _shapes() -> Iterator[Kernel]:
    def kernel(file: str, name: str, **shape: str) -> Kernel:
        return Kernel(file, name, shape=tuple(shape.items()))

    yield from fill_plan.kernels()
    for width in _WIDTHS:
        yield kernel("copy.cu", "copy_flat", WIDTH=width)
    for rank, index, (element, width) in product(_RANKS, _INDICES, _COPIED):
        shape = {"RANK": rank, "INDEX": index, "ELEMENT": element, "WIDTH": width}
        yield kernel("copy.cu", "copy_strided", **shape)
    for (element, read, write), room in product(_TILED, ("24576", "49152")):
        shape = {"ELEMENT": element, "READ": read, "WRITE": write}
        yield kernel("copy.cu", "copy_tiles", **shape, ROOM=room)
        yield kernel("copy.cu", "copy_deep", **shape, DEEP_ROOM=room)
    yield from band_plan.kernels()
    yield from products_integers.kernels()
    yield from sequence_plan.kernels()
    yield from copy_tiled.kernels()
    for plans in (combine_plan, gather_plan, join_plan, placing_plan, scatter_plan, select_plan):
        yield from plans.kernels()


def warmup(kernels: Iterable[Kernel] | None = None, *, architecture: int | None = None) -> int:
    """Compile `kernels` ahead, by default all `known` ones; how many no cache had.

    Each is compiled, kept on disk, and loaded on the current device; with `architecture` (90 for
    compute capability 9.0) it is only kept on disk, which needs CuPy and no GPU: to build an image
    of a container, say. A bar on the standard error shows how far it is.

    RuntimeError if a kernel does not compile.
    """
    # One after the other: NVRTC 12.9 compiles in one thread at a time (two threads use 0.99 of a
    # processor; 2026-11, 2-core AMD EPYC (Zen 4)).
    given = list(known() if kernels is None else kernels)
    counters = Counters() if architecture else driver().counters
    before = counters.compiles
    for kernel in with_progress(given, "compiling kernels", len(given)):
        if architecture:
            nvrtc.cubin_file(kernel, architecture, counters)
        else:
            driver().launcher(kernel)
    return counters.compiles - before
