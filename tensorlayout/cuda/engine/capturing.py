"""Writes into tensors that are given, in a graph that is captured.

At each launch a graph writes to all memory that it was captured with, to what calls need in between
too. What is allocated during a capture lives as long as any of it (`Driver.allocate`), and here as
long as what is written in place.
"""

from __future__ import annotations

from typing import Any

from tensorlayout.cuda.engine.driver import driver
from tensorlayout.plan.base import Write
from tensorlayout.tensor import Tensor


def keeping(write: Write) -> Write:
    """`write`, whose destination, given first, keeps what the capture has allocated."""
    gpu = driver()
    captures = gpu.captures

    def keep(out: Tensor, *operands: Any) -> None:
        write(out, *operands)
        if captures:
            capture = gpu.captured(out.device.number)
            if capture is not None and out._home is not None:
                out._home.storage.keep(capture)

    return keep
