"""``x * scale + bias`` on the CPU, each of the two rounded."""

from __future__ import annotations

import numpy as np

from tensorlayout.cpu.engine.memory import Array


def scaled(x: Array, scale: Array, bias: Array, out: Array) -> None:
    """Worked out in the dtype of `scale`, and rounded to that of `out`; which may be `x`."""
    if out.dtype == scale.dtype:
        np.multiply(x, scale, out=out)
        np.add(out, bias, out=out)
        return
    wide = np.multiply(x, scale, dtype=scale.dtype)
    out[...] = np.add(wide, bias, out=wide)
