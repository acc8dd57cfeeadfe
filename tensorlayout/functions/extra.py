"""Beyond the standard: what libraries call on any array namespace that has it, and who does.

Found by running them on this namespace and listing the names they look up. Without these, the
caller computes in NumPy, where the layout is lost, takes a slower way, or fails.

| name | who calls it |
| --- | --- |
| `diag` | SciPy (`RBFInterpolator`, which wants methods of NumPy's arrays as well) |
| `gradient` | xarray (`differentiate`) |
| `logspace` | users of NumPy's; SciPy (`signal.freqs`) has one of its own for want of it |
| `pad` | xarray (`pad`, `shift`, `rolling`, `cumulative_integrate`) |
| `transpose` | xarray (`apply_ufunc` with core dimensions) |

Names and parameters are NumPy's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

from tensorlayout.devices import as_device
from tensorlayout.dtypes import as_dtype
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.creation import arange, asarray, created, linspace
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.elementwise import multiply, pow
from tensorlayout.functions.manipulation import permute_dims
from tensorlayout.functions.statistical import mean_dtype
from tensorlayout.functions.transfers import on_host
from tensorlayout.layout import Layout
from tensorlayout.plan.copy import Assign, Copy
from tensorlayout.plan.fill import Create
from tensorlayout.plan.library import Library
from tensorlayout.plan.pad import Pad
from tensorlayout.plan.rules import refuse_complex
from tensorlayout.plan.view import View
from tensorlayout.tensor import Tensor
from tensorlayout.typing import (
    ArrayLike,
    Axis,
    DeviceLike,
    DTypeLike,
    Integers,
    Number,
    Real,
)
from tensorlayout.words import refuse

__all__ = [
    "diag",
    "gradient",
    "logspace",
    "pad",
    "transpose",
]


def transpose(x: Tensor, /, axes: Axis = None) -> Tensor:
    """The dimensions in the order `axes`, by default reversed: `permute_dims`. A view.

    Any dtype. ValueError where `axes` is no permutation.

    >>> import tensorlayout as tl
    >>> tl.transpose(tl.zeros((2, 3, 4))).layout
    Layout.parse('(4,3,2):(1,4,12)')
    """
    x = arguments.tensor("transpose", x)
    if axes is None:
        return permute_dims(x, tuple(range(x.ndim))[::-1])
    dims = arguments.integers(axes, "transpose", "axes", none=False)
    given = arguments.dims("transpose", dims, x.ndim, "axes")
    if len(given) != x.ndim:
        refuse("transpose", f"axes must be {x.ndim}, the rank, got {dims}")
    return permute_dims(x, given)


# The main diagonal of a square matrix.
_DIAG = Create("diag", "value")
_DIAGONAL = View(
    "diag", lambda layout: Layout(layout.shape[:1], (sum(layout.strides),), offset=layout.offset)
)


def diag(v: Tensor, k: SupportsIndex = 0) -> Tensor:
    """The diagonal `k` (above the main one if positive) of a matrix: a view; or a matrix of one.

    A tensor of rank 1 becomes the diagonal of a new row-major matrix, zeros elsewhere. ValueError
    for another rank. Any dtype, kept.

    >>> import tensorlayout as tl
    >>> tl.diag(tl.asarray([[1, 2], [3, 4]]), k=1)
    Tensor([2], dtype=int64, device='cpu')
    """
    x, k = arguments.tensor("diag", v), arguments.integer("diag", "k", k)
    if x.ndim not in (1, 2):
        refuse("diag", f"needs a rank of 1 or 2, got shape {x.shape}")
    if x.ndim == 1:
        n = x.shape[0] + abs(k)
        matrix = created(_DIAG, (n, n), x.dtype, x.device, None, 0)
        diag(matrix, k)[...] = x
        return matrix
    below = x[max(0, -k) :, max(0, k) :]
    n = min(below.shape)
    square = below[:n, :n]
    return dispatch.call(_DIAGONAL, (square._spec,), (square,))


_PAD, _BORDER = Pad("pad"), Assign("pad")

# What plans call the modes.
_PAD_MODES = {
    **{mode: mode for mode in ("constant", "edge", "symmetric", "wrap")},
    "reflect": "reflection",
}


def pad(
    x: Tensor,
    /,
    pad_width: Integers | Sequence[Sequence[SupportsIndex]] | Mapping[int, Integers],
    mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
    *,
    constant_values: ArrayLike = 0,
) -> Tensor:
    """`x` with more elements around it.

    `pad_width`: how many before and after along each dimension: a number, a pair, a pair for each
    dimension, or a mapping of dimensions to pairs. `mode`: what they hold: ``constant_values`` (in
    the same forms, converted to the dtype of `x`), the ``edge``, or more of `x`: ``reflect``
    (without the edge), ``symmetric`` (with it), ``wrap`` (from the other end).

    Layout: packed in the input's order; this has nothing to do with the padding of a layout.
    ValueError for negative widths, and for a mode that repeats a dimension of size 0.

    >>> import tensorlayout as tl
    >>> tl.pad(tl.asarray([1, 2, 3]), (2, 1), "reflect")
    Tensor([3, 2, 1, 2, 3, 2], dtype=int64, device='cpu')
    """
    x = arguments.tensor("pad", x)
    arguments.choice("pad", "mode", mode, f"one of {', '.join(sorted(_PAD_MODES))}", _PAD_MODES)
    widths = _pad_widths(pad_width, x.ndim)
    fillers = _per_side("constant_values", constant_values, x.ndim)
    if fillers.dtype.kind not in "biufcV":
        msg = f"pad: constant_values must be numbers, got {arguments.shown(constant_values)}"
        raise TypeError(msg)
    sides = [(d, side) for d, pair in enumerate(widths) for side in (0, 1) if pair[side]]
    for dim, _ in sides:
        if mode != "constant" and not x.shape[dim]:
            refuse("pad", f"mode {mode!r} cannot extend dimension {dim} of size 0")
    values = [fillers[each].item() for each in sides] if mode == "constant" else []
    for value in values:
        refuse_complex(x._spec, type(value))
    key = (x._spec, tuple(widths), _PAD_MODES[mode])
    result = dispatch.call(_PAD, key, (x, values[0] if values else 0))
    inside = [slice(before, before + n) for (before, _), n in zip(widths, x.shape, strict=True)]
    for (dim, side), value in zip(sides, values, strict=False):
        if fillers[dim, side].tobytes() != fillers[sides[0]].tobytes():
            cut = slice(inside[dim].stop, None) if side else slice(inside[dim].start)
            target = (*[slice(None)] * dim, cut, *inside[dim + 1 :])
            part = result[target]
            dispatch.call(_BORDER, (part._spec, type(value)), (part, value))
    return result


def _pad_widths(given: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(given, Mapping):
        named = {
            arguments.dim("pad", arguments.integer("pad", "pad_width", d), ndim): pair
            for d, pair in given.items()
        }
        given = [_per_side("pad_width", named.get(d, 0), 1)[0] for d in range(ndim)]
    widths = _per_side("pad_width", given, ndim)
    if widths.dtype.kind not in "iu":
        refuse("pad", f"pad_width must be integers, got {arguments.shown(given)}", TypeError)
    if (widths < 0).any():
        refuse("pad", f"pad_width must not be negative, got {arguments.shown(given)}")
    return [(int(before), int(after)) for before, after in widths]


def _per_side(name: str, given: Any, ndim: int) -> Any:
    """A number, a pair, or a pair for each dimension, as an array of such pairs."""
    if isinstance(given, Tensor):
        given = on_host(given)
    try:
        return np.broadcast_to(np.asarray(given if ndim else 0), (ndim, 2))
    except ValueError:
        rule = f"must be a number, a pair or {ndim} pairs"
        msg = f"pad: {name} {rule}, got {arguments.shown(given)}"
        raise ValueError(msg) from None


_POWERS = Copy("logspace")
_GRADIENT = Library("gradient", "floating-point", rank=1)


@overload
def gradient(
    x: Tensor,
    /,
    *distances: Tensor | Real | Sequence[Real],
    axis: SupportsIndex,
    edge_order: SupportsIndex = ...,
) -> Tensor: ...
@overload
def gradient(
    x: Tensor,
    /,
    *distances: Tensor | Real | Sequence[Real],
    axis: Axis = ...,
    edge_order: SupportsIndex = ...,
) -> Tensor | tuple[Tensor, ...]: ...
def gradient(
    x: Tensor,
    /,
    *distances: Tensor | Real | Sequence[Real],
    axis: Axis = None,
    edge_order: SupportsIndex = 1,
) -> Tensor | tuple[Tensor, ...]:
    """The slope along each `axis` (all by default), of second order inside; a tuple for several.

    `distances`: none (1), a number for all axes, or for each axis a number or the coordinates (a
    sequence or tensor of rank 1). `edge_order`: 1 or 2, of the differences at both ends, which need
    as many elements and one more. dtype: that of `x`, float64 for integers. Layout: row-major.
    ValueError for too few elements, and for coordinates of another number.

    >>> import tensorlayout as tl
    >>> tl.gradient(tl.asarray([1.0, 2.0, 4.0, 7.0]))
    Tensor([1. , 1.5, 2.5, 3. ], dtype=float64, device='cpu')
    """
    x = arguments.tensor("gradient", x)
    kind = mean_dtype("gradient", x, None)
    wide = astype(x, kind, copy=False)
    dims = arguments.dims("gradient", axis, x.ndim)
    if len(distances) not in (0, 1, len(dims)):
        msg = f"gradient: distances must be none, one, or one for each axis, got {len(distances)}"
        raise ValueError(msg)
    coordinates = [_beside(x, d) for d in distances if not _is_number(d)]
    numbers = tuple(_distance(d) for d in distances if _is_number(d))
    order = arguments.integer("gradient", "edge_order", edge_order)
    if order not in (1, 2):
        refuse("gradient", f"edge_order must be 1 or 2, got {arguments.shown(order)}")
    if any(x.shape[dim] <= order for dim in dims):
        refuse("gradient", f"needs {order + 1} elements along each axis, got shape {x.shape}")
    if coordinates and numbers:  # NumPy takes both at once, one of them as data here
        coordinates = [_coordinates(x, d, dim) for d, dim in zip(distances, dims, strict=False)]
        numbers = ()
    options: Any = {"axes": dims, "numbers": numbers, "edge_order": order}
    found = dispatch.library(_GRADIENT, wide, *coordinates, **options)
    if isinstance(found, Tensor):
        return astype(found, kind, copy=False)
    return tuple(astype(part, kind, copy=False) for part in found)


def _is_number(distance: Any) -> bool:
    """Whether a distance is one for all neighbours, and no sequence or tensor of coordinates."""
    return not isinstance(distance, (list, tuple)) and np.ndim(distance) == 0


def _beside(x: Tensor, given: Any) -> Tensor:
    """What a caller gives for a tensor, where `x` is; a tensor stays where it is."""
    if isinstance(given, Tensor):
        return given
    return asarray(given, device=x.device)


def _coordinates(x: Tensor, distance: Any, dim: int) -> Tensor:
    if not _is_number(distance):
        return _beside(x, distance)
    return multiply(arange(x.shape[dim], device=x.device), _distance(distance))


def _distance(given: Any) -> float:
    return arguments.as_float("gradient", arguments.real("gradient", "distances", given))


def logspace(
    start: Number,
    stop: Number,
    /,
    num: SupportsIndex = 50,
    *,
    endpoint: bool = True,
    base: Number = 10.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """`num` powers of `base`, their exponents evenly spaced from `start` to `stop`.

    `endpoint`: whether `stop` is the last exponent. `dtype`: float64, or complex128 if one of them
    is complex; or the one asked for. `device`: by default the default device. Layout: row-major.
    ValueError for a negative `num`, TypeError for complex numbers in a real dtype.

    >>> import tensorlayout as tl
    >>> tl.logspace(0, 3, 4)
    Tensor([   1.,   10.,  100., 1000.], dtype=float64, device='cpu')
    """
    first, last = (
        arguments.number("logspace", argument, given)
        for argument, given in (("start", start), ("stop", stop))
    )
    length = arguments.count("logspace", "num", num)
    closed = arguments.truth("logspace", "endpoint", endpoint)
    where = as_device(device, "logspace: device")
    kind = None if dtype is None else as_dtype(dtype, "logspace: dtype")
    exponents = linspace(first, last, length, endpoint=closed, device=where)
    found = pow(arguments.number("logspace", "base", base), exponents)
    if kind is None:
        return found
    return dispatch.call(_POWERS, (found._spec, None, kind), (found,))
