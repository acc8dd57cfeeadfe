"""Plans of reads and writes at positions that are data.

Positions *reach* into some dimensions of a tensor; the others stay whole. In the result, the
dimensions of the positions stand in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan
from tensorlayout.plan.rules import (
    broadcast_shape,
    named,
    one_device,
    refuse_complex,
    voted_layout,
)
from tensorlayout.tensor import TensorSpec


@dataclass(frozen=True, slots=True)
class Reach:
    """Where positions go, and how what is found there (or goes there) is ordered."""

    dims: tuple[int, ...]  # of the tensor, those that positions index
    span: tuple[int, ...]  # of the result, those that come from the positions: a run
    kept: tuple[tuple[int, int], ...]  # the others: dimension of the tensor, and of the result
    order: tuple[int, ...]  # of the result, minor to major; `span` is a run in it, too
    along: bool = False  # whether there are positions for every line, not the same for all


@dataclass(frozen=True, slots=True, eq=False)
class GatherPlan(Plan):
    """A new tensor of the elements at given positions."""

    kind = "gather"
    any_layout = True

    name: str
    source: TensorSpec
    positions: tuple[TensorSpec, ...]
    result: TensorSpec
    reach: Reach
    clamps: bool = False  # whether the nearest position is read for one that is outside
    given: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ScatterPlan(Plan):
    """A write of values at given positions."""

    kind = "scatter"
    given = True
    reads_destination = True
    overlap = "nothing"

    name: str
    result: TensorSpec  # of the destination
    value: TensorSpec | type
    shape: tuple[int, ...]  # that the value is broadcast to
    reach: Reach


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """Reads by integer tensors; packed in the order of the tensor that is read.

    The dimensions of the positions stand, in the order that these have in memory, where the
    slowest of the indexed dimensions stood. A position outside is an IndexError, or where the
    operation `clamps` stands for the nearest one.
    """

    name: str = "__getitem__"
    clamps: bool = False

    def plan(
        self, source: TensorSpec, dims: tuple[int, ...], front: bool, *positions: TensorSpec
    ) -> GatherPlan:
        """The plan; positions for `dims`, their dimensions first in the result if `front`."""
        one_device(self.name, [source, *positions])
        spread = broadcast_shape(self.name, [p.layout.shape for p in positions])
        voters = [p.layout for p in positions if p.layout.shape == spread]
        reach = reach_into(source.layout, dims, front, voted_layout(spread, voters).minor_to_major)
        shape = shape_read(source.layout, spread, reach)
        layout = named(self.name, Layout.packed, shape, reach.order)
        result = TensorSpec(source.dtype, layout, source.device)
        return GatherPlan(self.name, source, positions, result, reach, self.clamps)


@dataclass(frozen=True, slots=True, eq=False)
class GatherAlong:
    """Reads of positions of its own for every line along a dimension; packed in the input's order.

    Source and positions have equal sizes but along that dimension.
    """

    name: str = "take_along_axis"

    def plan(self, source: TensorSpec, dim: int, positions: TensorSpec) -> GatherPlan:
        """The plan."""
        one_device(self.name, [source, positions])
        order = source.layout.minor_to_major
        kept = tuple((d, d) for d in range(source.layout.ndim) if d != dim)
        layout = Layout.packed(positions.layout.shape, order)
        reach = Reach((dim,), (dim,), kept, order, along=True)
        result = TensorSpec(source.dtype, layout, source.device)
        return GatherPlan(self.name, source, (positions,), result, reach)


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Writes by integer tensors, in index order: of equal positions the last one wins."""

    name: str = "__setitem__"

    def plan(
        self,
        destination: TensorSpec,
        value: TensorSpec | type,
        dims: tuple[int, ...],
        front: bool,
        *positions: TensorSpec,
    ) -> ScatterPlan:
        """The plan; the value is broadcast to what reading at the positions would give."""
        check_writable_by(self.name, destination, value, positions)
        spread = broadcast_shape(self.name, [p.layout.shape for p in positions])
        in_index_order = tuple(range(len(spread) - 1, -1, -1))
        reach = reach_into(destination.layout, dims, front, in_index_order)
        shape = shape_read(destination.layout, spread, reach)
        if isinstance(value, TensorSpec):
            check_fits(self.name, value.layout.shape, shape)
        return ScatterPlan(self.name, destination, value, shape, reach)


@dataclass(frozen=True, slots=True, eq=False)
class ScatterAlong:
    """Writes at positions of its own for every line along a dimension; the last of equal ones wins.

    Destination and positions have equal sizes but along that dimension.
    """

    name: str = "put_along_axis"

    def plan(
        self, destination: TensorSpec, value: TensorSpec | type, dim: int, positions: TensorSpec
    ) -> ScatterPlan:
        """The plan; the value is broadcast to the shape of the positions."""
        check_writable_by(self.name, destination, value, [positions])
        shape = positions.layout.shape
        if isinstance(value, TensorSpec):
            check_fits(self.name, value.layout.shape, shape)
        order = destination.layout.minor_to_major
        kept = tuple((d, d) for d in range(destination.layout.ndim) if d != dim)
        reach = Reach((dim,), (dim,), kept, order, along=True)
        return ScatterPlan(self.name, destination, value, shape, reach)


@dataclass(frozen=True, slots=True, eq=False)
class ReplacePlan(Plan):
    """A copy of a tensor with values written at positions, into a tensor that is given."""

    kind = "copy_scatter"
    given = True

    source: TensorSpec
    scatter: ScatterPlan

    @property
    def result(self) -> TensorSpec:
        """What is written."""
        return self.scatter.result


@dataclass(frozen=True, slots=True, eq=False)
class Replace:
    """A copy and a scatter: the destination, given first, shares no memory with the others."""

    operation: Scatter | ScatterAlong

    @property
    def name(self) -> str:
        """The name of the scatter."""
        return self.operation.name

    def plan(self, source: TensorSpec, destination: TensorSpec, *key: Any) -> ReplacePlan:
        """The plan; `key`: the rest of that of the scatter."""
        one_device(self.name, [source, destination])
        return ReplacePlan(source, self.operation.plan(destination, *key))


def check_fits(name: str, value: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """ValueError where a value of shape `value` is not broadcast to `shape`; ones may lead."""
    lead = max(len(value) - len(shape), 0)
    fits = set(value[:lead]) <= {1} and all(
        n in (1, m) for n, m in zip(reversed(value[lead:]), reversed(shape), strict=False)
    )
    if not fits:
        msg = f"{name}: a value of shape {value} cannot be broadcast to {shape}"
        raise ValueError(msg)


def check_writable_by(
    name: str, destination: TensorSpec, value: TensorSpec | type, others: Sequence[TensorSpec]
) -> None:
    """One device for all, and nothing complex into a real tensor."""
    values = [value] if isinstance(value, TensorSpec) else []
    one_device(name, [destination, *values, *others])
    refuse_complex(name, destination, value)


def reach_into(layout: Layout, dims: tuple[int, ...], front: bool, group: tuple[int, ...]) -> Reach:
    """The reach of positions into `dims`; `group` is the order of the positions' dimensions."""
    others = [d for d in range(layout.ndim) if d not in dims]
    place = 0 if front else sum(d < dims[0] for d in others)
    count = len(group)
    after = {d: i if i < place else i + count for i, d in enumerate(others)}
    minor_group = [place + d for d in group]
    # The positions' place in the order: that of the slowest dimension they index; in front, too.
    slowest = max(dims, key=layout.minor_to_major.index)
    order: list[int] = []
    for d in layout.minor_to_major:
        if d in after:
            order.append(after[d])
        elif d == slowest and not front:
            order += minor_group
    if front:
        order += minor_group
    span = tuple(range(place, place + count))
    return Reach(dims, span, tuple(after.items()), tuple(order))


def shape_read(layout: Layout, spread: tuple[int, ...], reach: Reach) -> tuple[int, ...]:
    """The shape of what is read, for positions of shape `spread`."""
    sizes = {result: layout.shape[d] for d, result in reach.kept}
    sizes |= dict(zip(reach.span, spread, strict=True))
    return tuple(sizes[d] for d in range(len(sizes)))
