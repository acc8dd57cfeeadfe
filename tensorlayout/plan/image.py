"""Plans of images: sums of windows, enlarged ones, sequences reversed each up to its length."""

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
class Col2ImPlan(Plan):
    """Columns (…, N, C * P, L), written into an image (N, C, spatial…) of any layout."""

    kind = "col2im"
    given = True

    name: str
    source: TensorSpec
    result: TensorSpec
    windows: tuple[Windows, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Col2Im:
    """The sum of windows: a call with the result and the columns.

    Elements are added in row-major order of a window, in their dtype; float16 in float32.
    """

    name: str

    def plan(
        self, result: TensorSpec, source: TensorSpec, windows: tuple[Windows, ...]
    ) -> Col2ImPlan:
        """The plan, with the windows of each spatial dimension."""
        one_device([result, source])
        assert result.dtype == source.dtype
        assert result.layout.ndim == 2 + len(windows)
        return Col2ImPlan(self.name, source, result, windows)


@dataclass(frozen=True, slots=True, eq=False)
class UpsamplePlan(Plan):
    """A tensor whose last two dimensions grow, written into a result of any layout."""

    kind = "upsample"
    given = True

    name: str
    source: TensorSpec
    result: TensorSpec
    scales: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Upsample:
    """Linear interpolation along rows and columns: a call with the result and the tensor.

    Of float16 or float32, worked out in float32: along the columns first, rounded to the dtype at
    the end. Beyond the centres of the outermost elements these are repeated.
    """

    name: str

    def plan(self, result: TensorSpec, source: TensorSpec, scales: tuple[int, int]) -> UpsamplePlan:
        """The plan, `scales` of the last but one dimension and the last."""
        one_device([result, source])
        *others, height, width = source.layout.shape
        sizes = (*others, height * scales[0], width * scales[1])
        assert (result.layout.shape, result.dtype) == (sizes, source.dtype)
        assert source.dtype.name in ("float16", "float32")
        return UpsamplePlan(self.name, source, result, scales)


@dataclass(frozen=True, slots=True, eq=False)
class ReverseSequencePlan(Plan):
    """Lines of the source along a dimension, written into a result of any layout."""

    kind = "reverse_sequence"
    given = True

    name: str
    source: TensorSpec
    lengths: TensorSpec
    result: TensorSpec
    dim: int


@dataclass(frozen=True, slots=True, eq=False)
class ReverseSequence:
    """The first elements of each line reversed: a call with the result, the tensor, the lengths.

    The result shares no memory with the others; it has the shape and the dtype of the tensor.
    Lengths are unsigned, of size 1 along the lines; one that is too long means the whole line.
    """

    name: str

    def plan(
        self, result: TensorSpec, source: TensorSpec, lengths: TensorSpec, dim: int
    ) -> ReverseSequencePlan:
        """The plan."""
        one_device([result, source, lengths])
        assert (result.layout.shape, result.dtype) == (source.layout.shape, source.dtype)
        assert lengths.dtype.kind == "u"
        assert lengths.layout.shape[dim] == 1
        return ReverseSequencePlan(self.name, source, lengths, result, dim)
