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
    lines = [f"the normalised NHWC batch is at address {address(x):#x}, {x.nbytes:,} bytes"]
    if x.device == "cpu":
        lines.append(_numpy(x, expected))
    if importlib.util.find_spec("torch") is None:
        return [*lines, "  PyTorch is not installed: not tried"]
    return [*lines, _torch(x, expected)]


def _numpy(x: tl.Tensor, expected: Array) -> str:
    array = np.asarray(x)
    _same("NumPy", address(x), array.__array_interface__["data"][0], array, expected)
    return f"  NumPy:   {_at(array.__array_interface__['data'][0])}, strides {array.strides} bytes"


def _torch(x: tl.Tensor, expected: Array) -> str:
    torch: Any = importlib.import_module("torch")
    tensor = torch.from_dlpack(x)
    _same("PyTorch", address(x), tensor.data_ptr(), tensor.cpu().numpy(), expected)
    last = tensor.is_contiguous(memory_format=torch.channels_last)
    return (
        f"  PyTorch: {_at(tensor.data_ptr())}, strides {tensor.stride()} elements,"
        f" channels_last: {'yes' if last else 'no'}"
    )


def _at(place: int) -> str:
    return f"the same address {place:#x}, no copy"


def _same(library: str, ours: int, theirs: int, found: Array, expected: Array) -> None:
    if theirs != ours:
        msg = f"{library} sees the batch at {theirs:#x}, not at {ours:#x}: it was copied"
        raise DifferenceError(msg)
    if not np.array_equal(found, expected):
        msg = f"{library} sees other elements than those computed"
        raise DifferenceError(msg)
