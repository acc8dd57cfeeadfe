"""Plans of writes at integer positions, and of values combined with the elements there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tensorlayout import dtypes
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, Write, backend_of, plan_dataclass
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.gather import IndexMap, Shape, positions_broadcast_shape
from tensorlayout.plan.rules import check_no_complex_to_real, check_same_device
from tensorlayout.tensor import Tensor, TensorSpec

# Values for one position are combined in runs of this length, then each run of results again, and
# so on. The results, those of most values first, and the remaining values are combined one after
# the other. This fixes the order of float sums on every device, and no GPU thread has to combine
# all values. The kernels have the same number.
RUN = 256

# Limit of values that are written one after the other: at 5 ns each, they would take a day.
_MAX_RUN_POSITIONS = 2**44


@plan_dataclass
class ScatterPlan(Plan):
    """A write of values, broadcast to `shape`, at positions of the destination `result`."""

    kind = "scatter"
    destinations = 1
    partial = True

    name: str
    result: TensorSpec
    value: TensorSpec | type
    positions: tuple[TensorSpec, ...]
    shape: Shape
    index_map: IndexMap


@plan_dataclass
class Scatter:
    """Writes at integer positions, in index order: of equal positions the last one wins.

    The value is broadcast to the shape that `Gather` returns for the same key.
    """

    name: str = "__setitem__"

    def plan(
        self,
        destination: TensorSpec,
        value: TensorSpec | type,
        dims: tuple[int, ...],
        positions_first: bool | None,
        *positions: TensorSpec,
    ) -> ScatterPlan:
        check_write_operands(destination, value, positions)
        spread = positions_broadcast_shape(positions)
        return _plan_scatter(
            self.name, destination, value, dims, positions_first, positions, spread
        )


def _plan_scatter(
    name: str,
    destination: TensorSpec,
    value: TensorSpec | type,
    dims: tuple[int, ...],
    positions_first: bool | None,
    positions: tuple[TensorSpec, ...],
    positions_shape: Shape,
) -> ScatterPlan:
    """Return the plan for positions broadcast to `positions_shape`, in index order."""
    # Row-major in any layout of the positions: of equal ones the last in index order wins.
    group = tuple(reversed(range(len(positions_shape))))
    index_map = IndexMap.for_positions(destination.layout, dims, positions_first, group)
    shape = index_map.result_shape(destination.layout, positions_shape)
    check_value_broadcasts(value, shape)
    # Broadcast positions and values need no memory, so such a shape is easily written.
    if prod(shape) > _MAX_RUN_POSITIONS:
        raise ValueError(
            f"{prod(shape)} values are more than {_MAX_RUN_POSITIONS}, which would take days"
        )
    return ScatterPlan(name, destination, value, positions, shape, index_map)


@plan_dataclass
class CopyScatterPlan(Plan):
    """A copy of a tensor with values written at positions.

    `key`: key of the `Scatter`, without the destination.
    """

    kind = "copy_scatter"

    source: TensorSpec
    scatter: ScatterPlan
    key: tuple[Any, ...]
    destinations: int = 0

    @property
    def result(self) -> TensorSpec:
        return self.scatter.result

    def with_destination(self, destination: TensorSpec) -> CopyScatterPlan:
        scatter = Scatter(self.scatter.name).plan(destination, *self.key)
        return CopyScatterPlan(self.source, scatter, self.key, 1)


@plan_dataclass
class CopyScatter:
    """A copy of the source in its order, followed by a scatter with the rest of the key."""

    name: str

    def plan(self, source: TensorSpec, *key: Any) -> CopyScatterPlan:
        result = _packed_spec(source)
        return CopyScatterPlan(source, Scatter(self.name).plan(result, *key), key)


@plan_dataclass
class ScatterReducePlan(Plan):
    """A copy of the source, with each value combined with the element at its position.

    `function`: name of the combination in NumPy and in the kernels. `deterministic`: whether the
    order of values is fixed.
    """

    kind = "scatter_reduce"

    source: TensorSpec
    scatter: ScatterPlan
    function: str
    deterministic: bool = True

    @property
    def result(self) -> TensorSpec:
        return self.scatter.result


def _packed_spec(spec: TensorSpec) -> TensorSpec:
    layout = Layout._packed(spec.layout.shape, spec.layout.minor_to_major)
    return TensorSpec(spec.dtype, layout, spec.device)


def compile_copy_then_write(plan: CopyScatterPlan | ScatterReducePlan, write: Write) -> Write:
    """Return ``write(out, source, *others)``, which copies the source into `out` before `write`."""
    name, source, result = plan.scatter.name, plan.source, plan.result
    copying = AssignPlan(name, source, result) if plan.destinations else CopyPlan(source, result)
    copy: Write = backend_of(result.device).compile_plan(copying)

    def copy_then_write(out: Tensor, x: Tensor, *others: Any) -> None:
        copy(out, x)
        write(out, *others)

    return copy_then_write


@plan_dataclass
class ScatterReduce:
    """Values combined in index order and runs, so that float sums are equal on every device.

    Without `deterministic`, in any order. The result has the order and dtype of the source.
    `function`: "add", "minimum" or "maximum". With `along`, each line along `dim` has its own
    positions, and sizes of 1 broadcast; otherwise all lines have the same.
    """

    name: str
    function: str
    dtypes: str

    def plan(
        self,
        source: TensorSpec,
        value: TensorSpec,
        positions: TensorSpec,
        dim: int,
        along: bool,
        deterministic: bool = True,
    ) -> ScatterReducePlan:
        check_same_device([source, value, positions])
        for spec in (source, value):
            if not dtypes.is_in_category(spec.dtype, self.dtypes):
                raise TypeError(f"only {self.dtypes} dtypes are allowed, got {spec.dtype}")
        if dtypes.promote_dtypes(source.dtype, value.dtype) != source.dtype:
            raise TypeError(
                f"updates of {value.dtype} do not fit a tensor of {source.dtype};"
                " convert one with astype()"
            )
        source_shape, positions_shape = source.layout.shape, positions.layout.shape
        positions_first, spread = None if along else False, positions_shape
        if along:
            spread = (*source_shape[:dim], positions_shape[dim], *source_shape[dim + 1 :])
            if any(n not in (1, m) for n, m in zip(positions_shape, spread, strict=True)):
                where = f"a tensor of shape {source_shape} along axis {dim}"
                raise ValueError(f"indices of shape {positions_shape} do not fit {where}")
        key = (value, (dim,), positions_first, (positions,), spread)
        scatter = _plan_scatter(self.name, _packed_spec(source), *key)
        return ScatterReducePlan(source, scatter, self.function, deterministic)


def check_value_broadcasts(value_spec: TensorSpec | type, shape: Shape) -> None:
    """Raise ValueError if a value does not broadcast to `shape`; extra leading 1s are allowed."""
    if not isinstance(value_spec, TensorSpec):
        return
    value = value_spec.layout.shape
    lead = max(len(value) - len(shape), 0)
    fits = set(value[:lead]) <= {1} and all(
        n in (1, m) for n, m in zip(reversed(value[lead:]), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(f"a value of shape {value} could not be broadcast to {shape}")


def check_write_operands(
    destination: TensorSpec, value: TensorSpec | type, others: Sequence[TensorSpec]
) -> None:
    """Raise an error for operands on several devices, or complex values for a real tensor."""
    values = [value] if isinstance(value, TensorSpec) else []
    check_same_device([destination, *values, *others])
    check_no_complex_to_real(destination, value)
