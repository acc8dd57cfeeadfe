"""Kernels compiled by NVRTC, through CuPy's binding; it needs no GPU and no driver.

CuPy's own compile appends ``-ftz=true`` to the options, which would flush denormals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorlayout.cuda.engine import disk_cache
from tensorlayout.cuda.engine.driver import Counters, Kernel, cupy_part
from tensorlayout.support.kernel_sources import header_directory, kernel_directory

OPTIONS = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")

# Changes what is logged, and not a byte of the code (a test compares).
_VERBOSE = "--ptxas-options=-v"


def version() -> str:
    """Return NVRTC's version, as in "12.9". RuntimeError without CuPy."""
    major, minor = cupy_part("cupy_backends.cuda.libs.nvrtc").getVersion()
    return f"{major}.{minor}"


def architecture_for(capability: int) -> int:
    """Return the latest architecture that NVRTC knows, and that devices of `capability` run.

    They run code of their own major version, up to their minor one.
    """
    known = cupy_part("cupy_backends.cuda.libs.nvrtc").getSupportedArchs()
    fitting = [each for each in known if each // 10 == capability // 10 and each <= capability]
    if not fitting:
        msg = (
            f"cuda: the device has compute capability {capability / 10:.1f}, and NVRTC {version()}"
            f" compiles for {', '.join(f'{each / 10:.1f}' for each in known)}; install another"
            " CUDA by 'tensorlayout[cuda12]' or 'tensorlayout[cuda13]'"
        )
        raise RuntimeError(msg)
    return int(max(fitting))


def cubin_file(kernel: Kernel, architecture: int, counters: Counters) -> Path:
    """Find the kernel's file, compiled with its macros, in the cache, or compile it.

    Kernels of one file with the same macros share it: `kernel.name` does not matter.
    """
    options, names, texts = program = _program(kernel, architecture)
    key = disk_cache.key_of(version(), *options, *names, *texts)
    stem = Path(kernel.file).stem

    def make(target: Path) -> None:
        target.write_bytes(_compiled(*program)[0])

    return disk_cache.cached(f"{stem}-sm_{architecture}-{key}", ".cubin", make, counters)


def cubin(kernel: Kernel, architecture: int, counters: Counters) -> bytes:
    """Read `cubin_file`: it is loaded as it was checked, whoever removes the file then."""
    return disk_cache.content(cubin_file(kernel, architecture, counters))


def compiled(kernel: Kernel, architecture: int) -> tuple[bytes, str]:
    """Compile the kernel's file for ``sm_architecture``, without the cache.

    Returns the machine code, and what the compiler said.
    """
    return _compiled(*_program(kernel, architecture))


def _program(kernel: Kernel, architecture: int) -> tuple[tuple[Any, ...], ...]:
    """Return options, the names by which files are included, and their texts; its own first."""
    sources = disk_cache.sources(kernel_directory() / kernel.file, header_directory())
    macros = (*kernel.types, *kernel.shape)
    if kernel.operation:
        macros += (("OPERATION", kernel.operation),)
    defined = (f"-D{name}={value}" for name, value in macros)
    options = (*OPTIONS, f"-arch=sm_{architecture}", *defined)
    return options, tuple(sources), tuple(sources.values())


def _compiled(
    options: tuple[str, ...], names: tuple[str, ...], texts: tuple[bytes, ...]
) -> tuple[bytes, str]:
    nvrtc = cupy_part("cupy_backends.cuda.libs.nvrtc")
    headers = [name.encode() for name in names[1:]]
    program = nvrtc.createProgram(texts[0].decode(), names[0], list(texts[1:]), headers)
    try:
        nvrtc.compileProgram(program, (*options, _VERBOSE))
        cubin = nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        said = nvrtc.getProgramLog(program).strip() or str(error)
        given = " ".join(options[len(OPTIONS) :])
        msg = f"cuda: NVRTC could not compile {names[0]} with {given}:\n{said}"
        raise RuntimeError(msg) from None
    else:
        # CuPy takes the last byte of machine code, a 0, for the end of a text.
        return cubin + b"\0", nvrtc.getProgramLog(program)
    finally:
        nvrtc.destroyProgram(program)
