"""CuTe's notation of layouts: ``shape:stride`` with nested modes.

A dimension is a mode. CuTe counts coordinates colexicographically, so a mode with several digits
lists the fastest digit first; the parts of a `Layout` list the slowest first. `Layout.to_cute` and
`Layout.from_cute` do the same with more options.

Source: CUTLASS, "CuTe Layouts".
"""

from __future__ import annotations

import math
import re
from ast import literal_eval
from collections.abc import Iterator, Sequence
from operator import index as as_int
from typing import Any, NamedTuple, TypeAlias

from tensorlayout.errors import prefix_operation_name, raise_named_error, short_repr, truncate
from tensorlayout.formats.blocks import check_layout
from tensorlayout.layout import (
    MAX_PARTS,
    MAX_RANK,
    Layout,
    Padding,
    PaddingValue,
    Part,
    Parts,
    check_padding_value,
    check_sizes,
    slots,
)

__all__ = ["CuteLayout", "read", "write"]

Mode: TypeAlias = "int | tuple[Mode, ...]"

# Without (?a), \d and \s would match digits and blanks of other scripts, too.
_SIDES = r"(?a)((?:-?\d|[\s(),])*):((?:-?\d|[\s(),])*)"
_STATIC = r"(?a)(?<![-\w])_(?=-?\d)"  # C++ prints static integers as _4 and _-4
# Nested text from outside is refused before it reaches Python's recursion limit.
_MOST_LEVELS = 64
_MOST_MODES = 2 * MAX_RANK * MAX_PARTS  # counts modes that contain modes, too
_CALLER_NAME = "from_cute"  # the prefix of error messages


class CuteLayout(NamedTuple):
    """A layout in CuTe's terms, and an offset, which CuTe's layouts do not have.

    - `shape`, `stride`: arguments of ``make_layout``, nested alike; sizes and strides in elements.
    - `offset`: slot of coordinate 0, to be added to CuTe's pointer.

    ``str`` gives CuTe's text, without the offset.

    >>> from tensorlayout.formats.cute import CuteLayout
    >>> str(CuteLayout((3, (2, 2)), (2, (1, 6))))
    '(3,(2,2)):(2,(1,6))'
    """

    shape: Mode
    stride: Mode
    offset: int = 0

    def __str__(self) -> str:
        return f"{_format_mode(self.shape)}:{_format_mode(self.stride)}"


def _format_mode(mode: Mode) -> str:
    return str(mode) if isinstance(mode, int) else f"({','.join(map(_format_mode, mode))})"


def read(
    shape: Sequence[int], source: Any, padding_value: Padding | str = PaddingValue.UNSPECIFIED
) -> Layout:
    """Return the layout that CuTe's notation describes, cut to `shape`.

    - `source`: text, a pair (shape, stride), a triple with an offset such as a `CuteLayout`, or a
      layout object of a CuTe library. Modes may be larger than the sizes of `shape`; the excess is
      padding.
    - `padding_value`: value that the padding holds; unspecified by default.

    Raises `ValueError` and `TypeError` as `Layout.from_cute`, which it calls.

    >>> from tensorlayout import formats
    >>> formats.cute.read((4, 3), "((2,2),3):((1,6),2)")
    Layout.parse('(4,3):(2*6+2*1,2)')
    """
    return Layout.from_cute(source, shape, padding_value=padding_value)


def write(layout: Layout) -> CuteLayout:
    """Return shape, stride and offset of `layout`, including its padding.

    Slots below a byte are not part of the result: they belong to CuTe's element type.

    Raises `ValueError` for a view that ends inside a tile whose rest is not its padding;
    `TypeError` if `layout` is not a Layout. `Layout.to_cute` has more options.

    >>> from tensorlayout import Layout, formats
    >>> print(formats.cute.write(Layout.padded((2, 3), (2, 4))))
    (2,4):(4,1)
    """
    return layout_to_cute(check_layout(layout, allow_bits=True), padded=True)


# --- to ------------------------------------------------------------------------------------------


def layout_to_cute(layout: Layout, padded: bool | None) -> CuteLayout:
    modes: list[tuple[Mode, Mode]] = []
    for dim, (size, padded_size, parts) in enumerate(
        zip(layout.shape, layout.padded_shape, layout.parts, strict=True)
    ):
        # Slots that the digits count, which is more than the size if the last tile is not full.
        tiles = math.prod(extent for extent, _ in parts)
        if padded_size != size and padded is None:
            rule = (
                f"dimension {dim} has {padded_size} slots for a size of {size}, and CuTe no padding"
            )
            fix = "padded=True gives the whole block, padded=False the elements alone"
            raise_named_error("to_cute", f"{rule}; {fix}, got {truncate(layout)}")
        if tiles != size and (not padded or tiles > padded_size):
            rule = f"dimension {dim} of size {size} ends inside a tile, which no mode can express"
            owned = (
                "padded=True gives whole tiles" if tiles <= padded_size else "it owns no padding"
            )
            raise_named_error("to_cute", f"{rule}; {owned}, got {truncate(layout)}")
        digits = slots.resize_most_major_part(parts, padded_size) if padded else parts
        extents, strides = zip(*reversed(digits), strict=True)
        modes.append((extents, strides) if len(parts) > 1 else digits[0])
    shape, stride = zip(*modes, strict=True) if modes else ((), ())
    return CuteLayout(shape, stride, layout.offset)


# --- from ----------------------------------------------------------------------------------------


def layout_fields_from_cute(
    source: Any, shape: Sequence[int] | None, padding_value: Padding | str
) -> dict[str, Any]:
    """Return the arguments of `Layout` for a layout of CuTe, cut to `shape`."""
    sizes, strides, offset = _split_source(source)
    # One iterator for all modes: every mode takes a number, and when none are left the limit is
    # exceeded.
    modes, mode_budget = _zip_submodes(sizes, strides), iter(range(_MOST_MODES))
    dims: list[Parts] = []
    for mode in [(sizes, strides)] if modes is None else modes:
        digits = tuple(_mode_digits(*mode, mode_budget))
        # A digit of extent 0 inside leaves no index at all, which one digit of extent 0 says as
        # well.
        has_indices = all(extent for extent, _ in digits[1:])
        dims.append(digits if has_indices else ((0, digits[0][1]),))
    full_sizes = tuple(math.prod(extent for extent, _ in parts) for parts in dims)
    sizes_kept = full_sizes if shape is None else check_sizes("shape", shape)
    if len(sizes_kept) != len(full_sizes) or any(
        n > limit for n, limit in zip(sizes_kept, full_sizes, strict=True)
    ):
        rule = f"shape must have a size for each mode, at most {short_repr(full_sizes)}"
        raise_named_error(_CALLER_NAME, f"{rule}, got {short_repr(sizes_kept)}")
    parts = list(map(slots.resize_most_major_part, dims, sizes_kept))
    # Only modes that fill a block own the slots behind `shape`. In others those slots may be gaps
    # or other elements, which must not be overwritten with a padding value.
    value, block = check_padding_value(padding_value), slots.covers_block(parts, full_sizes)
    if value is not PaddingValue.UNSPECIFIED and not block:
        rule = "the modes are no block without gaps, and own no padding that could hold a value"
        raise_named_error(
            _CALLER_NAME,
            f"{rule}, got {short_repr(source)} with padding_value={short_repr(padding_value)}",
        )
    padded = full_sizes if block else None
    fields = {"shape": sizes_kept, "parts": parts, "offset": offset, "padded_shape": padded}
    return fields | {"padding_value": value}


def _zip_submodes(size: Any, stride: Any) -> list[tuple[Any, Any]] | None:
    """Pair the submodes of two equally nested modes; None for two integers."""
    are_nested = [isinstance(mode, (tuple, list)) for mode in (size, stride)]
    if are_nested == [False, False]:
        return None
    if are_nested == [True, True] and len(size) == len(stride):
        return list(zip(size, stride, strict=True))
    received = f"{short_repr(size)} and {short_repr(stride)}"
    return raise_named_error(_CALLER_NAME, f"stride must be nested as shape is, got {received}")


def _mode_digits(
    size: Any, stride: Any, mode_budget: Iterator[int], level: int = 0
) -> Iterator[Part]:
    """Yield the extents and strides of a mode, slowest digit first.

    `mode_budget` limits the work, because a tuple may contain itself, or another one many times.
    """
    if next(mode_budget, None) is None or level > _MOST_LEVELS:
        rule = f"at most {_MOST_LEVELS} levels of modes, and {_MOST_MODES} in all, are allowed"
        raise_named_error(_CALLER_NAME, rule)
    modes = _zip_submodes(size, stride)
    if modes is None:
        extent, stride_value = _static_integer(size), _static_integer(stride)
        if extent < 0:
            raise_named_error(_CALLER_NAME, f"sizes must not be negative, got {short_repr(extent)}")
        yield extent, stride_value
        return
    for sizes, strides in reversed(modes):
        yield from _mode_digits(sizes, strides, mode_budget, level + 1)
    # The empty mode () is CuTe's size 1.
    if not modes:
        yield 1, 1


def _split_source(source: Any) -> tuple[Any, Any, int]:
    offset: Sequence[int] = ()
    if isinstance(source, str):
        sizes, strides = _parse_cute_text(source)
    elif isinstance(source, (tuple, list)) and len(source) in (2, 3):
        sizes, strides, *offset = source
    else:  # a layout object of another library, which has no offset
        try:
            sizes, strides = source.shape, source.stride
        except AttributeError:
            rule = "must be text such as '((2,2),3):((1,6),2)', a pair (shape, stride), or a layout"
            text = f"source {rule} with both and no swizzle, got {short_repr(source)}"
            raise prefix_operation_name(_CALLER_NAME, TypeError(text)) from None
    return sizes, strides, _static_integer(offset[0]) if offset else 0


def _static_integer(number: Any) -> int:
    try:
        return as_int(number)
    except TypeError:
        rule = f"sizes and strides must be integers in tuples, got {short_repr(number)}"
        raise prefix_operation_name(_CALLER_NAME, TypeError(rule)) from None
    except Exception:  # numbers known only inside a kernel may raise anything
        rule = "shape and stride must be static, not known only as a kernel runs"
        return raise_named_error(_CALLER_NAME, f"{rule}, got {short_repr(number)}")


def _parse_cute_text(text: str) -> tuple[Any, Any]:
    """Parse ``shape:stride`` into nested tuples; a single mode in brackets needs no comma."""
    # Three rewrites turn the text into Python's tuples: blanks go, static integers lose their
    # underscore, and (4) becomes (4,), which Python would otherwise read as a number.
    plain = re.sub(_STATIC, "", re.sub(" ?([(),:]) ?", r"\1", " ".join(text.split())))
    sides = re.fullmatch(_SIDES, re.sub(r"(?<![(,])\)", ",)", plain))
    try:
        if sides is not None:
            # In a list, so that "2,3:1,2" without brackets has two items and is refused.
            (size,), (stride,) = (literal_eval(f"[{side}]") for side in sides.groups())
            return size, stride
    except (SyntaxError, ValueError, MemoryError):
        pass
    rule = "must have the form shape:stride as in ((2,2),3):((1,6),2)"
    # Composed layouts are printed with " o " between them, strides of several bases with "@".
    if "o" in text.lower() or "@" in text:
        rule += "; swizzles, composed layouts and strides of several bases are no strides"
    elif "?" in text:
        rule += "; sizes and strides that are not known yet are no layout"
    return raise_named_error(_CALLER_NAME, f"{rule}, got {short_repr(text, 200)}")
