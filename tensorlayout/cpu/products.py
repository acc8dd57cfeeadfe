"""Matrix products on the CPU."""

from __future__ import annotations

import numpy as np

from tensorlayout import dtypes
from tensorlayout.cpu.memory import quietly
from tensorlayout.plan import Run
from tensorlayout.plan.products import ProductPlan
from tensorlayout.tensor import Tensor


def prepare(plan: ProductPlan) -> Run:
    """NumPy's product, which hands transposed and padded operands to BLAS as they are."""
    spec = plan.result
    dtype = spec.dtype
    # 16-bit floats have no BLAS: in float32, rounded once at the end.
    work = dtypes.float32 if dtype.itemsize == 2 and dtype.kind in "fV" else dtype

    def product(x: Tensor, y: Tensor) -> Tensor:
        a, b = (operand._memory.astype(work, copy=False) for operand in (x, y))
        found = np.asarray(quietly(np.matmul, a, b))
        return Tensor._new(
            np.ascontiguousarray(found.astype(dtype, copy=False)).reshape(found.shape), spec
        )

    return product
