"""`no_copies`: the check of copies and exports, and advice in its errors."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from typing import Any

from tensorlayout.errors import CopyError, prefix_operation_name, short_repr, truncate
from tensorlayout.layout import Layout
from tensorlayout.plan import COPIES, distinct_bytes, events
from tensorlayout.support.context_blocks import Scope, ScopeContext
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import TensorSpec
from tensorlayout.tracing.record import Record


class CopyWarning(UserWarning):
    """Warning about a copy, change of layout, or export, in ``no_copies(warn=True)``.

    >>> import warnings
    >>> import tensorlayout as tl
    >>> with warnings.catch_warnings(record=True) as found, tl.no_copies(warn=True):
    ...     warnings.simplefilter("always", tl.CopyWarning)
    ...     y = tl.zeros((2, 3)).copy()
    >>> [warning.category.__name__ for warning in found]
    ['CopyWarning']
    """

    __module__ = "tensorlayout"


@frozen_dataclass
class Refusal:
    """Options of `no_copies`."""

    at_least: int
    warn: bool
    allow: frozenset[str]
    exports: bool

    def check_record(
        self, record: Record, advice: str, source: TensorSpec, result: TensorSpec
    ) -> None:
        """Raise CopyError, or warn by CopyWarning, if `record` is refused.

        Single elements never are.

        `advice`: what to do instead; if empty, it is derived from the specs `source` and `result`.
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
        layouts = ", ".join(truncate(layout) for layout in record.inputs[:4])
        if len(record.inputs) > 4:
            layouts += ", …"
        if copies:
            layouts += f" -> {truncate(record.output)}"
        text = (
            f"{size:,} bytes of {record.dtype} would be {_ACTION_BY_KIND[record.kind]}"
            f" at {record.where or 'an unknown line'}, layout {layouts};"
            f" instead, {advice or _copy_advice(source, result)}"
        )
        if self.warn:
            file_and_line = (record.file, record.line) if record.stack else ("<unknown>", 1)
            # `warnings.warn` counts frames to find the line, and their number differs between
            # calls.
            warnings.warn_explicit(
                f"{record.name}: {text}", CopyWarning, *file_and_line, registry=_warning_registry
            )
            return
        error = CopyError(text)
        error.record = record
        raise prefix_operation_name(record.name, error)


refusal_scope: Scope[Refusal] = Scope("no_copies", events.watched)


def refuse_copies(
    at_least: Any, warn: bool, allow: Any, exports: bool
) -> ScopeContext[Refusal, None]:
    """Return a block that refuses copies, and optionally exports; checks the arguments."""
    try:
        size = operator.index(at_least)
    except TypeError:
        raise TypeError(f"at_least must be an integer, got {short_repr(at_least)}") from None
    # A str is a collection, too: of the letters of one name.
    names = None if isinstance(allow, str) or not isinstance(allow, Iterable) else frozenset(allow)
    if names is None or not all(isinstance(name, str) for name in names):
        raise TypeError(f"allow must be a collection of names, got {short_repr(allow)}")
    return refusal_scope.scope_with_target(Refusal(size, bool(warn), names, bool(exports)), None)


_ACTION_BY_KIND = {
    "export": "handed to another library",
    "copy": "copied",
    "relayout": "moved into another layout",
}

# Python's registry of shown warnings, by which it shows each once per line.
_warning_registry: dict[str | tuple[str, type[Warning], int], int] = {}


def _copy_advice(source: TensorSpec, result: TensorSpec) -> str:
    """Return advice on how to avoid a copy from `source` to `result`."""
    source_layout, result_layout = source.layout, result.layout
    if source.device != result.device:
        return f"make it on {result.device}, by device=, or go on where it is, on {source.device}"
    # The source is a broadcast view, and the copy would write each repetition.
    if distinct_bytes(source) < source_layout.size * source.dtype.itemsize:
        return "use the view that repeats elements as it is"
    if source_layout.same_placement(result_layout):
        if source.dtype != result.dtype:
            return f"have the operand in {result.dtype}"
        return "use the operand itself, of which it is the same"
    if source_layout.shape == result_layout.shape:
        return f"have the operand in layout {truncate(result_layout)}"
    if source_layout.reshape(result_layout.shape) is not None:
        return "leave out copy=True: there is a view"
    return (
        f"have the operand in layout {Layout.row_major(source_layout.shape)}, which has such a view"
    )
