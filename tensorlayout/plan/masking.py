"""Plans of reads and writes by one boolean mask. How many elements it selects is data."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan
from tensorlayout.plan.gathering import Reach, check_writable_by, reach_into
from tensorlayout.plan.rules import one_device
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class SelectPlan(Plan):
    """A new tensor of the elements where a mask is true: how many is known when it runs."""

    kind = "select"
    makes = "own"

    name: str
    result: TensorSpec  # of the source
    seen: TensorSpec  # the source as it is indexed, see `_under_mask`
    reach: Reach


@dataclass(frozen=True, slots=True, eq=False)
class MaskedPlan(Plan):
    """A write of values where a mask is true."""

    kind = "masked"
    given = True
    reads_destination = True
    overlap = "nothing"

    name: str
    result: TensorSpec  # of the destination
    value: TensorSpec | type
    seen: TensorSpec  # the destination as it is indexed, see `_under_mask`
    reach: Reach
    mask: tuple[int, ...] | None  # the shape in which the mask broadcasts, if it covers all


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """Reads by one boolean mask; packed in the order of the tensor that is read."""

    name: str = "__getitem__"

    def plan(self, source: TensorSpec, first: int, front: bool, mask: TensorSpec) -> SelectPlan:
        """The plan; the mask covers dimensions from `first` on."""
        one_device(self.name, [source, mask])
        seen, dims = _under_mask(self.name, source, first, mask)
        return SelectPlan(self.name, source, seen, reach_into(seen.layout, dims, front, (0,)))


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """Writes where one boolean mask is true."""

    name: str = "__setitem__"

    def plan(
        self,
        destination: TensorSpec,
        value: TensorSpec | type,
        first: int,
        front: bool,
        mask: TensorSpec,
    ) -> MaskedPlan:
        """The plan; the mask covers dimensions from `first` on."""
        check_writable_by(self.name, destination, value, [mask])
        seen, dims = _under_mask(self.name, destination, first, mask)
        reach = reach_into(seen.layout, dims, front, (0,))
        sizes, last = mask.layout.shape, first + mask.layout.ndim
        whole = sizes == destination.layout.shape[first:last]
        spread = (*sizes, *(1,) * (destination.layout.ndim - last)) if whole else None
        return MaskedPlan(self.name, destination, value, seen, reach, spread)


@functools.lru_cache(maxsize=256)
def selected_spec(seen: TensorSpec, reach: Reach, count: int) -> TensorSpec:
    """Of the result of a read that selects `count` elements, or slices."""
    layout = Layout.packed(selected_shape(seen.layout, reach, count), reach.order)
    return TensorSpec(seen.dtype, layout, seen.device)


def selected_shape(layout: Layout, reach: Reach, count: int) -> tuple[int, ...]:
    """The shape of `count` selected elements, or slices."""
    sizes = {result: layout.shape[d] for d, result in reach.kept} | {reach.span[0]: count}
    return tuple(sizes[d] for d in range(len(sizes)))


def check_mask(name: str, mask: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    """IndexError where a mask does not have the sizes of the dimensions under it, or 0."""
    if any(n not in (m, 0) for n, m in zip(mask, sizes, strict=True)):
        msg = f"{name}: a mask of shape {mask} does not fit dimensions of sizes {sizes}"
        raise IndexError(msg)


def _under_mask(
    name: str, spec: TensorSpec, first: int, mask: TensorSpec
) -> tuple[TensorSpec, tuple[int, ...]]:
    """The tensor with the dimensions under a mask as one, where its strides allow, and those.

    IndexError where sizes differ (one of a mask may be 0).
    """
    shape, rank = spec.layout.shape, mask.layout.ndim
    dims = tuple(range(first, first + rank))
    sizes = shape[first : first + rank]
    check_mask(name, mask.layout.shape, sizes)
    if rank == 1 or mask.layout.shape != sizes:
        return spec, dims
    merged = spec.layout.reshape((*shape[:first], math.prod(sizes), *shape[first + rank :]))
    if merged is None:
        return spec, dims
    return TensorSpec(spec.dtype, merged, spec.device), (first,)
