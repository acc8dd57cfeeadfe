"""libcublasLt over a strict machine: products of narrow floats in blocks that share scales.

Descriptors, types, sizes, alignment and the order of scales are checked as the documentation of
cuBLASLt (12.9) states them; elements and scales are read from memory byte by byte.
"""

import ctypes
import itertools

import ml_dtypes
import numpy as np
from strict_cupy import HANDLE, CFunction

DTYPES = {
    0: np.dtype("float32"), 2: np.dtype("float16"), 14: np.dtype(ml_dtypes.bfloat16),
    28: np.dtype(ml_dtypes.float8_e4m3fn), 29: np.dtype(ml_dtypes.float8_e5m2), 33: None,
}  # fmt: skip
PAIRS = {(28, 28, 2), (28, 29, 2), (29, 28, 2), (33, 33, 1)}  # with the mode of scales
BLOCKS = {1: 16, 2: 32}
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
WORKSPACE = 1 << 16


class StrictCublasLt:
    """`supported`: whether this device has an algorithm."""

    supported = True

    def __init__(self, cupy):
        self.cupy, self.numbers, self.made, self.calls = cupy, itertools.count(1), {}, 0
        for kind in ("MatmulDesc", "MatrixLayout", "MatmulPreference"):
            self._define(f"{kind}Destroy", lambda descriptor: self.made.pop(descriptor) and 0)
        self._define(
            "MatmulDescCreate", lambda to, compute, scale: self._create(to, compute, scale)
        )
        self._define("MatmulPreferenceCreate", lambda to: self._create(to))
        self._define("MatrixLayoutCreate", lambda to, a, b, c, d: self._create(to, a, b, c, d))
        self._define("MatmulDescSetAttribute", self._set)
        self._define("MatmulPreferenceSetAttribute", self._set)
        self._define("MatmulAlgoGetHeuristic", self._heuristic)
        self._define("Matmul", self._matmul)

    def _define(self, name, function):
        setattr(self, f"cublasLt{name}", CFunction(function))

    def _create(self, to, *arguments):
        number = next(self.numbers)
        ctypes.c_void_p.from_address(to).value = number
        self.made[number] = {"made of": arguments}
        return 0

    def _set(self, descriptor, attribute, value, size):
        """Of 4 bytes: transpositions and modes; of 8: pointers and sizes."""
        if size != (4 if attribute in (3, 4, 31, 32) else 8):
            return 7
        kind = {4: ctypes.c_int32, 8: ctypes.c_uint64}[size]
        self.made[descriptor][attribute] = kind.from_address(value).value
        return 0

    def _heuristic(self, handle, operation, a, b, c, d, preference, count, results, counted):
        assert (handle, count) == (HANDLE, 1)
        known = self._problem(operation, a, b, c, d) and self.supported
        ctypes.c_int.from_address(counted).value = int(known)
        if not known:
            return 15
        assert self.made[preference][1] >= WORKSPACE
        ctypes.memset(results, 0xA, 64)
        ctypes.c_size_t.from_address(results + 64).value = WORKSPACE
        return 0

    def _problem(self, operation, a, b, c, d):
        """Sizes m, n, k of columns, if the types and sizes are supported."""
        operation, (a, b, c, d) = (
            self.made[operation],
            (self.made[x]["made of"] for x in (a, b, c, d)),
        )
        mode = operation.get(31)
        k, m, n = a[1], a[2], b[2]
        fits = (
            operation["made of"] == (68, 0)
            and operation.get(3) == 1  # A is transposed, B is not
            and not operation.get(4)
            and operation.get(32) == mode
            and (a[0], b[0], mode) in PAIRS
            and c == d
            and d[0] in (0, 2, 14)
            and (b[1], d[1], d[2]) == (k, m, n)
            and not (k % 32 or m % 16)
        )
        assert not fits or (a[3] >= k and b[3] >= k and d[3] >= m)
        return (m, n, k) if fits else None

    def _matmul(
        self, handle, operation, alpha, x, a, y, b, beta, c_at, c, d_at, d, algorithm, workspace,
        size, stream,
    ):  # fmt: skip
        assert handle == HANDLE
        assert [ctypes.c_float.from_address(item).value for item in (alpha, beta)] == [1, 0]
        assert ctypes.string_at(algorithm, 64) == b"\n" * 64, "an algorithm of the heuristic"
        m, n, _ = self._problem(operation, a, b, c, d)
        first, second, result = (self.made[item]["made of"] for item in (a, b, d))
        scales, mode = (
            [self.made[operation][number] for number in (17, 18)],
            self.made[operation][31],
        )
        for address in (x, y, c_at, d_at, *scales, workspace):
            if address % 16:
                return 7
        assert size >= WORKSPACE
        machine = self.cupy.machine

        def run():
            machine.check_live(workspace, size)
            left = self._matrix(x, first, scales[0], mode)
            right = self._matrix(y, second, scales[1], mode)
            product = (left @ right.T).astype(
                DTYPES[result[0]]
            )  # (m, n), which is stored by columns
            itemsize = product.itemsize
            nbytes = ((n - 1) * result[3] + m) * itemsize
            machine.check_live(d_at, nbytes)
            memory = (ctypes.c_uint8 * nbytes).from_address(d_at)
            strides = (itemsize, result[3] * itemsize)
            np.ndarray((m, n), product.dtype, memory, 0, strides)[...] = product

        self.calls += 1
        self.cupy.enqueue(machine.stream(stream), run)
        return 0

    def _matrix(self, address, made_of, scales_at, mode):
        """Rows of k elements, times their scales, in float64."""
        kind, k, rows, leading = made_of
        bits = 4 if kind == 33 else 8
        nbytes = ((rows - 1) * leading + k) * bits // 8
        octets = self._bytes(address, nbytes)
        if bits == 4:  # the first of two elements is in the low bits
            elements = FP4[np.stack([octets & 15, octets >> 4], -1).reshape(-1)]
        else:
            elements = octets.view(DTYPES[kind]).astype(np.float64)
        index = np.arange(rows)[:, None] * leading + np.arange(k)
        return elements[index] * self._scales(scales_at, rows, k // BLOCKS[mode], mode).repeat(
            BLOCKS[mode], 1
        )

    def _scales(self, address, rows, blocks, mode):
        """In tiles of 128 rows and 4 blocks; what no element has is zero."""
        across = -(-blocks // 4)
        octets = self._bytes(address, -(-rows // 128) * across * 512)
        r, c = np.indices((rows, blocks))
        at = (r // 128 * across + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4
        rest = np.ones(octets.size, bool)
        rest[at] = False
        assert not octets[rest].any(), "scales are padded with zeros"
        if mode == 2:
            return 2.0 ** (octets[at].astype(np.float64) - 127)
        return np.abs(octets[at].view(ml_dtypes.float8_e4m3fn).astype(np.float64))

    def _bytes(self, address, size):
        self.cupy.machine.check_live(address, size)
        return np.frombuffer(ctypes.string_at(address, size), np.uint8)
