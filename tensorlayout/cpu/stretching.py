"""Images enlarged, linear between the centres of elements: a dimension, a phase at a time."""

from __future__ import annotations

import numpy as np

from tensorlayout.cpu.engine.memory import Array
from tensorlayout.plan.base import Run
from tensorlayout.plan.stretching import StretchPlan
from tensorlayout.tensor import Tensor


def prepare(plan: StretchPlan) -> Run:
    """The function of the result and the tensor."""
    order = plan.source.layout.minor_to_major[::-1]
    rank, (height, width) = len(order), plan.scales
    direct = plan.result.dtype == np.float32 and (height, width) != (1, 1)

    def stretch(result: Tensor, x: Tensor) -> Tensor:
        with np.errstate(all="ignore"):
            wide = x._memory.astype(np.float32, copy=False)
            if height > 1:
                last = result._memory if direct and width == 1 else None
                wide = _stretched(wide, rank - 2, height, order, last)
            if width > 1:
                last = result._memory if direct else None
                wide = _stretched(wide, rank - 1, width, order, last)
            if not direct:
                result._memory[...] = wide
        return result

    return stretch


def _stretched(
    x: Array, dim: int, scale: int, order: tuple[int, ...], result: Array | None
) -> Array:
    """One dimension of `x` enlarged, into `result` or into memory in an order, slowest first."""
    n = x.shape[dim]
    if result is None:
        sizes = [m * scale if d == dim else m for d, m in enumerate(x.shape)]
        result = np.empty([sizes[d] for d in order], np.float32).transpose(np.argsort(order))
    head = (slice(None),) * dim
    for phase in range(scale):
        shift = 2 * phase + 1 - scale  # from the centre of the element, in halves of one of these
        part = result[(*head, slice(phase, None, scale))]
        if shift == 0:
            part[...] = x
            continue
        near, far = (slice(0, -1), slice(1, None)) if shift < 0 else (slice(1, None), slice(0, -1))
        edge = slice(0, 1) if shift < 0 else slice(n - 1, n)
        part[(*head, edge)] = x[(*head, edge)]
        # `far` is where the result stands, `near` the neighbour on the side of the centre.
        weight, keep = abs(shift) / (2 * scale), (2 * scale - abs(shift)) / (2 * scale)
        part[(*head, far)] = x[(*head, far)] * keep + x[(*head, near)] * weight
    return result
