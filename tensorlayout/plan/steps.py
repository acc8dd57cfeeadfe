"""What a call did besides what its plan says: copies of operands, moves to the host and back.

A backend notes such a step where it takes it; `noted` hands those of a block to who asks.
"""

from __future__ import annotations

from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout
from tensorlayout.records import frozen
from tensorlayout.scopes import Block, Scope
from tensorlayout.tensor import TensorSpec


@frozen
class Step:
    """Elements moved on the way; `kind` as in a record of a trace: ``copy`` or ``layout``."""

    name: str
    kind: str
    source: Layout
    result: Layout
    dtype: DType
    bytes_read: int
    bytes_written: int


_steps: Scope[list[Step]] = Scope("steps")


def noted() -> Block[list[Step], list[Step]]:
    """The steps that this thread takes inside the block."""
    return _steps.saying([])


def note(step: Step) -> None:
    """A step is taken."""
    taken = _steps.get()
    if taken is not None:
        taken.append(step)


def step_between(name: str, source: TensorSpec, result: TensorSpec) -> Step:
    """A copy from one spec to another: ``layout`` where elements change their places."""
    kind = "copy" if source.layout.same_placement(result.layout) else "layout"
    moved = (each.layout.size * each.dtype.itemsize for each in (source, result))
    return Step(name, kind, source.layout, result.layout, result.dtype, *moved)
