"""Folders of Zarr, version 3: chunks that are tiles where there are some, layouts as attributes."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tensorlayout.devices import CPU
from tensorlayout.errors import shown
from tensorlayout.files.forms import Targets, array_of, library, refuse_foreign, restored, text_of
from tensorlayout.functions.creation import asarray
from tensorlayout.layout import Layout
from tensorlayout.support.lazy_imports import loaded
from tensorlayout.tensor import Tensor

_KEY = "tensorlayout"
_FILE = 1 << 24  # bytes of a file that holds many chunks

# Zarr takes up to half a millisecond for each chunk, also for one that is not there. So a few words
# of JSON could ask for hours. An array may have many chunks or tiny ones, not both.
_MOST_TINY_CHUNKS = 1 << 14
_TINY = 1 << 10  # bytes of a chunk


def prepared(x: Tensor | dict[str, Tensor]) -> Tensor | dict[str, Tensor]:
    """Return what to write. ValueError for a dtype or a name that Zarr has not."""
    library("zarr", "zarr")
    for key, tensor in {"": x}.items() if isinstance(x, Tensor) else x.items():
        refuse_foreign("Zarr has", tensor)
        if tensor is not x and (
            "\\" in key or not {"", ".", "..", "zarr.json"}.isdisjoint(key.split("/"))
        ):
            raise ValueError(f"Zarr's names are paths, {key!r} is none")
    return x


def write(path: str, x: Tensor | dict[str, Tensor]) -> None:
    """Write the folder."""
    zarr = library("zarr", "zarr")
    os.mkdir(path)  # Zarr would make the folders above, too
    store = zarr.storage.LocalStore(path)  # it takes some paths for addresses
    if isinstance(x, Tensor):
        _put(partial(zarr.create_array, store), x)
        return
    group = zarr.create_group(store=store, zarr_format=3)
    for name, tensor in x.items():
        _put(partial(group.create_array, name), tensor)


def _put(create: Callable[..., Any], x: Tensor) -> None:
    """Write a tensor into an array that `create` makes."""
    chunks, shards = _chunks(x.layout.form, x.dtype.itemsize)
    said: dict[str, Any] = {"attributes": {_KEY: text_of(x)}} if text_of(x) else {}
    if x.dtype.kind == "c":  # Zarr leaves chunks of zeros out, and does not see that one is -0j
        said["config"] = {"write_empty_chunks": True}
    array = create(shape=x.shape, dtype=x.dtype, chunks=chunks, shards=shards, **said)
    if x.size:
        array[...] = array_of(x)


def _chunks(layout: Layout, itemsize: int) -> tuple[Any, Any]:
    """Return sizes of a chunk, a tile, and of a file, which holds as many as it has room for."""
    if not layout.is_tiled or 0 in layout.shape:
        return "auto", None
    # What is not cut lies inside of a tile, or steps from one to another.
    step = min(parts[0][1] for parts in layout.parts if len(parts) > 1)
    tile = [
        math.prod(
            extent for extent, _ in (parts[1:] if len(parts) > 1 or parts[0][1] >= step else parts)
        )
        for parts in layout.parts
    ]
    file = list(tile)
    for d in reversed(range(len(tile))):
        tiles = -(-layout.shape[d] // tile[d])
        file[d] *= max(1, min(tiles, _FILE // (math.prod(file) * itemsize)))
    return tuple(tile), tuple(file)


def read(path: str, targets: Targets | None = None) -> Any:
    """Return the tensor of an array, or those of a group by paths; or what is in `targets`."""
    zarr = library("zarr", "zarr")
    found = zarr.open(zarr.storage.LocalStore(path, read_only=True), mode="r")
    alone = isinstance(found, zarr.Array)
    everything = [("", found)] if alone else found.members(max_depth=None)
    members = {name: value for name, value in everything if isinstance(value, zarr.Array)}
    for name, array in members.items():
        _check_chunks(name, array)
    if targets is not None:
        fitting = targets.fit({n: (v.shape, v.dtype) for n, v in members.items()}, alone)
        for name, x in fitting.items():
            _fetch(members[name], x)
        return targets.out
    tensors = restored((name, v[...], v.attrs.get(_KEY, "")) for name, v in members.items())
    return tensors[""] if alone else tensors


def _check_chunks(name: str, array: Any) -> None:
    """Raise ValueError for an array of more chunks than can be read in reasonable time."""
    chunks = math.prod(-(-n // size) for n, size in zip(array.shape, array.chunks, strict=True))
    octets = math.prod(array.shape) * array.dtype.itemsize
    if chunks > _MOST_TINY_CHUNKS and octets < chunks * _TINY:
        what = f"array {shown(name)}" if name else "the array"
        raise ValueError(
            f"{what} of shape {shown(array.shape)} has {shown(chunks)} chunks of"
            f" {octets // chunks} bytes; beyond {_MOST_TINY_CHUNKS} chunks they must have {_TINY}"
            " bytes on average; write it with larger chunks"
        )


def _fetch(array: Any, x: Tensor) -> None:
    """Read into a tensor: by Zarr where that has strides, else file by file."""
    if x.device == CPU and not x.layout.is_tiled and x.size:
        into = loaded("zarr.buffer").cpu.NDBuffer.from_numpy_array(np.asarray(x))
        array.get_basic_selection(..., out=into)
        return
    file = array.shards or array.chunks
    for corner in itertools.product(
        *(range(0, n, step) for n, step in zip(x.shape, file, strict=True))
    ):
        part = tuple(slice(at, at + step) for at, step in zip(corner, file, strict=True))
        x[part] = asarray(array[part], device=x.device)
