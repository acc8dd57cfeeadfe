"""``python -m benchmarks.resources``: what the kernels take of a GPU, as a table.

It compiles all known kernels and some that depend on types, and needs CuPy, and no GPU. A spill
fails.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cuda.engine import nvrtc, warm_up
from tensorlayout.cuda.engine.driver import Kernel
from tensorlayout.cuda.engine.kernel_shapes import c_type, kernel_label, kernels_in_file
from tensorlayout.cuda.engine.warm_up import show_progress
from tensorlayout.cuda.fuse import plan_fuse
from tensorlayout.devices import Device
from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.elementwise import Elementwise
from tensorlayout.plan.fuse import Fusion, Part
from tensorlayout.tensor import TensorSpec

ARCHITECTURES = (75, 80, 90, 100, 120)

# Of reductions, whose element types and functors are too many, those that take most.
_REDUCTIONS = {
    "uint8": ("sum", "first_least"),
    "float32": ("sum", "variance"),
    "complex64": ("product",),
}
# Of fused functions, how many tensors.
_FUSED = {"float32": 3, "float16": 4}
_EXTREMES = (("2", "int32_t"), ("0", "int64_t"))  # of ranks and indices

HEAD = """# Resources

What each kernel takes, the most over its shapes (of fused functions, reductions, scans, sorts and
searches: those in `benchmarks/resources.py`): registers of a thread, bytes of stack and of spilled
registers, bytes of shared memory of a block. A block has {threads} threads; with 64 registers or
fewer, four blocks or more fit the registers of a multiprocessor.

Written by `python -m benchmarks.resources --markdown kernels/RESOURCES.md`
(NVRTC {version}), which fails if anything is spilled. `kernels/README.md` has the compiler's
options.

| kernel | file | shapes | architecture | registers | stack | spilled | shared |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""

# Of element types, on which some kernels depend: those that take most, and the most common one.
_SCANNED = (dtypes.bfloat16, dtypes.float32, dtypes.complex128)
_SORTED = (dtypes.bfloat16, dtypes.float32, dtypes.int64)
_QUANTIZED = {dtypes.float16: dtypes.float64}  # what is written, and what is read


_PROPERTIES = re.compile(
    r"Function properties for (\w+)\n"
    r".*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n"
    r".*?Used (\d+) registers(?:.*?(\d+) bytes smem)?"
)


@dataclass(frozen=True, slots=True)
class Resources:
    """Registers of a thread, and local and shared memory in bytes, of one kernel.

    `spilled`: moved to local memory and back for want of registers. `stack` holds that too, and
    arrays with computed indices.
    """

    registers: int
    stack: int
    spilled: int
    shared: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """A file for one architecture.

    `resources`: of each kernel in it, by name. `warnings`: the compiler's other words, or "".
    """

    cubin: bytes
    resources: dict[str, Resources]
    warnings: str


def compiled(kernel: Kernel, architecture: int, *more: str) -> Compiled:
    """Compile a kernel with NVRTC, with `more` options, and return its resources."""
    cubin, log = nvrtc.compile_cubin(kernel, architecture, *more)
    lines = (line for line in log.splitlines() if not line.startswith("ptxas "))
    label = f"_{kernel_label(kernel)}"
    resources = {name.removesuffix(label): item for name, item in _resources_in(log).items()}
    return Compiled(cubin, resources, "\n".join(lines).strip("\n\0 "))


def _resources_in(log: str) -> dict[str, Resources]:
    return {
        name: Resources(int(registers), int(stack), int(stored) + int(loaded), int(shared or 0))
        for name, stack, stored, loaded, registers, shared in _PROPERTIES.findall(log)
    }


Found = dict[tuple[str, str, int], list[Resources]]


def known() -> Iterator[Kernel]:
    """Return the kernels that are measured."""
    yield from warm_up.kernels_of_any_dtype()
    for name, functors in _REDUCTIONS.items():
        for functor in functors:
            for kernel in warm_up.reduction_kernels(np.dtype(name), functor):
                shape = dict(kernel.shape)
                if not shape or (shape["RANK"], shape["INDEX"]) in _EXTREMES:
                    yield kernel
    for name, count in _FUSED.items():
        yield from fused_sums(np.dtype(name), count)
    for dtype in _SCANNED:
        types = (("SOURCE", c_type(dtype)), ("RESULT", c_type(dtype)))
        yield from kernels_in_file("scan.cu", types, "add")
        yield from kernels_in_file("scan.cu", (*types, ("SCALED", "1")), "multiply")
    for dtype in _SORTED:
        yield from warm_up.sorting_kernels(dtype)
    for to, source in _QUANTIZED.items():
        narrow = (("ELEMENT", "float8_e4m3fn"), ("SCALE", "float8_e8m0fnu"))
        for name, dtype in (("SOURCE", source), ("RESULT", to)):
            memory = (("BITS", "8"), ("TILED", "0"), ("LONGEST", str(16 // dtype.itemsize)))
            yield from kernels_in_file("quantize.cu", (*narrow, (name, c_type(dtype)), *memory))


def fused_sums(dtype: DType, count: int) -> tuple[Kernel, ...]:
    """A fused sum of so many tensors."""
    add = Elementwise("add", "numeric")
    parts = [Part(add, (0, 1)), *[Part(add, (count + n, n + 2)) for n in range(count - 2)]]
    spec = TensorSpec(dtype, Layout.row_major((64, 64)), Device("cuda", 0))
    plan = Fusion("sum", tuple(parts)).plan(*[spec] * count)
    launches, _ = plan_fuse(plan, (256,) * (count + 1))
    return kernels_in_file("fuse.cu", launches.launches[0].kernel.types)


def measure(kernels: Iterable[Kernel], architectures: Iterable[int]) -> Found:
    """The resources of each shape, by kernel's name, file and architecture."""
    those = [(kernel, arch) for kernel in kernels for arch in architectures]
    by_kernel: Found = {}
    for kernel, architecture in show_progress(those, "compiling kernels"):
        file = Path(kernel.file)
        key = kernel.name, file.name if file.is_absolute() else kernel.file, architecture
        resources = compiled(kernel, architecture).resources[kernel.name]
        by_kernel.setdefault(key, []).append(resources)
    return by_kernel


def table(by_kernel: Found) -> str:
    """The page."""
    rows = (_row(*key, resources) for key, resources in sorted(by_kernel.items()))
    return HEAD.format(threads=256, version=nvrtc.nvrtc_version()) + "".join(rows)


def _row(name: str, file: str, architecture: int, resources: list[Resources]) -> str:
    most = [
        max(getattr(resource, what) for resource in resources)
        for what in ("registers", "stack", "spilled", "shared")
    ]
    cells = (f"`{name}`", f"`{file}`", len(resources), f"sm_{architecture}", *most)
    return f"| {' | '.join(map(str, cells))} |\n"


def main(arguments: list[str] | None = None) -> int:
    """Print or write the table; 1 if a kernel spills."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resources", description=__doc__)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument("--architecture", type=int, action="append", metavar="90")
    asked = parser.parse_args(arguments)
    resources = measure(known(), asked.architecture or ARCHITECTURES)
    page = table(resources)
    if asked.markdown:
        asked.markdown.write_text(page, "utf-8")
    else:
        print(page, end="")
    spilling = sorted({key[0] for key, those in resources.items() if any(r.spilled for r in those)})
    for name in spilling:
        print(f"{name} spills registers", file=sys.stderr)
    return 1 if spilling else 0


if __name__ == "__main__":
    sys.exit(main())
