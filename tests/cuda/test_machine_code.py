"""Machine code and PTX of every kernel, from NVRTC; run by NumPy, or read. No GPU.

What NVRTC makes of a kernel stores what g++ makes of it for the simulator: all that only a GPU is
given takes part.
"""

import re

import numpy as np
import pytest
import test_every_kernel
from cuda_memory import ptx_of
from simulated import needs_compiler, simulator

import tensorlayout as tl
from benchmarks import resources, roofline
from tensorlayout.cuda.engine.kernel_shapes import kernels_in_file
from tensorlayout.cuda.engine.warm_up import common_kernels
from tensorlayout.support.kernel_sources import kernel_directory

needs_nvrtc = pytest.mark.skipif(
    not roofline.available(), reason="optional: cupy, nvidia-cuda-nvdisasm"
)

# ---- Machine code, run


def check_stores(work, most=None):
    """Run `work` on the simulator, and machine code beside it; the lines of kernels that were run.

    `most`: launches of a kernel of which machine code is run.
    """
    with simulator(), tl.using_device("cuda"), roofline.issuing(most=most) as issued:
        for _ in work():
            pass
    assert (issued.unknown, issued.wrong) == ("", 0)
    assert issued.stored
    return issued.lines


every_case = pytest.mark.parametrize(
    "case", test_every_kernel.CASES, ids=lambda case: case.__name__
)


@pytest.mark.ci
@needs_nvrtc
@needs_compiler
@every_case
def test_every_kernel_stores_what_the_simulator_does(case, monkeypatch):
    monkeypatch.setattr(roofline, "_SAMPLED", 2)
    check_stores(case, 1)


@pytest.mark.long
@needs_nvrtc
@needs_compiler
@every_case
def test_every_launch_stores_what_the_simulator_does(case):
    check_stores(case)


def there(*shape, dtype="float32"):
    values = np.random.default_rng(1).normal(0, 100, shape)
    return tl.astype(tl.asarray(values, device="cuda"), dtype)


@pytest.mark.ci
@needs_nvrtc
@needs_compiler
def test_tiles_that_wait_for_others_store_what_the_simulator_does():
    check_stores(lambda: [tl.cumulative_sum(there(20_000)), tl.sort(there(12_000, dtype="int16"))])


# Lines that neither the simulator nor g++ is given, and calls that run them.
ONLY_ON_A_GPU = {
    "dtypes.cuh": {
        'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));': (
            lambda: [tl.astype(there(3000), "float16"), tl.astype(there(3000) * 1e-8, "float16")]
        ),
        'asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));': (
            lambda: [tl.astype(there(3000, dtype="float16"), "float32")]
        ),
        'asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));': (
            lambda: [tl.astype(there(3000), "bfloat16")]
        ),
    },
    "copy.cu": {
        "return __byte_perm(one, two, which);": (
            lambda: [tl.to_layout(there(256, 512, dtype=n), (0, 1)) for n in ("int8", "int16")]
        )
    },
    "tiles.cuh": {
        "return __umulhi(n, magic);": lambda: [tl.to_layout(there(256, 512), (0, 1))],
    },
}


@pytest.mark.ci
@needs_nvrtc
@needs_compiler
@pytest.mark.parametrize(
    ("file", "line"), [(file, line) for file, lines in ONLY_ON_A_GPU.items() for line in lines]
)
def test_a_line_that_only_a_gpu_is_given(file, line):
    lines = check_stores(ONLY_ON_A_GPU[file][line])
    (path,) = kernel_directory().rglob(file)
    texts = [text.strip() for text in path.read_text("utf-8").splitlines()]
    assert f"{file}:{1 + texts.index(line)}" in lines


def test_the_lines_that_only_a_gpu_is_given_are_listed():
    """Others have words for which tests/kernels/as_on_gpu.cpp has a meaning."""
    words = re.compile(r"\b(asm|__(byte_perm|umulhi|ldg|ldcs|stcs|f\w+_r[nzud]))\(")
    lines = {
        (path.name, line.strip())
        for path in kernel_directory().rglob("*.cu*")
        for line in path.read_text("utf-8").splitlines()
        if words.search(line.partition("//")[0])
    }
    assert lines == {(file, line) for file, known in ONLY_ON_A_GPU.items() for line in known}


# ---- PTX, read

_FLOATS = dict.fromkeys(("FIRST", "SECOND", "COMPUTE", "RESULT"), "float")


def known_kernels():
    """By name and task, one of each: of the shapes with 32-bit indices, one that packs most."""
    results = {}
    for kernel in (
        *common_kernels("float32"),
        *kernels_in_file("elementwise.cu", (*_FLOATS.items(), ("WIDEST", "4")), "add"),
        *resources.known(),
    ):
        shape = dict(kernel.shape)
        if shape.get("INDEX") != "int64_t":
            task = [shape[name] for name in ("ROWS", "LINES", "COLUMNS", "GIVES") if name in shape]
            widths = [int(n) for name, n in kernel.shape if n.isdigit() and name not in _NO_WIDTHS]
            packed = (max(widths) - min(widths), max(widths)) if widths else (0, 0)
            key = shape.get("RANK", "1") == "1", *packed
            results.setdefault(" ".join((kernel.name, *task)), []).append((key, kernel))
    return {name: max(those, key=lambda item: item[0])[1] for name, those in results.items()}


_NO_WIDTHS = ("RANK", "ROOM", "SHORT")
KERNELS = known_kernels()


def test_every_kernel_is_read():
    declared = set(" ".join(test_every_kernel.CASES.values()).split())
    assert {name.partition(" ")[0] for name in KERNELS} == declared


_ACCESS = re.compile(
    r"\b(ld|st)\.(?:volatile\.)?global(?:\.nc)?\.(?:v(\d)\.)?[a-z](\d+)\s.*"
    r"\[(%\w+)(?:\+(-?\d+))?\]"
)


def narrow_runs(ptx):
    """Accesses that follow each other from one address, in one run of code: {(ld or st, bytes)}."""
    offsets_by_access, results = {}, set()
    for line in ptx.splitlines():
        if re.search(r"^\$|\bbra\b|\bbar\.", line.strip()):
            offsets_by_access.clear()
        elif match := _ACCESS.search(line):
            access, lanes, bits, base, offset = match.groups()
            nbytes, at = int(lanes or 1) * int(bits) // 8, int(offset or 0)
            offsets = offsets_by_access.setdefault((access, nbytes, base), set())
            if nbytes < 16 and offsets & {at - nbytes, at + nbytes}:
                results.add((access, nbytes))
            offsets.add(at)
    return results


# Runs that are no pack: bytes that packed slots share with others; totals of chunks, and neighbours
# of an element, which loops read that are unrolled.
NARROW = {
    "pack_flat": {("ld", 1), ("st", 1)},
    "unpack_flat": {("ld", 1), ("st", 1)},
    "scan_rows results": {("ld", 8)},
    "scan_lines linked_tiles": {("ld", 4), ("st", 4)},  # what blocks publish
    "combine_elements": {("ld", 4)},
    "fold_runs": {("ld", 4)},
    "change_elements": {("ld", 4)},
}


# Functions that CUDA computes by fused products.
FUSED = ("exp", "log", "tanh")


@pytest.mark.ci
@needs_nvrtc
@pytest.mark.parametrize("number", range(4))
def test_packs_move_whole_and_products_are_not_fused(number):
    runs, expected = {}, {}
    for name in list(KERNELS)[number::4]:
        kernel = KERNELS[name]
        ptx = ptx_of(kernel)
        assert kernel.operation in FUSED or not re.search(r"\bfma\.|\.ftz|\.approx", ptx), kernel
        runs[name] = narrow_runs(ptx)
        expected[name] = NARROW.get(name, set())
    assert runs == expected
