"""The same memory in NumPy and PyTorch: handed over, compared, and not copied."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np

import tensorlayout as tl
from tensorlayout.cli.errors import DifferenceError
from tensorlayout.cli.ledger import Array


def address(x: tl.Tensor) -> int:
    """Where the first element is, as the array interfaces tell it."""
    cuda = getattr(x, "__cuda_array_interface__", None) if x.device != "cpu" else None
    interface = np.asarray(x).__array_interface__ if cuda is None else cuda
    return int(interface["data"][0])


def shared(x: tl.Tensor, expected: Array) -> list[str]:
    """Hand `x`, of shape (N, C, H, W) stored as NHWC, over; a line for each library.

    DifferenceError where a library sees another address or other elements.
    """
    lines = [f"the normalised NHWC batch, {x.nbytes:,} bytes at {address(x):#x}, handed to others:"]
    if x.device == "cpu":
        lines.append(_numpy(x, expected))
    if importlib.util.find_spec("torch") is None:
        return [*lines, "  PyTorch: not installed, not tried"]
    return [*lines, _torch(x, expected)]


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


def _torch(x: tl.Tensor, expected: Array) -> str:
    try:
        torch: Any = importlib.import_module("torch")
    except (ImportError, OSError):  # installed, but a library of its own is missing
        return "  PyTorch: cannot be imported, not tried"
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
