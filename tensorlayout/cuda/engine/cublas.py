"""cuBLAS in a stream that captures a graph, by ctypes; and whether it may round to TF32.

CuPy's binding refuses such a stream, cuBLAS does not: it copies alpha and beta into the graph, and
memory that it needs for itself becomes nodes of the graph.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from tensorlayout.errors import check_flag
from tensorlayout.support.context_blocks import Scope, ScopeContext
from tensorlayout.support.interning import memoize

_tf32: Scope[bool] = Scope("tf32")


def allow_tf32(allowed: bool = True) -> ScopeContext[bool, None]:
    """Let products of `float32` and `complex64` on CUDA round their operands to TF32, in a block.

    TF32 keeps 10 of the 23 bits of a fraction, which tensor cores multiply several times as fast;
    sums stay in float32. By default, operands are exact. Products of other dtypes, the rest of
    `linalg`, the CPU and the simulator are not affected.

    >>> import tensorlayout as tl
    >>> with tl.cuda.allow_tf32():
    ...     y = tl.ones((2, 2)) @ tl.ones((2, 2))
    """
    return _tf32.scope_with_target(check_flag("allow_tf32", "allowed", allowed), None)


def is_tf32_allowed() -> bool:
    """Return whether the innermost `allow_tf32` block of this thread allows TF32."""
    return bool(_tf32.innermost_value())


_POINTER, _INT, _STRIDE = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
_MATRIX = [_POINTER, _INT, _INT]  # an address, a dtype and a leading dimension
_BEGIN = [_POINTER, *[_INT] * 5, _POINTER]  # the handle, transpositions, m, n, k, alpha
_BATCHED = [*_MATRIX, _STRIDE]

# The arguments of C's functions, which those of CuPy's binding have in the same order.
_ARGUMENTS = {
    "cublasSetStream_v2": [_POINTER, _POINTER],
    "cublasGemmEx": [*_BEGIN, *_MATRIX, *_MATRIX, _POINTER, *_MATRIX, _INT, _INT],
    "cublasGemmStridedBatchedEx": [
        *_BEGIN, *_BATCHED, *_BATCHED, _POINTER, *_BATCHED, _INT, _INT, _INT,
    ],
}  # fmt: skip


@memoize
def load_cublas(major: int) -> Any:
    """Load the C library of a CUDA version. CuPy has done so: its bare name is enough."""
    return ctypes.CDLL(f"cublas64_{major}.dll" if os.name == "nt" else f"libcublas.so.{major}")


class CapturingCublas:
    """The products of `cupy.cuda.cublas`, in a stream that captures.

    Calls leave that stream in CuPy's handle. Every call of CuPy's binding sets it first.
    """

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._library = load_cublas(cuda.runtime.runtimeGetVersion() // 1000)
        self._describe = self._library.cublasGetStatusString
        self._describe.argtypes, self._describe.restype = [_INT], ctypes.c_char_p
        self._set_stream = self._function("cublasSetStream_v2")
        self._gemm = self._function("cublasGemmEx")
        self._batched_gemm = self._function("cublasGemmStridedBatchedEx")

    def gemmEx(self, handle: int, *arguments: int) -> None:  # noqa: N802  # CuPy's name
        """Multiply two matrices."""
        self._set_stream(handle, self._cuda.get_current_stream().ptr)
        self._gemm(handle, *arguments)

    def gemmStridedBatchedEx(self, handle: int, *arguments: int) -> None:  # noqa: N802
        """Multiply two stacks of matrices."""
        self._set_stream(handle, self._cuda.get_current_stream().ptr)
        self._batched_gemm(handle, *arguments)

    def _function(self, name: str) -> Callable[..., None]:
        """Return a function of the library that raises RuntimeError for a status of failure."""
        function = getattr(self._library, name)
        function.argtypes = _ARGUMENTS[name]

        def call(*arguments: int) -> None:
            status = function(*arguments)
            if status:
                raise RuntimeError(f"{name}: {self._describe(status).decode()}")

        return call
