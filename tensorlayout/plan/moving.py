"""Plans that move elements: views, copies, casts, writes, joins, moves between devices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorlayout.devices import Device
from tensorlayout.dtypes import DType, real_of
from tensorlayout.layout import Layout
from tensorlayout.layout.checks import MAX_RANK, too_many_dimensions
from tensorlayout.plan.results import (
    LayoutSpec,
    addressed,
    checked_padding,
    in_dtype,
    layout_for,
    named,
    one_device,
    refuse_complex,
)
from tensorlayout.tensor import TensorSpec
from tensorlayout.words import cut, shown


@dataclass(frozen=True, slots=True, eq=False)
class ViewPlan:
    """A tensor over the same storage: no element moves."""

    source: TensorSpec
    result: TensorSpec
    shift: int  # slots from the lowest slot of the source to that of the result


@dataclass(frozen=True, slots=True, eq=False)
class CopyPlan:
    """A new tensor with the elements of one other, converted to the result's dtype."""

    source: TensorSpec
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class AssignPlan:
    """A write of one tensor's elements, or one Python scalar, into another tensor."""

    name: str
    source: TensorSpec | type
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class JoinPlan:
    """Several tensors side by side along `axis` of a new one."""

    sources: tuple[TensorSpec, ...]
    result: TensorSpec
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class SplitPlan:
    """Consecutive parts of a tensor along `axis`, each written into a tensor that is given."""

    source: TensorSpec
    results: tuple[TensorSpec, ...]
    axis: int

    @property
    def result(self) -> TensorSpec:
        """The first of them."""
        return self.results[0]


@dataclass(frozen=True, slots=True, eq=False)
class ReshapePlan:
    """A new row-major tensor with the elements in row-major index order."""

    source: TensorSpec
    result: TensorSpec


class NoViewError(ValueError):
    """A layout that has no such view; a packed copy has one."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A view whose layout is a function of the source's layout and static parameters."""

    name: str
    relayout: Callable[..., Layout | None]

    def plan(self, source: TensorSpec, *static: Any) -> ViewPlan:
        """The plan; the view must exist. NoViewError for a tiled layout that has none."""
        try:
            layout = named(self.name, self.relayout, source.layout, *static)
        except ValueError as error:
            if source.layout.is_tiled:  # of a packed copy, it is the same error or a view
                raise NoViewError(str(error)) from None
            raise
        if layout is None:
            msg = f"{self.name}: layout {cut(source.layout)} has no such view; copy it first"
            raise NoViewError(msg)
        result = addressed(self.name, TensorSpec(source.dtype, layout, source.device))
        return ViewPlan(source, result, layout.lowest)


@dataclass(frozen=True, slots=True, eq=False)
class PartPlan:
    """The real or the imaginary parts of complex numbers, where they are."""

    source: TensorSpec
    result: TensorSpec
    which: int


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The real parts (`which` 0) or the imaginary ones (1) of complex numbers: a view."""

    name: str
    which: int

    def plan(self, source: TensorSpec) -> PartPlan:
        """The plan of the view."""
        layout = source.layout.component(self.which, 2)
        return PartPlan(
            source, TensorSpec(real_of(source.dtype), layout, source.device), self.which
        )


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A copy into a given layout, or the source's form, in a given dtype, or the source's."""

    name: str

    def plan(self, source: TensorSpec, layout: Layout | None, dtype: DType | None) -> CopyPlan:
        """The plan of the copy."""
        kind = source.dtype if dtype is None else dtype
        if source.dtype.kind == "c" and kind.kind not in "bc":
            msg = f"{self.name}: {source.dtype} cannot become {kind}; take real() or abs() first"
            raise TypeError(msg)
        form = source.layout.form
        if layout is None:
            placed = in_dtype(form, kind)
        else:
            placed = checked_padding(self.name, layout, kind)
        return CopyPlan(source, TensorSpec(kind, placed, source.device))


@dataclass(frozen=True, slots=True, eq=False)
class TransferPlan:
    """The same bytes, gaps and padding included, in a new storage on another device."""

    source: TensorSpec
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """A move to another device. Layouts stay; such that cover no block are better packed before."""

    name: str = "to_device"

    def plan(self, source: TensorSpec, device: Device) -> TransferPlan:
        """The plan of the move."""
        return TransferPlan(source, TensorSpec(source.dtype, source.layout, device))


@dataclass(frozen=True, slots=True, eq=False)
class SamePlan:
    """Nothing to do: the operand is the result."""

    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Relayout:
    """The same elements in a layout asked for by name."""

    name: str = "to_layout"

    def plan(self, source: TensorSpec, asked: LayoutSpec, copy: bool | None) -> Any:
        """The plan: nothing, a view, or a copy, as `copy` allows (True always, None if needed)."""
        wanted = layout_for(self.name, source.layout.shape, asked)
        if copy is not True:
            if wanted is source.layout:
                return SamePlan(source)
            if wanted.same_placement(source.layout) and not wanted.is_padded:
                return ViewPlan(source, TensorSpec(source.dtype, wanted, source.device), 0)
        if copy is False:
            msg = f"{self.name}: {cut(source.layout)} is not {cut(wanted)}, and copy=False"
            raise ValueError(msg)
        return Copy(self.name).plan(source, wanted, None)


@dataclass(frozen=True, slots=True, eq=False)
class Reshape:
    """A view under another shape where one exists, else a row-major copy."""

    name: str = "reshape"

    def plan(self, source: TensorSpec, shape: int | tuple[int, ...], copy: bool | None) -> Any:
        """The plan: of a view or of a copy, as `copy` allows (True always, None if needed)."""
        shape = inferred_shape(self.name, shape, source.layout.size)
        layout = named(self.name, source.layout.reshape, shape)
        if layout is not None and copy is not True:
            result = addressed(self.name, TensorSpec(source.dtype, layout, source.device))
            return ViewPlan(source, result, layout.lowest)
        if copy is False:
            came = source.layout
            msg = f"{self.name}: layout {came} has no view of shape {shape}, and copy=False"
            raise ValueError(msg)
        result = TensorSpec(source.dtype, named(self.name, Layout.row_major, shape), source.device)
        return ReshapePlan(source, result)


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """A write of a value into a tensor; the value is broadcast, its dtype may be converted."""

    name: str = "__setitem__"

    def plan(self, destination: TensorSpec, value: TensorSpec | type) -> AssignPlan:
        """The plan of the write."""
        if isinstance(value, TensorSpec):
            one_device(self.name, [destination, value])
            try:
                value.layout.broadcast_to(destination.layout.shape)
            except ValueError:
                msg = (
                    f"{self.name}: a value of shape {value.layout.shape} cannot be broadcast to"
                    f" {destination.layout.shape}"
                )
                raise ValueError(msg) from None
        refuse_complex(self.name, destination, value)
        return AssignPlan(self.name, value, destination)


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """Concatenation along an existing axis; the result follows the first tensor's order."""

    name: str = "concat"

    def plan(self, axis: int, dtype: DType, *sources: TensorSpec) -> JoinPlan:
        """The plan of the join; `axis` counts from the front."""
        one_device(self.name, sources)
        first = sources[0].layout
        for spec in sources:
            shape = spec.layout.shape
            same = len(shape) == first.ndim and all(
                n == m for d, (n, m) in enumerate(zip(shape, first.shape, strict=True)) if d != axis
            )
            if not same:
                msg = (
                    f"{self.name}: shapes must agree but for axis {axis},"
                    f" got {shown([s.layout.shape for s in sources])}"
                )
                raise ValueError(msg)
        total = sum(spec.layout.shape[axis] for spec in sources)
        shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
        layout = named(self.name, Layout.packed, shape, first.minor_to_major)
        result = TensorSpec(dtype, layout, sources[0].device)
        return JoinPlan(sources, result, axis)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The parts of a tensor along an axis, in order, into tensors of its dtype that are given.

    These are of any layouts, and share no memory with it or each other; their sizes add up to its.
    """

    name: str

    def plan(self, axis: int, source: TensorSpec, *results: TensorSpec) -> SplitPlan:
        """The plan; `axis` counts from the front."""
        one_device(self.name, [source, *results])
        return SplitPlan(source, results, axis)


@dataclass(frozen=True, slots=True, eq=False)
class SpreadPlan:
    """A tensor written into a window of another, which is zero elsewhere."""

    name: str
    source: TensorSpec
    result: TensorSpec
    window: tuple[tuple[int, int], ...]  # by dimension: the place of its first element, the step


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A tensor spread over a larger one that is given first, and shares no memory with it."""

    name: str

    def plan(
        self, destination: TensorSpec, source: TensorSpec, window: tuple[tuple[int, int], ...]
    ) -> SpreadPlan:
        """The plan; steps are not 0, and lead to no place outside."""
        one_device(self.name, [destination, source])
        return SpreadPlan(self.name, source, destination, window)


def inferred_shape(name: str, shape: int | tuple[int, ...], size: int) -> tuple[int, ...]:
    """`shape` with one -1 replaced by what `size` elements need."""
    sizes = given = (shape,) if isinstance(shape, int) else shape
    if len(sizes) > MAX_RANK:
        too_many_dimensions(f"{name}: shape", len(sizes))
    unknown = [d for d, n in enumerate(sizes) if n == -1]
    if len(unknown) > 1 or min(sizes, default=0) < -1:
        msg = f"{name}: shape must hold no negative sizes but for one -1, got {shown(given)}"
        raise ValueError(msg)
    known = math.prod(n for n in sizes if n != -1)
    if len(unknown) == 1 and known > 0 and size % known == 0:
        d = unknown[0]
        sizes = (*sizes[:d], size // known, *sizes[d + 1 :])
    if -1 in sizes or math.prod(sizes) != size:
        msg = f"{name}: shape {shown(given)} does not fit {size} elements"
        raise ValueError(msg)
    return sizes
