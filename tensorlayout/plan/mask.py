"""Plans that depend on where a tensor is true, or not zero. How often that is, is data."""

from __future__ import annotations

import functools
import math

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, planned
from tensorlayout.plan.gather import IndexMap, Shape
from tensorlayout.plan.rules import one_device
from tensorlayout.plan.scatter import check_writable_by
from tensorlayout.tensor import TensorSpec


@planned
class SelectPlan(Plan):
    """A new tensor of the elements where a mask is true.

    `result` is the spec of the source; `seen` that of the source as `_under_mask` indexes it.
    """

    kind = "select"
    makes = "own"

    name: str
    result: TensorSpec
    mask: TensorSpec
    seen: TensorSpec
    index_map: IndexMap


@planned
class Select:
    """Reads by a mask of dimensions from `first` on; packed in the order of what is read."""

    name: str = "__getitem__"

    def plan(self, source: TensorSpec, first: int, front: bool, mask: TensorSpec) -> SelectPlan:
        one_device([source, mask])
        seen, found = _under_mask(source, first, front, mask)
        return SelectPlan(self.name, source, mask, seen, found)


@planned
class MaskedPlan(Plan):
    """A write of values where a mask is true.

    `result` is the spec of the destination; `seen` that of the destination as `_under_mask` indexes
    it. `spread`: the shape in which the mask broadcasts, if it covers all.
    """

    kind = "masked"
    destinations = 1
    partial = True

    name: str
    result: TensorSpec
    value: TensorSpec | type
    mask: TensorSpec
    seen: TensorSpec
    index_map: IndexMap
    spread: Shape | None


@planned
class Masked:
    """Writes where a mask of dimensions from `first` on is true."""

    name: str = "__setitem__"

    def plan(
        self,
        destination: TensorSpec,
        value: TensorSpec | type,
        first: int,
        front: bool,
        mask: TensorSpec,
    ) -> MaskedPlan:
        check_writable_by(destination, value, [mask])
        seen, found = _under_mask(destination, first, front, mask)
        sizes, last = mask.layout.shape, first + mask.layout.ndim
        whole = sizes == destination.layout.shape[first:last]
        spread = (*sizes, *(1,) * (destination.layout.ndim - last)) if whole else None
        return MaskedPlan(self.name, destination, value, mask, seen, found, spread)


@planned
class NonzeroPlan(Plan):
    """The indices of elements that are not zero, a tensor a dimension; `result`: of the operand."""

    kind = "nonzero"
    makes = "own"

    result: TensorSpec


@planned
class Nonzero:
    """Indices in row-major order, int64."""

    name: str = "nonzero"

    def plan(self, source: TensorSpec) -> NonzeroPlan:
        if not source.layout.ndim:
            raise ValueError("needs a rank of at least 1, got shape ()")
        return NonzeroPlan(source)


@functools.lru_cache(maxsize=256)
def selected_spec(seen: TensorSpec, found: IndexMap, count: int) -> TensorSpec:
    """Return the spec of what a read gives that selects `count` elements, or slices."""
    layout = Layout._packed(found.shape(seen.layout, (count,)), found.order)
    return TensorSpec(seen.dtype, layout, seen.device)


def check_mask(mask: Shape, sizes: Shape) -> None:
    """Raise IndexError where a mask has not the sizes of the dimensions under it, or 0."""
    fits = len(mask) == len(sizes) and all(m in (n, 0) for m, n in zip(mask, sizes, strict=True))
    if not fits:
        raise IndexError(f"a mask of shape {mask} does not match dimensions of sizes {sizes}")


def _under_mask(
    spec: TensorSpec, first: int, front: bool, mask: TensorSpec
) -> tuple[TensorSpec, IndexMap]:
    """Return the tensor, with the dimensions under a mask as one if strides allow, and the map."""
    shape, rank = spec.layout.shape, mask.layout.ndim
    dims, sizes = tuple(range(first, first + rank)), shape[first : first + rank]
    check_mask(mask.layout.shape, sizes)
    if rank != 1 and mask.layout.shape == sizes:
        rest = shape[first + rank :]
        merged = spec.layout.reshape((*shape[:first], math.prod(sizes), *rest))
        if merged is not None:
            spec, dims = TensorSpec(spec.dtype, merged, spec.device), (first,)
    return spec, IndexMap.into(spec.layout, dims, front, (0,))
