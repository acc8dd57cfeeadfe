"""Lines reversed up to lengths of their own: positions worked out, elements read at them."""

from __future__ import annotations

import numpy as np

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Run
from tensorlayout.plan.gather import GatherAlong
from tensorlayout.plan.reversing import ReversePlan
from tensorlayout.plan.run import carried_out
from tensorlayout.tensor import Tensor, TensorSpec


def prepare(plan: ReversePlan) -> Run:
    """The function of the result, the tensor, and the lengths."""
    shape, dim = plan.source.layout.shape, plan.dim
    size = shape[dim]
    place = np.arange(size).reshape([size if d == dim else 1 for d in range(len(shape))])
    positions = TensorSpec(np.dtype(np.int64), Layout.row_major(shape), plan.source.device)
    gather = GatherAlong(plan.name).plan(plan.source, dim, positions)
    read = carried_out(gather.into(plan.result))

    def reverse(result: Tensor, x: Tensor, lengths: Tensor) -> Tensor:
        length = np.minimum(lengths._memory, size).astype(np.int64)
        source = np.where(place < length, length - 1 - place, place)
        return read(result, x, Tensor._new(source, positions))

    return reverse
