"""Plans of reads at integer positions, and the mapping of positions to dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.rules import broadcast_shape, check_same_device, vote_result_layout
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import TensorSpec

Shape = tuple[int, ...]


@frozen_dataclass
class IndexMap:
    """Mapping of positions to dimensions: some dimensions are indexed, the others are kept.

    Example: ``x[:, i]`` with x of rank 3 and i of rank 2 has `dims` (1,), `index_dims` (1, 2) and
    `kept` ((0, 0), (2, 3)).

    Attributes:
        dims: dimensions of the tensor that positions index.
        index_dims: consecutive dimensions of the result that come from the positions.
        kept: for each other dimension its number in the tensor and in the result.
        order: order of the result, minor to major; `index_dims` are consecutive in it, too.
        per_line: True if each line along the dimension has its own positions.

    """

    dims: tuple[int, ...]
    index_dims: tuple[int, ...]
    kept: tuple[tuple[int, int], ...]
    order: tuple[int, ...]
    per_line: bool = False

    @classmethod
    def for_positions(
        cls,
        layout: Layout,
        dims: tuple[int, ...],
        positions_first: bool | None,
        group: tuple[int, ...],
    ) -> IndexMap:
        """Map positions for `dims`.

        With `positions_first` their dimensions come first in the result.

        `group`: the order of the positions' dimensions, minor to major. In the result's memory they
        take the place of the slowest of `dims`, or with `positions_first` are the slowest of all.
        `positions_first` is None if each line along the one dimension has its own positions; then
        the order is the layout's.
        """
        # NumPy puts the dimensions of positions first if a slice is between the index arrays.
        others = [d for d in range(layout.ndim) if d not in dims]
        if positions_first is None:
            remaining_dims = tuple((d, d) for d in others)
            return cls(dims, dims, remaining_dims, layout.minor_to_major, per_line=True)
        # `place` is the first dimension of the positions in the result, `after` the place of each
        # other dimension: 1 and {0: 0, 2: 3} in the class's example.
        place = 0 if positions_first else len([d for d in others if d < dims[0]])
        count = len(group)
        after = {d: i if i < place else i + count for i, d in enumerate(others)}
        minor_group = [place + d for d in group]
        slowest = max(dims, key=layout.minor_to_major.index)
        order: list[int] = []
        for d in layout.minor_to_major:
            if d in after:
                order.append(after[d])
            elif d == slowest and not positions_first:
                order += minor_group
        if positions_first:
            order += minor_group
        index_dims = tuple(range(place, place + count))
        return cls(dims, index_dims, tuple(after.items()), tuple(order))

    def result_shape(self, layout: Layout, positions_shape: Shape) -> Shape:
        """Return the shape of the elements read at positions of shape `positions_shape`."""
        if self.per_line:
            return positions_shape
        sizes = {result: layout.shape[d] for d, result in self.kept}
        sizes |= dict(zip(self.index_dims, positions_shape, strict=True))
        return tuple([sizes[d] for d in range(len(sizes))])

    def positions_shape(self, result_shape: Shape) -> Shape:
        """Return the shape of the positions, for a result of `result_shape`."""
        return result_shape if self.per_line else tuple(result_shape[d] for d in self.index_dims)


def positions_broadcast_shape(positions: Sequence[TensorSpec]) -> Shape:
    """Return the shape to which positions broadcast. Raises IndexError if there is none."""
    shapes = [p.layout.shape for p in positions]
    try:
        return broadcast_shape(shapes)
    except ValueError:
        shapes_text = truncate(" ".join(map(short_repr, shapes)), 500)
        msg = f"index tensors of shapes {shapes_text} could not be broadcast together"
        raise IndexError(msg) from None


@plan_dataclass
class GatherPlan(Plan):
    """A new tensor of the elements at given positions.

    `clamps`: a position out of bounds means the nearest valid one.
    """

    kind = "gather"

    name: str
    source: TensorSpec
    positions: tuple[TensorSpec, ...]
    result: TensorSpec
    index_map: IndexMap
    clamps: bool = False
    destinations: int = 0


@plan_dataclass
class Gather:
    """Reads at integer positions, packed in the order of `IndexMap.for_positions`.

    A position out of bounds is an IndexError, or if the operation `clamps`, the nearest valid one.
    """

    name: str = "__getitem__"
    clamps: bool = False

    def plan(
        self,
        source: TensorSpec,
        dims: tuple[int, ...],
        positions_first: bool | None,
        *positions: TensorSpec,
    ) -> GatherPlan:
        device = check_same_device([source, *positions])
        spread = positions_broadcast_shape(positions)
        voters = [p.layout for p in positions if p.layout.shape == spread]
        group = vote_result_layout(spread, voters).minor_to_major
        index_map = IndexMap.for_positions(source.layout, dims, positions_first, group)
        layout = Layout._packed(index_map.result_shape(source.layout, spread), index_map.order)
        result = TensorSpec(source.dtype, layout, device)
        return GatherPlan(self.name, source, positions, result, index_map, self.clamps)
