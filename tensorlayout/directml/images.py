"""Operators on images: blocks of pixels as channels, upsampling, unpooling, sliding windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorlayout.directml import constants, members
from tensorlayout.directml.constants import call_with_error_prefix, check_range
from tensorlayout.directml.moving import padding1
from tensorlayout.directml.operator_desc import ExpectedOutput, OneToOne, OperatorDesc, check_tensor
from tensorlayout.directml.operators import HIGHEST, run_operator, view_reshaped
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.creation import zeros
from tensorlayout.functions.manipulation import permute_dims, reshape, sliding_window
from tensorlayout.plan import Col2ImPlan, DestinationOperation, Scatter, UpsamplePlan, Windows
from tensorlayout.tensor import Tensor

__all__ = [
    "DepthToSpace1OperatorDesc",
    "DepthToSpaceOperatorDesc",
    "FoldOperatorDesc",
    "MaxUnpoolingOperatorDesc",
    "SpaceToDepth1OperatorDesc",
    "SpaceToDepthOperatorDesc",
    "UnfoldOperatorDesc",
    "Upsample2DOperatorDesc",
    "depth_to_space",
    "depth_to_space1",
    "fold",
    "max_unpooling",
    "space_to_depth",
    "space_to_depth1",
    "unfold",
    "upsample_2d",
]

# --- blocks of pixels as channels: one copy from a view to a view --------------------------------


class _BlockRearrangement(OneToOne):
    block_size: members.Positive

    def _execute(self, out: Tensor, x: Tensor) -> None:
        view_functions = self._spatial_block_view, self._channel_block_view
        source_view, destination_view = (
            view_functions if self.operator.startswith("SPACE") else view_functions[::-1]
        )
        # Both views have the dimensions (batch, channel, row, column, row in block, column in
        # block), so one strided assignment moves everything without a copy in between.
        destination_view(out)[...] = source_view(x)

    def _spatial_block_view(self, x: Tensor) -> Tensor:
        """Return a view (batch, channel, block row, block column, row, column in the block)."""
        s, (batch, channels, height, width) = self.block_size, x.shape
        split = view_reshaped(x, (batch, channels, height // s, s, width // s, s))
        return permute_dims(split, (0, 1, 2, 4, 3, 5))

    def _channel_block_view(self, x: Tensor) -> Tensor:
        """Return a view of the depth side with the same dimensions as `_spatial_block_view`."""
        s, (batch, channels, height, width) = self.block_size, x.shape
        # Only the operators whose names end in 1 have the member. The channel number of
        # DEPTH_COLUMN_ROW is (row in block, column in block, channel) with the channel fastest;
        # COLUMN_ROW_DEPTH has the channel slowest.
        if getattr(self, "order", None) == constants.DepthSpaceOrder.COLUMN_ROW_DEPTH:
            split = view_reshaped(x, (batch, channels // (s * s), s, s, height, width))
            return permute_dims(split, (0, 1, 4, 5, 2, 3))
        split = view_reshaped(x, (batch, s, s, channels // (s * s), height, width))
        return permute_dims(split, (0, 3, 4, 5, 1, 2))


class SpaceToDepthOperatorDesc(_BlockRearrangement, operator="SPACE_TO_DEPTH"):
    """DML_SPACE_TO_DEPTH_OPERATOR_DESC: what `space_to_depth` takes; the order is DEPTH_COLUMN_ROW.

    >>> from tensorlayout.directml import SpaceToDepthOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (1, 4, 2, 2))
    >>> SpaceToDepthOperatorDesc(input=x, block_size=2).validate().output.sizes
    (1, 16, 1, 1)
    """

    def _output_sizes(self) -> tuple[int, ...]:
        s, (batch, channels, *spatial) = self.block_size, self.input.sizes
        if any(n % s for n in spatial):
            rule = f"height and width must be multiples of BlockSize {s}"
            raise ValueError(f"InputTensor: {rule}, got Sizes {self.input.sizes}")
        return (batch, channels * s * s, *(n // s for n in spatial))


class SpaceToDepth1OperatorDesc(SpaceToDepthOperatorDesc, operator="SPACE_TO_DEPTH1"):
    """DML_SPACE_TO_DEPTH1_OPERATOR_DESC: what `space_to_depth1` takes.

    >>> from tensorlayout.directml import SpaceToDepth1OperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (1, 4, 2, 2))
    >>> desc = SpaceToDepth1OperatorDesc(input=x, block_size=2, order="COLUMN_ROW_DEPTH")
    >>> desc.validate().output.sizes
    (1, 16, 1, 1)
    """

    order: members.Order


class DepthToSpaceOperatorDesc(_BlockRearrangement, operator="DEPTH_TO_SPACE"):
    """DML_DEPTH_TO_SPACE_OPERATOR_DESC: what `depth_to_space` takes; the order is DEPTH_COLUMN_ROW.

    >>> from tensorlayout.directml import DepthToSpaceOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (1, 4, 2, 2))
    >>> DepthToSpaceOperatorDesc(input=x, block_size=2).validate().output.sizes
    (1, 1, 4, 4)
    """

    def _output_sizes(self) -> tuple[int, ...]:
        s, (batch, channels, *spatial) = self.block_size, self.input.sizes
        if channels % (s * s):
            rule = f"channels must be a multiple of BlockSize squared, {s * s}"
            raise ValueError(f"InputTensor: {rule}, got Sizes {self.input.sizes}")
        return (batch, channels // (s * s), *(n * s for n in spatial))


class DepthToSpace1OperatorDesc(DepthToSpaceOperatorDesc, operator="DEPTH_TO_SPACE1"):
    """DML_DEPTH_TO_SPACE1_OPERATOR_DESC: what `depth_to_space1` takes.

    >>> from tensorlayout.directml import DepthToSpace1OperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (1, 4, 2, 2))
    >>> desc = DepthToSpace1OperatorDesc(input=x, block_size=2, order="COLUMN_ROW_DEPTH")
    >>> desc.validate().output.sizes
    (1, 1, 4, 4)
    """

    order: members.Order


def space_to_depth(
    x: Tensor, block_size: int, *, out: Tensor | None = None, feature_level: str | int = HIGHEST
) -> Tensor:
    """Return blocks of (N, C, H, W) moved into channels, (N, C*s*s, H/s, W/s): SPACE_TO_DEPTH.

    `block_size` is s. Output channels count, slowest first: row in the block, column in the block,
    channel of `x`.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.space_to_depth(tl.asarray([[[[1, 2], [3, 4]]]]), 2).shape
    (1, 4, 1, 1)
    """
    return run_operator(SpaceToDepthOperatorDesc, (x, block_size), out, feature_level)


def space_to_depth1(
    x: Tensor,
    block_size: int,
    order: members.Order,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return blocks of (N, C, H, W) moved into channels, (N, C*s*s, H/s, W/s): SPACE_TO_DEPTH1.

    `block_size` is s. `order`: how output channels count, slowest first. ``DEPTH_COLUMN_ROW``: row
    in the block, column in the block, channel of `x`; ``COLUMN_ROW_DEPTH``: channel of `x`, row,
    column.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.reshape(tl.arange(8), (1, 2, 2, 2))
    >>> tl.reshape(directml.space_to_depth1(x, 2, "DEPTH_COLUMN_ROW"), (8,))
    Tensor([0, 4, 1, 5, 2, 6, 3, 7], dtype=int64, device='cpu')
    """
    return run_operator(SpaceToDepth1OperatorDesc, (x, block_size, order), out, feature_level)


def depth_to_space(
    x: Tensor, block_size: int, *, out: Tensor | None = None, feature_level: str | int = HIGHEST
) -> Tensor:
    """Return channels of (N, C, H, W) moved into blocks, (N, C/(s*s), H*s, W*s): DEPTH_TO_SPACE.

    `block_size` is s. The inverse of `space_to_depth`.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.depth_to_space(tl.asarray([[[[1]], [[2]], [[3]], [[4]]]]), 2)
    Tensor([[[[1, 2],
              [3, 4]]]], dtype=int64, device='cpu')
    """
    return run_operator(DepthToSpaceOperatorDesc, (x, block_size), out, feature_level)


def depth_to_space1(
    x: Tensor,
    block_size: int,
    order: members.Order,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return channels of (N, C, H, W) moved into blocks, (N, C/(s*s), H*s, W*s): DEPTH_TO_SPACE1.

    `block_size` is s. `order`: how channels of `x` count, ``DEPTH_COLUMN_ROW`` or
    ``COLUMN_ROW_DEPTH``. The inverse of `space_to_depth1`.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.reshape(tl.arange(8), (1, 8, 1, 1))
    >>> directml.depth_to_space1(x, 2, "COLUMN_ROW_DEPTH")
    Tensor([[[[0, 1],
              [2, 3]],
    <BLANKLINE>
             [[4, 5],
              [6, 7]]]], dtype=int64, device='cpu')
    """
    return run_operator(DepthToSpace1OperatorDesc, (x, block_size, order), out, feature_level)


class Upsample2DOperatorDesc(OneToOne, operator="UPSAMPLE_2D"):
    """DML_UPSAMPLE_2D_OPERATOR_DESC: what `upsample_2d` takes; the scale is a `Size2D`.

    >>> from tensorlayout.directml import Upsample2DOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (1, 1, 2, 3))
    >>> desc = Upsample2DOperatorDesc(input=x, scale_size=(2, 1), interpolation_mode="LINEAR")
    >>> desc.validate().output.sizes
    (1, 1, 2, 6)
    """

    scale_size: members.Integers
    interpolation_mode: members.Interpolation
    _plan = DestinationOperation("UPSAMPLE_2D", UpsamplePlan)

    def _output_sizes(self) -> tuple[int, ...]:
        if len(self.scale_size) != 2:
            received = arguments.format_argument(self.scale_size)
            raise ValueError(f"ScaleSize must be a width and a height, got {received}")
        # Size2D begins with the width, as in C, while tensors have the height first.
        *others, height, width = self.input.sizes
        scale = constants.Size2D(*self.scale_size)
        for member, factor, size in ("Width", scale.width, width), ("Height", scale.height, height):
            # DirectML's rule: the enlarged size must fit 32 bits.
            max_factor, reason = constants.UINT32_MAX // size, f", 2**32 - 1 over the size {size}"
            check_range(f"ScaleSize: {member}", factor, 1, max_factor, reason)
        return (*others, height * scale.height, width * scale.width)

    def _execute(self, out: Tensor, x: Tensor) -> None:
        scale = constants.Size2D(*self.scale_size)
        if self.interpolation_mode == constants.InterpolationMode.LINEAR:
            key = (out.spec, x.spec, (scale.height, scale.width))
            dispatch.call(self._plan, key, (out, x))
            return
        *others, height, width = x.shape
        # Nearest neighbours are a broadcast: the output seen as (…, H, sh, W, sw) takes the input
        # seen as (…, H, 1, W, 1).
        blocks = view_reshaped(out, (*others, height, scale.height, width, scale.width))
        blocks[...] = view_reshaped(x, (*others, height, 1, width, 1))


def upsample_2d(
    x: Tensor,
    scale_size: Sequence[int],
    mode: members.Interpolation = constants.InterpolationMode.NEAREST_NEIGHBOR,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return `x` with height and width, the last two dimensions, enlarged: UPSAMPLE_2D.

    - `scale_size`: integer factors (width, height), in the order of C.
    - `mode`: ``NEAREST_NEIGHBOR`` repeats elements; ``LINEAR`` interpolates between their centres
      and repeats the outermost elements beyond these. FLOAT16 is computed in FLOAT32 and rounded
      once.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.asarray([[[[0.0, 4.0]]]], dtype=tl.float32)
    >>> directml.upsample_2d(x, (2, 1), "LINEAR")
    Tensor([[[[0., 1., 3., 4.]]]], dtype=float32, device='cpu')
    """
    return run_operator(Upsample2DOperatorDesc, (x, scale_size, mode), out, feature_level)


class MaxUnpoolingOperatorDesc(OperatorDesc, operator="MAX_UNPOOLING"):
    """DML_MAX_UNPOOLING_OPERATOR_DESC: what `max_unpooling` takes.

    >>> from tensorlayout.directml import MaxUnpoolingOperatorDesc, TensorDesc
    >>> x, at = TensorDesc("FLOAT32", (1, 1, 1, 2)), TensorDesc("UINT32", (1, 1, 1, 2))
    >>> whole = TensorDesc("FLOAT32", (1, 1, 2, 2))
    >>> desc = MaxUnpoolingOperatorDesc(input=x, indices=at, output=whole)
    >>> desc.validate().output.sizes
    (1, 1, 2, 2)
    """

    input: TensorDesc
    indices: TensorDesc
    output: TensorDesc
    _plan = Scatter("MAX_UNPOOLING")
    _allocates_output = True

    def _expected_outputs(self) -> list[ExpectedOutput]:
        check_tensor("IndicesTensor", self.indices, self.input.sizes)
        return [(self.input.data_type, self.output.sizes)]

    def _execute(self, out: Tensor | None, x: Tensor, indices: Tensor) -> Tensor:
        # Indices are row-major numbers, whatever the strides of `out`, so the scatter writes to a
        # row-major line that is copied to `out` at the end.
        flat = zeros(math.prod(self.output.sizes), dtype=x.dtype, device=x.device)
        values, positions = reshape(x, (-1,)), reshape(indices, (-1,))
        # Dimension 0 is indexed; its positions take its place in the result (False).
        key = (flat.spec, values.spec, (0,), False, positions.spec)
        dispatch.call(self._plan, key, (flat, values, positions))
        result = reshape(flat, self.output.sizes)
        if out is not None:
            out[...] = result
        return result


def max_unpooling(
    x: Tensor,
    indices: Tensor,
    output_sizes: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return zeros of `output_sizes` with the elements of `x` written at `indices`: MAX_UNPOOLING.

    `indices`: unsigned row-major element numbers of the output, of the sizes of `x`. If several are
    equal, the last one wins.

    Returns a row-major tensor, or `out`.

    Raises `IndexError` for an index outside the output; `TypeError` for data types, and
    `ValueError` for ranks and sizes, that `feature_level` does not allow or that do not fit each
    other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> x = tl.asarray([[[[7.0, 8.0]]]], dtype=tl.float32)
    >>> directml.max_unpooling(x, tl.asarray([[[[1, 2]]]], dtype=tl.uint32), (1, 1, 2, 2))
    Tensor([[[[0., 7.],
              [8., 0.]]]], dtype=float32, device='cpu')
    """
    return run_operator(
        MaxUnpoolingOperatorDesc, (x, indices), out, feature_level, {"sizes": output_sizes}
    )


# --- sliding windows ----------------------------------------------------------------------------


class _SlidingWindowOperator(OperatorDesc):
    window_sizes: members.Positives
    strides: members.Positives
    dilations: members.Positives
    start_padding: members.Naturals
    end_padding: members.Naturals

    def _array_member_length(self) -> int:
        return self._reference_tensor().rank - 2

    def _column_sizes(self, column_desc: TensorDesc | None) -> tuple[int, ...]:
        """Return the sizes of the columns, with leading ones up to the rank of `column_desc`."""
        image, counts = self._reference_tensor(), self._window_counts()
        batch, channels, *_ = image.sizes
        if any(n < 1 for n in counts):
            received = f"{self.window_sizes} for Sizes {image.sizes}"
            raise ValueError(
                f"WindowSizes: a window must fit into the padded image, got {received}"
            )
        # The page says that both tensors have equal ranks, and every example has columns of rank 3.
        # Both are accepted: ones in front fill up to the rank of the described columns.
        ones = (1,) * (column_desc.rank - 3) if column_desc else ()
        return (*ones, batch, channels * math.prod(self.window_sizes), math.prod(counts))

    def _padded_spatial_sizes(self) -> list[int]:
        """Return the spatial sizes of the image including padding."""
        rows = zip(
            self._reference_tensor().sizes[2:], self.start_padding, self.end_padding, strict=True
        )
        return [n + before + after for n, before, after in rows]

    def _window_counts(self) -> list[int]:
        """Return the number of windows along each spatial dimension."""
        windows = zip(self.dilations, self.window_sizes, self.strides, strict=True)
        # A window spans dilation * (w - 1) + 1 elements. If that is more than there are, floor
        # division gives less than one window, which is an error above.
        return [
            (n - dilation * (w - 1) - 1) // stride + 1
            for n, (dilation, w, stride) in zip(self._padded_spatial_sizes(), windows, strict=True)
        ]


class FoldOperatorDesc(_SlidingWindowOperator, operator="FOLD"):
    """DML_FOLD_OPERATOR_DESC: what `fold` takes.

    >>> from tensorlayout.directml import FoldOperatorDesc, TensorDesc
    >>> x, image = TensorDesc("FLOAT32", (1, 2, 2)), TensorDesc("FLOAT32", (1, 1, 3))
    >>> window = {"window_sizes": [2], "strides": [1], "dilations": [1]}
    >>> border = {"start_padding": [0], "end_padding": [0]}
    >>> desc = FoldOperatorDesc(input=x, output=image, **window, **border)
    >>> desc.validate().output.sizes
    (1, 1, 3)
    """

    input: TensorDesc
    output: TensorDesc
    _plan = DestinationOperation("FOLD", Col2ImPlan)
    _allocates_output = True

    def _expected_outputs(self) -> list[ExpectedOutput]:
        check_tensor("InputTensor", self.input, self._column_sizes(self.input))
        return [(self.input.data_type, self.output.sizes)]

    def _execute(self, out: Tensor | None, x: Tensor) -> Tensor:
        result = self.output.empty(device=x.device) if out is None else out
        # The fields of Windows in their order: size, dilation, step, count, before.
        rows = (
            self.window_sizes,
            self.dilations,
            self.strides,
            self._window_counts(),
            self.start_padding,
        )
        windows = tuple(map(Windows, *rows))
        return dispatch.call(self._plan, (result.spec, x.spec, windows), (result, x))


class UnfoldOperatorDesc(_SlidingWindowOperator, OneToOne, operator="UNFOLD"):
    """DML_UNFOLD_OPERATOR_DESC: what `unfold` takes.

    >>> from tensorlayout.directml import UnfoldOperatorDesc, TensorDesc
    >>> x, border = TensorDesc("FLOAT32", (1, 1, 3)), {"start_padding": [0], "end_padding": [0]}
    >>> window = {"window_sizes": [2], "strides": [1], "dilations": [1]}
    >>> desc = UnfoldOperatorDesc(input=x, **window, **border)
    >>> desc.validate().output.sizes
    (1, 2, 2)
    """

    def _output_sizes(self) -> tuple[int, ...]:
        # Only for its errors: the padded image must itself be a tensor that DirectML can describe.
        framed = (*self.input.sizes[:2], *self._padded_spatial_sizes())
        call_with_error_prefix("InputTensor with padding", TensorDesc, self.input.data_type, framed)
        return self._column_sizes(self.output)

    def _execute(self, out: Tensor, x: Tensor) -> None:
        rank, image = len(self.window_sizes), x
        # The only copy of the image, which is not needed without padding.
        if any((*self.start_padding, *self.end_padding)):
            before, after = (0, 0, *self.start_padding), (0, 0, *self.end_padding)
            image = padding1(x, before, after, constants.PaddingMode.CONSTANT, 0)
        # sliding_window() gives (N, C, first elements…, elements of a span…). Strides then pick the
        # first elements, dilations the elements of a window, both as views. With the elements in
        # front of the windows, the output's two dimensions are P and L.
        spans = [d * (w - 1) + 1 for d, w in zip(self.dilations, self.window_sizes, strict=True)]
        windows = sliding_window(image, spans, axis=tuple(range(2, 2 + rank)))
        steps = [slice(None, None, step) for step in (*self.strides, *self.dilations)]
        windows = windows[(slice(None), slice(None), *steps)]
        blocks, taps = range(2, 2 + rank), range(2 + rank, 2 + 2 * rank)
        order = permute_dims(windows, (0, 1, *taps, *blocks))
        view_reshaped(out, order.shape)[...] = order


def fold(
    x: Tensor,
    output_sizes: Sequence[int],
    window_sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return an image of `output_sizes` that sums overlapping windows, given as columns: FOLD.

    - `x`: columns (N, C * P, L), as `unfold` returns them: P elements per window, L windows.
    - `window_sizes`, `strides`, `dilations`, `start_padding`, `end_padding`: an entry per spatial
      dimension. Elements in the padding are dropped.

    FLOAT16 is summed in FLOAT32. Returns a row-major tensor, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> columns = tl.asarray([[[1.0, 2.0], [2.0, 3.0]]], dtype=tl.float32)
    >>> directml.fold(columns, [1, 1, 3], [2], [1], [1], [0], [0])
    Tensor([[[1., 4., 3.]]], dtype=float32, device='cpu')
    """
    values = (window_sizes, strides, dilations, start_padding, end_padding, x)
    return run_operator(FoldOperatorDesc, values, out, feature_level, {"sizes": output_sizes})


def unfold(
    x: Tensor,
    window_sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return the windows of an image (N, C, spatial…) as columns (N, C * P, L): UNFOLD.

    `window_sizes`, `strides`, `dilations`, `start_padding` and `end_padding` have an entry per
    spatial dimension of the image `x`; padding is 0. P is the number of elements per window, L the
    number of windows.

    Layout: row-major, unless `out` is given.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.unfold(tl.asarray([[[1, 2, 3]]]), [2], [1], [1], [0], [0])
    Tensor([[[1, 2],
             [2, 3]]], dtype=int64, device='cpu')
    """
    values = (x, window_sizes, strides, dilations, start_padding, end_padding)
    return run_operator(UnfoldOperatorDesc, values, out, feature_level)
