"""Plans of images: sums of windows, enlarged ones, sequences reversed each up to its length."""

from __future__ import annotations

from tensorlayout.plan.base import DestinationPlan, plan_dataclass
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import TensorSpec


@frozen_dataclass
class Windows:
    """Windows along a spatial dimension.

    `size`: elements of a window, `dilation` apart; `step` from window to window, of which there are
    `count`; the first begins `before` elements before the image.
    """

    size: int
    dilation: int
    step: int
    count: int
    before: int


@plan_dataclass
class Col2ImPlan(DestinationPlan):
    """Columns (…, N, C * P, L), summed up into an image (N, C, spatial…) of their dtype.

    Elements are added in row-major order of a window, in their dtype; float16 in float32.
    """

    kind = "col2im"

    source: TensorSpec
    windows: tuple[Windows, ...]  # of each spatial dimension


@plan_dataclass
class UpsamplePlan(DestinationPlan):
    """A tensor whose last two dimensions grow, by linear interpolation along rows and columns.

    Of float16 or float32, worked out in float32: along the columns first, rounded to the dtype at
    the end. Beyond the centres of the outermost elements these are repeated.
    """

    kind = "upsample"

    source: TensorSpec
    scales: tuple[int, int]  # of the last but one dimension and the last


@plan_dataclass
class ReverseSequencePlan(DestinationPlan):
    """Lines along a dimension, of each the first elements reversed.

    The result shares no memory with the others; it has the shape and the dtype of the source.
    Lengths are unsigned, of size 1 along the lines; one that is too long means the whole line.
    """

    kind = "reverse_sequence"

    source: TensorSpec
    lengths: TensorSpec
    dim: int
