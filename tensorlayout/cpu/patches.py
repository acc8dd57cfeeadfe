"""Images as the sum of windows: an element of all windows at a time, which is a strided part."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tensorlayout.plan.base import Run
from tensorlayout.plan.folding import FoldPlan
from tensorlayout.tensor import Tensor


def prepare(plan: FoldPlan) -> Run:
    """The function of the result and the columns."""
    windows = plan.windows
    batch, channels, *spatial = plan.result.layout.shape
    apart = (batch, channels, *(w.size for w in windows), *(w.count for w in windows))
    wide = np.dtype(np.float32) if plan.result.dtype == np.float16 else plan.result.dtype
    rows = list(zip(windows, spatial, strict=True))
    reached = [w.dilation * (w.size - 1) + w.step * (w.count - 1) + 1 for w in windows]
    framed = [max(r, w.before + n) for (w, n), r in zip(rows, reached, strict=True)]
    inside: Any = (..., *(slice(w.before, w.before + n) for w, n in rows))
    taps: list[tuple[Any, Any]] = []
    for tap in product(*(range(w.size) for w in windows)):
        starts = zip(
            (at * w.dilation for at, w in zip(tap, windows, strict=True)), windows, strict=True
        )
        cut = (slice(start, start + w.step * (w.count - 1) + 1, w.step) for start, w in starts)
        taps.append(((..., *cut), (slice(None), slice(None), *tap)))

    def fold(result: Tensor, x: Tensor) -> Tensor:
        columns = x._memory.reshape(apart)
        image = np.zeros((batch, channels, *framed), wide)
        with np.errstate(all="ignore"):
            for cut, tap in taps:
                image[cut] += columns[tap]
            result._memory[...] = image[inside]
        return result

    return fold
