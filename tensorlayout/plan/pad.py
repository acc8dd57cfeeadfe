"""Plans of padding: borders of a constant, or of elements from the inside."""

from __future__ import annotations

from tensorlayout.layout import Layout
from tensorlayout.plan.base import DestinationPlan, Plan, plan_dataclass
from tensorlayout.tensor import TensorSpec

# Borders of 1 2 3 to the right: one value; 3 3 3 3 (the outermost element); 2 1 2 3 (mirrored at
# that); 3 2 1 1 (mirrored after it); 1 2 3 1 (from the other end on).
MODES = ("constant", "edge", "reflection", "symmetric", "wrap")

# Elements before and after a dimension.
Border = tuple[int, int]


@plan_dataclass
class PadPlan(Plan):
    """A tensor with a border along each dimension."""

    kind = "pad"
    trace_kind = "copy"

    name: str
    source: TensorSpec
    result: TensorSpec
    borders: tuple[Border, ...]
    mode: str
    destinations: int = 0


@plan_dataclass
class Pad:
    """A border around a tensor, packed in its order; calls also pass the value of a constant.

    Dimensions of size 0 have no border, except of a constant.
    """

    name: str

    def plan(self, source: TensorSpec, borders: tuple[Border, ...], mode: str) -> PadPlan:
        assert mode in MODES
        source_layout = source.layout
        shape = [n + sum(border) for n, border in zip(source_layout.shape, borders, strict=True)]
        layout = Layout._packed(shape, source_layout.minor_to_major)
        result = TensorSpec(source.dtype, layout, source.device)
        return PadPlan(self.name, source, result, borders, mode)


@plan_dataclass
class SliceGradPlan(DestinationPlan):
    """A tensor written into a strided window of another, which is zero elsewhere.

    They share no memory. Steps of the window are not 0, and the window is inside the result.
    """

    kind = "slice_grad"

    source: TensorSpec
    window: tuple[tuple[int, int], ...]  # for each dimension: its first index, its step
