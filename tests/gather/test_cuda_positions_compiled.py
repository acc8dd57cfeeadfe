"""Kernels of sorts, searches and sums at positions compiled for GPUs: none takes more registers.

That no kernel spills: `cuda/test_nvrtc.py`.
"""

import pytest
from cuda_memory import ARCHITECTURES

from benchmarks import resources
from tensorlayout.cuda.engine.kernel_shapes import kernels_in_file

# The registers that a thread of each file's kernels has at most.
FILES = {
    "scatter/scatter_reduce.cu": 255,
    "sort/sort.cu": 128,
    "sort/radix.cu": 128,
    "sort/search.cu": 64,
}
ELEMENTS = ("int8_t", "bfloat16", "float", "uint64_t")


def kernels(file, element):
    macros = ("LINE", "VALUES", "COMPARE") if file == "sort/search.cu" else ("ELEMENT",)
    function = "add" if file == "scatter/scatter_reduce.cu" else ""
    return kernels_in_file(file, tuple((macro, element) for macro in macros), function)


def fits(kernel, registers, architecture):
    pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="optional: cupy")
    result = resources.compiled(kernel, architecture).resources[kernel.name]
    assert (kernel, result.stack, result.spilled) == (kernel, 0, 0)
    assert result.registers <= registers, kernel


@pytest.mark.parametrize("file", FILES)
def test_registers(file):
    for kernel in kernels(file, "float")[::5]:
        fits(kernel, FILES[file], 90)


@pytest.mark.long
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_registers_of_every_kernel(architecture):
    for file, registers in FILES.items():
        for element in ELEMENTS:
            for kernel in kernels(file, element):
                fits(kernel, registers, int(architecture[3:]))
