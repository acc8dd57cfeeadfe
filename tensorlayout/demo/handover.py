"""A tensor handed to NumPy, CuPy and PyTorch: its memory compared, and not copied."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout.demo.beside import Array, torch_module
from tensorlayout.demo.errors import DifferenceError
from tensorlayout.demo.ledger import address


def shared(x: tl.Tensor, expected: Array) -> list[str]:
    """Hand `x`, of shape (N, C, H, W) stored as NHWC, over; a line for each library.

    DifferenceError where a library sees another address or other elements.
    """
    lines = [f"the normalised NHWC batch, {x.nbytes:,} bytes at {address(x):#x}, handed to others:"]
    if x.device == "cpu":
        return [*lines, _numpy(x, expected), _torch(x, expected)]
    if on_simulator(x):
        return [*lines, "  nobody: no other library knows of the simulator's device memory"]
    return [*lines, _cupy(x, expected), _torch(x, expected)]


def on_simulator(x: tl.Tensor) -> bool:
    """Whether the device memory of `x` is that of the CUDA simulator."""
    from tensorlayout.cuda.engine.driver import driver

    return x.device.kind == "cuda" and driver().name == "simulator"


def _numpy(x: tl.Tensor, expected: Array) -> str:
    array, exported = np.asarray(x), np.from_dlpack(x)
    place = exported.__array_interface__["data"][0]
    _same("NumPy", address(x), place, exported, expected)
    first, written = array.flat[0], np.float32(0.5)
    array.flat[0] = written
    seen = float(x[0, 0, 0, 0])
    array.flat[0] = first
    if seen != written:
        msg = f"NumPy wrote {written} into its array, the tensor still holds {seen}"
        raise DifferenceError(msg)
    return f"  NumPy:   {place:#x}, no copy; strides {array.strides} bytes; what it writes is seen"


def _cupy(x: tl.Tensor, expected: Array) -> str:
    cupy: Any = importlib.import_module("cupy")  # without which there would be no such tensor
    array = cupy.asarray(x)
    _same("CuPy", address(x), array.data.ptr, cupy.asnumpy(array), expected)
    return f"  CuPy:    {array.data.ptr:#x}, no copy; strides {array.strides} bytes"


def _torch(x: tl.Tensor, expected: Array) -> str:
    torch = torch_module()
    if isinstance(torch, str):
        return f"  PyTorch: {torch}"
    if x.device.kind == "cuda" and not torch.cuda.is_available():
        return "  PyTorch: sees no GPU, not tried"
    tensor = torch.from_dlpack(x)
    _same("PyTorch", address(x), tensor.data_ptr(), tensor.cpu().numpy(), expected)
    last = tensor.is_contiguous(memory_format=torch.channels_last)
    return (
        f"  PyTorch: {tensor.data_ptr():#x}, no copy; strides {tensor.stride()} elements;"
        f" channels_last: {'yes' if last else 'no'}"
    )


def _same(library: str, ours: int, theirs: int, found: Array, expected: Array) -> None:
    if theirs != ours:
        msg = f"{library} sees the batch at {theirs:#x}, not at {ours:#x}: it was copied"
        raise DifferenceError(msg)
    if not np.array_equal(found, expected):
        msg = f"{library} sees other elements than those computed"
        raise DifferenceError(msg)
