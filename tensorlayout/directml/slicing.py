"""SLICE, SLICE1 and SLICE_GRAD: rectangular parts with steps, and their way back."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tensorlayout.directml.operator_desc import Expected, Given, Integers, OperatorDesc
from tensorlayout.directml.operators import call, desc_of, desc_of_out, remembered
from tensorlayout.directml.outputs import copied, target
from tensorlayout.directml.rules import (
    check_count,
    check_rank,
    check_signed,
    check_unsigned,
    expected,
    refuse,
)
from tensorlayout.directml.tables import HIGHEST
from tensorlayout.directml.tensor_desc import TensorDesc, asked
from tensorlayout.functions import calling
from tensorlayout.plan.pad import SliceGrad
from tensorlayout.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class SliceOperatorDesc(OperatorDesc):
    """DML_SLICE_OPERATOR_DESC."""

    operator: ClassVar[str] = "SLICE"
    input: TensorDesc
    output: TensorDesc | None = None
    offsets: Integers
    sizes: Integers
    strides: Integers

    def _rule(self) -> tuple[Expected, ...]:
        rank = self.input.rank
        for member, values, least in (
            ("Offsets", self.offsets, 0),
            ("Sizes", self.sizes, 1),
            ("Strides", self.strides, 1),
        ):
            check_count(self.operator, member, values, rank)
            check_unsigned(self.operator, member, values, least)
        for d, n in enumerate(self.input.sizes):
            last = self.offsets[d] + (self.sizes[d] - 1) * self.strides[d]
            if last >= n:
                rule = f"Offsets + (Sizes - 1) * Strides must be below {n}, the size of the input"
                refuse(self.operator, f"{rule}, in dimension {d}, got {last}")
        return (expected(self.input, self.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        key = _key(self.offsets, self.strides, self.sizes)
        return (copied(inputs[0][key], outs[0], self.output),)


@dataclass(frozen=True, kw_only=True)
class Slice1OperatorDesc(OperatorDesc):
    """DML_SLICE1_OPERATOR_DESC; the output, left out, takes all that the window allows."""

    operator: ClassVar[str] = "SLICE1"
    input: TensorDesc
    output: TensorDesc | None = None
    input_window_offsets: Integers
    input_window_sizes: Integers
    input_window_strides: Integers

    def _rule(self) -> tuple[Expected, ...]:
        most = _check_window(self, self.input)
        if self.output is None:
            return (expected(self.input, most),)
        _check_taken(self.operator, "OutputTensor", self.output, most)
        return (expected(self.input, self.output.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        assert self.output is not None
        key = _window_key(self, self.output.sizes)
        return (copied(inputs[0][key], outs[0], self.output),)


@dataclass(frozen=True, kw_only=True)
class SliceGradOperatorDesc(OperatorDesc):
    """DML_SLICE_GRAD_OPERATOR_DESC; the output has the sizes of the input of SLICE1."""

    operator: ClassVar[str] = "SLICE_GRAD"
    input_gradient: TensorDesc
    output_gradient: TensorDesc
    input_window_offsets: Integers
    input_window_sizes: Integers
    input_window_strides: Integers

    def _rule(self) -> tuple[Expected, ...]:
        most = _check_window(self, self.output_gradient)
        _check_taken(self.operator, "InputGradientTensor", self.input_gradient, most)
        return (expected(self.input_gradient, self.output_gradient.sizes),)

    def _run(self, inputs: Any, outs: Given) -> tuple[Tensor, ...]:
        (gradient,) = inputs
        result = target(outs[0], self.output_gradient, gradient)
        steps = self.input_window_strides
        window = tuple(zip(_starts(self), steps, strict=True))
        key = (result._spec, gradient._spec, window)
        return (calling.call(_SPREAD, key, (result, gradient)),)


_SPREAD = SliceGrad("SLICE_GRAD")


_Window = Slice1OperatorDesc | SliceGradOperatorDesc


def _check_window(desc: _Window, whole: TensorDesc) -> tuple[int, ...]:
    """The window lies in the tensor; the most elements that its steps take in each dimension."""
    name = desc.operator
    offsets, spans = desc.input_window_offsets, desc.input_window_sizes
    steps = desc.input_window_strides
    for member, values in (
        ("InputWindowOffsets", offsets),
        ("InputWindowSizes", spans),
        ("InputWindowStrides", steps),
    ):
        check_count(name, member, values, whole.rank)
    check_unsigned(name, "InputWindowOffsets", offsets)
    check_unsigned(name, "InputWindowSizes", spans, 1)
    check_signed(name, "InputWindowStrides", steps)
    for d, n in enumerate(whole.sizes):
        if offsets[d] + spans[d] > n:
            rule = f"InputWindowOffsets + InputWindowSizes must be at most {n}"
            refuse(name, f"{rule}, in dimension {d}, got {offsets[d]} + {spans[d]}")
        if steps[d] == 0:
            refuse(name, f"InputWindowStrides must not be 0, in dimension {d}, got {steps}")
    return tuple(1 + (span - 1) // abs(step) for span, step in zip(spans, steps, strict=True))


def _check_taken(name: str, member: str, desc: TensorDesc, most: tuple[int, ...]) -> None:
    """A slice may be smaller than the window allows."""
    check_rank(name, member, desc, len(most))
    if any(n > m for n, m in zip(desc.sizes, most, strict=True)):
        refuse(name, f"{member}: Sizes must be at most {most}, got {desc.sizes}")


def _window_key(desc: _Window, sizes: Sequence[int]) -> tuple[builtins.slice, ...]:
    """What to index with: a negative step starts at the last element of the window."""
    return _key(_starts(desc), desc.input_window_strides, sizes)


def _starts(desc: _Window) -> list[int]:
    rows = zip(
        desc.input_window_offsets, desc.input_window_sizes, desc.input_window_strides, strict=True
    )
    return [offset + (span - 1 if step < 0 else 0) for offset, span, step in rows]


def _key(
    starts: Sequence[int], steps: Sequence[int], sizes: Sequence[int]
) -> tuple[builtins.slice, ...]:
    """Slices that take `sizes` elements from `starts` on."""
    found = []
    for start, step, size in zip(starts, steps, sizes, strict=True):
        stop = start + step * (size - 1) + (1 if step > 0 else -1)
        found.append(builtins.slice(start, stop if stop >= 0 else None, step))
    return tuple(found)


@remembered
def slice(
    x: Tensor,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """`sizes` elements of `x` from `offsets` on, `strides` apart: SLICE.

    All elements must lie in `x`; strides are at least 1. Result: packed in the order of `x`, or
    `out`.
    """
    desc = SliceOperatorDesc(
        input=desc_of("SLICE", "InputTensor", x),
        output=desc_of_out("SLICE", out),
        offsets=offsets,
        sizes=sizes,
        strides=strides,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def slice1(
    x: Tensor,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    output_sizes: Sequence[int] | None = None,
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """Elements of a window of `x`, `strides` apart, backwards where these are negative: SLICE1.

    The window begins at `offsets` and spans `sizes` elements of `x`. `output_sizes`: how many
    elements are taken, by default all. Result: packed in the order of `x`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.slice1(tl.arange(6), [1], [5], [-2])
    Tensor([5, 3, 1], dtype=int64, device='cpu')
    """
    source = desc_of("SLICE1", "InputTensor", x)
    output = desc_of_out("SLICE1", out)
    if output_sizes is not None:
        wanted = asked("SLICE1: OutputTensor", source.data_type, output_sizes)
        if output is not None and output.sizes != wanted.sizes:
            refuse("SLICE1", f"OutputTensor: Sizes must be {wanted.sizes}, got {output.sizes}")
        output = output or wanted
    desc = Slice1OperatorDesc(
        input=source,
        output=output,
        input_window_offsets=offsets,
        input_window_sizes=sizes,
        input_window_strides=strides,
    )
    found: Tensor = call(desc, (x,), out, feature_level)
    return found


@remembered
def slice_grad(
    gradient: Tensor,
    output_sizes: Sequence[int],
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: Any = HIGHEST,
) -> Tensor:
    """Zeros of `output_sizes`, and `gradient` where `slice1` would have read: SLICE_GRAD.

    Result: packed in the order of `gradient`, or `out`.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.slice_grad(tl.asarray([7, 8]), [5], [0], [5], [-3])
    Tensor([0, 8, 0, 0, 7], dtype=int64, device='cpu')
    """
    source = desc_of("SLICE_GRAD", "InputGradientTensor", gradient)
    whole = asked("SLICE_GRAD: OutputGradientTensor", source.data_type, output_sizes)
    output = desc_of_out("SLICE_GRAD", out, "OutputGradientTensor") or whole
    if output.sizes != whole.sizes:
        rule = f"Sizes must be {whole.sizes}, got {output.sizes}"
        refuse("SLICE_GRAD", f"OutputGradientTensor: {rule}")
    desc = SliceGradOperatorDesc(
        input_gradient=source,
        output_gradient=output,
        input_window_offsets=offsets,
        input_window_sizes=sizes,
        input_window_strides=strides,
    )
    found: Tensor = call(desc, (gradient,), out, feature_level)
    return found
