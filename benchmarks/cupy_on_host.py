"""CuPy without a driver: its device memory is the host's, and its launches go to a function.

CuPy's modules call CUDA through the C functions of two modules, `runtime` and `driver`, whose
addresses they read from capsules when they are imported. `replace_device` puts functions written
here into those capsules first. So CuPy generates and compiles its kernels, and chooses grids and
parameters, as on an H100.
"""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.host_memory import ATTRIBUTES, LAUNCHED, MEMORY
from benchmarks.launches import Launch

_modules: dict[int, bytes] = {}
_functions: dict[int, tuple[bytes, str]] = {}


def _load(cubin: Any) -> int:
    handle = len(_modules) + 1
    _modules[handle] = bytes(cubin)
    return handle


def _function(module: int, name: Any) -> int:
    handle = len(_functions) + 1
    text = name.decode() if isinstance(name, bytes) else name
    _functions[handle] = _modules[module], text
    return handle


def _launch(f: int, *shape: Any) -> None:
    gx, gy, gz, bx, by, bz, shared, _, parameters, *_ = shape
    cubin, name = _functions[f]
    LAUNCHED.add(Launch(cubin + b"\0", name, (gx, gy, gz), (bx, by, bz), shared, parameters))


def _copy(to: int, source: int, nbytes: int, *_: Any) -> None:
    ctypes.memmove(to, source, nbytes)


def _fill(to: int, value: int, nbytes: int, *_: Any) -> None:
    ctypes.memset(to, value, nbytes)
    LAUNCHED.add(Launch.fill(nbytes))


def _nothing(*_: Any) -> None:
    """Do nothing."""


def _pool(*_: Any) -> int:
    return 1


_RUNTIME: dict[str, Callable[..., Any]] = {
    "_ensure_context": _nothing,
    "getDevice": lambda: 0,
    "getDeviceCount": lambda: 1,
    "getDeviceProperties": lambda _: {"warpSize": 32, "name": b"", "multiProcessorCount": 132},
    "setDevice": _nothing,
    "deviceSynchronize": _nothing,
    "streamSynchronize": _nothing,
    "streamQuery": _nothing,
    "streamIsCapturing": lambda _: 0,
    "deviceGetAttribute": lambda attribute, _: ATTRIBUTES.get(attribute, 1),
    "malloc": MEMORY.allocate,
    "mallocAsync": lambda nbytes, _: MEMORY.allocate(nbytes),
    "free": MEMORY.free,
    "freeAsync": lambda begin, _: MEMORY.free(begin),
    "hostAlloc": lambda nbytes, _: MEMORY.allocate(nbytes),
    "freeHost": MEMORY.free,
    "memcpy": _copy,
    "memcpyAsync": _copy,
    "memset": _fill,
    "memsetAsync": _fill,
    "pointerGetMemoryType": lambda _: 0,
    "memGetInfo": lambda: (2**36, 2**36),
    "driverGetVersion": lambda: 13000,
    "eventCreateWithFlags": _pool,
    "eventCreate": _pool,
    "eventRecord": _nothing,
    "eventSynchronize": _nothing,
    "eventQuery": _nothing,
    "eventDestroy": _nothing,
    "streamWaitEvent": _nothing,
}
_DRIVER: dict[str, Callable[..., Any]] = {
    "moduleLoadData": _load,
    "moduleUnload": _nothing,
    "moduleGetFunction": _function,
    "launchKernel": _launch,
    "launchCooperativeKernel": _launch,
    "ctxGetCurrent": _pool,
    "funcGetAttribute": lambda *_: 0,
    "funcSetAttribute": _nothing,
    "occupancyMaxActiveBlocksPerMultiprocessor": lambda *_: 4,
}

_TYPES: dict[str, Any] = {
    "PyObject *": ctypes.py_object,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "intptr_t": ctypes.c_ssize_t,
    "size_t": ctypes.c_size_t,
}


def _capsules(module: Any) -> Iterator[tuple[str, Any, str]]:
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    for name, capsule in module.__pyx_capi__.items():
        yield name, capsule, (name_of(capsule) or b"").decode()


def _replace(module: Any, functions: dict[str, Callable[..., Any]]) -> None:
    """Put functions into the capsules of a module, and under their names in Python."""
    set_pointer = ctypes.pythonapi.PyCapsule_SetPointer
    set_pointer.argtypes = [ctypes.py_object, ctypes.c_void_p]
    for name, capsule, signature in _capsules(module):
        match = re.fullmatch(r"(.*?) ?\((.*)\)", signature)
        if not match or name not in functions:
            continue
        texts = [] if match[2] == "void" else match[2].split(", ")
        own = [text for text in texts if "__pyx" not in text]
        others = [
            ctypes.c_void_p if "*" in text else ctypes.c_int for text in texts if "__pyx" in text
        ]
        types = [*[_TYPES[text] for text in own], *others]
        function, count = functions[name], len(own)

        def call(
            *arguments: Any, function: Callable[..., Any] = function, count: int = count
        ) -> Any:
            return function(*arguments[:count])

        address = ctypes.PYFUNCTYPE(_TYPES[match[1]], *types)(call)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(address))  # CuPy calls it at exit, too
        set_pointer(capsule, ctypes.cast(address, ctypes.c_void_p))
        setattr(module, name, function)


def replace_device() -> None:
    """Make the host's memory CuPy's device; before CuPy is imported."""
    if "cupy" in sys.modules:
        raise RuntimeError("cupy is imported already")
    for name, functions in (("runtime", _RUNTIME), ("driver", _DRIVER)):
        _replace(importlib.import_module(f"cupy_backends.cuda.api.{name}"), functions)
