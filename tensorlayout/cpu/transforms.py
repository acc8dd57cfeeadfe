"""Linear algebra and Fourier transforms on the CPU: array-api-compat's NumPy, by name.

Imported when first needed, since it takes as long as NumPy itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlayout.cpu.library import compat
from tensorlayout.cpu.memory import Array


def linalg(name: str) -> Any:
    """The function `name` of ``linalg``; static parameters come as pairs of name and value."""

    def call(*arguments: Any) -> Any:
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        options = dict(a for a in arguments if not isinstance(a, np.ndarray))
        found = getattr(compat().linalg, name)(*arrays, **options)
        return tuple(found) if isinstance(found, tuple) else found

    return call


def fft(name: str) -> Any:
    """The function `name` of ``fft``, in the same manner."""

    def call(x: Array, *options: tuple[str, Any]) -> Any:
        return getattr(np.fft, name)(x, **dict(options))

    return call


def eig(x: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors, complex even where they happen to be real."""
    values, vectors = np.linalg.eig(x)
    return _complex(values, x), _complex(vectors, x)


def eigvals(x: Array) -> Array:
    """Eigenvalues, complex even where they happen to be real."""
    return _complex(np.linalg.eigvals(x), x)


def _complex(found: Array, x: Array) -> Array:
    single = x.dtype in (np.float32, np.complex64)
    return found.astype(np.complex64 if single else np.complex128)


def pinv_each(x: Array, rtol: Array) -> Array:
    """Pseudo-inverses with a tolerance for each matrix."""
    found: Array = compat().linalg.pinv(x, rtol=rtol.real)
    return found


def tensordot(x: Array, y: Array, axes: Any) -> Array:
    """The sum of products over pairs of axes."""
    return np.asarray(np.tensordot(x, y, axes))


def vecdot(x: Array, y: Array, axis: int) -> Array:
    """The sum of products along one axis, the first operand conjugated."""
    product: Any = np.vecdot  # typed without its keywords
    return np.asarray(product(x, y, axis=axis))
