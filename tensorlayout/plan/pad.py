"""Plans of padding operations and of gradients of slices."""

from __future__ import annotations

from tensorlayout.layout import Layout
from tensorlayout.plan.base import DestinationPlan, Plan, plan_dataclass
from tensorlayout.tensor import TensorSpec

# What a border is made of: one value; the outermost element; the elements mirrored at the outermost
# one, or behind it, again and again; the elements from the other end on, again and again.
MODES = ("constant", "edge", "reflection", "symmetric", "wrap")

# How many elements before and after those of a dimension.
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
    """A tensor with a border, packed in its order; the constant is an argument of calls.

    A dimension of size 0 can only have a constant border.
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
    """A tensor written into a window of another, which is zero elsewhere; they share no memory.

    Steps of the window are not 0 and stay inside.
    """

    kind = "slice_grad"

    source: TensorSpec
    window: tuple[tuple[int, int], ...]  # by dimension: the place of its first element, the step
