"""Plans of image operations: col2im, linear upsampling, and reversal of sequences."""

from __future__ import annotations

from tensorlayout.plan.base import DestinationPlan, plan_dataclass
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import TensorSpec


@frozen_dataclass
class Windows:
    """Windows along a spatial dimension.

    A window has `size` elements, `dilation` apart. There are `count` windows, `step` apart; the
    first one begins `before` elements before the image.
    """

    size: int
    dilation: int
    step: int
    count: int
    before: int


@plan_dataclass
class Col2ImPlan(DestinationPlan):
    """Columns (…, N, C * P, L) summed into an image (N, C, spatial…) of their dtype.

    Elements are added in row-major order of a window, in their dtype (float16 in float32).
    """

    kind = "col2im"

    source: TensorSpec
    windows: tuple[Windows, ...]  # of each spatial dimension


@plan_dataclass
class UpsamplePlan(DestinationPlan):
    """A tensor whose last two dimensions are enlarged by linear interpolation.

    dtypes: float16, float32; computed in float32, along the columns first, and rounded once. Beyond
    the centres of the outermost elements, these are repeated.
    """

    kind = "upsample"

    source: TensorSpec
    scales: tuple[int, int]  # of the last but one dimension and the last


@plan_dataclass
class ReverseSequencePlan(DestinationPlan):
    """Lines along a dimension with their first elements reversed.

    The result shares no memory with the operands; it has the source's shape and dtype. Lengths are
    unsigned and have size 1 along the lines; a length beyond the line means the whole line.
    """

    kind = "reverse_sequence"

    source: TensorSpec
    lengths: TensorSpec
    dim: int
