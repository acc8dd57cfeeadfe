"""Fourier transforms: the extension ``fft`` of the standard.

Operands are handed to NumPy as they lie, whatever their layout and whichever the axes; results are
row-major, in the precision of the operand. 16-bit floats are worked out in float32: complex
results are complex64, real ones rounded once. Where the standard asks for a complex operand, a real
one is taken too. Integers and bool are converted to float64 first, which a trace shows.

Each transform takes `norm`: ``"backward"`` divides the inverse transforms by the number of
elements, ``"forward"`` the others, ``"ortho"`` all of them by its square root. Errors, for each:
TypeError for dtypes; ValueError for lines of no elements, and any other `norm`; AxisError, which is
a ValueError and an IndexError, for axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from tensorlayout import calling, dtypes, spellings
from tensorlayout.devices import default_device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.data_types import astype
from tensorlayout.functions.manipulation import roll
from tensorlayout.plan.fill import Create
from tensorlayout.plan.library import Library, Results, Shape, complex_of
from tensorlayout.plan.rules import normalized_dims
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis, DeviceLike, DTypeLike, Integers, Real

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm = Literal["backward", "ortho", "forward"]

# --- what the results will be ------------------------------------------------------------------
# `s`: the sizes along `axes` of the longer side of the transform, which is the result's but where
# the result is the half that determines the rest.


def _complex(shapes: Sequence[Shape], dtype: DType, *, s: Shape, axes: Shape, norm: str) -> Results:
    return [(_resized(shapes[0], axes, s), complex_of(dtype))]


def _half(shapes: Sequence[Shape], dtype: DType, *, s: Shape, axes: Shape, norm: str) -> Results:
    return [(_resized(shapes[0], axes, (*s[:-1], s[-1] // 2 + 1)), complex_of(dtype))]


def _real(shapes: Sequence[Shape], dtype: DType, *, s: Shape, axes: Shape, norm: str) -> Results:
    return [(_resized(shapes[0], axes, s), dtypes.real_of(dtype))]


def _resized(shape: Shape, axes: Shape, sizes: Shape) -> Shape:
    changed = dict(zip(axes, sizes, strict=True))
    return tuple(changed.get(d, n) for d, n in enumerate(shape))


# --- the table ---------------------------------------------------------------------------------

_FLOATS = "floating-point"

_FFT = Library("fft", _FLOATS, _complex)
_IFFT = Library("ifft", _FLOATS, _complex)
_FFTN = Library("fftn", _FLOATS, _complex)
_IFFTN = Library("ifftn", _FLOATS, _complex)
_RFFT = Library("rfft", "real floating", _half)
_IRFFT = Library("irfft", _FLOATS, _real)
_RFFTN = Library("rfftn", "real floating", _half)
_IRFFTN = Library("irfftn", _FLOATS, _real)
_HFFT = Library("hfft", _FLOATS, _real)
_IHFFT = Library("ihfft", "real floating", _half)

_NORMS = ("backward", "ortho", "forward")


def _along(
    operation: Library, x: Any, n: SupportsIndex | None, axis: SupportsIndex, norm: str
) -> Tensor:
    x = arguments.tensor(operation.name, x)
    size = None if n is None else arguments.integer(operation.name, "n", n)
    if size is not None and size < 1:
        msg = f"{operation.name}: n must be at least 1, got {arguments.shown(n)}"
        raise ValueError(msg)
    dim = arguments.integer(operation.name, "axis", axis)
    return _over(operation, x, None if size is None else (size,), (dim,), norm, "axis")


def _over(
    operation: Library, x: Any, s: Any, axes: Any, norm: str, argument: str = "axes"
) -> Tensor:
    name = operation.name
    x = arguments.tensor(name, x)
    if dtypes.in_category(x.dtype, "integer or boolean"):
        x = astype(x, dtypes.float64)
    arguments.choice(name, "norm", norm, "'backward', 'ortho' or 'forward'", _NORMS)
    if s is not None and axes is None:
        msg = f"{name}: s needs axes, one for each size"
        raise ValueError(msg)
    dims = normalized_dims(arguments.integers(axes, name, "axes"), x.ndim, argument)
    if not dims and operation.rule is not _complex:
        msg = f"{name}: needs at least one axis, got shape {x.shape} and axes {axes}"
        raise ValueError(msg)
    sizes = _sizes(operation, x.shape, dims, arguments.integers(s, name, "s"))
    found: Tensor = dispatch.library(operation, x, s=sizes, axes=dims, norm=norm)
    return found


def _sizes(operation: Library, shape: Shape, dims: Shape, s: Any) -> Shape:
    """The sizes along `dims`, those that `s` does not give (None, or -1) from the operand."""
    whole = [shape[d] for d in dims]
    if operation.rule is _real:
        whole[-1] = 2 * (whole[-1] - 1)
    given = (-1,) * len(dims) if s is None else (s,) if isinstance(s, int) else s
    if len(given) != len(dims):
        msg = f"{operation.name}: s and axes must be equally many, got {arguments.shown(given)}"
        msg += f" and {dims}"
        raise ValueError(msg)
    sizes = tuple(m if n == -1 else n for n, m in zip(given, whole, strict=True))
    if any(n < 1 for n in sizes):
        msg = (
            f"{operation.name}: sizes along axes {dims} must be at least 1, got {sizes} for"
            f" shape {shape}"
        )
        raise ValueError(msg)
    return sizes


# --- the functions -----------------------------------------------------------------------------


def fft(
    x: Tensor,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Norm = "backward",
) -> Tensor:
    """The discrete Fourier transform along `axis`, cut or zero-padded to `n` elements.

    dtypes: floating-point; the result is complex. The shape is that of `x`, but for `n` along
    `axis`. `norm`: what is divided by: nothing, with ``"backward"``; `n`, with ``"forward"``; its
    root, with ``"ortho"``. Layout: row-major. ValueError for `n` below 1, another `norm`, and
    (AxisError) for an axis outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.fft(tl.asarray([1.0, 0.0, 0.0]), n=2)
    Tensor([1.+0.j, 1.+0.j], dtype=complex128, device='cpu')
    """
    return _along(_FFT, x, n, axis, norm)


def ifft(
    x: Tensor,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `fft` along `axis`, of `n` elements.

    dtypes: floating-point; the result is complex. `norm`: what is divided by: `n`, with
    ``"backward"``; nothing, with ``"forward"``; its root, with ``"ortho"``. Layout: row-major.
    ValueError for `n` below 1, another `norm`, and (AxisError) for an axis outside the rank;
    TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.ifft(tl.asarray([4.0, 0.0, 0.0, 0.0]))
    Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex128, device='cpu')
    """
    return _along(_IFFT, x, n, axis, norm)


def rfft(
    x: Tensor,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Norm = "backward",
) -> Tensor:
    """The transform of real elements: the n // 2 + 1 of `fft` that determine the rest.

    dtypes: real floating; the result is complex. `n`, `axis`, `norm`: as in `fft`. Layout:
    row-major. ValueError for `n` below 1, another `norm`, and (AxisError) for an axis outside the
    rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.rfft(tl.asarray([1.0, 1.0, 1.0, 1.0]))
    Tensor([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex128, device='cpu')
    """
    return _along(_RFFT, x, n, axis, norm)


def irfft(
    x: Tensor,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `rfft`, of `n` elements (by default twice one less than there are).

    dtypes: floating-point; the result is real. `axis`, `norm`: as in `ifft`. Layout: row-major.
    ValueError for `n` below 1, another `norm`, and (AxisError) for an axis outside the rank;
    TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.irfft(tl.asarray([4.0, 0.0, 0.0]))
    Tensor([1., 1., 1., 1.], dtype=float64, device='cpu')
    """
    return _along(_IRFFT, x, n, axis, norm)


def hfft(
    x: Tensor,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Norm = "backward",
) -> Tensor:
    """The transform of Hermitian-symmetric lines, given by their halves.

    dtypes: floating-point; the result is real. `n`: how many elements it has along `axis`, by
    default twice one less than there are. `norm`: as in `fft`. Layout: row-major. ValueError for
    `n` below 1, another `norm`, and (AxisError) for an axis outside the rank; TypeError for other
    dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.hfft(tl.asarray([1.0, 1.0, 1.0]))
    Tensor([4., 0., 0., 0.], dtype=float64, device='cpu')
    """
    return _along(_HFFT, x, n, axis, norm)


def ihfft(
    x: Tensor,
    /,
    *,
    n: SupportsIndex | None = None,
    axis: SupportsIndex = -1,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `hfft`: the n // 2 + 1 elements that determine the rest.

    dtypes: real floating; the result is complex. `n`: how many elements of `x` count along `axis`.
    `norm`: as in `ifft`. Layout: row-major. ValueError for `n` below 1, another `norm`, and
    (AxisError) for an axis outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.real(tl.fft.ihfft(tl.asarray([4.0, 0.0, 0.0, 0.0])))
    Tensor([1., 1., 1.], dtype=float64, device='cpu', layout='(3,):(2,)')
    """
    return _along(_IHFFT, x, n, axis, norm)


def fftn(
    x: Tensor,
    /,
    *,
    s: Integers | None = None,
    axes: Axis = None,
    norm: Norm = "backward",
) -> Tensor:
    """The discrete Fourier transform over `axes` (all by default), of sizes `s`.

    dtypes: floating-point; the result is complex. `s`: one size for each of `axes`, which must then
    be given; -1 takes all elements. Over no axes the elements stay what they are. `norm`: as in
    `fft`, of the product of sizes. Layout: row-major. ValueError for sizes that are none, another
    `norm`, and (AxisError) for an axis outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.fftn(tl.ones((2, 2)))
    Tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex128, device='cpu')
    """
    return _over(_FFTN, x, s, axes, norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Integers | None = None,
    axes: Axis = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `fftn` over `axes` (all by default), of sizes `s`.

    dtypes: floating-point; the result is complex. `s`: one size for each of `axes`, which must then
    be given; -1 takes all elements. `norm`: as in `ifft`, of the product of sizes. Layout:
    row-major. ValueError for sizes that are none, another `norm`, and (AxisError) for an axis
    outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.ifftn(tl.asarray([[4.0, 0.0], [0.0, 0.0]]))
    Tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]], dtype=complex128, device='cpu')
    """
    return _over(_IFFTN, x, s, axes, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Integers | None = None,
    axes: Axis = None,
    norm: Norm = "backward",
) -> Tensor:
    """The transform of real elements over `axes`: half of the last determines the rest.

    dtypes: real floating; the result is complex. `s`, `norm`: as in `fftn`. Layout: row-major.
    ValueError for sizes that are none, another `norm`, and (AxisError) for an axis outside the
    rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.rfftn(tl.ones((2, 3)))
    Tensor([[6.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex128, device='cpu')
    """
    return _over(_RFFTN, x, s, axes, norm)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Integers | None = None,
    axes: Axis = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `rfftn` over `axes`; `s` are sizes of the result.

    dtypes: floating-point; the result is real. The last size is by default twice one less than
    there are elements. `norm`: as in `ifftn`. Layout: row-major. ValueError for sizes that are
    none, another `norm`, and (AxisError) for an axis outside the rank; TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.irfftn(tl.asarray([[4.0, 0.0], [0.0, 0.0]]))
    Tensor([[1., 1.],
            [1., 1.]], dtype=float64, device='cpu')
    """
    return _over(_IRFFTN, x, s, axes, norm)


_FFTFREQ = Create("fftfreq", "frequencies")
_RFFTFREQ = Create("rfftfreq", "frequencies")


def fftfreq(
    n: SupportsIndex,
    /,
    *,
    d: Real = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """The frequencies of the elements of `fft` of `n` elements, `d` apart: of shape (n,).

    `dtype`: float64, or any other real floating one. `device`: by default the default device.
    Layout: row-major. ValueError for `n` below 1 and a `d` of 0, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.fftfreq(4, d=0.5)
    Tensor([ 0. ,  0.5, -1. , -0.5], dtype=float64, device='cpu')
    """
    return _spectrum(_FFTFREQ, n, d, dtype, device)


def rfftfreq(
    n: SupportsIndex,
    /,
    *,
    d: Real = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """The frequencies of the elements of `rfft` of `n` elements, `d` apart: (n // 2 + 1,).

    `dtype`: float64, or any other real floating one. `device`: by default the default device.
    Layout: row-major. ValueError for `n` below 1 and a `d` of 0, TypeError for other dtypes.

    >>> import tensorlayout as tl
    >>> tl.fft.rfftfreq(4, d=0.5)
    Tensor([0. , 0.5, 1. ], dtype=float64, device='cpu')
    """
    return _spectrum(_RFFTFREQ, n, d, dtype, device)


def _spectrum(operation: Create, n: Any, d: Any, dtype: Any, device: Any) -> Tensor:
    name = operation.name
    size = arguments.integer(name, "n", n)
    spacing = arguments.as_float(name, arguments.real(name, "d", d))
    if size < 1:
        msg = f"{name}: n must be at least 1, got {arguments.shown(n)}"
        raise ValueError(msg)
    if spacing == 0:
        msg = f"{name}: d must not be 0"
        raise ValueError(msg)
    kind = dtypes.float64 if dtype is None else as_dtype(dtype, f"{name}: dtype")
    if not dtypes.in_category(kind, "real floating"):
        msg = f"{name}: dtype must be real floating, got {kind}"
        raise TypeError(msg)
    whole = operation is _FFTFREQ
    where = default_device() if device is None else device
    key = ((size if whole else size // 2 + 1,), kind, None, where)
    return dispatch.call(operation, key, (size, spacing, whole))


def fftshift(x: Tensor, /, *, axes: Axis = None) -> Tensor:
    """The zero frequency moved to the middle of each of `axes` (all by default).

    Any dtype. Layout: packed in the input's order. ValueError (AxisError) for an axis outside the
    rank, TypeError for one that is no integer.

    >>> import tensorlayout as tl
    >>> tl.fft.fftshift(tl.fft.fftfreq(4))
    Tensor([-0.5 , -0.25,  0.  ,  0.25], dtype=float64, device='cpu')
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Tensor, /, *, axes: Axis = None) -> Tensor:
    """The inverse of `fftshift`: the middle of each of `axes` (all by default) moved to the front.

    Any dtype. Layout: packed in the input's order. ValueError (AxisError) for an axis outside the
    rank, TypeError for one that is no integer.

    >>> import tensorlayout as tl
    >>> tl.fft.ifftshift(tl.asarray([-2, -1, 0, 1]))
    Tensor([ 0,  1, -2, -1], dtype=int64, device='cpu')
    """
    return _shifted("ifftshift", x, axes, -1)


def _shifted(name: str, x: Any, axes: Any, sign: int) -> Tensor:
    x = arguments.tensor(name, x)
    dims = arguments.dims(name, axes, x.ndim, "axes")
    if not x.ndim:
        return astype(x, x.dtype)
    return roll(x, [sign * (x.shape[d] // 2) for d in dims] or 0, axis=dims or 0)


calling.guard(globals(), __all__)

if not TYPE_CHECKING:  # for which any name would exist
    __getattr__ = spellings.of_module(__name__, __all__)
