"""Products of narrow floats in blocks that share scales, by cuBLASLt through ctypes.

CuPy has no binding of cuBLASLt. Its handle of cuBLAS is a valid handle of cuBLASLt, too.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any

from tensorlayout.cuda.engine.driver import Driver
from tensorlayout.support.interning import memoize

# Numbers of cublasLt.h and library_types.h (12.9), for which CuPy has no names.
TYPES = {
    "float32": 0,
    "float16": 2,
    "bfloat16": 14,
    "float8_e4m3fn": 28,
    "float8_e5m2": 29,
    "float4_e2m1fn": 33,
}
SCALE_MODES = {"float8_e4m3fn": 1, "float8_e8m0fnu": 2}  # by the dtype of the scales
_COMPUTE_32F, _R_32F, _TRANSPOSED = 68, 0, 1
_TRANSA, _A_SCALE_POINTER, _B_SCALE_POINTER, _A_SCALE_MODE, _B_SCALE_MODE = 3, 17, 18, 31, 32
_MAX_WORKSPACE_BYTES = 1

# Most memory that a product may take for itself, which NVIDIA recommends for Hopper and Blackwell.
_WORKSPACE = 32 << 20

_P, _INT, _SIZE, _LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_int64
_ARGUMENTS = {
    "cublasLtMatmulDescCreate": [_P, _INT, _INT],
    "cublasLtMatmulDescSetAttribute": [_P, _INT, _P, _SIZE],
    "cublasLtMatrixLayoutCreate": [_P, _INT, ctypes.c_uint64, ctypes.c_uint64, _LONG],
    "cublasLtMatmulPreferenceCreate": [_P],
    "cublasLtMatmulPreferenceSetAttribute": [_P, _INT, _P, _SIZE],
    "cublasLtMatmulAlgoGetHeuristic": [*[_P] * 7, _INT, _P, _P],
    "cublasLtMatmul": [*[_P] * 14, _SIZE, _P],
    "cublasLtMatmulDescDestroy": [_P],
    "cublasLtMatrixLayoutDestroy": [_P],
    "cublasLtMatmulPreferenceDestroy": [_P],
}


class _Choice(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t: an algorithm, and the workspace that it takes."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("status", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


@memoize
def load_cublaslt(major: int) -> Any:
    """Load the C library of a CUDA version, which cuBLAS has loaded already."""
    return ctypes.CDLL(f"cublasLt64_{major}.dll" if os.name == "nt" else f"libcublasLt.so.{major}")


class UnsupportedProductError(RuntimeError):
    """cuBLASLt has no algorithm for a product on this device."""


class BlockProduct:
    """A product of row-major (m, k) and column-major (k, n) matrices into row-major (m, n).

    `dtypes`: names of the dtypes of both matrices and the result; `scales`: that of the scales,
    which are in the order of ``Layout.scale_factors``. All addresses are multiples of 16.
    """

    def __init__(
        self, cuda: Any, sizes: tuple[int, int, int], dtypes: tuple[str, str, str], scales: str
    ) -> None:
        self._cuda = cuda
        self._binding = cuda.cublas  # whose import loads cuBLAS, and with it cuBLASLt
        self._library = load_cublaslt(cuda.runtime.runtimeGetVersion() // 1000)
        for name, arguments in _ARGUMENTS.items():
            getattr(self._library, name).argtypes = arguments
        (m, n, k), (first, second, result) = sizes, map(TYPES.__getitem__, dtypes)
        # cuBLASLt's matrices are column-major. The row-major result is its transposed (n, m), so
        # the operands change places, and the second one, columns of k, is transposed.
        self._operation = self._create("MatmulDesc", _COMPUTE_32F, _R_32F)
        self._set(_TRANSA, ctypes.c_int32(_TRANSPOSED))
        for attribute in (_A_SCALE_MODE, _B_SCALE_MODE):
            self._set(attribute, ctypes.c_int32(SCALE_MODES[scales]))
        self._layouts = (
            self._create("MatrixLayout", second, k, n, k),
            self._create("MatrixLayout", first, k, m, k),
            self._create("MatrixLayout", result, n, m, n),
        )
        self._scalars = ctypes.c_float(1), ctypes.c_float(0)
        self._choices: dict[int, _Choice] = {}  # by device
        self._lock = threading.Lock()

    def __call__(
        self, driver: Driver, device: int, x: int, x_scales: int, y: int, y_scales: int, out: int
    ) -> None:
        """Multiply, at addresses on the current device; raise UnsupportedProductError."""
        driver.counters.library_calls += 1
        one, zero = map(ctypes.addressof, self._scalars)
        of_second, of_first, of_result = self._layouts
        with self._lock:  # the descriptor holds the addresses of the scales
            self._set(_A_SCALE_POINTER, ctypes.c_void_p(y_scales))
            self._set(_B_SCALE_POINTER, ctypes.c_void_p(x_scales))
            handle = self._cuda.get_cublas_handle()
            choice = self._choices.get(device) or self._choose(handle, device)
            workspace = driver.allocate(choice.workspace, device)
            self._call(
                *("cublasLtMatmul", handle, self._operation, one, y, of_second, x, of_first, zero),
                *(out, of_result, out, of_result, ctypes.addressof(choice)),
                *(workspace.pointer, choice.workspace, self._cuda.get_current_stream().ptr),
            )

    def _choose(self, handle: int, device: int) -> _Choice:
        """Ask cuBLASLt for its algorithm on the current device."""
        preference = self._create("MatmulPreference")
        most = ctypes.c_uint64(_WORKSPACE)
        self._call(
            *("cublasLtMatmulPreferenceSetAttribute", preference, _MAX_WORKSPACE_BYTES),
            *(ctypes.addressof(most), ctypes.sizeof(most)),
        )
        choice, count = _Choice(), ctypes.c_int()
        layouts = (*self._layouts, self._layouts[-1])
        status = self._library.cublasLtMatmulAlgoGetHeuristic(
            *(handle, self._operation, *layouts, preference, 1),
            *(ctypes.addressof(choice), ctypes.addressof(count)),
        )
        if status or not count.value or choice.status:
            raise UnsupportedProductError(f"cuBLASLt: status {status or choice.status}")
        self._choices[device] = choice
        return choice

    def _create(self, kind: str, *arguments: int) -> int:
        """Create a descriptor that lives as long as this object."""
        descriptor = ctypes.c_void_p()
        self._call(f"cublasLt{kind}Create", ctypes.addressof(descriptor), *arguments)
        assert descriptor.value is not None
        destroy = getattr(self._library, f"cublasLt{kind}Destroy")
        weakref.finalize(self, destroy, descriptor.value).atexit = False
        return descriptor.value

    def _set(self, attribute: int, value: Any) -> None:
        address, size = ctypes.addressof(value), ctypes.sizeof(value)
        self._call("cublasLtMatmulDescSetAttribute", self._operation, attribute, address, size)

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._library, name)(*arguments):
            raise RuntimeError(f"{name}: status {status}")
