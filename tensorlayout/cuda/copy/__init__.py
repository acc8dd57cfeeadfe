"""Elements moved into another layout or dtype: copies, reshapes, writes, moves between devices."""

from __future__ import annotations

import functools
from dataclasses import replace
from math import gcd

from tensorlayout.cuda import elementwise
from tensorlayout.cuda.copy import packed
from tensorlayout.cuda.copy.choose import between, plan_copy
from tensorlayout.cuda.engine import (
    SECTOR,
    Launches,
    copy_bytes,
    faults,
    octets,
    padding_of,
    write,
    writer,
)
from tensorlayout.cuda.fill import write_fill
from tensorlayout.layout import Layout
from tensorlayout.plan import AssignPlan, CopyPlan, TransferPlan, Write, backend
from tensorlayout.tensor import Tensor, TensorSpec


def plan_move(
    source: TensorSpec,
    result: TensorSpec,
    alignments: tuple[int, ...],
    padding: bytes | None = None,
    saturate: bool = False,
    whole: bool = False,
) -> Launches:
    """How to put the elements of a tensor into another of any layout and dtype.

    `padding` as of `plan_copy`, `saturate` as of `plan_conversion`, `whole` as of `plan_packed`.
    """
    to, from_ = alignments
    if packed.is_packed(source, result):
        onward = functools.partial(plan_move, saturate=saturate)
        return packed.plan_packed(source, result, (to, from_), padding, whole, onward)
    apart = between(source, result, padding)
    if apart is not None:
        # New memory begins at a multiple of the widest access.
        first = plan_move(source, apart, (SECTOR, from_), saturate=saturate)
        second = plan_move(apart, result, (to, SECTOR), padding, saturate)
        return packed.in_two(first, second, apart.layout.nbytes(apart.dtype))
    if source.dtype == result.dtype:
        return plan_copy(result.layout, source.layout, result.dtype.itemsize, (to, from_), padding)
    return elementwise.plan_conversion(result, source, alignments, padding, saturate=saturate)


def write_copy(plan: CopyPlan) -> Write:
    """The function of the result and the source; padding is written in the same launch."""
    source, spec = plan.source, plan.result
    if spec.layout.shape != source.layout.shape:  # row-major, and written through the old shape
        old = TensorSpec(spec.dtype, Layout.row_major(source.layout.shape), spec.device)
        return write_move(source, old, saturate=plan.saturate)
    padding = padding_of(spec)
    # Bytes that stay as they lie need no kernel. What the source has for padding may be another's.
    alike = source.dtype == spec.dtype and source.layout is spec.layout and padding is None
    if alike and not spec.layout.spare_bits:
        return copy_bytes
    return write_move(source, spec, padding, saturate=plan.saturate, whole=True)


def write_move(
    source: TensorSpec,
    result: TensorSpec,
    padding: bytes | None = None,
    shift: int = 0,
    saturate: bool = False,
    whole: bool = False,
) -> Write:
    """The function of the result, of which `result` begins `shift` **bytes** on, and the source."""

    def planned(alignments: tuple[int, ...]) -> Launches:
        to, from_ = alignments
        aligned = gcd(to, shift, SECTOR), from_
        found = plan_move(source, result, aligned, padding, saturate, whole)
        if not shift:
            return found
        memories = range(2 + len(found.scratch))
        moved = tuple([each.placed(memories, shift) for each in found.launches])
        return replace(found, launches=moved)

    return writer(result.device.number, planned)


def write_assign(plan: AssignPlan) -> Write:
    """The function of a destination and a number, or a tensor that lies apart, or exactly there."""
    spec, source, name = plan.result, plan.source, plan.name
    if isinstance(source, type):
        fill = packed.write_number if packed.is_packed(spec) else write_fill
        return fill(spec, lambda value: octets(name, value, spec.dtype))
    layout = source.layout.broadcast_to(spec.layout.shape)
    return write_move(TensorSpec(source.dtype, layout, source.device), spec)


def write_transfer(plan: TransferPlan) -> Write:
    """The bytes of a tensor of another device, copied there or by way of the host."""
    device = plan.source.device
    if device.kind != plan.result.device.kind:
        read = backend(device).read
        return lambda out, x: write(out, read(x))

    def copy_across(out: Tensor, x: Tensor) -> None:
        copy_bytes(out, x)
        faults.check()  # what leaves a device may have been read at positions outside

    return copy_across
