"""Plans of images that are enlarged by whole factors, linear between the centres of elements."""

from __future__ import annotations

from dataclasses import dataclass

from tensorlayout.plan.base import Plan
from tensorlayout.plan.rules import one_device
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class StretchPlan(Plan):
    """A tensor whose last two dimensions grow, written into a result of any layout."""

    kind = "upsample"
    given = True

    name: str
    source: TensorSpec
    result: TensorSpec
    scales: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Linear interpolation along rows and columns: a call with the result and the tensor.

    Of float16 or float32, worked out in float32: along the columns first, rounded to the dtype at
    the end. Beyond the centres of the outermost elements these are repeated.
    """

    name: str

    def plan(self, result: TensorSpec, source: TensorSpec, scales: tuple[int, int]) -> StretchPlan:
        """The plan, `scales` of the last but one dimension and the last."""
        one_device(self.name, [result, source])
        *others, height, width = source.layout.shape
        sizes = (*others, height * scales[0], width * scales[1])
        assert (result.layout.shape, result.dtype) == (sizes, source.dtype)
        assert source.dtype.name in ("float16", "float32")
        return StretchPlan(self.name, source, result, scales)
