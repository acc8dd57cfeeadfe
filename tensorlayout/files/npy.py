"""NumPy's ``.npy`` files: a header, then the elements, row-major or column-major."""

from __future__ import annotations

import math
import os
from typing import IO, Any, NamedTuple

import numpy as np

from tensorlayout.exchange.numpy import Array
from tensorlayout.files.forms import check_numpy_dtype, host_array, layout_text_to_store
from tensorlayout.functions.layouts import from_storage
from tensorlayout.layout import Layout
from tensorlayout.tensor import Tensor

_CHUNK_BYTES = 1 << 20  # bytes
_HEADER_READERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # it differs in the names of fields
}


class Elements(NamedTuple):
    """Elements to be written, and whether they are column-major."""

    array: Array
    is_column_major: bool


def prepare_contents(x: Tensor) -> Elements:
    """Return what to write; ValueError if NumPy's header cannot express form or dtype."""
    is_column_major = bool(layout_text_to_store(x))
    check_numpy_dtype("NumPy's files have", x)
    if is_column_major and x.layout.form != Layout.column_major(x.shape):
        raise ValueError(
            f"NumPy's files are row-major or column-major, layout {x.layout} is not; "
            "use .safetensors or .zarr, or to_layout(x, 'C') first"
        )
    return Elements(host_array(x), is_column_major)


def write_stream(file: IO[bytes], elements: Elements) -> None:
    """Write the header and the elements in chunks."""
    array, is_column_major = elements
    descr = np.lib.format.dtype_to_descr(array.dtype)
    header = {"descr": descr, "fortran_order": is_column_major, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    # Buffered, so that strided elements need no contiguous copy of all of them.
    chunks: Any = np.nditer(
        # The row-major order of the transpose is the column-major order of the array.
        array.T if is_column_major else array,
        flags=["external_loop", "buffered", "zerosize_ok"],
        buffersize=_CHUNK_BYTES // array.itemsize,
        order="C",
    )
    for chunk in chunks:
        # NumPy buffers only where one stride does not suffice: a chunk may be the array's own
        # memory, with gaps.
        file.write(chunk.data if chunk.flags.c_contiguous else chunk.tobytes())


def read_file(file: str | IO[bytes]) -> Tensor:
    """Return the tensor in newly allocated memory."""
    if isinstance(file, str):
        with open(file, "rb") as stream:
            return read_file(stream)
    start = file.tell()
    size = file.seek(0, os.SEEK_END) - start
    file.seek(start)
    return read_stream(file, size)


def read_stream(file: IO[bytes], size: int) -> Tensor:
    """Return the tensor in the next `size` bytes of a file."""
    layout, dtype = _read_header(file, size)
    storage = np.empty(layout.size * dtype.itemsize, np.uint8)
    unread = storage.data
    # readinto may return fewer bytes than requested. A member of an archive first reads as many
    # into a bytes object, so chunks keep that copy small.
    while unread and (count := file.readinto(unread[:_CHUNK_BYTES])):  # type: ignore[attr-defined]
        unread = unread[count:]
    if unread:
        raise ValueError("it ends before its elements do")
    array = storage.view(dtype)
    # Files may have either byte order, tensors have the machine's.
    native = array.astype(dtype.newbyteorder("="), copy=False)
    return from_storage(native, layout, dtype=native.dtype)


def map_file(path: str, mode: Any) -> Tensor:
    """Return a tensor over the mapped file."""
    # Header and elements are read from one open file: another may take its place at the path.
    with open(path, "r+b" if mode == "r+" else "rb") as file:
        layout, dtype = _read_header(file, os.fstat(file.fileno()).st_size)
        if not layout.size:
            # A range of no bytes cannot be mapped.
            return read_file(path)
        elements = np.memmap(file, dtype, mode, file.tell(), layout.size)
    return from_storage(elements, layout, dtype=elements.dtype)


def _read_header(file: IO[bytes], file_size: int) -> tuple[Layout, np.dtype[Any]]:
    """Return layout and dtype; raise ValueError for objects, subarrays and too few bytes."""
    start = file.tell()
    version = np.lib.format.read_magic(file)
    if version not in _HEADER_READERS:
        raise ValueError(f"version {version} of NumPy's files is not known")
    try:
        shape, is_column_major, dtype = _HEADER_READERS[version](file)
    except MemoryError:  # what Python's parser says of a text that is nested too deeply
        raise ValueError("its header is invalid") from None
    if dtype.hasobject:
        raise ValueError("it holds Python objects, and to read those can run any code")
    if dtype.subdtype is not None:  # NumPy writes no such file, and maps only a part of one
        raise ValueError(f"each of its elements is an array, of {dtype}; tensors hold numbers")
    # Checked before memory is allocated. Products of Python's integers cannot overflow, so an
    # absurd shape fails here.
    expected_bytes = math.prod(shape) * dtype.itemsize
    available_bytes = file_size - (file.tell() - start)
    if expected_bytes > available_bytes:
        raise ValueError(
            f"the header promises {expected_bytes} bytes of elements, there are {available_bytes}"
        )
    return (Layout.column_major if is_column_major else Layout.row_major)(shape), dtype
