"""Plans of reads and writes where a mask is true, and of `nonzero`. The count depends on data."""

from __future__ import annotations

import functools
import math

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.gather import IndexMap, Shape
from tensorlayout.plan.rules import check_same_device
from tensorlayout.plan.scatter import check_write_operands
from tensorlayout.tensor import TensorSpec


@plan_dataclass
class SelectPlan(Plan):
    """A new tensor of the elements where a mask is true.

    The result's size depends on data, so `result` is the spec of the source; `seen` is that of the
    source with masked dimensions merged (`_merge_masked_dims`).
    """

    kind = "select"
    result_kind = "own"

    name: str
    result: TensorSpec
    mask: TensorSpec
    seen: TensorSpec
    index_map: IndexMap


@plan_dataclass
class Select:
    """Reads by a mask over the dimensions from `first` on, packed in the source's order."""

    name: str = "__getitem__"

    def plan(
        self, source: TensorSpec, first: int, positions_first: bool, mask: TensorSpec
    ) -> SelectPlan:
        check_same_device([source, mask])
        seen, index_map = _merge_masked_dims(source, first, positions_first, mask)
        return SelectPlan(self.name, source, mask, seen, index_map)


@plan_dataclass
class MaskedPlan(Plan):
    """A write of values where a mask is true.

    `result` is the spec of the destination; `seen` is that of the destination with masked
    dimensions merged (`_merge_masked_dims`). `spread`: shape in which the mask broadcasts to the
    destination; None if a dimension of the mask is empty.
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


@plan_dataclass
class Masked:
    """Writes where a mask over the dimensions from `first` on is true."""

    name: str = "__setitem__"

    def plan(
        self,
        destination: TensorSpec,
        value: TensorSpec | type,
        first: int,
        positions_first: bool,
        mask: TensorSpec,
    ) -> MaskedPlan:
        check_write_operands(destination, value, [mask])
        seen, index_map = _merge_masked_dims(destination, first, positions_first, mask)
        sizes, last = mask.layout.shape, first + mask.layout.ndim
        mask_matches_dims = sizes == destination.layout.shape[first:last]
        spread = (*sizes, *(1,) * (destination.layout.ndim - last)) if mask_matches_dims else None
        return MaskedPlan(self.name, destination, value, mask, seen, index_map, spread)


@plan_dataclass
class NonzeroPlan(Plan):
    """Indices of non-zero elements, one tensor per dimension; `result` is the operand's spec."""

    kind = "nonzero"
    result_kind = "own"

    result: TensorSpec


@plan_dataclass
class Nonzero:
    """Indices of non-zero elements in row-major order, int64."""

    name: str = "nonzero"

    def plan(self, source: TensorSpec) -> NonzeroPlan:
        if not source.layout.ndim:
            raise ValueError("needs a rank of at least 1, got shape ()")
        return NonzeroPlan(source)


@functools.lru_cache(maxsize=256)
def selected_spec(source: TensorSpec, index_map: IndexMap, count: int) -> TensorSpec:
    """Return the spec of a read that selects `count` elements or slices."""
    layout = Layout._packed(index_map.result_shape(source.layout, (count,)), index_map.order)
    return TensorSpec(source.dtype, layout, source.device)


def check_mask_shape(mask: Shape, sizes: Shape) -> None:
    """Raise IndexError if a mask's sizes differ from those of the dimensions; 0 is allowed."""
    # NumPy, too, takes a mask of size 0 along any dimension; it selects nothing.
    fits = len(mask) == len(sizes) and all(m in (n, 0) for m, n in zip(mask, sizes, strict=True))
    if not fits:
        rule = "boolean index did not match the indexed dimensions"
        raise IndexError(f"{rule}: the mask has shape {mask}, the dimensions {sizes}")


def _merge_masked_dims(
    spec: TensorSpec, first: int, positions_first: bool, mask: TensorSpec
) -> tuple[TensorSpec, IndexMap]:
    """Return the spec with masked dimensions merged into one if strides allow, and its map."""
    shape, rank = spec.layout.shape, mask.layout.ndim
    dims, sizes = tuple(range(first, first + rank)), shape[first : first + rank]
    check_mask_shape(mask.layout.shape, sizes)
    # With one dimension, each true element is one position instead of one for each dimension of the
    # mask. A mask of rank 0 selects along a new dimension of size 1.
    if rank != 1 and mask.layout.shape == sizes:
        rest = shape[first + rank :]
        merged = spec.layout.reshape((*shape[:first], math.prod(sizes), *rest))
        if merged is not None:
            spec, dims = TensorSpec(spec.dtype, merged, spec.device), (first,)
    return spec, IndexMap.for_positions(spec.layout, dims, positions_first, (0,))
