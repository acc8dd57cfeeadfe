"""Plans of concatenation and splitting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, pairwise

from tensorlayout.dtypes import promote_dtypes
from tensorlayout.errors import short_repr
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.rules import check_same_device, normalize_dims
from tensorlayout.tensor import TensorSpec


@plan_dataclass
class JoinPlan(Plan):
    """A new tensor with several tensors one after the other along `axis`."""

    kind = "join"
    trace_kind = "copy"

    sources: tuple[TensorSpec, ...]
    result: TensorSpec
    axis: int
    destinations: int = 0


@plan_dataclass
class SplitPlan(Plan):
    """Consecutive parts of a tensor along `axis`, each written into an existing tensor."""

    kind = "split"
    trace_kind = "copy"

    source: TensorSpec
    results: tuple[TensorSpec, ...]
    axis: int

    @property
    def destinations(self) -> int:  # type: ignore[override]
        return len(self.results)

    @property
    def result(self) -> TensorSpec:
        return self.results[0]


@plan_dataclass
class Join:
    """Concatenation along an axis, in the promoted dtype and the first tensor's order."""

    name: str = "concat"

    def plan(self, axis: int, *sources: TensorSpec) -> JoinPlan:
        check_same_device(sources)
        first = sources[0].layout
        if not first.ndim:
            raise ValueError("tensors of rank 0 have no axis to join along; use stack()")
        (axis,) = normalize_dims(axis, first.ndim)
        others = (*first.shape[:axis], *first.shape[axis + 1 :])
        for spec in sources:
            shape = spec.layout.shape
            if (*shape[:axis], *shape[axis + 1 :]) != others or len(shape) != first.ndim:
                raise ValueError(
                    f"shapes must be equal except along axis {axis},"
                    f" got {short_repr([s.layout.shape for s in sources])}"
                )
        total = sum(spec.layout.shape[axis] for spec in sources)
        shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
        layout = Layout._packed(shape, first.minor_to_major)
        dtype = reduce(promote_dtypes, [spec.dtype for spec in sources])
        result = TensorSpec(dtype, layout, sources[0].device)
        return JoinPlan(sources, result, axis)


@plan_dataclass
class Split:
    """The parts of a tensor along an axis, in order, written into existing tensors of its dtype.

    Their sizes along the axis add up to that of the tensor. They may have any layouts, and share no
    memory with the tensor or each other.
    """

    name: str

    def plan(self, axis: int, *results_then_source: TensorSpec) -> SplitPlan:
        """Return the plan for `results_then_source`: the results' specs, then the source's."""
        *results, source = results_then_source
        check_same_device(results_then_source)
        return SplitPlan(source, tuple(results), axis)


def part_slices(parts: Sequence[TensorSpec], axis: int) -> list[tuple[slice, ...]]:
    """Return the slices that consecutive parts along `axis` have in the whole tensor."""
    ends = accumulate([part.layout.shape[axis] for part in parts], initial=0)
    return [(*[slice(None)] * axis, slice(*bounds)) for bounds in pairwise(ends)]


def slice_layout(layout: Layout, slices: tuple[slice, ...]) -> Layout:
    """Return a slice of a strided layout."""
    part_layout = layout.slice(slices)
    assert part_layout is not None, "strided layouts have every slice"
    return part_layout
