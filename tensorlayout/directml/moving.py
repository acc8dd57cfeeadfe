"""Operators that move elements: JOIN, SPLIT, slices, TILE, REVERSE_SUBSEQUENCES and padding."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, cast

from tensorlayout.directml import members
from tensorlayout.directml.constants import PaddingMode, call_with_error_prefix, check_range
from tensorlayout.directml.operator_desc import (
    ExpectedOutput,
    OneToOne,
    OperatorDesc,
    check_tensor,
    replace_size,
)
from tensorlayout.directml.operators import (
    HIGHEST,
    run_operator,
    run_operator_tuple,
    spec_of,
    view_reshaped,
)
from tensorlayout.directml.tensor_desc import TensorDesc, parse_integers
from tensorlayout.functions import arguments, dispatch
from tensorlayout.plan import (
    DestinationOperation,
    Join,
    Pad,
    ReverseSequencePlan,
    SliceGradPlan,
    Split,
)
from tensorlayout.support.interning import cached_property
from tensorlayout.tensor import Tensor

__all__ = [
    "JoinOperatorDesc",
    "Padding1OperatorDesc",
    "PaddingOperatorDesc",
    "ReverseSubsequencesOperatorDesc",
    "Slice1OperatorDesc",
    "SliceGradOperatorDesc",
    "SliceOperatorDesc",
    "SplitOperatorDesc",
    "TileOperatorDesc",
    "join",
    "padding",
    "padding1",
    "reverse_subsequences",
    "slice",
    "slice1",
    "slice_grad",
    "split",
    "tile",
]


class JoinOperatorDesc(OperatorDesc, operator="JOIN"):
    """DML_JOIN_OPERATOR_DESC: what `join` takes.

    >>> from tensorlayout.directml import JoinOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2, 3))
    >>> JoinOperatorDesc(inputs=[x, x], axis=0).validate().output.sizes
    (4, 3)
    """

    inputs: members.Tensors
    output: TensorDesc | None = None
    axis: members.Axis
    _plan = Join("JOIN")
    _allocates_output = True

    def _output_sizes(self) -> tuple[int, ...]:
        first = self.inputs[0]
        sizes = replace_size(first.sizes, self.axis, None)
        for i, desc in enumerate(self.inputs):
            check_tensor(f"InputTensors[{i}]", desc, sizes, first.data_type)
        total = sum(desc.sizes[self.axis] for desc in self.inputs)
        return replace_size(first.sizes, self.axis, total)

    def _execute(self, out: Tensor | None, *inputs: Tensor) -> Tensor:
        return dispatch.call_into(out, self._plan, (self.axis, *map(spec_of, inputs)), inputs)


def join(
    inputs: Sequence[Tensor],
    axis: int,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return the tensors joined end to end along `axis`: JOIN.

    `inputs`: at least one tensor; data types must be equal, and sizes except along `axis`. Each
    input is copied once, whatever its layout.

    Returns a tensor packed in the order of the first input, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.join([tl.asarray([1, 2]), tl.asarray([3])], 0)
    Tensor([1, 2, 3], dtype=int64, device='cpu')
    """
    return run_operator(JoinOperatorDesc, (inputs, axis), out, feature_level)


class SplitOperatorDesc(OperatorDesc, operator="SPLIT"):
    """DML_SPLIT_OPERATOR_DESC: what `split` takes.

    >>> from tensorlayout.directml import SplitOperatorDesc, TensorDesc
    >>> x, parts = TensorDesc("INT8", (4,)), [TensorDesc("INT8", (n,)) for n in (1, 3)]
    >>> desc = SplitOperatorDesc(input=x, outputs=parts, axis=0)
    >>> desc.validate().outputs[1].sizes
    (3,)
    """

    input: TensorDesc
    outputs: members.Tensors
    axis: members.Axis
    _plan = Split("SPLIT")

    def _expected_outputs(self) -> list[ExpectedOutput]:
        sizes = self.input.sizes
        for i, desc in enumerate(self.outputs):
            check_tensor(f"OutputTensors[{i}]", desc, replace_size(sizes, self.axis, None))
        part_lengths = tuple(desc.sizes[self.axis] for desc in self.outputs)
        if sum(part_lengths) != sizes[self.axis]:
            rule = f"Sizes along Axis {self.axis} must add up to {sizes[self.axis]}"
            raise ValueError(
                f"OutputTensors: {rule}, got {arguments.format_argument(part_lengths)}"
            )
        return [(self.input.data_type, desc.sizes) for desc in self.outputs]

    def _execute(self, outs: tuple[Tensor, ...], x: Tensor) -> None:
        key = (self.axis, *map(spec_of, outs), x.spec)
        dispatch.call(self._plan, key, (*outs, x))

    @classmethod
    def _requested_outputs(cls, members_so_far: dict[str, Any], sizes: Any) -> dict[str, Any]:
        source, axis = members_so_far["input"], arguments.as_integer("Axis", members_so_far["axis"])
        check_range("Axis", axis, 0, source.rank - 1)
        parts = [replace_size(source.sizes, axis, n) for n in parse_integers("sizes", sizes)]
        kind = source.data_type
        return {
            "outputs": [
                call_with_error_prefix("OutputTensors", TensorDesc, kind, part) for part in parts
            ]
        }


def split(
    x: Tensor,
    sizes: Sequence[int],
    axis: int,
    *,
    out: Sequence[Tensor] | None = None,
    feature_level: str | int = HIGHEST,
) -> tuple[Tensor, ...]:
    """Return consecutive parts of `x` as new tensors: SPLIT.

    `sizes`: sizes of the parts along `axis`; they must add up to the size of `x`. (Slicing a tensor
    gives the same parts as views.)

    Returns a tuple of tensors packed in the order of `x`, or those of `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.split(tl.asarray([1, 2, 3]), [1, 2], 0)[1]
    Tensor([2, 3], dtype=int64, device='cpu')
    """
    return run_operator_tuple(SplitOperatorDesc, (x, axis), out, feature_level, {"sizes": sizes})


# --- slices -------------------------------------------------------------------------------------


class SliceOperatorDesc(OneToOne, operator="SLICE"):
    """DML_SLICE_OPERATOR_DESC: what `slice` takes.

    >>> from tensorlayout.directml import SliceOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (6,))
    >>> SliceOperatorDesc(input=x, offsets=(1,), sizes=(2,), strides=(3,)).validate().output.sizes
    (2,)
    """

    offsets: members.Naturals
    sizes: members.Positives
    strides: members.Positives

    def _output_sizes(self) -> Sequence[int]:
        for d, n in enumerate(self.input.sizes):
            # Strides are positive, so the last element is the farthest. Sizes of at least 1 were
            # checked before.
            last = self.offsets[d] + (self.sizes[d] - 1) * self.strides[d]
            member = "Offsets + (Sizes - 1) * Strides"
            check_range(member, last, 0, n - 1, f", in dimension {d}")
        return self.sizes

    def _execute(self, out: Tensor, x: Tensor) -> None:
        out[...] = x[_make_slices(self.offsets, self.strides, self.sizes)]


def slice(
    x: Tensor,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return `sizes` elements of `x` from `offsets` on, `strides` apart: SLICE.

    All elements must be inside `x`; strides are at least 1.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.slice(tl.arange(6), [1], [2], [3])
    Tensor([1, 4], dtype=int64, device='cpu')
    """
    return run_operator(SliceOperatorDesc, (x, offsets, sizes, strides), out, feature_level)


class _WindowOperator(OperatorDesc):
    input_window_offsets: members.Naturals
    input_window_sizes: members.Positives
    input_window_strides: members.Steps

    def _check_window_sizes(self, member: str, part_desc: TensorDesc | None) -> tuple[int, ...]:
        """Return the sizes of `part_desc`, by default those of all elements of the window.

        ValueError if a window or a part is out of range.
        """
        sizes = self._reference_tensor().sizes
        offsets, window_sizes = self.input_window_offsets, self.input_window_sizes
        steps = self.input_window_strides
        for d, n in enumerate(sizes):
            name = "InputWindowOffsets + InputWindowSizes"
            check_range(name, offsets[d] + window_sizes[d], 1, n, f", in dimension {d}")
            if steps[d] == 0:
                rule = f"InputWindowStrides must not be 0, in dimension {d}"
                raise ValueError(f"{rule}, got {steps}")
        # The page divides by the signed stride, which its own example with a negative stride
        # breaks. The absolute value is what DirectMLX computes.
        max_sizes = tuple(
            1 + (n - 1) // abs(step) for n, step in zip(window_sizes, steps, strict=True)
        )
        if part_desc is None:
            return max_sizes
        check_tensor(member, part_desc, (None,) * len(max_sizes))
        if any(n > m for n, m in zip(part_desc.sizes, max_sizes, strict=True)):
            raise ValueError(f"{member}: Sizes must be at most {max_sizes}, got {part_desc.sizes}")
        return part_desc.sizes

    def _window_starts(self) -> list[int]:
        """Return the first index of each window; negative steps start at the last element."""
        offsets, window_sizes = self.input_window_offsets, self.input_window_sizes
        rows = zip(offsets, window_sizes, self.input_window_strides, strict=True)
        return [offset + (span - 1 if step < 0 else 0) for offset, span, step in rows]


class Slice1OperatorDesc(_WindowOperator, OneToOne, operator="SLICE1"):
    """DML_SLICE1_OPERATOR_DESC: what `slice1` takes; without `output`, all of the window.

    >>> from tensorlayout.directml import Slice1OperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (6,))
    >>> desc = Slice1OperatorDesc(
    ...     input=x, input_window_offsets=(1,), input_window_sizes=(5,),
    ...     input_window_strides=(-2,),
    ... )
    >>> desc.validate().output.sizes
    (3,)
    """

    def _output_sizes(self) -> tuple[int, ...]:
        return self._check_window_sizes("OutputTensor", self.output)

    def _execute(self, out: Tensor, x: Tensor) -> None:
        out[...] = x[_make_slices(self._window_starts(), self.input_window_strides, out.shape)]


def slice1(
    x: Tensor,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    output_sizes: Sequence[int] | None = None,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return elements of a window of `x`, `strides` apart, backwards if negative: SLICE1.

    - `offsets`, `sizes`: first index and size of the window in `x`.
    - `output_sizes`: number of elements to take; by default all.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.slice1(tl.arange(6), [1], [5], [-2])
    Tensor([5, 3, 1], dtype=int64, device='cpu')
    """
    values = (x, offsets, sizes, strides)
    return run_operator(Slice1OperatorDesc, values, out, feature_level, {"sizes": output_sizes})


class SliceGradOperatorDesc(_WindowOperator, operator="SLICE_GRAD"):
    """DML_SLICE_GRAD_OPERATOR_DESC: what `slice_grad` takes; its output is the input of SLICE1.

    >>> from tensorlayout.directml import SliceGradOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2,))
    >>> desc = SliceGradOperatorDesc(
    ...     input_gradient=x, output_gradient=TensorDesc("FLOAT32", (5,)),
    ...     input_window_offsets=(0,), input_window_sizes=(5,), input_window_strides=(-3,),
    ... )
    >>> desc.validate().output_gradient.sizes
    (5,)
    """

    input_gradient: TensorDesc
    output_gradient: TensorDesc
    _plan = DestinationOperation("SLICE_GRAD", SliceGradPlan)

    def _expected_outputs(self) -> list[ExpectedOutput]:
        self._check_window_sizes("InputGradientTensor", self.input_gradient)
        return [(self.input_gradient.data_type, self.output_gradient.sizes)]

    def _execute(self, out: Tensor, gradient: Tensor) -> None:
        window = tuple(zip(self._window_starts(), self.input_window_strides, strict=True))
        dispatch.call(self._plan, (out.spec, gradient.spec, window), (out, gradient))


def _make_slices(
    starts: Sequence[int], steps: Sequence[int], sizes: Sequence[int]
) -> tuple[builtins.slice, ...]:
    """Return slices of `sizes` elements from `starts` on."""
    slices = []
    for start, step, size in zip(starts, steps, sizes, strict=True):
        # The stop lies one beyond the last element, in the direction of the step. Below 0 it would
        # count from the end in Python, so None says "to the beginning".
        stop = start + step * (size - 1) + (1 if step > 0 else -1)
        slices.append(builtins.slice(start, stop if stop >= 0 else None, step))
    return tuple(slices)


def slice_grad(
    gradient: Tensor,
    output_sizes: Sequence[int],
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return zeros of `output_sizes` with `gradient` where `slice1` would read: SLICE_GRAD.

    `offsets`, `sizes` and `strides` are those of `slice1`.

    Returns a tensor packed in the order of `gradient`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.slice_grad(tl.asarray([7, 8]), [5], [0], [5], [-3])
    Tensor([0, 8, 0, 0, 7], dtype=int64, device='cpu')
    """
    values = (offsets, sizes, strides, gradient)
    return run_operator(SliceGradOperatorDesc, values, out, feature_level, {"sizes": output_sizes})


class TileOperatorDesc(OneToOne, operator="TILE"):
    """DML_TILE_OPERATOR_DESC: what `tile` takes.

    >>> from tensorlayout.directml import TileOperatorDesc, TensorDesc
    >>> x = TensorDesc("FLOAT32", (2,))
    >>> TileOperatorDesc(input=x, repeats=(3,)).validate().output.sizes
    (6,)
    """

    repeats: members.Positives

    def _output_sizes(self) -> list[int]:
        return [n * m for n, m in zip(self.input.sizes, self.repeats, strict=True)]

    def _execute(self, out: Tensor, x: Tensor) -> None:
        # A broadcast instead of copies for each repeat: the output seen as (repeat, size, …) takes
        # the input seen as (1, size, …).
        split_sizes = [n for pair in zip(self.repeats, x.shape, strict=True) for n in pair]
        source_sizes = [n for size in x.shape for n in (1, size)]
        view_reshaped(out, tuple(split_sizes))[...] = view_reshaped(x, tuple(source_sizes))


def tile(
    x: Tensor,
    repeats: Sequence[int],
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return `x` repeated as a whole, `repeats` times along each dimension: TILE.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.tile(tl.asarray([1, 2]), [2])
    Tensor([1, 2, 1, 2], dtype=int64, device='cpu')
    """
    return run_operator(TileOperatorDesc, (x, repeats), out, feature_level)


class ReverseSubsequencesOperatorDesc(OperatorDesc, operator="REVERSE_SUBSEQUENCES"):
    """DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC: what `reverse_subsequences` takes.

    >>> from tensorlayout.directml import ReverseSubsequencesOperatorDesc, TensorDesc
    >>> x, lengths = TensorDesc("FLOAT32", (2, 3)), TensorDesc("UINT32", (2, 1))
    >>> desc = ReverseSubsequencesOperatorDesc(input=x, sequence_lengths=lengths, axis=1)
    >>> desc.validate().output.sizes
    (2, 3)
    """

    input: TensorDesc
    sequence_lengths: TensorDesc
    output: TensorDesc | None = None
    axis: members.Axis
    _plan = DestinationOperation("REVERSE_SUBSEQUENCES", ReverseSequencePlan)

    def _output_sizes(self) -> tuple[int, ...]:
        sizes = replace_size(self.input.sizes, self.axis, 1)
        check_tensor("SequenceLengthsTensor", self.sequence_lengths, sizes)
        return self.input.sizes

    def _execute(self, out: Tensor, x: Tensor, lengths: Tensor) -> None:
        dispatch.call(self._plan, (out.spec, x.spec, lengths.spec, self.axis), (out, x, lengths))


def reverse_subsequences(
    x: Tensor,
    sequence_lengths: Tensor,
    axis: int,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return `x` with the first elements of each line along `axis` reversed: REVERSE_SUBSEQUENCES.

    `sequence_lengths`: number of elements to reverse, in UINT32 or UINT64, of the sizes of `x` but
    1 along `axis`. Numbers above the length of the line reverse all of it.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> lengths = tl.asarray([[2], [3]], dtype=tl.uint32)
    >>> directml.reverse_subsequences(tl.asarray([[1, 2, 3], [4, 5, 6]]), lengths, 1)
    Tensor([[2, 1, 3],
            [6, 5, 4]], dtype=int64, device='cpu')
    """
    return run_operator(
        ReverseSubsequencesOperatorDesc, (x, sequence_lengths, axis), out, feature_level
    )


class PaddingOperatorDesc(OneToOne, operator="PADDING"):
    """DML_PADDING_OPERATOR_DESC: what `padding` takes.

    >>> from tensorlayout.directml import PaddingOperatorDesc, TensorDesc
    >>> x, border = TensorDesc("FLOAT32", (3,)), {"start_padding": (2,), "end_padding": (4,)}
    >>> desc = PaddingOperatorDesc(input=x, padding_mode="EDGE", **border)
    >>> desc.validate().output.sizes
    (9,)
    """

    padding_mode: members.Mode
    padding_value: members.Float = 0.0
    start_padding: members.Naturals
    end_padding: members.Naturals
    _plan = Pad("PADDING")
    _allocates_output = True

    def _output_sizes(self) -> list[int]:
        rows = zip(self.input.sizes, self.start_padding, self.end_padding, strict=True)
        return [n + before + after for n, before, after in rows]

    @cached_property
    def _element_valued_attributes(self) -> dict[str, int | float]:
        """Padding value as an element; 0 if the mode uses none."""
        # Other modes ignore the value, so it need not fit the data type.
        takes_value = self.padding_mode == PaddingMode.CONSTANT
        return super()._element_valued_attributes if takes_value else {"padding_value": 0}

    def _execute(self, out: Tensor | None, x: Tensor) -> Tensor:
        mode = cast(PaddingMode, self.padding_mode)
        borders = tuple(zip(self.start_padding, self.end_padding, strict=True))
        key = (x.spec, borders, mode.name.lower())
        return dispatch.call_into(
            out, self._plan, key, (x, self._element_valued_attributes["padding_value"])
        )


class Padding1OperatorDesc(PaddingOperatorDesc, operator="PADDING1"):
    """DML_PADDING1_OPERATOR_DESC: what `padding1` takes.

    >>> from tensorlayout.directml import Padding1OperatorDesc, TensorDesc
    >>> x, border = TensorDesc("FLOAT32", (3,)), {"start_padding": (2,), "end_padding": (4,)}
    >>> desc = Padding1OperatorDesc(input=x, padding_mode="EDGE", **border)
    >>> desc.validate().output.sizes
    (9,)
    """

    padding_value: members.Scalar = 0
    padding_value_data_type: members.AnyDataType | None = None
    _plan = Pad("PADDING1")


def padding(
    x: Tensor,
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    mode: members.Mode = PaddingMode.CONSTANT,
    value: float = 0.0,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return `x` with elements added before and after each dimension: PADDING.

    - `start_padding`, `end_padding`: number of elements before and after each dimension.
    - `mode`: ``CONSTANT`` fills with `value`, ``EDGE`` repeats the outermost elements,
      ``REFLECTION`` mirrors without and ``SYMMETRIC`` with them, repeatedly if needed, ``WRAP``
      continues at the other end.
    - `value`: a FLOAT, truncated towards zero for integers.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.padding(tl.asarray([1, 2, 3]), [2], [4], "REFLECTION")
    Tensor([3, 2, 1, 2, 3, 2, 1, 2, 3], dtype=int64, device='cpu')
    """
    values = (x, mode, value, start_padding, end_padding)
    return run_operator(PaddingOperatorDesc, values, out, feature_level)


def padding1(
    x: Tensor,
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    mode: members.Mode = PaddingMode.CONSTANT,
    value: float = 0,
    *,
    out: Tensor | None = None,
    feature_level: str | int = HIGHEST,
) -> Tensor:
    """Return `x` with elements added before and after each dimension: PADDING1.

    `start_padding`, `end_padding` and `mode` are those of `padding`; `value` has the data type of
    `x` and is exact for integers.

    Returns a tensor packed in the order of `x`, or `out`.

    Raises `TypeError` for data types, and `ValueError` for ranks and sizes, that `feature_level`
    does not allow or that do not fit each other.

    >>> import tensorlayout as tl
    >>> from tensorlayout import directml
    >>> directml.padding1(tl.asarray([1, 2]), [1], [2], "CONSTANT", 9)
    Tensor([9, 1, 2, 9, 9], dtype=int64, device='cpu')
    """
    values = (x, mode, value, start_padding, end_padding)
    return run_operator(Padding1OperatorDesc, values, out, feature_level)
