"""Rules for results that plans share: one device, broadcast shapes, the layout of the result."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from tensorlayout.devices import Device
from tensorlayout.dtypes import DType, accumulated, bits_of, extreme, in_category, is_narrow, wider
from tensorlayout.errors import cut, shown
from tensorlayout.layout import (
    BitPattern,
    Layout,
    Padding,
    PaddingValue,
    order_of_labels,
    order_without,
    tiling_in,
)
from tensorlayout.tensor import TensorSpec, check_slot_bits


def addressed(spec: TensorSpec) -> TensorSpec:
    """Return `spec`; ValueError where its **bytes**, were each element stored, are no int64."""
    octets = spec.dtype.itemsize
    for n in spec.layout.shape:
        octets *= max(n, 1)
    if octets > sys.maxsize:
        msg = f"shape {spec.layout.shape} of {spec.dtype} spans more than 2**63 - 1 bytes"
        raise ValueError(msg)
    return spec


def check_category(category: str, dtype: DType, *given: DType) -> None:
    """Raise TypeError for a dtype of another category; `given`: what it was promoted from."""
    if not in_category(dtype, category):
        raise of_another_category(category, dtype, ", ".join(map(str, given or (dtype,))))


def of_another_category(category: str, dtype: DType, came: str) -> TypeError:
    """Return the error for `dtype`, with the fix where numbers are only not floats yet."""
    if is_narrow(dtype):
        fix = f"; astype(x, tl.{wider(dtype)}) first"
        return TypeError(f"nothing is computed with narrow dtypes, got {came}{fix}")
    fix = "; astype(x, tl.float64) first" if "floating" in category and dtype.kind in "biu" else ""
    return TypeError(f"only {category} dtypes are allowed, got {came}{fix}")


def result_dtype(rule: str | DType, dtype: DType) -> DType:
    """Return what a `rule` makes of `dtype`; the rule may also be the result itself.

    ``same``; or ``sum``, where small integers become the default one of their sign.
    """
    if not isinstance(rule, str):
        return rule
    return accumulated(dtype) if rule == "sum" else dtype


def one_device(specs: Sequence[TensorSpec]) -> Device:
    """Return the device of all operands. ValueError where they differ."""
    device = specs[0].device
    for spec in specs:
        if spec.device is not device and spec.device != device:
            msg = f"operands live on {device} and {spec.device}; move one with to_device()"
            raise ValueError(msg)
    return device


def broadcast_shape(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that all broadcast to. ValueError where none exists."""
    given = list(shapes)
    rank = max(map(len, given), default=0)
    result = [1] * rank
    for shape in given:
        for dim, n in enumerate(shape, rank - len(shape)):
            if n != 1 and result[dim] not in (1, n):
                came = cut(", ".join(map(shown, given)), 500)
                msg = f"shape mismatch: operands could not be broadcast together with shapes {came}"
                raise ValueError(msg)
            result[dim] = n if n != 1 else result[dim]
    return tuple(result)


def voted_layout(shape: tuple[int, ...], voters: Sequence[Layout]) -> Layout:
    """Return the layout of an elementwise result, by the operands of its shape.

    One form: that, with the first voter's padding. Several: packed in the order of the first. No
    voters: row-major.
    """
    if not voters:
        return Layout.row_major(shape)
    first = voters[0].form
    for voter in voters[1:]:
        if voter is not voters[0] and not _same_form(first, voter.form):
            return Layout._packed(shape, first.minor_to_major)
    return first


def _same_form(a: Layout, b: Layout) -> bool:
    return a is b or (
        (a.parts, a.minor_to_major, a.padded_shape, a.slot_bits)
        == (b.parts, b.minor_to_major, b.padded_shape, b.slot_bits)
    )


def in_dtype(layout: Layout, dtype: DType) -> Layout:
    """Return `layout` for elements of `dtype`, without padding or slots that it cannot have."""
    if layout.slot_bits is not None and layout.slot_bits != bits_of(dtype):
        layout = layout.with_slot_bits(None)
    value = layout.padding_value
    no_order = value in (PaddingValue.LOWEST, PaddingValue.HIGHEST) and dtype.kind == "c"
    foreign = isinstance(value, BitPattern) and value.dtype != dtype.name
    if no_order or foreign:
        return layout.with_padding_value(PaddingValue.UNSPECIFIED)
    return layout


# What `arguments.layout` makes of a layout asked for.
LayoutSpec = Layout | str | tuple[int, ...]


def layout_for(shape: tuple[int, ...], spec: LayoutSpec | None) -> Layout:
    """Return the layout that `spec` asks for: None row-major, else as `to_layout` says."""
    if spec is None:
        return Layout.row_major(shape)
    if isinstance(spec, str):
        if spec.lstrip().startswith("{"):
            return Layout.tiled(shape, **tiling_in(spec))
        if ":" in spec:
            return layout_for(shape, Layout.parse(spec))
        return Layout.packed(shape, order_of_labels(spec, len(shape)))
    if not isinstance(spec, Layout):
        return Layout.packed(shape, spec)
    if spec.shape != shape:
        msg = f"layout {cut(spec)} is for shape {spec.shape}, the tensor has shape {shape}"
        raise ValueError(msg)
    if spec.is_overlapping:
        msg = f"elements of layout {cut(spec)} share slots; a new tensor needs one slot for each"
        raise ValueError(msg)
    return spec.at_origin


def checked_padding(layout: Layout, dtype: DType) -> Layout:
    """Return `layout`; ValueError for padding, or slots, that `dtype` cannot have."""
    value, plain = layout.padding_value, layout
    if layout.slot_bits is not None:
        check_slot_bits(layout, dtype)
        plain = layout.with_slot_bits(None)
    too_wide = isinstance(value, BitPattern) and value.bits >> (8 * dtype.itemsize)
    if too_wide or in_dtype(plain, dtype) is not plain:
        raise ValueError(f"the padding of layout, {value}, has no meaning in {dtype}")
    return layout


def padding_bytes(value: Padding, dtype: DType) -> bytes | None:
    """Return the content of one element of padding, or None where nothing is promised."""
    if isinstance(value, BitPattern):
        return value.bits.to_bytes(dtype.itemsize, "little")
    if value is PaddingValue.UNSPECIFIED:
        return None
    if value is PaddingValue.ZERO:  # also where there is no 0, as in float8_e8m0fnu
        return bytes(dtype.itemsize)
    ends = {PaddingValue.HIGHEST: 1, PaddingValue.LOWEST: -1}
    number = extreme(dtype, ends[value]) if value in ends else 1
    return dtype.type(number).tobytes()


def refuse_complex(destination: TensorSpec, value: TensorSpec | type) -> None:
    """Raise TypeError where complex numbers would be written into a real tensor."""
    if isinstance(value, TensorSpec):
        complex_in, came = in_category(value.dtype, "complex floating"), str(value.dtype)
    else:
        complex_in, came = value is complex, value.__name__
    if complex_in and not in_category(destination.dtype, "complex floating"):
        raise TypeError(f"{came} cannot be written into {destination.dtype}; take real() first")


def reduced_layout(layout: Layout, dims: Sequence[int], keepdims: bool) -> Layout:
    """Return a layout packed in the input's order, without `dims`, or with sizes of 1 there."""
    order = layout.minor_to_major
    if keepdims:
        shape = tuple([1 if d in dims else n for d, n in enumerate(layout.shape)])
    else:
        shape = tuple([n for d, n in enumerate(layout.shape) if d not in dims])
        order = order_without(order, dims)
    return Layout._packed(shape, order)


def normalized_dims(
    axis: int | Sequence[int] | None, ndim: int, argument: str = "axis"
) -> tuple[int, ...]:
    """Count dimensions from the front. AxisError outside, ValueError for repeats."""
    if axis is None:
        return tuple(range(ndim))
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    for number in given:
        if not -ndim <= number < ndim:
            raise AxisError(f"axis {shown(number)} is out of bounds for array of dimension {ndim}")
    dims = tuple([number % ndim for number in given])
    if len(set(dims)) != len(dims):
        raise ValueError(f"{argument} must not repeat a dimension, got {shown(given)}")
    return dims


class AxisError(ValueError, IndexError):
    """An axis outside the rank: a ValueError, and an IndexError for those who catch that."""
