"""NumPy's universal functions on tensors: what `__array_ufunc__` gives.

``np.sin(x)``, ``np.float64(2) * x``: our function of the same name, on every device, with NumPy's
promotion: operands of a dtype that our function refuses are first converted to that of the loop
that NumPy would run. A few that we do not have are made of ours. All others, such as those of
`scipy.special`, run on the memory of tensors of the CPU; their results are packed in their order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorlayout import dtypes
from tensorlayout.dtypes import DType, as_dtype
from tensorlayout.errors import REFUSALS, finalize_public_error
from tensorlayout.exchange.numpy import call_quietly, tensor_over_array
from tensorlayout.functions import arguments, dispatch
from tensorlayout.functions import basics as xp
from tensorlayout.functions.extra_scattering import scatter_add, scatter_max, scatter_min
from tensorlayout.functions.operands import beside, product, tensors
from tensorlayout.functions.outputs import given_where, kind_into
from tensorlayout.functions.transfers import strided
from tensorlayout.tensor import Tensor

UFunc = np.ufunc
_Kind = Any  # a dtype, or the type of a Python scalar

# Our functions by NumPy's ufunc of the same name.
_OURS: dict[UFunc, Any] = {
    found: function
    for name, function in vars(xp).items()
    if hasattr(function, "operation") and isinstance(found := getattr(np, name, None), np.ufunc)
}

# What ours is for bool, where the function of that name does not take it.
_OF_BOOL: dict[UFunc, Any] = {
    np.maximum: xp.logical_or,
    np.minimum: xp.logical_and,
    **dict.fromkeys((np.absolute, np.floor, np.ceil, np.trunc), Tensor.copy),
}


def _modf(x: Tensor) -> tuple[Tensor, Tensor]:
    whole = xp.trunc(x)
    fraction = xp.where(xp.isinf(x), 0.0, xp.subtract(x, whole))
    return xp.copysign(fraction, x), whole


def _unless_nan(combine: Any, of_bool: Any) -> Any:
    """The lesser or greater of two numbers; of a number and NaN, the number."""

    def function(x: Tensor, y: Tensor) -> Tensor:
        if not dtypes.is_in_category(x.dtype, "real floating"):
            return (of_bool if x.dtype == dtypes.bool else combine)(x, y)
        return xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, combine(x, y)))

    return function


def _heaviside(x: Tensor, y: Tensor) -> Tensor:
    beside = xp.where(xp.equal(x, 0), y, xp.astype(xp.greater(x, 0), x.dtype))
    return xp.where(xp.isnan(x), x, beside)


# Made of ours, of operands in the dtypes of NumPy's loop.
_COMPOSED: dict[UFunc, Callable[..., Any]] = {
    np.divmod: lambda x, y: (xp.floor_divide(x, y), xp.remainder(x, y)),
    np.exp2: lambda x: xp.pow(2.0, x),
    np.fabs: xp.abs,
    np.float_power: xp.pow,
    np.fmax: _unless_nan(xp.maximum, xp.logical_or),
    np.fmin: _unless_nan(xp.minimum, xp.logical_and),
    np.heaviside: _heaviside,
    np.modf: _modf,
    np.rint: xp.round,
    **dict.fromkeys((np.deg2rad, np.radians), lambda x: xp.multiply(x, math.pi / 180)),
    **dict.fromkeys((np.rad2deg, np.degrees), lambda x: xp.multiply(x, 180 / math.pi)),
}


def _matvec(x: Tensor, y: Tensor) -> Tensor:
    _of_rank_2(x)
    return product(xp.matmul, x, y[..., None])[..., 0]


def _vecmat(x: Tensor, y: Tensor) -> Tensor:
    _of_rank_2(y)
    conjugate = xp.conj(x) if x.dtype.kind == "c" else x
    return product(xp.matmul, conjugate[..., None, :], y)[..., 0, :]


def _of_rank_2(x: Tensor) -> None:
    if x.ndim < 2:
        raise ValueError(f"matrices have a rank of at least 2, got shape {x.shape}")


_PRODUCTS: dict[UFunc, Callable[..., Tensor]] = {
    np.matmul: functools.partial(product, xp.matmul),
    np.vecdot: functools.partial(product, xp.vecdot),
}
if hasattr(np, "matvec"):  # since NumPy 2.2
    _PRODUCTS |= {np.matvec: _matvec, np.vecmat: _vecmat}


# Functions of operands that need no conversion, by ufunc and dtypes (types of what is no tensor).
_STRAIGHT: dict[tuple[Any, ...], Any] = {}


def apply_ufunc(_x: Tensor, ufunc: UFunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Carry out a ufunc that was called on tensors, on their device; the results are tensors.

    Methods: `reduce`, `accumulate`, `outer`, and `at` for sums, minima and maxima. Keywords:
    ``out=`` a tensor, ``where=`` a tensor of bool (without ``out=``, all else holds 0), ``dtype=``
    and ``casting=`` as NumPy's. On the CPU any of these may be a NumPy array; an array given as
    ``out=`` is returned. NotImplemented beside types that have a protocol of their own.
    """
    outs = options.get("out", ())
    try:
        if not options and method == "__call__":
            kinds = [x.spec.dtype if type(x) is Tensor else type(x) for x in inputs]
            straight = _STRAIGHT.get((ufunc, *kinds))
            if straight is not None:
                return straight(*inputs)
        others = [x for x in (*inputs, *outs) if not isinstance(x, Tensor)]
        if any(map(dispatch.has_ufunc_protocol, others)):
            return NotImplemented
        found = _applied(ufunc, method, inputs, outs, options)
    except REFUSALS as error:
        called = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise finalize_public_error(error, f"numpy.{called}") from None
    return outs[0] if len(outs) == 1 and isinstance(outs[0], np.ndarray) else found


def _applied(
    ufunc: UFunc, method: str, inputs: Sequence[Any], outs: Sequence[Any], options: dict[str, Any]
) -> Any:
    if method not in _METHODS:
        raise TypeError("takes no tensors; loop over slices of x, or take numpy.asarray(x)")
    # NumPy's scalars come as arrays of rank 0 where they are compared.
    given = [x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in inputs]
    if method != "at":  # positions may be arrays on every device
        given = _over_arrays(given)
    options = {key: value for key, value in options.items() if value is not np._NoValue}
    if outs:
        into = _over_arrays(outs)
        options["out"] = into[0] if len(into) == 1 else tuple(into)
    return _METHODS[method](ufunc, *given, **options)


def _over_arrays(given: Sequence[Any]) -> list[Any]:
    """Replace NumPy arrays by tensors over the same memory."""
    found = [arguments.operand(x) if isinstance(x, np.ndarray) else x for x in given]
    arguments.refuse_arrays(given, arguments.device_of(given))
    return found


def _call(
    ufunc: UFunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    subok: bool = True,
    **options: Any,
) -> Any:
    name = f"numpy.{ufunc.__name__}"
    arguments.casting_rule(casting)
    if ufunc.signature is not None:
        found = _product(ufunc, inputs, dtype, casting, options)
    elif options:
        raise TypeError(f"takes no {'=, '.join(options)}= with tensors")
    elif ufunc in _OURS or ufunc in _COMPOSED:
        given = [x if type(x) is Tensor else arguments.operand(x) for x in inputs]
        kinds = tuple(map(_kind, given))
        asked = None if dtype is None else as_dtype(dtype, "dtype")
        if ufunc in _COMPOSED:
            loop = loop_of(ufunc, kinds, asked, casting)
            found = _COMPOSED[ufunc](*_in_loop(given, inputs, loop))
        else:
            function, given = _ours(ufunc, inputs, kinds, asked, casting)
            if function is not Tensor.copy:
                return function(*given, out=out, where=where, casting=casting)
            found = function(*given)
    else:
        found = _on_memory(ufunc, inputs, {"dtype": dtype, "casting": casting})
    if out is None and where is True:
        return found
    if not isinstance(found, tuple):
        return given_where(name, found, out, casting, where)
    outs = (None,) * len(found) if out is None else out
    pairs = zip(outs, found, strict=True)
    return tuple(given_where(name, part, each, casting, where) for each, part in pairs)


def _kind(x: Any) -> _Kind:
    """The dtype of an operand; of a Python scalar, which is weakly typed, its type."""
    if hasattr(x, "dtype"):
        return x.dtype
    return dtypes.bool if type(x) is bool else type(x)


def _ours(
    ufunc: UFunc, inputs: Sequence[Any], kinds: tuple[_Kind, ...], asked: Any, casting: str
) -> tuple[Any, list[Any]]:
    """Return our function, and what it is to be called with."""
    function, targets = _resolved(ufunc, kinds, asked, casting)
    if targets is None:
        if asked is None and casting == "same_kind" and len(_STRAIGHT) < _MOST:
            key = [x.spec.dtype if type(x) is Tensor else type(x) for x in inputs]
            _STRAIGHT[(ufunc, *key)] = function
        return function, list(inputs)
    pairs = zip(inputs, targets, strict=True)
    return function, [_in_dtype(x, kind, asked is not None) for x, kind in pairs]


_MOST = 4096  # entries: more than there are dtypes for the ufuncs of NumPy


def _in_dtype(x: Any, kind: DType, asked: bool) -> Any:
    """A tensor or NumPy scalar in another dtype; a Python scalar stays one, of the kind asked."""
    if isinstance(x, Tensor):
        return xp.astype(x, kind, copy=False)
    if isinstance(x, np.generic):
        return x.astype(kind)
    return np.asarray(x).astype(kind).item() if asked or kind == dtypes.bool else x


@functools.cache
def _resolved(
    ufunc: UFunc, kinds: tuple[_Kind, ...], dtype: DType | None, casting: str
) -> tuple[Any, tuple[DType, ...] | None]:
    """Return our function, and what to convert operands to; None: they stay as they are."""
    function = _OURS[ufunc]
    operation = function.operation
    strong = [kind for kind in kinds if isinstance(kind, np.dtype)]
    weak = [kind for kind in kinds if not isinstance(kind, np.dtype)]
    if not strong:
        return function, None
    if casting not in ("same_kind", "unsafe"):
        loop_of(ufunc, kinds, dtype, casting)  # refuses what that rule does not let become another
    promoted = functools.reduce(
        dtypes.promote_with_scalar, weak, functools.reduce(dtypes.promote_dtypes, strong)
    )
    if dtype is None and (
        operation.accepts_dtype(promoted) or (promoted == dtypes.bool and operation.of_bools)
    ):
        return function, None
    if operation.dtypes == "bool":  # truths of any numbers
        if dtype is not None:
            loop_of(ufunc, kinds, dtype, casting)
        return function, (dtypes.bool,) * len(kinds)
    try:
        *loop, _ = loop_of(ufunc, kinds, dtype, casting)
    except TypeError:
        if dtype is None:
            return function, None
        raise
    if dtype is None and operation.accepts_integers and set(loop) == {dtypes.float64}:
        return function, None
    promoted = functools.reduce(dtypes.promote_dtypes, loop)
    if promoted == dtypes.bool and not dtypes.is_in_category(promoted, operation.dtypes):
        if operation.result == "bool":
            return function, (dtypes.uint8,) * len(loop)
        return _OF_BOOL.get(ufunc, function), tuple(loop)
    if not dtypes.is_in_category(promoted, operation.dtypes):
        if operation.accepts_integers:
            given = ", ".join(map(str, kinds))
            way = "convert the operands to a floating-point dtype with astype() first"
            raise TypeError(f"gives integers for {given}; {way}")
        return function, None if dtype is None else tuple(loop)
    return function, tuple(loop)


def loop_of(
    ufunc: UFunc, kinds: Sequence[_Kind], dtype: DType | None, casting: str
) -> tuple[DType, ...]:
    """The dtypes of operands and results of the loop that NumPy runs. TypeError for none."""
    # With "equiv" NumPy 2.4.6 ends the process beside a Python scalar; native dtypes make it "no".
    options: dict[str, Any] = {"casting": "no" if casting == "equiv" else casting}
    if dtype is not None:
        options["signature"] = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    given: Any = (*kinds, *(None,) * ufunc.nout)
    return _in_words(ufunc.resolve_dtypes, given, **options)


def _in_loop(given: Sequence[Any], inputs: Sequence[Any], loop: Sequence[DType]) -> list[Tensor]:
    """The operands as tensors of the dtypes of NumPy's loop."""
    device = next(x.device for x in inputs if isinstance(x, Tensor))
    return [
        xp.astype(x, kind, copy=False)
        if isinstance(x, Tensor) and isinstance(y, Tensor)
        else xp.asarray(y, dtype=kind, device=device)
        for x, y, kind in zip(given, inputs, loop, strict=False)
    ]


def _on_memory(ufunc: UFunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Call a ufunc of another library on the memory of tensors."""
    given = [arguments.operand(x) for x in inputs]
    for x in given:
        if isinstance(x, Tensor) and x.device != "cpu":
            raise TypeError(f"not on {x.device}; use to_device('cpu') first")
    arrays = [strided("ufunc", x).memory if isinstance(x, Tensor) else x for x in given]
    found = _in_words(ufunc, *arrays, **options)
    if isinstance(found, tuple):
        return tuple(tensor_over_array(np.asarray(part)) for part in found)
    return tensor_over_array(np.asarray(found))


def _in_words(function: Any, *arrays: Any, **options: Any) -> Any:
    """Call NumPy; its errors, whose text is not in `args`, become plain ones."""
    try:
        return call_quietly(function, *arrays, **options)
    except (TypeError, ValueError, OverflowError) as error:
        kind = next(k for k in (TypeError, OverflowError, ValueError) if isinstance(error, k))
        raise kind(str(error)) from None


def _product(
    ufunc: UFunc, inputs: Sequence[Any], dtype: Any, casting: str, options: dict[str, Any]
) -> Any:
    """A product of vectors or matrices, in the dtype asked for."""
    if ufunc not in _PRODUCTS:
        raise TypeError("takes no tensors; make arrays with numpy.asarray()")
    given = tensors(*inputs)
    if dtype is not None:
        kind = as_dtype(dtype, "dtype")
        for x in given:
            if not arguments.can_cast(x.dtype, kind, casting):
                raise TypeError(f"{x.dtype} cannot become {kind} by the rule {casting!r}")
        given = [xp.astype(x, kind, copy=False) for x in given]
    axis = options.pop("axis", -1) if ufunc is np.vecdot else -1
    if options.get("axes") == [(-2, -1)] * 3:  # the default, which `array @= tensor` passes
        del options["axes"]
    if options:
        raise TypeError(f"takes no {'=, '.join(options)}= with tensors; use moveaxis()")
    if axis != -1:
        given = [xp.moveaxis(x, arguments.integer("axis", axis), -1) for x in given]
    return _PRODUCTS[ufunc](*given)


_REDUCTIONS: dict[UFunc, Any] = {
    np.add: xp.sum,
    np.logical_and: xp.all,
    np.logical_or: xp.any,
    np.maximum: xp.max,
    np.minimum: xp.min,
    np.multiply: xp.prod,
}


def _reduce(
    ufunc: UFunc,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Our reduction where there is one, else a left fold."""
    name = f"numpy.{ufunc.__name__}.reduce"
    x = arguments.tensor(x)
    options = {"axis": axis, "out": out, "keepdims": keepdims}
    options |= {"initial": initial} if initial is not None else {}
    options |= {"where": where} if where is not True else {}
    if ufunc in _REDUCTIONS and not (ufunc in _OF_TRUTHS and (initial, dtype) != (None, None)):
        if dtype is not None and ufunc not in (np.add, np.multiply):
            x = xp.astype(x, dtype, copy=False)
        elif dtype is not None:
            options["dtype"] = dtype
        return _REDUCTIONS[ufunc](x, **options)
    if where is not True:
        raise TypeError("takes no tensors with where=; use where() first")
    dims = arguments.dims(axis, x.ndim)
    x = _folded(ufunc.reduce, x, dims, dtype, out)
    kept = [1 if d in dims else n for d, n in enumerate(x.shape)]
    first = xp.moveaxis(x, dims, tuple(range(len(dims)))) if dims else x
    count, rest = math.prod(first.shape[: len(dims)]), first.shape[len(dims) :]
    parts = list(xp.reshape(first, (count, *rest)))
    start = ufunc.identity if initial is None else initial
    if initial is not None or not parts:
        if start is None:
            raise ValueError("nothing to reduce, and there is no identity")
        parts.insert(0, xp.full(rest, start, dtype=x.dtype, device=x.device))
    found = functools.reduce(lambda _, step: step, _steps(ufunc, parts))
    found = xp.astype(found, x.dtype) if len(parts) == 1 else found
    found = xp.reshape(found, kept) if keepdims else found
    return found if out is None else given_where(name, found, out, "same_kind", True)


_OF_TRUTHS = (np.logical_and, np.logical_or)


def _folded(method: Any, x: Tensor, axis: Any, dtype: Any, out: Any) -> Tensor:
    """`x` in the dtype that NumPy folds it in; refused where NumPy does, by order or dtype."""
    kind = dtype if method.__self__ in _OF_TRUTHS else kind_into(x, out, dtype)
    x = x if kind is None else xp.astype(x, kind, copy=False)
    one = np.ones((1,) * x.ndim, x.dtype)
    return xp.astype(x, _in_words(method, one, axis=axis, dtype=kind).dtype, copy=False)


def _steps(ufunc: UFunc, parts: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield the result of a left fold after each part."""
    kind = parts[0].dtype
    asked = None if kind == dtypes.bool else kind
    steps = itertools.accumulate(parts, lambda a, b: _call(ufunc, a, b, dtype=asked))
    return (xp.astype(step, kind, copy=False) for step in steps)


_RUNNING: dict[UFunc, Any] = {np.add: xp.cumulative_sum, np.multiply: xp.cumulative_prod}


def _accumulate(ufunc: UFunc, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Tensor:
    name = f"numpy.{ufunc.__name__}.accumulate"
    x = arguments.tensor(x)
    dim = arguments.dim(axis, x.ndim)
    if ufunc in _RUNNING:
        kind = kind_into(x, out, dtype)
        whole = xp.astype(x, dtypes.int64) if x.dtype == dtypes.bool and kind is None else x
        found = _RUNNING[ufunc](whole, axis=dim, dtype=kind)
    else:
        x = _folded(ufunc.accumulate, x, dim, dtype, out)
        parts = list(_steps(ufunc, list(xp.moveaxis(x, dim, 0)))) if x.shape[dim] else []
        found = xp.stack(parts, axis=dim) if parts else xp.astype(x, x.dtype)
    return found if out is None else given_where(name, found, out, "same_kind", True)


def _outer(ufunc: UFunc, x: Any, y: Any, **options: Any) -> Any:
    # numbers count as arrays here, whose dtypes are not weak
    x, y = (np.asarray(z)[()] if type(z) in dtypes.SCALARS else z for z in (x, y))
    if isinstance(x, Tensor):
        y_rank = getattr(y, "ndim", 0)
        x = xp.reshape(x, (*x.shape, *(1,) * y_rank)) if y_rank else x
    return _call(ufunc, x, y, **options)


_SCATTERING: dict[UFunc, Any] = {
    np.add: scatter_add,
    np.subtract: scatter_add,
    np.maximum: scatter_max,
    np.minimum: scatter_min,
}


def _at(ufunc: UFunc, x: Any, indices: Any, values: Any = None) -> None:
    """Values combined with what is at the positions, each as often as it is named, in place."""
    if ufunc not in _SCATTERING:
        known = ", ".join(each.__name__ for each in _SCATTERING)
        way = "where no position is named twice, write x[indices] = ..."
        raise TypeError(f"of tensors there are those of {known}; {way}")
    x = arguments.writable(arguments.tensor(x))
    places = xp.reshape(xp.arange(x.size, device=x.device), x.shape)[indices]
    value = beside(values, x)
    (*_, kind) = loop_of(ufunc, (x.dtype, value.dtype), None, "same_kind")
    if not arguments.can_cast(kind, x.dtype, "same_kind"):
        raise TypeError(f"{kind} cannot be put into {x.dtype}; use astype() first")
    value = xp.broadcast_to(xp.astype(value, x.dtype, copy=False), places.shape)
    value = xp.negative(value) if ufunc is np.subtract else value
    lines = [xp.reshape(each, (-1,)) for each in (x, places, value)]
    x[...] = xp.reshape(_SCATTERING[ufunc](*lines), x.shape)


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call,
    "accumulate": _accumulate,
    "at": _at,
    "outer": _outer,
    "reduce": _reduce,
}
