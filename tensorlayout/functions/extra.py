"""Beyond the standard: what libraries call on any array namespace that has it, and who does.

Found by running them on this namespace and listing the names they look up. Without these, the
caller computes in NumPy, where the layout is lost, takes a slower way, or fails.

| name | who calls it |
| --- | --- |
| `allclose`, `isclose` | autoray, and quimb by it |
| `diag` | SciPy (`RBFInterpolator`, which wants methods of NumPy's arrays as well) |
| `einsum` | xarray (`dot`, `weighted`) |
| `gradient` | xarray (`differentiate`) |
| `logspace` | users of NumPy's; SciPy (`signal.freqs`) has one of its own for want of it |
| `pad` | xarray (`pad`, `shift`, `rolling`, `cumulative_integrate`) |
| `put_along_axis` | SciPy (`stats.false_discovery_control`) |
| `transpose` | xarray (`apply_ufunc` with core dimensions) |

Names and parameters are NumPy's. Left out, because whoever calls them brings them along: `kron`,
`atleast_nd` and the like (array-api-extra), `roots` and `convolve` (SciPy).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

from tensorlayout import dtypes, words
from tensorlayout.devices import as_device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.creation import arange, asarray, created, linspace
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.elementwise import (
    abs as magnitude,
)
from tensorlayout.functions.elementwise import (
    add,
    equal,
    isfinite,
    isnan,
    less_equal,
    logical_and,
    logical_or,
    multiply,
    pow,
    subtract,
)
from tensorlayout.functions.indexing import write_at
from tensorlayout.functions.manipulation import permute_dims, reshape
from tensorlayout.functions.searching import beside
from tensorlayout.functions.statistical import mean_dtype
from tensorlayout.functions.transfers import on_host
from tensorlayout.functions.utility import all as all_
from tensorlayout.layout import Layout
from tensorlayout.plan.copy import Assign, Copy
from tensorlayout.plan.fill import Create
from tensorlayout.plan.library import Library, Results, Shape
from tensorlayout.plan.matrices import fitted
from tensorlayout.plan.pad import Pad
from tensorlayout.plan.rules import refuse_complex
from tensorlayout.plan.scatter import Scatter
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
    "allclose",
    "diag",
    "einsum",
    "gradient",
    "isclose",
    "logspace",
    "pad",
    "put_along_axis",
    "transpose",
]


def isclose(
    a: Tensor | Number,
    b: Tensor | Number,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether each ``abs(a - b)`` is at most ``atol + rtol * abs(b)``, or the two are equal.

    `a`, `b`: tensors, or one of them a number; shapes broadcast. Any dtype; integers and bool are
    compared as float64. `rtol`, `atol`: numbers. `equal_nan`: NaN is close to NaN. Layout: in the
    form of ``a - b``. TypeError for anything else.

    >>> import tensorlayout as tl
    >>> tl.isclose(tl.asarray([1.0, 2.0, tl.nan]), tl.asarray([1.0, 2.1, tl.nan]), equal_nan=True)
    Tensor([ True, False,  True], dtype=bool, device='cpu')
    """
    return _is_close("isclose", a, b, rtol, atol, equal_nan)


def _is_close(name: str, a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    operands = [arguments.operand(name, each) for each in (a, b)]
    other = next((each for each in operands if isinstance(each, Tensor)), None)
    if other is None:
        other = arguments.tensor(name, b)
    x, y = (_as_float(beside(name, each, other)) for each in (a, b))
    bound = add(multiply(magnitude(y), rtol), atol)
    found = logical_or(
        logical_and(less_equal(magnitude(subtract(x, y)), bound), isfinite(y)), equal(x, y)
    )
    if arguments.truth(name, "equal_nan", equal_nan):
        found = logical_or(found, logical_and(isnan(x), isnan(y)))
    return found


def _as_float(x: Tensor) -> Tensor:
    exact = dtypes.in_category(x.dtype, "integer or boolean")
    return astype(x, dtypes.float64) if exact else x


def allclose(
    a: Tensor | Number,
    b: Tensor | Number,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether each ``abs(a - b)`` is at most ``atol + rtol * abs(b)``, or the two are equal.

    `a`, `b`: tensors, or one of them a number; shapes broadcast. Any dtype; integers and bool are
    compared as float64. `rtol`, `atol`: numbers. `equal_nan`: NaN is close to NaN. The answer is a
    Python bool; a CUDA device waits for it. TypeError for anything else.

    >>> import tensorlayout as tl
    >>> tl.allclose(tl.asarray([1.0, 2.0]), tl.asarray([1.0, 2.0 + 1e-9]))
    True
    """
    return bool(all_(_is_close("allclose", a, b, rtol, atol, equal_nan)))


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


def diag(x: Tensor, /, k: SupportsIndex = 0) -> Tensor:
    """The diagonal `k` (above the main one if positive) of a matrix: a view; or a matrix of one.

    A tensor of rank 1 becomes the diagonal of a new row-major matrix, zeros elsewhere. ValueError
    for another rank. Any dtype, kept.

    >>> import tensorlayout as tl
    >>> tl.diag(tl.asarray([[1, 2], [3, 4]]), k=1)
    Tensor([2], dtype=int64, device='cpu')
    """
    x, k = arguments.tensor("diag", x), arguments.integer("diag", "k", k)
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


def put_along_axis(
    x: Tensor, indices: Tensor, /, values: ArrayLike, axis: SupportsIndex = -1
) -> None:
    """Write `values` into `x`, in each line along `axis` at the line of `indices` it belongs to.

    `indices`: integers, of the rank of `x`; sizes of 1 broadcast, but for `axis`. `values`: a
    number, or a tensor that broadcasts to their shape. In place, as ``x[…] = y``: dtype and layout
    of `x` stay; of positions that occur twice the last one wins. IndexError outside. Any dtype.

    >>> import tensorlayout as tl
    >>> x = tl.asarray([[30, 10, 20]])
    >>> tl.put_along_axis(x, tl.asarray([[1]]), 99)
    >>> x
    Tensor([[30, 99, 20]], dtype=int64, device='cpu')
    """
    x, indices = arguments.tensor("put_along_axis", x), arguments.indices("put_along_axis", indices)
    dim = arguments.dim("put_along_axis", axis, x.ndim)
    fits = indices.ndim == x.ndim and all(
        n in (1, m) or d == dim for d, (n, m) in enumerate(zip(indices.shape, x.shape, strict=True))
    )
    if not fits:
        msg = (
            f"put_along_axis: indices of shape {indices.shape} do not fit a tensor of shape"
            f" {x.shape} along axis {dim}"
        )
        raise ValueError(msg)
    key = tuple(indices if d == dim else _line(x, d, n) for d, n in enumerate(x.shape))
    write_at(_PUT, x, key, values)


def _line(x: Tensor, dim: int, size: int) -> Tensor:
    """The numbers below `size` along `dim` of a tensor of the rank of `x`."""
    shape = [size if d == dim else 1 for d in range(x.ndim)]
    return reshape(arange(size, device=x.device), shape)


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


def _summed(shapes: Sequence[Shape], dtype: DType, *, subscripts: str) -> Results:
    return [(fitted(subscripts, tuple(shapes))[1], dtype)]


_MOST_OPERANDS = 64  # NumPy's search for an order of them takes time as their cube
_MOST_LETTERS = 4096  # of subscripts: as many as 64 operands of rank 64 have
_PUT = Scatter("put_along_axis")
_POWERS = Copy("logspace")
_EINSUM = Library("einsum", "any", _summed)
_GRADIENT = Library("gradient", "floating-point", rank=1)


def einsum(subscripts: str, /, *operands: Tensor) -> Tensor:
    """The sum of products over the labelled dimensions, in Einstein's notation, as NumPy reads it.

    `subscripts`: such as ``"ij,jk->ik"``; ``...`` for dimensions without a label. dtype: the
    promoted one; 16-bit floats are worked out in float32. Layout: row-major, always a new tensor.
    ValueError for subscripts that do not fit.

    >>> import tensorlayout as tl
    >>> tl.einsum("ij,j->i", tl.asarray([[1, 2], [3, 4]]), tl.asarray([1, 10]))
    Tensor([21, 43], dtype=int64, device='cpu')
    """
    if not isinstance(subscripts, str):
        msg = (
            f"einsum: the first argument must be the subscripts, got {arguments.shown(subscripts)}"
        )
        raise TypeError(msg)
    given = arguments.tensors("einsum", operands, "operands")
    terms = subscripts.partition("->")[0].count(",") + 1
    if terms != len(given) or terms > _MOST_OPERANDS or len(subscripts) > _MOST_LETTERS:
        most = f"at most {_MOST_OPERANDS}, in at most {_MOST_LETTERS} letters"
        reason = f"each operand is named once, {most}"
        raise _unfit(subscripts, given, reason)
    try:
        spelled, _ = fitted(subscripts, tuple([x.shape for x in given]))
    except ValueError as error:
        raise _unfit(subscripts, given, str(error)) from None
    found: Tensor = dispatch.library(_EINSUM, *given, subscripts=spelled)
    return found


def _unfit(subscripts: str, given: Sequence[Tensor], reason: str) -> ValueError:
    shapes = words.cut(", ".join(str(x.shape) for x in given))
    came = f"{arguments.shown(subscripts)} does not fit shapes {shapes}"
    return ValueError(f"einsum: {came}: {words.cut(reason)}")


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
