"""safetensors files: row-major elements by name, with layout texts in the metadata.

Of its types below 8 bits, only F4 is supported: two elements per byte, the first in the low bits.
The format does not specify the order of bits of its 6-bit types.

Source: "Format" in the README of safetensors, and its `TensorSpec`, which counts pairs of F4.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NamedTuple

import numpy as np

from tensorlayout import dtypes
from tensorlayout.exchange.numpy import Array
from tensorlayout.files.forms import (
    host_array,
    import_optional_library,
    layout_text_to_store,
    restore_layouts,
)
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import Tensor

_METADATA_KEY = "tensorlayout"  # metadata entry with the layout texts by name
_SINGLE_TENSOR_NAME = "tensor"  # name of a tensor that was saved without one
_LENGTH = 8  # bytes of the header's length
_NARROW = {
    "F8_E4M3": "float8_e4m3fn",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "F4": "float4_e2m1fn",
}


class Elements(NamedTuple):
    """Elements of a tensor in memory, and the library's name of their type."""

    array: Array
    dtype: str


Contents = tuple[dict[str, Elements], dict[str, str]]


def prepare_contents(x: Tensor | dict[str, Tensor]) -> Contents:
    """Return elements and metadata to save; ValueError for what safetensors cannot hold."""
    import_optional_library("safetensors", "safetensors")
    tensors = {_SINGLE_TENSOR_NAME: x} if isinstance(x, Tensor) else x
    if "__metadata__" in tensors:
        raise ValueError("safetensors keeps the name __metadata__ for itself")
    for tensor in tensors.values():
        _check_storable(tensor)
    layouts = {
        key: text for key, tensor in tensors.items() if (text := layout_text_to_store(tensor))
    }
    elements = {key: _elements_to_store(tensor) for key, tensor in tensors.items()}
    return elements, {_METADATA_KEY: json.dumps({"alone": tensors is not x, "layouts": layouts})}


def _check_storable(x: Tensor) -> None:
    if x.dtype == np.complex128:
        raise ValueError("safetensors has no complex128; use .npy or .zarr")
    if not dtypes.is_narrow_dtype(x.dtype):
        return
    if x.dtype.name not in _NARROW.values():
        wider = dtypes.computing_dtype(x.dtype)
        fix = f"use astype(x, {wider}) first, or x.view(uint8) for its bytes"
        raise ValueError(f"safetensors has no {x.dtype}; {fix}")
    if dtypes.value_bits(x.dtype) < 8 and (not x.ndim or x.shape[-1] % 2):
        raise ValueError(
            f"safetensors keeps {x.dtype} in pairs along the last dimension, which must be"
            f" even, got shape {x.shape}; pad() it, or use x.view(uint8)"
        )


def _elements_to_store(x: Tensor) -> Elements:
    # NumPy makes a rank of 0 one of 1 here; the reshape undoes that.
    array = np.ascontiguousarray(host_array(x)).reshape(x.shape)
    if array.dtype.name != _NARROW["F4"]:
        return Elements(array, array.dtype.name)
    # Elements 1, 2, 3, 4 become the bytes 0x21 and 0x43. Only the low 4 bits of an element count,
    # the others may hold anything.
    bits = array.view(np.uint8) & 15
    return Elements(np.ascontiguousarray(bits[..., ::2] | bits[..., 1::2] << 4), f"{x.dtype}_x2")


def write_path(path: str, contents: Contents) -> None:
    """Write elements and metadata to a new safetensors file."""
    elements, metadata = contents
    module = import_optional_library("safetensors", "safetensors")
    # The format is little-endian, and the library writes memory as it is.
    if sys.byteorder == "big":
        elements = {
            key: Elements(array.byteswap(), dtype) for key, (array, dtype) in elements.items()
        }
    # The library creates files that only their owner can read. An empty file, which it replaces,
    # tells the mode that the process gives to new files.
    with open(path, "xb") as file:
        mode = os.fstat(file.fileno()).st_mode
    try:
        specs = {}
        # The library gets addresses, so `elements` must keep the arrays until the file is written.
        for key, (array, dtype) in elements.items():
            memory = {"data_ptr": array.ctypes.data, "data_len": array.nbytes}
            specs[key] = module.TensorSpec(dtype=dtype, shape=array.shape, **memory)
        module.serialize_file(specs, path, metadata)
    except module.SafetensorError as error:
        raise OSError(f"save: {error}") from error
    os.chmod(path, mode & 0o777)


def read_file(path: str) -> Tensor | dict[str, Tensor]:
    """Read tensors by name from a file, or the one that was saved without a name."""
    import_lazily("ml_dtypes")  # registers the name bfloat16 with NumPy
    with import_optional_library("safetensors", "safetensors").safe_open(
        path, framework="numpy"
    ) as file:
        layout_metadata = json.loads((file.metadata() or {}).get(_METADATA_KEY, "{}"))
        layouts = layout_metadata.get("layouts", {})
        tensors = restore_layouts(
            (name, _read_array(path, file, name), layouts.get(name, ""))
            for name in file.keys()  # noqa: SIM118 - it is no dict
        )
    return tensors[_SINGLE_TENSOR_NAME] if layout_metadata.get("alone") else tensors


def _read_array(path: str, file: Any, name: str) -> Array:
    """Read a tensor of the checked file as an array, narrow dtypes from the raw bytes."""
    tensor_slice = file.get_slice(name)
    if tensor_slice.get_dtype() not in _NARROW:
        return file.get_tensor(name)
    with open(path, "rb") as stream:  # which begins with the length of a header in JSON
        length = int.from_bytes(stream.read(_LENGTH), "little")
        begin, end = json.loads(stream.read(length))[name]["data_offsets"]
    stored_bytes = np.fromfile(path, np.uint8, end - begin, offset=_LENGTH + length + begin)
    dtype = dtypes.as_dtype(_NARROW[tensor_slice.get_dtype()])
    if dtypes.value_bits(dtype) < 8:
        stored_bytes = np.stack([stored_bytes & 15, stored_bytes >> 4], axis=-1)
    return stored_bytes.reshape(tensor_slice.get_shape()).view(dtype)
