"""NumPy's file of one array: a header, and the elements row-major or column-major."""

from __future__ import annotations

import math
import os
from typing import IO, Any, NamedTuple

import numpy as np

from tensorlayout.exchange.numpy import Array
from tensorlayout.files.forms import array_of, refuse_foreign, text_of
from tensorlayout.functions.layouts import from_storage
from tensorlayout.layout import Layout
from tensorlayout.tensor import Tensor

_AT_ONCE = 1 << 20  # bytes
_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # it differs in the names of fields
}


class Elements(NamedTuple):
    """Elements that are to be written, and whether by columns."""

    array: Array
    by_columns: bool


def prepared(x: Tensor) -> Elements:
    """Return what to write. ValueError for a form or dtype that NumPy's header cannot say."""
    by_columns = bool(text_of(x))
    refuse_foreign("NumPy's files have", x)
    if by_columns and x.layout.form != Layout.column_major(x.shape):
        raise ValueError(
            f"NumPy's files are row-major or column-major, layout {x.layout} is not; "
            "use .safetensors or .zarr, or to_layout(x, 'C') first"
        )
    return Elements(array_of(x), by_columns)


def put(file: IO[bytes], elements: Elements) -> None:
    """Write header and elements, some at a time."""
    array, by_columns = elements
    descr = np.lib.format.dtype_to_descr(array.dtype)
    header = {"descr": descr, "fortran_order": by_columns, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    parts: Any = np.nditer(
        array.T if by_columns else array,
        flags=["external_loop", "buffered", "zerosize_ok"],
        buffersize=_AT_ONCE // array.itemsize,
        order="C",
    )
    for part in parts:
        file.write(part.data if part.flags.c_contiguous else part.tobytes())


def read(file: str | IO[bytes]) -> Tensor:
    """Return the tensor, in memory of its own."""
    if isinstance(file, str):
        with open(file, "rb") as opened:
            return read(opened)
    begin = file.tell()
    size = file.seek(0, os.SEEK_END) - begin
    file.seek(begin)
    return got(file, size)


def got(file: IO[bytes], size: int) -> Tensor:
    """Return the tensor in the next `size` bytes of a file."""
    layout, dtype = _header(file, size)
    storage = np.empty(layout.size * dtype.itemsize, np.uint8)
    missing = storage.data
    while missing and (count := file.readinto(missing[:_AT_ONCE])):  # type: ignore[attr-defined]
        missing = missing[count:]
    if missing:
        raise ValueError("it ends before its elements do")
    array = storage.view(dtype)
    native = array.astype(dtype.newbyteorder("="), copy=False)
    return from_storage(native, layout, dtype=native.dtype)


def mapped(path: str, mode: Any) -> Tensor:
    """Return a tensor over the file."""
    with open(path, "r+b" if mode == "r+" else "rb") as file:  # another may take its place
        layout, dtype = _header(file, os.fstat(file.fileno()).st_size)
        if not layout.size:
            return read(path)
        elements = np.memmap(file, dtype, mode, file.tell(), layout.size)
    return from_storage(elements, layout, dtype=elements.dtype)


def _header(file: IO[bytes], size: int) -> tuple[Layout, np.dtype[Any]]:
    """Return layout and dtype. ValueError for objects, arrays as elements, and too few bytes."""
    begin = file.tell()
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of NumPy's files is not known")
    try:
        shape, by_columns, dtype = _HEADERS[version](file)
    except MemoryError:  # what Python's parser says of a text that is nested too deeply
        raise ValueError("its header makes no sense") from None
    if dtype.hasobject:
        raise ValueError("it holds Python objects, and to read those can run any code")
    if dtype.subdtype is not None:  # NumPy writes no such file, and maps only a part of one
        raise ValueError(f"each of its elements is an array, of {dtype}; tensors hold numbers")
    wanted, there = math.prod(shape) * dtype.itemsize, size - (file.tell() - begin)
    if wanted > there:
        raise ValueError(f"the header promises {wanted} bytes of elements, there are {there}")
    return (Layout.column_major if by_columns else Layout.row_major)(shape), dtype
