"""Parts of complex numbers, of bool too."""

from __future__ import annotations

from tensorlayout import dtypes
from tensorlayout.functions import arguments
from tensorlayout.functions import elementwise as ew
from tensorlayout.tensor import Tensor

__all__ = ["imag", "real"]


def real(val: Tensor) -> Tensor:
    """`tl.real`; a bool tensor itself."""
    x = arguments.tensor("real", val)
    return x if x.dtype == dtypes.bool else ew.real(x)


def imag(val: Tensor) -> Tensor:
    """`tl.imag`; of bool, False."""
    x = arguments.tensor("imag", val)
    return ew.logical_xor(x, x) if x.dtype == dtypes.bool else ew.imag(x)
