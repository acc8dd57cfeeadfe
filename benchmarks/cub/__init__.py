"""CUB's device algorithms, compiled by nvcc and run on a machine without a GPU."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import metadata, util
from pathlib import Path
from typing import Any

from benchmarks.host_memory import ATTRIBUTES, LAUNCHED, MEMORY
from benchmarks.launches import Launch

_SOURCES = ("algorithms.cu", "cupy_sorts.cu", "host_runtime.cpp")
_HOOK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t,
    ctypes.c_void_p,
)  # fmt: skip
_ATTRIBUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

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
    """Compile all sources, CuPy's file of sorts among them, which includes an empty header."""
    folder, root, spec = Path(__file__).parent, toolkit(), util.find_spec("cupy")
    if root is None or spec is None or spec.origin is None:
        raise RuntimeError("CUB: nvidia-cuda-nvcc, nvidia-cuda-cccl or CuPy is not installed")
    cupy = Path(spec.origin).parent
    Path(target.parent, "cupy_thrust.h").touch()
    headers = [root / "include/cccl", root / "include", cupy / "cuda", cupy / "_core/include"]
    options = [
        "-std=c++17", "-Xcompiler", "-fPIC", "-gencode", "arch=compute_90,code=sm_90",
        "--no-compress", "-w", *[f"-I{path}" for path in (*headers, target.parent)],
    ]  # fmt: skip
    commands = [
        [str(root / "bin/nvcc"), *options, "-c", str(folder / name), "-o", f"{target}.{n}.o"]
        for n, name in enumerate(_SOURCES)
    ]
    with ThreadPoolExecutor(len(commands)) as pool:
        list(pool.map(partial(subprocess.run, check=True), commands))
    objects = [f"{target}.{n}.o" for n in range(len(commands))]
    link = [str(root / "bin/nvcc"), "-shared", "-cudart", "none", *objects, "-o", str(target)]
    subprocess.run(link, check=True)


@cache
def library() -> Any:
    """Return the compiled functions, whose launches go to `LAUNCHED`."""
    texts = b"".join((Path(__file__).parent / name).read_bytes() for name in _SOURCES)
    versions = [metadata.version(name) for name in ("nvidia-cuda-cccl", "nvidia-cuda-nvcc")]
    key = hashlib.sha256(texts + " ".join(versions).encode()).hexdigest()[:16]
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


_HOOKS = (
    _HOOK(_launched),
    _ATTRIBUTE(lambda which: ATTRIBUTES.get(which, 1)),
    _ALLOCATE(lambda nbytes: MEMORY.allocate(nbytes)),
    _RELEASE(lambda begin: MEMORY.free(begin or 0)),
)


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
