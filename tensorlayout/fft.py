"""Fourier transforms: the extension ``fft`` of the standard. Results are row-major."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tensorlayout.cpu import transforms
from tensorlayout.functions import calling
from tensorlayout.functions.creation import asarray
from tensorlayout.functions.manipulation import roll
from tensorlayout.plan.library import Library
from tensorlayout.plan.results import normalized_dims
from tensorlayout.tensor import Tensor

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm = Literal["backward", "ortho", "forward"]


def _line(name: str, dtypes: str) -> Library:
    return Library(name, dtypes, transforms.fft(name), 1)


_FFT = _line("fft", "floating-point")
_IFFT = _line("ifft", "floating-point")
_FFTN = _line("fftn", "floating-point")
_IFFTN = _line("ifftn", "floating-point")
_RFFT = _line("rfft", "real floating")
_IRFFT = _line("irfft", "floating-point")
_RFFTN = _line("rfftn", "real floating")
_IRFFTN = _line("irfftn", "floating-point")
_HFFT = _line("hfft", "floating-point")
_IHFFT = _line("ihfft", "real floating")


def _along(operation: Library, x: Tensor, n: int | None, axis: int, norm: Norm) -> Tensor:
    if norm not in ("backward", "ortho", "forward"):
        msg = f"{operation.name}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}"
        raise ValueError(msg)
    normalized_dims(operation.name, int(axis), calling.tensor(operation.name, x).ndim)
    static = (("n", n), ("axis", int(axis)), ("norm", norm))
    found: Tensor = calling.library(operation, x, static=static)
    return found


def _over(operation: Library, x: Tensor, s: Any, axes: Any, norm: Norm) -> Tensor:
    if norm not in ("backward", "ortho", "forward"):
        msg = f"{operation.name}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}"
        raise ValueError(msg)
    sizes, dims = calling.integers(s), calling.integers(axes)
    if sizes is not None and dims is None:
        dims = tuple(range(-len(sizes), 0))
    static = (("s", sizes), ("axes", dims), ("norm", norm))
    found: Tensor = calling.library(operation, x, static=static)
    return found


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The discrete Fourier transform along `axis`, cut or zero-padded to `n` elements."""
    return _along(_FFT, x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `fft`."""
    return _along(_IFFT, x, n, axis, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The transform of real elements: the half that determines the rest."""
    return _along(_RFFT, x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `rfft`, of `n` elements."""
    return _along(_IRFFT, x, n, axis, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The transform of a Hermitian-symmetric line, which is real."""
    return _along(_HFFT, x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `hfft`."""
    return _along(_IHFFT, x, n, axis, norm)


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The discrete Fourier transform over `axes`, of sizes `s`."""
    return _over(_FFTN, x, s, axes, norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `fftn`."""
    return _over(_IFFTN, x, s, axes, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The transform of real elements over `axes`: the half of the last that determines the rest."""
    return _over(_RFFTN, x, s, axes, norm)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `rfftn`."""
    return _over(_IRFFTN, x, s, axes, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of `fft` of `n` elements, `d` apart."""
    return asarray(np.fft.fftfreq(n, d), dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of `rfft` of `n` elements, `d` apart."""
    return asarray(np.fft.rfftfreq(n, d), dtype=dtype, device=device)


def _shifted(name: str, x: Tensor, axes: Any, sign: int) -> Tensor:
    x = calling.tensor(name, x)
    dims = normalized_dims(name, calling.integers(axes), x.ndim)
    return roll(x, [sign * (x.shape[d] // 2) for d in dims], axis=dims)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The zero frequency moved to the middle of each of `axes`. Packed in the input's order."""
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted("ifftshift", x, axes, -1)
