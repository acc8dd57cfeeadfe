"""Data type functions."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.devices import CPU, as_device
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions.transfers import move_to_device
from tensorlayout.layout import Layout
from tensorlayout.plan import Copy
from tensorlayout.support.lazy_imports import import_lazily
from tensorlayout.support.light_dataclasses import frozen_dataclass
from tensorlayout.tensor import Tensor
from tensorlayout.typing import DeviceLike, DTypeLike, Kind, NumpyScalar, Scalar, TypeLike

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_ASTYPE = Copy("astype")


def astype(
    x: Tensor,
    /,
    dtype: DTypeLike,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
    *,
    device: DeviceLike | None = None,
    saturate: bool = False,
) -> Tensor:
    """Convert the elements to `dtype`.

    - `order`: ``K`` for the form of `x`, ``C`` for row-major, ``F`` for column-major, ``A`` for
      column-major if `x` is.
    - `casting`: NumPy's rule for permitted conversions.
    - `subok`: accepted for NumPy's sake, without effect.
    - `copy`: if False, return `x` itself when nothing changes.
    - `device`: device of the result; by default that of `x`.
    - `saturate`: values out of range of a narrow dtype become its limits.

    Returns a new tensor in the form of `x`. Floats are truncated towards 0 to integers; values out
    of range become the nearest limit, and NaN becomes 0.

    Raises `TypeError` for complex to real, for conversions that `casting` does not permit and for
    an invalid dtype, and `ValueError` for `saturate` with a dtype that is not narrow.

    Conversions to narrow dtypes round once, ties to even. Without `saturate`, values out of range,
    infinities included, become infinity, NaN if the dtype has no infinity, or the largest value if
    it has neither; narrow integers keep their low bits. NaN becomes -0 if the dtype has no NaN.
    float8_e8m0fnu has no sign and no zero: negative numbers become NaN, and 0 its least value.

    >>> import tensorlayout as tl
    >>> tl.astype(tl.asarray([1.9, -1.9, 300.0]), tl.uint8)
    Tensor([  1,   0, 255], dtype=uint8, device='cpu')
    >>> tl.astype(tl.asarray([1.9, 500.0]), tl.float8_e4m3fn, saturate=True).tolist()
    [1.875, 448.0]
    """
    kind = as_dtype(dtype, "dtype")
    usual = type(order) is type(casting) is str and order == "K" and casting == "unsafe"
    if type(x) is Tensor and usual and saturate is False:
        if copy is True and device is None:
            return dispatch.call(_ASTYPE, (x.spec, None, kind), (x,))
        return _convert_dtype_and_device(x, kind, None, copy, device)
    x = arguments.as_tensor(x)
    arguments.check_casting(x.dtype, kind, casting)
    layout = arguments.layout_for_order(order, x, x.shape)
    # A dtype holds all its own values, so without a conversion nothing saturates.
    saturates = bool(arguments.check_flag("saturate", saturate)) and kind != x.dtype
    if saturates and not dtypes.is_narrow_dtype(kind):
        raise ValueError(f"saturate is for narrow dtypes such as float8_e4m3fn, got {kind}")
    return _convert_dtype_and_device(x, kind, layout, copy, device, saturates)


def _convert_dtype_and_device(
    x: Tensor, kind: DType, layout: Layout | None, copy: Any, device: Any, saturate: bool = False
) -> Tensor:
    """Return `x` in a dtype, layout (default: its form) and device; `x` itself if it is so."""
    spec = x.spec
    target = spec.device if device is None else as_device(device, "device")
    copying = arguments.check_flag("copy", copy)
    changes = kind != spec.dtype or not (layout is None or spec.layout.same_placement(layout))
    if not changes and (not copying or target != spec.device):
        return move_to_device(x, target)
    # Converted on the CPU if source or destination is there.
    if target == CPU:
        x = move_to_device(x, target)
    return move_to_device(dispatch.call(_ASTYPE, (x.spec, layout, kind, saturate), (x,)), target)


def can_cast(from_: Tensor | NumpyScalar | DTypeLike, to: DTypeLike, /) -> bool:
    """Return True if promotion can turn `from_` (any dtype, or a tensor) into the dtype `to`.

    Raises `TypeError` if an argument is not a dtype.

    >>> import tensorlayout as tl
    >>> tl.can_cast(tl.int8, tl.int16), tl.can_cast(tl.int64, tl.float32)
    (True, False)
    """
    target = as_dtype(to, "to")
    return arguments.can_cast(_dtype_of_argument(from_, "from_"), target, "safe")


def result_type(*arrays_and_dtypes: Tensor | Scalar | DTypeLike) -> DType:
    """Return the dtype that tensors, dtypes and Python scalars promote to.

    A scalar takes the dtype of the other arguments if it is of their kind.

    Raises `TypeError` for any other argument; `ValueError` without arguments.

    >>> import tensorlayout as tl
    >>> tl.result_type(tl.int8, tl.uint8) == tl.int16, tl.result_type(tl.float32, 1) == tl.float32
    (True, True)
    """
    kinds = [
        a.spec if isinstance(a, arguments.UnknownScalar) else type(a) for a in arrays_and_dtypes
    ]
    scalars = [kind for kind in kinds if kind in dtypes.SCALARS]
    strong = [
        _dtype_of_argument(a, "each argument")
        for a, kind in zip(arrays_and_dtypes, kinds, strict=True)
        if kind not in dtypes.SCALARS
    ]
    if not strong:
        raise ValueError("needs at least one tensor or dtype")
    # Scalars come last, because the dtype of all arrays together decides what they become.
    return reduce(dtypes.promote_with_scalar, scalars, reduce(dtypes.promote_dtypes, strong))


def _dtype_of_argument(value: Any, argument: str) -> DType:
    """Return a dtype, or the dtype of a tensor, NumPy array or scalar."""
    known = isinstance(value, (Tensor, np.generic, np.ndarray))
    return as_dtype(value.dtype if known else value, argument)


def isdtype(dtype: DTypeLike, kind: Kind | TypeLike | tuple[Kind | TypeLike, ...]) -> bool:
    """Return True if `dtype` is of a kind.

    `kind` is a dtype, a name of the standard, or a tuple of them. The names are ``"bool"``,
    ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``, ``"complex
    floating"`` and ``"numeric"``, and as an extension, for types of at most 8 bits that are none of
    these, ``"narrow floating"``, ``"narrow integer"`` and ``"narrow"``.

    Raises `ValueError` for any other name; `TypeError` if `dtype` is not a dtype.

    >>> import tensorlayout as tl
    >>> tl.isdtype(tl.uint8, "integral"), tl.isdtype(tl.bool, ("numeric", tl.float32))
    (True, False)
    """
    dtype = as_dtype(dtype, "dtype")
    if isinstance(kind, tuple):
        # A list, so that every name is checked before any() stops.
        results = [isdtype(dtype, k) for k in kind]
        return any(results)
    if isinstance(kind, str):
        if kind not in dtypes.ISDTYPE_KINDS:
            allowed = ", ".join(sorted(dtypes.ISDTYPE_KINDS))
            rule = f"kind must be a dtype or one of {allowed}"
            raise ValueError(f"{rule}, got {arguments.format_argument(kind)}")
        return bool(dtypes.is_in_category(dtype, kind))
    return bool(dtype == as_dtype(kind, "kind"))


@frozen_dataclass
class FloatInfo:
    """Limits of a floating-point dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@frozen_dataclass
class IntegerInfo:
    """Limits of an integer dtype, as Python numbers."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Tensor | NumpyScalar | DTypeLike, /) -> FloatInfo:
    """Return the limits of a floating-point dtype or of a tensor's (of its parts, if complex).

    `type` is a dtype or a tensor. The result has `bits`, `eps`, `max`, `min`, `smallest_normal` and
    `dtype`.

    Raises `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.finfo(tl.float32).eps == 2**-23
    True
    """
    dtype = dtypes.real_part_dtype(_dtype_of_argument(type, "type"))
    if not dtypes.is_in_category(dtype, "any real floating"):
        raise TypeError(f"type must be a floating-point dtype, got {dtype}")
    # NumPy's finfo does not know the dtypes of ml_dtypes.
    info = (
        np.finfo(dtype)
        if dtypes.is_standard_dtype(dtype)
        else import_lazily("ml_dtypes").finfo(dtype)
    )
    eps, largest, least = float(info.eps), float(info.max), float(info.min)
    return FloatInfo(int(info.bits), eps, largest, least, float(info.smallest_normal), dtype)


def iinfo(type: Tensor | NumpyScalar | DTypeLike, /) -> IntegerInfo:
    """Return the limits of an integer dtype or of the dtype of a tensor.

    `type` is a dtype or a tensor. The result has `bits`, `max`, `min` and `dtype`.

    Raises `TypeError` for any other dtype.

    >>> import tensorlayout as tl
    >>> tl.iinfo(tl.int8).min, tl.iinfo(tl.int8).max
    (-128, 127)
    """
    dtype = _dtype_of_argument(type, "type")
    if not dtypes.is_in_category(dtype, "any integral"):
        raise TypeError(f"type must be an integer dtype, got {dtype}")
    least, most = dtypes.integer_limits(dtype)
    return IntegerInfo(dtypes.value_bits(dtype), most, least, dtype)
