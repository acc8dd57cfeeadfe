"""Plans of values combined with what is at positions that are data, in a new tensor."""

from __future__ import annotations

from dataclasses import dataclass

from tensorlayout import dtypes
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan
from tensorlayout.plan.gathering import Reach, check_fits, reach_into, shape_read
from tensorlayout.plan.rules import one_device
from tensorlayout.tensor import TensorSpec

Shape = tuple[int, ...]

# Of so many values of one position or more, each so many are combined first, of these results each
# so many again, and so on; then, one after the other, the results, those of most values first, and
# the values that are left. So no thread combines them all. The kernels have the same number.
RUN = 256


@dataclass(frozen=True, slots=True, eq=False)
class CombinePlan(Plan):
    """A copy of the source, each value combined with the element at its position."""

    kind = "scatter_reduce"

    name: str
    ufunc: str  # by the name that NumPy and the kernels have for it
    source: TensorSpec
    value: TensorSpec
    positions: TensorSpec
    shape: Shape  # that the value is broadcast to
    reach: Reach
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Combine:
    """Values combined in index order and runs, so that sums of floats are those of every device."""

    name: str
    ufunc: str
    dtypes: str

    def plan(
        self, source: TensorSpec, value: TensorSpec, positions: TensorSpec, dim: int, along: bool
    ) -> CombinePlan:
        """The plan; packed in the order of the source, in its dtype.

        `along`: positions of its own for every line along `dim`, sizes of 1 broadcast; else the
        same for all.
        """
        device = one_device(self.name, [source, value, positions])
        self._check_dtypes(source, value)
        layout = Layout.packed(source.layout.shape, source.layout.minor_to_major)
        if along:
            shape = self._shape_along(source.layout.shape, positions.layout.shape, dim)
            kept = tuple((d, d) for d in range(layout.ndim) if d != dim)
            reach = Reach((dim,), (dim,), kept, layout.minor_to_major, along=True)
        else:
            spread = positions.layout.shape
            in_index_order = tuple(range(len(spread) - 1, -1, -1))
            reach = reach_into(layout, (dim,), False, in_index_order)
            shape = shape_read(layout, spread, reach)
        check_fits(self.name, value.layout.shape, shape)
        result = TensorSpec(source.dtype, layout, device)
        return CombinePlan(self.name, self.ufunc, source, value, positions, shape, reach, result)

    def _check_dtypes(self, source: TensorSpec, value: TensorSpec) -> None:
        for spec in (source, value):
            if not dtypes.in_category(spec.dtype, self.dtypes):
                msg = f"{self.name}: only {self.dtypes} dtypes are allowed, got {spec.dtype}"
                raise TypeError(msg)
        if dtypes.promote(source.dtype, value.dtype) != source.dtype:
            msg = (
                f"{self.name}: updates of {value.dtype} do not fit a tensor of {source.dtype};"
                " convert one with astype()"
            )
            raise TypeError(msg)

    def _shape_along(self, whole: Shape, given: Shape, dim: int) -> Shape:
        """The shape of positions in every line along `dim`."""
        lines = tuple(given[dim] if d == dim else n for d, n in enumerate(whole))
        if any(n not in (1, m) for n, m in zip(given, lines, strict=True)):
            msg = (
                f"{self.name}: indices of shape {given} do not fit a tensor of shape {whole}"
                f" along axis {dim}"
            )
            raise ValueError(msg)
        return lines
