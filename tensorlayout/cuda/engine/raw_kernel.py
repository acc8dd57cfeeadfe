"""`raw_kernel`: one of this package's kernels as an object to launch alone, for example to profile.

CuPy's `cupy.RawKernel` cannot compile these kernels: it appends ``-ftz=true``, which would flush
denormals. So a `RawKernel` here has CuPy's calling convention, and our compiler options.
"""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import sizeof
from functools import cached_property
from pathlib import Path
from typing import Any

from tensorlayout.cuda.engine import warm_up
from tensorlayout.cuda.engine.driver import Kernel, driver
from tensorlayout.cuda.engine.kernel_shapes import compiled_name, parameter_struct_type
from tensorlayout.cuda.engine.launch import THREADS
from tensorlayout.errors import qualified_type_name, raise_named_error, short_repr
from tensorlayout.support.kernel_sources import kernel_directory

_MOST_LISTED = 8  # kernels that an error lists


class RawKernel:
    """A compiled kernel, ``kernel(grid, block, args)``; `raw_kernel` returns it.

    - `name`: name of the function in the source.
    - `kernel`: its `Kernel`, with the macros that it is compiled with.
    - `source`: path of its source file.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.name = kernel, kernel.name
        self.source: Path = kernel_directory() / kernel.file
        self._launcher: Any = driver().launcher(kernel)

    def __repr__(self) -> str:
        return f"<RawKernel {compiled_name(self.kernel)} of {self.source.name}>"

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any]) -> None:
        """Launch on the current device and stream; the host does not wait.

        - `grid`: number of blocks in one to three dimensions.
        - `block`: threads of a block; always 256, in one dimension.
        - `args`: a tuple of the one argument, a `parameters` structure or its bytes. It holds
          addresses; nothing keeps their memory alive or checks it, except on the simulator.

        Raises ValueError for another block, or an argument of another size; TypeError for arguments
        that are no tuple of one structure, and for grids and blocks that are no tuples of integers.
        """
        blocks, threads = self._three_sizes("grid", grid), self._three_sizes("block", block)
        if threads != (THREADS, 1, 1):
            raise_named_error(self.name, f"block must be ({THREADS},), got {short_repr(block)}")
        if not isinstance(args, tuple) or len(args) != 1:
            msg = f"args must be a tuple of one structure, got {short_repr(args)}"
            raise_named_error(self.name, msg, TypeError)
        try:
            content = bytearray(memoryview(args[0]))
        except TypeError:
            msg = f"args must hold a structure or its bytes, got {qualified_type_name(args[0])}"
            raise_named_error(self.name, msg, TypeError)
        expected = sizeof(self.parameters)
        if len(content) != expected:
            msg = f"the argument has {len(content)} bytes, and the kernel takes {expected}"
            raise_named_error(self.name, msg)
        self._launcher(blocks, content)

    def _three_sizes(self, argument: str, sizes: Any) -> tuple[int, int, int]:
        """Return one to three sizes as three."""
        if not isinstance(sizes, tuple) or not all(type(size) is int for size in sizes):
            msg = f"{argument} must be a tuple of integers, got {short_repr(sizes)}"
            raise_named_error(self.name, msg, TypeError)
        if len(sizes) not in (1, 2, 3):
            msg = f"{argument} must have one to three dimensions, got {short_repr(sizes)}"
            raise_named_error(self.name, msg)
        x, y, z = sizes + (1,) * (3 - len(sizes))
        return x, y, z

    @cached_property
    def parameters(self) -> Any:
        """Type of the argument, a `ctypes.Structure` with the members of the kernel's struct."""
        types = dict(self.kernel.types)
        counts = {name: int(types[name]) for name in ("OPERANDS", "NUMBERS") if name in types}
        if "FIRST" in types:  # elementwise.cu counts its operands by their types
            counts["OPERANDS"] = sum(name in types for name in ("FIRST", "SECOND", "THIRD"))
        return parameter_struct_type(self.kernel, **counts)

    @property
    def attributes(self) -> dict[str, int]:
        """Resources under the names of `cupy.RawKernel.attributes`, such as ``num_regs``.

        Sizes are in **bytes**. The simulator knows only ``max_threads_per_block``.
        """
        if driver().name == "simulator":
            return {"max_threads_per_block": THREADS}
        attributes: dict[str, int] = self._launcher.attributes()
        return attributes


def raw_kernel(kernel: Kernel | str, /) -> RawKernel:
    """Return one of this package's kernels, compiled, to launch it alone.

    `kernel`: a `Kernel` of a trace or of `launch_log`; or its name as traces, profilers or the
    kernels' sources have it, which may belong to several kernels. Names are looked up among the
    kernels that this process has loaded, then among those that depend on no dtype.

    Raises ValueError for a name of no kernel or of several, TypeError for other objects, and
    RuntimeError if the kernel does not compile.
    """
    if isinstance(kernel, Kernel):
        return RawKernel(kernel)
    if not isinstance(kernel, str):
        msg = f"kernel must be a Kernel or a name, got {qualified_type_name(kernel)}"
        raise_named_error("raw_kernel", msg, TypeError)
    matches = _matches(driver().loaded_kernels(), kernel)
    matches = matches or _matches(warm_up.kernels_of_any_dtype(), kernel)
    if len(matches) != 1:
        listed = ", ".join(map(compiled_name, matches[:_MOST_LISTED]))
        more = ", …" if len(matches) > _MOST_LISTED else ""
        advice = "pass a key of `with launch_log() as log:`"
        count = f"{len(matches)} kernels are called" if matches else "no known kernel is called"
        msg = f"{count} {short_repr(kernel)}{f': {listed}{more}' if matches else ''}; {advice}"
        raise_named_error("raw_kernel", msg)
    return RawKernel(matches[0])


def _matches(kernels: Iterable[Kernel], name: str) -> list[Kernel]:
    """Return the kernels of this name: the source's, a trace's, the simulator's or a profiler's."""
    return [
        kernel
        for kernel in kernels
        if name in (kernel.name, f"{kernel.name} {kernel.operation}", kernel.symbol)
        or name == compiled_name(kernel)
    ]
