"""Errors and warnings of `no_copies` for copies and exports: line, layouts and advice."""

from __future__ import annotations

import warnings

from tensorlayout.layout import Layout
from tensorlayout.plan.base import Plan
from tensorlayout.plan.steps import COPIES, Export, Step, distinct_bytes
from tensorlayout.records import frozen
from tensorlayout.tensor import TensorSpec
from tensorlayout.tracing.record import Record
from tensorlayout.words import CopyError, cut, named


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

    def concerns(self, record: Record) -> bool:
        """Return whether this record is refused; one of a single element never is."""
        kinds = (*COPIES, "export") if self.exports else COPIES
        meant = record.kind in kinds and record.output.size > 1
        wide = record.bytes_written + record.bytes_exported >= self.at_least
        return meant and wide and record.name not in self.allow

    def of(self, record: Record, instead: str) -> None:
        """Raise a CopyError, or warn, at the line of the record."""
        layouts = ", ".join(cut(layout) for layout in record.inputs[:4])
        if len(record.inputs) > 4:
            layouts += ", …"
        if record.kind in COPIES:
            layouts += f" -> {cut(record.output)}"
        text = (
            f"{record.bytes_written + record.bytes_exported:,} bytes of {record.dtype} would be"
            f" {_DONE[record.kind]} at {record.where or 'an unknown line'}, layout {layouts};"
            f" instead, {instead}"
        )
        if self.warn:
            where = record.stack[0] if record.stack else None
            place = (where.file, where.number) if where else ("<unknown>", 1)
            warnings.warn_explicit(f"{record.name}: {text}", CopyWarning, *place, registry=_warned)
            return
        error = CopyError(text)
        error.record = record
        raise named(record.name, error)


_DONE = {
    "export": "handed to another library",
    "copy": "copied",
    "relayout": "moved into another layout",
}

# What Python shows once for each line has been shown.
_warned: dict[str | tuple[str, type[Warning], int], int] = {}


def instead_of(step: Step | Export) -> str:
    """Return the advice that makes this step unnecessary."""
    return step.instead or _between(step.source, step.result)


def instead_of_plan(plan: Plan, sources: list[TensorSpec]) -> str:
    """What to do so that a call with these operands need not copy."""
    found = _INSTEAD.get(plan.kind)
    return found or _between(sources[0], plan.result)


# By the kind of plan, where two layouts do not say it.
_INSTEAD = {
    "assign": "work the value out in the place that it is written to",
    "create": "give an array in this machine's byte order, at strides of whole elements",
    "join": "make the whole first, and work out each part in a view of it",
    "pad": "make the padded tensor first, and work out the inside in a view of it",
    "split": "use views of the whole, as x[...] gives",
}


def _between(source: TensorSpec, result: TensorSpec) -> str:
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
