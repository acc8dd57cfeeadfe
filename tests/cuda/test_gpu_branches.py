"""The branches of kernels that only a GPU is given, compiled by g++ and run on the simulator."""

import re

import as_on_gpu
import numpy as np
import pytest
import test_cuda_atomics
from simulated import needs_compiler, simulator

import tensorlayout as tl
from tensorlayout.cuda.engine.simulator import SimulatorDriver
from tensorlayout.support.kernel_sources import kernel_directory


@pytest.fixture(scope="module")
def driver():
    with pytest.MonkeyPatch.context() as patch, simulator(1) as result:
        patch.setattr(SimulatorDriver, "_new_launcher", as_on_gpu.launcher)
        yield result


def numbers(shape, dtype="float32"):
    return tl.asarray(np.random.default_rng(1).integers(-9, 9, shape).astype(dtype))


def written(x, at, values):
    x[at] = values
    return x


POSITIONS = tl.asarray(np.array([3, 0, 3, 1]))

# Of each file a call that launches some of it.
CALLS = {
    "fill/diagonals.cu": (tl.triu, numbers((9, 9))),
    "copy/packed.cu": (
        lambda x: tl.to_layout(tl.astype(x, "int4"), "{0:E(4)}").to_device("cpu").view("int4"),
        numbers((70,)),
    ),
    "copy/tiled.cu": (lambda x: tl.to_layout(x, "{1,0:T(8,128)}"), numbers((20, 130))),
    "scatter/scatter_reduce.cu": (tl.scatter_add, numbers(5), POSITIONS, numbers(4)),
    # So many bytes that they go through tiles, where words are turned in squares.
    "copy/copy.cu": (lambda x: tl.to_layout(x, (0, 1)), numbers((256, 512), "int8")),
    "elementwise.cu": (lambda x: tl.exp(x * (1 + 0.5j)), numbers((5, 7), "complex64")),
    "fill/fill.cu": (lambda x: tl.full_like(x, 3), numbers((5, 7))),
    "fuse.cu": (tl.fuse(lambda x: tl.exp(x * 0.5).astype("float16") + x), numbers((5, 7))),
    "gather.cu": (tl.take, numbers(5), POSITIONS),
    "join.cu": (lambda *parts: tl.concat(parts), numbers((3, 5)), numbers((4, 5))),
    "matmul.cu": (tl.matmul, numbers((70, 40), "int32"), numbers((40, 130), "int32")),
    "reduce/quantile.cu": (tl.median, numbers(9)),
    "sort/radix.cu": (tl.sort, numbers(5000, "uint8")),
    "reduce/reduce.cu": (lambda x: tl.sum(x, axis=0), numbers((300, 40))),
    "scan.cu": (tl.cumulative_sum, numbers(700)),
    "scatter/scatter.cu": (written, numbers(5), POSITIONS, numbers(4)),
    "sort/search.cu": (lambda x, y: tl.searchsorted(tl.sort(x), y), numbers(9), numbers((4, 5))),
    "quantize.cu": (
        lambda x: tl.dequantize_blocks(*tl.quantize_blocks(x, "nvfp4"), dtype="float16"),
        numbers((5, 40)),
    ),
    "mask.cu": (lambda x: tl.nonzero(x)[0], numbers((30, 40))),
    "fill/sequence.cu": (lambda x: tl.arange(9, dtype=x.dtype, device=x.device), numbers(0)),
    "sort/sort.cu": (tl.sort, numbers(5000)),
}


# Of each of these, several kernels are compiled.
LATE = {"quantize.cu", "copy/packed.cu", "scatter/scatter.cu", "scatter/scatter_reduce.cu"}
LATE |= {"sort/radix.cu", "sort/sort.cu", "sort/search.cu", "reduce/quantile.cu"}
FILES = [pytest.param(file, marks=[pytest.mark.ci] * (file in LATE)) for file in CALLS]


@needs_compiler
@pytest.mark.parametrize("file", FILES)
def test_a_call_of_each_file(driver, file):
    call, *argument = CALLS[file]
    result = call(*(x.to_device("cuda") for x in argument)).to_device("cpu")
    expected = call(*(tl.asarray(x, copy=True) for x in argument))
    np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-6)
    assert file in {kernel.file for kernel in driver._launchers}


def test_files_without_a_call():
    """Only DirectML's operators launch these; the tests under ``-p as_on_gpu`` run them."""
    folder = kernel_directory()
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.cu")}
    assert files - CALLS.keys() == {
        "fill/patterns.cu",
        "image.cu",
        "scatter/copy_scatter.cu",
        "pad.cu",
    }


@needs_compiler
@pytest.mark.parametrize("dtype", ["uint32", "int64"])
def test_atomics(driver, dtype):
    test_cuda_atomics.check(driver, dtype)


# What only a compiler for GPUs knows, but for what g++ knows too.
WORDS = re.compile(r"\b(?:__(?!attribute__|builtin_|VA_ARGS__)\w+|atomic[A-Z]\w+|asm)\b")


def test_what_no_cpu_runs_is_listed():
    folder = kernel_directory()
    results = {
        f"`{word}` in `{path.name}`"
        for path in folder.rglob("*.cu*")
        for word in WORDS.findall(re.sub(r"//.*", "", path.read_text("utf-8")))
    }
    listed = set()
    for line in (folder / "README.md").read_text("utf-8").splitlines():
        if row := re.fullmatch(r"\| (`\w+`(?:, `\w+`)*) \| (`\w+\.cuh?`) \| .* \|", line):
            listed |= {f"{word} in {row[2]}" for word in row[1].split(", ")}
    assert listed == results
