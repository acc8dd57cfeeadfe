"""New tensors with NumPy's signatures: like another in shape, dtype and form, or beside it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.dtypes import as_dtype
from tensorlayout.functions import arguments, creation
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.data_types import astype as astype_
from tensorlayout.functions.manipulation import moveaxis, reshape
from tensorlayout.functions.operands import tensors, unsupported
from tensorlayout.layout import Layout
from tensorlayout.numpy_style import elements
from tensorlayout.tensor import Tensor

__all__ = [
    "astype",
    "copy",
    "empty_like",
    "full_like",
    "geomspace",
    "linspace",
    "logspace",
    "ones_like",
    "zeros_like",
]


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """`tl.astype`."""
    return astype_(x, dtype, copy=copy, device=device)


def copy(a: Tensor, order: str = "K", subok: bool = False) -> Tensor:
    """As the method."""
    return elements.copy(a, order)


def _like(
    name: str, x: Any, dtype: Any, order: str, shape: Any, device: Any, *values: Any
) -> Tensor:
    """A new tensor; of another shape, packed in the order of `x` where the ranks are equal."""
    x = arguments.tensor(name, x)
    arguments.choice(name, "order", order, "'C', 'F', 'A' or 'K'", ("C", "F", "A", "K"))
    form = x._spec.layout.form
    columns = form.is_column_major and not form.is_row_major
    if shape is None and order == "K":
        return getattr(creation, name)(x, *values, dtype=dtype, device=device)  # type: ignore[no-any-return]
    sizes = x.shape if shape is None else arguments.shape(name, shape)
    if order == "F" or (order == "A" and columns):
        layout = Layout.column_major(sizes)
    elif order == "K" and len(sizes) == x.ndim:
        layout = Layout.packed(sizes, form.minor_to_major)
    else:
        layout = Layout.row_major(sizes)
    make = getattr(creation, name.removesuffix("_like"))
    where = x.device if device is None else device
    kind = x.dtype if dtype is None else dtype
    return make(sizes, *values, dtype=kind, device=where, layout=layout)  # type: ignore[no-any-return]


def empty_like(
    prototype: Tensor,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tensor:
    """`tl.empty_like`, of another shape too."""
    return _like("empty_like", prototype, dtype, order, shape, device)


def zeros_like(
    a: Tensor,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tensor:
    """`tl.zeros_like`, of another shape too."""
    return _like("zeros_like", a, dtype, order, shape, device)


def ones_like(
    a: Tensor,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tensor:
    """`tl.ones_like`, of another shape too."""
    return _like("ones_like", a, dtype, order, shape, device)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Tensor:
    """`tl.full_like`, of another shape too; `fill_value` may be a tensor that broadcasts."""
    x, _ = tensors("full_like", a, fill_value)
    kind = x.dtype if dtype is None else as_dtype(dtype, "full_like: dtype")
    if not isinstance(fill_value, Tensor) and not isinstance(fill_value, (list, tuple)):
        return _like("full_like", x, kind, order, shape, device, fill_value)
    found = _like("empty_like", x, kind, order, shape, device)
    found[...] = fill_value
    return found


def _ends(name: str, start: Any, stop: Any, *, weak: bool = True) -> tuple[Tensor, Tensor]:
    first, last = (
        x if dtypes.in_category(x.dtype, "floating-point") else astype_(x, dtypes.float64)
        for x in tensors(name, start, stop, weak=weak)
    )
    return first, last


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers evenly spaced from each element of `start` to that of `stop`, along `axis`."""
    first, last = _ends("linspace", start, stop)
    steps = num - 1 if endpoint else num
    number = arguments.count("linspace", "num", num)
    width = ew.subtract(last, first)
    nothing = creation.asarray(math.nan, device=first.device)  # as NumPy: of rank 0, float64
    step = ew.divide(width, steps) if steps > 0 else nothing
    places = reshape(
        astype_(creation.arange(number, device=first.device), width.dtype),
        (number, *(1,) * width.ndim),
    )
    found = ew.add(ew.multiply(places, step if steps > 0 else width), first)
    if endpoint and number > 1:
        found[-1, ...] = last
    if dtype is not None:
        whole = dtypes.in_category(as_dtype(dtype, "linspace: dtype"), "integral")
        found = astype_(ew.floor(found) if whole else found, dtype, copy=False)
    found = moveaxis(found, 0, axis)
    return (found, step) if retstep else found


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Powers of `base`, their exponents evenly spaced."""
    first, last, *_ = tensors("logspace", start, stop, base)
    found = ew.pow(base, linspace(first, last, num, endpoint, axis=axis))
    return found if dtype is None else astype_(found, dtype, copy=False)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    """Numbers from each element of `start` to that of `stop`, each of the same ratio."""
    first, last = _ends("geomspace", start, stop, weak=False)
    ratio = ew.divide(last, first)
    exponents = linspace(ew.multiply(ratio, 0), ew.add(ew.multiply(ratio, 0), 1), num, endpoint)
    found = moveaxis(ew.multiply(first, ew.pow(ratio, exponents)), 0, axis)
    return found if dtype is None else astype_(found, dtype, copy=False)


# --- ``like=``: the tensor says only where ------------------------------------------------------


def _layout(name: str, shape: Any, order: str) -> Layout | None:
    arguments.choice(name, "order", order, "'C' or 'F'", ("C", "F"))
    return Layout.column_major(arguments.shape(name, shape)) if order == "F" else None


def _made(name: str) -> Any:
    make = getattr(creation, name)

    def function(
        shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Tensor
    ) -> Tensor:
        where = like.device if device is None else device
        return make(shape, dtype=dtype, device=where, layout=_layout(name, shape, order))  # type: ignore[no-any-return]

    return function


def _full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Tensor,
) -> Tensor:
    where, layout = like.device if device is None else device, _layout("full", shape, order)
    return creation.full(shape, fill_value, dtype=dtype, device=where, layout=layout)


def _array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Tensor,
) -> Tensor:
    unsupported("array", ndmax=ndmax or None)
    found = creation.asarray(object, dtype=dtype, device=like.device, copy=copy or None)
    if order in ("C", "F"):
        found = elements.copy(found, order)
    return found[(None,) * max(ndmin - found.ndim, 0)]


def _asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Tensor,
) -> Tensor:
    where = like.device if device is None else device
    layout = None if order in (None, "K", "A") else _layout("asarray", np.shape(a), str(order))
    return creation.asarray(a, dtype=dtype, device=where, copy=copy, layout=layout)


def _ascontiguousarray(a: Any, dtype: Any = None, *, like: Tensor) -> Tensor:
    x = creation.asarray(a, dtype=dtype, device=like.device)
    return x if x._spec.layout.is_row_major else elements.copy(x, "C")


def _asfortranarray(a: Any, dtype: Any = None, *, like: Tensor) -> Tensor:
    x = creation.asarray(a, dtype=dtype, device=like.device)
    return x if x._spec.layout.is_column_major else elements.copy(x, "F")


def _arange(
    start_or_stop: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,  # by position too, which NumPy's signature does not say
    *,
    device: Any = None,
    like: Tensor,
) -> Tensor:
    where = like.device if device is None else device
    return creation.arange(start_or_stop, stop, step, dtype=dtype, device=where)


def _eye(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803 - NumPy's name
    k: int = 0,
    dtype: Any = float,
    order: str = "C",
    *,
    device: Any = None,
    like: Tensor,
) -> Tensor:
    where, layout = like.device if device is None else device, _layout("eye", (N, M or N), order)
    return creation.eye(N, M, k=k, dtype=dtype, device=where, layout=layout)


def _identity(n: int, dtype: Any = None, *, like: Tensor) -> Tensor:
    return creation.eye(n, dtype=dtype, device=like.device)


def _tri(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803 - NumPy's name
    k: int = 0,
    dtype: Any = float,
    *,
    like: Tensor,
) -> Tensor:
    shape = (N, N if M is None else M)
    return creation.tril(creation.ones(shape, dtype=dtype, device=like.device), k=k)


LIKE: dict[str, Any] = {
    "arange": _arange,
    "array": _array,
    "asanyarray": _asarray,
    "asarray": _asarray,
    "ascontiguousarray": _ascontiguousarray,
    "asfortranarray": _asfortranarray,
    "empty": _made("empty"),
    "eye": _eye,
    "full": _full,
    "identity": _identity,
    "ones": _made("ones"),
    "tri": _tri,
    "zeros": _made("zeros"),
}
