"""Plans of writes at positions that are data.

Values replace what is there, in a tensor that is given or in a copy; or are combined with it.
"""

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


@planned
class Scatter:
    """Writes by integer tensors, in index order: of equal positions the last one wins."""

    name: str = "__setitem__"

    def plan(
        self,
        destination: TensorSpec,
        value: TensorSpec | type,
        dims: tuple[int, ...],
        front: bool | None,
        *positions: TensorSpec,
    ) -> ScatterPlan:
        """The plan; the value is broadcast to what reading at the positions would give."""
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
    """The plan for positions broadcast to `spread`, which are met in index order."""
    group = tuple(reversed(range(len(spread))))
    found = IndexMap.into(destination.layout, dims, front, group)
    shape = found.shape(destination.layout, spread)
    check_fits(value, shape)
    if prod(shape) > _MOST:  # positions and values that are broadcast need no memory for each
        msg = f"{prod(shape)} values are more than {_MOST}, which would take days"
        raise ValueError(msg)
    return ScatterPlan(name, destination, value, positions, shape, found)


@planned
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


@planned
class CopyScatter:
    """A copy and a scatter: the destination, given first, shares no memory with the others."""

    name: str

    def plan(self, source: TensorSpec, destination: TensorSpec, *key: Any) -> CopyScatterPlan:
        """The plan; `key`: the rest of the key of `Scatter`."""
        one_device([source, destination])
        return CopyScatterPlan(source, Scatter(self.name).plan(destination, *key))


@planned
class ScatterReducePlan(CopyScatterPlan):
    """A new copy of the source, each value combined with the element at its position.

    `function`: by the name that NumPy and the kernels have for it.
    """

    kind = "scatter_reduce"
    given = False

    function: str


def after_copy(plan: CopyScatterPlan, write: Write) -> Write:
    """``write(out, *others)``, once the source has been copied into `out`: it comes before them."""
    name, source, result = plan.scatter.name, plan.source, plan.result
    copying = AssignPlan(name, source, result) if plan.given else CopyPlan(source, result)
    copy: Write = backend(result.device).carry_out(copying)

    def after(out: Tensor, x: Tensor, *others: Any) -> None:
        copy(out, x)
        write(out, *others)

    return after


@planned
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
        result, given = TensorSpec(source.dtype, layout, device), positions.layout.shape
        spread = self._lines(layout.shape, given, dim) if along else given
        front = None if along else False
        scatter = _scattered(self.name, result, value, (dim,), front, (positions,), spread)
        return ScatterReducePlan(source, scatter, self.function)

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
        msg = f"a value of shape {value} could not be broadcast to {shape}"
        raise ValueError(msg)


def check_writable_by(
    destination: TensorSpec, value: TensorSpec | type, others: Sequence[TensorSpec]
) -> None:
    """One device for all, and nothing complex into a real tensor."""
    values = [value] if isinstance(value, TensorSpec) else []
    one_device([destination, *values, *others])
    refuse_complex(destination, value)
