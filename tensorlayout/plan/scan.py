"""Plans of scans: running sums and products along one dimension."""

from __future__ import annotations

from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.rules import check_category, normalize_dims, result_dtype
from tensorlayout.tensor import TensorSpec


@plan_dataclass
class ScanPlan(Plan):
    """Each element of a line along `dim` becomes the total so far."""

    kind = "scan"

    operation: Scan
    source: TensorSpec
    result: TensorSpec
    dim: int
    initial: bool  # lines of the result begin with the total of no elements
    destinations: int = 0


@plan_dataclass
class Scan:
    """One line of the table of scans; packed in the input's order.

    `function`: ``sum`` or ``prod``. `result`: a rule of `result_dtype`. A call with `longer` has
    room for the total of no elements, else the last total gives way.
    """

    name: str
    dtypes: str
    function_name: str
    result: str = "same"

    def plan(
        self,
        source: TensorSpec,
        axis: int,
        initial: bool,
        extends_axis: bool,
        dtype: DType | None = None,
    ) -> ScanPlan:
        layout = source.layout
        check_category(self.dtypes, source.dtype)
        (dim,) = normalize_dims(axis, layout.ndim)
        shape = [n + extends_axis if d == dim else n for d, n in enumerate(layout.shape)]
        result_layout = Layout._packed(shape, layout.minor_to_major)
        kind = result_dtype(self.result, source.dtype) if dtype is None else dtype
        return ScanPlan(self, source, TensorSpec(kind, result_layout, source.device), dim, initial)
