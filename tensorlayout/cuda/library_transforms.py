"""Fourier transforms, by the functions of CuPy; see `library_functions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Array = Any  # of CuPy, or NumPy
Module = Any


def along(transform: str) -> Callable[..., Array]:
    """A transform along one axis."""

    def call(xp: Module, x: Array, s: tuple[int], axes: tuple[int], norm: str) -> Array:
        return getattr(xp.fft, transform)(_some(xp, x, axes), s[0], axes[0], norm)

    return call


def over(transform: str) -> Callable[..., Array]:
    """A transform of complex numbers over several axes, or none."""

    def call(xp: Module, x: Array, s: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
        if not axes:
            return x.copy()
        return getattr(xp.fft, transform)(_some(xp, x, axes), s, axes, norm)

    return call


def rfftn(xp: Module, x: Array, s: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
    """The last axis first, which halves it; the rest is complex."""
    found = xp.fft.rfft(_some(xp, x, axes), s[-1], axes[-1], norm)
    return xp.fft.fftn(found, s[:-1], axes[:-1], norm) if axes[1:] else found


def irfftn(xp: Module, x: Array, s: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
    """The inverse, in the inverse order."""
    found = _some(xp, x, axes)
    if axes[1:]:
        found = xp.fft.ifftn(found, s[:-1], axes[:-1], norm)
    return xp.fft.irfft(found, s[-1], axes[-1], norm)


def _some(xp: Module, x: Array, axes: tuple[int, ...]) -> Array:
    """`x`, empty lines made one zero."""
    if all(x.shape[d] for d in axes):
        return x
    return xp.zeros([n or 1 if d in axes else n for d, n in enumerate(x.shape)], x.dtype)
