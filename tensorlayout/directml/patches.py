"""FOLD and UNFOLD: sliding patches of an image as columns, and their sum as an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.borders import padding1
from tensorlayout.directml.constants import PaddingMode
from tensorlayout.directml.operator_desc import Expected, Given, Integers, OperatorDesc
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered
from tensorlayout.directml.outputs import seen_as, target
from tensorlayout.directml.rules import (
    check_count,
    check_unsigned,
    expected,
    refuse,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc, asked
from tensorlayout.directml.texts import listed
from tensorlayout.functions import calling
from tensorlayout.functions.manipulation import permute_dims, sliding_window
from tensorlayout.plan.image import Col2Im, Windows
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class FoldOperatorDesc(OperatorDesc):
    """DML_FOLD_OPERATOR_DESC: columns {N, C * P, L} into an image {N, C, spatial…}."""

    operator: ClassVar[str] = "FOLD"
    input: TensorDesc
    output: TensorDesc
    window_sizes: Integers
    strides: Integers
    dilations: Integers
    start_padding: Integers
    end_padding: Integers

    def _rule(self) -> tuple[Expected, ...]:
        columns = _columns(self, "OutputTensor", self.output)
        _check_columns(self.operator, "InputTensor", self.input, columns)
        return (expected(self.input, self.output.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (x,) = inputs
        result = self.output.empty(device=x.device) if outs[0] is None else outs[0]
        windows = tuple(map(Windows, *self._rows(_blocks(self, self.output.sizes[2:]))))
        return (calling.call(_FOLD, (result._spec, x._spec, windows), (result, x)),)

    def _rows(self, counts: Sequence[int]) -> tuple[Sequence[int], ...]:
        return self.window_sizes, self.dilations, self.strides, counts, self.start_padding


_FOLD = Col2Im("FOLD")


@dataclass(frozen=True, kw_only=True)
class UnfoldOperatorDesc(OperatorDesc):
    """DML_UNFOLD_OPERATOR_DESC: an image {N, C, spatial…} into columns {N, C * P, L}."""

    operator: ClassVar[str] = "UNFOLD"
    input: TensorDesc
    output: TensorDesc | None = None
    window_sizes: Integers
    strides: Integers
    dilations: Integers
    start_padding: Integers
    end_padding: Integers

    def _rule(self) -> tuple[Expected, ...]:
        columns = _columns(self, "InputTensor", self.input)
        padded = (*self.input.sizes[:2], *_framed(self, self.input.sizes[2:]))
        asked(f"{self.operator}: InputTensor with padding", self.input.data_type, padded)
        if self.output is None:
            return (expected(self.input, columns),)
        _check_columns(self.operator, "OutputTensor", self.output, columns)
        return (expected(self.input, self.output.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (x,) = inputs
        rank = len(self.window_sizes)
        image = _with_border(self, x)
        spans = [d * (w - 1) + 1 for d, w in zip(self.dilations, self.window_sizes, strict=True)]
        windows = sliding_window(image, spans, axis=tuple(range(2, 2 + rank)))
        steps = [slice(None, None, step) for step in (*self.strides, *self.dilations)]
        windows = windows[(slice(None), slice(None), *steps)]
        blocks, taps = range(2, 2 + rank), range(2 + rank, 2 + 2 * rank)
        result = target(outs[0], self.output, x)
        order = permute_dims(windows, (0, 1, *taps, *blocks))
        seen_as(result, order.shape)[...] = order
        return (result,)


_Patches = FoldOperatorDesc | UnfoldOperatorDesc


def _columns(desc: _Patches, member: str, image: TensorDesc) -> tuple[int, ...]:
    """The rules of windows; the sizes of the columns that belong to an image, which `member` is."""
    name, rank = desc.operator, len(desc.window_sizes)
    if not 1 <= rank <= 6:
        refuse(name, f"DimensionCount must be 1 to 6, got {rank} WindowSizes")
    if image.rank != rank + 2:
        rule = f"DimensionCount must be {rank + 2}, two more than WindowSizes"
        refuse(name, f"{member}: {rule}, got {image.rank}")
    for array, values, least in (
        ("WindowSizes", desc.window_sizes, 1),
        ("Strides", desc.strides, 1),
        ("Dilations", desc.dilations, 1),
        ("StartPadding", desc.start_padding, 0),
        ("EndPadding", desc.end_padding, 0),
    ):
        check_count(name, array, values, rank)
        check_unsigned(name, array, values, least)
    batch, channels, *spatial = image.sizes
    counts = _blocks(desc, spatial)
    if any(n < 1 for n in counts):
        rule = "a window must fit into the padded image"
        refuse(
            name, f"WindowSizes: {rule}, got {listed(desc.window_sizes)} for Sizes {image.sizes}"
        )
    return batch, channels * math.prod(desc.window_sizes), math.prod(counts)


def _check_columns(name: str, member: str, desc: TensorDesc, columns: tuple[int, ...]) -> None:
    """Columns have rank 3; ones may lead, up to the rank of the image."""
    if desc.sizes[-3:] != columns or any(n != 1 for n in desc.sizes[:-3]):
        refuse(name, f"{member}: Sizes must be {columns}, got {desc.sizes}")


def _framed(desc: _Patches, spatial: Sequence[int]) -> list[int]:
    """The spatial sizes with padding."""
    rows = zip(spatial, desc.start_padding, desc.end_padding, strict=True)
    return [n + before + after for n, before, after in rows]


def _blocks(desc: _Patches, spatial: Sequence[int]) -> list[int]:
    """How many windows there are in each spatial dimension."""
    rows = zip(_framed(desc, spatial), desc.dilations, desc.window_sizes, desc.strides, strict=True)
    return [(n - dilation * (w - 1) - 1) // stride + 1 for n, dilation, w, stride in rows]


def _with_border(desc: UnfoldOperatorDesc, x: Tensor) -> Tensor:
    if not any((*desc.start_padding, *desc.end_padding)):
        return x
    before, after = (0, 0, *desc.start_padding), (0, 0, *desc.end_padding)
    return padding1(x, before, after, PaddingMode.CONSTANT, 0)


@remembered
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
    feature_level: Any = HIGHEST,
) -> Tensor:
    """An image of `output_sizes`, each element the sum of what columns say of it: FOLD.

    `x`: columns (N, C * P, L), P being the elements of a window and L the number of windows, as
    `unfold` makes them. The other sequences have an entry for each spatial dimension. What lies in
    the padding is dropped. FLOAT16 is added up in FLOAT32. Result: row-major, or `out`.
    """
    source = desc_of("FOLD", "InputTensor", x)
    wanted = asked("FOLD: OutputTensor", source.data_type, output_sizes)
    output = desc_of_out("FOLD", out) or wanted
    if output.sizes != wanted.sizes:
        refuse("FOLD", f"OutputTensor: Sizes must be {wanted.sizes}, got {output.sizes}")
    desc = FoldOperatorDesc(
        input=source,
        output=output,
        window_sizes=window_sizes,
        strides=strides,
        dilations=dilations,
        start_padding=start_padding,
        end_padding=end_padding,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def unfold(
    x: Tensor,
    window_sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """The windows of an image (N, C, spatial…) as columns (N, C * P, L): UNFOLD.

    The sequences have an entry for each spatial dimension; padding is 0. Result: packed, or
    `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.unfold(tl.asarray([[[1, 2, 3]]]), [2], [1], [1], [0], [0])
    Tensor([[[1, 2],
             [2, 3]]], dtype=int64, device='cpu')
    """
    desc = UnfoldOperatorDesc(
        input=desc_of("UNFOLD", "InputTensor", x),
        output=desc_of_out("UNFOLD", out),
        window_sizes=window_sizes,
        strides=strides,
        dilations=dilations,
        start_padding=start_padding,
        end_padding=end_padding,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found
