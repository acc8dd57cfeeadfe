"""Plans of basic indexing, by integers, slices, Ellipsis and None: views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorlayout.plan.results import named
from tensorlayout.tensor import TensorSpec
from tensorlayout.words import cut, shown

# One entry per dimension of a basic index, without where it starts: an integer, a slice of `count`
# indices with a step, or a new dimension.
Cut = tuple[int, int] | str


@dataclass(frozen=True, slots=True, eq=False)
class IndexPlan:
    """A basic index: a view. Where it begins is data, so a thousand slices have one plan."""

    source: TensorSpec
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Basic indexing by integers, slices, Ellipsis and None."""

    name: str = "__getitem__"

    def plan(self, source: TensorSpec, *cuts: Cut) -> IndexPlan:
        """The plan of the view; its layout is that of the same cuts from the lowest start."""
        key = tuple(_representative(cut) for cut in cuts)
        layout = named(self.name, source.layout.slice, key)
        if layout is None:
            msg = (
                f"{self.name}: layout {cut(source.layout)} has no view of this slice; copy it first"
            )
            raise ValueError(msg)
        return IndexPlan(source, TensorSpec(source.dtype, layout, source.device))


@dataclass(frozen=True, slots=True, eq=False)
class RowPlan:
    """One slice along the first dimension: a view."""

    name: str
    source: TensorSpec
    result: TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Indexing by one integer, the commonest index, on a shorter path than others."""

    name: str = "__getitem__"

    def plan(self, source: TensorSpec) -> RowPlan:
        """The plan of the view."""
        if not source.layout.shape:
            raise too_many(self.name, 1, ())
        if source.layout.shape[0] == 0:
            msg = f"{self.name}: no index is inside dimension 0 of shape {source.layout.shape}"
            raise IndexError(msg)
        result = Index(self.name).plan(source, "int", *_whole(source)).result
        return RowPlan(self.name, source, result)


def too_many(name: str, count: int, shape: tuple[int, ...]) -> IndexError:
    """The error for a key of `count` entries, more than `shape` has dimensions."""
    entries = "1 index is" if count == 1 else f"{count} indices (or Ellipses) are"
    return IndexError(f"{name}: {entries} too many for shape {shape}")


def outside(name: str, at: int, dim: int, shape: tuple[int, ...]) -> IndexError:
    """The error for an integer outside a dimension."""
    return IndexError(f"{name}: index {shown(at)} is outside dimension {dim} of shape {shape}")


def _whole(source: TensorSpec) -> list[Cut]:
    return [(n, 1) for n in source.layout.shape[1:]]


def _representative(cut: Cut) -> Any:
    if isinstance(cut, str):
        return None if cut == "new" else 0
    count, step = cut
    if step > 0:
        return slice(0, (count - 1) * step + 1 if count else 0, step)
    return slice((count - 1) * -step, None, step) if count else slice(0, 0, 1)
