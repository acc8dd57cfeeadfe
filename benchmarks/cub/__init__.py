"""CUB's device algorithms, compiled by nvcc and run on a machine without a GPU."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import subprocess
import tempfile
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.host_memory import ATTRIBUTES, LAUNCHED, MEMORY
from benchmarks.launches import Launch

_SOURCES = ("algorithms.cu", "host_runtime.cpp")
_HOOK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t,
    ctypes.c_void_p,
)  # fmt: skip
_ATTRIBUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)

_ELF = 2  # the kind of an entry of a fat binary


def toolkit() -> Path | None:
    """Return the folder of nvcc from the package index, with its headers and CUB's; or None."""
    try:
        files = metadata.files("nvidia-cuda-nvcc") or []
        metadata.version("nvidia-cuda-cccl")
    except metadata.PackageNotFoundError:
        return None
    return next(
        (Path(str(file.locate())).parent.parent for file in files if file.name == "nvcc"), None
    )


def _build(target: Path) -> None:
    folder, root = Path(__file__).parent, toolkit()
    if root is None:
        raise RuntimeError("CUB: nvidia-cuda-nvcc or nvidia-cuda-cccl is not installed")
    command = [
        str(root / "bin/nvcc"), "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-cudart", "none",
        "-gencode", "arch=compute_90,code=sm_90", "--no-compress", f"-I{root / 'include/cccl'}",
        f"-I{root / 'include'}", *[str(folder / name) for name in _SOURCES], "-o", str(target),
    ]  # fmt: skip
    subprocess.run(command, check=True)


@lru_cache(maxsize=1)
def library() -> Any:
    """Return the compiled functions, whose launches go to `LAUNCHED`."""
    texts = b"".join((Path(__file__).parent / name).read_bytes() for name in _SOURCES)
    key = hashlib.sha256(texts + metadata.version("nvidia-cuda-cccl").encode()).hexdigest()[:16]
    cache = os.environ.get("TENSORLAYOUT_CACHE_DIR") or tempfile.gettempdir()
    file = Path(cache, f"cub-{key}.so")
    if not file.exists():
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _build(Path(folder, "cub.so"))
            Path(folder, "cub.so").replace(file)
    # Its functions stand before those of the same names in CuPy's modules.
    loaded: Any = ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
    loaded.set_hooks(*_HOOKS)
    return loaded


def _launched(fatbin: int, name: bytes, sizes: Any, shared: int, arguments: int) -> None:
    if not fatbin:
        LAUNCHED.add(Launch.fill(shared))
        return
    gx, gy, gz, bx, by, bz = sizes[:6]
    grid, block = (gx, gy, gz), (bx, by, bz)
    LAUNCHED.add(Launch(_cubin(fatbin), name.decode(), grid, block, shared, arguments or 0))


def _attribute(which: int) -> int:
    return ATTRIBUTES.get(which, 1)


_HOOKS = _HOOK(_launched), _ATTRIBUTE(_attribute)


@cache
def _cubin(fatbin: int) -> bytes:
    """The machine code in a fat binary: entries follow a header, each with a header of its own."""
    header = ctypes.string_at(fatbin, 16)
    _, _, at, size = struct.unpack("<IHHQ", header)
    end = at + size
    while at < end:
        kind, _, length, nbytes = struct.unpack("<HHIQ", ctypes.string_at(fatbin + at, 16))
        if kind == _ELF:
            return ctypes.string_at(fatbin + at + length, nbytes)
        at += length + nbytes
    raise ValueError("no machine code in this fat binary")


def call(name: str, *arguments: Any) -> None:
    """Call one of the functions, with temporary memory of the size that it wants."""
    function = getattr(library(), name)
    function.restype = ctypes.c_size_t
    converted = [
        ctypes.c_int(a) if isinstance(a, int) else ctypes.c_void_p(a.data.ptr) for a in arguments
    ]
    nbytes = function(None, ctypes.c_size_t(0), *converted)
    space = MEMORY.allocate(nbytes)
    function(ctypes.c_void_p(space), ctypes.c_size_t(nbytes), *converted)
    MEMORY.free(space)
