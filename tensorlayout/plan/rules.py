"""Rules that plans share: one device, broadcast shapes, dtypes, the layout of the result."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from tensorlayout.devices import Device
from tensorlayout.dtypes import (
    DType,
    computing_dtype,
    extreme_value,
    is_in_category,
    is_narrow_dtype,
    sum_dtype,
    value_bits,
)
from tensorlayout.errors import short_repr, truncate
from tensorlayout.layout import (
    BitPattern,
    Layout,
    Padding,
    PaddingValue,
    drop_dims_from_order,
    order_of_labels,
    parse_xla_tiling,
)
from tensorlayout.tensor import TensorSpec, check_slot_bits


def check_byte_range(spec: TensorSpec) -> TensorSpec:
    """Return `spec`; raise ValueError if its elements, each stored, take more than int64 bytes."""
    octets = spec.dtype.itemsize
    # Sizes of 0 count as 1: NumPy refuses such shapes, too, although they have no elements.
    for n in spec.layout.shape:
        octets *= max(n, 1)
    if octets > sys.maxsize:
        msg = f"shape {spec.layout.shape} of {spec.dtype} spans more than 2**63 - 1 bytes"
        raise ValueError(msg)
    return spec


def check_category(category: str, dtype: DType, *promoted_from: DType) -> None:
    """Raise TypeError for a dtype of another category; `promoted_from`: for the message."""
    if not is_in_category(dtype, category):
        raise dtype_category_error(category, dtype, ", ".join(map(str, promoted_from or (dtype,))))


def dtype_category_error(category: str, dtype: DType, description: str) -> TypeError:
    """Return the TypeError for a dtype of a wrong category, with a cast that may help."""
    if is_narrow_dtype(dtype):
        fix = f"; astype(x, tl.{computing_dtype(dtype)}) first"
        return TypeError(f"nothing is computed with narrow dtypes, got {description}{fix}")
    fix = ""
    if "floating" in category and dtype.kind in "biu":
        fix = "; astype(x, tl.float64) first"
    elif category == "bool":
        fix = "; compare first, as in x != 0"
    return TypeError(f"only {category} dtypes are allowed, got {description}{fix}")


def result_dtype(rule: str | DType, dtype: DType) -> DType:
    """Return the dtype of a result: `rule` itself, if it is a dtype.

    ``same``: `dtype`. ``sum``: the default integer of its sign for small integers, else `dtype`.
    """
    if not isinstance(rule, str):
        return rule
    return sum_dtype(dtype) if rule == "sum" else dtype


def check_same_device(specs: Sequence[TensorSpec]) -> Device:
    """Return the device of all operands. Raises ValueError if they differ."""
    device = specs[0].device
    for spec in specs:
        if spec.device is not device and spec.device != device:
            msg = f"operands live on {device} and {spec.device}; move one with to_device()"
            raise ValueError(msg)
    return device


def broadcast_shape(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape to which all shapes broadcast. Raises ValueError if there is none."""
    shape_list = list(shapes)
    rank = max(map(len, shape_list), default=0)
    result = [1] * rank
    for shape in shape_list:
        for dim, n in enumerate(shape, rank - len(shape)):
            if n != 1 and result[dim] not in (1, n):
                shapes_text = truncate(", ".join(map(short_repr, shape_list)), 500)
                msg = (
                    "shape mismatch: operands could not be broadcast together with shapes "
                    f"{shapes_text}"
                )
                raise ValueError(msg)
            # Not the larger size: a size of 1 beside 0 becomes 0.
            result[dim] = n if n != 1 else result[dim]
    return tuple(result)


def vote_result_layout(shape: tuple[int, ...], voters: Sequence[Layout]) -> Layout:
    """Return the layout of an elementwise result from the operands of its shape, the voters.

    If all voters have one form, it is that form, with the first voter's padding value. If forms
    differ, it is packed in the order of the first voter. Without voters it is row-major.
    """
    if not voters:
        return Layout.row_major(shape)
    first = voters[0].form
    for voter in voters[1:]:
        if voter is not voters[0] and not _have_same_form(first, voter.form):
            return Layout._packed(shape, first.minor_to_major)
    return first


def _have_same_form(a: Layout, b: Layout) -> bool:
    return a is b or (
        (a.parts, a.minor_to_major, a.padded_shape, a.slot_bits)
        == (b.parts, b.minor_to_major, b.padded_shape, b.slot_bits)
    )


def adapt_layout_to_dtype(layout: Layout, dtype: DType) -> Layout:
    """Return `layout` without a padding value or slot width that does not fit `dtype`."""
    if layout.slot_bits is not None and layout.slot_bits != value_bits(dtype):
        layout = layout.with_slot_bits(None)
    value = layout.padding_value
    no_order = value in (PaddingValue.LOWEST, PaddingValue.HIGHEST) and dtype.kind == "c"
    foreign = isinstance(value, BitPattern) and value.dtype != dtype.name
    if no_order or foreign:
        return layout.with_padding_value(PaddingValue.UNSPECIFIED)
    return layout


# A normalised ``layout=`` argument, from `functions.arguments.as_layout_key`.
LayoutSpec = Layout | str | tuple[int, ...]


def resolve_layout(shape: tuple[int, ...], spec: LayoutSpec | None) -> Layout:
    """Return the layout for a ``layout=`` argument; None is row-major."""
    if spec is None:
        return Layout.row_major(shape)
    if isinstance(spec, str):
        if spec.lstrip().startswith("{"):
            return Layout.tiled(shape, **parse_xla_tiling(spec))
        if ":" in spec:
            return resolve_layout(shape, Layout.parse(spec))
        return Layout.packed(shape, order_of_labels(spec, len(shape)))
    if not isinstance(spec, Layout):
        return Layout.packed(shape, spec)
    if spec.shape != shape:
        msg = f"layout {truncate(spec)} is for shape {spec.shape}, the tensor has shape {shape}"
        raise ValueError(msg)
    if spec.is_overlapping:
        msg = (
            f"elements of layout {truncate(spec)} share slots; a new tensor needs one slot for each"
        )
        raise ValueError(msg)
    # The offset of a view belongs to the storage of that view, and not to new memory.
    return spec.at_origin


def check_padding_for_dtype(layout: Layout, dtype: DType) -> Layout:
    """Return `layout`; raise ValueError if its padding value or slot width does not fit `dtype`."""
    value, plain = layout.padding_value, layout
    if layout.slot_bits is not None:
        check_slot_bits(layout, dtype)
        plain = layout.with_slot_bits(None)
    too_wide = isinstance(value, BitPattern) and value.bits >> (8 * dtype.itemsize)
    if too_wide or adapt_layout_to_dtype(plain, dtype) is not plain:
        raise ValueError(f"the padding of layout, {value}, has no meaning in {dtype}")
    return layout


def padding_bytes(value: Padding, dtype: DType) -> bytes | None:
    """Return the content of one element of padding; None if it may hold anything."""
    if isinstance(value, BitPattern):
        return value.bits.to_bytes(dtype.itemsize, "little")
    if value is PaddingValue.UNSPECIFIED:
        return None
    if value is PaddingValue.ZERO:  # also where there is no 0, as in float8_e8m0fnu
        return bytes(dtype.itemsize)
    ends = {PaddingValue.HIGHEST: 1, PaddingValue.LOWEST: -1}
    number = extreme_value(dtype, ends[value]) if value in ends else 1
    return dtype.type(number).tobytes()


def check_no_complex_to_real(destination: TensorSpec, value: TensorSpec | type) -> None:
    """Raise TypeError if complex numbers would be written into a real tensor."""
    if isinstance(value, TensorSpec):
        complex_in, message = is_in_category(value.dtype, "complex floating"), str(value.dtype)
    else:
        complex_in, message = value is complex, value.__name__
    if complex_in and not is_in_category(destination.dtype, "complex floating"):
        raise TypeError(f"{message} cannot be written into {destination.dtype}; use real() first")


def packed_reduced_layout(layout: Layout, dims: Sequence[int], keepdims: bool) -> Layout:
    """Return a layout packed in the input's order, without `dims` or with sizes of 1 there."""
    order = layout.minor_to_major
    if keepdims:
        shape = tuple([1 if d in dims else n for d, n in enumerate(layout.shape)])
    else:
        shape = tuple([n for d, n in enumerate(layout.shape) if d not in dims])
        order = drop_dims_from_order(order, dims)
    return Layout._packed(shape, order)


def normalize_dims(
    axis: int | Sequence[int] | None, ndim: int, argument: str = "axis"
) -> tuple[int, ...]:
    """Return non-negative dimensions. Raises AxisError if out of bounds, ValueError for repeats."""
    if axis is None:
        return tuple(range(ndim))
    axis_text = (axis,) if isinstance(axis, int) else tuple(axis)
    for number in axis_text:
        if not -ndim <= number < ndim:
            raise AxisError(
                f"axis {short_repr(number)} is out of bounds for array of dimension {ndim}"
            )
    dims = tuple([number % ndim for number in axis_text])
    if len(set(dims)) != len(dims):
        raise ValueError(f"{argument} must not repeat a dimension, got {short_repr(axis_text)}")
    return dims


class AxisError(ValueError, IndexError):
    """An axis out of bounds: a ValueError, and an IndexError too, as NumPy's AxisError."""
