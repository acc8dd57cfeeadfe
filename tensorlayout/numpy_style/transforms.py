"""``numpy.fft`` with its signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout import fft as ours
from tensorlayout.functions.outputs import given
from tensorlayout.tensor import Tensor


def _along(name: str) -> Callable[..., Tensor]:
    transform = getattr(ours, name)

    def function(
        a: Tensor, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None
    ) -> Tensor:
        found = transform(a, n=n, axis=axis, norm=norm or "backward")
        return given(name, found, out)

    return function


def _over(name: str, default: tuple[int, ...] | None) -> Callable[..., Tensor]:
    transform = getattr(ours, name.replace("2", "n"))

    def function(
        a: Tensor, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None
    ) -> Tensor:
        if s is not None and axes is None:
            axes = tuple(range(-len(s), 0))
        return given(name, transform(a, s=s, axes=axes, norm=norm or "backward"), out)

    return function


_LINES = ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
_PLANES = ("fft2", "ifft2", "irfft2", "rfft2")
_BODIES = ("fftn", "ifftn", "irfftn", "rfftn")

FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    **{name: _along(name) for name in _LINES},
    **{name: _over(name, (-2, -1)) for name in _PLANES},
    **{name: _over(name, None) for name in _BODIES},
}


def fftshift(x: Tensor, axes: Any = None) -> Tensor:
    """`tl.fft.fftshift`."""
    return ours.fftshift(x, axes=axes)


def ifftshift(x: Tensor, axes: Any = None) -> Tensor:
    """`tl.fft.ifftshift`."""
    return ours.ifftshift(x, axes=axes)


FUNCTIONS |= {"fftshift": fftshift, "ifftshift": ifftshift}
