"""What a call did besides what its plan says: copies of operands, moves to the host and back.

A backend notes such a step where it takes it; `noted` hands those of a block to who asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from tensorlayout.dtypes import DType
from tensorlayout.layout import Layout


@dataclass(frozen=True, slots=True)
class Step:
    """Elements moved on the way; `kind` as in a record of a trace: ``copy`` or ``layout``."""

    name: str
    kind: str
    source: Layout
    result: Layout
    dtype: DType
    bytes_read: int
    bytes_written: int


_current: ContextVar[list[Step] | None] = ContextVar("steps", default=None)


@contextmanager
def noted() -> Iterator[list[Step]]:
    """The steps that this thread takes inside the block."""
    taken: list[Step] = []
    token = _current.set(taken)
    try:
        yield taken
    finally:
        _current.reset(token)


def note(step: Step) -> None:
    """A step is taken."""
    taken = _current.get()
    if taken is not None:
        taken.append(step)
