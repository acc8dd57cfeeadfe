"""Events within a call that blocks such as `trace` observe: intermediate copies, and exports.

Listeners are notified before an event, so that they can still refuse it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Literal

from tensorlayout.layout import Layout
from tensorlayout.support.context_blocks import Scope
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import TensorSpec

# What is done with memory, in the words of traces; the last one says most. `view`: no element is
# moved. `export`: another library gets the memory. `copy`: elements are moved, each keeping its
# place in the layout. `relayout`: they are moved into another layout. `compute`: they are worked
# out.
Kind = Literal["view", "export", "copy", "relayout", "compute"]
KINDS: tuple[Kind, ...] = ("view", "export", "copy", "relayout", "compute")
COPIES: tuple[Kind, ...] = ("copy", "relayout")


@frozen_dataclass
class Event:
    """A copy from one spec to another, or an export to another library, which moves no element.

    `instead`: how to avoid it, if the specs do not say. `exports`: True for an export by the
    protocol `name`.
    """

    name: str
    source: TensorSpec
    result: TensorSpec
    instead: str = ""
    exports: bool = False

    @property
    def kind(self) -> Kind:
        """``export``, ``copy``, or ``relayout`` if elements change their order in memory."""
        return "export" if self.exports else copy_trace_kind(self.source.layout, self.result.layout)


def copy_trace_kind(source: Layout, result: Layout) -> Kind:
    """Return the trace kind of a copy from one layout to another."""
    return "copy" if source.same_placement(result) else "relayout"


def distinct_bytes(spec: TensorSpec) -> int:
    """Return the **bytes** of the elements; broadcast elements count once.

    For overlapping windows, at most the bytes from the lowest to the highest element.
    """
    layout, count = spec.layout, 1
    for parts in layout.parts:
        for extent, stride in parts:
            count *= extent if stride else 1
    slots = min(count, layout.size, layout.required_size - layout.lowest)
    return layout._slots_to_bytes(slots, spec.dtype.itemsize)


# The blocks for which listeners hear of every call and event: empty else. What is in it comes and
# goes by itself, in other threads too, so there is no second variable to be kept in step.
watched: set[Any] = set()
# Says True around what is done for people's eyes: it is recorded, and never refused.
display_only: Scope[bool] = Scope("display_only")
listeners: list[Callable[[Event], object]] = []


def notify_listeners(event: Event) -> None:
    """Notify all listeners of an event that is about to happen."""
    if watched:
        for listener in listeners:
            listener(event)


def notify_export(name: str, spec: TensorSpec, *, always: bool = False) -> None:
    """Notify listeners of an export, unless this package itself asked for it.

    The requesting frame decides, except with `always`. Libraries in C have no frame; then the frame
    that called the library decides.
    """
    asker = sys._getframe(1).f_back
    if always or asker is None or not asker.f_code.co_filename.startswith(_FOLDER):
        instead = f'use a function of tensorlayout, or give no_copies allow=("{name}",)'
        notify_listeners(Event(name, spec, spec, instead, exports=True))


_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
