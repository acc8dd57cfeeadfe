"""Two ways to the same result: what the texts of such cases call. Bits must be equal."""

from __future__ import annotations

import io
import pickle
import resource
import signal
import tempfile
import threading
import zlib
from collections import namedtuple
from contextlib import contextmanager
from dataclasses import dataclass
from operator import iadd, imul, isub, itruediv
from pathlib import Path
from typing import Any

import numpy as np
from tensors import host, kind

import tensorlayout as tl

__all__ = [
    "Options",
    "Pair",
    "alike",
    "code",
    "fused",
    "iadd",
    "imul",
    "isub",
    "itruediv",
    "loaded",
    "nan_of",
    "on_both",
    "raw_npy",
    "saved",
    "too_large",
    "traced_by_value",
    "where",
]

Pair = namedtuple("Pair", "first second")
SECONDS = 20.0  # where nothing ends a loop over so many elements, it takes hours
where = tl.where


@dataclass(frozen=True)
class Options:
    """A value that holds another one."""

    scale: Any


def bits(x):
    """The bytes of the elements, all NaN made one; real and imaginary parts each by itself."""
    array = np.array(host(x), order="C", ndmin=1)
    if array.dtype.kind == "b":  # every byte but 0 is True
        array = array.view(np.uint8) != 0
    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    if kind(array.dtype) == "f":
        array[np.isnan(array)] = np.nan
    return array.tobytes()


def alike(x, y):
    """The first of two tensors, whose shapes, dtypes and bits are equal."""
    assert (x.shape, x.dtype) == (y.shape, y.dtype), f"{x.dtype} {x.shape}, {y.dtype} {y.shape}"
    assert bits(x) == bits(y), f"{x}, {y}"
    return x


def out_in(layout, like):
    """A tensor in a layout to write into, of the shape and dtype of another."""
    return tl.zeros(like.shape, dtype=like.dtype, layout=layout)


def fused(function, *args, layout=None):
    """Return the fused result, after comparing it with the unfused one: twice, and with `out=`."""
    expected, fast = function(*args), tl.fuse(function)
    for _ in range(2):
        result = fast(*args)
        assert result.layout == expected.layout, f"layout {result.layout}, not {expected.layout}"
        alike(result, expected)
    if layout is not None:
        alike(fast(*args, out=out_in(layout, expected)), expected)
    return result


def code(value):
    """A small number that depends on every bit of a value."""
    return zlib.crc32(pickle.dumps(value)) % 97


def nan_of(payload):
    """A NaN of these bits."""
    return np.array(0x7FF8000000000000 + payload).view(np.float64).item()


def traced_by_value(x, values):
    """Call one fused function with each of the values in turn."""
    fast = tl.fuse(lambda x, value: x * 0 + code(value), static="value")
    results = [int(tl.max(fast(x, value))) for value in values]
    expected = [code(value) for value in values]
    assert results == expected, f"{results}, not {expected}"
    return ()


@contextmanager
def _limits():
    """Little address space, and seconds of the processor: in the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)

    def over(*_):
        raise TimeoutError(f"no answer after {SECONDS} s")

    resource.setrlimit(resource.RLIMIT_AS, (1 << 36, before[1]))
    handler = signal.signal(signal.SIGVTALRM, over)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def too_large(function, x, shape):
    """A result of so many elements is a MemoryError, at once."""
    wide = tl.broadcast_to(x, shape)
    try:
        with _limits():
            function(wide)
    except MemoryError:
        return ()
    raise AssertionError("there is a result")


def on_both(function, *args):
    """Return the result on the default device, whose bits are those on the CPU."""
    there = [x.to_device("cpu") if isinstance(x, tl.Tensor) else x for x in args]
    with tl.using_device("cpu"):
        expected = function(*there)
    result = function(*args)
    return alike(result, expected)


def loaded(content, suffix=".npy"):
    """A file read in each way: all give the same elements, or all refuse."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / f"x{suffix}")
        Path(path).write_bytes(content)
        ways = [{}, *[{"mmap_mode": mode} for mode in ("r", "r+", "c") if suffix == ".npy"]]
        results = [_read(path, way) for way in ways]
        results.append(_read(io.BytesIO(content), {}))
    first, *others = results
    for way, other in zip([*ways[1:], "open file"], others, strict=True):
        if "byte order" in str(other):  # which memory cannot have
            continue
        if isinstance(first, Exception) or isinstance(other, Exception):
            assert type(first) is type(other), f"{first!r}, by {way} {other!r}"
        else:
            alike(first, other)
    return () if isinstance(first, Exception) else first


def _read(file, options):
    try:
        with tl.using_device("cpu"):
            result = tl.load(file, **options)
        (result,) = result.values() if isinstance(result, dict) else (result,)
        return result.copy()
    except (ValueError, TypeError, OSError) as error:
        return error


def saved(x, suffix=".npy"):
    """The bytes of a file that holds a tensor."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / f"x{suffix}")
        if suffix == ".npz":
            tl.savez(path, x=x)
        else:
            tl.save(path, x)
        return Path(path).read_bytes()


def raw_npy(header, octets, version=(1, 0)):
    """A ``.npy`` file with any header."""
    text = header.encode("latin1")
    size = len(text).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + size + text + octets
