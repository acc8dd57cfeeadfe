"""Kernels of positions, masks, sorts and searches compiled for GPUs: none spills."""

import pytest
from cuda_memory import ARCHITECTURES

from benchmarks import resources
from tensorlayout.cuda.engine.kernel_shapes import kernels_in

# The registers that a thread of each file's kernels has at most, and the macros of its types.
FILES = {
    "gather.cu": 255,
    "scatter/scatter.cu": 255,
    "scatter/copy_scatter.cu": 255,
    "mask.cu": 255,
    "scatter/scatter_reduce.cu": 255,
}
TYPED = {
    "scatter/scatter_reduce.cu": 255,
    "sort/sort.cu": 128,
    "sort/radix.cu": 128,
    "sort/search.cu": 64,
}
ELEMENTS = ("int8_t", "bfloat16", "float", "uint64_t")


def kernels(file, element=None):
    macros = ("LINE", "VALUES", "COMPARE") if file == "sort/search.cu" else ("ELEMENT",)
    types = tuple((macro, element) for macro in macros) if element else ()
    found = kernels_in(
        file, types, "add" if element and file == "scatter/scatter_reduce.cu" else ""
    )
    return [(kernel, (TYPED if element else FILES)[file]) for kernel in found]


PLAIN = [each for file in FILES for each in kernels(file)]
SAMPLE = [*PLAIN[3::23], *[each for file in TYPED for each in kernels(file, "float")[::5]]]
SAMPLE += [
    kernels("scatter/scatter_reduce.cu", element)[-1] for element in ("complex<double>", "int8_t")
]


def spills_nothing(kernel, registers, architecture):
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: cupy")
    found = resources.compiled(kernel, architecture).resources[kernel.name]
    fits = found.registers <= registers
    assert (kernel, found.stack, found.spilled, fits) == (kernel, 0, 0, True)


@pytest.mark.parametrize(
    ("kernel", "registers"), [pytest.param(*each, id=each[0].symbol) for each in SAMPLE]
)
def test_compiled_for_a_gpu_without_spills(kernel, registers):
    spills_nothing(kernel, registers, 90)


@pytest.mark.long
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kernel_compiled_for_a_gpu_without_spills(architecture):
    typed = [each for file in TYPED for kind in ELEMENTS for each in kernels(file, kind)]
    for kernel, registers in (*PLAIN, *typed):
        spills_nothing(kernel, registers, int(architecture[3:]))
