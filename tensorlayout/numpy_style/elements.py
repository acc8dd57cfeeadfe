"""Elements with NumPy's signatures: bounded, picked, ordered, written."""

from __future__ import annotations

from typing import Any

from tensorlayout import dtypes
from tensorlayout.functions import (
    arguments,
    data_types,
    dispatch,
    sorting,
)
from tensorlayout.functions import elementwise as ew
from tensorlayout.functions.creation import asarray, zeros_like
from tensorlayout.functions.operands import beside
from tensorlayout.functions.outputs import given
from tensorlayout.plan.copy import Assign
from tensorlayout.tensor import Tensor
from tensorlayout.words import refuse

__all__ = [
    "clip",
    "round",
]

_SORT = Assign("sort")


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
