"""`no_copies`: the check of copies and exports, and advice in its errors."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from typing import Any

from tensorlayout.errors import CopyError, prefix_operation_name, short_repr
from tensorlayout.layout import Layout, order_name, short_layout_text
from tensorlayout.plan import COPIES, distinct_bytes, events
from tensorlayout.support.context_blocks import Scope, ScopeContext
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import TensorSpec
from tensorlayout.tracing.record import Record
from tensorlayout.tracing.table import format_short_layouts


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
        layouts = format_short_layouts(record.inputs, _MAX_LAYOUT)
        if copies:
            layouts += f" -> {short_layout_text(record.output, _MAX_LAYOUT)}"
        text = (
            f"{size:,} bytes of {record.dtype} would be {_ACTION_BY_KIND[record.kind]}"
            f" at {record.where or 'an unknown line'}, layout {layouts};"
            f" instead, {advice or _copy_advice(record.name, source, result)}"
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


# Longest text of a layout in an error.
_MAX_LAYOUT = 100
# Labels of row-major layouts, by labels of the same shape with the channels last.
_CHANNELS_FIRST = {"HWC": "CHW", "NHWC": "NCHW", "NDHWC": "NCDHW"}


def _copy_advice(name: str, source: TensorSpec, result: TensorSpec) -> str:
    """Return advice on how to avoid a copy from `source` to `result` in the operation `name`."""
    source_layout, result_layout = source.layout, result.layout
    if source.device != result.device:
        return f"create it on {result.device} with device=, or keep working on {source.device}"
    # The source is a broadcast view, and the copy would write each repetition.
    if source_layout.is_broadcast and distinct_bytes(source) < distinct_bytes(result):
        return "use the broadcast view itself"
    if source_layout.same_placement(result_layout):
        if source.dtype != result.dtype:
            return f"create the operand in {result.dtype}, and leave out the conversion"
        return "use the operand itself, whose elements and layout are the same"
    if source_layout.shape == result_layout.shape:
        return f"create the operand in {_format_target(result_layout, source_layout)}"
    if source_layout.reshape(result_layout.shape) is not None:
        return f"use reshape() to {_format_shape(result_layout)} without copy=True, which is a view"
    target = _format_target(Layout.row_major(source_layout.shape), source_layout)
    advice = f"create the operand in {target}, whose reshape is a view"
    axes = _merged_trailing_axes(source_layout.shape, result_layout.shape)
    is_reduction = axes and name == "reshape" and source_layout.is_strided
    return f"{advice}, or reduce over axis={axes}" if is_reduction else advice


def _format_shape(layout: Layout) -> str:
    return str(layout.shape).replace(" ", "")


def _format_target(layout: Layout, source: Layout) -> str:
    """Return the text of a layout in which to create an operand that has the layout `source`."""
    if not layout.is_row_major or layout.slot_bits is not None:
        return order_name(layout) or f"layout {short_layout_text(layout, _MAX_LAYOUT)}"
    return _CHANNELS_FIRST.get(order_name(source) or "", "row-major order")


def _merged_trailing_axes(shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes if a reshape only merges trailing axes into one; otherwise ().

    A merge of all axes gives (), too: it rarely precedes a reduction. So do axes of which only one
    has several elements.
    """
    kept = len(result) - 1
    is_merge = 0 < kept < len(shape) - 1 and shape[:kept] == result[:kept]
    if not is_merge or sum(size > 1 for size in shape[kept:]) < 2:
        return ()
    return tuple(range(kept, len(shape)))
