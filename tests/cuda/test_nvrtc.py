"""Kernels compiled by NVRTC, the cache of what it made, and what is reported of it; no GPU."""

import functools
import importlib
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cuda_memory import assert_no_spills, ptx_of
from simulated import needs_compiler
from simulated import simulator as simulated
from strict_cupy import strict_nvrtc

import tensorlayout as tl
from benchmarks import resources
from benchmarks.resources import Resources
from tensorlayout.cuda import warmup
from tensorlayout.cuda.engine import nvrtc, simulator, warm_up
from tensorlayout.cuda.engine.disk_cache import read_entry
from tensorlayout.cuda.engine.driver import Counters, Kernel
from tensorlayout.cuda.engine.kernel_shapes import kernel_label
from tensorlayout.cuda.engine.launch_log import launch_log
from tensorlayout.cuda.engine.warm_up import common_kernels, kernels_of_any_dtype
from tensorlayout.support.kernel_sources import kernel_directory

KERNELS = Path(__file__).parents[1] / "kernels"
ARCHITECTURES = [
    75,
    80,
    90,
    pytest.param(100, marks=pytest.mark.long),
    pytest.param(120, marks=pytest.mark.long),
]


@pytest.fixture
def compiler():
    try:
        result = importlib.import_module("cupy_backends.cuda.libs.nvrtc")
        result.getVersion()
    except (ImportError, RuntimeError):  # CuPy may be there without the library
        pytest.skip("optional: NVRTC comes with cupy")
    return result


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORLAYOUT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def right(name="increment", **shape):
    return Kernel(str(KERNELS / "right.cu"), name, shape=tuple(shape.items()))


def written(folder, text, **macros):
    """A kernel of a file of its own."""
    path = folder / "own.cu"
    path.write_text(text, "utf-8")
    return Kernel(str(path), "own", types=tuple(macros.items()))


# ---- Compiling


@pytest.mark.ci
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_a_file(compiler, architecture):
    result = resources.compiled(right(), architecture)
    assert result.cubin[:4] == b"\x7fELF"
    assert result.resources.keys() >= {"nothing", "meet_once", "increment", "where_am_i"}
    assert result.warnings == ""
    assert not [name for name, item in result.resources.items() if item.spilled or item.stack]
    shared = {name: item.shared for name, item in result.resources.items() if item.shared}
    assert shared == {
        "transpose_tiles": 4 * 32 * 33,
        "transpose_in_one_bank": 4 * 32 * 32,
        "sum_blocks": 4 * 256,
        "take_turns": 4 * 256,
    }


@pytest.mark.ci
def test_what_is_kept_is_a_whole_elf_file(compiler, cache, small):
    """By the tables that the header names, read here; for all architectures that kernels run on."""
    for architecture in [n for n in compiler.getSupportedArchs() if n >= 75]:
        kept = read_entry(nvrtc.cubin_file(small, architecture, Counters()))
        segments, sections = struct.unpack_from("<QQ", kept, 32)
        size, count, other, number = struct.unpack_from("<HHHH", kept, 54)
        assert len(kept) == max(segments + size * count, sections + other * number)
        assert kept[-8:] in (b"\x08" + bytes(7), bytes(8))  # an alignment, or no entries
        assert nvrtc.read_cubin(small, architecture, Counters()) == kept


IEEE_754 = ("--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")


def test_options(cache, monkeypatch):
    """Every file has the same; the lines of kernels/README.md say why."""
    text = (kernel_directory() / "README.md").read_text("utf-8")
    assert f"`{' '.join(('--std=c++17', *IEEE_754))}`" in text
    binding, seen = strict_nvrtc(), []
    compile_program = binding.compileProgram

    def noted(program, options):
        seen.append(options)
        compile_program(program, options)

    monkeypatch.setattr(binding, "compileProgram", noted)
    monkeypatch.setitem(sys.modules, binding.__name__, binding)
    files = [path.relative_to(kernel_directory()) for path in kernel_directory().rglob("*.cu")]
    for file in files:
        kernel = Kernel(file.as_posix(), "any", (("ELEMENT", "float"),), (("N", "2"),))
        assert nvrtc.read_cubin(kernel, 87, Counters())
    # Without options NVRTC is asked for its build.
    others = [[option for option in options if option[:2] != "-D"] for options in seen if options]
    own = "-arch=sm_87", "--ptxas-options=-v"
    assert others == [["--std=c++17", *IEEE_754, *own]] * len(files)


DENORMAL = """
#include "memory.cuh"
struct Params { float* to; float x, y; };
KERNEL(own, Params) { store(p.to, p.x * p.y + p.x / p.y); }
"""


@pytest.mark.ci
def test_arithmetic_is_that_of_ieee_754(tmp_path):
    """No product is fused, and no denormal flushed: as PTX has it."""
    ptx = ptx_of(written(tmp_path, DENORMAL))
    assert "mul.rn.f32" in ptx or "mul.f32" in ptx
    assert "div.rn.f32" in ptx
    assert "fma" not in ptx
    assert "ftz" not in ptx


SHARED_ARRAY = re.compile(r"\.shared \.align (\d+) \.b8 (\w+)\[")
SHARED_ACCESS = re.compile(r"\b(?:ld|st)(?:\.volatile)?\.shared(?:\.v(\d))?\.[a-z](\d+)")


@pytest.mark.ci
def test_shared_arrays_are_aligned_for_every_access():
    """A kernel's arrays, each for the widest access of the kernel, wherever ptxas places them."""
    kernels = {kernel.name: kernel for kernel in resources.known()}.values()
    with_arrays = 0
    for kernel in kernels:
        ptx = ptx_of(kernel)
        accesses = SHARED_ACCESS.findall(ptx)
        widest = max((int(lanes or 1) * int(bits) // 8 for lanes, bits in accesses), default=0)
        arrays = {name: int(alignment) for alignment, name in SHARED_ARRAY.findall(ptx)}
        assert all(alignment >= widest for alignment in arrays.values()), (kernel, widest, arrays)
        with_arrays += bool(arrays)
    assert with_arrays > 20


@pytest.mark.ci
def test_an_error_names_file_line_and_macros(compiler):
    kernel = Kernel(str(KERNELS / "broken.cu"), "broken", shape=(("RANK", "2"),))
    expected = (
        r"^cuda: NVRTC could not compile broken.cu with -arch=sm_80 -DRANK=2 -DLABEL=2:\n"
        r'broken.cu\(7\): error: class "Params" has no member "from"'
    )
    with pytest.raises(RuntimeError, match=expected):
        resources.compiled(kernel, 80)


@pytest.mark.parametrize(
    ("file", "types", "operation", "shape", "label"),
    [
        ("copy/copy.cu", {}, "", {"RANK": "3", "INDEX": "int32_t"}, "3_int32_t"),
        ("reduce/reduce.cu", {"ELEMENT": "half", "LONGEST": "8"}, "sum", {}, "sum_float16"),
        (
            "elementwise.cu",
            {"FIRST": "complex<float>", "COMPUTE": "complex<float>", "RESULT": "float"},
            *("abs", {"PACK": "2"}, "abs_complex64_float32_2"),
        ),
        (
            "elementwise.cu",
            {"FIRST": "uint8_t", "RESULT": "saturated<float8_e4m3fn>", "WIDEST": "1"},
            *("positive", {}, "positive_uint8_float8_e4m3fn"),
        ),
        (
            "fuse.cu",
            {
                "ELEMENTS": "float, bool8",
                "CHAIN": "call<functions::exp, float>(v0); functions::add",
            },
            *("", {}, "exp_add_float32_bool"),
        ),
    ],
)
def test_labels(file, types, operation, shape, label):
    kernel = Kernel(file, "any", tuple(types.items()), tuple(shape.items()), operation)
    assert kernel_label(kernel) == label


@pytest.mark.ci
def test_profilers_see_operation_dtypes_and_shape(compiler):
    kernel = next(kernel for kernel in common_kernels("float32") if kernel.operation == "add")
    cubin, _ = nvrtc.compile_cubin(kernel, 90)
    assert b"\0.text.elementwise_flat_add_float32_4\0" in cubin
    cubin, _ = nvrtc.compile_cubin(right(), 90)
    assert b"\0.text.increment\0" in cubin


@pytest.mark.ci
def test_line_numbers(compiler, cache, small, monkeypatch):
    """They are an entry of their own in the cache."""
    plain = nvrtc.cubin_file(small, 90, Counters())
    monkeypatch.setenv(nvrtc.LINE_INFO, "1")
    with_lines = nvrtc.cubin_file(small, 90, Counters())
    assert [b".debug_line" in read_entry(path) for path in (plain, with_lines)] == [False, True]
    monkeypatch.setenv(nvrtc.LINE_INFO, "0")
    assert nvrtc.cubin_file(small, 90, Counters()) == plain


@pytest.mark.ci
def test_a_warning_is_told(compiler, tmp_path):
    result = resources.compiled(written(tmp_path, "#warning be careful\n" + DENORMAL), 90)
    assert "be careful" in result.warnings
    assert result.resources.keys() == {"own"}


def test_the_latest_architecture_that_a_device_runs(monkeypatch):
    _fake_nvrtc(monkeypatch, (75, 80, 86, 87, 89, 90, 120, 121))
    for capability, architecture in {75: 75, 90: 90, 88: 87, 120: 120, 129: 121}.items():
        assert nvrtc.newest_runnable_architecture(capability) == architecture


@pytest.mark.parametrize("capability", [70, 110, 130])
def test_a_device_that_nvrtc_does_not_know(monkeypatch, capability):
    _fake_nvrtc(monkeypatch, (75, 80, 90, 120))
    expected = rf"capability {capability / 10}, and NVRTC 12.9 compiles for 7.5, 8.0, 9.0, 12.0;"
    with pytest.raises(RuntimeError, match=expected):
        nvrtc.newest_runnable_architecture(capability)


def _fake_nvrtc(monkeypatch, architectures):
    fake = type("nvrtc", (), {})
    fake.getSupportedArchs = staticmethod(lambda: architectures)
    fake.getVersion = staticmethod(lambda: (12, 9))
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs.nvrtc", fake)


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs.nvrtc", None)
    for call in (nvrtc.nvrtc_version, lambda: nvrtc.compile_cubin(right(), 90)):
        with pytest.raises(RuntimeError, match=r"^cuda: CuPy .*'cupy-cuda12x\[ctk\]'"):
            call()


# ---- The cache


@pytest.fixture
def small(tmp_path):
    """A kernel that compiles in no time."""
    return written(tmp_path, DENORMAL)


@pytest.mark.ci
def test_a_file_is_compiled_once(compiler, cache):
    counters = Counters()
    path = nvrtc.cubin_file(right(), 90, counters)
    assert read_entry(path) == resources.compiled(right(), 90).cubin
    assert path.parent == cache
    assert path.name.startswith("right-sm_90-")
    assert nvrtc.cubin_file(right("agree"), 90, counters) == path
    assert counters == Counters(compiles=1, cache_hits=1)


@pytest.mark.ci
def test_what_tells_entries_apart(compiler, cache, tmp_path, monkeypatch):
    counters = Counters()
    (tmp_path / "plus.cuh").write_text("#define PLUS 7\n")
    text = DENORMAL.replace('"memory.cuh"', '"memory.cuh"\n#include "plus.cuh"')
    kernel = written(tmp_path, text)
    paths = [
        nvrtc.cubin_file(kernel, 90, counters),
        nvrtc.cubin_file(kernel, 80, counters),
        nvrtc.cubin_file(written(tmp_path, text, RANK="2"), 90, counters),
        nvrtc.cubin_file(written(tmp_path, text + "//"), 90, counters),
    ]
    (tmp_path / "plus.cuh").write_text("#define PLUS 8\n")
    paths.append(nvrtc.cubin_file(kernel, 90, counters))
    monkeypatch.setattr(nvrtc, "_compiler_build", lambda _: b"V1.0.0")
    paths.append(nvrtc.cubin_file(kernel, 90, counters))
    assert len(set(paths)) == counters.compiles == 6


def test_a_patch_version_of_nvrtc_has_entries_of_its_own(cache, small, monkeypatch):
    """The function for versions gives 12.9 for each of them."""
    counters = Counters()
    for patch in (b"V12.9.41", b"V12.9.86", b"V12.9.86"):
        compiler = strict_nvrtc()
        compiler.getVersion = lambda: (12, 9)
        compiler.getPTX = lambda _, patch=patch: b"// release 12.9, " + patch
        monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs.nvrtc", compiler)
        nvrtc.cubin_file(small, 90, counters)
    assert (counters.compiles, counters.cache_hits) == (2, 1)


@pytest.mark.ci
def test_nvrtc_names_its_patch_version(compiler):
    assert re.search(rb"release (\d+\.\d+), V\1\.\d+\n", nvrtc._compiler_build(compiler))


# ---- Ahead of time


@pytest.mark.ci
def test_warmup_for_an_architecture(compiler, cache, small, capsys):
    kernels = [small, replace(small, name="other"), replace(small, shape=(("RANK", "2"),))]
    assert warmup(kernels, architecture=90) == 2
    assert len(list(cache.glob("*.cubin"))) == 2
    assert "compiling kernels" in capsys.readouterr().err
    assert warmup(kernels[:2], architecture=90) == 0
    line = "compiling kernels"
    assert capsys.readouterr().err == f"\r{line}: 0 of 2\r{line}: 1 of 2\r{line}: 2 of 2\n"


def test_warmup_takes_kernels_and_dtypes_apart():
    for kernels in (["float32"], "copy_tiles"):
        with pytest.raises(TypeError, match=r"^warmup: .* names of dtypes go to dtypes="):
            tl.cuda.warmup(kernels)


@needs_compiler
def test_warmup_on_the_driver_of_this_process(cache, monkeypatch, capsys):
    monkeypatch.setattr(warm_up, "driver", functools.cache(simulator.open_driver))
    assert warmup([right(), right("nothing")]) == 1  # the simulator compiles whole files
    assert warmup([right()]) == 0
    assert [path.suffix for path in cache.glob("*.*")] == [".so"]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "complex64"])
def test_kernels_common_to_a_dtype(dtype):
    kernels = list(common_kernels(dtype))
    assert len(set(kernels)) == len(kernels)
    assert set(kernels).isdisjoint(kernels_of_any_dtype())
    operations = {kernel.operation for kernel in kernels}
    assert "equal" in operations
    assert ("add" in operations) == (dtype not in ("bool", "complex64"))
    assert ("exp" in operations) == (dtype == "float32")


@needs_compiler
def test_common_calls_ask_for_nothing_else():
    there = {*kernels_of_any_dtype(), *common_kernels("float32")}
    with simulated(1):
        x = tl.ones((64, 64), dtype=tl.float32, device="cuda")
        with launch_log() as seen:
            for y in (x + x, x * x[0], x - x[:, :1], 2 * x, x < x, tl.sqrt(x), tl.abs(x)):
                assert y.shape == x.shape
            for reduce in (tl.sum, tl.mean, tl.max, tl.var, tl.argmin):
                reduce(x, axis=0)
                reduce(x, axis=1)
                reduce(x)
            tl.cumulative_sum(x, axis=0)
            tl.argsort(tl.sort(x, axis=1))
            tl.median(x, axis=0)
            tl.searchsorted(x[0], x)
            tl.scatter_add(x, tl.asarray([1, 1], device="cuda"), 1.0)
    asked = seen.keys()
    assert len(asked) > 20
    assert asked <= there, asked - there


@needs_compiler
@pytest.mark.parametrize(
    "kernels",
    [kernels_of_any_dtype, pytest.param(lambda: common_kernels("float32"), marks=pytest.mark.long)],
)
def test_the_simulator_has_every_kernel(kernels):
    driver, expected = simulator.open_driver(), list(kernels())
    assert len(set(expected)) == len(expected)
    for kernel in expected:
        driver.launcher(kernel)


@pytest.mark.ci
@pytest.mark.parametrize(
    "kernels", [kernels_of_any_dtype, lambda: resources.fused_sums(tl.float32, 3)]
)
def test_kernels_compile_without_spills(compiler, kernels):
    """One shape of each; all of the known ones below."""
    assert_no_spills({kernel.name: kernel for kernel in kernels()}.values(), 90)


@pytest.mark.ci
@pytest.mark.long
@pytest.mark.parametrize("architecture", [75, 80, 90, 100, 120])
def test_all_known_kernels_compile_without_spills(compiler, architecture):
    assert_no_spills(kernels_of_any_dtype(), architecture)


# ---- The table


def test_the_table_has_the_most_over_all_shapes(monkeypatch):
    monkeypatch.setattr(nvrtc, "nvrtc_version", lambda: "12.9")
    results = {
        ("copy_flat", "copy/copy.cu", 90): [Resources(10, 0, 0, 16), Resources(8, 8, 0, 32)],
        ("copy_flat", "copy/copy.cu", 75): [Resources(12, 0, 4, 0)],
    }
    page = resources.table(results)
    assert page.endswith(
        "| `copy_flat` | `copy/copy.cu` | 1 | sm_75 | 12 | 0 | 4 | 0 |\n"
        "| `copy_flat` | `copy/copy.cu` | 2 | sm_90 | 10 | 8 | 0 | 32 |\n"
    )


def test_the_command_fails_at_a_spill(monkeypatch, capsys):
    spilled = resources.Compiled(b"", {"increment": Resources(32, 8, 8, 0)}, "")
    monkeypatch.setattr(nvrtc, "nvrtc_version", lambda: "12.9")
    monkeypatch.setattr(resources, "known", lambda: [right()])
    monkeypatch.setattr(resources, "compiled", lambda kernel, architecture: spilled)
    assert resources.main(["--architecture", "90"]) == 1
    output = capsys.readouterr()
    assert "| `increment` | `right.cu` | 1 | sm_90 | 32 |" in output.out
    assert output.err.endswith("increment spills registers\n")
