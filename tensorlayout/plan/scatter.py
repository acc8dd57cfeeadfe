"""Plans of writes at positions that are data.

Values replace what is there, in a tensor that is given or in a copy; or are combined with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorlayout import dtypes
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan
from tensorlayout.plan.gather import IndexMap, Shape
from tensorlayout.plan.rules import broadcast_shape, one_device, refuse_complex
from tensorlayout.tensor import TensorSpec

# Of so many values of one position or more, each so many are combined first, of these results each
# so many again, and so on; then, one after the other, the results, those of most values first, and
# the values that are left. So no thread combines them all. The kernels have the same number.
RUN = 256


@dataclass(frozen=True, slots=True, eq=False)
class ScatterPlan(Plan):
    """A write of values, broadcast to `shape`, at given positions.

    `result`: the spec of the destination.
    """

    kind = "scatter"
    given = True
    reads_destination = True
    overlap = "nothing"

    name: str
    result: TensorSpec
    value: TensorSpec | type
    positions: tuple[TensorSpec, ...]
    shape: Shape
    index_map: IndexMap


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
        check_writable_by(destination, value, positions)
        spread = broadcast_shape([p.layout.shape for p in positions])
        found, shape = _in_index_order(destination.layout, dims, front, spread)
        check_fits(value, shape)
        return ScatterPlan(self.name, destination, value, positions, shape, found)


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
        check_writable_by(destination, value, [positions])
        shape = positions.layout.shape
        check_fits(value, shape)
        found = IndexMap.along(destination.layout, dim)
        return ScatterPlan(self.name, destination, value, (positions,), shape, found)


@dataclass(frozen=True, slots=True, eq=False)
class CopyScatterPlan(Plan):
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
class CopyScatter:
    """A copy and a scatter: the destination, given first, shares no memory with the others."""

    operation: Scatter | ScatterAlong

    @property
    def name(self) -> str:
        """The name of the scatter."""
        return self.operation.name

    def plan(self, source: TensorSpec, destination: TensorSpec, *key: Any) -> CopyScatterPlan:
        """The plan; `key`: the rest of that of the scatter."""
        one_device([source, destination])
        return CopyScatterPlan(source, self.operation.plan(destination, *key))


@dataclass(frozen=True, slots=True, eq=False)
class ScatterReducePlan(Plan):
    """A copy of the source, each value combined with the element at its position.

    `function`: by the name that NumPy and the kernels have for it. The value is broadcast to
    `shape`.
    """

    kind = "scatter_reduce"

    name: str
    function: str
    source: TensorSpec
    value: TensorSpec
    positions: tuple[TensorSpec, ...]
    shape: Shape
    index_map: IndexMap
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class ScatterReduce:
    """Values combined in index order and runs, so that sums of floats are those of every device.

    `function`: "add", "minimum" or "maximum".
    """

    name: str
    function: str
    dtypes: str

    def plan(
        self, source: TensorSpec, value: TensorSpec, positions: TensorSpec, dim: int, along: bool
    ) -> ScatterReducePlan:
        """The plan; packed in the order of the source, in its dtype.

        `along`: positions of its own for every line along `dim`, sizes of 1 broadcast; else the
        same for all.
        """
        device = one_device([source, value, positions])
        self._check_dtypes(source, value)
        layout = Layout.packed(source.layout.shape, source.layout.minor_to_major)
        given = positions.layout.shape
        if along:
            found, shape = IndexMap.along(layout, dim), self._lines(layout.shape, given, dim)
        else:
            found, shape = _in_index_order(layout, (dim,), False, given)
        check_fits(value, shape)
        result = TensorSpec(source.dtype, layout, device)
        return ScatterReducePlan(
            self.name, self.function, source, value, (positions,), shape, found, result
        )

    def _check_dtypes(self, source: TensorSpec, value: TensorSpec) -> None:
        for spec in (source, value):
            if not dtypes.in_category(spec.dtype, self.dtypes):
                msg = f"only {self.dtypes} dtypes are allowed, got {spec.dtype}"
                raise TypeError(msg)
        if dtypes.promote(source.dtype, value.dtype) != source.dtype:
            msg = (
                f"updates of {value.dtype} do not fit a tensor of {source.dtype};"
                " convert one with astype()"
            )
            raise TypeError(msg)

    def _lines(self, whole: Shape, given: Shape, dim: int) -> Shape:
        """The shape of positions in every line along `dim`."""
        lines = tuple(given[dim] if d == dim else n for d, n in enumerate(whole))
        if any(n not in (1, m) for n, m in zip(given, lines, strict=True)):
            msg = f"indices of shape {given} do not fit a tensor of shape {whole} along axis {dim}"
            raise ValueError(msg)
        return lines


def _in_index_order(
    layout: Layout, dims: tuple[int, ...], front: bool, spread: Shape
) -> tuple[IndexMap, Shape]:
    """Where positions of shape `spread` go that are met in index order; the shape of all there."""
    found = IndexMap.into(layout, dims, front, tuple(reversed(range(len(spread)))))
    return found, found.shape(layout, spread)


def check_fits(given: TensorSpec | type, shape: Shape) -> None:
    """ValueError where a value is not broadcast to `shape`; ones may lead. A number always is."""
    if not isinstance(given, TensorSpec):
        return
    value = given.layout.shape
    lead = max(len(value) - len(shape), 0)
    fits = set(value[:lead]) <= {1} and all(
        n in (1, m) for n, m in zip(reversed(value[lead:]), reversed(shape), strict=False)
    )
    if not fits:
        msg = f"a value of shape {value} cannot be broadcast to {shape}"
        raise ValueError(msg)


def check_writable_by(
    destination: TensorSpec, value: TensorSpec | type, others: Sequence[TensorSpec]
) -> None:
    """One device for all, and nothing complex into a real tensor."""
    values = [value] if isinstance(value, TensorSpec) else []
    one_device([destination, *values, *others])
    refuse_complex(destination, value)
