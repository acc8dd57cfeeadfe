"""Plans of DirectML's image operators: col2im (FOLD), upsampling, REVERSE_SUBSEQUENCES."""

from __future__ import annotations

from tensorlayout.plan.base import DestinationPlan, plan_dataclass
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import TensorSpec


@frozen_dataclass
class Windows:
    """Windows along a spatial dimension.

    `size`: elements of a window, which are `dilation` apart. `count`: number of windows, which are
    `step` apart; the first one begins `before` elements before the image.
    """

    size: int
    dilation: int
    step: int
    count: int
    before: int


@plan_dataclass
class Col2ImPlan(DestinationPlan):
    """Columns (…, N, C * P, L) summed into an image (N, C, spatial…) of their dtype.

    Elements are added in row-major order of a window, in their own dtype (float16 in float32).
    """

    kind = "col2im"

    source: TensorSpec
    windows: tuple[Windows, ...]  # of each spatial dimension


@plan_dataclass
class UpsamplePlan(DestinationPlan):
    """A tensor with its last two dimensions enlarged by linear interpolation.

    float16 and float32 are computed in float32, along the columns first, and rounded to the dtype
    at the end. Beyond the centres of the outermost elements their values are repeated.
    """

    kind = "upsample"

    source: TensorSpec
    scales: tuple[int, int]  # of the last but one dimension and the last


@plan_dataclass
class ReverseSequencePlan(DestinationPlan):
    """Lines along a dimension, with the first elements of each reversed, as many as its length.

    The result has the shape and dtype of the source, and shares no memory with the operands.
    Lengths are unsigned, with size 1 along the lines; a longer one means the whole line.
    """

    kind = "reverse_sequence"

    source: TensorSpec
    lengths: TensorSpec
    dim: int
