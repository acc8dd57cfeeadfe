"""What `no_copies` refuses: copies and exports, with their line, layouts and advice."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from typing import Any

from tensorlayout.errors import CopyError, cut, named, shown
from tensorlayout.layout import Layout
from tensorlayout.plan import COPIES, distinct_bytes, events
from tensorlayout.support.context_blocks import Block, Scope
from tensorlayout.support.light_dataclasses import frozen
from tensorlayout.tensor import TensorSpec
from tensorlayout.tracing.record import Record


class CopyWarning(UserWarning):
    """A copy, a change of layout, or an export, in ``no_copies(warn=True)``.

    >>> import warnings
    >>> import tensorlayout as tl
    >>> with warnings.catch_warnings(record=True) as found, tl.no_copies(warn=True):
    ...     warnings.simplefilter("always", tl.CopyWarning)
    ...     y = tl.zeros((2, 3)).copy()
    >>> [warning.category.__name__ for warning in found]
    ['CopyWarning']
    """

    __module__ = "tensorlayout"


@frozen
class Refusal:
    """The options of `no_copies`; `exports`: exports are refused, too."""

    at_least: int
    warn: bool
    allow: frozenset[str]
    exports: bool

    def check(self, record: Record, instead: str, source: TensorSpec, result: TensorSpec) -> None:
        """Raise a CopyError, or warn, if `record` is refused; one of a single element never is.

        `instead`: the advice; empty where it follows from what is copied from `source` to `result`.
        """
        copies = record.kind in COPIES
        size = record.bytes_written + record.bytes_exported
        if (
            not (copies or (self.exports and record.kind == "export"))
            or record.output.size <= 1
            or size < self.at_least
            or record.name in self.allow
        ):
            return
        layouts = ", ".join(cut(layout) for layout in record.inputs[:4])
        if len(record.inputs) > 4:
            layouts += ", …"
        if copies:
            layouts += f" -> {cut(record.output)}"
        text = (
            f"{size:,} bytes of {record.dtype} would be {_DONE[record.kind]}"
            f" at {record.where or 'an unknown line'}, layout {layouts};"
            f" instead, {instead or _between(source, result)}"
        )
        if self.warn:
            place = (record.file, record.line) if record.stack else ("<unknown>", 1)
            warnings.warn_explicit(f"{record.name}: {text}", CopyWarning, *place, registry=_warned)
            return
        error = CopyError(text)
        error.record = record
        raise named(record.name, error)


refusals: Scope[Refusal] = Scope("no_copies", events.watched)


def refusing(at_least: Any, warn: bool, allow: Any, exports: bool) -> Block[Refusal, None]:
    """Return a block that refuses copies, and exports if asked; TypeError for a wrong argument."""
    try:
        size = operator.index(at_least)
    except TypeError:
        raise TypeError(f"at_least must be an integer, got {shown(at_least)}") from None
    names = None if isinstance(allow, str) or not isinstance(allow, Iterable) else frozenset(allow)
    if names is None or not all(isinstance(name, str) for name in names):
        raise TypeError(f"allow must be a collection of names, got {shown(allow)}")
    return refusals.giving(Refusal(size, bool(warn), names, bool(exports)), None)


_DONE = {
    "export": "handed to another library",
    "copy": "copied",
    "relayout": "moved into another layout",
}

# What Python shows once for each line has been shown.
_warned: dict[str | tuple[str, type[Warning], int], int] = {}


def _between(source: TensorSpec, result: TensorSpec) -> str:
    """Return the advice that makes a copy unnecessary, by what it would copy."""
    before, after = source.layout, result.layout
    if source.device != result.device:
        return f"make it on {result.device}, by device=, or go on where it is, on {source.device}"
    if distinct_bytes(source) < before.size * source.dtype.itemsize:
        return "use the view that repeats elements as it is"
    if before.same_placement(after):
        if source.dtype != result.dtype:
            return f"have the operand in {result.dtype}"
        return "use the operand itself, of which it is the same"
    if before.shape == after.shape:
        return f"have the operand in layout {cut(after)}"
    if before.reshape(after.shape) is not None:
        return "leave out copy=True: there is a view"
    return f"have the operand in layout {Layout.row_major(before.shape)}, which has such a view"
