"""Arrays and launches for any driver, and what the kernels of ``kernels/right.cu`` make of them."""

import struct
from pathlib import Path

import numpy as np
import pytest

from tensorlayout.cuda.engine.driver import Kernel

KERNELS = Path(__file__).parents[1] / "kernels"
THREADS = 256


class Array:
    """A NumPy array's bytes in device memory."""

    def __init__(self, driver, values):
        self.driver, self.values = driver, np.ascontiguousarray(values)
        self.buffer = driver.allocate(self.values.nbytes, driver.current_device())
        driver.copy_to_device(self.buffer.pointer, self.values.reshape(-1).view(np.uint8))

    @property
    def pointer(self):
        return self.buffer.pointer

    def get(self):
        back = np.empty_like(self.values)
        self.driver.copy_to_host(back.reshape(-1).view(np.uint8), self.pointer)
        return back


def floats(driver, n, start=0.0):
    return Array(driver, np.arange(start, start + n, dtype=np.float32))


def right(name):
    return Kernel(str(KERNELS / "right.cu"), name)


def words(*values):
    return bytearray(struct.pack(f"{len(values)}q", *values))


def run(driver, kernel, grid, *parameters):
    """Launch with addresses of arrays and 64-bit integers."""
    plain = (
        parameter.pointer if isinstance(parameter, Array) else parameter for parameter in parameters
    )
    driver.launcher(kernel)(grid, words(*plain))


def _sequence(n, start=0, dtype=np.float32):
    return np.arange(start, start + n, dtype=dtype)


_MATRIX = _sequence(96 * 64).reshape(96, 64)
_ROWS = _sequence(5 * THREADS, dtype=np.int32).reshape(5, THREADS)
_COMPLEX = _sequence(600).view(np.complex64)
_LINE = _sequence(THREADS, 1)
_PLACES = _sequence(THREADS, dtype=np.uint32)


def _exchanged(values):
    """Yield the words that `exchange_lanes` writes, for each thread."""
    for warp in values.reshape(-1, 32):
        votes = sum(1 << n for n, value in enumerate(warp) if value % 3 == 0)
        down = [*warp[3:], *warp[-3:]]
        up = [warp[0], *warp[:-1]]
        yield from zip(warp[::-1], down, up, [votes] * 32, strict=True)


_BLOCKS = _sequence(30, dtype=np.uint32).reshape(5, 3, 2, 1) << 16 | _PLACES

# The name, the grid, the array that is read, numbers, and what is written.
CASES = {
    **{
        f"increment {n}": ("increment", -(-n // THREADS), _sequence(n), (n,), _sequence(n, 1))
        for n in (1, 255, 256, 257, 1000)
    },
    "packs": ("increment_packs", 4, _sequence(4000), (1000,), _sequence(4000, 1)),
    "grid": ("where_am_i", (2, 3, 5), None, (), _BLOCKS),
    "tiles": ("transpose_tiles", (2, 3, 1), _MATRIX, (96, 64), _MATRIX.T),
    "one bank": ("transpose_in_one_bank", (2, 3, 1), _MATRIX, (96, 64), _MATRIX.T),
    "divergent barriers": ("sum_blocks", 5, _ROWS, (5,), _ROWS.sum(axis=1, dtype=np.int32)),
    "not aligned": ("conjugate", 2, _COMPLEX, (300,), _COMPLEX.conj()),
    "warps": (
        "exchange_lanes",
        1,
        7 * _PLACES,
        (1,),
        np.array([*_exchanged(7 * _PLACES)], np.uint32),
    ),
    "one element for all threads": ("agree", 3, _sequence(1, 5), (1,), _sequence(1, 5)),
    "turns": ("take_turns", 3, _sequence(THREADS), (1,), np.tile(np.roll(_LINE, 3), 3)),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def check(driver, case):
    """Launch, and compare what is written."""
    name, grid, argument, numbers, expected = case
    to = Array(driver, np.zeros_like(expected, order="C"))
    arrays = [to] if argument is None else [to, Array(driver, argument)]
    run(driver, right(name), grid, *arrays, *numbers)
    np.testing.assert_array_equal(to.get(), expected)
