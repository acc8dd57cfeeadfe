"""Elements with NumPy's signatures: converted, bounded, picked, ordered, written, taken out."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tensorlayout import dtypes
from tensorlayout.dtypes import as_dtype
from tensorlayout.exchange.numpy import Array
from tensorlayout.functions import (
    arguments,
    data_types,
    dispatch,
    indexing,
    interchange,
    manipulation,
    sorting,
)
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.creation import asarray, zeros_like
from tensorlayout.functions.operands import beside
from tensorlayout.functions.outputs import CASTINGS, can_cast, given
from tensorlayout.functions.transfers import moved, on_host, strided
from tensorlayout.layout import Layout
from tensorlayout.numpy_style.shapes import is_column_major
from tensorlayout.plan.copy import Assign, Copy
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "astype",
    "clip",
    "copy",
    "fill",
    "item",
    "repeat",
    "round",
    "tobytes",
    "tolist",
    "view",
]

_copy = functools.cache(Copy)
_FILL, _SORT = Assign("fill"), Assign("sort")


def astype(
    a: Tensor,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
    *,
    device: Any = None,
    saturate: bool = False,
) -> Tensor:
    """The elements converted to `dtype`, as `tl.astype` does it, which says what `saturate` is.

    `order`: ``K``, the form of `a`; ``C``, row-major; ``F``, column-major; ``A``, column-major if
    `a` is. `casting`: NumPy's name of what may become what; TypeError for all else. `subok` says
    nothing: there is one class of tensors. `copy`: False gives `a` itself where nothing changes.
    """
    if type(order) is type(casting) is str and order == "K" and casting == "unsafe":
        return data_types.astype(a, dtype, copy=copy, device=device, saturate=saturate)
    a = arguments.tensor("astype", a)
    kind = as_dtype(dtype, "astype: dtype")
    known = f"one of {', '.join(CASTINGS)}"
    arguments.choice("astype", "casting", casting, known, CASTINGS)
    layout = _layout("astype", a, order)
    if casting != "unsafe" and not can_cast(a.dtype, kind, casting):
        refuse("astype", f"{a.dtype} cannot become {kind} by the rule {casting!r}", TypeError)
    if order == "K":
        return data_types.astype(a, kind, copy=copy, device=device, saturate=saturate)
    if saturate:
        a = data_types.astype(a, kind, saturate=saturate)
    copying = arguments.flag("astype", "copy", copy) is not False
    if copying or kind != a.dtype or not a._spec.layout.same_placement(layout):
        a = dispatch.call(_copy("astype"), (a._spec, layout, kind), (a,))
    return data_types.astype(a, kind, copy=False, device=device)


def copy(a: Tensor, order: str = "K") -> Tensor:
    """The same elements in a storage of their own; `order` as in `astype`."""
    if type(order) is str and order == "K":
        return interchange.copy(a)
    return dispatch.call(_copy("copy"), (a._spec, _layout("copy", a, order), None), (a,))


def _layout(name: str, a: Tensor, order: str) -> Layout:
    arguments.choice(name, "order", order, "'C', 'F', 'A' or 'K'", ("C", "F", "A", "K"))
    columns = order == "F" or (order == "A" and is_column_major(a))
    return Layout.column_major(a.shape) if columns else Layout.row_major(a.shape)


def view(a: Tensor, dtype: Any = None) -> Any:
    """The same memory read as elements of `dtype`, with no copy; a new view where it is None.

    Of one item size, any layout. Of another, the last dimension must have stride 1 (or size 1),
    and grows or shrinks with it; ValueError where it does not come out even. NumPy's void types,
    by which Zarr compares bits, give an array of NumPy over the memory on the CPU.

    >>> import tensorlayout as tl
    >>> tl.asarray([1.0, -2.0], dtype=tl.float32).view(tl.uint32)
    Tensor([1065353216, 3221225472], dtype=uint32, device='cpu')
    """
    if isinstance(dtype, (int, tuple, list)):
        refuse("view", "takes a dtype; for another shape use reshape(…, copy=False)", TypeError)
    if isinstance(dtype, str) and dtype.startswith(("V", "|V")):
        return interchange.handed_over("view", a, interchange.to_numpy(a).view(dtype))
    return data_types.reinterpreted(a, dtype)


_WHOLE = {int, type(None)}  # bounds that no number of `a` becomes another for


def clip(
    a: Tensor,
    a_min: Any = None,
    a_max: Any = None,
    out: Tensor | None = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Tensor:
    """Each element moved to the nearest value between two bounds, each of which may be None.

    `min`, `max`: other names of `a_min`, `a_max`. Bounds are numbers, or tensors whose shapes
    broadcast with that of `a`; the dtype is the promoted one of all three.
    """
    a = arguments.tensor("clip", a)
    least, most = _one(a, "a_min", a_min, "min", min), _one(a, "a_max", a_max, "max", max)
    if a.dtype.kind in "iu":  # integers that it does not hold bound nothing
        limits = data_types.iinfo(a.dtype)
        least = None if type(least) is int and least <= limits.min else least
        most = None if type(most) is int and most >= limits.max else most
    bounds = [b for b in (least, most) if type(b) not in _WHOLE]
    if bounds:
        a = data_types.astype(a, data_types.result_type(a, *bounds), copy=False)
    return given("clip", ew.clip(a, least, most), out)


def _one(a: Tensor, name: str, first: Any, other: str, second: Any) -> Any:
    """The one of two names of an argument that is given, as an operand beside `a`."""
    if first is not None and second is not None:
        refuse("clip", f"{name} and {other} are two names of one argument, got both")
    bound = second if first is None else first
    if type(bound) in _WHOLE or type(bound) is float:
        return bound
    if arguments.is_array(bound) or isinstance(bound, (list, tuple)):
        return beside("clip", bound, a)
    return bound


def round(a: Tensor, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest numbers of so many decimals, ties to even; a negative count: tens, hundreds, ….

    Worked out in the dtype of `a`, as ``round(a * 10**decimals) / 10**decimals``. Integers stay.
    """
    if type(decimals) is int and decimals == 0 and out is None:
        return ew.round(a)
    a, places = arguments.tensor("round", a), arguments.integer("round", "decimals", decimals)
    if abs(places) > 308:  # the powers of ten that float64 has
        refuse("round", f"decimals must be from -308 to 308, got {places}")
    if a.dtype == dtypes.bool:
        refuse("round", "only numeric dtypes are allowed, got bool", TypeError)
    whole = dtypes.in_category(a.dtype, "integral")
    if places == 0 or (whole and places > 0):
        return given("round", ew.round(a), out)
    power = 10.0 ** abs(places)
    if places > 0:
        found = ew.divide(ew.round(ew.multiply(a, power)), power)
    else:
        found = ew.multiply(ew.round(ew.divide(a, power)), power)
    return given("round", data_types.astype(found, a.dtype, copy=False), out)


def repeat(a: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element (or slice along `axis`) several times; `repeats`: a number, or one for each."""
    a = arguments.tensor("repeat", a)
    if isinstance(repeats, (list, tuple)) or arguments.is_array(repeats):
        repeats = _beside("repeat", repeats, a)
    return manipulation.repeat(a, repeats, axis=axis)


def _beside(name: str, x: Any, a: Tensor) -> Tensor:
    """`x` as a tensor, where `a` is; a tensor stays where it is."""
    return x if isinstance(x, Tensor) else asarray(x, device=a.device)


def sort(
    a: Tensor,
    axis: int = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> None:
    """The elements of `a` put in order along `axis`, in place: `tl.sort` gives a new tensor."""
    found = sorting.sort(a, axis, kind, order, stable=stable, descending=descending)
    arguments.writable("sort", a)
    dispatch.call(_SORT, (a._spec, found._spec), (a, found))


def fill(a: Tensor, value: Any) -> None:
    """Each element made `value`, a number or a tensor of rank 0, in place."""
    number = arguments.operand("fill", value)
    if isinstance(number, Tensor):
        if number.ndim:
            refuse("fill", f"value must be one number, got shape {number.shape}; use x[...] = y")
        number = moved(number, a.device)
    arguments.writable("fill", a)
    kind = number._spec if isinstance(number, Tensor) else type(number)
    dispatch.call(_FILL, (a._spec, kind), (a, number))


def real(a: Tensor) -> Tensor:
    """The real parts, a view. Assigned to, they are written."""
    return ew.real(a) if a._spec.dtype.kind != "b" else a[...]


def imag(a: Tensor) -> Tensor:
    """The imaginary parts, a view of a complex tensor; of any other new zeros."""
    return ew.imag(a) if a._spec.dtype.kind != "b" else zeros_like(a)


def write_real(a: Tensor, value: Any) -> None:
    """Assign to `x.real`."""
    real(a)[...] = value


def write_imag(a: Tensor, value: Any) -> None:
    """Assign to `x.imag`. TypeError for what has no imaginary part."""
    if not dtypes.in_category(a.dtype, "complex floating"):
        refuse("imag", f"only a complex tensor has one to write, got {a.dtype}", TypeError)
    ew.imag(a)[...] = value


def item(a: Tensor, *index: int | Sequence[int]) -> Any:
    """One element as a number of Python: at an index, at a place in index order, or the only one.

    >>> import tensorlayout as tl
    >>> tl.asarray([[1, 2], [3, 4]]).item(1, 0)
    3
    """
    key: Any = index[0] if len(index) == 1 and isinstance(index[0], (tuple, list)) else index
    if len(key) == 0:
        if a.size != 1:
            refuse("item", f"needs an index, or a tensor of one element, got shape {a.shape}")
        one = manipulation.reshape(a, ())
    else:
        places = tuple([arguments.integer("item", "index", i) for i in key])
        if len(places) == 1 and a.ndim != 1:
            places = _index_of(a, places[0])
        if len(places) != a.ndim:
            refuse("item", f"needs {a.ndim} integers, or one, got {arguments.shown(index)}")
        whole = strided("__array__", a) if a._spec.layout.slot_bits is not None else a
        one = indexing.getitem(whole, places)
    return tolist(one)


def _index_of(a: Tensor, place: int) -> tuple[int, ...]:
    """The index at a place of the row-major index order."""
    if not -a.size <= place < a.size:
        refuse("item", f"index {place} is out of bounds for {a.size} elements", IndexError)
    index: list[int] = []
    place %= a.size
    for n in reversed(a.shape):
        place, at = divmod(place, n)
        index.append(at)
    return tuple(index[::-1])


def tolist(a: Tensor) -> Any:
    """The elements as numbers of Python, in nested lists; of rank 0 the number itself."""
    return _array(a).tolist()


def tobytes(a: Tensor) -> bytes:
    """The bytes of the elements in row-major index order, with no padding and no gaps."""
    array: Array = interchange.to_numpy(on_host(a))
    return array.tobytes()


def _array(a: Tensor) -> Array:
    """The elements as an array of NumPy, of a dtype that it knows."""
    a = on_host(a)
    if not dtypes.is_numpys(a.dtype):
        a = data_types.astype(a, dtypes.wider(a.dtype))
    return interchange.to_numpy(a)
