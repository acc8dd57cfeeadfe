"""NumPy's arrays in memory of ours: it ends at a page of no access, or cannot be had at a moment.

The allocator is compiled when it is first asked for (`numpy_memory.cpp`). NumPy finds it in the
context, so that it is set in the package's own contexts too; arrays of before keep their memory.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tensorlayout.cpu.engine import memory

_SET_HANDLER = 304  # the place of PyDataMem_SetHandler in NumPy's table of functions


_MADE = "TENSORLAYOUT_FUZZ_ALLOCATOR"  # of processes that are started: the path of the allocator


@functools.cache
def library():
    """The compiled allocator; None without a compiler."""
    if not os.environ.get(_MADE):
        compiler = shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            return None
        os.environ[_MADE] = _compiled(compiler)
    result = ctypes.CDLL(os.environ[_MADE])
    result.the_handler.restype = ctypes.c_void_p
    result.fail_after.argtypes = [ctypes.c_long]
    result.still_left.restype = ctypes.c_long
    return result


def _compiled(compiler):
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    result, source = Path(folder, "numpy_memory.so"), Path(__file__).with_suffix(".cpp")
    options = ["-std=c++17", "-O1", "-shared", "-fPIC", "-o", str(result), str(source)]
    subprocess.run([compiler, *options], check=True)
    return str(result)


@functools.cache
def _set_handler():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(np._core.multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])


@functools.cache
def _capsule():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(library().the_handler(), b"mem_handler", None)


def _contexts():
    """Return the contexts in which a function is run: directly, and inside ufuncs."""
    return [lambda f, *a: f(*a), memory.quiet.run, memory.unbuffered.run]


@contextmanager
def ours(guard=False):
    """New arrays are in our memory while the block lasts; `guard`: each ends where memory does."""
    library().guard(int(guard))
    before = [run(_set_handler(), _capsule()) for run in _contexts()]
    try:
        yield library()
    finally:
        library().guard(0)
        for run, handler in zip(_contexts(), before, strict=True):
            run(_set_handler(), handler)
