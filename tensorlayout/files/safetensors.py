"""Files of safetensors: row-major elements by name, and texts of layouts in their metadata."""

from __future__ import annotations

import json
import os

import numpy as np

from tensorlayout.exchange.numpy import Array
from tensorlayout.files.forms import array_of, restored, text_of
from tensorlayout.files.libraries import library
from tensorlayout.late import loaded
from tensorlayout.tensor import Tensor

_KEY = "tensorlayout"  # in the metadata: the texts by name
_ALONE = "tensor"  # what a tensor without a name is called


def prepared(name: str, x: Tensor | dict[str, Tensor]) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays to write, and the metadata."""
    library("safetensors", "safetensors.numpy")
    tensors = {_ALONE: x} if isinstance(x, Tensor) else x
    if "__metadata__" in tensors:
        msg = f"{name}: safetensors keeps the name __metadata__ for itself"
        raise ValueError(msg)
    for tensor in tensors.values():
        if tensor.dtype == np.complex128:
            msg = f"{name}: safetensors has no complex128; use .npy or .zarr"
            raise ValueError(msg)
    layouts = {key: text for key, tensor in tensors.items() if (text := text_of(tensor))}
    arrays = {key: np.ascontiguousarray(array_of(t)).reshape(t.shape) for key, t in tensors.items()}
    return arrays, {_KEY: json.dumps({"alone": tensors is not x, "layouts": layouts})}


def write(path: str, ready: tuple[dict[str, Array], dict[str, str]]) -> None:
    """Write the file."""
    arrays, metadata = ready
    with open(path, "xb") as file:  # the library's own is for its user alone
        mode = os.fstat(file.fileno()).st_mode
    try:
        library("safetensors", "safetensors.numpy").save_file(arrays, path, metadata)
    except library("safetensors", "safetensors").SafetensorError as error:
        msg = f"save: {error}"
        raise OSError(msg) from error
    os.chmod(path, mode & 0o777)


def read(path: str) -> Tensor | dict[str, Tensor]:
    """The tensors by name, or the one that was saved without."""
    loaded("ml_dtypes")  # by which NumPy knows the name bfloat16
    with library("safetensors", "safetensors").safe_open(path, framework="numpy") as file:
        said = json.loads((file.metadata() or {}).get(_KEY, "{}"))
        layouts = said.get("layouts", {})
        found = restored(
            (name, file.get_tensor(name), layouts.get(name, ""))
            for name in file.keys()  # noqa: SIM118 - it is no dict
        )
    return found[_ALONE] if said.get("alone") else found
