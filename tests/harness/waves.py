"""Factors whose running products rise and fall through float64's range, and what these are."""

import numpy as np
from tensors import as_dtype

# Each factor is 2 to this power, or to its negative.
WAVES = {"float16": 14, "bfloat16": 120, "float32": 120, "float64": 200, "complex64": 120}

# Running products are within 2**-1000 and 2**1000, those of a rise or a fall alone are not.
_HIGH = 1000


def wave(dtype, shape, axis):
    """The factors and their running products along `axis`: powers of 2, of signs or turns by i.

    The products are worked out with integers.
    """
    step, n = WAVES[dtype], shape[axis]
    half = _HIGH // step  # of a rise
    at = (np.arange(n + 1) + half) % (4 * half)
    height = step * (np.minimum(at, 4 * half - at) - half)
    around = (*shape[:axis], *shape[axis + 1 :], n)
    powers, height = (np.broadcast_to(x, around) for x in (np.diff(height), height[1:]))
    choices = [0, 1, 2, 3] if dtype.startswith("complex") else [0, 2]
    turns = np.random.default_rng(n).choice(choices, around)

    def values(powers, turns):
        result = np.ldexp(1.0, powers) * np.array([1, 1j, -1, -1j])[turns % 4]
        result = result if dtype.startswith("complex") else result.real
        with np.errstate(over="ignore", under="ignore"):
            return np.moveaxis(result, -1, axis).astype(as_dtype(dtype), order="C")

    return values(powers, turns), values(height, turns.cumsum(-1))
