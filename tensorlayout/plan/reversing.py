"""Plans of tensors whose lines are reversed, each up to a length of its own."""

from __future__ import annotations

from dataclasses import dataclass

from tensorlayout.plan.base import Plan
from tensorlayout.plan.rules import one_device
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class ReversePlan(Plan):
    """Lines of the source along a dimension, written into a result of any layout."""

    kind = "reverse_sequence"
    given = True

    name: str
    source: TensorSpec
    lengths: TensorSpec
    result: TensorSpec
    dim: int


@dataclass(frozen=True, slots=True, eq=False)
class Reverse:
    """The first elements of each line reversed: a call with the result, the tensor, the lengths.

    The result shares no memory with the others; it has the shape and the dtype of the tensor.
    Lengths are unsigned, of size 1 along the lines; one that is too long means the whole line.
    """

    name: str

    def plan(
        self, result: TensorSpec, source: TensorSpec, lengths: TensorSpec, dim: int
    ) -> ReversePlan:
        """The plan."""
        one_device(self.name, [result, source, lengths])
        assert (result.layout.shape, result.dtype) == (source.layout.shape, source.dtype)
        assert lengths.dtype.kind == "u"
        assert lengths.layout.shape[dim] == 1
        return ReversePlan(self.name, source, lengths, result, dim)
