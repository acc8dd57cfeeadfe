"""Steps of a call that its plan does not contain: copies of operands, moves to the host, exports.

A step is noted before it is taken, so that a listener can still refuse it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Literal

from tensorlayout.layout import Layout
from tensorlayout.records import frozen
from tensorlayout.scopes import Scope
from tensorlayout.tensor import TensorSpec

# What is done with memory, in the words of traces; the last one says most. `view`: no element is
# moved. `export`: another library gets the memory. `copy`: elements are moved, each keeping its
# place in the layout. `relayout`: they are moved into another layout. `compute`: they are worked
# out.
Kind = Literal["view", "export", "copy", "relayout", "compute"]
KINDS: tuple[Kind, ...] = ("view", "export", "copy", "relayout", "compute")
COPIES: tuple[Kind, ...] = ("copy", "relayout")


@frozen
class Step:
    """Elements moved on the way; `instead`: how to be rid of it, where the specs do not say."""

    name: str
    source: TensorSpec
    result: TensorSpec
    instead: str = ""

    @property
    def kind(self) -> Kind:
        """``copy``, or ``relayout`` where elements change their places."""
        return copying(self.source.layout, self.result.layout)


@frozen
class Export:
    """Memory handed to another library, by the protocol `name`; no element is moved."""

    name: str
    source: TensorSpec

    @property
    def kind(self) -> Kind:
        """Always ``export``."""
        return "export"

    @property
    def result(self) -> TensorSpec:
        """The memory as it is."""
        return self.source

    @property
    def instead(self) -> str:
        """The advice in the error of `no_copies`."""
        return f'use a function of tensorlayout, or give no_copies allow=("{self.name}",)'


def copying(source: Layout, result: Layout) -> Kind:
    """What a copy from one layout into another is."""
    return "copy" if source.same_placement(result) else "relayout"


def distinct_bytes(spec: TensorSpec) -> int:
    """The **bytes** of the elements, those that a broadcast repeats counted once.

    Of windows that overlap, the bytes from the first to the last, if those are fewer.
    """
    layout, count = spec.layout, 1
    for parts in layout.parts:
        for extent, stride in parts:
            count *= extent if stride else 1
    slots = min(count, layout.size, layout.required_size - layout.lowest)
    return layout._bytes_of(slots, spec.dtype.itemsize)


# The blocks for which listeners hear of every call and step: empty else. What is in it comes and
# goes by itself, in other threads too, so there is no second variable to be kept in step.
watched: set[Any] = set()
# Says True around what is done for people's eyes: it is recorded, and never refused.
for_eyes: Scope[bool] = Scope("for_eyes")
listeners: list[Callable[[Step | Export], object]] = []


def note(step: Step | Export) -> None:
    """A step is about to be taken."""
    if watched:
        for listener in listeners:
            listener(step)


def note_export(name: str, spec: TensorSpec) -> None:
    """Note that our caller exports memory, unless a line of this package asked it to.

    The frame that asked decides. Libraries in C have none: then it is the one that called them.
    """
    asker = sys._getframe(1).f_back
    if asker is None or not asker.f_code.co_filename.startswith(_FOLDER):
        note(Export(name, spec))


_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
