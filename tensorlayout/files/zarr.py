"""Zarr folders, version 3: chunks are tiles if there are any, layouts are attributes."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tensorlayout.devices import CPU
from tensorlayout.errors import short_repr
from tensorlayout.files.forms import (
    Targets,
    check_numpy_dtype,
    host_array,
    import_optional_library,
    layout_text_to_store,
    restore_layouts,
)
from tensorlayout.functions.creation import asarray
from tensorlayout.layout import Layout
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.tensor import Tensor

_ATTRIBUTE_KEY = "tensorlayout"
_MAX_SHARD_BYTES = 1 << 24  # size limit of a file, which holds many chunks

# Zarr takes up to half a millisecond per chunk, even for missing ones, so a short JSON file could
# demand hours. An array may have many chunks, or tiny ones, but not both.
_MOST_TINY_CHUNKS = 1 << 14
_TINY_CHUNK_BYTES = 1 << 10  # bytes of a chunk


def prepare_contents(x: Tensor | dict[str, Tensor]) -> Tensor | dict[str, Tensor]:
    """Return what to write; raise ValueError for a dtype or a name that Zarr lacks."""
    import_optional_library("zarr", "zarr")
    for key, tensor in {"": x}.items() if isinstance(x, Tensor) else x.items():
        check_numpy_dtype("Zarr has", tensor)
        # A name becomes folders below the group. It must neither lead out of the group nor replace
        # metadata; a backslash separates folders on Windows.
        if tensor is not x and (
            "\\" in key or not {"", ".", "..", "zarr.json"}.isdisjoint(key.split("/"))
        ):
            raise ValueError(f"Zarr's names are paths, {key!r} is none")
    return x


def write_path(path: str, x: Tensor | dict[str, Tensor]) -> None:
    """Write a tensor as a Zarr array, or a dictionary as a group, to a new folder."""
    zarr = import_optional_library("zarr", "zarr")
    os.mkdir(path)  # fails without a parent folder, which Zarr would create
    store = zarr.storage.LocalStore(path)  # zarr.open takes some paths for URLs
    if isinstance(x, Tensor):
        _write_array(partial(zarr.create_array, store), x)
        return
    group = zarr.create_group(store=store, zarr_format=3)
    for name, tensor in x.items():
        _write_array(partial(group.create_array, name), tensor)


def _write_array(create: Callable[..., Any], x: Tensor) -> None:
    """Write a tensor into an array made by `create`."""
    chunks, shards = _chunk_and_shard_sizes(x.layout.form, x.dtype.itemsize)
    text = layout_text_to_store(x)
    options: dict[str, Any] = {"attributes": {_ATTRIBUTE_KEY: text}} if text else {}
    # Zarr omits chunks that equal 0, and loses the negative signs of complex zeros.
    if x.dtype.kind == "c":
        options["config"] = {"write_empty_chunks": True}
    array = create(shape=x.shape, dtype=x.dtype, chunks=chunks, shards=shards, **options)
    if x.size:
        array[...] = host_array(x)


def _chunk_and_shard_sizes(layout: Layout, itemsize: int) -> tuple[Any, Any]:
    """Return the sizes of a chunk (a tile), and of a file, which holds as many chunks as fit."""
    if not layout.is_tiled or 0 in layout.shape:
        return "auto", None
    # A dimension without splits is inside a tile if its stride is below the smallest step between
    # tiles, else it counts tiles.
    # The first part of a split dimension counts its tiles, the others are inside of one: in
    # 2*12+2*2 (extent*stride), two tiles with two elements each.
    smallest_tile_step = min(parts[0][1] for parts in layout.parts if len(parts) > 1)
    tile = [
        math.prod(
            extent
            for extent, _ in (
                parts[1:] if len(parts) > 1 or parts[0][1] >= smallest_tile_step else parts
            )
        )
        for parts in layout.parts
    ]
    shard = list(tile)
    # The last dimension grows first, by as many tiles as fit; the product then leaves less for the
    # dimensions before it.
    for d in reversed(range(len(tile))):
        tile_count = -(-layout.shape[d] // tile[d])
        shard[d] *= max(1, min(tile_count, _MAX_SHARD_BYTES // (math.prod(shard) * itemsize)))
    return tuple(tile), tuple(shard)


def read_file(path: str, targets: Targets | None = None) -> Any:
    """Return the tensor of an array, or those of a group by path; or the filled `targets`."""
    zarr = import_optional_library("zarr", "zarr")
    node = zarr.open(zarr.storage.LocalStore(path, read_only=True), mode="r")
    is_single = isinstance(node, zarr.Array)
    named_nodes = [("", node)] if is_single else node.members(max_depth=None)
    arrays = {name: value for name, value in named_nodes if isinstance(value, zarr.Array)}
    for name, array in arrays.items():
        _check_chunk_count(name, array)
    if targets is not None:
        destinations = targets.match_destinations(
            {n: (v.shape, v.dtype) for n, v in arrays.items()}, is_single
        )
        for name, x in destinations.items():
            _read_into_tensor(arrays[name], x)
        return targets.out
    tensors = restore_layouts(
        (name, v[...], v.attrs.get(_ATTRIBUTE_KEY, "")) for name, v in arrays.items()
    )
    return tensors[""] if is_single else tensors


def _check_chunk_count(name: str, array: Any) -> None:
    """Raise ValueError for an array with more chunks than can be read in reasonable time."""
    chunks = math.prod(-(-n // size) for n, size in zip(array.shape, array.chunks, strict=True))
    array_bytes = math.prod(array.shape) * array.dtype.itemsize
    if chunks > _MOST_TINY_CHUNKS and array_bytes < chunks * _TINY_CHUNK_BYTES:
        array_name = f"array {short_repr(name)}" if name else "the array"
        raise ValueError(
            f"{array_name} of shape {short_repr(array.shape)} has {short_repr(chunks)} chunks of"
            f" {array_bytes // chunks} bytes; beyond {_MOST_TINY_CHUNKS} chunks they must "
            f"have {_TINY_CHUNK_BYTES}"
            " bytes on average; write it with larger chunks"
        )


def _read_into_tensor(array: Any, x: Tensor) -> None:
    """Read into a tensor: with Zarr if it is strided, else file by file."""
    if x.device == CPU and not x.layout.is_tiled and x.size:
        buffer = import_lazily("zarr.buffer").cpu.NDBuffer.from_numpy_array(np.asarray(x))
        array.get_basic_selection(..., out=buffer)
        return
    shard_shape = array.shards or array.chunks
    for shard_start in itertools.product(
        *(range(0, n, step) for n, step in zip(x.shape, shard_shape, strict=True))
    ):
        region = tuple(
            slice(start, start + step) for start, step in zip(shard_start, shard_shape, strict=True)
        )
        x[region] = asarray(array[region], device=x.device)
