"""Plans of writes at positions that are data, and of values combined with what is there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tensorlayout import dtypes
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, Write, backend, planned
from tensorlayout.plan.copy import AssignPlan, CopyPlan
from tensorlayout.plan.gather import IndexMap, Shape, spread_of
from tensorlayout.plan.rules import one_device, refuse_complex
from tensorlayout.tensor import Tensor, TensorSpec

# Of so many values of one position or more, each so many are combined first, of these results each
# so many again, and so on; then, one after the other, the results, those of most values first, and
# the values that are left. So no thread combines them all. The kernels have the same number.
RUN = 256

# Values that are written one after the other: at 5 ns each, so many take a day.
_MOST = 2**44


@planned
class ScatterPlan(Plan):
    """A write of values, broadcast to `shape`, at given positions of the destination, `result`."""

    kind = "scatter"
    destinations = 1
    partial = True

    name: str
    result: TensorSpec
    value: TensorSpec | type
    positions: tuple[TensorSpec, ...]
    shape: Shape
    index_map: IndexMap


@planned
class Scatter:
    """Writes by integer tensors, in index order: of equal positions the last one wins.

    The value is broadcast to what `Gather` would give with the same key.
    """

    name: str = "__setitem__"

    def plan(
        self,
        destination: TensorSpec,
        value: TensorSpec | type,
        dims: tuple[int, ...],
        front: bool | None,
        *positions: TensorSpec,
    ) -> ScatterPlan:
        check_writable_by(destination, value, positions)
        spread = spread_of(positions)
        return _scattered(self.name, destination, value, dims, front, positions, spread)


def _scattered(
    name: str,
    destination: TensorSpec,
    value: TensorSpec | type,
    dims: tuple[int, ...],
    front: bool | None,
    positions: tuple[TensorSpec, ...],
    spread: Shape,
) -> ScatterPlan:
    """Return the plan for positions broadcast to `spread`, which are met in index order."""
    group = tuple(reversed(range(len(spread))))
    found = IndexMap.into(destination.layout, dims, front, group)
    shape = found.shape(destination.layout, spread)
    check_fits(value, shape)
    if prod(shape) > _MOST:  # positions and values that are broadcast need no memory for each
        raise ValueError(f"{prod(shape)} values are more than {_MOST}, which would take days")
    return ScatterPlan(name, destination, value, positions, shape, found)


@planned
class CopyScatterPlan(Plan):
    """A copy of a tensor with values written at positions.

    `key`: what `Scatter` plans them from, behind the destination.
    """

    kind = "copy_scatter"

    source: TensorSpec
    scatter: ScatterPlan
    key: tuple[Any, ...]
    destinations: int = 0

    @property
    def result(self) -> TensorSpec:
        return self.scatter.result

    def into(self, destination: TensorSpec) -> CopyScatterPlan:
        scatter = Scatter(self.scatter.name).plan(destination, *self.key)
        return CopyScatterPlan(self.source, scatter, self.key, 1)


@planned
class CopyScatter:
    """A copy and a scatter: of the source, whose order it has, and the rest of `Scatter`'s key."""

    name: str

    def plan(self, source: TensorSpec, *key: Any) -> CopyScatterPlan:
        result = _packed(source)
        return CopyScatterPlan(source, Scatter(self.name).plan(result, *key), key)


@planned
class ScatterReducePlan(Plan):
    """A new copy of the source, each value combined with the element at its position.

    `function`: by the name that NumPy and the kernels have for it.
    """

    kind = "scatter_reduce"

    source: TensorSpec
    scatter: ScatterPlan
    function: str

    @property
    def result(self) -> TensorSpec:
        return self.scatter.result


def _packed(spec: TensorSpec) -> TensorSpec:
    layout = Layout._packed(spec.layout.shape, spec.layout.minor_to_major)
    return TensorSpec(spec.dtype, layout, spec.device)


def after_copy(plan: CopyScatterPlan | ScatterReducePlan, write: Write) -> Write:
    """Return ``write(out, source, *others)``, which copies the source into `out` before `write`."""
    name, source, result = plan.scatter.name, plan.source, plan.result
    copying = AssignPlan(name, source, result) if plan.destinations else CopyPlan(source, result)
    copy: Write = backend(result.device).carry_out(copying)

    def after(out: Tensor, x: Tensor, *others: Any) -> None:
        copy(out, x)
        write(out, *others)

    return after


@planned
class ScatterReduce:
    """Values combined in index order and runs, so that sums of floats are those of every device.

    `function`: "add", "minimum" or "maximum". In the order and dtype of the source. A call with
    `along` has positions for every line along `dim`, sizes of 1 broadcast; else the same for all.
    """

    name: str
    function: str
    dtypes: str

    def plan(
        self, source: TensorSpec, value: TensorSpec, positions: TensorSpec, dim: int, along: bool
    ) -> ScatterReducePlan:
        one_device([source, value, positions])
        for spec in (source, value):
            if not dtypes.in_category(spec.dtype, self.dtypes):
                raise TypeError(f"only {self.dtypes} dtypes are allowed, got {spec.dtype}")
        if dtypes.promote(source.dtype, value.dtype) != source.dtype:
            raise TypeError(
                f"updates of {value.dtype} do not fit a tensor of {source.dtype};"
                " convert one with astype()"
            )
        whole, given = source.layout.shape, positions.layout.shape
        front, spread = None if along else False, given
        if along:
            spread = (*whole[:dim], given[dim], *whole[dim + 1 :])
            if any(n not in (1, m) for n, m in zip(given, spread, strict=True)):
                where = f"a tensor of shape {whole} along axis {dim}"
                raise ValueError(f"indices of shape {given} do not fit {where}")
        key = (value, (dim,), front, (positions,), spread)
        scatter = _scattered(self.name, _packed(source), *key)
        return ScatterReducePlan(source, scatter, self.function)


def check_fits(given: TensorSpec | type, shape: Shape) -> None:
    """Raise ValueError where a value does not broadcast to `shape`; ones may lead."""
    if not isinstance(given, TensorSpec):
        return
    value = given.layout.shape
    lead = max(len(value) - len(shape), 0)
    fits = set(value[:lead]) <= {1} and all(
        n in (1, m) for n, m in zip(reversed(value[lead:]), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(f"a value of shape {value} could not be broadcast to {shape}")


def check_writable_by(
    destination: TensorSpec, value: TensorSpec | type, others: Sequence[TensorSpec]
) -> None:
    """Raise an error for operands of several devices, or complex ones for a real tensor."""
    values = [value] if isinstance(value, TensorSpec) else []
    one_device([destination, *values, *others])
    refuse_complex(destination, value)
