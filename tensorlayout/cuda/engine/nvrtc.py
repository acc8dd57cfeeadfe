"""Kernels compiled by NVRTC, through CuPy's binding; it needs no GPU and no driver.

CuPy's own compile appends ``-ftz=true`` to the options, which would flush denormals.
"""

from __future__ import annotations

import struct
from pathlib import Path

from tensorlayout.cuda.engine import disk_cache
from tensorlayout.cuda.engine.driver import Counters, Kernel, cupy_part
from tensorlayout.support.kernel_sources import header_directory, kernel_directory

OPTIONS = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")

# Changes what is logged, and not a byte of the code (a test compares).
_VERBOSE = "--ptxas-options=-v"


def version() -> str:
    """NVRTC's, as in "12.9". RuntimeError without CuPy."""
    major, minor = cupy_part("cupy_backends.cuda.libs.nvrtc").getVersion()
    return f"{major}.{minor}"


def architecture_for(capability: int) -> int:
    """What to compile for: the latest that NVRTC knows, and that devices of `capability` run.

    They run code of their own major version, up to their minor one. RuntimeError if NVRTC is older
    than the device or no longer knows it.
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
    """The kernel's file compiled with its macros, from the cache if it is there; as for `compiled`.

    Kernels of one file with the same macros share it: `kernel.name` does not matter.
    """
    program = _Program(kernel, architecture)
    key = disk_cache.key_of(version(), *program.options, *program.names, *program.texts)
    stem = Path(kernel.file).stem

    def make(target: Path) -> None:
        target.write_bytes(program.compile()[0])

    return disk_cache.cached(f"{stem}-sm_{architecture}-{key}", ".cubin", make, counters)


def cubin(kernel: Kernel, architecture: int, counters: Counters) -> bytes:
    """What `cubin_file` holds: to be loaded as it was checked, whoever removes the file then."""
    return disk_cache.content(cubin_file(kernel, architecture, counters))


def compiled(kernel: Kernel, architecture: int) -> tuple[bytes, str]:
    """The kernel's file compiled with its macros, for ``sm_architecture``; never from the cache.

    The machine code, and what the compiler said.

    FileNotFoundError; RuntimeError with the compiler's message, or without CuPy.
    """
    return _Program(kernel, architecture).compile()


class _Program:
    """What NVRTC is given: a file, its headers by the names it includes them by, and options."""

    def __init__(self, kernel: Kernel, architecture: int) -> None:
        folder = header_directory().resolve()
        path = (kernel_directory() / kernel.file).resolve()
        sources = disk_cache.sources(path, folder)
        self.texts = tuple(sources.values())
        self.names = tuple(_name_in(header, folder, path.parent) for header in sources)
        macros = (*kernel.types, *kernel.shape)
        if kernel.operation:
            macros += (("OPERATION", kernel.operation),)
        defined = (f"-D{name}={value}" for name, value in macros)
        self.options = (*OPTIONS, f"-arch=sm_{architecture}", *defined)

    def compile(self) -> tuple[bytes, str]:
        """Machine code, and what the compiler said. RuntimeError with that where it fails."""
        nvrtc = cupy_part("cupy_backends.cuda.libs.nvrtc")
        headers, names = list(self.texts[1:]), [name.encode() for name in self.names[1:]]
        program = nvrtc.createProgram(self.texts[0].decode(), self.names[0], headers, names)
        try:
            nvrtc.compileProgram(program, (*self.options, _VERBOSE))
            cubin = nvrtc.getCUBIN(program)
        except nvrtc.NVRTCError as error:
            said = nvrtc.getProgramLog(program).strip() or str(error)
            given = " ".join(self.options[len(OPTIONS) :])
            msg = f"cuda: NVRTC could not compile {self.names[0]} with {given}:\n{said}"
            raise RuntimeError(msg) from None
        else:
            return whole_elf(cubin), nvrtc.getProgramLog(program)
        finally:
            nvrtc.destroyProgram(program)


# Of an ELF file of 64 bits: where the tables of segments and sections begin, and of what size and
# how many the entries of each are.
_ELF = struct.Struct("<4s28xQQ6xHHHH2x")


def whole_elf(cubin: bytes) -> bytes:
    """What NVRTC compiled, with its last byte: CuPy takes that for a NUL behind a text.

    It is a 0, the highest byte of the last number of a table. RuntimeError if more is missing.
    """
    nbytes = None
    if len(cubin) >= _ELF.size:
        magic, segments, sections, *sizes = _ELF.unpack_from(cubin)
        if magic == b"\x7fELF":
            ends = segments + sizes[0] * sizes[1], sections + sizes[2] * sizes[3]
            nbytes = max(_ELF.size, *ends)
    if nbytes is not None and nbytes - len(cubin) <= 1:
        return cubin.ljust(nbytes, b"\0")
    needed = "it is no ELF file" if nbytes is None else f"its header says {nbytes}"
    msg = f"cuda: NVRTC {version()} gave {len(cubin)} bytes of machine code, and {needed}"
    raise RuntimeError(msg)


def _name_in(header: Path, *folders: Path) -> str:
    inside = (each for each in folders if header.is_relative_to(each))
    return header.relative_to(next(inside, header.parent)).as_posix()
