"""`pad`: add elements around tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np

from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.transfers import move_to_cpu
from tensorlayout.plan import Assign, Pad, check_no_complex_to_real
from tensorlayout.tensor import Tensor
from tensorlayout.typing import ArrayLike, Integers

__all__ = ["pad"]

_PAD, _BORDER = Pad("pad"), Assign("pad")

# The other modes of np.pad compute statistics or ramps, or leave memory uninitialised.
_PAD_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def pad(
    array: Tensor,
    pad_width: Integers | Sequence[Sequence[SupportsIndex]] | Mapping[int, Integers],
    mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
    *,
    constant_values: ArrayLike | None = None,
) -> Tensor:
    """Add elements around `array`.

    - `pad_width`: numbers of elements before and after each dimension: one number, a pair, a pair
      for each dimension, or a mapping of dimensions to pairs.
    - `mode`: ``constant`` for ``constant_values`` (in the same forms, converted to the dtype of
      `array`; by default 0), ``edge``, ``reflect`` (without the edge), ``symmetric`` (with the
      edge), or ``wrap`` (from the other end).

    Returns a new tensor of any dtype. Layout: packed in the input's order; padding of layouts is
    something else.

    Raises `ValueError` for negative widths and for a mode that repeats a dimension of size 0, and
    `TypeError` for ``constant_values`` with another mode.

    >>> import tensorlayout as tl
    >>> tl.pad(tl.asarray([1, 2, 3]), (2, 1), "reflect")
    Tensor([3, 2, 1, 2, 3, 2], dtype=int64, device='cpu')
    """
    x = arguments.as_tensor(array)
    arguments.check_choice("mode", mode, _PAD_MODES)
    widths = _normalize_pad_widths(pad_width, x.ndim)
    if mode == "constant":
        return _pad_with_constants(x, widths, 0 if constant_values is None else constant_values)
    if constant_values is not None:
        raise TypeError(f"constant_values are for mode 'constant', got mode {mode!r}")
    for dim, pair in enumerate(widths):
        if any(pair) and not x.shape[dim]:
            raise ValueError(f"mode {mode!r} cannot extend dimension {dim} of size 0")
    planned_mode = "reflection" if mode == "reflect" else mode
    return dispatch.call(_PAD, (x.spec, widths, planned_mode), (x, 0))


def _pad_with_constants(
    x: Tensor, widths: tuple[tuple[int, int], ...], constant_values: Any
) -> Tensor:
    """Pad `x` with one number; borders with other numbers are written afterwards."""
    fillers = _broadcast_per_side("constant_values", constant_values, x.ndim)
    # NumPy makes an array of objects of integers beyond 64 bits. The dtype of `array` decides later
    # whether they fit.
    large = fillers.dtype == object and {int} == {type(n) for n in fillers.flat}
    if fillers.dtype.kind not in "biufcV" and not large:
        raise TypeError(
            f"constant_values must be numbers, got {arguments.format_argument(constant_values)}"
        )
    # A side without width has a value as well, but nobody sees it, so it is not checked.
    sides = [(d, side) for d, pair in enumerate(widths) for side in (0, 1) if pair[side]]
    values = [fillers.item(dim_and_side) for dim_and_side in sides]
    for value in values:
        check_no_complex_to_real(x.spec, type(value))
    # All sides get the first value. The others are written over it, which only costs the borders.
    result = dispatch.call(_PAD, (x.spec, widths, "constant"), (x, values[0] if values else 0))
    inner_slices = [
        slice(before, before + n) for (before, _), n in zip(widths, x.shape, strict=True)
    ]
    for (dim, side), value in zip(sides, values, strict=True):
        # By repr, because 0.0 equals -0.0 and NaN differs from itself.
        if repr(value) != repr(values[0]):
            border_slice = (
                slice(inner_slices[dim].stop, None) if side else slice(inner_slices[dim].start)
            )
            # NumPy extends one dimension after the other, so a corner belongs to the last of its
            # dimensions. Hence a border covers earlier dimensions as a whole, and of later ones
            # only the inner part.
            target = (*[slice(None)] * dim, border_slice, *inner_slices[dim + 1 :])
            part = result[target]
            dispatch.call(_BORDER, (part.spec, type(value)), (part, value))
    return result


def _normalize_pad_widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, Mapping):
        widths_by_dim = {
            arguments.normalize_axis(arguments.as_integer("pad_width", d), ndim): pair
            for d, pair in pad_width.items()
        }
        pad_width = [
            _broadcast_per_side("pad_width", widths_by_dim.get(d, 0), 1)[0] for d in range(ndim)
        ]
    widths = _broadcast_per_side("pad_width", pad_width, ndim)
    if widths.dtype.kind not in "iu":
        raise TypeError(f"pad_width must be integers, got {arguments.format_argument(pad_width)}")
    if (widths < 0).any():
        raise ValueError(
            f"pad_width must not be negative, got {arguments.format_argument(pad_width)}"
        )
    return tuple([(int(before), int(after)) for before, after in widths])


def _broadcast_per_side(argument: str, value: Any, ndim: int) -> Any:
    """Return a number, a pair, or a pair for each dimension, as an array of pairs."""
    if isinstance(value, Tensor):
        value = move_to_cpu(value)
    try:
        # NumPy's broadcasting has these forms: a number, a pair for all dimensions, or one pair
        # each. Rank 0 has no dimensions, whatever the value.
        return np.broadcast_to(np.asarray(value if ndim else 0), (ndim, 2))
    except ValueError:
        rule = f"must be a number, a pair or {ndim} pairs"
        raise ValueError(f"{argument} {rule}, got {arguments.format_argument(value)}") from None
