"""TILE, SPACE_TO_DEPTH, DEPTH_TO_SPACE and REVERSE_SUBSEQUENCES.

All but the last are a permutation of split dimensions: one copy from a view to a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.constants import DepthSpaceOrder
from tensorlayout.directml.operator_desc import Expected, Given, Integers, OperatorDesc, Order
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered
from tensorlayout.directml.outputs import seen_as, target
from tensorlayout.directml.rules import (
    check_axis,
    check_count,
    check_rank,
    check_sizes,
    check_unsigned,
    expected,
    refuse,
    with_size,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions import calling
from tensorlayout.functions.manipulation import permute_dims
from tensorlayout.plan.image import ReverseSequence
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class TileOperatorDesc(OperatorDesc):
    """DML_TILE_OPERATOR_DESC."""

    operator: ClassVar[str] = "TILE"
    input: TensorDesc
    output: TensorDesc | None = None
    repeats: Integers

    def _rule(self) -> tuple[Expected, ...]:
        check_count(self.operator, "Repeats", self.repeats, self.input.rank)
        check_unsigned(self.operator, "Repeats", self.repeats, 1)
        pairs = zip(self.input.sizes, self.repeats, strict=True)
        return (expected(self.input, [n * m for n, m in pairs]),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (x,) = inputs
        result = target(outs[0], self.output, x)
        pairs = [n for pair in zip(self.repeats, x.shape, strict=True) for n in pair]
        once = [n for size in x.shape for n in (1, size)]
        seen_as(result, tuple(pairs))[...] = seen_as(x, tuple(once))
        return (result,)


@dataclass(frozen=True, kw_only=True)
class SpaceToDepthOperatorDesc(OperatorDesc):
    """DML_SPACE_TO_DEPTH_OPERATOR_DESC: the order is DEPTH_COLUMN_ROW."""

    operator: ClassVar[str] = "SPACE_TO_DEPTH"
    input: TensorDesc
    output: TensorDesc | None = None
    block_size: int

    def _rule(self) -> tuple[Expected, ...]:
        return (_depth(self),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return (_to_depth(self, inputs[0], outs[0], DepthSpaceOrder.DEPTH_COLUMN_ROW),)


@dataclass(frozen=True, kw_only=True)
class SpaceToDepth1OperatorDesc(OperatorDesc):
    """DML_SPACE_TO_DEPTH1_OPERATOR_DESC."""

    operator: ClassVar[str] = "SPACE_TO_DEPTH1"
    input: TensorDesc
    output: TensorDesc | None = None
    block_size: int
    order: Order

    def _rule(self) -> tuple[Expected, ...]:
        return (_depth(self),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return (_to_depth(self, inputs[0], outs[0], self.order),)


@dataclass(frozen=True, kw_only=True)
class DepthToSpaceOperatorDesc(OperatorDesc):
    """DML_DEPTH_TO_SPACE_OPERATOR_DESC: the order is DEPTH_COLUMN_ROW."""

    operator: ClassVar[str] = "DEPTH_TO_SPACE"
    input: TensorDesc
    output: TensorDesc | None = None
    block_size: int

    def _rule(self) -> tuple[Expected, ...]:
        return (_space(self),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return (_to_space(self, inputs[0], outs[0], DepthSpaceOrder.DEPTH_COLUMN_ROW),)


@dataclass(frozen=True, kw_only=True)
class DepthToSpace1OperatorDesc(OperatorDesc):
    """DML_DEPTH_TO_SPACE1_OPERATOR_DESC."""

    operator: ClassVar[str] = "DEPTH_TO_SPACE1"
    input: TensorDesc
    output: TensorDesc | None = None
    block_size: int
    order: Order

    def _rule(self) -> tuple[Expected, ...]:
        return (_space(self),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        return (_to_space(self, inputs[0], outs[0], self.order),)


_ToDepth = SpaceToDepthOperatorDesc | SpaceToDepth1OperatorDesc
_ToSpace = DepthToSpaceOperatorDesc | DepthToSpace1OperatorDesc


def _depth(desc: _ToDepth) -> Expected:
    batch, channels, *spatial = desc.input.sizes
    s = desc.block_size
    check_unsigned(desc.operator, "BlockSize", [s], 1)
    if any(n % s for n in spatial):
        rule = f"height and width must be multiples of BlockSize {s}"
        refuse(desc.operator, f"InputTensor: {rule}, got Sizes {desc.input.sizes}")
    return expected(desc.input, (batch, channels * s * s, *(n // s for n in spatial)))


def _space(desc: _ToSpace) -> Expected:
    batch, channels, *spatial = desc.input.sizes
    s = desc.block_size
    check_unsigned(desc.operator, "BlockSize", [s], 1)
    if channels % (s * s):
        rule = f"channels must be a multiple of BlockSize squared, {s * s}"
        refuse(desc.operator, f"InputTensor: {rule}, got Sizes {desc.input.sizes}")
    return expected(desc.input, (batch, channels // (s * s), *(n * s for n in spatial)))


def _to_depth(desc: _ToDepth, x: Tensor, out: Tensor | None, order: Any) -> Tensor:
    result = target(out, desc.output, x)
    _by_channel(result, desc.block_size, order)[...] = _by_block(x, desc.block_size)
    return result


def _to_space(desc: _ToSpace, x: Tensor, out: Tensor | None, order: Any) -> Tensor:
    result = target(out, desc.output, x)
    _by_block(result, desc.block_size)[...] = _by_channel(x, desc.block_size, order)
    return result


def _by_block(x: Tensor, s: int) -> Tensor:
    """The side of space as (batch, channel, row of blocks, column, row in the block, column)."""
    batch, channels, height, width = x.shape
    split = seen_as(x, (batch, channels, height // s, s, width // s, s))
    return permute_dims(split, (0, 1, 2, 4, 3, 5))


def _by_channel(x: Tensor, s: int, order: Any) -> Tensor:
    """The side of depth, in the same order of dimensions."""
    batch, channels, height, width = x.shape
    if order == DepthSpaceOrder.COLUMN_ROW_DEPTH:
        split = seen_as(x, (batch, channels // (s * s), s, s, height, width))
        return permute_dims(split, (0, 1, 4, 5, 2, 3))
    split = seen_as(x, (batch, s, s, channels // (s * s), height, width))
    return permute_dims(split, (0, 3, 4, 5, 1, 2))


@dataclass(frozen=True, kw_only=True)
class ReverseSubsequencesOperatorDesc(OperatorDesc):
    """DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC."""

    operator: ClassVar[str] = "REVERSE_SUBSEQUENCES"
    input: TensorDesc
    sequence_lengths: TensorDesc
    output: TensorDesc | None = None
    axis: int

    def _rule(self) -> tuple[Expected, ...]:
        check_axis(self.operator, self.axis, self.input.rank)
        sizes = with_size(self.input.sizes, self.axis, 1)
        check_rank(self.operator, "SequenceLengthsTensor", self.sequence_lengths, self.input.rank)
        check_sizes(self.operator, "SequenceLengthsTensor", self.sequence_lengths, sizes)
        return (expected(self.input),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        x, lengths = inputs
        result = target(outs[0], self.output, x)
        key = (result._spec, x._spec, lengths._spec, self.axis)
        return (calling.call(_REVERSE, key, (result, x, lengths)),)


_REVERSE = ReverseSequence("REVERSE_SUBSEQUENCES")


@remembered
def tile(
    x: Tensor, repeats: Sequence[int], *, out: Tensor | None = None, feature_level: Any = HIGHEST
) -> Tensor:
    """`x` as a whole, `repeats` times along each dimension: TILE.

    Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.tile(tl.asarray([1, 2]), [2])
    Tensor([1, 2, 1, 2], dtype=int64, device='cpu')
    """
    desc = TileOperatorDesc(
        input=desc_of("TILE", "InputTensor", x),
        output=desc_of_out("TILE", out),
        repeats=repeats,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def space_to_depth(
    x: Tensor, block_size: int, *, out: Tensor | None = None, feature_level: Any = HIGHEST
) -> Tensor:
    """Blocks of (N, C, H, W) moved into channels, (N, C*s*s, H/s, W/s): SPACE_TO_DEPTH.

    A channel of the result counts, from the slowest: row in the block, column in the block, channel
    of `x`. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.space_to_depth(tl.asarray([[[[1, 2], [3, 4]]]]), 2).shape
    (1, 4, 1, 1)
    """
    desc = SpaceToDepthOperatorDesc(
        input=desc_of("SPACE_TO_DEPTH", "InputTensor", x),
        output=desc_of_out("SPACE_TO_DEPTH", out),
        block_size=block_size,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def space_to_depth1(
    x: Tensor,
    block_size: int,
    order: Order,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """As `space_to_depth`; `order` says how a channel of the result counts: SPACE_TO_DEPTH1.

    ``DEPTH_COLUMN_ROW`` as there; ``COLUMN_ROW_DEPTH``: the channel of `x` is the slowest part.
    """
    desc = SpaceToDepth1OperatorDesc(
        input=desc_of("SPACE_TO_DEPTH1", "InputTensor", x),
        output=desc_of_out("SPACE_TO_DEPTH1", out),
        block_size=block_size,
        order=order,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def depth_to_space(
    x: Tensor, block_size: int, *, out: Tensor | None = None, feature_level: Any = HIGHEST
) -> Tensor:
    """Channels of (N, C, H, W) moved into blocks, (N, C/(s*s), H*s, W*s): DEPTH_TO_SPACE.

    The inverse of `space_to_depth`. Result: packed in the order of `x`, or `out`.
    """
    desc = DepthToSpaceOperatorDesc(
        input=desc_of("DEPTH_TO_SPACE", "InputTensor", x),
        output=desc_of_out("DEPTH_TO_SPACE", out),
        block_size=block_size,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def depth_to_space1(
    x: Tensor,
    block_size: int,
    order: Order,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """The inverse of `space_to_depth1`: DEPTH_TO_SPACE1."""
    desc = DepthToSpace1OperatorDesc(
        input=desc_of("DEPTH_TO_SPACE1", "InputTensor", x),
        output=desc_of_out("DEPTH_TO_SPACE1", out),
        block_size=block_size,
        order=order,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def reverse_subsequences(
    x: Tensor,
    sequence_lengths: Tensor,
    axis: int,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """`x` with the first elements of each line along `axis` reversed: REVERSE_SUBSEQUENCES.

    `sequence_lengths`: how many, UINT32 or UINT64, of the sizes of `x` but 1 along `axis`; more
    than the line has means all. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> lengths = tl.asarray([[2], [3]], dtype=tl.uint32)
    >>> directml.reverse_subsequences(tl.asarray([[1, 2, 3], [4, 5, 6]]), lengths, 1)
    Tensor([[2, 1, 3],
            [6, 5, 4]], dtype=int64, device='cpu')
    """
    desc = ReverseSubsequencesOperatorDesc(
        input=desc_of("REVERSE_SUBSEQUENCES", "InputTensor", x),
        sequence_lengths=desc_of("REVERSE_SUBSEQUENCES", "SequenceLengthsTensor", sequence_lengths),
        output=desc_of_out("REVERSE_SUBSEQUENCES", out),
        axis=axis,
    )
    found: Tensor = call(desc, (x, sequence_lengths), out, feature_level)
    return found
