"""Plans of tensors full of a pattern: lines with one hot element, diagonals, a sequence."""

from __future__ import annotations

from dataclasses import dataclass

from tensorlayout.plan.base import Plan
from tensorlayout.plan.rules import one_device
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class HotPlan(Plan):
    """Lines along a dimension, hot where the indices say, in a result of any layout."""

    kind = "one_hot"
    given = True

    indices: TensorSpec
    result: TensorSpec
    dim: int


@dataclass(frozen=True, slots=True, eq=False)
class Hot:
    """A call with the result, the indices, the cold and the hot value, both tensors of rank 0.

    Indices have 32 or 64 bits, and size 1 along the lines; signed ones count from the end.
    """

    name: str

    def plan(
        self, result: TensorSpec, indices: TensorSpec, dim: int, cold: TensorSpec, hot: TensorSpec
    ) -> HotPlan:
        """The plan."""
        one_device(self.name, [result, indices, cold, hot])
        assert indices.dtype.itemsize in (4, 8)
        assert cold.dtype == hot.dtype == result.dtype
        return HotPlan(indices, result, dim)


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalsPlan(Plan):
    """Matrices with diagonals from `begin` up to `end` filled, or all others, of any layout."""

    kind = "diagonals"
    given = True

    result: TensorSpec
    others: TensorSpec | None
    begin: int
    end: int
    inside: bool


@dataclass(frozen=True, slots=True, eq=False)
class Diagonals:
    """A call with the result, the value, and the tensor of the other elements, if there is one."""

    name: str

    def plan(
        self, result: TensorSpec, others: TensorSpec | None, begin: int, end: int, inside: bool
    ) -> DiagonalsPlan:
        """The plan; diagonals are numbered from the main one, to the right."""
        if others is not None:
            one_device(self.name, [result, others])
            assert (others.layout.shape, others.dtype) == (result.layout.shape, result.dtype)
        return DiagonalsPlan(result, others, begin, end, inside)


@dataclass(frozen=True, slots=True, eq=False)
class SequencePlan(Plan):
    """A sequence in row-major order, written into a result of any layout."""

    kind = "sequence"
    given = True

    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """A call with the result, the first number and what each is more than the one before.

    Of floats worked out in float64, and rounded once; integers wrap.
    """

    name: str

    def plan(self, result: TensorSpec) -> SequencePlan:
        """The plan."""
        return SequencePlan(result)
