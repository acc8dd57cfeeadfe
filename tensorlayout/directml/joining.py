"""JOIN and SPLIT: tensors laid end to end along an axis, and taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.operator_desc import Expected, Given, OperatorDesc, Tensors
from tensorlayout.directml.operators import Out, call, desc_of, desc_of_out, remembered, tensors_of
from tensorlayout.directml.outputs import target
from tensorlayout.directml.rules import (
    check_away_from,
    check_axis,
    check_type,
    check_unsigned,
    expected,
    refuse,
    with_size,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc, asked
from tensorlayout.directml.texts import listed
from tensorlayout.functions import calling
from tensorlayout.plan.join import Join, Split
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class JoinOperatorDesc(OperatorDesc):
    """DML_JOIN_OPERATOR_DESC."""

    operator: ClassVar[str] = "JOIN"
    inputs: Tensors
    output: TensorDesc | None = None
    axis: int

    def _rule(self) -> tuple[Expected, ...]:
        if not self.inputs:
            refuse(self.operator, "InputCount must be at least 1, got 0")
        first = self.inputs[0]
        check_axis(self.operator, self.axis, first.rank)
        for i, desc in enumerate(self.inputs):
            check_type(self.operator, f"InputTensors[{i}]", desc, first.data_type)
            check_away_from(self.operator, f"InputTensors[{i}]", desc, first.sizes, self.axis)
        total = sum(desc.sizes[self.axis] for desc in self.inputs)
        return (expected(first, with_size(first.sizes, self.axis, total)),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        key = (self.axis, *(x._spec for x in inputs))
        return (calling.call_into(outs[0], _JOIN, key, inputs),)


_JOIN = Join("JOIN")


@dataclass(frozen=True, kw_only=True)
class SplitOperatorDesc(OperatorDesc):
    """DML_SPLIT_OPERATOR_DESC."""

    operator: ClassVar[str] = "SPLIT"
    input: TensorDesc
    outputs: Tensors
    axis: int

    def _rule(self) -> tuple[Expected, ...]:
        if not self.outputs:
            refuse(self.operator, "OutputCount must be at least 1, got 0")
        check_axis(self.operator, self.axis, self.input.rank)
        sizes = self.input.sizes
        for i, desc in enumerate(self.outputs):
            check_away_from(self.operator, f"OutputTensors[{i}]", desc, sizes, self.axis)
        cut = [desc.sizes[self.axis] for desc in self.outputs]
        if sum(cut) != sizes[self.axis]:
            rule = f"Sizes along Axis {self.axis} must add up to {sizes[self.axis]}"
            refuse(self.operator, f"OutputTensors: {rule}, got {listed(cut)}")
        return tuple(expected(self.input, with_size(sizes, self.axis, n)) for n in cut)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (x,) = inputs
        results = [target(out, d, x) for out, d in zip(outs, self.outputs, strict=True)]
        key = (self.axis, x._spec, *(result._spec for result in results))
        calling.call(_SPLIT, key, (*results, x))
        return tuple(results)


_SPLIT = Split("SPLIT")


@remembered
def join(
    inputs: Sequence[Tensor], axis: int, *, out: Tensor | None = None, feature_level: Any = HIGHEST
) -> Tensor:
    """The tensors end to end along `axis`: JOIN.

    `inputs`: at least one, equal in data type and, away from `axis`, in sizes. Each is copied to
    its place once, whatever the layouts. Result: packed in the order of the first, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.join([tl.asarray([1, 2]), tl.asarray([3])], 0)
    Tensor([1, 2, 3], dtype=int64, device='cpu')
    """
    given, descs = tensors_of("JOIN", "InputTensors", inputs)
    output = desc_of_out("JOIN", out)
    found: Tensor = call(
        JoinOperatorDesc(inputs=descs, output=output, axis=axis), given, out, feature_level
    )
    return found


@remembered
def split(
    x: Tensor, sizes: Sequence[int], axis: int, *, out: Out = None, feature_level: Any = HIGHEST
) -> tuple[Tensor, ...]:
    """Consecutive parts of `x`, of `sizes` along `axis`, which add up to its size: SPLIT.

    Results: new tensors, packed in the order of `x`, or those of `out`. (Slices of a tensor are
    such parts, too, as views.)

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.split(tl.asarray([1, 2, 3]), [1, 2], 0)[1]
    Tensor([2, 3], dtype=int64, device='cpu')
    """
    source = desc_of("SPLIT", "InputTensor", x)
    axis = calling.integer("SPLIT", "Axis", axis)
    given = calling.integers(sizes, "SPLIT", "sizes", none=False)
    cut = (given,) if isinstance(given, int) else given
    check_axis("SPLIT", axis, source.rank)
    check_unsigned("SPLIT", "OutputTensors: Sizes", cut, 1)
    outputs: Any = [
        asked("SPLIT: OutputTensors", source.data_type, with_size(source.sizes, axis, n))
        for n in cut
    ]
    if out is not None:
        _, outputs = tensors_of("SPLIT", "OutputTensors", out)
        along = tuple(desc.sizes[axis] for desc in outputs if desc.rank == source.rank)
        if len(along) == len(outputs) and along != cut:
            rule = f"Sizes along Axis {axis} must be {listed(cut)}, got {listed(along)}"
            refuse("SPLIT", f"OutputTensors: {rule}")
    found: tuple[Tensor, ...] = call(
        SplitOperatorDesc(input=source, outputs=outputs, axis=axis), (x,), out, feature_level
    )
    return found
