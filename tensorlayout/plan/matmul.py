"""Plans of matrix products."""

from __future__ import annotations

from tensorlayout import dtypes
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.rules import broadcast_shape, check_category, check_same_device
from tensorlayout.tensor import TensorSpec


@plan_dataclass
class MatmulPlan(Plan):
    """A row-major matrix product; transposed or padded operands are not copied."""

    kind = "matmul"

    first: TensorSpec
    second: TensorSpec
    result: TensorSpec


@plan_dataclass
class Matmul:
    """`matmul` and the operator ``@``."""

    name: str = "matmul"

    def plan(self, first: TensorSpec, second: TensorSpec) -> MatmulPlan:
        device = check_same_device([first, second])
        a, b = first.layout.shape, second.layout.shape
        dtype = dtypes.promote_dtypes(first.dtype, second.dtype)
        check_category("numeric", dtype, first.dtype, second.dtype)
        # A first vector is a row and a second one a column; the result lacks their dimensions.
        if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
            raise ValueError(_not_aligned_message(a, b))
        batch = broadcast_shape([a[:-2], b[:-2]])
        # For a vector, ``a[-2:-1]`` is empty; the last slice keeps ``len(b) > 1`` (0 or 1) sizes.
        shape = (*batch, *a[-2:-1], *b[-1:][: len(b) > 1])
        return MatmulPlan(first, second, TensorSpec(dtype, Layout.row_major(shape), device))


def _not_aligned_message(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    if not a or not b:
        return f"needs ranks of at least 1, got shapes {a} and {b}; use multiply() for scalars"
    axis = max(len(b) - 2, 0)
    sizes = f"{a[-1]} (axis {len(a) - 1}) != {b[axis]} (axis {axis})"
    return f"shapes {a} and {b} are not aligned: {sizes}"
