"""Plans of images that are the sum of what windows say of their elements."""

from __future__ import annotations

from dataclasses import dataclass

from tensorlayout.plan.base import Plan
from tensorlayout.plan.rules import one_device
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True)
class Windows:
    """What of a spatial dimension windows see.

    `size`: elements of a window, `dilation` apart; `step` from window to window, of which there are
    `count`; the first begins `before` elements before the image.
    """

    size: int
    dilation: int
    step: int
    count: int
    before: int


@dataclass(frozen=True, slots=True, eq=False)
class FoldPlan(Plan):
    """Columns (…, N, C * P, L), written into an image (N, C, spatial…) of any layout."""

    kind = "col2im"
    given = True

    name: str
    source: TensorSpec
    result: TensorSpec
    windows: tuple[Windows, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The sum of windows: a call with the result and the columns.

    Elements are added in row-major order of a window, in their dtype; float16 in float32.
    """

    name: str

    def plan(
        self, result: TensorSpec, source: TensorSpec, windows: tuple[Windows, ...]
    ) -> FoldPlan:
        """The plan, with the windows of each spatial dimension."""
        one_device(self.name, [result, source])
        assert result.dtype == source.dtype
        assert result.layout.ndim == 2 + len(windows)
        return FoldPlan(self.name, source, result, windows)
