"""Events inside a call, for blocks such as `trace`: copies of operands, and exports.

Listeners are notified before the event happens, so that they can still refuse it.
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

# Memory effect of an operation, weakest first. `view`: no element is moved. `export`: another
# library gets the memory. `copy`: elements are moved and keep their places in the layout.
# `relayout`: elements are moved into another layout. `compute`: elements are computed.
Kind = Literal["view", "export", "copy", "relayout", "compute"]
KINDS: tuple[Kind, ...] = ("view", "export", "copy", "relayout", "compute")
COPIES: tuple[Kind, ...] = ("copy", "relayout")


@frozen_dataclass
class Event:
    """A copy from one spec to another, or an export to another library, which moves no element.

    `instead`: advice how to avoid it, if the specs do not imply one. `exports`: True for an export
    by the protocol `name`.
    """

    name: str
    source: TensorSpec
    result: TensorSpec
    instead: str = ""
    exports: bool = False

    @property
    def kind(self) -> Kind:
        """Kind of the event: ``export``, ``copy``, or ``relayout`` if elements change places."""
        return "export" if self.exports else copy_trace_kind(self.source.layout, self.result.layout)


def copy_trace_kind(source: Layout, result: Layout) -> Kind:
    """Return the trace kind of a copy from one layout to another."""
    return "copy" if source.same_placement(result) else "relayout"


def distinct_bytes(spec: TensorSpec) -> int:
    """Return the **bytes** of the elements, counting elements that a broadcast repeats once.

    For overlapping windows, it is at most the bytes from the first slot to the last.
    """
    layout, count = spec.layout, 1
    for parts in layout.parts:
        for extent, stride in parts:
            count *= extent if stride else 1
    slots = min(count, layout.size, layout.required_size - layout.lowest)
    return layout._slots_to_bytes(slots, spec.dtype.itemsize)


# Blocks, of all threads, that want every call and event; empty without any, which is the only
# check on the fast path. Blocks add and remove themselves, so no second flag has to be in step.
watched: set[Any] = set()
# True while a tensor is printed or drawn: such copies are recorded, and never refused.
display_only: Scope[bool] = Scope("display_only")
listeners: list[Callable[[Event], object]] = []


def notify_listeners(event: Event) -> None:
    """Notify listeners of an event that is about to happen; they may raise an error."""
    if watched:
        for listener in listeners:
            listener(event)


def notify_export(name: str, spec: TensorSpec, *, for_internal_callers: bool = False) -> None:
    """Notify listeners that our caller exports memory, unless it was called by this package.

    The frame that called our caller decides, except with `for_internal_callers`. Libraries in C
    have no frames, so the Python line that called them decides.
    """
    asker = sys._getframe(1).f_back
    if for_internal_callers or asker is None or not asker.f_code.co_filename.startswith(_FOLDER):
        instead = f'use a function of tensorlayout, or give no_copies allow=("{name}",)'
        notify_listeners(Event(name, spec, spec, instead, exports=True))


# The empty last part gives the path a separator at its end; without it, files of a package whose
# name begins with ours would count as ours.
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
