"""Plans of views: relayout, reshape, basic indexing, parts of complex numbers, other dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorlayout.dtypes import DType, real_part_dtype
from tensorlayout.errors import short_repr, truncate, unavoidable_copy_error
from tensorlayout.layout import (
    MAX_RANK,
    BitPattern,
    Layout,
    Padding,
    PaddingValue,
    covers_block,
    raise_too_many_dims,
    slot_of_index,
    strides_to_parts,
)
from tensorlayout.plan.base import Plan, plan_dataclass
from tensorlayout.plan.copy import Copy, CopyPlan
from tensorlayout.plan.rules import LayoutSpec, check_byte_range, padding_bytes, resolve_layout
from tensorlayout.tensor import TensorSpec


@plan_dataclass
class ViewPlan(Plan):
    """A tensor over the same storage; no element moves.

    Calls may pass the slot of the element at index (0, …, 0), counted from the lowest slot of the
    source, in place of `shift`: so all slices of one shape share a plan.
    """

    kind = "view"
    result_kind = "view"

    source: TensorSpec
    result: TensorSpec
    shift: int  # slots from the lowest slot of the source to that of the result


class NoViewError(ValueError):
    """The layout has no such view; a packed copy has one."""


@plan_dataclass
class View:
    """A view whose layout is a function of the source's layout and static parameters.

    Raises NoViewError if the layout has no such view, but a copy may have.
    """

    name: str
    relayout: Callable[..., Layout | None]

    def plan(self, source: TensorSpec, *static: Any) -> ViewPlan:
        try:
            layout = self.relayout(source.layout, *static)
        except ValueError as error:
            if source.layout.is_tiled:  # a packed copy has the view, or raises the same error
                raise NoViewError(str(error)) from None
            raise
        if layout is None:
            raise NoViewError(f"layout {truncate(source.layout)} has no such view; copy it first")
        if layout.slot_bits != source.layout.slot_bits:  # a view has the slots of its source
            layout = layout.with_slot_bits(source.layout.slot_bits)
        # Repeated elements take no memory, but NumPy refuses shapes of more than 2**63 - 1 bytes.
        result = check_byte_range(TensorSpec(source.dtype, layout, source.device))
        return ViewPlan(source, result, layout.lowest)


@plan_dataclass
class PartPlan(Plan):
    """A view of the real or the imaginary parts of complex numbers."""

    kind = "part"
    result_kind = "view"

    source: TensorSpec
    result: TensorSpec
    which: int


@plan_dataclass
class Part:
    """A view of the real parts (`which` 0) or the imaginary parts (1) of complex numbers."""

    name: str
    which: int

    def plan(self, source: TensorSpec) -> PartPlan:
        layout = source.layout.component(self.which, 2)
        result = TensorSpec(real_part_dtype(source.dtype), layout, source.device)
        return PartPlan(source, result, self.which)


@plan_dataclass
class ReinterpretPlan(Plan):
    """The memory of a tensor, viewed as elements of another dtype."""

    kind = "reinterpret"
    result_kind = "view"

    source: TensorSpec
    result: TensorSpec


@plan_dataclass
class Reinterpret:
    """A view of the same bytes as elements of another dtype."""

    name: str = "view"

    def plan(self, source: TensorSpec, dtype: DType) -> ReinterpretPlan:
        source_itemsize, result_itemsize = source.dtype.itemsize, dtype.itemsize
        layout_in_units = (
            source.layout
            if source_itemsize == result_itemsize
            else _layout_in_item_units(source, result_itemsize)
        )
        layout = layout_in_units.with_padding_value(_padding_reinterpreted_as(source, dtype))
        return ReinterpretPlan(source, TensorSpec(dtype, layout, source.device))


def whole_bytes_before_slot(layout: Layout, slot: int) -> int:
    """Return the bytes before a slot of a layout packed below a byte.

    Raises ValueError for a slot that begins inside a byte. Only the call can check that: a plan
    does not know where its tensors begin.
    """
    bits = layout.slot_bits
    assert bits is not None
    if slot * bits % 8:
        rule = f"a tensor of {bits} bits a slot must begin with a whole byte"
        problem = f"slot {short_repr(slot)} begins bit {slot * bits % 8} of one"
        raise ValueError(f"{rule}, {problem}; to_layout(x, x.layout.with_slot_bits(None)) first")
    return slot * bits // 8


def whole_items_before_byte(begin: int, itemsize: int) -> int:
    """Return the items before byte `begin`; raise ValueError if it is inside an item."""
    if begin % itemsize:
        problem = f"it begins {begin % itemsize} bytes behind one"
        msg = f"the tensor must begin at a multiple of {itemsize} bytes, {problem}; copy() it first"
        raise ValueError(msg)
    return begin // itemsize


def _padding_reinterpreted_as(source: TensorSpec, dtype: DType) -> Padding:
    """Return the padding value of `source` for its bytes read as elements of `dtype`."""
    value = source.layout.padding_value
    # ZERO is bytes of 0 in every dtype. Other values keep their bits, if an element keeps its size.
    if dtype == source.dtype or value in (PaddingValue.ZERO, PaddingValue.UNSPECIFIED):
        return value
    content = padding_bytes(value, source.dtype)
    if content is None or len(content) != dtype.itemsize:
        return PaddingValue.UNSPECIFIED
    return BitPattern(int.from_bytes(content, "little"), dtype.name)


def _layout_in_item_units(source: TensorSpec, target_itemsize: int) -> Layout:
    """Return the layout in slots of `target_itemsize` bytes; the last dimension is rescaled."""
    layout, source_itemsize = source.layout, source.dtype.itemsize
    if not layout.shape or layout.is_tiled:
        problem = "is tiled; to_layout() it" if layout.shape else "has rank 0; reshape() it to (1,)"
        rule = (
            f"to read {source_itemsize} bytes as {target_itemsize} takes a last dimension of "
            "one stride"
        )
        raise ValueError(f"{rule}, layout {truncate(layout)} {problem}")
    # NumPy's rule: only the last dimension changes its size, so it must be contiguous. Elsewhere
    # each stride must be a whole number of the new elements.
    *outer, last = layout.shape
    *steps, step = layout.strides
    if layout.size and last != 1 and step != 1:
        rule = (
            f"to read {source_itemsize} bytes as {target_itemsize} the last dimension must "
            "have stride 1"
        )
        raise ValueError(f"{rule}, got layout {truncate(layout)}")
    shape = (*outer, last * source_itemsize // target_itemsize)
    if last * source_itemsize % target_itemsize:
        msg = (
            f"{last} items of {source_itemsize} bytes along the last dimension are no whole "
            f"ones of {target_itemsize}"
        )
        raise ValueError(msg)
    if not layout.size:
        return Layout._packed(shape, layout.minor_to_major)
    if any(
        n > 1 and s * source_itemsize % target_itemsize for n, s in zip(outer, steps, strict=True)
    ):
        msg = (
            f"the strides of layout {truncate(layout)}, in bytes, are no multiples of "
            f"{target_itemsize}"
        )
        raise ValueError(msg)
    strides = (*(s * source_itemsize // target_itemsize for s in steps), 1)
    *blocks, block = layout.padded_shape
    padded = (*blocks, block * source_itemsize // target_itemsize)
    has_whole_block = not block * source_itemsize % target_itemsize and covers_block(
        strides_to_parts(shape, strides), padded
    )
    return Layout(
        shape,
        strides,
        # Exact: the lowest slot is 0, so outer strides alone make up the offset.
        offset=layout.offset * source_itemsize // target_itemsize,
        minor_to_major=_order_with_last_dim_fastest(layout),
        padded_shape=padded if has_whole_block else shape,
    )


def _order_with_last_dim_fastest(layout: Layout) -> tuple[int, ...]:
    """Return the order of dimensions, with the last one moved to be the fastest if necessary."""
    order, end = layout.minor_to_major, layout.ndim - 1
    faster = order[: order.index(end)]
    if layout.shape[end] > 1 and all(layout.shape[d] == 1 or not layout.strides[d] for d in faster):
        return order
    return (end, *(d for d in order if d != end))


@plan_dataclass
class SamePlan(Plan):
    """A call that returns its operand."""

    kind = "same"
    result_kind = "view"

    result: TensorSpec


@plan_dataclass
class Relayout:
    """The same elements in a given layout: the operand itself, a view, or a copy.

    `copy`: True always copies, None copies if necessary, False raises ValueError instead.
    """

    name: str = "to_layout"

    def plan(self, source: TensorSpec, requested: LayoutSpec, copy: bool | None) -> Any:
        result_layout = resolve_layout(source.layout.shape, requested)
        if copy is not True:
            if result_layout is source.layout:
                return SamePlan(source)
            # A padded result needs memory of its own: gaps of the source may hold other elements.
            if result_layout.same_placement(source.layout) and not result_layout.is_padded:
                return ViewPlan(source, TensorSpec(source.dtype, result_layout, source.device), 0)
        if copy is False:
            layouts = f"{truncate(source.layout)} is not {truncate(result_layout)}"
            raise unavoidable_copy_error(f"layout {layouts}")
        return Copy(self.name).plan(source, result_layout, None)


@plan_dataclass
class Reshape:
    """A view of another shape if there is one, otherwise a row-major copy; `copy` as `Relayout`."""

    name: str = "reshape"

    def plan(self, source: TensorSpec, shape: int | tuple[int, ...], copy: bool | None) -> Any:
        shape = infer_reshape_size(shape, source.layout.size)
        layout = source.layout.reshape(shape)
        if layout is not None and copy is not True:
            result = check_byte_range(TensorSpec(source.dtype, layout, source.device))
            return ViewPlan(source, result, layout.lowest)
        if copy is False:
            reason = f"layout {truncate(source.layout)} has no view of shape {shape}"
            raise unavoidable_copy_error(reason)
        result = TensorSpec(source.dtype, Layout.row_major(shape), source.device)
        return CopyPlan(source, result)


def infer_reshape_size(shape: int | tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return `shape` with one -1 replaced by the size that `size` elements need."""
    sizes = requested_shape = (shape,) if isinstance(shape, int) else shape
    if len(sizes) > MAX_RANK:
        raise_too_many_dims("shape", len(sizes))
    unknown_dims = [d for d, n in enumerate(sizes) if n == -1]
    if len(unknown_dims) > 1 or min(sizes, default=0) < -1:
        raise ValueError(
            f"shape may hold one -1 and no other negative sizes, got {short_repr(requested_shape)}"
        )
    known_size = math.prod(n for n in sizes if n != -1)
    # Beside a size of 0 any number would do for -1. NumPy refuses that, too.
    if len(unknown_dims) == 1 and known_size > 0 and size % known_size == 0:
        d = unknown_dims[0]
        sizes = (*sizes[:d], size // known_size, *sizes[d + 1 :])
    if -1 in sizes or math.prod(sizes) != size:
        raise ValueError(f"cannot reshape {size} elements into shape {short_repr(requested_shape)}")
    return sizes


# One entry of a basic index, without its start: "int", (count, step) for a slice, or "new" for a
# new dimension.
Cut = tuple[int, int] | str


@plan_dataclass
class Index:
    """Basic indexing by integers, slices, Ellipsis and None.

    Calls pass the place of the first element, so that a thousand slices of one shape have one plan.
    """

    name: str = "__getitem__"

    def plan(self, source: TensorSpec, cuts: tuple[Cut, ...]) -> ViewPlan:
        layout = source.layout.slice(tuple(_cut_as_key_from_lowest_element(cut) for cut in cuts))
        if layout is None:
            msg = f"layout {truncate(source.layout)} has no view of this slice; copy it first"
            raise ValueError(msg)
        return ViewPlan(source, TensorSpec(source.dtype, layout, source.device), 0)


@plan_dataclass
class RowPlan(Plan):
    """One slice along the first dimension: a view."""

    kind = "row"
    result_kind = "view"

    view: ViewPlan
    result: TensorSpec


@plan_dataclass
class Row:
    """Indexing by one integer, the most frequent index; its key is the source alone."""

    name: str = "__getitem__"

    def plan(self, source: TensorSpec, _: None) -> RowPlan:
        if not source.layout.shape:
            raise too_many_indices_error(1, ())
        # Planned without an index: all rows share this plan, and the call checks its index.
        if source.layout.shape[0] == 0:
            raise IndexError(f"no index is inside dimension 0 of shape {source.layout.shape}")
        remaining_dims = [(n, 1) for n in source.layout.shape[1:]]
        view = Index(self.name).plan(source, ("int", *remaining_dims))
        return RowPlan(view, view.result)


def compile_row_view(plan: RowPlan, make_view: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``row(x, index)`` from ``make_view(x, first_slot)``, the view for one slice."""
    layout = plan.view.source.layout
    shape, parts, offset = layout.shape, layout.parts[0], layout.offset
    size, stride = shape[0], parts[0][1]
    tiled = len(parts) > 1  # a tiled dimension has no stride; each index is located by its digits

    def view_row(tensor: Any, index: int) -> Any:
        if 0 <= index < size and not tiled:
            return make_view(tensor, offset + index * stride)
        if not -size <= index < size:
            raise index_out_of_bounds_error(index, 0, shape)
        return make_view(tensor, offset + slot_of_index(parts, index % size))

    return view_row


def too_many_indices_error(count: int, shape: tuple[int, ...]) -> IndexError:
    """Return the error for a key of `count` entries, more than `shape` has dimensions."""
    return IndexError(f"too many indices for shape {shape}, got {count}")


def index_out_of_bounds_error(index: int, dim: int, shape: tuple[int, ...]) -> IndexError:
    """Return the error for an integer outside a dimension."""
    return IndexError(
        f"index {short_repr(index)} is out of bounds for axis {dim} with size {shape[dim]}"
    )


def _cut_as_key_from_lowest_element(cut: Cut) -> Any:
    if isinstance(cut, str):
        return None if cut == "new" else 0
    # Index 0 is the first element of the slice, or its last one if it runs backwards.
    count, step = cut
    if step > 0:
        return slice(0, (count - 1) * step + 1 if count else 0, step)
    return slice((count - 1) * -step, None, step) if count else slice(0, 0, 1)
