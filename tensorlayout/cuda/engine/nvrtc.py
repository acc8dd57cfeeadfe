"""Compilation of kernels by NVRTC, through CuPy's binding; this needs no GPU and no driver.

CuPy's own `compile` is not used: it appends ``-ftz=true``, which would flush denormals.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from tensorlayout.cuda.engine import disk_cache
from tensorlayout.cuda.engine.driver import Counters, Kernel, import_cupy_module
from tensorlayout.cuda.engine.kernel_shapes import kernel_label
from tensorlayout.support.kernel_sources import header_directory, kernel_directory

# IEEE 754 arithmetic as on the CPU: no fused multiply-add, no flushed denormals, and correctly
# rounded division and square roots.
OPTIONS = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")

# Variable that adds line numbers of the sources, for profilers. The code stays the same.
LINE_INFO = "TENSORLAYOUT_LINEINFO"

# Adds information to the log, and changes no byte of the code (a test compares).
_VERBOSE = "--ptxas-options=-v"


def nvrtc_version() -> str:
    """Return NVRTC's version, such as "12.9". Raises RuntimeError without CuPy."""
    major, minor = import_cupy_module("cupy_backends.cuda.libs.nvrtc").getVersion()
    return f"{major}.{minor}"


@functools.cache
def _compiler_build(nvrtc: Any) -> bytes:
    """Return what tells builds of NVRTC apart: the PTX of an empty program, once per process.

    Its comments have the patch version and the build, such as "V12.9.86", for which NVRTC has no
    function.
    """
    program = nvrtc.createProgram("", "empty.cu", [], [])
    try:
        nvrtc.compileProgram(program, ())
        return bytes(nvrtc.getPTX(program))
    finally:
        nvrtc.destroyProgram(program)


def newest_runnable_architecture(capability: int) -> int:
    """Return the latest architecture of NVRTC whose code devices of `capability` can run.

    Devices run code of their own major version, up to their minor version. Raises RuntimeError if
    NVRTC has no such architecture.
    """
    known = import_cupy_module("cupy_backends.cuda.libs.nvrtc").getSupportedArchs()
    fitting = [
        architecture
        for architecture in known
        if architecture // 10 == capability // 10 and architecture <= capability
    ]
    if not fitting:
        versions = ", ".join(f"{architecture / 10:.1f}" for architecture in known)
        raise RuntimeError(
            f"cuda: the device has compute capability {capability / 10:.1f}, and NVRTC "
            f"{nvrtc_version()} compiles for {versions}; install another CUDA, by "
            "pip install 'cupy-cuda12x[ctk]' or 'cupy-cuda13x[ctk]'"
        )
    return int(max(fitting))


def cubin_file(kernel: Kernel, architecture: int, counters: Counters) -> Path:
    """Return the compiled file of a kernel with its macros, from the cache or from the compiler.

    Kernels of one source file with the same macros share it; `kernel.name` does not matter. Its
    kernels have the names of `compiled_name`.
    """
    options, names, texts = program = _program_sources(kernel, architecture)
    build = _compiler_build(import_cupy_module("cupy_backends.cuda.libs.nvrtc"))
    key = disk_cache.cache_key(build, *options, *names, *texts)
    stem = Path(kernel.file).stem

    def compile_to_file(target: Path) -> None:
        target.write_bytes(_compile_program(*program)[0])

    return disk_cache.cached_file(
        f"{stem}-sm_{architecture}-{key}", ".cubin", compile_to_file, counters
    )


def read_cubin(kernel: Kernel, architecture: int, counters: Counters) -> bytes:
    """Return the content of `cubin_file`, which stays valid if the file is removed later."""
    return disk_cache.read_entry(cubin_file(kernel, architecture, counters))


def compile_cubin(kernel: Kernel, architecture: int, *more_options: str) -> tuple[bytes, str]:
    """Compile a kernel's file without the cache; return the machine code and the compiler's log."""
    options, names, texts = _program_sources(kernel, architecture)
    return _compile_program((*options, *more_options), names, texts)


def _program_sources(kernel: Kernel, architecture: int) -> tuple[tuple[Any, ...], ...]:
    """Return options, names of files in includes, and their texts; the kernel's file is first."""
    sources = disk_cache.read_with_includes(kernel_directory() / kernel.file, header_directory())
    macros = (*kernel.types, *kernel.shape)
    if kernel.operation:
        macros += (("OPERATION", kernel.operation),)
    if label := kernel_label(kernel):
        macros += (("LABEL", label),)
    defined = (f"-D{name}={value}" for name, value in macros)
    lines = () if os.environ.get(LINE_INFO, "0") in ("", "0") else ("-lineinfo",)
    options = (*OPTIONS, f"-arch=sm_{architecture}", *lines, *defined)
    return options, tuple(sources), tuple(sources.values())


def _compile_program(
    options: tuple[str, ...], names: tuple[str, ...], texts: tuple[bytes, ...]
) -> tuple[bytes, str]:
    nvrtc = import_cupy_module("cupy_backends.cuda.libs.nvrtc")
    headers = [name.encode() for name in names[1:]]
    program = nvrtc.createProgram(texts[0].decode(), names[0], list(texts[1:]), headers)
    try:
        nvrtc.compileProgram(program, (*options, _VERBOSE))
        cubin = nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program).strip() or str(error)
        option_text = " ".join(options[len(OPTIONS) :])
        msg = f"cuda: NVRTC could not compile {names[0]} with {option_text}:\n{log}"
        raise RuntimeError(msg) from None
    else:
        # CuPy drops the last byte of machine code, which is a 0, as if it ended a string.
        return cubin + b"\0", nvrtc.getProgramLog(program)
    finally:
        nvrtc.destroyProgram(program)
