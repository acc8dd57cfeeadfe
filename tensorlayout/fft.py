"""Fourier transforms: the extension ``fft`` of the standard.

Operands are passed to NumPy without a copy, whatever their layout and the axes; results are
row-major, in the precision of the operand. 16-bit floats are computed in float32: complex results
are complex64, real results are rounded once. Functions that require a complex operand in the
standard accept a real one, too. Integers and bool are converted to float64 first, which a trace
shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from tensorlayout import dtypes, errors
from tensorlayout.dtypes import DType
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.creation import create_tensor
from tensorlayout.functions.operands import integers_to_float64
from tensorlayout.functions.outputs import store_in_out
from tensorlayout.plan import Create, Library, Results, Shape, complex_dtype_for
from tensorlayout.support import spellings
from tensorlayout.tensor import Tensor
from tensorlayout.typing import Axis, DeviceLike, DTypeLike, Integers, Real

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

Norm = Literal["backward", "ortho", "forward"] | None
Length = SupportsIndex | None
Sizes = Integers | None
Out = Tensor | None

# --- shapes and dtypes of the results ----------------------------------------------------------
# `s`: sizes along `axes` of the full transform; only half-spectrum results are shorter.


def _make_result_rule(
    result_dtype: Callable[[DType], DType], halves_last_axis: bool = False
) -> Callable[..., Results]:
    def result_specs(
        shapes: Sequence[Shape], dtype: DType, *, s: Shape, axes: Shape, norm: str
    ) -> Any:
        # The spectrum of n real numbers is conjugate-symmetric, so its first n // 2 + 1 elements
        # determine the others.
        sizes = dict(zip(axes, (*s[:-1], s[-1] // 2 + 1) if halves_last_axis else s, strict=True))
        return [(tuple(sizes.get(d, n) for d, n in enumerate(shapes[0])), result_dtype(dtype))]

    return result_specs


_complex_results = _make_result_rule(complex_dtype_for)
_half_spectrum_results = _make_result_rule(complex_dtype_for, halves_last_axis=True)
_real_results = _make_result_rule(dtypes.real_part_dtype)

# --- the table ---------------------------------------------------------------------------------

_FLOATS = "floating-point"

_FFT = Library("fft", _FLOATS, _complex_results)
_IFFT = Library("ifft", _FLOATS, _complex_results)
_FFTN = Library("fftn", _FLOATS, _complex_results)
_IFFTN = Library("ifftn", _FLOATS, _complex_results)
_RFFT = Library("rfft", "real floating", _half_spectrum_results)
_IRFFT = Library("irfft", _FLOATS, _real_results)
_RFFTN = Library("rfftn", "real floating", _half_spectrum_results)
_IRFFTN = Library("irfftn", _FLOATS, _real_results)
_HFFT = Library("hfft", _FLOATS, _real_results)
_IHFFT = Library("ihfft", "real floating", _half_spectrum_results)

# The standard's names for the three ways to scale a transform.
_NORMS = ("backward", "ortho", "forward")


def _transform_along_axis(
    operation: Library, a: Any, n: Length, axis: SupportsIndex, norm: Norm, out: Out
) -> Tensor:
    """Transform `a` along one axis."""
    x = arguments.as_tensor(a)
    size = None if n is None else (arguments.as_integer("n", n),)
    if size is not None and size[0] < 1:
        raise ValueError(f"n must be at least 1, got {arguments.format_argument(n)}")
    return _transform_over_axes(
        operation, x, size, (arguments.as_integer("axis", axis),), norm, out, "axis"
    )


def _transform_over_axes(
    operation: Library, a: Any, s: Any, axes: Any, norm: Norm, out: Out, argument: str = "axes"
) -> Tensor:
    """Transform over several axes; if `axes` is None, `s` applies to the last ones."""
    x = integers_to_float64(a)
    norm_name = "backward" if norm is None else norm
    arguments.check_choice("norm", norm_name, _NORMS, "'backward', 'ortho' or 'forward'")
    requested_sizes = arguments.as_integers(s, "s")
    if axes is None and isinstance(requested_sizes, tuple):
        axes = range(-len(requested_sizes), 0)
    dims = arguments.normalize_axes(axes, x.ndim, argument)
    # Without axes a complex transform changes nothing. The others need a last axis, whose size
    # changes.
    if not dims and operation.rule is not _complex_results:
        raise ValueError(f"needs at least one axis, got shape {x.shape} and axes {axes}")
    sizes = _transform_sizes(operation, x.shape, dims, requested_sizes)
    result = dispatch.call_library(operation, x, s=sizes, axes=dims, norm=norm_name)
    return store_in_out(operation.name, result, out)


def _transform_sizes(operation: Library, shape: Shape, dims: Shape, s: Any) -> Shape:
    """Return the sizes along `dims`; None or -1 in `s` stands for the operand's size."""
    default_sizes = [shape[d] for d in dims]
    if operation.rule is _real_results:
        # A half spectrum of m elements belongs to 2 * (m - 1) or one more real elements. The
        # standard's default is the even size.
        default_sizes[-1] = 2 * (default_sizes[-1] - 1)
    requested_sizes = (-1,) * len(dims) if s is None else (s,) if isinstance(s, int) else s
    if len(requested_sizes) != len(dims):
        counts_text = f"{arguments.format_argument(requested_sizes)} and {dims}"
        raise ValueError(f"s and axes must have equal lengths, got {counts_text}")
    sizes = tuple(m if n == -1 else n for n, m in zip(requested_sizes, default_sizes, strict=True))
    if any(n < 1 for n in sizes):
        rule = f"sizes along axes {dims} must be at least 1"
        raise ValueError(f"{rule}, got {sizes} for shape {shape}")
    return sizes


# --- the functions -----------------------------------------------------------------------------


def fft(
    a: Tensor, n: Length = None, axis: SupportsIndex = -1, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the discrete Fourier transform along `axis`, cropped or zero-padded to `n` elements.

    - `n`: length of the transform; None takes the size along `axis`.
    - `norm`: the result is divided by nothing with ``"backward"`` (the default), by `n` with
      ``"forward"``, by the square root of `n` with ``"ortho"``.
    - `out`: receives the result.

    Returns a complex tensor of the shape of `a`, except for size `n` along `axis`. dtypes:
    floating-point; integers and bool are converted to float64. Layout: row-major.

    Raises `ValueError` if `n` or a size is below 1, if `norm` is unknown, and (`AxisError`) if
    `axis` is out of bounds; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.fft.fft(tl.asarray([1.0, 0.0, 0.0]), n=2)
    Tensor([1.+0.j, 1.+0.j], dtype=complex128, device='cpu')
    """
    return _transform_along_axis(_FFT, a, n, axis, norm, out)


def ifft(
    a: Tensor, n: Length = None, axis: SupportsIndex = -1, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the inverse of `fft` along `axis`, of `n` elements.

    - `norm`: the result is divided by `n` with ``"backward"`` (the default), by nothing with
      ``"forward"``, by the square root of `n` with ``"ortho"``.
    - `n`, `axis`, `out`: as in `fft`.

    Returns a complex tensor. dtypes: floating-point. Layout: row-major.

    Raises `ValueError` and `TypeError` as `fft` does.

    >>> import tensorlayout as tl
    >>> tl.fft.ifft(tl.asarray([4.0, 0.0, 0.0, 0.0]))
    Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex128, device='cpu')
    """
    return _transform_along_axis(_IFFT, a, n, axis, norm, out)


def rfft(
    a: Tensor, n: Length = None, axis: SupportsIndex = -1, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the non-redundant half of the `fft` of real elements: n // 2 + 1 elements.

    `n`, `axis`, `norm` and `out` are as in `fft`. Returns a complex tensor. dtypes: real floating.
    Layout: row-major.

    Raises `ValueError` and `TypeError` as `fft` does; `TypeError` for complex dtypes, too.

    >>> import tensorlayout as tl
    >>> tl.fft.rfft(tl.asarray([1.0, 1.0, 1.0, 1.0]))
    Tensor([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex128, device='cpu')
    """
    return _transform_along_axis(_RFFT, a, n, axis, norm, out)


def irfft(
    a: Tensor, n: Length = None, axis: SupportsIndex = -1, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the inverse of `rfft`, of `n` elements (default: 2 * (m - 1) for m elements of `a`).

    `axis`, `norm` and `out` are as in `ifft`. Returns a real tensor. dtypes: floating-point.
    Layout: row-major.

    Raises `ValueError` and `TypeError` as `fft` does.

    >>> import tensorlayout as tl
    >>> tl.fft.irfft(tl.asarray([4.0, 0.0, 0.0]))
    Tensor([1., 1., 1., 1.], dtype=float64, device='cpu')
    """
    return _transform_along_axis(_IRFFT, a, n, axis, norm, out)


def hfft(
    a: Tensor, n: Length = None, axis: SupportsIndex = -1, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the transform of Hermitian-symmetric lines, specified by their first halves.

    `n` is the size of the result along `axis` (default: 2 * (m - 1) for m elements of `a`); `norm`
    and `out` are as in `fft`. Returns a real tensor. dtypes: floating-point. Layout: row-major.

    Raises `ValueError` and `TypeError` as `fft` does.

    >>> import tensorlayout as tl
    >>> tl.fft.hfft(tl.asarray([1.0, 1.0, 1.0]))
    Tensor([4., 0., 0., 0.], dtype=float64, device='cpu')
    """
    return _transform_along_axis(_HFFT, a, n, axis, norm, out)


def ihfft(
    a: Tensor, n: Length = None, axis: SupportsIndex = -1, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the inverse of `hfft`: its non-redundant half, n // 2 + 1 elements.

    `n` is the number of elements of `a` used along `axis`; `norm` and `out` are as in `ifft`.
    Returns a complex tensor. dtypes: real floating. Layout: row-major.

    Raises `ValueError` and `TypeError` as `fft` does; `TypeError` for complex dtypes, too.

    >>> import tensorlayout as tl
    >>> tl.real(tl.fft.ihfft(tl.asarray([4.0, 0.0, 0.0, 0.0])))
    Tensor([1., 1., 1.], dtype=float64, device='cpu', layout='(3,):(2,)')
    """
    return _transform_along_axis(_IHFFT, a, n, axis, norm, out)


def fftn(
    a: Tensor, s: Sizes = None, axes: Axis = None, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the discrete Fourier transform over `axes` (default: all), of sizes `s`.

    - `s`: one size for each of `axes`, or for the last dimensions if `axes` is None; -1 takes all
      elements.
    - `norm`: as in `fft`, with the product of the sizes in place of `n`.
    - `out`: receives the result.

    Returns a complex tensor; without axes, the elements are unchanged. dtypes: floating-point.
    Layout: row-major.

    Raises `ValueError` if a size is below 1, if `s` and `axes` differ in length, if `norm` is
    unknown, and (`AxisError`) if an axis is out of bounds; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.fft.fftn(tl.ones((2, 2)))
    Tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex128, device='cpu')
    """
    return _transform_over_axes(_FFTN, a, s, axes, norm, out)


def fft2(
    a: Tensor, s: Sizes = None, axes: Axis = (-2, -1), norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the transform of each matrix: `fftn` over two `axes` (default: the last two).

    `s`, `norm` and `out` are as in `fftn`. Returns a complex tensor. dtypes: floating-point.
    Layout: row-major.

    Raises `ValueError` and `TypeError` as `fftn` does.

    >>> import tensorlayout as tl
    >>> tl.fft.fft2(tl.ones((2, 2)))
    Tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex128, device='cpu')
    """
    return _transform_over_axes(_FFTN, a, s, axes, norm, out)


def ifftn(
    a: Tensor, s: Sizes = None, axes: Axis = None, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the inverse of `fftn` over `axes` (default: all), of sizes `s`.

    `norm` is as in `ifft`, with the product of the sizes in place of `n`; `s` and `out` are as in
    `fftn`. Returns a complex tensor. dtypes: floating-point. Layout: row-major.

    Raises `ValueError` and `TypeError` as `fftn` does.

    >>> import tensorlayout as tl
    >>> tl.fft.ifftn(tl.asarray([[4.0, 0.0], [0.0, 0.0]]))
    Tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]], dtype=complex128, device='cpu')
    """
    return _transform_over_axes(_IFFTN, a, s, axes, norm, out)


def ifft2(
    a: Tensor, s: Sizes = None, axes: Axis = (-2, -1), norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the inverse of `fft2`: `ifftn` over two `axes` (default: the last two).

    `s`, `norm` and `out` are as in `ifftn`. Returns a complex tensor. dtypes: floating-point.
    Layout: row-major.

    Raises `ValueError` and `TypeError` as `fftn` does.

    >>> import tensorlayout as tl
    >>> tl.fft.ifft2(tl.ones((1, 1)))
    Tensor([[1.+0.j]], dtype=complex128, device='cpu')
    """
    return _transform_over_axes(_IFFTN, a, s, axes, norm, out)


def rfftn(
    a: Tensor, s: Sizes = None, axes: Axis = None, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the non-redundant half of the `fftn` of real elements over `axes` (default: all).

    `s`, `norm` and `out` are as in `fftn`. Returns a complex tensor with n // 2 + 1 elements along
    the last of `axes`. dtypes: real floating. Layout: row-major.

    Raises `ValueError` and `TypeError` as `fftn` does; `ValueError` without axes and `TypeError`
    for complex dtypes, too.

    >>> import tensorlayout as tl
    >>> tl.fft.rfftn(tl.ones((2, 3)))
    Tensor([[6.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex128, device='cpu')
    """
    return _transform_over_axes(_RFFTN, a, s, axes, norm, out)


def rfft2(
    a: Tensor, s: Sizes = None, axes: Axis = (-2, -1), norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the transform of real matrices: `rfftn` over two `axes` (default: the last two).

    `s`, `norm` and `out` are as in `rfftn`. Returns a complex tensor. dtypes: real floating.
    Layout: row-major.

    Raises `ValueError` and `TypeError` as `rfftn` does.

    >>> import tensorlayout as tl
    >>> tl.fft.rfft2(tl.ones((1, 3)))
    Tensor([[3.+0.j, 0.+0.j]], dtype=complex128, device='cpu')
    """
    return _transform_over_axes(_RFFTN, a, s, axes, norm, out)


def irfftn(
    a: Tensor, s: Sizes = None, axes: Axis = None, norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the inverse of `rfftn` over `axes`; `s` are the sizes of the result.

    The last of the sizes is 2 * (m - 1) by default, for m elements of `a`. `norm` and `out` are as
    in `ifftn`. Returns a real tensor. dtypes: floating-point. Layout: row-major.

    Raises `ValueError` and `TypeError` as `fftn` does; `ValueError` without axes, too.

    >>> import tensorlayout as tl
    >>> tl.fft.irfftn(tl.asarray([[4.0, 0.0], [0.0, 0.0]]))
    Tensor([[1., 1.],
            [1., 1.]], dtype=float64, device='cpu')
    """
    return _transform_over_axes(_IRFFTN, a, s, axes, norm, out)


def irfft2(
    a: Tensor, s: Sizes = None, axes: Axis = (-2, -1), norm: Norm = None, out: Out = None
) -> Tensor:
    """Return the inverse of `rfft2`: `irfftn` over two `axes` (default: the last two).

    `s`, `norm` and `out` are as in `irfftn`. Returns a real tensor. dtypes: floating-point. Layout:
    row-major.

    Raises `ValueError` and `TypeError` as `irfftn` does.

    >>> import tensorlayout as tl
    >>> tl.fft.irfft2(tl.asarray([[4.0, 0.0]]))
    Tensor([[2., 2.]], dtype=float64, device='cpu')
    """
    return _transform_over_axes(_IRFFTN, a, s, axes, norm, out)


_FFTFREQ = Create("fftfreq", "frequencies")
_RFFTFREQ = Create("rfftfreq", "frequencies")


def fftfreq(
    n: SupportsIndex,
    d: Real = 1.0,
    device: DeviceLike | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return the frequencies of the `n` elements of an `fft`, for samples `d` apart.

    `device` is by default the default device. Returns a tensor of shape (n,), of `dtype` (default:
    float64), a real floating dtype. Layout: row-major.

    Raises `ValueError` if `n` is below 1 or `d` is 0; `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.fft.fftfreq(4, d=0.5)
    Tensor([ 0. ,  0.5, -1. , -0.5], dtype=float64, device='cpu')
    """
    return _create_frequencies(_FFTFREQ, n, d, dtype, device)


def rfftfreq(
    n: SupportsIndex,
    d: Real = 1.0,
    device: DeviceLike | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return the frequencies of the elements of an `rfft` of `n` samples with spacing `d`.

    `dtype` and `device` are as in `fftfreq`. Returns a tensor of shape (n // 2 + 1,). Layout:
    row-major.

    Raises `ValueError` and `TypeError` as `fftfreq` does.

    >>> import tensorlayout as tl
    >>> tl.fft.rfftfreq(4, d=0.5)
    Tensor([0. , 0.5, 1. ], dtype=float64, device='cpu')
    """
    return _create_frequencies(_RFFTFREQ, n, d, dtype, device)


def _create_frequencies(operation: Create, n: Any, d: Any, dtype: Any, device: Any) -> Tensor:
    size = arguments.as_integer("n", n)
    spacing = arguments.as_real_float("d", d)
    if size < 1:
        raise ValueError(f"n must be at least 1, got {arguments.format_argument(n)}")
    if spacing == 0:
        raise ValueError("d must not be 0")
    kind = (
        dtypes.float64 if dtype is None else arguments.as_dtype_in_category("real floating", dtype)
    )
    is_full_spectrum = operation is _FFTFREQ
    shape = (size if is_full_spectrum else size // 2 + 1,)
    return create_tensor(operation, shape, kind, device, None, size, spacing, is_full_spectrum)


def fftshift(x: Tensor, axes: Axis = None) -> Tensor:
    """Move the zero frequency to the middle of each of `axes` (default: all).

    Returns a new tensor. Any dtype. Layout: packed in the input's order.

    Raises `ValueError` (`AxisError`) if an axis is out of bounds; `TypeError` if it is not an
    integer.

    >>> import tensorlayout as tl
    >>> tl.fft.fftshift(tl.fft.fftfreq(4))
    Tensor([-0.5 , -0.25,  0.  ,  0.25], dtype=float64, device='cpu')
    """
    return _roll_by_half_sizes(x, axes, 1)


def ifftshift(x: Tensor, axes: Axis = None) -> Tensor:
    """Undo `fftshift`: move the middle of each of `axes` (default: all) to the front.

    Returns a new tensor. Any dtype. Layout: packed in the input's order.

    Raises `ValueError` and `TypeError` as `fftshift` does.

    >>> import tensorlayout as tl
    >>> tl.fft.ifftshift(tl.asarray([-2, -1, 0, 1]))
    Tensor([ 0,  1, -2, -1], dtype=int64, device='cpu')
    """
    return _roll_by_half_sizes(x, axes, -1)


def _roll_by_half_sizes(x: Any, axes: Any, sign: int) -> Tensor:
    x = arguments.as_tensor(x)
    dims = arguments.normalize_axes(axes, x.ndim, "axes")
    if not x.ndim:
        # Rank 0 has no axis to roll along; this makes a copy.
        return xp.astype(x, x.dtype)
    # Without axes nothing moves, and rolling by 0 makes the copy.
    return xp.roll(x, [sign * (x.shape[d] // 2) for d in dims] or 0, axis=dims or 0)


errors.wrap_public_functions(globals(), __all__)
__dir__ = spellings.make_module_dir(globals())

# With __getattr__, type checkers would accept any attribute of the module.
if not TYPE_CHECKING:
    __getattr__ = spellings.make_module_getattr(__name__, __all__)
